"""`hobbes prompts copy`: the templates of a variant in a folder of one's own, which needs no other file."""

from collections.abc import Iterator
from pathlib import Path

from hobbes.engine.world import AnyWorld
from hobbes.errors import UsageError
from hobbes.nodes.prompting import languages, template_files, template_text
from hobbes.play.render import prompts_for


def copy_prompts(world: AnyWorld, variant: str, folder: Path) -> list[str]:
    """Write the templates of a variant to a new folder, and return the names of the files.

    Raise UsageError if there is no such variant, or if the folder is there or cannot be written.
    """
    texts = dict(_templates(world, variant))
    try:
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}; name another folder") from error
    return [*texts]


def _templates(world: AnyWorld, variant: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each template, with what it includes in its place."""
    for lang in languages(world.name, variant) or ("en",):
        prompts = prompts_for(world, variant, lang)
        yield f"system.{lang}.md", prompts.system
        yield f"turn.{lang}.md", prompts.turn
        if world.observer is not None:
            *_, observer = template_files(world, variant, lang)
            yield observer.name, template_text(observer)
