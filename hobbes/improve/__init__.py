"""Improve the advice of a prompt: gepa searches, a probe scores, and games with fresh seeds decide."""
