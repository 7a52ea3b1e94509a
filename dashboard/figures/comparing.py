"""Several runs on the same rows: each with its interval, every pair with its verdict, and where two differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from core.evaluation import intervals
from core.evaluation.comparison import METHOD, better, finding, lettered, rough, verdict
from core.exceptions import InputError, NotAvailable
from core.metrics import TUNED, USUAL, metrics_of, named, thresholded, title
from core.numbers import count, number, plus_minus, signed, write_p
from core.runs.comparison import by_column
from core.runs.sides import SLICE
from dashboard.figures import interval_table as columns
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import component
from dashboard.figures.interval_table import Declared, IntervalTable, Mark, Words, axis
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from core.runs.sides import Side

Test = Mapping[str, Any]
"""A difference of two models, as `core.runs.comparison` gives it."""
MOST = 6
"""Models that are compared at once: so many colours can be told apart."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of `core.runs.comparison.compare` for one metric."""

    found: Mapping[str, Any]
    metric: str
    letters: Mapping[str, str]
    """Of the models, by name."""
    picked: str = ""
    """The pair that stands in the figures below, as `PAIR` has it."""

    @property
    def models(self) -> Sequence[Mapping[str, Any]]:
        """Return the models in order."""
        return self.found["runs"]

    @property
    def pairs(self) -> Sequence[Test]:
        """Return every pair in order."""
        return self.found["pairs"]

    @property
    def told(self) -> str:
        """Summarise all pairs in a sentence."""
        return finding(self.pairs)

    @property
    def closest(self) -> str:
        """Describe the first undecided pair, and how many rows would decide it; empty: there is none."""
        found = [pair for pair in self.pairs if not better(pair) and pair["rows_needed"]]
        if not found or len(self.pairs) == 1:
            return ""
        pair = found[0]
        difference = f"{pair['first']} and {pair['second']}: {signed(pair['difference'], 3)}"
        rows = f"about {rough(pair['rows_needed'])} would be needed to find a difference of this size"
        return f"{difference} on the same {count(self.found['n'])} sentences; {rows}."


def metric_names(source: Source) -> list[str]:
    """Return the metrics that can compare these runs, the usual one first."""
    task = source.record.task
    tuned = [f"{TUNED}{name}" for name in thresholded()] if task == "multi" else []
    return list(dict.fromkeys([USUAL[task][0], *metrics_of(task, ordered=source.record.ordered), *tuned]))


def _letters(source: Source) -> dict[str, str]:
    return lettered([side.name for side in source.sides.sides])


def pair_names(source: Source) -> list[str]:
    """Return the pairs of models as A-B, A-C and so on."""
    letters = [*_letters(source).values()]
    return [f"{one}-{other}" for place, one in enumerate(letters) for other in letters[place + 1 :]]


METRIC = Option("metric", "Metric", metric_names, words=lambda source, name: title(name))
PAIR = Option("pair", "Pair", pair_names, "Which two stand in the figures below")


def chosen_pair(source: Source) -> tuple[Side, Side]:
    """Return the two models of the chosen pair."""
    one, other = str(source.chosen(PAIR)).split("-")
    sides = dict(zip(_letters(source).values(), source.sides.sides, strict=True))
    return sides[one], sides[other]


def letter_of(source: Source, side: Side) -> str:
    """Return the letter of a model: A, B …."""
    return _letters(source)[side.name]


def compared(source: Source) -> Comparison:
    """Compare every pair by the chosen metric; NotAvailable: there are no other runs, InputError: of other rows."""
    letters, metric = _letters(source), str(source.chosen(METRIC))
    runs = [record.run for record in (source.record, *source.others)]
    return Comparison(source.reader.compared(runs, source.split, metric), metric, letters)


def _read(source: Source) -> Comparison:
    if len(source.sides.sides) > MOST:  # asked first: without others there is nothing to compare
        raise NotAvailable(f"at most {MOST} models can be told apart by colour")
    return compared(source)


def colour(look: Look, place: int) -> str:
    """Return the colour of a model, the same in all figures."""
    return look.tokens.categories[place % len(look.tokens.categories)]


def models_table(shape: Comparison, look: Look) -> IntervalTable:
    """Build a table with a row for each model."""
    rows = [
        {**model, **model["metrics"][shape.metric], "colour": colour(look, place)}
        for place, model in enumerate(shape.models)
    ]

    def call(row: Mapping[str, Any]) -> Words:
        """Write the letter and the name of a model."""
        return Words(f"{shape.letters[row['name']]} {row['name']}", small=row["mixture"], dot=row["colour"])

    def write_value(row: Mapping[str, Any]) -> str:
        """Write the mean with its interval."""
        return plus_minus(row["mean"], *(row["interval"] or (None, None)))

    def write_seeds(row: Mapping[str, Any]) -> str:
        """Write the number of seeds or folds, and their deviation."""
        spread = "" if row["deviation"] is None else f" ± {number(row['deviation'])}"
        return f"{len(row['folds'] or row['seeds'])}{spread}"

    def mark(row: Mapping[str, Any]) -> Mark:
        """Mark the mean with its interval."""
        low, high = row["interval"] or (None, None)
        return Mark(row["mean"], low, high, colour=row["colour"])

    seeds = "Folds" if any(row["folds"] for row in rows) else "Seeds"
    several = any(len(row["runs"]) > 1 for row in rows)
    return IntervalTable(
        "Models",
        (
            columns.name("model", "Model", call, "42%", model="name"),
            columns.also(preset=lambda row: f"{row['model']} {row['mixture']}".strip()),
            columns.also(runs=lambda row: len(row["runs"]), metric=lambda row: shape.metric),
            columns.text("value", title(shape.metric), write_value, "7.6rem", mean="mean", deviation="deviation"),
            columns.interval(
                "interval", "", mark, partial(axis, leaves_out="low"), low="interval.0", high="interval.1"
            ),
            *([columns.text("seeds", seeds, write_seeds, "6rem", soft=True, opt=True)] if several else []),
        ),
        rows,
        "name",
        height=1.95,
    )


def _mark_difference(test: Test) -> Mark:
    said = signed(test["difference"], 3)
    if ends := test["interval"]:
        said += f", {signed(ends[0], 3)} to {signed(ends[1], 3)} at its Holm step"
    said = f"{test['value']}: {said}, p after Holm {write_p(test['p_holm'])}" if "value" in test else said
    low, high = ends or (None, None)
    return Mark(test["difference"], low, high, tie=not better(test), said=said)


_AXIS = partial(axis, zero=0.0, signed=True)


def _csv_of(tests: Sequence[Test]) -> Declared:
    """Build the CSV columns of a test: all its fields, then the ends of its interval, and the verdict last."""
    keys = [key for key in tests[0] if key != "interval"]
    return columns.also(*keys, low="interval.0", high="interval.1", verdict=verdict)


def pairs_table(shape: Comparison) -> IntervalTable:
    """Build a table with a row for each difference."""

    def join(pair: Test, sign: str) -> str:
        """Join the letters of a pair with a sign."""
        return f"{shape.letters[pair['first']]}{sign}{shape.letters[pair['second']]}"

    def judge(pair: Test) -> Words:
        """Write the verdict on a pair."""
        return Words(verdict({**pair, "rows_needed": None}, shape.letters), strong=bool(better(pair)))

    def write_rows(pair: Test) -> str:
        """Write how many rows an undecided pair needs."""
        return "" if better(pair) or not pair["rows_needed"] else rough(pair["rows_needed"])

    def call(pair: Test) -> Words:
        """Write a pair by its letters."""
        return Words(join(pair, " − "), title=f"{pair['first']} − {pair['second']}")

    return IntervalTable(
        "Differences",
        (
            columns.name("pair", "Pair", call, "3.7rem"),
            columns.text("difference", "", lambda pair: signed(pair["difference"], 3), "3.9rem"),
            columns.interval("interval", "", _mark_difference, _AXIS),
            columns.text("p", "p, Holm", lambda pair: write_p(pair["p_holm"]), "4.5rem", soft=True),
            columns.text("rows", "rows needed", write_rows, "6rem", soft=True),
            columns.name("verdict", "", judge, "10.4rem"),
            _csv_of(shape.pairs),
        ),
        shape.pairs,
        lambda pair: join(pair, "-"),
        height=1.95,
    )


MODELS = Figure(
    "compare-models",
    "compare",
    lambda shape: title(shape.metric),
    _read,
    lambda shape, look: component(models_table(shape, look).marks, look),
    note="95 % interval",
    reading="Overlapping intervals say little about a difference on the same sentences: read the pairs.",
    how=f"Intervals: {intervals.METHOD}. Of several seeds that of their mean, with the spread between them; "
    "behind their number stands the deviation between them.",
    options=(METRIC,),
    tables=lambda shape: {"Models": models_table(shape, Look()).frame},
)
PAIRS = Figure(
    "compare-pairs",
    "compare",
    "Differences",
    lambda source: replace(_read(source), picked=str(source.chosen(PAIR))),
    lambda shape, look: component(pairs_table(shape).marks, look, picked=shape.picked, picks=len(shape.pairs) > 1),
    note=lambda shape: (
        f"{count(len(shape.pairs))} {'pair' if len(shape.pairs) == 1 else 'pairs'}, paired, p after Holm"
    ),
    reading=lambda shape: (
        "An interval that leaves out 0 says that the two differ; a ring on grey is a tie, and rows needed is how many "
        "sentences would find its difference with 80 % power."
        + ("" if named(shape.metric).better == "higher" else " Lower values are better: left of 0 the first is.")
    ),
    how=METHOD,
    options=(METRIC, PAIR),
    tables=lambda shape: {"Pairs": pairs_table(shape).frame},
)


def _columns(source: Source) -> list[str]:
    own = source.sides.columns
    return [*own, *([SLICE] if SLICE not in own and source.reader.kept_slices(source.record) else [])]


def _of_slices(source: Source) -> bool:
    return str(source.chosen(BY)) == SLICE and SLICE not in source.sides.columns


def _version(source: Source) -> str:
    return f" {source.reader.slices_version(source.record)} {source.author}" if _of_slices(source) else ""


def can_be_chosen(source: Source) -> bool:
    """Tell whether there is more than one column."""
    return len(_columns(source)) > 1


def _first_column(source: Source) -> str:
    """Return the data column with the fewest values that all have `ENOUGH` rows; without one the label."""
    names = _columns(source)
    columns = next(iter(source.sides.sides[0].answers.values())).columns
    rows = {str(name): column.astype(str).value_counts() for name, column in columns.items() if str(name) in names}
    sound = [name for name, each in rows.items() if each.min() >= ENOUGH]
    if sound:
        return min(sound, key=lambda name: len(rows[name]))
    return "label" if "label" in names else next(iter(names), "")


ENOUGH = 30
"""Rows of a value that say something of it."""
BY = Option(
    "by", "By", _columns, "A column of the data, the label, or the saved slices", usual=_first_column, version=_version
)


@dataclass(frozen=True, eq=False)
class Where:
    """Two models on the rows of each value of a column."""

    column: str
    metric: str
    letters: tuple[str, str]
    tests: Sequence[Test]
    """As `core.runs.comparison.by_column` gives them, the largest difference first."""
    left_out: Sequence[str] = ()


def _read_where(source: Source) -> Where:
    if not _columns(source):
        raise NotAvailable("these data have no column with a few values, and no saved slices")
    first, second = chosen_pair(source)
    column, metric, sides = str(source.chosen(BY)), str(source.chosen(METRIC)), source.sides
    if _of_slices(source):
        try:
            sides = source.reader.sliced(replace(sides, sides=(first, second), notes=()), source.author)
        except InputError as error:
            raise NotAvailable(str(error).removeprefix("--by slice: ")) from error
    found = by_column(sides, first, second, metric, column)
    if not found:
        raise NotAvailable(f"{title(metric)} is not defined on the sentences of any value of {column}")
    ordered = sorted(found, key=lambda test: -test["difference"])
    letters = letter_of(source, first), letter_of(source, second)
    return Where(column, metric, letters, ordered, sides.notes if _of_slices(source) else ())


def where_table(shape: Where) -> IntervalTable:
    """Build a table with a row for each value."""
    one, other = shape.letters
    left, right = (other, one) if named(shape.metric).better == "higher" else (one, other)

    def call(test: Test) -> Words:
        """Write a value, in bold where the two differ."""
        return Words(test["value"], strong=bool(better(test)))

    return IntervalTable(
        f"Differences by {shape.column}",
        (
            columns.name("value", shape.column.capitalize(), call, "10.5rem"),
            columns.text("n", "n", lambda test: count(test["n"]), "3.6rem", soft=True),
            columns.text("first", one, lambda test: number(test["first_value"], 2), "3.2rem", soft=True),
            columns.text("second", other, lambda test: number(test["second_value"], 2), "3.2rem", soft=True),
            columns.text("difference", "", lambda test: signed(test["difference"]), "4rem"),
            columns.interval("interval", f"‹ {left} better · {right} better ›", _mark_difference, _AXIS),
            _csv_of(shape.tests),
        ),
        shape.tests,
        "value",
        height=1.75,
    )


def _reading(shape: Where) -> str:
    sure = sum(bool(better(test)) for test in shape.tests)
    words = f"{shape.letters[0]} and {shape.letters[1]} differ on {sure or 'none'} of {len(shape.tests)} values"
    lacking = "".join(f" {note[:1].upper()}{note[1:]}." for note in shape.left_out)
    return f"{words} after Holm's correction; a ring on grey is a tie.{lacking}"


WHERE = Figure(
    "compare-where",
    "compare",
    "Where they differ",
    _read_where,
    lambda shape, look: component(where_table(shape).marks, look),
    note=lambda shape: f"{shape.letters[0]} − {shape.letters[1]} by {shape.column}, {title(shape.metric).lower()}",
    reading=_reading,
    how="The same test as of the pair, on the sentences of each value alone. Holm's correction allows for how many "
    "values there are, and each interval is drawn at the level of its step.",
    options=(METRIC, PAIR, BY),
    tables=lambda shape: {"Where": where_table(shape).frame},
    sizes=lambda shape: {test["value"]: test["n"] for test in shape.tests},
)
