"""trust: units meet round after round, high five, attack, block, beg and race to replicate."""
