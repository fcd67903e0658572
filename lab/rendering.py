"""`hobbes prompts render`: exactly what would be sent, with nothing sent."""

from typing import Any

from engine.chance import Luck
from engine.world import AnyWorld, Config
from lab.errors import UsageError
from lab.playing import Request, settle_request
from lab.records import Records, Run
from lab.tracing import logged, state_before
from nodes.journal import Prompt
from nodes.prompting import PromptSet, load_prompts, system_text, turn_text
from nodes.state import EMPTY_MIND


def render_in_run(
    records: Records, run: Run, turn: int, agent: str, text: tuple[str | None, str | None]
) -> Prompt:
    """Give the prompt of one turn and agent of a run.

    `text` is the variant and language; what is None is the run's own. The text is today's.
    """
    variant, lang = text
    variant, lang = variant or run.prompts.variant, lang or run.prompts.lang
    prompts = prompts_for(run.world, variant, lang, run.setting.config)
    state = state_before(records, run, turn)
    minds = logged(records, run, turn - 1).record["minds"] if turn else {}
    view = _view(run.world, state, turn, agent) | {"mind": minds.get(agent, EMPTY_MIND)}
    return Prompt(system_text(prompts, run.setting), turn_text(prompts, view))


def render_anew(request: Request, turn: int, agent: str) -> Prompt:
    """Give the prompt that an agent would read at a turn to which the world's default policy has led."""
    try:
        world, setting = settle_request(request)
    except ValueError as error:
        raise UsageError(str(error)) from error
    variant = request.prompts or world.prompts(setting.config)
    prompts = prompts_for(world, variant, request.lang, setting.config)
    policy = world.policies.by_name[world.policies.default]
    state = world.setup(setting.config, setting.agents, setting.seed)
    for now in range(turn):
        if world.over(state):
            raise UsageError(
                f"a run of {world.name} has turns 0 to {now - 1}; --set rounds=N makes it longer"
            )
        intents = {
            one: world.validate(
                state, one, policy(world.observe(state, one), Luck(setting.seed, now, one))
            ).intent
            for one in world.actors(state)
        }
        state = world.resolve(state, intents).state
    view = _view(world, state, turn, agent) | {"mind": EMPTY_MIND}
    return Prompt(system_text(prompts, setting), turn_text(prompts, view))


def prompts_for(world: AnyWorld, variant: str, lang: str, config: Config | None = None) -> PromptSet:
    """Load prompts; what is wrong with them is the asker's to mend."""
    try:
        return load_prompts(world, variant, lang, config)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _view(world: AnyWorld, state: Any, turn: int, agent: str) -> dict[str, Any]:  # noqa: ANN401  a world's own state
    """Give an agent's view; UsageError says who acts."""
    actors = world.actors(state)
    if world.over(state) or agent not in actors:
        raise UsageError(f"{agent!r} is not asked in turn {turn}; these are: {', '.join(actors)}")
    return dict(world.observe(state, agent))
