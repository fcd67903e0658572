"""What is asked in one turn, and the exact prompt for it: `hobbes prompts render` and `hobbes watch`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hobbes.engine import turn as turns
from hobbes.engine.answer import ParsedAnswer
from hobbes.engine.chance import RngStream
from hobbes.engine.memory import Memory
from hobbes.engine.record import JsonObject
from hobbes.engine.world import OBSERVER, AnyWorld, Setting
from hobbes.lab.errors import UsageError
from hobbes.lab.play.playing import RunOptions, settle_options
from hobbes.lab.store.history import intents_of, logged, memories_before, state_before
from hobbes.lab.store.home import Store
from hobbes.lab.store.run import Run
from hobbes.nodes import prompting
from hobbes.nodes.journal import PlayerKind, Prompt, Reply
from hobbes.nodes.models import NO_MODELS, Models
from hobbes.nodes.players import deal, parse_spec
from hobbes.nodes.reading import read

Before = tuple[Any, Mapping[str, Memory]]
"""The state and the memories at the start of a turn."""


@dataclass(frozen=True, slots=True)
class PromptQuestion:
    """What an agent or the observer is asked in a turn, apart from the prompt files, which people edit."""

    world: AnyWorld
    setting: Setting[Any]
    variant: str
    lang: str
    state: Any
    """The world's state at the start of the turn."""
    memories: Mapping[str, Memory]
    """The memories at the start of the turn."""
    agent: str
    view: JsonObject
    """What the agent sees; for the observer, the requests of the turn."""
    intents: Mapping[str, Any]
    """What the agents intend that request something of the observer; empty for an agent's question."""
    player: str
    """The spec of the player that answers."""
    models: Models
    """The settings of the models that the spec may name."""

    def prompts(self) -> prompting.PromptSet:
        """Return the prompt files as they are now; raise UsageError if they are wrong."""
        return prompts_for(self.world, self.variant, self.lang, self.setting)

    def filled_in(self, prompts: prompting.PromptSet) -> Prompt:
        """Return the prompt; raise UsageError if the templates cannot be filled in under these settings."""
        if self.agent == OBSERVER:
            return Prompt(prompts.observer, prompting.one_line_json(self.view))
        try:
            return Prompt(
                prompting.system_text(prompts, self.setting), prompting.turn_text(prompts, self.view)
            )
        except prompting.PromptError as error:
            raise UsageError(str(error)) from error

    def words(self, prompts: prompting.PromptSet, prompt: Prompt) -> str:
        """Return the beginning of the turn text that is the same for all agents and turns."""
        return "" if self.agent == OBSERVER else prompting.fixed_words(prompts, prompt.turn)


def question_in_run(
    store: Store, run: Run, turn: int, agent: str, variant_and_lang: tuple[str | None, str | None]
) -> PromptQuestion:
    """Return the question of one turn and agent, or observer, of a run.

    `variant_and_lang` may have None for the run's own variant or language.
    """
    if turn > run.turns:
        raise UsageError(f"--turn {turn}: run {run.id} has {run.turns} turns so far, and the first is turn 0")
    variant, lang = variant_and_lang
    way = run.at(turn)
    before = state_before(store, run, turn), memories_before(store, run, turn)
    intents: Mapping[str, Any] = {}
    if agent == OBSERVER:
        intents = intents_of(run, logged(store, run, turn))
    wording = variant or way.prompts.variant, lang or way.prompts.lang
    return _question(run.world, way.setting, wording, before, agent, intents, way.models, way.model_settings)


def question_of_new(options: RunOptions, turn: int, agent: str, named: Models = NO_MODELS) -> PromptQuestion:
    """Return the question to an agent or the observer in a turn of a run with these options.

    `named` has the models of the models file, which `options` may name.

    Scripted policies play the turns before it. No model is called: the world's default policy answers in its
    place, and in the place of an observer that is a model or a person.
    """
    try:
        world, setting = settle_options(options)
        models = deal(world, options.models or f"policy:{world.policies.default}", setting.agents, named)
    except ValueError as error:
        raise UsageError(str(error)) from error
    wording = options.prompts or world.prompts(setting.config), options.lang
    last = 0
    for last, before in enumerate(_playing_out(world, setting, models)):
        if last == turn:
            judged = _judged(world, setting, models, before)
            return _question(world, setting, wording, before, agent, judged.intents, models, named)
    raise UsageError(f"--turn {turn}: this run of {world.name} has turns 0 to {last}")


def token_counts(prompt: Prompt, words: str) -> dict[str, Any]:
    """Return the approximate tokens of a prompt: of both texts, and of each section.

    `words` begin the turn text of all agents and turns (`PromptQuestion.words`). `shared` is the share of the
    prompt, from 0 to 1, that is the same for all agents and turns and stands before all else, `cacheable` the
    share that a provider can keep in its cache: as much, unless it is too short for a cache.
    """
    empty = prompting.approximate_tokens("")  # what a message takes beside its text
    counts = [
        (text, title, prompting.approximate_tokens(section) - empty)
        for text, title, section in prompting.sections(prompt.system, prompt.turn, words)
    ]
    *_, view = counts
    whole = sum(count for *_, count in counts)
    same = whole - view[-1]
    return {
        "system": prompting.approximate_tokens(prompt.system),
        "turn": prompting.approximate_tokens(prompt.turn),
        "sections": [dict(zip(("text", "section", "tokens"), one, strict=True)) for one in counts],
        "shared": same / whole,
        "cacheable": prompting.cacheable(same) / whole,
    }


def prompts_for(
    world: AnyWorld, variant: str, lang: str, setting: Setting[Any] | None = None
) -> prompting.PromptSet:
    """Return the prompts of a variant and language; raise UsageError if there are none or they are wrong."""
    try:
        return prompting.load_prompts(world, variant, lang, setting)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _question(  # noqa: PLR0913, PLR0917  what a question depends on
    world: AnyWorld,
    setting: Setting[Any],
    wording: tuple[str, str],
    before: Before,
    agent: str,
    intents: Mapping[str, Any],
    players: Mapping[str, str],
    models: Models,
) -> PromptQuestion:
    """Return a question; raise UsageError if this agent or observer is not asked, with those that are."""
    state, memories = before
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
        view, intents = turns.view_of(world, state, memories, agent), {}
        player = players[world.owner(state, agent)]
    return PromptQuestion(world, setting, *wording, state, memories, agent, view, intents, player, models)


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


def _playing_out(world: AnyWorld, setting: Setting[Any], models: Mapping[str, str]) -> Iterator[Before]:
    """Yield state and memories before each turn of a run that scripted policies play."""
    state = world.setup(setting.config, setting.agents, setting.seed)
    memories: Mapping[str, Memory] = {}
    while not world.over(state):
        yield state, memories
        judged = _judged(world, setting, models, (state, memories))
        question, ruling = turns.question_of(world, state, judged.intents), None
        if world.observer and question and (spec := world.observer.asks(state)):
            ruling = _scripted(world, spec, setting, OBSERVER, question)
        played = turns.resolve(world, state, memories, turns.rule(world, state, judged, ruling))
        state, memories = played.resolved.state, played.memories


def _judged(
    world: AnyWorld, setting: Setting[Any], models: Mapping[str, str], before: Before
) -> turns.Judged[Any]:
    """Return what scripted policies answer in a turn, judged."""
    state, memories = before
    answers = {
        agent: _scripted(world, models[world.owner(state, agent)], setting, agent, view)
        for agent, view in turns.views(world, state, memories).items()
    }
    return turns.judge(world, state, answers)


def _scripted(
    world: AnyWorld, spec: str, setting: Setting[Any], agent: str, view: JsonObject
) -> ParsedAnswer:
    """Return the parsed answer of the policy that a spec names, or of the default one for other players."""
    policies = world.observer.stand_ins if world.observer and agent == OBSERVER else world.policies
    scripted = spec if spec.startswith(PlayerKind.POLICY) else f"{PlayerKind.POLICY}:{policies.default}"
    parsed = parse_spec(policies, scripted)
    rng = RngStream(setting.seed, int(str(view["turn"])), agent, parsed.rng)
    reply = Reply(parsed.speak(policies, view, rng), spec)
    return read(agent, reply, turns.answer_fields(world, setting, agent))
