"""The words of a text with their attributions: text, colours, table."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from core.interpret.attribution import Explanation, WordAttribution
from core.interpret.attribution_math import RankTest
from core.text.pos_tags import find_content_words
from dashboard.figures import word_attributions
from dashboard.figures.attention import AttributedWords
from dashboard.figures.theme import DARK, LIGHT, Look, blend_colors
from dashboard.figures.word_attributions import WordView, build_push_table, explain_answer, make_ramps


def record(classes=("negative", "positive"), *, task="single", ordered=False, family="encoder"):
    model = SimpleNamespace(family=family, layered=family == "encoder")
    return SimpleNamespace(classes=classes, task=task, ordered=ordered, config=SimpleNamespace(model=model))


def shown(pushes: dict[str, float], *, of=None, target="positive", label="positive", unknown=(), **more):
    """Further fields: token ids, tokens of each word, earlier attributions, attention and its test."""
    read, belongs, before = (more.get(name) for name in ("read", "belongs", "before"))
    of, attention, test = of or record(), more.get("attention"), more.get("test")
    spans, start = [], 0
    for word, push in pushes.items():
        spans.append(WordAttribution(word, start, start + len(word), push))
        start += len(word) + 1
    found = Explanation(" ".join(pushes), "deletion", target, {}, 0.0, tuple(spans), None, {}, "")
    found = found if test is None else replace(found, tests={"attention": test})
    counted = np.arange(len(pushes)) if more.get("counted") is None else np.array(more["counted"])
    view = SimpleNamespace(label=label, unknown=tuple(word in unknown for word in pushes), pieces=None)
    belongs = np.eye(len(pushes)) if belongs is None else belongs
    most_read = attention and replace(
        found, words=tuple(replace(word, push=size) for word, size in zip(spans, attention, strict=True))
    )
    return WordView(of, view, AttributedWords(found, belongs, most_read), read, "layer 1, A₀", before, counted)


def join_text(lines) -> str:
    return "".join(text for _, text in lines)


def test_most_important_unread_and_unknown_words_are_named():
    line = explain_answer(shown({"splendid": 11.391, "repelled": -5.4, "x": 0.2}, unknown=("repelled",)))
    assert join_text(line).startswith("“splendid” pushes most towards positive (+11.39). Unknown: “repelled”, read ")
    assert [text for kind, text in line if kind] == ["“splendid”", "Unknown: ", "“repelled”"]
    line = explain_answer(shown({"not": -8.07, "good": 2.0}, label="negative"))
    assert join_text(line) == "“not” pushes most towards negative (−8.07). "
    assert join_text(explain_answer(shown({"good": 2.0}, label="negative"))) == "No word supports negative. "
    three = record(("bad", "so so", "fine"))
    line = explain_answer(shown({"a": 1.0}, of=three, target="bad", label="bad"))
    assert "“a” pushes most towards bad (+1.00)" in join_text(line)
    line = explain_answer(shown({"a": 1.0}, of=three, target="fine", label="bad"))
    assert "Largest effect towards fine: “a”" in join_text(line)
    found = shown({"good": 1.0, "qqq": 0.0}, of=record(family="tfidf-logreg"), belongs=np.array([[1.0], [0.0]]))
    assert "Unknown: “qqq”, ignored." in join_text(explain_answer(found))
    assert found.unread.tolist() == [False, False]
    found = shown({"good": 1.0, ",": 0.0}, belongs=np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert found.unread.tolist() == [False, True] and found.unknown.tolist() == [False, False]


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_blue_and_orange_are_used_only_for_positive_and_negative_classes(tokens):
    assert make_ramps(record(), "positive", tokens) == (tokens.plus_scale, tokens.minus_scale)
    three = record(("negative", "neutral", "positive"))
    assert make_ramps(three, "negative", tokens) == (tokens.minus_scale, tokens.plus_scale)
    ramp, away = make_ramps(three, "neutral", tokens)
    assert (ramp[0], ramp[-1], away) == (tokens.paper, tokens.right, ())  # negative values are hatched
    named = make_ramps(record(("bearish", "bullish")), "bullish", tokens)
    assert [ramp[-1] for ramp in named] == [tokens.categories[1], tokens.categories[0]]
    ramps = make_ramps(record(("joy", "anger"), task="multi"), "joy", tokens)
    assert ramps[0][1] == blend_colors(tokens.paper, tokens.accent, 0.2)


def test_words_have_one_of_five_shades_of_their_effect_on_the_class_at_any_index():
    assert word_attributions.find_positive_class(record(("positive", "negative"))) == "positive"
    assert word_attributions.find_positive_class(record(("bearish", "bullish"))) == "bullish"
    some = shown({"a": 10.0, "b": -4.0, "c": 0.004}, read=np.array([0.2, 0.1, 0.0]))
    data = word_attributions._draw_words(some, Look()).data
    a, b, c = data["items"]
    assert (a["colour"], b["colour"], c["colour"]) == (LIGHT.plus_scale[5], LIGHT.minus_scale[2], LIGHT.paper)
    assert (a["push"], b["push"], c["push"]) == ("+10.00", "−4.00", "0.00")
    assert a["about"] == "a, effect +10.000 towards positive, attention 0.200"
    assert [item["read"] for item in data["items"]] == [1.0, 0.5, 0.0]
    assert [item["most"] for item in data["items"]] == [True, False, False]
    assert word_attributions.find_full_color([1.0, -3.0]) == 3.0
    for faint in ([0.001, -0.002], []):
        assert word_attributions.find_full_color(faint) == word_attributions.FAINTEST


@pytest.mark.slow
def test_long_text_shows_its_most_important_words_in_text_order():
    pushes = {f"w{i}": float(i % 70) for i in range(140)}
    items = word_attributions._draw_words(shown(pushes), Look()).data["items"]
    kept = [item for item in items if "word" in item]
    words_kept = [item["word"] for item in kept]
    assert len(kept) == word_attributions.SHOWN and words_kept == [word for word in pushes if word in words_kept]
    assert sum(item["folded"] for item in items if "folded" in item) == 140 - word_attributions.SHOWN
    fewer = word_attributions._draw_words(shown(pushes), Look(projector=True)).data["items"]
    assert sum("word" in item for item in fewer) == word_attributions.BRIEFLY  # the figure below must stay in view


def test_table_has_each_word_with_position_and_trained_effect():
    table = build_push_table(shown({"not": -1.0, "bad": 2.0}, unknown=("bad",), read=np.array([0.25, 0.75])))
    expected = {"word": ["not", "bad"], "start": [0, 4], "end": [3, 7], "towards": ["positive", "positive"]}
    expected |= {"push": [-1.0, 2.0], "is read": [0.25, 0.75], "unknown": [False, True]}
    assert table.to_dict("list") == expected
    edited = shown({"good": 1.0, "film": 0.25}, before=np.array([2.0, -0.125]))
    data = word_attributions.WORDS.draw(edited, Look()).data
    assert data["items"][0]["about"] == "good, effect +1.000 towards positive, as trained +2.000"
    note = word_attributions.WORDS.resolve_text(word_attributions.WORDS.note, edited)
    assert note == "towards positive, after your changes"
    assert build_push_table(edited)["as trained"].tolist() == [2.0, -0.125]


def test_attended_and_important_words_are_compared_and_stop_words_lead_only_if_counted():
    pushes, test = {"never": -2.0, "good": 1.0, "a": 0.1}, RankTest(9, -0.11, 0.77)
    line = join_text(explain_answer(shown(pushes, attention=(0.1, 0.3, 0.6), test=test)))
    agrees = "Attention and effect: no clear relation (ρ = −0.11)"
    assert line.endswith(f"Most attention: “a”, largest effect: “never”. {agrees}. ")
    short = join_text(explain_answer(shown(pushes, attention=(0.1, 0.3, 0.6), test=test), len(line) - 1))
    assert short == line.removesuffix(f"{agrees}. ")
    line = join_text(explain_answer(shown({"never": -2.0, "good": 1.0}, attention=(0.6, 0.4))))
    assert line.endswith("Most attention and effect: “never”. ")
    assert "Most attention" not in join_text(explain_answer(shown({"never": -2.0}, attention=(1.0,))))
    pushes = {"the": 3.0, "plot": 0.5, ",": 2.0, "never": 1.0}
    more = {"attention": (0.7, 0.1, 0.0, 0.2), "test": RankTest(9, -0.11, 0.77)}
    some = shown(pushes, counted=np.flatnonzero(find_content_words(list(pushes))), **more)
    line = join_text(explain_answer(some))
    assert line.startswith("Of the content words, “never” pushes most towards positive (+1.00). Most attention and ")
    assert "−0.11" in line, "the test is of all words"
    items = word_attributions.WORDS.draw(some, Look()).data["items"]
    assert [item["word"] for item in items if item["most"]] == ["never"]
    every = join_text(explain_answer(shown(pushes, **more)))
    assert every.startswith("“the” pushes most towards positive (+3.00). Most attention and effect: “the”. ")
    assert "no clear relation (ρ = −0.11)" in every
