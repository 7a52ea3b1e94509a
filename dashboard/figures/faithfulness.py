"""Faithfulness of attribution methods: the results of each test, and insertion and deletion curves."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import count, number
from core.interpret import faithfulness_verdict as verdicts
from core.interpret.faithfulness_verdict import Belief, MethodMeasurements, Verdict
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import Panels
from dashboard.figures.figure import Figure, Option, Source
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import ColumnSpec, IntervalTable, TextCell
from dashboard.figures.theme import Look

TESTS = {
    "insertion": "Insertion",
    "deletion": "Deletion",
    "pairs": "Pairs",
    "stability": "Paraphrase",
    "control": "Shuffled",
}
SIGNS: Mapping[verdicts.Outcome, str] = {"passed": "✓", "between": "~", "failed": "✗", "not measured": ""}
NOT_ASKED = "not tested"
HOW = (
    "Words are inserted or deleted one by one, in the order of their effects, and compared with 20 random orders of "
    "each sentence. Pairs: two words are deleted together. Paraphrase: rules reword the sentence. Shuffled: the "
    "numbers of every weight change places and the effects are computed again. *Evidence* passes every test with its "
    "whole interval, *neither* fails one, *illustration* lies between; deletion is judged by pairs, the others by "
    "deletion. The thresholds were calibrated on models with known effects, shuffled effects and random weights; of "
    "the last two, none came out as evidence."
)
PANELS = {"insertion": "words inserted", "deletion": "words deleted"}


@dataclass(frozen=True)
class FaithfulnessResults:
    """Faithfulness measurements of a run's attribution methods, with a verdict on each method."""

    found: Belief

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """Return the faithfulness verdict on each attribution method, as method → verdict."""
        own = {"answers": self.found.answers}
        return {one.method: verdicts.judge_method(one.method, one.tests | own) for one in self.found.methods}


def read_faithfulness(source: Source) -> FaithfulnessResults:
    """Read the faithfulness measurements of a run's attribution methods; NotAvailable: not measured yet."""
    found = source.reader.read_faithfulness(source.record)
    if found is None:
        raise NotAvailable(f"it was not measured yet: sentiscope believe {source.record.run}")
    return FaithfulnessResults(found)


def write_verdict(shown: FaithfulnessResults, method: str) -> str:
    """Write the faithfulness verdict on an attribution method, and the tests it failed, left undecided or lacks."""
    said = shown.verdicts[method]
    against = {
        state: [TESTS.get(name, "right answers").lower() for name, each in said.outcomes.items() if each == state]
        for state in ("failed", "between", "not measured")
    }
    parts = [f"{state}: {', '.join(names)}" for state, names in against.items() if names]
    return f"{method}: {said.verdict}" + (f" ({'; '.join(parts)})" if parts else "")


def _build_cell(name: str, found: MethodMeasurements, said: Verdict) -> TextCell:
    outcome, held, limit = said.outcomes.get(name), found.tests.get(name), verdicts.THRESHOLDS[name]
    if held is None:
        return TextCell("", NOT_ASKED if outcome is None else outcome)
    if outcome is None:
        about = f"{limit.asks}: {_format_interval(held)}; it does not count for {found.method}"
        return TextCell("", number(held.value, 2), title=about)
    side = "below" if limit.small else "above"
    title = f"{limit.asks}: {_format_interval(held)}; {outcome}: passed {side} {number(limit.evidence, 2)}"
    half = f"±{number((held.high - held.low) / 2, 2)}"
    return TextCell(f"{SIGNS[outcome]} {number(held.value, 2)}", half, strong=outcome == "passed", title=title)


def _format_interval(held: verdicts.Number) -> str:
    value, low, high = (number(each, 2) for each in (held.value, held.low, held.high))
    return f"{value}, 95 % interval {low} to {high}, n = {count(held.n)}"


def build_methods_table(shown: FaithfulnessResults) -> IntervalTable:
    """Build the faithfulness table, a row for each attribution method and a column for each test."""
    longest = max(TESTS, key=lambda name: len(TESTS[name]))  # its heading needs more room than its numbers

    def define_test(name: str) -> ColumnSpec:
        width = "7.1rem" if name == longest else ""
        return columns.name(name, TESTS[name], lambda of: _build_cell(name, of, shown.verdicts[of.method]), width)

    drawn = (
        columns.name("method", "Method", lambda found: TextCell(found.method), "5.3rem"),
        columns.name("verdict", "Verdict", lambda of: TextCell(shown.verdicts[of.method].verdict, strong=True), "6rem"),
        *map(define_test, TESTS),
    )
    return IntervalTable("methods and test results", drawn, shown.found.methods, "method", height=1.75)


def _write_reading(shown: FaithfulnessResults) -> str:
    by: dict[str, list[str]] = {}
    for method, said in shown.verdicts.items():
        by.setdefault(said.verdict, []).append(method)
    text = "; ".join(f"{said}: {', '.join(by[said])}" for said in ("evidence", "illustration", "neither") if said in by)
    return f"{text[:1].upper()}{text[1:]}. ✓ passed, ~ between, ✗ failed, no mark: not tested."


def _explain_tests(shown: FaithfulnessResults) -> str:
    outcome = next(iter(shown.verdicts.values())).outcomes["answers"]
    knows = "" if outcome == "passed" else ", too little for evidence"
    answers = f"Accuracy above chance: κ = {_format_interval(shown.found.answers)}{knows}."
    return f"{HOW} ± is half of the 95 % interval. {answers} {verdicts.MEANING}"


def _build_results_table(shown: FaithfulnessResults) -> pd.DataFrame:
    rows = []
    for found in shown.found.methods:
        said, tests = shown.verdicts[found.method], {**found.tests, "answers": shown.found.answers}
        groups = {"test": tests, "area": found.areas, "shuffled weights": found.control, "agreement": found.agreement}
        for what, numbers in groups.items():
            for name, held in numbers.items():
                outcome = said.outcomes.get(name, "") if what == "test" else ""
                rows.append((found.method, said.verdict, what, name, held.value, held.low, held.high, held.n, outcome))
    return pd.DataFrame(rows, columns=["method", "verdict", "what", "name", "value", "low", "high", "n", "outcome"])


BELIEF = Figure("belief", "sentence", "Can I trust this explanation?").add_details(
    read=read_faithfulness,
    draw=lambda shown, look: build_component(build_methods_table(shown).marks, look),
    note=lambda shown: f"{count(shown.found.sentences)} validation sentences, as trained",
    reading=_write_reading,
    how=_explain_tests,
    tables=lambda shown: {"Belief": _build_results_table(shown)},
)

METHOD = Option(
    "believed",
    "Method",
    lambda source: [each.method for each in getattr(source.reader.read_faithfulness(source.record), "methods", ())],
    "The method whose word order is drawn.",
    words=lambda source, method: method,
)


@dataclass(frozen=True)
class MethodCurves:
    """Insertion and deletion curves of one attribution method."""

    measured: MethodMeasurements
    verdict: str
    n: int


def read_curves(source: Source) -> MethodCurves:
    """Read the insertion and deletion curves of the chosen attribution method; NotAvailable: not measured yet."""
    shown, method = read_faithfulness(source), source.get_choice(METHOD)
    found = next(each for each in shown.found.methods if each.method == method)
    return MethodCurves(found, write_verdict(shown, found.method), shown.found.sentences)


def _draw_curves(shown: MethodCurves, look: Look) -> go.Figure:
    t, curves = look.tokens, shown.measured.curves
    ways = [way for way in PANELS if way in curves]
    figure = Panels(look, [[PANELS[way] for way in ways]], height=330, horizontal_spacing=0.08, shared_yaxes=True)
    shares = np.linspace(0, 100, verdicts.POINTS)
    for place, way in enumerate(ways, start=1):
        turn = 1 if way == "insertion" else -1
        for name, curve, color, dash in (
            ("random order", curves["random"], t.muted, "dash"),
            (f"order of {shown.measured.method}", curves[way], t.ink, "solid"),
        ):
            step = turn if name == "random order" else 1
            values, *ends = (list(each)[::step] for each in (curve.values, curve.low, curve.high))
            figure.add_band(shares, ends, color, col=place)
            named = {"name": name, "legendgroup": name, "showlegend": place == 1, "col": place}
            named |= {"hover": f"{name}<br>%{{x:.0f}} % of the words<br>P %{{y:.3f}}"}
            figure.add_scatter(x=shares, y=values, stroke=(color, 2.2, dash), dots=(color, 5), **named)
    figure.update_xaxes(title="share of the words, %", range=[-2, 102], nticks=6)
    figure.update_yaxes(range=[0, 1.03], nticks=6)
    figure.update_yaxes(row=1, col=1, title="P of the answer, mean")
    legend = {"orientation": "h", "x": 0, "y": 1.12, "yanchor": "bottom", "font": {"color": t.ink}}
    figure.update_layout(showlegend=True, legend=legend, margin={"t": look.scale_size(70)})
    return figure.build_figure()


def _write_curves_reading(shown: MethodCurves) -> str:
    areas, method = shown.measured.areas, shown.measured.method
    insertion, chance = (number(areas[name].value, 2) for name in ("insertion", "random"))
    said = f"{shown.verdict[:1].upper()}{shown.verdict[1:]}. "
    said += f"Area under insertion {insertion}, in random order {chance} (higher is better)"
    if "deletion" in areas:
        said += f"; under deletion {number(areas['deletion'].value, 2)} (lower is better)."
    else:
        said += f". {method.capitalize()} is tested on word pairs instead, because a deletion test would be circular."
    if shown.measured.agreement:
        others = ", ".join(f"{name} {number(rho.value, 2)}" for name, rho in shown.measured.agreement.items())
        said += f" Rank agreement with other methods: {others}."
    return said


def build_curve_table(shown: MethodCurves) -> pd.DataFrame:
    """Return a row for each point of a method's insertion and deletion curves and of the curves for random order."""
    shares = np.linspace(0, 1, verdicts.POINTS)
    rows = [
        {"method": shown.measured.method, "curve": name, "share": share, "p": value, "low": low, "high": high}
        for name, curve in shown.measured.curves.items()
        for share, value, low, high in zip(shares, curve.values, curve.low, curve.high, strict=True)
    ]
    return pd.DataFrame(rows)


ALONG = Figure("belief-curves", "sentence", "Insertion and deletion", read_curves, _draw_curves).add_details(
    note=lambda shown: f"{shown.measured.method}, n = {count(shown.n)}",
    reading=_write_curves_reading,
    how="Probability of the class predicted for the whole sentence, while its words are inserted or deleted one by "
    "one, those with the largest effect towards it first. Mean over sentences, 95 % interval (bootstrap); dashed: 20 "
    "random orders of each.",
    options=(METHOD,),
    tables=lambda shown: {"Belief curves": build_curve_table(shown)},
)
