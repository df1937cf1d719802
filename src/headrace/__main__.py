"""`python -m headrace`: the command, where the console script is not on the path."""

from headrace.cli import main

main()
