"""Improve the advice of a prompt: search for words with which a measure becomes better, and test them.

- `file` reads what is asked: a goal, what must be kept, a budget, the situations and the fresh seeds.
- `advice` finds the part of a prompt that may change, writes candidates, and refuses those that state rules.
- `screening` asks about recorded situations with a candidate, as probes do, and scores the answers by rules.
- `proposing` asks the model that proposes, and keeps its proposals, so that none is asked for twice.
- `searching` is the adapter of gepa, which decides what to try next. There is no optimiser of our own.
- `deciding` plays games with fresh seeds, as an experiment with a frozen plan, and judges by its verdicts.
- `lineage` keeps in the result folder which candidate came from which, and what became of it.
- `improving` does all this, and goes on where it stopped.
"""
