"""Attribution methods in columns: scales, neutral colours, pairs, most attended against most needed words."""

from dataclasses import replace
from types import SimpleNamespace

from core.interpret.attribution import Completeness, Explanation, Methods, WordAttribution
from core.interpret.attribution_math import RankTest
from dashboard.figures.attribution_methods import (
    METHODS,
    READ_NEEDED,
    MethodComparison,
    describe_top_words,
    list_checks,
)
from dashboard.figures.theme import LIGHT, Look
from dashboard.figures.word_attributions import SHOWN

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
    return MethodComparison(RECORD, Methods(by, agreement or {}, left_out or {}, "", tests), edited)


def test_each_column_has_its_own_scale_and_long_texts_are_shortened():
    two = shown(deletion=[4.0, -0.5, 0.001], attention=[0.2, 0.1, 0.4])
    rows = METHODS.draw(two, Look()).data["rows"]
    texts = [[cell["text"] for cell in row["cells"]] for row in rows]
    assert texts == [["+4.00", "0.20"], ["−0.50", "0.10"], ["0.00", "0.40"]]
    assert rows[0]["cells"][0]["colour"] == LIGHT.plus_scale[-1] and rows[1]["cells"][0]["colour"] in LIGHT.minus_scale
    assert rows[2]["cells"][1]["colour"] == LIGHT.ink and rows[2]["cells"][0]["colour"] == LIGHT.paper
    assert rows[1]["cells"][0]["about"] == "w1, deletion: −0.500"
    assert rows[2]["cells"][1]["about"] == "w2, attention: 0.400"
    many = shown(deletion=[float(place % 7) for place in range(70)])
    data = METHODS.draw(many, Look()).data
    assert len(data["rows"]) == SHOWN and data["lines"][0] == "… 10 more words with smaller effects."
    assert len(METHODS.build_tables(many)["Methods"]) == 70


def test_errors_and_missing_methods_are_reported():
    complete = Completeness("vectors of zeros", 0.5, -0.0123, 128)
    by = {"deletion": explained("deletion", [1.0])}
    by |= {"integrated": explained("integrated", [1.0], completeness=complete)}
    left_out = {"attention": "this model has no attention", "collapse": "this model has no attention"}
    assert list_checks(MethodComparison(RECORD, Methods(by, {}, left_out, ""), False)) == [
        "Integrated gradients: completeness error −0.012 after 128 steps, from vectors of zeros.",
        "No attention and no layer-0 collapse: this model has no attention.",
    ]
    by = {"deletion": explained("deletion", [1.0, 2.0])}
    by |= {"shapley": explained("shapley", [0.5, 1.0], errors=[0.25, 0.125])}
    two = MethodComparison(RECORD, Methods(by, {("deletion", "shapley"): None}, {}, ""), False)
    assert METHODS.draw(two, Look()).data["rows"][0]["cells"][1]["about"] == "w0, Shapley: +0.500 ± 0.250"
    assert METHODS.build_tables(two)["Methods"]["shapley, standard error"].tolist() == [0.25, 0.125]


def test_most_attended_and_most_effective_words_are_compared():
    two = shown(deletion=[-4.0, 1.0], attention=[0.25, 0.75])
    assert describe_top_words(two) == "“w1” gets most attention; “w0” has the largest effect."
    trace = READ_NEEDED.draw(two, Look()).data[0]
    assert list(trace.x) == [0.25, 0.75] and list(trace.y) == [4.0, 1.0]
    assert list(trace.marker.symbol) == ["diamond", "circle"] and trace.marker.color[0] in LIGHT.minus_scale
    same = shown(deletion=[-4.0, 1.0], attention=[0.75, 0.25], edited=True)
    assert describe_top_words(same) == "“w0” gets most attention and has the largest effect (by chance: 1 in 2)."
    assert READ_NEEDED.resolve_text(READ_NEEDED.note, same) == "2 words, after your changes"
    three = shown({("deletion", "attention"): 0.375}, deletion=[1.0, 2.0, 3.0], attention=[0.5, 0.5, 0.0])
    said = READ_NEEDED.resolve_text(READ_NEEDED.reading, three)
    assert said.startswith("Attention and deletion: no verdict below 8 words. “w")
