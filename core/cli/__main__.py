"""The entry point `python -m core.cli`, which also starts the processes of runs."""

from core.cli import main

main()
