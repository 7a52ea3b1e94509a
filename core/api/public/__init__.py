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
from core.api.behavior import behave as behave
from core.api.claims import claims as claims
from core.api.comparison import compare as compare
from core.api.counter_examples import counter_examples_export as counter_examples_export
from core.api.counter_examples import counter_examples_keep as counter_examples_keep
from core.api.counter_examples import counter_examples_list as counter_examples_list
from core.api.counter_examples import counter_examples_remove as counter_examples_remove
from core.api.data import data_card as data_card
from core.api.data import data_check as data_check
from core.api.data import data_list as data_list
from core.api.lessons import lesson as lesson
from core.api.system_check import doctor as doctor
from core.api.inspection import pair as pair
from core.api.models import backbones_check as backbones_check
from core.api.models import backbones_list as backbones_list
from core.api.models import presets as presets
from core.api.models import presets_show as presets_show
from core.api.papers import reproduce as reproduce
from core.api.public_classes import Run as Run
from core.api.public_classes import Runs as Runs
from core.api.public_classes import Sentence as Sentence
from core.api.public_classes import pretrain as pretrain
from core.api.public_classes import run as run
from core.api.public_classes import runs as runs
from core.api.public_classes import train as train
from core.api.runs import runs_import as runs_import
from core.api.sweeps import sweep as sweep
from core.api.sweeps import sweeps_cancel as sweeps_cancel
from core.api.sweeps import sweeps_list as sweeps_list
from core.api.sweeps import sweeps_remove as sweeps_remove
from core.api.sweeps import sweeps_show as sweeps_show
from core.api.talks import talks_add as talks_add
from core.api.talks import talks_list as talks_list
from core.api.talks import talks_remove as talks_remove
from core.api.talks import talks_show as talks_show
from core.exceptions import InputError as InputError
from core.exceptions import SentiscopeError as SentiscopeError
