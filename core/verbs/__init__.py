"""The verbs of Sentiscope, as Python functions that return plain data.

The command line prints what they return, the dashboard calls the same rooms. Heavy imports wait inside each verb.
"""

from __future__ import annotations

from core.verbs.data import data_card, data_check, data_list
from core.verbs.evaluation import evaluate, predict, tuned_thresholds
from core.verbs.inside import figures, inspect, project
from core.verbs.machine import doctor
from core.verbs.models import presets, presets_show
from core.verbs.runs import runs_export, runs_import, runs_list, runs_show
from core.verbs.sweeps import sweep, sweeps_cancel, sweeps_list, sweeps_remove, sweeps_show
from core.verbs.training import configure, resume, summary, train

__all__ = [
    "configure",
    "data_card",
    "data_check",
    "data_list",
    "doctor",
    "evaluate",
    "figures",
    "inspect",
    "predict",
    "presets",
    "presets_show",
    "project",
    "resume",
    "runs_export",
    "runs_import",
    "runs_list",
    "runs_show",
    "summary",
    "sweep",
    "sweeps_cancel",
    "sweeps_list",
    "sweeps_remove",
    "sweeps_show",
    "train",
    "tuned_thresholds",
]
