"""Comparison of several runs on the same rows: intervals, a verdict on every pair, and where two runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from core.evaluation import comparison, intervals
from core.evaluation.comparison import describe_pair, pick_better
from core.exceptions import InputError, NotAvailable
from core.formatting import count, format_p, format_plus_minus, number, plural, signed
from core.metrics import TUNED, USUAL, format_title, get_metric, select_metrics, select_thresholded
from core.runs.comparison import SLICE, compare_by_column
from dashboard.figures import interval_table as columns
from dashboard.figures.figure import Figure, Option, Source
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import ColumnSpec, IntervalTable, Mark, TextCell, make_axis
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from core.runs.comparison import ModelPredictions

Test = Mapping[str, Any]  # test of the difference between two models, as returned by `core.runs.comparison`
MOST = 6  # most models in one comparison, one colour each
_AXIS = partial(make_axis, zero=0.0, signed=True)
ENOUGH = 30  # fewest rows of a value for a useful comparison


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of several models by one metric, as `core.runs.comparison.compare_models` computes it."""

    found: Mapping[str, Any]
    metric: str
    letters: Mapping[str, str]  # model name → its letter in the comparison
    names: Mapping[str, str]  # model name → its displayed name
    picked: str = ""  # the pair shown in the figures below, a value of `PAIR`

    @property
    def models(self) -> Sequence[Mapping[str, Any]]:
        """Return the compared models with their metrics, in the order of the comparison."""
        return self.found["runs"]

    @property
    def pairs(self) -> Sequence[Test]:
        """Return the test results of every pair of compared models."""
        return self.found["pairs"]

    @property
    def summary(self) -> str:
        """Return a sentence that sums up which of several compared models are better than others."""
        return comparison.summarize_pairs([self._rename_pair(pair) for pair in self.pairs])

    @property
    def closest(self) -> str:
        """Return a sentence on the first model pair without a clear winner and how many rows would decide; or empty."""
        found = [pair for pair in self.pairs if not pick_better(pair) and pair["rows_needed"]]
        if not found or len(self.pairs) == 1:
            return ""
        pair = self._rename_pair(found[0])
        difference = f"{pair['first']} and {pair['second']}: {signed(pair['difference'], 3)}"
        rows = f"Detecting it would take about {comparison.round_rows(pair['rows_needed'])} sentences."
        return f"{difference} on the same {count(self.found['n'])} sentences. {rows}"

    def _rename_pair(self, pair: Test) -> Test:
        return {**pair, "first": self.names[pair["first"]], "second": self.names[pair["second"]]}


def list_metrics(source: Source) -> list[str]:
    """Return the metrics by which the models can be compared, the usual one first."""
    task = source.record.task
    tuned = [f"{TUNED}{name}" for name in select_thresholded()] if task == "multi" else []
    return list(dict.fromkeys([USUAL[task][0], *select_metrics(task, ordered=source.record.ordered), *tuned]))


def _assign_letters(source: Source) -> dict[str, str]:
    return comparison.assign_letters([side.name for side in source.sides.sides])


def list_pairs(source: Source) -> list[str]:
    """Return the pairs of compared models, named by their letters: A-B, A-C and so on."""
    letters = [*_assign_letters(source).values()]
    return [f"{one}-{other}" for place, one in enumerate(letters) for other in letters[place + 1 :]]


METRIC = Option("metric", "Metric", list_metrics, words=lambda source, name: format_title(name))
PAIR = Option("pair", "Pair", list_pairs, "The two models in the figures below")


def get_pair(source: Source) -> tuple[ModelPredictions, ModelPredictions]:
    """Return the two models of the chosen pair, with their predictions."""
    one, other = str(source.get_choice(PAIR)).split("-")
    sides = dict(zip(_assign_letters(source).values(), source.sides.sides, strict=True))
    return sides[one], sides[other]


def get_letter(source: Source, side: ModelPredictions) -> str:
    """Return the letter (A, B …) that a comparison gives a model."""
    return _assign_letters(source)[side.name]


def compare_models(source: Source) -> Comparison:
    """Compare every pair of models by a metric; NotAvailable: only one run, InputError: runs have different rows."""
    letters, metric = _assign_letters(source), str(source.get_choice(METRIC))
    runs = [record.run for record in (source.record, *source.others)]
    names = {name: source.reader.label_run(name) for name in letters}
    return Comparison(source.reader.compare_runs(runs, source.split, metric), metric, letters, names)


def _read_comparison(source: Source) -> Comparison:
    if len(source.sides.sides) > MOST:  # checked first: `sides` raises if there is nothing to compare
        raise NotAvailable(f"at most {MOST} models can be compared at once")
    return compare_models(source)


def get_model_color(look: Look, place: int) -> str:
    """Return the colour of a compared model, the same in all figures."""
    return look.tokens.categories[place % len(look.tokens.categories)]


def build_models_table(shape: Comparison, look: Look) -> IntervalTable:
    """Build the table of the compared models with intervals, one row for each model."""
    rows = [
        {**model, **model["metrics"][shape.metric], "colour": get_model_color(look, place)}
        for place, model in enumerate(shape.models)
    ]

    def write_model(row: Mapping[str, Any]) -> TextCell:
        name = row["name"]
        return TextCell(f"{shape.letters[name]} {shape.names[name]}", small=row["mixture"], dot=row["colour"])

    def write_mean(row: Mapping[str, Any]) -> str:
        return format_plus_minus(row["mean"], *(row["interval"] or (None, None)))

    def write_seeds(row: Mapping[str, Any]) -> str:
        spread = "" if row["deviation"] is None else f" ± {number(row['deviation'])}"
        return f"{len(row['folds'] or row['seeds'])}{spread}"

    def mark_mean(row: Mapping[str, Any]) -> Mark:
        low, high = row["interval"] or (None, None)
        return Mark(row["mean"], low, high, color=row["colour"])

    seeds, title = "Folds" if any(row["folds"] for row in rows) else "Seeds", format_title(shape.metric)
    axis, ends = partial(make_axis, leaves_out="low"), {"low": "interval.0", "high": "interval.1"}
    drawn = [
        columns.name("model", "Model", write_model, "34%", model="name"),
        columns.make_csv_columns(preset=lambda row: f"{row['model']} {row['mixture']}".strip()),
        columns.make_csv_columns(runs=lambda row: len(row["runs"]), metric=lambda row: shape.metric),
        columns.text("value", title, write_mean, "10.8rem", mean="mean", deviation="deviation"),
        columns.interval("interval", "", mark_mean, axis, **ends),
    ]
    if any(len(row["runs"]) > 1 for row in rows):
        drawn.append(columns.text("seeds", seeds, write_seeds, "6rem", soft=True, opt=True))
    return IntervalTable("Models", drawn, rows, "name", height=1.7)


def _mark_difference(test: Test) -> Mark:
    said = signed(test["difference"], 3)
    if ends := test["interval"]:
        said += f", {signed(ends[0], 3)} to {signed(ends[1], 3)} at its Holm step"
    said = f"{test['value']}: {said}, p after Holm {format_p(test['p_holm'])}" if "value" in test else said
    low, high = ends or (None, None)
    return Mark(test["difference"], low, high, tie=not pick_better(test), said=said)


def _build_csv(tests: Sequence[Test]) -> ColumnSpec:
    """Define the CSV columns for tests of model pairs: all fields, then the interval, then the verdict."""
    keys = [key for key in tests[0] if key != "interval"]
    return columns.make_csv_columns(*keys, low="interval.0", high="interval.1", verdict=describe_pair)


def build_pairs_table(shape: Comparison) -> IntervalTable:
    """Build the table of differences between models with intervals, one row for each pair of models."""

    def join(names: Mapping[str, str], pair: Test, sign: str = " − ") -> str:
        return f"{names[pair['first']]}{sign}{names[pair['second']]}"

    def write_verdict(pair: Test) -> TextCell:
        known = pick_better(pair) or comparison.is_equivalent(pair)
        return TextCell(
            describe_pair(pair, shape.letters) if known else comparison.NO_DIFFERENCE, strong=bool(pick_better(pair))
        )

    def write_rows(pair: Test) -> str:
        return "" if pick_better(pair) or not pair["rows_needed"] else comparison.round_rows(pair["rows_needed"])

    def write_pair(pair: Test) -> TextCell:
        return TextCell(join(shape.letters, pair), title=join(shape.names, pair))

    return IntervalTable(
        "Differences",
        (
            columns.name("pair", "Pair", write_pair, "3.7rem"),
            columns.text("difference", "", lambda pair: signed(pair["difference"], 3), "3.9rem"),
            columns.interval("interval", "", _mark_difference, _AXIS),
            columns.text("p", "p, Holm", lambda pair: format_p(pair["p_holm"]), "4rem", soft=True),
            columns.text("rows", "test rows needed", write_rows, "6rem", soft=True),
            columns.name("verdict", "", write_verdict, "10.4rem"),
            _build_csv(shape.pairs),
        ),
        shape.pairs,
        lambda pair: join(shape.letters, pair, "-"),
        height=1.7,
    )


MODELS = Figure("compare-models", "compare", lambda shape: format_title(shape.metric)).add_details(
    read=_read_comparison,
    draw=lambda shape, look: build_component(build_models_table(shape, look).marks, look),
    note="95 % interval",
    reading="Models can differ although their intervals overlap: read the pairs.",
    how=f"Intervals: {intervals.METHOD}. With several seeds: of their mean, with the spread between seeds; the "
    "number of seeds is followed by their standard deviation.",
    options=(METRIC,),
    tables=lambda shape: {"Models": build_models_table(shape, Look()).frame},
)
PAIRS = Figure("compare-pairs", "compare", "Differences").add_details(
    read=lambda source: replace(_read_comparison(source), picked=str(source.get_choice(PAIR))),
    draw=lambda shape, look: build_component(
        build_pairs_table(shape).marks, look, picked=shape.picked, picks=len(shape.pairs) > 1
    ),
    note=lambda shape: f"{plural(len(shape.pairs), 'pair')}, paired tests, p after Holm",
    reading=lambda shape: (
        "Interval without 0: the two differ. Ring on grey: no clear difference."
        + ("" if get_metric(shape.metric).better == "higher" else " Lower is better: left of 0, the first is better.")
    ),
    how=f"{comparison.METHOD} Rows needed: sentences that would show the difference with 80 % power.",
    options=(METRIC, PAIR),
    tables=lambda shape: {"Pairs": build_pairs_table(shape).frame},
)


def list_columns(source: Source) -> list[str]:
    """Return the data columns by which two models can be compared, and the saved slices if there are any."""
    own = source.sides.columns
    return [*own, *([SLICE] if SLICE not in own and source.reader.list_slices(source.record) else [])]


def _is_by_slice(source: Source) -> bool:
    return str(source.get_choice(BY)) == SLICE and SLICE not in source.sides.columns


def _pick_column(source: Source) -> str:
    """Return the column with the fewest values that are words, if each value has enough rows; else the label."""
    names = list_columns(source)
    columns = next(iter(source.sides.sides[0].answers.values())).columns
    rows = {str(name): column.astype(str).value_counts() for name, column in columns.items() if str(name) in names}
    sound = [name for name, each in rows.items() if each.min() >= ENOUGH and not set(each.index) <= {"True", "False"}]
    usual = "label" if "label" in names else next(iter(names), "")
    return min(sound, key=lambda name: len(rows[name]), default=usual)


BY = Option(
    "by",
    "By",
    list_columns,
    "A column of the data, the label, or the saved slices",
    usual=_pick_column,
    version=lambda source: (
        f" {source.reader.read_slices_version(source.record)} {source.author}" if _is_by_slice(source) else ""
    ),
)


@dataclass(frozen=True, eq=False)
class ColumnComparison:
    """Comparison of two models on the rows of each value of a data column."""

    column: str
    metric: str
    letters: tuple[str, str]
    tests: Sequence[Test]  # as returned by `core.runs.comparison.compare_by_column`, largest difference first
    left_out: Sequence[str] = ()


def _compare_by_column(source: Source) -> ColumnComparison:
    if not list_columns(source):
        raise NotAvailable("these data have no column with a few values, and no saved slices")
    first, second = get_pair(source)
    column, metric, sides = str(source.get_choice(BY)), str(source.get_choice(METRIC)), source.sides
    if _is_by_slice(source):
        try:
            sides = source.reader.add_slices(replace(sides, sides=(first, second), notes=()), source.author)
        except InputError as error:
            raise NotAvailable(str(error).removeprefix("--by slice: ")) from error
    found = compare_by_column(sides, first, second, metric, column)
    if not found:
        raise NotAvailable(f"{format_title(metric)} is not defined on the sentences of any value of {column}")
    ordered = sorted(found, key=lambda test: -test["difference"])
    letters = get_letter(source, first), get_letter(source, second)
    return ColumnComparison(column, metric, letters, ordered, sides.notes if _is_by_slice(source) else ())


def build_column_table(shape: ColumnComparison) -> IntervalTable:
    """Build the table of two models' differences with intervals, one row for each value of a data column."""
    one, other = shape.letters
    left, right = (other, one) if get_metric(shape.metric).better == "higher" else (one, other)

    def write_value(test: Test) -> TextCell:
        return TextCell(test["value"], strong=bool(pick_better(test)))

    return IntervalTable(
        f"Differences by {shape.column}",
        (
            columns.name("value", shape.column.capitalize(), write_value, "10.5rem"),
            columns.text("n", "n", lambda test: count(test["n"]), "3.6rem", soft=True),
            columns.text("first", one, lambda test: number(test["first_value"]), "3.2rem", soft=True),
            columns.text("second", other, lambda test: number(test["second_value"]), "3.2rem", soft=True),
            columns.text("difference", "", lambda test: signed(test["difference"], 3), "4rem"),
            columns.interval("interval", f"‹ {left} better · {right} better ›", _mark_difference, _AXIS),
            _build_csv(shape.tests),
        ),
        shape.tests,
        "value",
        height=1.75,
    )


def _write_reading(shape: ColumnComparison) -> str:
    sure = sum(bool(pick_better(test)) for test in shape.tests)
    words = f"{shape.letters[0]} and {shape.letters[1]} differ on {sure or 'none'} of {len(shape.tests)} values"
    lacking = "".join(f" {note[:1].upper()}{note[1:]}." for note in shape.left_out)
    return f"{words} (Holm-corrected). Ring on grey: no clear difference.{lacking}"


WHERE = Figure("compare-where", "compare", "Disagreements").add_details(
    read=_compare_by_column,
    draw=lambda shape, look: build_component(build_column_table(shape).marks, look),
    note=lambda shape: f"{' − '.join(shape.letters)} by {shape.column}, {format_title(shape.metric).lower()}",
    reading=_write_reading,
    how="The same test as for the pair, on the sentences of each value alone. Holm's correction covers all values, and "
    "each interval has the level of its step.",
    options=(METRIC, PAIR, BY),
    tables=lambda shape: {"Where": build_column_table(shape).frame},
    sizes=lambda shape: {test["value"]: test["n"] for test in shape.tests},
)
