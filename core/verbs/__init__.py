"""The verbs of Sentiscope, as Python functions that return plain data.

Those for Python alone (`sentence`, `figure`, `runs_history`, `runs_predictions`) return arrays, figures and frames. The
command line prints what they return, the dashboard calls the same rooms. Heavy imports wait inside each verb.
"""

from __future__ import annotations

from core.verbs.agreement import agreement
from core.verbs.backbones import backbones_check, backbones_list
from core.verbs.behaviour import behave
from core.verbs.belief import believe
from core.verbs.codes import (
    codes_add,
    codes_code,
    codes_edit,
    codes_list,
    codes_merge,
    codes_note,
    codes_remove,
    codes_split,
    codes_undo,
)
from core.verbs.codes_counted import codes_draw, codes_kappa, codes_rates
from core.verbs.codes_files import codes_export, codes_import
from core.verbs.comparison import compare
from core.verbs.counter_examples import (
    counter_examples_export,
    counter_examples_keep,
    counter_examples_list,
    counter_examples_remove,
)
from core.verbs.data import data_card, data_check, data_list
from core.verbs.drawing import figure, figures
from core.verbs.embeddings import groups, layers, neighbours, project
from core.verbs.evaluation import evaluate
from core.verbs.failures import errors, slices
from core.verbs.inside import inspect, sentence, steps
from core.verbs.machine import doctor
from core.verbs.models import presets, presets_show
from core.verbs.prediction import answer, answer_line, predict, tuned_thresholds
from core.verbs.reporting import report, train_command
from core.verbs.runs import (
    runs_cancel,
    runs_export,
    runs_history,
    runs_import,
    runs_list,
    runs_measure,
    runs_predictions,
    runs_remove,
    runs_show,
    runs_table,
)
from core.verbs.shift import shift
from core.verbs.silencing import lambdas, parts, patch
from core.verbs.sweeps import sweep, sweeps_cancel, sweeps_list, sweeps_remove, sweeps_show
from core.verbs.training import configure, configured, pretrain, resume, scores, started, summary, train
from core.verbs.words import distance, explain, flip, methods

__all__ = [
    "agreement",
    "answer",
    "answer_line",
    "backbones_check",
    "backbones_list",
    "behave",
    "believe",
    "codes_add",
    "codes_code",
    "codes_draw",
    "codes_edit",
    "codes_export",
    "codes_import",
    "codes_kappa",
    "codes_list",
    "codes_merge",
    "codes_note",
    "codes_rates",
    "codes_remove",
    "codes_split",
    "codes_undo",
    "compare",
    "configure",
    "configured",
    "counter_examples_export",
    "counter_examples_keep",
    "counter_examples_list",
    "counter_examples_remove",
    "data_card",
    "data_check",
    "data_list",
    "distance",
    "doctor",
    "errors",
    "evaluate",
    "explain",
    "figure",
    "figures",
    "flip",
    "groups",
    "inspect",
    "lambdas",
    "layers",
    "methods",
    "neighbours",
    "parts",
    "patch",
    "predict",
    "presets",
    "presets_show",
    "pretrain",
    "project",
    "report",
    "resume",
    "runs_cancel",
    "runs_export",
    "runs_history",
    "runs_import",
    "runs_list",
    "runs_measure",
    "runs_predictions",
    "runs_remove",
    "runs_show",
    "runs_table",
    "scores",
    "sentence",
    "shift",
    "slices",
    "started",
    "steps",
    "summary",
    "sweep",
    "sweeps_cancel",
    "sweeps_list",
    "sweeps_remove",
    "sweeps_show",
    "train",
    "train_command",
    "tuned_thresholds",
]
