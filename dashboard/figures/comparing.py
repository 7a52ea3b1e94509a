"""Several runs on the same rows: the models with their intervals, and every pair with its verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from core.evaluation import intervals
from core.evaluation.comparison import METHOD, better, finding, lettered, rough, verdict
from core.exceptions import NotAvailable
from core.metrics import TUNED, USUAL, metrics_of, named, thresholded, title
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import component
from dashboard.figures.interval_table import Column, Mark, Marks, Row, Words, axis
from dashboard.figures.numbers import count, number, plus_minus, signed
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from core.runs.sides import Side

MOST = 6
"""Models that are compared at once: so many colours can be told apart."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `core.runs.comparison.compare` found for one metric."""

    found: Mapping[str, Any]
    metric: str
    letters: Mapping[str, str]
    """Of the models, by name."""
    picked: str = ""
    """The pair that stands in the figures below, as `PAIR` has it."""

    @property
    def models(self) -> Sequence[Mapping[str, Any]]:
        """In order."""
        return self.found["runs"]

    @property
    def pairs(self) -> Sequence[Mapping[str, Any]]:
        """In order."""
        return self.found["pairs"]

    @property
    def told(self) -> str:
        """What they say together."""
        return finding(self.pairs)

    @property
    def closest(self) -> str:
        """The first pair that cannot be told apart, with how many rows it would take; empty where there is none."""
        found = [pair for pair in self.pairs if not better(pair) and pair["rows_needed"]]
        if not found or len(self.pairs) == 1:
            return ""
        pair = found[0]
        difference = f"{pair['first']} and {pair['second']}: {signed(pair['difference'], 3)}"
        rows = f"about {rough(pair['rows_needed'])} would be needed to find a difference of this size"
        return f"{difference} on the same {count(self.found['n'])} sentences; {rows}."


def metric_names(source: Source) -> list[str]:
    """What these runs can be compared by, the usual one first."""
    task = source.record.task
    tuned = [f"{TUNED}{name}" for name in thresholded()] if task == "multi" else []
    return list(dict.fromkeys([USUAL[task][0], *metrics_of(task, ordered=source.record.ordered), *tuned]))


def pair_names(source: Source) -> list[str]:
    """A-B, A-C and so on."""
    letters = [*lettered([side.name for side in source.sides.sides]).values()]
    return [f"{one}-{other}" for place, one in enumerate(letters) for other in letters[place + 1 :]]


METRIC = Option("metric", "Metric", metric_names, words=lambda source, name: title(name))
PAIR = Option("pair", "Pair", pair_names, "Which two stand in the figures below")


def chosen_pair(source: Source) -> tuple[Side, Side]:
    """The two models of the chosen pair."""
    one, other = str(source.chosen(PAIR)).split("-")
    sides = {letter: side for side, letter in zip(source.sides.sides, _letters(source).values(), strict=True)}
    return sides[one], sides[other]


def _letters(source: Source) -> dict[str, str]:
    return lettered([side.name for side in source.sides.sides])


def letter_of(source: Source, side: Side) -> str:
    """A, B … of a model."""
    return _letters(source)[side.name]


def compared(source: Source) -> Comparison:
    """Every pair by the chosen metric.

    Raises:
        NotAvailable: there are no other runs.
        InputError: they have other rows, or the metric is not defined on these.
    """
    letters, metric = _letters(source), str(source.chosen(METRIC))
    runs = [record.run for record in (source.record, *source.others)]
    return Comparison(source.reader.compared(runs, source.split, metric), metric, letters)


def _read_pairs(source: Source) -> Comparison:
    return dataclasses.replace(_read(source), picked=str(source.chosen(PAIR)))


def _read(source: Source) -> Comparison:
    if len(source.sides.sides) > MOST:  # asked first: without others there is nothing to compare
        raise NotAvailable(f"at most {MOST} models can be told apart by colour")
    return compared(source)


def colour(look: Look, place: int) -> str:
    """Of a model, in all figures."""
    return look.tokens.categories[place % len(look.tokens.categories)]


def models_table(shape: Comparison, look: Look) -> Marks:
    """Each model with its interval, runs as dots."""
    marks, rows = [], []
    for place, model in enumerate(shape.models):
        known = model["metrics"][shape.metric]
        low, high = known["interval"] or (None, None)
        marks.append(Mark(known["mean"], low, high, colour=colour(look, place)))
        spread = "" if known["deviation"] is None else f" ± {number(known['deviation'])}"
        several = model["folds"] or model["seeds"]
        rows.append(
            Row(
                model["name"],
                {
                    "model": Words(
                        f"{shape.letters[model['name']]} {model['name']}",
                        small=model["mixture"],
                        dot=colour(look, place),
                    ),
                    "value": number(known["mean"])
                    if low is None or high is None
                    else plus_minus(known["mean"], low, high),
                    "interval": marks[-1],
                    "seeds": f"{len(several)}{spread}",
                },
            )
        )
    folds = any(model["folds"] for model in shape.models)
    columns = (
        Column("model", "Model", "42%"),
        Column("value", title(shape.metric), "7.6rem", number=True),
        Column("interval", "", axis=axis(marks, leaves_out="low")),
        Column("seeds", "Folds" if folds else "Seeds", "6rem", number=True, soft=True, opt=True),
    )
    several = any(len(model["runs"]) > 1 for model in shape.models)
    return Marks("Models", columns if several else columns[:-1], tuple(rows))


def pairs_table(shape: Comparison, look: Look) -> Marks:
    """Each difference with its interval and what may be said."""
    marks, rows = [], []
    for pair in shape.pairs:
        low, high = pair["interval"] or (None, None)
        winner = better(pair)
        said = f"{signed(pair['difference'], 3)}{ends_words(pair['interval'])}"
        marks.append(Mark(pair["difference"], low, high, tie=not winner, said=said))
        words = verdict({**pair, "rows_needed": None}, shape.letters)
        rows.append(
            Row(
                pair_id(shape, pair),
                {
                    "pair": Words(pair_name(shape, pair), title=f"{pair['first']} − {pair['second']}"),
                    "difference": signed(pair["difference"], 3),
                    "interval": marks[-1],
                    "p": p_words(pair["p_holm"]),
                    "rows": "" if winner or not pair["rows_needed"] else rough(pair["rows_needed"]),
                    "verdict": Words(words, strong=bool(winner)),
                },
            )
        )
    columns = (
        Column("pair", "Pair", "3.7rem"),
        Column("difference", "", "3.9rem", number=True),
        Column("interval", "", axis=axis(marks, zero=0.0, signed=True)),
        Column("p", "p, Holm", "4.5rem", number=True, soft=True),
        Column("rows", "rows needed", "6rem", number=True, soft=True),
        Column("verdict", "", "10.4rem"),
    )
    return Marks("Differences", columns, tuple(rows))


def ends_words(interval: Sequence[float] | None) -> str:
    """`, −0.002 to +0.011 at its Holm step`; empty where there is no interval."""
    return "" if interval is None else f", {signed(interval[0], 3)} to {signed(interval[1], 3)} at its Holm step"


def p_words(p: float) -> str:
    """`0.078`, `< 0.001`."""
    return "< 0.001" if p < 0.001 else number(p)


def pair_id(shape: Comparison, pair: Mapping[str, Any]) -> str:
    """As the option has it: `A-B`."""
    return f"{shape.letters[pair['first']]}-{shape.letters[pair['second']]}"


def pair_name(shape: Comparison, pair: Mapping[str, Any]) -> str:
    """`A − B`."""
    return f"{shape.letters[pair['first']]} − {shape.letters[pair['second']]}"


def models_frame(shape: Comparison) -> pd.DataFrame:
    """Each model with its metric."""
    rows = []
    for model in shape.models:
        known = model["metrics"][shape.metric]
        low, high = known["interval"] or (None, None)
        about = {"model": model["name"], "preset": f"{model['model']} {model['mixture']}".strip()}
        about |= {"runs": len(model["runs"]), "metric": shape.metric}
        rows.append({**about, "mean": known["mean"], "deviation": known["deviation"], "low": low, "high": high})
    return pd.DataFrame(rows)


def tests_frame(tests: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Tests as rows, the ends of each interval apart, the verdict last."""
    rows = []
    for test in tests:
        low, high = test["interval"] or (None, None)
        plain = {name: value for name, value in test.items() if name != "interval"}
        rows.append({**plain, "low": low, "high": high, "verdict": verdict(test)})
    return pd.DataFrame(rows)


def _models(shape: Comparison, look: Look) -> Component:
    return component(models_table(shape, look), look)


def _pairs(shape: Comparison, look: Look) -> Component:
    return component(pairs_table(shape, look), look, picked=shape.picked, picks=len(shape.pairs) > 1)


def _direction(shape: Comparison) -> str:
    return "" if named(shape.metric).better == "higher" else " Lower values are better: left of 0 the first is."


MODELS = Figure(
    "compare-models",
    "compare",
    lambda shape: title(shape.metric),
    _read,
    _models,
    note="95 % interval",
    reading="Overlapping intervals say little about a difference on the same sentences: read the pairs.",
    how=(
        f"Intervals: {intervals.METHOD}. Of several seeds that of their mean, with the spread between them; "
        "behind their number stands the deviation between them."
    ),
    options=(METRIC,),
    tables=lambda shape: {"Models": models_frame(shape)},
)
PAIRS = Figure(
    "compare-pairs",
    "compare",
    "Differences",
    _read_pairs,
    _pairs,
    note=lambda shape: (
        f"{count(len(shape.pairs))} {'pair' if len(shape.pairs) == 1 else 'pairs'}, paired, p after Holm"
    ),
    reading=lambda shape: (
        "An interval that leaves out 0 says that the two differ; a ring on grey is a tie, and rows needed is how many "
        f"sentences would find its difference with 80 % power.{_direction(shape)}"
    ),
    how=METHOD,
    options=(METRIC, PAIR),
    tables=lambda shape: {"Pairs": tests_frame(shape.pairs)},
)
