"""Improve the advice of a prompt: gepa searches, a probe scores, and games with fresh seeds decide.

- `improvement` reads what is asked, and makes the experiment that decides.
- `advice` finds the part of a prompt that may change, writes candidates, and refuses those that state rules.
- `adapter` is what gepa asks of hobbes: scores, and proposals.
"""
