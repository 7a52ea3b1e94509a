"""`python -m core.cli`: what a run's own process is started with."""

from core.cli import main

main()
