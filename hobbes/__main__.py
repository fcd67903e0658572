"""`python -m hobbes` is the command `hobbes`."""

from lab.cli import main

main()
