"""`hobbes make-test --probe`: answers to a probe in a file, and whether they are still as expected.

The file holds, for each situation of an agent, what the agent was in and the answers that it gave. They are
judged by today's reading and rules, without a network. If the prompt is not the one that they were given to,
the summary of pytest says so.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hobbes.engine.answer import DECISIONS
from hobbes.engine.names import did_you_mean
from hobbes.engine.telling import AGENT, counted
from hobbes.engine.turn import answer_fields, view_of
from hobbes.engine.world import AnyWorld
from hobbes.errors import UsageError
from hobbes.nodes.journal import Call, Prompt
from hobbes.nodes.reading import read
from hobbes.play.render import PromptQuestion
from hobbes.probe.probe_plan import Column, place
from hobbes.probe.situations import Situation
from hobbes.probe.table import ProbeResult
from hobbes.prove.pins import FrequencyPin, GivenAnswer, PinnedSituation, relative_variant, resolved_variant
from hobbes.store.home import Store

EXPECTED = re.compile(
    r"(?P<agent>[^:]+?)\s*:\s*(?P<no>no\s+)?(?P<act>.+?)"
    r"\s+in\s+at\s+(?P<bound>least|most)\s+(?P<n>[0-9]{1,4})\s+of\s+(?P<of>[1-9][0-9]{0,3})"
)


class Expectation(NamedTuple):
    """In how many of an agent's answers to a situation an act is expected, or its absence."""

    agent: str
    absent: bool
    act: str
    bound: str
    n: int
    of: int


def expectation(text: str) -> Expectation:
    """Return what a text expects; raise UsageError unless some answers are as it says, and others are not."""
    found = EXPECTED.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"the expectation {text!r}: write AGENT: ACT in at least N of M; also `no ACT`, and `at most`"
        )
    bound, absent, n, of = found["bound"], bool(found["no"]), int(found["n"]), int(found["of"])
    lowest, highest = (1, of) if bound == "least" else (0, of - 1)
    if not lowest <= n <= highest:
        never = "hold" if bound == "least" and n > of else "fail"
        raise UsageError(
            f"the expectation {text!r} cannot {never}, whatever is answered; "
            f"with `at {bound}`, write a number from {lowest} to {highest}"
        )
    return Expectation(found["agent"], absent, found["act"], bound, n, of)


def pin_frequency(
    store: Store, result: ProbeResult, column: str, expected: str, folder: Path
) -> FrequencyPin:
    """Return the file of a test in `folder`: the first answers of a column to the situations of an agent.

    Raise UsageError if there are too few answers, or if they are not as expected.
    """
    expect, situations = expectation(expected), []
    for number, situation in enumerate(result.situations, start=1):
        if situation.agent != expect.agent:
            continue
        answers = result.cell(number, column).answers[: expect.of]
        if len(answers) < expect.of:
            raise UsageError(
                f"situation {number} has {counted(len(answers), 'answer')}; ask more with --times {expect.of}"
            )
        calls = [one.call for one in answers]
        situations.append(_situation(store, situation, result.column(column), calls, folder))
    if not situations:
        raise UsageError(f"--expect: probe {result.name} has no situation of {expect.agent!r}")
    pin = FrequencyPin(
        about=f"{expected}. Answers of the column {column} of the probe {result.name}.",
        world=result.world.name,
        expect=expected,
        situations=situations,
    )
    if problems := judge(pin):
        raise UsageError(f"the recorded answers are not as expected: {problems[0]}")
    return pin


def _situation(
    store: Store, situation: Situation, column: Column, calls: Sequence[Call], folder: Path
) -> PinnedSituation:
    at = place(store, situation, column)
    models = {**at.way.model_settings, **column.model_settings}
    system, prompt = calls[0].prompt
    return PinnedSituation(
        run=situation.run,
        turn=situation.turn,
        agents=list(at.setting.agents),
        seed=at.setting.seed,
        settings=at.setting.config.model_dump(mode="json"),
        state=at.way.world.state.to_json(at.state),
        memories={agent: dict(memory.to_json()) for agent, memory in at.memories.items()},
        prompts=relative_variant(folder, column.prompts or at.way.prompts.variant),
        lang=column.lang or at.way.prompts.lang,
        player=at.spec,
        models={at.spec: models[at.spec]} if at.spec in models else {},
        system=system.split("\n"),
        prompt=prompt.split("\n"),
        answers=[GivenAnswer.to(call) for call in calls],
    )


def judge(pin: FrequencyPin) -> list[str]:
    """Return what is not as expected, in a sentence for each situation.

    A failed call neither has an act nor lacks one. Raise UsageError for an act that its world does not have.
    """
    expect, problems = expectation(pin.expect), []
    for one in pin.situations:
        decided = _acts(pin, one, expect)
        n = sum((expect.act in acts) != expect.absent for acts in decided)
        if n < expect.n if expect.bound == "least" else n > expect.n:
            given = len(one.answers)
            failed = f", and {given - len(decided)} failed" if given > len(decided) else ""
            problems.append(
                f"{expect.agent}, turn {one.turn} of {one.run}: {'no ' * expect.absent}{expect.act} "
                f"in {n} of {counted(given, 'answer')}{failed}, expected in at {expect.bound} {expect.n}"
            )
    return problems


def _acts(pin: FrequencyPin, one: PinnedSituation, expect: Expectation) -> list[Sequence[str]]:
    """Return the acts of each answer that is a decision, as today's reading and rules have it."""
    world, setting, start = pin.begin(one.agents, one.seed, one.settings, one.state, one.memories)
    _check_act(world, expect.act, [*one.agents, *world.actors(start.state)])
    fields = answer_fields(world, setting, expect.agent)
    parsed = [read(expect.agent, answer.reply, fields) for answer in one.answers]
    return [
        world.telling.acts(world.validate(start.state, expect.agent, answer.said).intent)
        for answer in parsed
        if answer.outcome in DECISIONS
    ]


def _check_act(world: AnyWorld, act: str, agents: Sequence[str]) -> None:
    """Raise UsageError for an act that no decision can have where these agents are."""
    names = world.telling.act_names
    known = {name.replace(AGENT, agent) for name in names for agent in agents}
    if act not in known:
        hint = did_you_mean(act, sorted(known), f"acts: {', '.join(names) or 'none'}")
        raise UsageError(f"{world.name} has no act {act!r}{hint}")


def has_other_prompts(pin: FrequencyPin, folder: Path) -> bool:
    """Return whether a prompt is not the one that the answers were given to.

    Raise UsageError if one cannot be loaded.
    """
    agent = expectation(pin.expect).agent
    for one in pin.situations:
        world, setting, start = pin.begin(one.agents, one.seed, one.settings, one.state, one.memories)
        view = view_of(world, start.state, start.memories, agent)
        variant = resolved_variant(folder, one.prompts)
        question = PromptQuestion(
            world, setting, variant, one.lang, start, agent, view, player=one.player, models=one.models
        )
        given = Prompt("\n".join(one.system), "\n".join(one.prompt))
        if question.render(question.load_prompts()) != given:
            return True
    return False
