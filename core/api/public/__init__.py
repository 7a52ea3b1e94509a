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

from core import __version__ as __version__
from core.api.papers import claims as claims
from core.api.data import counter_examples_export as counter_examples_export
from core.api.data import counter_examples_keep as counter_examples_keep, counter_examples_list as counter_examples_list
from core.api.data import counter_examples_remove as counter_examples_remove, data_card as data_card
from core.api.data import data_check as data_check, data_list as data_list
from core.api.models import efficiency as efficiency
from core.api.evaluation import behave as behave, compare as compare
from core.api.machine import doctor as doctor
from core.api.models import backbones_check as backbones_check, backbones_convert as backbones_convert
from core.api.models import backbones_list as backbones_list, presets as presets
from core.api.models import open_classifier as open_classifier, presets_show as presets_show
from core.api.papers import reproduce as reproduce
from core.api.prediction import pair as pair
from core.api.public_classes import Run as Run, Runs as Runs, Sentence as Sentence, WrappedFunction as WrappedFunction
from core.api.public_classes import pretrain as pretrain, run as run, runs as runs, train as train, wrap as wrap
from core.api.runs import runs_import as runs_import, sweep as sweep, sweeps_cancel as sweeps_cancel
from core.api.runs import sweeps_list as sweeps_list, sweeps_remove as sweeps_remove, sweeps_show as sweeps_show
from core.api.exhibits import lesson as lesson, talks_add as talks_add, talks_list as talks_list
from core.api.papers import theory as theory
from core.api.exhibits import talks_remove as talks_remove, talks_show as talks_show
from core.exceptions import InputError as InputError, SentiscopeError as SentiscopeError
