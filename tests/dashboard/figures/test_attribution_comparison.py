"""Attribution methods in columns, attention against effects, and two sentences side by side."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from refused import check_raises

from core import api
from core.exceptions import InputError, NotAvailable
from core.formatting import signed
from core.interpret.attribution import Completeness, Explanation, Methods, WordAttribution
from core.interpret.attribution_math import RankTest
from core.interpret.model_edits import Edits
from core.runs.store import RunStore
from dashboard.figures import attribution_comparison as comparison
from dashboard.figures.figure import Source
from dashboard.figures.theme import LIGHT, Look
from dashboard.figures.word_attributions import SHOWN
from dashboard.reader import Reader

RECORD = SimpleNamespace(classes=("negative", "positive"), task="single", ordered=False)


def explained(method, pushes, errors=None, completeness=None):
    words = tuple(
        WordAttribution(f"w{place}", 3 * place, 3 * place + 2, push, None if errors is None else errors[place])
        for place, push in enumerate(pushes)
    )
    return Explanation("", method, "positive", {}, 0.0, words, completeness, {}, "")


def shown(agreement=None, left_out=None, edited=False, **pushes):
    by = {name: explained(name, each) for name, each in pushes.items()}
    tests = {pair: RankTest(3, rho) for pair, rho in (agreement or {}).items()}
    by["deletion"] = replace(by["deletion"], tests={b: test for (a, b), test in tests.items() if a == "deletion"})
    return comparison.MethodComparison(RECORD, Methods(by, agreement or {}, left_out or {}, "", tests), edited)


def test_each_column_has_its_own_scale_and_long_texts_are_shortened():
    rows = comparison.METHODS.draw(shown(deletion=[4.0, -0.5, 0.001], attention=[0.2, 0.1, 0.4]), Look()).data["rows"]
    texts = [[cell["text"] for cell in row["cells"]] for row in rows]
    assert texts == [["+4.00", "0.20"], ["−0.50", "0.10"], ["0.00", "0.40"]]
    assert rows[0]["cells"][0]["colour"] == LIGHT.plus_scale[-1] and rows[1]["cells"][0]["colour"] in LIGHT.minus_scale
    assert rows[2]["cells"][1]["colour"] == LIGHT.ink and rows[2]["cells"][0]["colour"] == LIGHT.paper
    assert rows[1]["cells"][0]["about"] == "w1, deletion: −0.500"
    assert rows[2]["cells"][1]["about"] == "w2, attention: 0.400"
    many = shown(deletion=[float(place % 7) for place in range(70)])
    data = comparison.METHODS.draw(many, Look()).data
    assert len(data["rows"]) == SHOWN and data["lines"][0] == "… 10 more words with smaller effects."
    assert len(comparison.METHODS.build_tables(many)["Methods"]) == 70


def test_errors_and_missing_methods_are_reported():
    complete = Completeness("vectors of zeros", 0.5, -0.0123, 128)
    by = {"deletion": explained("deletion", [1.0])}
    by |= {"integrated": explained("integrated", [1.0], completeness=complete)}
    left_out = {"attention": "this model has no attention", "collapse": "this model has no attention"}
    assert comparison.list_checks(comparison.MethodComparison(RECORD, Methods(by, {}, left_out, ""), False)) == [
        "Integrated gradients: completeness error −0.012 after 128 steps, baseline: vectors of zeros.",
        "No attention and no first-layer attention: this model has no attention.",
    ]
    by = {"deletion": explained("deletion", [1.0, 2.0])}
    by |= {"shapley": explained("shapley", [0.5, 1.0], errors=[0.25, 0.125])}
    two = comparison.MethodComparison(RECORD, Methods(by, {("deletion", "shapley"): None}, {}, ""), False)
    assert comparison.METHODS.draw(two, Look()).data["rows"][0]["cells"][1]["about"] == "w0, Shapley: +0.500 ± 0.250"
    assert comparison.METHODS.build_tables(two)["Methods"]["shapley, standard error"].tolist() == [0.25, 0.125]


def test_most_attended_and_most_effective_words_are_compared():
    two = shown(deletion=[-4.0, 1.0], attention=[0.25, 0.75])
    assert comparison.describe_top_words(two) == "“w1” gets most attention; “w0” has the largest effect."
    trace = comparison.READ_NEEDED.draw(two, Look()).data[0]
    assert list(trace.x) == [0.25, 0.75] and list(trace.y) == [4.0, 1.0]
    assert list(trace.marker.symbol) == ["diamond", "circle"] and trace.marker.color[0] in LIGHT.minus_scale
    same = shown(deletion=[-4.0, 1.0], attention=[0.75, 0.25], edited=True)
    said = comparison.describe_top_words(same)
    assert said == "“w0” gets most attention and has the largest effect (by chance: 1 in 2)."
    assert comparison.READ_NEEDED.resolve_text(comparison.READ_NEEDED.note, same) == "2 words, after your changes"
    three = shown({("deletion", "attention"): 0.375}, deletion=[1.0, 2.0, 3.0], attention=[0.5, 0.5, 0.0])
    said = comparison.READ_NEEDED.resolve_text(comparison.READ_NEEDED.reading, three)
    assert said.startswith("Attention and deletion: no verdict below 8 words. “w")


@pytest.mark.parametrize(
    ("now", "other", "pairs"),
    [
        ("a b c", "a b c", [(0, 0), (1, 1), (2, 2)]),
        ("The film was bad", "the film was not bad", [(0, 0), (1, 1), (2, 2), (None, 3), (3, 4)]),
        ("so never dull", "so not bad", [(0, 0), (1, 1), (2, 2)]),
        ("a b c d", "a x d", [(0, 0), (1, 1), (2, None), (3, 2)]),
        ("", "a", [(None, 0)]),
        ("", "", []),
    ],
)
def test_equal_words_and_words_at_the_same_place_are_paired(now, other, pairs):
    assert comparison.align_words(now.split(), other.split()) == pairs


def source(trained, text, run="finished", **more) -> Source:
    store = RunStore(trained)
    return Source(store.read(run), Reader(store), text=text, **more)


@pytest.mark.slow
def test_predictions_differ_by_probability_and_log_odds_as_in_explain(trained):
    now, other = source(trained, "good warm film"), source(trained, "bad dull film")
    p, q = (each.view.probabilities["positive"] for each in (now, other))
    odds = [math.log(each / (1 - each)) for each in (p, q)]
    assert comparison.describe_difference(now, other, "pinned") == (
        f"P(positive) {p:.3f} against {q:.3f} pinned: {signed(p - q, 3)}; "
        f"log-odds {signed(odds[0])} against {signed(odds[1])}: {signed(odds[0] - odds[1])}."
    )
    assert p > q and now.view.label == other.view.label
    assert comparison.describe_difference(source(trained, "film", "baseline"), now).count("instead of") == (
        source(trained, "film", "baseline").view.label != now.view.label
    )
    now, other = source(trained, "good film"), source(trained, "good dull film", edits=Edits(heads_off=((0, 0),)))
    table = comparison.build_contrast_table(comparison.align_readings(now, other))
    assert table["word"].tolist()[0] == "good" and pd.isna(table["word"][1]) and table["other word"][1] == "dull"
    mine = api.explain("finished", "good film", target="positive", store=RunStore(trained))["words"]
    assert table["push"].tolist()[0] == pytest.approx(mine[0]["push"])
    assert table["difference"][0] == pytest.approx(table["push"][0] - table["other push"][0])
    assert pd.isna(table["difference"][1])
    assert comparison.build_contrast_table(comparison.align_readings(now, now))["difference"].tolist() == [0, 0]
    check_raises(NotAvailable, "no word", comparison.align_readings, source(trained, "good"), source(trained, " "))
    assert "P(positive)" in comparison.describe_difference(source(trained, "good"), source(trained, ""))


@pytest.mark.slow
def test_figure_compares_two_runs_on_one_text(trained, tmp_path):
    store = RunStore(trained)
    given = {"only": ["difference"], "csv": True, "store": store}
    _, table = api.figures("finished", tmp_path, against=["baseline"], text="good dull film", **given)["files"]
    rows = pd.read_csv(table["file"])
    for run, column in (("finished", "push"), ("baseline", "other push")):
        words = api.explain(run, "good dull film", target="positive", store=store)["words"]
        assert rows[column].tolist() == pytest.approx([word["push"] for word in words], abs=1e-6)
    for wrong, why in (({"text": "good"}, "--against"), ({"against": ["baseline"]}, "--text")):
        check_raises(InputError, why, api.figures, "finished", tmp_path, **wrong, **given)
