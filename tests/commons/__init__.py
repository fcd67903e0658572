"""A world in a package of its own, the smallest that there can be, and what it shows of the contract."""
