"""Laws that hold for any config, any state and any answer."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hobbes.engine.chance import RngStream
from hobbes.engine.mining.actions import KINDS
from hobbes.engine.mining.rules import resolve
from hobbes.engine.mining.state import State
from hobbes.engine.mining.validation import Intent, validate
from hobbes.engine.mining.view import observe
from hobbes.engine.mining.world import MINING
from hobbes.engine.policy import speak
from hobbes.engine.record import Json, canonical
from hobbes.engine.world import Resolved, Validated, make_setting
from tests.soak import examples

AGENTS = ("A", "B", "C", "D")
LAWS = settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])

# Any JSON, and values that JSON does not allow but that a parser may return.
scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.sampled_from([1e308, 1.0, 0.5, float("nan"), float("inf"), 10**30, -(10**30)]),
    st.sampled_from(["", "A", "cell", "\ud800", "\u202e", "x" * 3000]),
)
junk: st.SearchStrategy[Any] = st.one_of(
    scalars,
    st.lists(scalars, max_size=3),
    st.dictionaries(st.sampled_from(["cell", "s", "A", "claim", "mine", "\udfff"]), scalars, max_size=3),
)

# There are few plots, most of them on the grid, so that agents meet. A step is sampled as a whole, because
# building it from parts would take too long for thousands of rounds.
CELLS = [[row, col] for row in range(2) for col in range(3)] + [[-1, 0], [0, 3]]
ORDERS = [{"cell": cell, "s": stamina} for cell in CELLS for stamina in (0, 1, 2, 3, 5)]
STEPS = [{kind: cell} for kind in ("claim", "raid", "defend") for cell in CELLS] * 3 + [
    {"mine": order} for order in ORDERS
]


def listed(elements: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for lists of these elements."""
    return st.lists(st.sampled_from(elements), min_size=2, max_size=6)


MOSTLY = st.sampled_from([True] * 9 + [False])
spoiled = st.one_of(
    junk, st.lists(st.one_of(junk, st.sampled_from(STEPS), st.sampled_from(CELLS)), max_size=3)
)
fields: Mapping[str, st.SearchStrategy[Any]] = {
    "claim": listed(CELLS),
    "raid": listed(CELLS),
    "defend": listed(CELLS),
    "mine": listed(ORDERS),
    "plan": listed(STEPS),
    "message": st.sampled_from(["peace", "", "x" * 300, 7]),
    "reasoning": junk,
    "aggressor_report": st.dictionaries(st.sampled_from("ABX"), st.integers(0, 11), max_size=2),
    "dig": junk,
}
MOVES = ("plan", "plan", "raid", "claim", "defend", "mine")


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Json] | None:
    """Draw an answer with some actions and other fields in some order, or no answer."""
    if draw(st.integers(0, 19)) == 0:
        return None
    names = [
        *draw(st.lists(st.sampled_from(MOVES), min_size=1, max_size=2)),
        *draw(st.lists(st.sampled_from([*fields]), max_size=1)),
    ]
    return {name: draw(fields[name]) if draw(MOSTLY) else draw(spoiled) for name in names}


configs: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"rows": st.integers(1, 2), "cols": st.integers(2, 3), "stamina": st.integers(0, 12)},
    optional={
        "mine_cap": st.integers(1, 4),
        "immunity": st.integers(0, 3),
        "defense": st.sampled_from(["block_all", "per_point"]),
        "visibility": st.sampled_from(["last", "window", "full"]),
        "fault_policy": st.sampled_from(["prune", "rationalize"]),
        "communication": st.booleans(),
        "private_messages": st.booleans(),
        "own_history": st.booleans(),
        "stamina_rise": st.integers(0, 2),
        "authority": st.sampled_from(["none", "raid_tax", "punishment", "adjudication"]),
        "raid_tax_to": st.sampled_from(["victim", "nobody"]),
        "alpha": st.one_of(st.integers(0, 3), st.just({"plots": 1, "multiplier": 5})),
    },
)


@st.composite
def states(draw: st.DrawFn) -> State:
    """Draw a state as it may come in from outside, with any owners, ages, gold and fines."""
    config = draw(configs)
    agents = AGENTS[: draw(st.integers(1, 4))]
    setting = make_setting(MINING, agents, draw(st.integers(0, 3)), config)
    rows, cols = setting.config.rows, setting.config.cols
    land = draw(st.text("." + "".join(agents), min_size=rows * cols, max_size=rows * cols))
    ages = draw(st.text("0123", min_size=rows * cols, max_size=rows * cols))
    purses = draw(st.text("0123456789", min_size=8, max_size=8))
    owners = _grid([None if plot == "." else plot for plot in land], cols)
    since = _grid([None if plot == "." else int(age) for plot, age in zip(land, ages, strict=True)], cols)
    return MINING.state.load(
        setting,
        {
            "turn": 4,
            "owners": owners,
            "first_owner": owners,
            "since": since,
            "gold": {agent: int(purse) for agent, purse in zip(agents, purses, strict=False)},
            "fined": {agent: int(fine) for agent, fine in zip(agents, purses[4:], strict=False)},
        },
    )


def _grid(plots: list[Json], cols: int) -> list[list[Json]]:
    return [plots[k : k + cols] for k in range(0, len(plots), cols)]


@st.composite
def turns(draw: st.DrawFn) -> tuple[State, dict[str, dict[str, Json] | None]]:
    """Draw a state and the answer of each agent."""
    state = draw(states())
    return state, {agent: draw(answers()) for agent in state.setting.agents}


def bytes_of(validated: Mapping[str, Validated[Intent]], resolved: Resolved[State]) -> str:
    """Return all that is recorded of a round, as the text that is hashed."""
    found = [validated[agent] for agent in sorted(validated)]
    return canonical(
        {
            "intents": [MINING.intent.to_json(one.intent) for one in found],
            "drops": [drop.to_json() for one in found for drop in one.drops],
            "mends": [mend.to_json() for one in found for mend in one.mends],
            "events": [event.to_json() for event in resolved.events],
            "draws": [draw.to_json() for draw in resolved.draws],
            "after": MINING.state.to_json(resolved.state),
        }
    )


def elements(answer: Mapping[str, Json]) -> int:
    """Count the elements of an answer: the items of action lists, and each action field without a list."""
    count = 0
    for name, value in answer.items():
        if name == "plan" and isinstance(value, list):
            count += sum(len(step) if isinstance(step, dict) and step else 1 for step in value)
        elif name in KINDS and isinstance(value, list):
            count += len(value)
        elif name in (*KINDS, "plan"):
            count += 1
    return count


@settings(LAWS, max_examples=examples(100, 10_000))
@given(turns())
def test_the_laws_of_a_round(turn: tuple[State, dict[str, dict[str, Json] | None]]) -> None:
    state, said = turn
    heard = repr(said)
    before = MINING.state.to_json(state)
    validated = {agent: validate(state, agent, answer) for agent, answer in said.items()}
    intents = {agent: found.intent for agent, found in validated.items()}
    resolved = resolve(state, intents)
    after = resolved.state

    # The round changes nothing that it is given.
    assert repr(said) == heard
    assert MINING.state.to_json(state) == before

    # Every element ends as an action, a rejection or a correction, and stamina is never overspent.
    for agent, found in validated.items():
        assert sum(action.stamina for action in found.intent.actions) <= state.stamina(agent)
        assert all(1 <= action.stamina <= state.config.mine_cap for action in found.intent.actions)
        beside = ("reflection/", "mining/message/", "mining/no-communication")
        removed = [drop for drop in found.drops if not drop.code.startswith(beside)]
        replaced = [mend for mend in found.mends if mend.code == "mining/rationalized"]
        kept = len(found.intent.actions) - len(replaced)
        assert kept + len(removed) == elements(said[agent] or {})

    # The owner of a plot is an agent, and a plot that is owned stays owned.
    owners = {owner for owner in after.owner.values() if owner is not None}
    assert owners <= set(state.setting.agents)
    assert all(after.owner[cell] is not None for cell, owner in state.owner.items() if owner is not None)
    assert sum(map(len, after.holdings.values())) == sum(owner is not None for owner in after.owner.values())

    # Gold is what was mined; a tax creates none, and takes no more than there is.
    mined = sum(deeds.gold for deeds in after.deeds.values())
    held, holds = sum(state.gold.values()), sum(after.gold.values())
    taxed_away = state.config.authority == "raid_tax"
    assert holds <= held + mined if taxed_away else holds == held + mined
    assert min(after.gold.values()) >= 0
    for agent, deeds in after.deeds.items():
        booked = deeds.gold - deeds.tax_paid + deeds.tax_received
        assert after.gold[agent] == state.gold[agent] + booked

    # The same again gives the same bytes, in whatever order the agents are asked and their answers arrive.
    backwards = {agent: validate(state, agent, said[agent]) for agent in reversed(said)}
    heard_backwards = {agent: found.intent for agent, found in backwards.items()}
    again = resolve(state, heard_backwards)
    assert bytes_of(backwards, again) == bytes_of(validated, resolved)

    # A state goes to JSON and back.
    written = MINING.state.to_json(after)
    assert MINING.state.to_json(MINING.state.load(state.setting, json.loads(json.dumps(written)))) == written


@settings(LAWS, max_examples=examples(50, 1_000))
@given(turns(), st.data())
def test_no_contest_moves_the_draw_of_another(
    turn: tuple[State, dict[str, dict[str, Json] | None]], data: st.DataObject
) -> None:
    """Without the actions on one plot, the draws on all other plots stay the same."""
    state, said = turn
    intents = {agent: validate(state, agent, answer).intent for agent, answer in said.items()}
    gone = data.draw(st.sampled_from(sorted(state.owner)))
    without = {
        agent: Intent(tuple(action for action in intent.actions if action.cell != gone))
        for agent, intent in intents.items()
    }
    expected = [draw for draw in resolve(state, intents).draws if draw.subject != list(gone)]
    assert list(resolve(state, without).draws) == expected


@settings(LAWS, max_examples=examples(50, 1_000))
@given(turns())
def test_what_is_seen_is_plain_json_and_holds_no_others_gold(
    turn: tuple[State, dict[str, dict[str, Json] | None]],
) -> None:
    state, said = turn
    after = resolve(
        state, {agent: validate(state, agent, answer).intent for agent, answer in said.items()}
    ).state
    for agent in state.setting.agents:
        view = observe(after, agent)
        assert json.loads(json.dumps(view)) == view
        richer = MINING.state.load(
            state.setting,
            {
                **MINING.state.to_json(after),
                "gold": {other: gold + 1000 * (other != agent) for other, gold in after.gold.items()},
            },
        )
        assert observe(richer, agent) == view


@settings(LAWS, max_examples=examples(50, 1_000))
@given(states(), st.sampled_from(sorted(MINING.policies.by_name)), st.sampled_from([0.0, 0.2, 0.6, 1.0]))
def test_no_comparator_ever_says_what_is_refused(state: State, name: str, share: float) -> None:
    for agent in state.setting.agents:
        view, rng = observe(state, agent), RngStream(1, state.turn, agent)
        found = validate(state, agent, json.loads(speak(MINING.policies, name, 0, view, rng, tremble=share)))
        assert found.drops == ()
        assert not [mend for mend in found.mends if mend.code != "mining/rationalized"]


def test_nesting_without_end_is_refused_and_not_fatal() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    setting = make_setting(MINING, AGENTS, 1, {"rows": 1, "cols": 2})
    state = MINING.setup(setting.config, setting.agents, setting.seed)
    for answer in ({"claim": [deep]}, {"plan": [deep]}, {"dig": deep}, {"mine": [{"cell": deep, "s": 1}]}):
        found = validate(state, "A", answer)
        one = (found.drops or found.mends)[0]
        assert len(canonical(one.to_json())) < 1500
