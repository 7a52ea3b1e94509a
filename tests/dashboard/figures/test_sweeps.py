"""A sweep as text, as a command line with the same plan, and as lines over a numeric setting."""

import shlex

from core.config import parse_settings
from core.runs.sweep import STATES, Plan, parse_grid, parse_seeds, split_values
from core.runs.sweep_drive import SweepState
from dashboard.figures import sweeps
from dashboard.figures.theme import Look

CELLS = [
    sweeps.CellScores("<b>vanilla", (0.7, 0.8), ("a-1", "<i>"), 0.75, 0.0707, 0.6),
    sweeps.CellScores("ndt" * 30, (0.9,), ("b-1",), 0.9, None, None),
]


def progress(seconds=0.0, unknown=0, **counts):
    return SweepState("study", {state: counts.get(state, 0) for state in STATES}, (), seconds, unknown, ())


def read_back(text: str) -> Plan:
    """The plan that the command line creates from a line."""
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


def test_findings_name_the_highest_means_and_progress_lists_done_runs_first():
    shown = sweeps.Members([sweeps.CellScores("a", (0.5,), ("r",), 0.5, None, 0.6), *CELLS[:1]], "Accuracy")
    said = sweeps.describe_best(sweeps.Members([CELLS[0]] * 2, "accuracy"))
    assert said == "All 2 settings have the same mean accuracy, 0.750."
    assert sweeps.describe_best(shown) == "<b>vanilla has the highest mean accuracy, 0.750; a follows with 0.500."
    said = sweeps.describe_best(sweeps.Members(CELLS[:1], "F1, macro"))
    assert said == "<b>vanilla has the highest mean F1, macro, 0.750."
    assert sweeps.describe_baseline(shown) == "1 of 2 settings stay below TF-IDF."
    assert sweeps.describe_counts(progress(waiting=7, running=2, done=3)) == "3 done, 7 not started, 2 training"
    assert sweeps.describe_time_left(progress(90.0, 0)) == "about 1 min 30 s"
    assert sweeps.describe_time_left(progress(90.0, 2)) == "about 1 min 30 s, and 2 runs without an estimate"
    assert sweeps.describe_time_left(progress(0.0, 2)) == "2 runs without an estimate"
    assert sweeps.describe_time_left(progress()) == ""


def test_sweep_command_gives_the_same_plan():
    grid = {"training.lr": ("1e-3", "1e-2"), "model.head.kernels": ("2,3", "5")}
    for plan in (
        Plan("a"),
        Plan("b", ("vanilla", "cnn"), ("my texts.csv", "sst2"), grid, {"data.limit": "10"}, (4,), 5),
        Plan("c", seeds=(0, 1, 2)),
        Plan("d", seeds=(3, 1)),
    ):
        assert read_back(sweeps.write_command(plan)) == plan


def test_runs_means_and_baseline_are_in_the_row_of_their_cell():
    figure = sweeps.draw_members(sweeps.Members(CELLS, "<u>"), Look())
    ring, means, dots = figure.data
    assert (list(ring.x), list(ring.y)) == ([0.6], [0])
    assert (list(means.x), list(means.y), list(means.error_x.array)) == ([0.75, 0.9], [0, 1], [0.0707, 0])
    assert (list(dots.x), list(dots.y)) == ([0.7, 0.8, 0.9], [0, 0, 1])
    assert list(dots.customdata) == ["a-1", "&lt;i&gt;", "b-1"]
    axis = figure.layout.yaxis
    assert axis.range[0] > axis.range[1]
    assert axis.ticktext[0] == "&lt;b&gt;vanilla" and len(axis.ticktext[1]) == sweeps.LONGEST
    assert figure.layout.xaxis.title.text == "&lt;u&gt;"
