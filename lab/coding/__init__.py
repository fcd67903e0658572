"""Coding: which codes of a codebook apply to decisions, as models and people find, and how far they agree.

- `questions` reads codebooks, and makes the question about a decision, the same for models and for people.
- `asking` asks a model what is missing, with one meter for all. Each answer is kept as it arrives
  (`lab.store.codings`), so a coding that was stopped goes on.
- `agreement` has Krippendorff's alpha between coders, and the decisions on which they disagree.
- `occurring` counts how often a code applies, in all decisions and in those with an act of the world.
"""
