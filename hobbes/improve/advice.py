"""The advice of a prompt, which may change: the plain lines that stand first under the heading `# Advice`."""

import re
import shutil
from collections import Counter
from pathlib import Path

from hobbes.nodes.prompt_set import ROOT, PromptError, folder_of, template_text
from hobbes.nodes.prompting import load_prompts, template_files
from hobbes.play.prompt_checks import check_prompts, prompt_warnings
from hobbes.play.start import Beginning


def advice_of(new: Beginning) -> tuple[str, str, str]:
    """Return what stands before the advice in the system template of a baseline, the advice, and the rest.

    The advice is all under its heading, up to the first mark, tag or heading. A template without advice gets
    the heading at its end.
    """
    lang = new.prompts.lang
    title = "建议" if lang == "zh" else "Advice"
    file = folder_of(new.world.name, new.prompts.variant) / f"system.{lang}.md"
    template = template_text(file).rstrip("\n") + "\n"
    found = re.search(rf"^#+ {title}[ \t]*\n+(?P<text>(?:(?!#+ |.*\{{[%#]).*\n)*)", template, re.MULTILINE)
    if found is None:
        return f"{template}\n# {title}\n", "", ""
    text = found["text"].rstrip()
    end = found.start("text") + len(text)
    return template[: found.start("text")], text, template[end:].removeprefix("\n")


def write_candidate(new: Beginning, text: str, folder: Path) -> str:
    """Write the prompts of a baseline with other advice into a folder, with the files that they include.

    Return why the advice is refused, empty if it is not. All that `hobbes prompts check` finds, such as a
    number, and does not find in the baseline, is a reason.
    """
    (before, _, after), prompts = advice_of(new), new.prompts
    source = folder_of(new.world.name, prompts.variant)
    folder.mkdir(parents=True, exist_ok=True)
    for file in template_files(new.world, prompts.variant, prompts.lang):
        if file.parent == source:
            shutil.copyfile(file, folder / file.name)
        elif not file.is_relative_to(ROOT):
            shutil.copyfile(file, folder.parent / file.name)
    (folder / f"system.{prompts.lang}.md").write_text(f"{before}{text}\n{after}", encoding="utf-8")
    if re.search(r"(?<!\{)\{(?!\{)|[`\[]|^\s*#", text, re.MULTILINE):
        return "it has a mark, a tag, a heading, code or JSON; advice is plain text, and {{ placeholders }}"
    try:
        problems = check_prompts(new.world, load_prompts(new.world, str(folder), prompts.lang, new.setting))
    except PromptError as error:
        return str(error)
    old, found = (
        Counter(said.partition(": ")[2] for said in prompt_warnings(new.world, variant, prompts.lang))
        for variant in (prompts.variant, str(folder))
    )
    return "; ".join([*problems, *(found - old)])
