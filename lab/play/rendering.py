"""`hobbes prompts render`: the exact prompt of a turn and agent, without sending it."""

from collections.abc import Iterator, Mapping
from typing import Any

from engine import turn as turns
from engine.answer import ParsedAnswer
from engine.chance import Luck
from engine.memory import Memory
from engine.policy import Policies, speak
from engine.record import JsonObject
from engine.world import OBSERVER, AnyWorld, Setting
from lab.errors import UsageError
from lab.play.playing import RunOptions, settle_options
from lab.store.database import Run, Store
from lab.store.history import logged, memories_before, state_before
from nodes.journal import PlayerKind, Prompt, Reply
from nodes.models import NO_MODELS, Models
from nodes.players import deal, parse_spec
from nodes.prompting import PromptSet, load_prompts, one_line_json, system_text, turn_text
from nodes.reading import read


def render_in_run(
    store: Store, run: Run, turn: int, agent: str, variant_and_lang: tuple[str | None, str | None]
) -> Prompt:
    """Return the prompt of one turn and agent, or observer, of a run, from the prompt files as they are now.

    `variant_and_lang` may have None for the run's own variant or language.
    """
    variant, lang = variant_and_lang
    way = run.at(turn)
    variant, lang = variant or way.prompts.variant, lang or way.prompts.lang
    prompts = prompts_for(run.world, variant, lang, way.setting)
    state, memories = state_before(store, run, turn), memories_before(store, run, turn)
    if agent == OBSERVER:
        intents = logged(store, run, turn).record.intents
        said = {name: run.world.intent.from_json(intent) for name, intent in intents.items()}
        return _observer_prompt(run.world, prompts, state, said)
    return _prompt(run.world, way.setting, prompts, (state, memories), agent)


def render_new(options: RunOptions, turn: int, agent: str, named: Models = NO_MODELS) -> Prompt:
    """Return the prompt that an agent or the observer would read in a turn of a run with these options.

    `named` has the models of the models file, which `options` may name.

    Scripted policies play the turns before it. No model is called: the world's default policy answers in its
    place, and in the place of an observer that is a model or a person.
    """
    try:
        world, setting = settle_options(options)
        models = deal(world, options.models or f"policy:{world.policies.default}", setting.agents, named)
    except ValueError as error:
        raise UsageError(str(error)) from error
    variant = options.prompts or world.prompts(setting.config)
    prompts = prompts_for(world, variant, options.lang, setting)
    last = 0
    for last, before in enumerate(_playing_out(world, setting, models)):
        if last == turn and agent == OBSERVER:
            judged = _judged(world, setting, models, before)
            return _observer_prompt(world, prompts, before[0], judged.intents)
        if last == turn:
            return _prompt(world, setting, prompts, before, agent)
    raise UsageError(f"--turn {turn}: this run of {world.name} has turns 0 to {last}")


def prompts_for(world: AnyWorld, variant: str, lang: str, setting: Setting[Any] | None = None) -> PromptSet:
    """Return the prompts of a variant and language; raise UsageError if there are none or they are wrong."""
    try:
        return load_prompts(world, variant, lang, setting)
    except ValueError as error:
        raise UsageError(str(error)) from error


Before = tuple[Any, Mapping[str, Memory]]
"""The state and the memories at the start of a turn."""


def _prompt(world: AnyWorld, setting: Setting[Any], prompts: PromptSet, before: Before, agent: str) -> Prompt:
    """Return an agent's prompt; raise UsageError, with the agents that act, if this one does not."""
    state, memories = before
    agents = world.actors(state)
    if world.over(state) or agent not in agents:
        raise UsageError(
            f"{agent!r} does not act in turn {state.turn}; the agents that act: {', '.join(agents) or 'none'}"
        )
    view = turns.view_of(world, state, memories, agent)
    return Prompt(system_text(prompts, setting), turn_text(prompts, view))


def _observer_prompt(
    world: AnyWorld,
    prompts: PromptSet,
    state: Any,  # noqa: ANN401  a world's own state
    intents: Mapping[str, Any],
) -> Prompt:
    """Return the prompt of an observer that is a model; raise UsageError if none is asked in this turn."""
    if world.observer is None:
        raise UsageError(f"{world.name} has no observer; name an agent")
    if world.observer.asks(state) in {"", PlayerKind.HUMAN}:
        raise UsageError(
            "the observer is no model and reads no prompt; a run may have --observer openai:NAME"
        )
    question = turns.question_of(world, state, intents)
    if question is None:
        raise UsageError(f"no agent requests anything in turn {state.turn}, so the observer is not asked")
    return Prompt(prompts.observer, one_line_json(question))


def _playing_out(world: AnyWorld, setting: Setting[Any], models: Mapping[str, str]) -> Iterator[Before]:
    """Yield state and memories before each turn of a run that scripted policies play."""
    state = world.setup(setting.config, setting.agents, setting.seed)
    memories: Mapping[str, Memory] = {}
    while not world.over(state):
        yield state, memories
        judged = _judged(world, setting, models, (state, memories))
        question, ruling = turns.question_of(world, state, judged.intents), None
        if world.observer and question and (spec := world.observer.asks(state)):
            ruling = _scripted(world.observer.stand_ins, spec, setting, OBSERVER, question)
        played = turns.resolve(world, state, memories, turns.rule(world, state, judged, ruling))
        state, memories = played.resolved.state, played.memories


def _judged(
    world: AnyWorld, setting: Setting[Any], models: Mapping[str, str], before: Before
) -> turns.Judged[Any]:
    """Return what scripted policies answer in a turn, judged."""
    state, memories = before
    answers = {
        agent: _scripted(world.policies, models[world.owner(state, agent)], setting, agent, view)
        for agent, view in turns.views(world, state, memories).items()
    }
    return turns.judge(world, state, answers)


def _scripted(
    policies: Policies, spec: str, setting: Setting[Any], agent: str, view: JsonObject
) -> ParsedAnswer:
    """Return the parsed answer of the policy that a spec names, or of the default one for other players."""
    parsed = parse_spec(policies, spec) if spec.startswith(PlayerKind.POLICY) else None
    name, noise, own = (parsed.name, parsed.noise, parsed.luck) if parsed else (policies.default, 0.0, "")
    text = speak(policies, name, noise, view, Luck(setting.seed, int(str(view["turn"])), agent, own))
    return read(agent, Reply(text, spec))
