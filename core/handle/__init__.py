"""Runs and sentences as objects, for notebooks and scripts: the verbs, with the run already named.

`import sentiscope` gives these. Imports nothing heavy; nothing is computed here.
"""

from core.handle.objects import Run, Runs, Sentence, behave, compare, run, runs
from core.handle.training import pretrain, train

__all__ = ["Run", "Runs", "Sentence", "behave", "compare", "pretrain", "run", "runs", "train"]
