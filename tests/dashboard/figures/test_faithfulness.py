"""Faithfulness of explanations: measured verdicts and numbers, as text, curves and tables."""

import pytest
from finished import run

from core.exceptions import NotAvailable
from core.interpret.faithfulness_verdict import MEANING, POINTS, Belief, MethodMeasurements, Number, ProbabilityCurve
from dashboard.figures import faithfulness
from dashboard.figures.faithfulness import ALONG, BELIEF, TESTS, FaithfulnessResults
from dashboard.figures.figure import Source
from dashboard.figures.theme import Look


def held(value: float, n: int = 200) -> Number:
    return Number(value, value - 0.05, value + 0.05, n)


def curve(step: float) -> ProbabilityCurve:
    values = tuple(0.3 + step * place for place in range(POINTS))
    return ProbabilityCurve(values, tuple(each - 0.1 for each in values), tuple(each + 0.1 for each in values))


GOOD = {"insertion": held(0.9), "pairs": held(0.8), "stability": held(0.7), "control": held(0.1)}
AREAS = {"insertion": held(0.82), "random": held(0.66)}
DELETION = MethodMeasurements("deletion", GOOD, AREAS, {}, {"insertion": curve(0.05), "random": curve(0.02)}, {})
ATTENTION = MethodMeasurements(
    "attention",
    GOOD | {"insertion": held(0.55), "deletion": held(0.65)},
    AREAS | {"deletion": held(0.5)},
    {"insertion": held(0.5)},
    {"insertion": curve(0.05), "deletion": curve(-0.01), "random": curve(0.02)},
    {"deletion": held(0.37)},
)
FOUND = Belief(200, 3, 1, held(0.87), (DELETION, ATTENTION))
SHOWN = FaithfulnessResults(FOUND)


class Reader:
    def __init__(self, found=FOUND):
        self.found = found

    def list_splits(self, run):
        return []

    def read_faithfulness(self, record):
        return self.found


def test_each_cell_has_value_and_outcome_and_the_reading_lists_methods_by_verdict():
    table = faithfulness.build_methods_table(SHOWN).marks
    assert [column.key for column in table.columns] == ["method", "verdict", *TESTS]
    deletion, attention = table.rows
    assert (deletion.cells["verdict"].text, attention.cells["verdict"].text) == ("evidence", "neither")
    put = deletion.cells["insertion"]
    assert (put.text, put.small, put.strong) == ("✓ 0.90", "±0.05", True)
    assert put.title == (
        "words put back, those first that push most: share of random orders that are slower: 0.90, 95 % interval "
        "0.85 to 0.95, n = 200; passed: passed above 0.70"
    )
    assert deletion.cells["deletion"].small == "not tested"
    assert [attention.cells[name].text[0] for name in ("insertion", "deletion", "control")] == ["✗", "~", "✓"]
    assert attention.cells["pairs"].small == "0.80"
    assert BELIEF.reading(SHOWN).startswith("Evidence: deletion; neither: attention. ✓ passed, ~ between, ✗ failed")
    assert f"κ = 0.87, 95 % interval 0.82 to 0.92, n = 200. {MEANING}" in BELIEF.resolve_text(BELIEF.how, SHOWN)
    weak = FaithfulnessResults(Belief(200, 0, 0, held(0.1), (DELETION,)))
    assert BELIEF.reading(weak).startswith("Illustration: deletion.")
    assert f"too little for evidence. {MEANING}" in BELIEF.resolve_text(BELIEF.how, weak)
    assert "beat 70 % of random orders" in MEANING
    assert BELIEF.note(SHOWN) == "200 validation sentences, as trained"


@pytest.mark.parametrize("dark", [False, True])
def test_insertion_and_deletion_are_drawn_with_random_orders(dark):
    source = Source(run("mine"), Reader(), choices={"believed": "attention"})
    drawn = ALONG.draw(ALONG.read_data(source), Look(dark=dark))
    lines = [trace for trace in drawn.data if trace.mode == "lines+markers"]
    names = ["random order", "order of attention"]
    assert [(trace.name, trace.xaxis) for trace in lines] == [(name, axis) for axis in ("x", "x2") for name in names]
    random, own = curve(0.02).values, ATTENTION.curves
    drawn_values = [random, own["insertion"].values, random[::-1], own["deletion"].values]
    assert [tuple(trace.y) for trace in lines] == drawn_values
    assert [trace.line.dash for trace in lines] == ["dash", "solid"] * 2, "told apart without colour"
    assert sorted(trace.name for trace in drawn.data if trace.showlegend) == ["order of attention", "random order"]
    assert len([trace for trace in drawn.data if trace.fill == "toself"]) == 4


def test_deletion_has_one_panel_and_its_reason():
    shape = ALONG.read_data(Source(run("mine"), Reader()))
    assert shape.measured is DELETION, "the first that was measured"
    assert len(ALONG.draw(shape, Look()).layout.annotations) == 1
    assert ALONG.reading(shape) == (
        "Deletion: evidence. Area under insertion 0.82, in random order 0.66 (higher is better). "
        "Deletion is tested on word pairs instead, because a deletion test would be circular."
    )
    of_attention = ALONG.reading(ALONG.read_data(Source(run("mine"), Reader(), choices={"believed": "attention"})))
    assert of_attention.startswith("Attention: neither (failed: insertion; between: deletion). Area")
    assert of_attention.endswith(
        "under deletion 0.50 (lower is better). Rank agreement with other methods: deletion 0.37."
    )


def test_tables_have_all_numbers_and_missing_measurements_name_the_command():
    table = BELIEF.build_tables(SHOWN)["Belief"]
    assert len(table) == (4 + 1) + 2 + (5 + 1) + 3 + 1 + 1
    one = table[(table["method"] == "attention") & (table["what"] == "agreement")].iloc[0]
    assert (one["name"], one["value"], one["n"], one["verdict"]) == ("deletion", 0.37, 200, "neither")
    curves = ALONG.build_tables(ALONG.read_data(Source(run("mine"), Reader())))["Belief curves"]
    assert len(curves) == 2 * POINTS and curves["p"].iloc[0] == pytest.approx(0.3)
    source = Source(run("mine"), Reader(None))
    for figure in (BELIEF, ALONG):
        with pytest.raises(NotAvailable, match="not measured yet: sentiscope believe mine"):
            figure.read_data(source)
