"""Ready-made experiments, and the script that makes docs/findings.md of them."""
