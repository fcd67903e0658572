"""mining: the scripted policies, noise that spoils an answer as a model would, and random actions.

A scripted policy reads the view that a model reads, and nothing else.

Source: docs/rules/mining.md#scripted-policies.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

from hobbes.engine.chance import RngStream
from hobbes.engine.mining.actions import KINDS, Kind
from hobbes.engine.mining.state import Cell
from hobbes.engine.mining.view import UNOWNED, border_of, core_of, largest_of, map_codes
from hobbes.engine.policy import Policies
from hobbes.engine.record import JsonObject
from hobbes.engine.telling import counted


@dataclass(frozen=True)
class Sight:
    """A view in the form that a scripted policy needs."""

    view: Mapping[str, Any]

    @property
    def stamina(self) -> int:
        """The stamina budget of this round."""
        return int(self.view["stamina"])

    @property
    def cap(self) -> int:
        """The most stamina that one plot takes."""
        return int(self.view["rules"]["mine_cap"])

    @cached_property
    def own_plots(self) -> list[Cell]:
        """The agent's own plots, row by row."""
        return [(r, c) for r, c, _ in self.view["your_plots"]]

    @property
    def plots(self) -> list[Cell]:
        """Every plot."""
        return self._coded(self._by_code)

    @property
    def share(self) -> int:
        """A fair share of the plots, at least one."""
        return max(1, sum(map(len, self._by_code.values())) // len(self.view["plots_held"]))

    @property
    def unowned(self) -> list[Cell]:
        """Unowned plots."""
        return self._coded([UNOWNED])

    @property
    def others(self) -> list[Cell]:
        """Plots of other agents that can be raided."""
        you = self.view["you"]
        return self.raidable(self._coded([code for agent, code in self._code_of.items() if agent != you]))

    @property
    def possible(self) -> dict[Kind, list[Cell]]:
        """The plots on which each kind of action is allowed; kinds without a plot are left out."""
        plots: dict[Kind, list[Cell]] = {
            "claim": self.unowned,
            "raid": self.others,
            "defend": self.own_plots,
            "mine": self.own_plots,
        }
        return {kind: cells for kind, cells in plots.items() if cells}

    def alpha(self, cell: Cell) -> int:
        """Return the gold that a plot gives for 1 stamina."""
        alpha = self.view["rules"]["gold_per_stamina"]
        return int(alpha[cell[0]][cell[1]] if isinstance(alpha, list) else alpha)

    def best(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return these plots, those that give the most gold first."""
        return sorted(cells, key=self.alpha, reverse=True)

    def income(self, cells: Iterable[Cell], stamina: int) -> int:
        """Return the most gold that this stamina can mine on these plots in a round."""
        gold = 0
        for cell in self.best(cells):
            spent = min(self.cap, stamina)
            gold += spent * self.alpha(cell)
            stamina -= spent
        return gold

    @property
    def size(self) -> tuple[int, int]:
        """The rows and columns of the grid."""
        rows = self.view["map"]
        return len(rows), len(rows[0].split(" "))

    def held_by(self, agent: str, *, protected: bool = False) -> list[Cell]:
        """Return the plots of another agent that can be raided, or all of them with those `protected`."""
        held = self._coded([self._code_of[agent]])
        return held if protected else self.raidable(held)

    def raidable(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return those of these plots that are not protected."""
        protected = {(r, c) for r, c, _ in self.view.get("protected", ())}
        return [cell for cell in cells if cell not in protected] if protected else list(cells)

    @cached_property
    def _by_code(self) -> Mapping[str, list[Cell]]:
        return _read_map(tuple(self.view["map"]))

    @cached_property
    def _code_of(self) -> Mapping[str, str]:
        return _read_codes(tuple(self.view["plots_held"]))

    def _coded(self, codes: Iterable[str]) -> list[Cell]:
        """Return the plots with these codes, one code after the other."""
        return list(chain.from_iterable([self._by_code.get(code, ()) for code in codes]))

    @cached_property
    def raided_me(self) -> dict[str, list[Cell]]:
        """The agents that raided me last round, each with the plots that it raided."""
        found: dict[str, list[Cell]] = {}
        for raid in self.view["last_round"]["raided"]:
            if raid["owner"] == self.view["you"]:
                for raider in raid["by"]:
                    found.setdefault(raider, []).append((raid["plot"][0], raid["plot"][1]))
        return found


@lru_cache(maxsize=2)
def _read_map(rows: tuple[str, ...]) -> Mapping[str, list[Cell]]:
    """Return the plots under each code of a map. All agents see one map, so a cache reads it once."""
    found: dict[str, list[Cell]] = {}
    for r, row in enumerate(rows):
        for c, code in enumerate(row.split(" ")):
            found.setdefault(code, []).append((r, c))
    return found


_read_codes = lru_cache(maxsize=8)(map_codes)


@dataclass
class Plan:
    """An answer in the making. What is added first has the higher priority; stamina is never overspent."""

    left: int
    steps: list[tuple[str, Any]] = field(default_factory=list)

    def add(self, kind: str, cells: Iterable[Cell]) -> None:
        """Add one action per plot, each for 1 stamina, while stamina is left."""
        for cell in cells:
            if self.left < 1:
                return
            self.steps.append((kind, list(cell)))
            self.left -= 1

    def mine(self, cells: Iterable[Cell], cap: int) -> None:
        """Add orders to mine up to the cap, while stamina is left."""
        for cell in cells:
            if self.left < 1:
                return
            stamina = min(cap, self.left)
            self.steps.append(("mine", {"cell": list(cell), "s": stamina}))
            self.left -= stamina

    def moves(self) -> dict[str, list[Any]]:
        """Return the actions by kind, for policies that plan one kind after the other."""
        return {
            kind: [element for k, element in self.steps if k == kind]
            for kind in dict.fromkeys(k for k, _ in self.steps)
        }


def random(view: JsonObject, rng: RngStream) -> JsonObject:
    """Spend stamina on random actions; each kind for which there is still a plot is equally likely.

    Source: docs/rules/mining.md#random-policy.
    """
    sight = Sight(view)
    plan = Plan(sight.stamina)
    decks = {kind: rng.shuffled(cells, kind) for kind, cells in sight.possible.items()}
    while plan.left > 0 and decks:
        kind = rng.pick(list(decks), f"kind/{plan.left}")
        cell = decks[kind].pop()
        if kind == "mine":
            plan.mine([cell], 1 + rng.below(sight.cap, f"stamina/{plan.left}"))
        else:
            plan.add(kind, [cell])
        if not decks[kind]:
            del decks[kind]
    return {"plan": [{kind: element} for kind, element in plan.steps], "reasoning": "I act at random."}


def greedy_mine(view: JsonObject, rng: RngStream) -> JsonObject:
    """Mine own plots first, then claim, then raid.

    Source: docs/rules/mining.md#greedy-mine.
    """
    sight = Sight(view)
    plan = Plan(sight.stamina)
    plan.mine(sight.own_plots, sight.cap)
    plan.add("claim", rng.shuffled(sight.unowned, "claim"))
    plan.add("raid", rng.shuffled(sight.others, "raid"))
    return _answer(sight, plan, "I mine what I have and take what I can with the rest.")


def defend_then_mine(view: JsonObject, rng: RngStream) -> JsonObject:
    """Defend all own plots, then mine them, then claim with what is left.

    Source: docs/rules/mining.md#defend-then-mine.
    """
    sight = Sight(view)
    plan = Plan(sight.stamina)
    plan.add("defend", sight.own_plots)
    plan.mine(sight.own_plots, sight.cap)
    plan.add("claim", rng.shuffled(sight.unowned, "claim"))
    return _answer(sight, plan, "I defend all I have before I mine it.")


def tit_for_tat_raid(view: JsonObject, rng: RngStream) -> JsonObject:
    """Raid those who raided me last round, plot for plot, then mine, then claim with what is left.

    Source: docs/rules/mining.md#tit-for-tat-raid.
    """
    sight = Sight(view)
    plan = Plan(sight.stamina)
    for raider, raided in sorted(sight.raided_me.items()):
        plan.add("raid", rng.shuffled(sight.held_by(raider), f"raid/{raider}")[: len(raided)])
    plan.mine(sight.own_plots, sight.cap)
    plan.add("claim", rng.shuffled(sight.unowned, "claim"))
    raiders = ", ".join(sorted(sight.raided_me))
    return _answer(
        sight, plan, f"I raid {raiders} back." if raiders else "Nobody raided me, so I mine and claim."
    )


def guided(view: JsonObject, rng: RngStream) -> JsonObject:
    """Follow the advice of the prompt. The fair share is the number of plots / that of agents, at least 1.

    After a raid, defend the raided plots and the core first. Below the fair share, claim unowned plots or,
    if there are none, raid border plots of the largest landholder. Mine with what is left.

    Source: docs/rules/mining.md#guided, docs/rules/mining.md#equal-share.
    """
    sight = Sight(view)
    plan = Plan(sight.stamina)
    share = sight.share
    missing = max(0, share - len(sight.own_plots))
    if sight.raided_me:
        plan.add("defend", _to_defend(sight))
    claiming = bool(missing and sight.unowned)
    if claiming:
        plan.add("claim", rng.shuffled(sight.unowned, "claim")[:missing])
    elif missing:
        plan.add("raid", rng.shuffled(_border_of_largest(sight, share), "raid")[:missing])
    plan.mine(sight.own_plots, sight.cap)
    have = f"I hold {len(sight.own_plots)} of a fair share of {counted(share, 'plot')}"
    return _answer(sight, plan, f"{have}, {_because(sight, missing, claiming=claiming)}.")


def _to_defend(sight: Sight) -> list[Cell]:
    """Return the plots raided last round, then the core: as many as half of the stamina can defend.

    The other half is left for claims, raids and mining.
    """
    own = set(sight.own_plots)
    core = core_of({(r, c): held for r, c, held in sight.view["your_plots"]}, *sight.size)
    raided = [cell for cells in sight.raided_me.values() for cell in cells if cell in own]
    return list(dict.fromkeys([*raided, *core]))[: max(1, sight.stamina // 2)]


def _border_of_largest(sight: Sight, share: int) -> list[Cell]:
    """Return the border plots of the largest landholders, other than me, that have more than a fair share.

    A landholder of the whole board has no border, so all its plots are. Protected plots are left out.
    """
    targets: list[Cell] = []
    for agent in largest_of(sight.view["plots_held"]):
        if agent != sight.view["you"] and sight.view["plots_held"][agent] > share:
            held = sight.held_by(agent, protected=True)
            targets += border_of(held, *sight.size) or held
    return sight.raidable(targets)


AHEAD = 5
"""For how many rounds ahead an opportunist counts the gold of a plot.

Source: docs/rules/mining.md#opportunist.
"""


def opportunist(view: JsonObject, rng: RngStream) -> JsonObject:
    """Take the plots that bring more gold in the next rounds than the stamina for them mines now.

    Unowned plots are claimed, and others' plots that were not defended last round are raided. Mine with what
    is left.

    Source: docs/rules/mining.md#opportunist.
    """
    sight = Sight(view)
    plan = Plan(sight.stamina)
    rounds = min(AHEAD, sight.view["turns_left"] - 1) if "turns_left" in sight.view else AHEAD
    held = list(sight.own_plots)
    for kind, cell in _prizes(sight, rng):
        if plan.left < 1:
            break
        gain = sight.income([*held, cell], sight.stamina) - sight.income(held, sight.stamina)
        cost = sight.income(sight.own_plots, plan.left) - sight.income(sight.own_plots, plan.left - 1)
        if rounds * gain <= cost:
            break
        plan.add(kind, [cell])
        held.append(cell)
    taken = len(plan.steps)
    plan.mine(sight.best(sight.own_plots), sight.cap)
    are = "is" if taken == 1 else "are"
    return _answer(sight, plan, f"{counted(taken, 'plot')} {are} worth taking, and I mine with the rest.")


def _prizes(sight: Sight, rng: RngStream) -> list[tuple[Kind, Cell]]:
    """Return the plots that can be taken, the most valuable first; of equal ones, those to claim.

    Plots that were defended last round are left out.
    """
    defended = {(r, c) for r, c in sight.view["last_round"]["defended"]}
    open_to_raids = [cell for cell in sight.others if cell not in defended]
    prizes: list[tuple[Kind, Cell]] = [("claim", cell) for cell in rng.shuffled(sight.unowned, "claim")]
    prizes += [("raid", cell) for cell in rng.shuffled(open_to_raids, "raid")]
    return sorted(prizes, key=lambda prize: sight.alpha(prize[1]), reverse=True)


def raider(view: JsonObject, rng: RngStream, *, greed: float = 0.5) -> JsonObject:
    """Spend a share of the stamina, `greed` (0 to 1, by default 0.5), on raids, then mine, then claim.

    Source: docs/rules/mining.md#raider.
    """
    sight = Sight(view)
    plan = Plan(sight.stamina)
    plan.add("raid", rng.shuffled(sight.others, "raid")[: int(greed * sight.stamina + 0.5)])
    plan.mine(sight.own_plots, sight.cap)
    plan.add("claim", rng.shuffled(sight.unowned, "claim"))
    return _answer(sight, plan, "I raid first and mine with the rest.")


def _because(sight: Sight, missing: int, *, claiming: bool) -> str:
    if sight.raided_me:
        return f"{', '.join(sorted(sight.raided_me))} raided me, so I defend first"
    if not missing:
        return "which is enough, so I mine"
    return (
        "so I claim unowned plots" if claiming else "and nothing is unowned, so I look at the largest holder"
    )


def _answer(sight: Sight, plan: Plan, why: str) -> JsonObject:
    """Return the answer with its reflection fields, as a model would give it."""
    raiders = sight.raided_me
    mined = (0, *sight.view["your_rounds"]["gold"])[-1]
    return {
        "reasoning": why,
        **plan.moves(),
        "summary_last_turn": f"I mined {mined} gold.",
        "history_summary": f"I hold {counted(len(sight.own_plots), 'plot')}.",
        "aggressor_report": {agent: min(10, 5 + len(cells)) for agent, cells in raiders.items()},
    }


def spoil(view: JsonObject, answer: JsonObject, rng: RngStream, noise: float) -> JsonObject:
    """Spoil each action with probability `noise`, and with the same probability add something unasked.

    Source: docs/rules/mining.md#noise.
    """
    sight = Sight(view)
    spoiled = {
        key: list(_spoil_elements(sight, key, value, rng, noise)) if key in KINDS or key == "plan" else value
        for key, value in answer.items()
    }
    if rng.happens(noise, "noise/beside"):
        extras = (*EXTRAS, _whisper(sight)) if "messages" in view else EXTRAS
        spoiled |= rng.pick(extras, "noise/beside-kind")
    return spoiled


EXTRAS: tuple[JsonObject, ...] = (
    {"build": [[0, 0]]},
    {"defend": "all that is mine"},
    {"plan": ["wait", {"dance": [0, 0]}]},
    {"message": "Let us all share, and nobody raids."},
    {"message": ["to all"]},
    {"message": "\u202eecaep\u202c \x1b[5mfor all\x1b[0m"},
)
"""What a model says that no rule asks for: unknown kinds, texts in place of lists and steps, messages.

Source: docs/rules/mining.md#noise.
"""


def _whisper(sight: Sight) -> JsonObject:
    """Return private messages to another agent, if there is one, and to somebody who does not play."""
    others = [agent for agent in sight.view["plots_held"] if agent != sight.view["you"]]
    return {"message": dict.fromkeys([*others[:1], "nobody"], "Shall the two of us share?")}


def _spoil_elements(sight: Sight, key: str, elements: Any, rng: RngStream, noise: float) -> Iterator[Any]:  # noqa: ANN401
    """Yield the elements of a list, each spoiled with probability `noise`: it is changed or said twice."""
    for k, element in enumerate(elements):
        name = f"noise/{key}/{k}"
        if not rng.happens(noise, name):
            yield element
        elif rng.happens(1 / 6, f"{name}/twice"):
            yield from (element, element)
        else:
            yield _spoil_element(sight, element, rng, name)


def _spoil_element(sight: Sight, element: Any, rng: RngStream, name: str) -> Any:  # noqa: ANN401  any JSON
    """Return an element spoiled in one way: its plot is random or none, or its stamina is too much or 0."""
    off_grid = [len(sight.view["map"]) + 2, -1]
    anywhere = list(rng.pick(sight.plots, f"{name}/cell"))
    cell = rng.pick((off_grid, anywhere, "the one in the north"), f"{name}/kind")
    if isinstance(element, list):
        return cell
    if "cell" in element:
        return rng.pick(
            ({**element, "cell": cell}, {**element, "s": 99}, {**element, "s": 0}), f"{name}/mine"
        )
    return {kind: _spoil_element(sight, inner, rng, name) for kind, inner in element.items()}


def tremble(view: JsonObject, answer: JsonObject, rng: RngStream, share: float) -> JsonObject:
    """Replace each action with probability `share` by a random legal one that costs no more.

    The new action never repeats one that the answer has or had. If no other is legal, the action is kept.

    Source: docs/rules/mining.md#tremble.
    """
    sight = Sight(view)
    steps = list(_steps(answer))
    taken = {(kind, _cell_of(element)) for kind, element in steps}
    for k, (_, element) in enumerate(steps):
        if rng.happens(share, f"tremble/{k}"):
            steps[k] = _another(sight, taken, element, rng, f"tremble/{k}") or steps[k]
            taken.add((steps[k][0], _cell_of(steps[k][1])))
    rest = {key: value for key, value in answer.items() if key != "plan" and key not in KINDS}
    return {"plan": [{kind: element} for kind, element in steps], **rest}


def _steps(answer: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the actions of a policy's answer in their order, each as its kind and its element."""
    for key, elements in answer.items():
        if key in KINDS:
            yield from ((key, element) for element in elements)
        elif key == "plan":
            yield from (next(iter(step.items())) for step in elements)


def _cell_of(element: Any) -> Cell:  # noqa: ANN401  a plot, or a plot with stamina
    r, c = element["cell"] if isinstance(element, dict) else element
    return r, c


def _another(
    sight: Sight,
    taken: Container[tuple[str, Cell]],
    element: Any,  # noqa: ANN401
    rng: RngStream,
    event: str,
) -> tuple[str, Any] | None:
    """Return a random legal action that costs no more than this one; None if all are taken.

    Each kind for which there is a plot is equally likely, and so is each of its plots.
    """
    free = {
        kind: [cell for cell in cells if (kind, cell) not in taken] for kind, cells in sight.possible.items()
    }
    kinds = [kind for kind, cells in free.items() if cells]
    if not kinds:
        return None
    kind = rng.pick(kinds, f"{event}/kind")
    cell = list(rng.pick(free[kind], f"{event}/cell"))
    if kind != "mine":
        return kind, cell
    most = element["s"] if isinstance(element, dict) else 1
    return kind, {"cell": cell, "s": 1 + rng.below(most, f"{event}/stamina")}


POLICIES = Policies(
    {
        "guided": guided,
        "random": random,
        "greedy-mine": greedy_mine,
        "defend-then-mine": defend_then_mine,
        "tit-for-tat-raid": tit_for_tat_raid,
        "opportunist": opportunist,
        "raider": raider,
    },
    default="guided",
    spoil=spoil,
    tremble=tremble,
)
"""The scripted policies by name. Source: docs/rules/mining.md#policies-and-rules."""
