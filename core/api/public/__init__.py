"""Sentiscope from Python: train small sentiment classifiers, and look inside them.

    import sentiscope

    run = sentiscope.train("reviews.csv", model="ndt-01-n3")
    run.evaluate(split="test")
    run.sentence("not bad at all")
    run.figure("roc")
    sentiscope.compare(run, "starter-vanilla")

A run is a directory; `sentiscope.runs()` shows all, `sentiscope.run("starter-ndt-01-n3")` is one that comes with
Sentiscope. Everything is named as on the command line and in the dashboard. Torch and pandas are loaded when they are
first needed.
"""

from core import __version__
from core.api.behaviour import behave
from core.api.comparison import compare
from core.api.counter_examples import (
    counter_examples_export,
    counter_examples_keep,
    counter_examples_list,
    counter_examples_remove,
)
from core.api.data import data_card, data_check, data_list
from core.api.examination import doctor
from core.api.inspection import pair
from core.api.models import backbones_check, backbones_list, presets, presets_show
from core.api.objects import Run, Runs, Sentence, pretrain, run, runs, train
from core.api.runs import runs_import
from core.api.sweeps import sweep, sweeps_cancel, sweeps_list, sweeps_remove, sweeps_show
from core.exceptions import InputError, SentiscopeError

__all__ = [
    "InputError",
    "Run",
    "Runs",
    "Sentence",
    "SentiscopeError",
    "__version__",
    "backbones_check",
    "backbones_list",
    "behave",
    "compare",
    "counter_examples_export",
    "counter_examples_keep",
    "counter_examples_list",
    "counter_examples_remove",
    "data_card",
    "data_check",
    "data_list",
    "doctor",
    "pair",
    "presets",
    "presets_show",
    "pretrain",
    "run",
    "runs",
    "runs_import",
    "sweep",
    "sweeps_cancel",
    "sweeps_list",
    "sweeps_remove",
    "sweeps_show",
    "train",
]
