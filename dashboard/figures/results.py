"""Scores of a run, the name of its data for people, and the run and text that pages show by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.data.dataset import Task
from core.formatting import format_plus_minus, number
from core.metrics import METRICS
from core.models.capabilities import list_capabilities
from core.paths import ELSEWHERE, UNKNOWN
from core.runs.record import RunRecord
from core.text.text_pairs import join_pair
from dashboard.figures.decisions import SplitPredictions

if TYPE_CHECKING:
    import pandas as pd
else:
    from core.lazy_imports import pandas as pd

TEST = "test"
FIRST: dict[Task, tuple[str, str]] = {
    "single": ("accuracy", "accuracy"),
    "multi": ("f1_macro", "macro F1"),
    "tokens": ("span_f1", "span F1"),
}
Measurement = tuple[float | None, float | None, float | None]
"""A metric and the ends of its 95 % interval; None: not measured."""
SHOWN = ("accuracy", "f1_macro", "recall_macro", "ece")
CORPUS = "built-in"
SENTENCE = "The plot was not good, but the ending was never dull."
EVERYDAY = "everyday"  # the split most similar to what new users type


@dataclass(frozen=True)
class Headline:
    """Main test score of a run (at tuned thresholds, if any) and of its baseline: accuracy, macro F1 or span F1."""

    value: float
    low: float | None
    high: float | None
    yardstick: float | None
    name: str = "accuracy"


def get_data_name(name: str) -> str:
    """Return a data set's name for display: a known name unchanged, and of a file path the last part."""
    name = name.removeprefix(ELSEWHERE) if name.startswith(ELSEWHERE + UNKNOWN) else name
    return Path(name).name or name


def read_headline(record: RunRecord) -> Headline | None:
    """Return the main test score of a run; None if it has not been measured."""
    metric, name = FIRST[record.task]
    tree, yardstick = record.results, get_nested(record.results, "yardstick")
    if record.task == "multi" and get_nested(tree, "tuned", "metrics", TEST, metric) is not None:
        tree, yardstick = get_nested(tree, "tuned"), get_nested(yardstick, "tuned")
    value, low, high = find_metric(tree, TEST, metric)
    if not isinstance(value, (int, float)):
        return None
    return Headline(value, low, high, get_nested(yardstick, "splits", TEST, metric), name)


def get_nested(tree: Any, *path: str) -> Any:
    """Return the value at the end of a path of keys in nested mappings; None if a key is missing."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def build_run_frame(records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return a row for each run with its settings and scores, formatted as text for display."""
    rows = []
    for record in records:
        found, accuracy = read_headline(record), ""
        if found is not None:
            accuracy = format_plus_minus(found.value, found.low, found.high)
            accuracy += "" if record.task == "single" else " F1"
        row = {"run": record.run, "status": record.status}
        row |= {"data": "" if record.status == "damaged" else get_data_name(record.config.data.name)}
        row |= {"model": record.described, "accuracy": accuracy}
        rows.append(row | {"tfidf": number(found.yardstick) if found and found.yardstick is not None else ""})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Stat:
    """Score with its 95 % interval, and the ends of the axis on which it is drawn."""

    name: str
    value: float
    ends: tuple[float, float]
    n: int
    low: float | None = None
    high: float | None = None
    unit: str = ""  # what `n` counts, if a page shows several kinds


def find_metric(results: Any, *path: str) -> Measurement:
    """Return a recorded metric with its interval, found by a path of keys such as split and metric name."""
    return get_nested(results, "metrics", *path), *(get_nested(results, "intervals", *path) or (None, None))


def list_stats(
    found: Mapping[str, Measurement], task: Task, n: int, guesses: Mapping[str, float], guess: float = 0.0
) -> list[Stat]:
    """Return metrics measured on n texts, each with an axis from chance level to a perfect score."""
    stats = []
    for name, (value, low, high) in found.items():
        if value is not None:
            worst = 0.2 if value <= 0.2 else max(1.0, value)
            ends = (0.0, worst) if METRICS[name].better == "lower" else (guesses.get(name, guess), 1.0)
            stats.append(Stat(METRICS[name].choose_title(task), value, ends, n, low, high))
    return stats


def list_split_stats(record: RunRecord, split: str, report: SplitPredictions) -> list[Stat]:
    """Return the main metrics of a run on a split, each with an axis from chance level to a perfect score."""
    found = {name: find_metric(record.results, split, name) for name in SHOWN}
    return list_stats(found, "single", len(report.examples), {}, 1 / len(report.classes))


def build_metric_table(record: RunRecord, split: str) -> pd.DataFrame:
    """Return every recorded metric of a run on a split with its interval: metric, title, value, low, high."""
    names = [name for name in get_nested(record.results, "metrics", split) or {} if name in METRICS]
    rows = [(name, METRICS[name].title, *find_metric(record.results, split, name)) for name in names]
    return pd.DataFrame(rows, columns=["metric", "title", "value", "low", "high"])


def read_tfidf_phenomena(record: RunRecord, split: str) -> dict[str, float]:
    """Return TF-IDF's accuracy on each linguistic phenomenon of the test split; empty for other splits."""
    return dict(get_nested(record.results, "yardstick", "phenomena") or {}) if split == TEST else {}


PAIR = join_pair("The film was not bad at all.", "It was a good film.")


def choose_default_run(records: Sequence[RunRecord]) -> RunRecord | None:
    """Return the run that pages show by default; a run with λ is preferred, since every page can show it.

    Of the finished runs, those on the built-in corpus come first, since they know the words of `SENTENCE`; then runs
    with λ (of two further maps or more, then of one), those with one label per text, those that read everyday sentences
    best, and the best.
    """

    def rank_run(record: RunRecord) -> tuple[bool, int, bool, float, float]:
        found, everyday = read_headline(record), get_nested(record.results, "metrics", EVERYDAY, "accuracy")
        model = record.config.model
        lambdas = min(model.attention.components, 3) if "lambda" in list_capabilities(model) else 0
        known = record.config.data.name == CORPUS
        return known, lambdas, record.task == "single", everyday or 0.0, found.value if found else 0.0

    return max((record for record in records if record.status == "done"), key=rank_run, default=None)


def choose_default_text(record: RunRecord, demos: Sequence[Mapping[str, Any]] | None = None) -> str:
    """Return the text of the input field before a user types one: the run's first demo sentence, if it has any."""
    return str(demos[0]["text"]) if demos else PAIR if record.pairs else SENTENCE
