"""One turn of any world, one file a phase, and what the phases stand on."""
