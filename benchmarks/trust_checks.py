"""What the rules of the trust world lead to, over many games: self-play of the comparators, seeds 0 and up.

`python -m benchmarks trust_checks` takes a few minutes; the test suite looks at fewer games.
"""

from engine.trust.state import State, TrustConfig
from engine.trust.tournament import play

GAMES = 20_000

WANTED = {"always-high-five": "94 to 96%", "copykitten": "79 to 81%", "copycat": "< 1%"}


def measure() -> list[tuple[str, str, str]]:
    """Give the share of games in which somebody replicates, and what a pair of high-fivers gains a round."""
    rules = TrustConfig.model_validate({})
    rows = [(f"trust: {rules.rounds} rounds, {rules.miss}% miss, {GAMES:,} games of self-play", "", "")]
    for name, wanted in WANTED.items():
        ended = sum(replicated(play(rules, (name, name), seed)) for seed in range(GAMES))
        rows.append((f"  {name}: somebody replicates", f"{ended / GAMES:.2%}", wanted))
    return [*rows, ("  a pair that means to high five gains a round each", f"{gain():.3f}", "1.91 +- 0.05")]


def replicated(state: State) -> bool:
    """Tell whether a game of the race ended by a replicate, which may have been a draw of two."""
    return state.winner is not None or state.drawn


def gain() -> float:
    """Give the mean gain of one high-fiver in one round with another, over games of one round."""
    rules = TrustConfig.model_validate({"rounds": 1})
    pair = ("always-high-five", "always-high-five")
    ended = (play(rules, pair, seed) for seed in range(GAMES))
    return sum(unit.sats - rules.start for state in ended for unit in state.units) / (2 * GAMES)


if __name__ == "__main__":
    for row in measure():
        print(*row)
