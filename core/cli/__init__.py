"""The command line: parse, call a verb, print. JSON goes to stdout as one object, everything else to stderr.

Exit codes: 0 done, 1 failure, 2 wrong input.
"""

from __future__ import annotations

import io
import os
import sys

import typer

from core.cli import backbones, codes, counter_examples, data, runs, sweeps
from core.cli.agreement import agreement
from core.cli.behaviour import behave
from core.cli.belief import believe
from core.cli.comparison import compare
from core.cli.embeddings import groups, layers, neighbours, project
from core.cli.evaluation import evaluate
from core.cli.failures import errors, slices
from core.cli.inside import distance, explain, figures, flip, inspect, patch, steps
from core.cli.machine import dashboard, doctor
from core.cli.models import presets
from core.cli.options import Command
from core.cli.prediction import predict
from core.cli.printing import err, say
from core.cli.reporting import report
from core.cli.shift import shift
from core.cli.sweeps import sweep
from core.cli.training import pretrain, train
from core.exceptions import SentiscopeError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Train small sentiment classifiers, look inside.")
for command in (
    sweep,
    train,
    pretrain,
    evaluate,
    compare,
    behave,
    errors,
    slices,
    shift,
    predict,
    inspect,
    explain,
    patch,
    steps,
    agreement,
    believe,
    flip,
    distance,
    project,
    groups,
    layers,
    neighbours,
    figures,
    report,
    presets,
    dashboard,
    doctor,
):
    app.command(cls=Command)(command)
for noun, group in (
    ("backbones", backbones.app),
    ("codes", codes.app),
    ("counter-examples", counter_examples.app),
    ("data", data.app),
    ("runs", runs.app),
    ("sweeps", sweeps.app),
):
    app.add_typer(group, name=noun)


def main() -> None:
    """The console command `sentiscope`: expected errors become a sentence and an exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without emoji shows their numbers
    try:
        app()
    except SentiscopeError as error:
        say(f" {error}", head="sentiscope:", console=err)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); nothing is left to tell anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
