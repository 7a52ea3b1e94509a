"""A sweep in words, and its command line as one that means the same plan."""

from __future__ import annotations

import shlex

from core.config import parse_settings
from core.runs.sweep import STATES, Plan, parse_grid, parse_seeds, split_values
from core.runs.sweep_drive import Progress
from dashboard.figures.sweeps import command_line, counts_said, time_said


def progress(seconds=0.0, unknown=0, **counts):
    return Progress("study", {state: counts.get(state, 0) for state in STATES}, (), seconds, unknown, ())


def test_what_is_done_comes_first_and_what_is_not_there_is_left_out():
    assert counts_said(progress(waiting=7, running=2, done=3)) == "3 done, 7 not begun, 2 training"


def test_the_time_says_for_how_many_runs_it_is_not_known():
    assert time_said(progress(90.0, 0)) == "about 1 min 30 s"
    assert time_said(progress(90.0, 2)) == "about 1 min 30 s, and 2 runs whose time nobody has measured"
    assert time_said(progress(0.0, 2)) == "without an estimate: 2 runs whose time nobody has measured"
    assert time_said(progress()) == ""


def read_back(text: str) -> Plan:
    """The plan that the command line makes of a line."""
    _, _, name, *options = shlex.split(text)
    given: dict[str, list[str]] = {}
    for option in options:
        key, _, value = option.partition("=")
        given.setdefault(key, []).append(value)
    return Plan(
        name,
        split_values(given["--model"][0]),
        tuple(given["--data"]),
        parse_grid(given.get("--grid", [])),
        parse_settings(given.get("--set", [])),
        parse_seeds(given["--seeds"][0]),
        int(given.get("--folds", ["0"])[0]),
    )


def test_the_command_line_means_the_same_plan():
    grid = {"training.lr": ("1e-3", "1e-2"), "model.head.kernels": ("2,3", "5")}
    plans = (
        Plan("a"),
        Plan("b", ("vanilla", "cnn"), ("my texts.csv", "sst2"), grid, {"data.limit": "10"}, (4,), 5),
        Plan("c", seeds=(0, 1, 2)),
        Plan("d", seeds=(3, 1)),
    )
    for plan in plans:
        assert read_back(command_line(plan)) == plan
