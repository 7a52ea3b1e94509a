"""The entry point `python -m core.cli`, which also starts the processes of training runs."""

from core.cli import main

main()
