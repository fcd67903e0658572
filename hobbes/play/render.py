"""The question to an agent or observer in a turn, and its prompt: `hobbes prompts render`, `hobbes watch`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hobbes.engine import turn as turns
from hobbes.engine.record import JsonObject
from hobbes.engine.world import OBSERVER, AnyWorld, Setting
from hobbes.errors import UsageError, as_usage_error
from hobbes.nodes import prompting
from hobbes.nodes.journal import PlayerKind, Prompt
from hobbes.nodes.models import NO_MODELS, Models
from hobbes.nodes.prompt_set import PromptError, PromptSet, template_text
from hobbes.nodes.prompt_templates import one_line_json
from hobbes.play.start import RunOptions, settle_options
from hobbes.store.history import TurnStart, intents_of, memories_before, state_before, stored_turn
from hobbes.store.home import Store
from hobbes.store.policy_games import pure_turns
from hobbes.store.recorded_run import Run

MIN_CACHED_TOKENS = 1024
"""The fewest tokens at the beginning of a prompt that OpenAI and most other providers keep in a cache.

https://developers.openai.com/api/docs/guides/prompt-caching
"""


@dataclass(frozen=True, slots=True)
class PromptQuestion:
    """What an agent or the observer is asked in a turn, apart from the texts of the prompt files.

    People edit these files, so each method is given what `load_prompts` has read.
    """

    world: AnyWorld
    setting: Setting[Any]
    variant: str
    lang: str
    start: TurnStart
    agent: str
    view: JsonObject
    """What the agent sees; for the observer, the requests of the turn."""
    player: str
    """The spec of the player that answers."""
    models: Models
    """The settings of the models that the spec may name."""

    def load_prompts(self) -> PromptSet:
        """Return the prompt files as they are now; raise UsageError if they are wrong."""
        return prompts_for(self.world, self.variant, self.lang, self.setting)

    def render(self, prompts: PromptSet) -> Prompt:
        """Return the prompt; raise UsageError if the templates cannot be rendered under these settings."""
        if self.agent == OBSERVER:
            return Prompt(prompts.observer, one_line_json(self.view))
        try:
            return Prompt(
                prompting.system_text(prompts, self.setting), prompting.turn_text(prompts, self.view)
            )
        except PromptError as error:
            raise UsageError(str(error)) from error

    def fixed_words(self, prompts: PromptSet, prompt: Prompt) -> str:
        """Return the beginning of the turn text that is the same for all agents and turns."""
        return "" if self.agent == OBSERVER else prompting.fixed_words(prompts, prompt.turn)


def question_in_run(  # noqa: PLR0913  what decides a question
    store: Store, run: Run, turn: int, agent: str, *, variant: str | None = None, lang: str | None = None
) -> PromptQuestion:
    """Return the question to an agent or the observer in a turn of a run.

    Without a variant or language, it is the run's own.
    """
    if turn > run.turns:
        raise UsageError(
            f"--turn {turn}: run {run.label} has {run.turns} turns so far, and the first is turn 0"
        )
    run_at_turn = run.at(turn)
    return _question(
        run.world,
        run_at_turn.setting,
        TurnStart(state_before(store, run, turn), memories_before(store, run, turn)),
        agent,
        variant=variant or run_at_turn.prompts.variant,
        lang=lang or run_at_turn.prompts.lang,
        intents=intents_of(run, stored_turn(store, run, turn)) if agent == OBSERVER else {},
        players=run_at_turn.models,
        models=run_at_turn.model_settings,
    )


def question_in_new_run(
    options: RunOptions, turn: int, agent: str, models: Models = NO_MODELS
) -> PromptQuestion:
    """Return the question to an agent or the observer in a turn of a run with these options.

    `models` has the models of the models file, which `options` may name.

    Scripted policies play the turns before it. No model is called: the world's default policy answers in its
    place, and in the place of an observer that is a model or a person.
    """
    with as_usage_error():
        world, setting, players, variant = settle_options(options, models)
    default = f"{PlayerKind.POLICY}:{world.policies.default}"
    scripted = {
        name: spec if spec.startswith(PlayerKind.POLICY) else default for name, spec in players.items()
    }
    start = TurnStart(world.setup(setting.config, setting.agents, setting.seed), {})
    for played in pure_turns(world, setting, scripted):
        if start.state.turn == turn:
            return _question(
                world,
                setting,
                start,
                agent,
                variant=variant,
                lang=options.lang,
                intents=played.judged.intents,
                players=players,
                models=models,
            )
        start = TurnStart(played.resolved.state, played.memories)
    raise UsageError(f"--turn {turn}: this run of {world.name} has turns 0 to {start.state.turn - 1}")


def token_counts(prompt: Prompt, fixed_words: str) -> dict[str, Any]:
    """Return the approximate tokens of a prompt.

    `shared` is the share of the prompt, from 0 to 1, that is the same for all agents and turns: the system
    text and `fixed_words`, the beginning of the turn text (`PromptQuestion.fixed_words`). `cacheable` is the
    share that a provider can keep in its cache: the same, or 0 if that is too short for a cache.
    """
    per_message = prompting.approximate_tokens("")
    system, turn, words = map(prompting.approximate_tokens, (*prompt, fixed_words))
    total, shared = system + turn - 2 * per_message, system + words - 2 * per_message
    return {"system": system, "turn": turn, "shared": shared / total, "cacheable": cacheable(shared) / total}


def cacheable(tokens: int) -> int:
    """Return how many tokens of a text that begins every prompt a provider can read from its cache."""
    return tokens if tokens >= MIN_CACHED_TOKENS else 0


def prompts_for(world: AnyWorld, variant: str, lang: str, setting: Setting[Any] | None = None) -> PromptSet:
    """Return the prompts of a variant and language; raise UsageError if there are none or they are wrong."""
    with as_usage_error():
        return prompting.load_prompts(world, variant, lang, setting)


def copy_prompts(world: AnyWorld, variant: str, folder: Path) -> list[str]:
    """Write the templates of a variant to a new folder, each with what it includes in its place.

    Return the names of the files, which need no other file. Raise UsageError if there is no such variant, or
    if the folder is there or cannot be written.
    """
    texts: dict[str, str] = {}
    for lang in prompting.languages(world.name, variant) or ("en",):
        prompts = prompts_for(world, variant, lang)
        texts |= {f"system.{lang}.md": prompts.system, f"turn.{lang}.md": prompts.turn}
        if world.observer is not None:
            *_, observer = prompting.template_files(world, variant, lang)
            texts[observer.name] = template_text(observer)
    try:
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}; name another folder") from error
    return [*texts]


def _question(  # noqa: PLR0913  what decides a question
    world: AnyWorld,
    setting: Setting[Any],
    start: TurnStart,
    agent: str,
    *,
    variant: str,
    lang: str,
    intents: Mapping[str, Any],
    players: Mapping[str, str],
    models: Models,
) -> PromptQuestion:
    state = start.state
    if agent == OBSERVER:
        view = _requests(world, state, intents)
        player = world.observer.asks(state) if world.observer else ""
    else:
        agents = world.actors(state)
        if world.over(state) or agent not in agents:
            raise UsageError(
                f"{agent!r} does not act in turn {state.turn}; "
                f"the agents that act: {', '.join(agents) or 'none'}"
            )
        view = turns.view_of(world, state, start.memories, agent)
        player = players[world.owner(state, agent)]
    return PromptQuestion(world, setting, variant, lang, start, agent, view, player, models)


def _requests(world: AnyWorld, state: Any, intents: Mapping[str, Any]) -> JsonObject:  # noqa: ANN401  a world's own state
    """Return what the observer is asked; raise UsageError if no observer that is a model is asked."""
    if world.observer is None:
        raise UsageError(f"{world.name} has no observer; name an agent")
    if world.observer.asks(state) in {"", PlayerKind.HUMAN}:
        raise UsageError(
            "the observer is no model and reads no prompt; a run may have --observer openai:NAME"
        )
    question = turns.question_of(world, state, intents)
    if question is None:
        raise UsageError(f"no agent requests anything in turn {state.turn}, so the observer is not asked")
    return question
