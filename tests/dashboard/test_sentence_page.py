"""The Sentence page: changes inside the model, two runs, pins, passages, a mixture, no text."""

import json
import re

import pages
import pytest
from pages import TEXT, press, type_text
from pages import sentence as opened
from pages import words as markup
from trained_runs import mix_in

from core import api
from core.error_analysis.predictions_table import read_table
from core.formatting import signed
from core.interpret.ablation import silence_parts
from core.interpret.attribution import explain_text
from core.interpret.sentence_inspection import inspect_text
from core.models.trace import Intervention
from core.runs.attention_files import DemoSentences
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard import state
from dashboard.figures.results import SENTENCE

pytestmark = pytest.mark.slow

GOOD, BAD = "good film " * 15, "bad plot " * 15
LONG = (GOOD + BAD).strip()
PINNED = ("pinned", "pinned-run", "pinned-edit")


def asked(runs, text: str = TEXT, name: str = "finished", **change) -> dict[str, float]:
    run = load_run(RunStore(runs), name)
    intervene = Intervention(**change)
    return inspect_text(run.model, run.tokenizer, run.record.classes, text, intervene=intervene).probabilities


def shown(app) -> list[str]:
    """The text of every bar of the page, from the top."""
    return re.findall(r'class="s-bar[^"]*" role="img" aria-label="([^"]*)"', markup(app))


def said(probabilities: dict[str, float]) -> str:
    return ", ".join(f"{name} {p:.3f}" for name, p in probabilities.items())


def link(app) -> str:
    return "".join(app.query_params.get(state.EDIT, ""))


def levers(app):
    (board,) = pages.drawn(app, "levers")
    return board


def cells(board) -> dict[str, dict]:
    """Every cell by the link parts that disable it."""
    rows = [row for grid in board["grids"] for row in grid["rows"] if "cells" in row]
    return {",".join(cell["parts"]): cell for row in rows for cell in row["cells"]}


def sliders(board) -> dict[str, dict]:
    rows = [row["sliders"] for grid in board["grids"] for row in grid["rows"] if "sliders" in row]
    return {each["part"]: each for row in rows for each in row if isinstance(each, dict)}


def test_lambda_of_the_link_changes_the_prediction_as_in_core(app, runs):
    opened(app)
    assert shown(app) == [said(asked(runs))]
    board = levers(app)
    assert not board["changed"] and levers(app.run())["turn"] == board["turn"]
    app.query_params[state.EDIT] = "l2c1:1"
    app.run()
    changed = said(asked(runs, lambdas=((1, 1, 1.0),)))
    assert changed != said(asked(runs)) and shown(app) == [f"{changed}; as trained {said(asked(runs))}"]
    first, board = board, levers(app)
    assert board["turn"] > first["turn"]
    assert board["changed"] == "λ₁ of layer 2 = 1.00" and "against the trained model" in board["said"]
    moved = [(key, each["value"], each["moved"]) for key, each in sliders(board).items() if each["moved"]]
    assert moved == [("l2c1", 1.0, True)]


def test_link_sets_ablation_to_the_mean(app, runs):
    found = {
        (part.kind, part.layer, part.head): part
        for part in silence_parts(load_run(RunStore(runs), "finished").make_reader(), TEXT, "positive").parts
    }
    own = cells(levers(opened(app, silent="mean")))
    assert own["h1.2"]["parts"] == {"h1.2": "h1.2:mean"}
    assert f"effect {signed(found['head', 0, 1].mean, 3)} towards positive" in own["h1.2"]["about"]
    changed = asked(runs, heads_mean=frozenset({(0, 1)}))
    opened(app, silent="mean", edit="h1.2:mean")
    assert shown(app)[0].startswith(said(changed)) and cells(levers(app))["h1.2"]["push"] == "mean"


def test_link_restores_layer_scale_and_sliders_with_curves_of_the_edited_model(app, runs):
    opened(app, edit="l1c1:0.9,l:0.5", layer="1", scale="per row")
    change = {"lambdas": ((0, 1, 0.9),), "lambda_scale": 0.5}
    assert shown(app)[0].startswith(said(asked(runs, **change)))
    assert levers(app)["changed"] == "λ₁ of layer 1 = 0.90, all other λ × 0.50"
    own, (every, _) = sliders(levers(app)), levers(app)["alone"]
    for part, wanted in {"l2c2": ((0, 1, 0.9), (1, 2, 1.0)), "l1c1": ((0, 1, 1.0),)}.items():
        chances, p = own[part]["curve"]["chances"], asked(runs, **change | {"lambdas": wanted})["positive"]
        assert own[part]["curve"]["values"][-1] == 1.0 and chances[-1] == pytest.approx(p, abs=1e-4)
    twice = asked(runs, **change | {"lambda_scale": 2.0})["positive"]
    assert every["value"] == 0.5 and every["curve"]["chances"][-1] == pytest.approx(twice, abs=1e-4)
    assert "Vary λ" in markup(app) and "others as you changed them" in markup(app)
    assert app.session_state["layer"] == "1"
    (grid,) = (json.loads(each.proto.spec) for each in app.get("plotly_chart") if "-grid" in each.proto.id)
    assert grid["layout"]["coloraxis"]["colorbar"]["title"]["text"] == "weight ÷ strongest weight of its row"


def test_invalid_edits_and_unknown_words_are_reported(app, runs):
    opened(app, text="zzz qqq www", edit="h9.9,l1c1:7,<b>x</b>,h1.1,mix.0,n2.2", beside="gone")
    text = markup(app)
    assert "5 changes of the link cannot be applied" in text
    assert "<b>x</b>" not in text and "How the parts add up" not in text
    assert shown(app)[0].startswith(said(asked(runs, "zzz qqq www", heads_off=frozenset({(0, 0)}))))
    assert -1 < text.find("The run knows no word of this text") < text.find("s-bar")
    assert "There is no run “gone” to compare with" in text


def test_baseline_has_no_edits_and_can_be_compared(app, runs):
    opened(app, run="baseline", beside="finished", edit="h1.1")
    assert not app.slider
    assert shown(app) == [said(asked(runs, name="baseline")), said(asked(runs, name="baseline")), said(asked(runs))]
    assert "Only one of the two models has attention" in markup(app)


def test_long_text_shows_its_truncated_part_and_a_window_of_the_rest(app, runs, table, tiny):
    api.train(str(table), "ndt-01-n2", tiny | {"text.max_length": 60}, name="long", store=RunStore(runs))
    text = markup(opened(app, run="long", text=" ".join(f"word{i}" for i in range(2000))))
    text += pages.drawn(app, "head_view")[0]["hint"]
    for said in ("The last 1\u202f940 tokens were cut off", "Not read: “word60 word61 ", "Tokens 1 to 40 of 60"):
        assert said in text
    app.slider(key="from").set_value(21).run()
    assert "Tokens 21 to 60 of 60" in pages.drawn(app, "head_view")[0]["hint"]


@pytest.mark.parametrize(
    ("name", "edit"), [("finished", {"lambdas": ((1, 1, 1.0),), "heads_off": frozenset({(0, 0)})}), ("baseline", {})]
)
def test_words_have_the_effects_of_explain(app, runs, name, edit):
    opened(app, run=name, edit="l2c1:1,h1.1" if edit else "")
    (strip,) = pages.drawn(app, "words")
    loaded = load_run(RunStore(runs), name)
    readers = (loaded.make_reader(each) for each in (edit and Intervention(**edit), None))
    now, before = (explain_text(reader, TEXT, target="positive") for reader in readers)
    assert [(item["word"], item["push"]) for item in strip["items"]] == [
        (word.word, signed(word.push) if abs(word.push) >= 0.005 else "0.00") for word in now.words
    ]
    about = f"good, effect {signed(now.words[0].push, 3)} towards positive"
    if edit:
        assert now.words[0].push != before.words[0].push
        about += f", as trained {signed(before.words[0].push, 3)}, attention "
        said = "".join(words for _, words in strip["cause"])
        assert "Most attention" in said and "Attention and effect: no verdict below 8 words" in said
    assert strip["items"][0]["about"].startswith(about) and strip["reads"] == bool(edit)


def test_pieces_of_unknown_words_are_shown(app, runs, table, tiny):
    api.train(str(table), "ndt-01-n3", {**tiny, "model.ngram_buckets": 40}, name="spelling", store=RunStore(runs))
    opened(app, run="spelling", text="good qqzzx film zaaaa")
    assert "The model reads unknown words in pieces" in markup(app)
    assert "qqzzx: &lt;qq, qqz" in markup(app) and "good: " not in markup(app)


def test_selected_sentence_has_its_true_label_neighbors_and_the_way_back(app, runs):
    frame = read_table(RunStore(runs), "finished").frame.sort_values("p_predicted", ascending=False, kind="stable")
    pages.opened(app, "sentence", run="finished", select="all", at=frame["key"].iloc[1], back="performance")
    for place in (1, 2):
        text, label = frame["text"].iloc[place], frame["true"].iloc[place]
        assert app.text_input(key=state.TEXT).value == text and f"{place + 1}<i> / 16</i>" in markup(app)
        said = asked(runs, text)
        verdict = "✓ right" if max(said, key=said.get) == label else "✕ wrong"
        assert f"true label <b>{label}</b>" in markup(app) and verdict in markup(app)
        app.button(key="selected-Next").click().run() if place == 1 else None
    assert app.query_params["at"] == frame["key"].iloc[2] and "text" in app.query_params
    assert "true label" not in markup(type_text(app, "good film indeed")), "a sentence of one's own has none"
    assert "<h1>Performance</h1>" in markup(press(app, "selected-back"))


@pytest.mark.parametrize("text", [TEXT, ""])
def test_sections_below_the_bench_are_drawn_if_they_are_open(app, runs, text):
    opened(app, text=text)
    headings = dict(re.findall(r'<h2 id="([^"]+)">([^<]+)</h2>', markup(app)))
    assert ("at-flip" in headings) == ("at-tried" in headings) == bool(text)
    if text:  # a section that is open stays open while the field is empty
        assert "at-flip" in markup(type_text(type_text(app, ""), text))
        app.session_state[state.MORE] = []
        assert "at-flip" not in markup(app.run()) and ">Attention</h2>" in markup(app)
        return
    assert ("flip-start" in [each.key for each in app.button]) == bool(text)
    assert ("Replace one word:" in markup(app)) == bool(text)


def offers(app) -> list[str]:
    return [str(each.key) for each in (*app.selectbox, *app.button) if str(each.key).startswith("demo")]


def keep_demos(runs, rows) -> None:
    job = DemoSentences.from_run(RunStore(runs), "finished", "test")
    job.folder.mkdir(exist_ok=True)
    job.write({"rows": rows}, 0.0)


def test_a_run_without_demo_sentences_offers_to_find_them(app, runs):
    pages.opened(app, "sentence", run="finished")
    assert offers(app) == ["demos"] and app.text_input(key=state.TEXT).value == SENTENCE
    keep_demos(runs, [])
    app.run()
    assert offers(app) == [], "none of its parts decides a sentence"


def test_sentences_that_one_part_decides_are_listed_and_the_first_is_the_default(app, runs):
    told = {"text": "good film", "edit": "h2.1", "what": "head 1 of layer 2 off"}
    rows = [told, {**told, "text": "bad plot", "edit": "l1c1:0", "what": "λ₁ of layer 1 = 0.00"}]
    keep_demos(runs, rows)
    pages.opened(app, "sentence", run="finished")
    assert app.text_input(key=state.TEXT).value == "good film" and link(app) == ""
    (key,) = offers(app)
    menu = app.selectbox(key=key)
    assert menu.options == ["head 1 of layer 2 off: good film", "λ₁ of layer 1 = 0.00: bad plot"]
    menu.select_index(1).run()
    assert app.text_input(key=state.TEXT).value == "bad plot" and link(app) == "l1c1:0"
    assert levers(app)["changed"] == "λ₁ of layer 1 = 0.00"
    (key,) = offers(app)
    assert app.selectbox(key=key).value is None, "another one can be chosen"


def pins(app) -> list[str]:
    return ["".join(app.query_params.get(key, "")) for key in PINNED]


def test_pinned_sentence_is_compared_with_the_next_one(app, runs):
    press(opened(app), "pin-button")
    assert "Pinned" in app.session_state[state.MORE], "it opens the comparison"
    app.session_state[state.MORE] = ["Pinned"]
    app.run()
    assert pins(app) == [TEXT, "finished", ""] and "This sentence is pinned." in markup(app)
    type_text(app, "bad film")
    before, now = asked(runs), asked(runs, "bad film")
    assert shown(app) == [said(now), said(now), said(before)]
    gap = now["positive"] - before["positive"]
    line = f"P(positive) {now['positive']:.3f} against {before['positive']:.3f} pinned: {gap:+.3f}".replace("-", "−")
    assert f"Pinned: <b>“{TEXT}”</b>" in markup(app) and line in markup(app)
    strips = [[item["word"] for item in each["items"]] for each in pages.drawn(app, "words")]
    assert strips[1:] == [["bad", "film"], ["good", "film", ",", "dull", "and", "slow"]]
    assert "Difference of each effect" in markup(app)


def test_levers_are_compared_with_pinned_ones_and_both_survive_a_page_change(app, runs):
    opened(app, edit="h1.1", pinned=TEXT, **{"pinned-run": "finished", "pinned-edit": "h2.1"})
    first, second = (asked(runs, heads_off=frozenset({place})) for place in ((0, 0), (1, 0)))
    assert shown(app)[0] == f"{said(first)}; as trained {said(asked(runs))}"
    assert shown(app)[1:] == [said(first), said(second)]
    assert "head 1 of layer 2 off" in markup(app) and "the first minus the second" in markup(app)
    app.switch_page("screens/performance.py").run()
    app.switch_page("screens/sentence.py").run()
    assert pins(app) == [TEXT, "finished", "h2.1"] and "Pinned:" in markup(app)
    assert link(app) == "h1.1" and levers(app)["changed"] == "head 1 of layer 1 off"


def test_pinned_run_predicts_its_sentence_next_to_another_run(app, runs):
    opened(app, run="baseline", pinned="good", **{"pinned-run": "finished"})
    assert shown(app)[-1] == said(asked(runs, "good"))
    assert "Pinned: <b>“good”</b> (finished) · P(positive)" in markup(app)
    press(app, "pin-button")
    assert pins(app) == ["", "", ""] and "Pinned:" not in markup(app) and "Pinned" not in app.session_state[state.MORE]


def test_invalid_pins_are_reported(app, runs):
    opened(app, pinned="<b>x</b>", **{"pinned-run": "gone", "pinned-edit": "h9.9"})
    assert "There is no run “gone” to compare with" in markup(app) and "<b>x</b>" not in markup(app)
    other = opened(app, pinned="<i>x</i> good", **{"pinned-run": "finished", "pinned-edit": "h9.9,<u>"})
    assert "<i>x</i>" not in markup(other) and "&lt;i&gt;x&lt;/i&gt; good" in markup(other)
    assert shown(other)[-1] == said(asked(runs, "<i>x</i> good"))


def test_empty_sentence_is_compared_with_a_pin_and_keeps_the_edits(app, runs):
    opened(app, edit="h1.1", pinned="good", **{"pinned-run": "finished"})
    assert "This text has no words" in markup(type_text(app, "")) and shown(app)[-1] == said(asked(runs, "good"))
    assert "The effects cannot be compared: there is no word in one of the texts." in markup(app)
    assert levers(type_text(app, "good"))["changed"] == "head 1 of layer 1 off"


@pytest.fixture
def mixed(runs):
    store = RunStore(runs)
    mix_in(store, "finished", "baseline", 0.6)
    return load_run(store, "finished")


def test_mixture_parts_are_below_the_prediction_and_a_switch_removes_tfidf(app, mixed):
    opened(app)
    view = mixed.inspect(TEXT)
    parts = (view.probabilities, view.mix.network, view.mix.tfidf, view.mix.mixture)
    assert shown(app)[:4] == [said(each) for each in parts]
    for part in ("Network alone, counts 0.60", "TF-IDF alone, counts 0.40", "mixed with TF-IDF, w = 0.60"):
        assert part in markup(app)
    app.toggle(key="edit-mix").set_value(False).run()
    assert link(app) == "mix.0"
    alone = mixed.inspect(TEXT, unmixed=True).probabilities
    assert shown(app)[0] == f"{said(alone)}; as trained {said(view.probabilities)}"
    assert levers(app)["changed"] == "TF-IDF taken out" and "TF-IDF alone, counts 0.00" in markup(app)
    app.toggle(key="edit-mix").set_value(True).run()
    assert not link(app) and shown(app)[0] == said(view.probabilities)


def test_ablated_head_changes_only_the_network_part(app, mixed):
    opened(app, edit="h1.2")
    before, after = mixed.inspect(TEXT), mixed.inspect(TEXT, Intervention(heads_off=frozenset({(0, 1)})))
    pairs = [(getattr(after.mix, name), getattr(before.mix, name)) for name in ("network", "tfidf", "mixture")]
    assert said(after.mix.tfidf) == said(before.mix.tfidf)
    assert shown(app)[1:4] == [f"{said(now)}; as trained {said(was)}" for now, was in pairs]


def passages(app) -> list[str]:
    return [each.label for each in app.button if each.key.startswith("passage-")]


def test_passages_have_the_predictions_of_predict_and_a_click_opens_one(app, runs):
    opened(app, text=LONG)
    (found,) = api.predict("finished", [LONG], passage=40, store=RunStore(runs))["predictions"]
    assert [each["text"] for each in found["passages"]] == [GOOD.strip(), BAD.strip()]
    for number, (line, each) in enumerate(zip(passages(app), found["passages"], strict=True), 1):
        told = f"{number} · {each['label']} {max(each['probabilities'].values()):.2f}, effect "
        assert line.replace("\\", "").startswith(told)
    assert f"together {found['label']} {found['probabilities'][found['label']]:.2f}" in markup(app)
    press(app, "passage-1")
    assert app.text_input(key=state.TEXT).value == BAD.strip()
    assert not passages(app) and "By passage" not in markup(app), "thirty words are one passage"


@pytest.mark.parametrize(
    ("preset", "settings", "shows"),
    [("lexicon", {}, "Token polarity"), ("cnn", {"model.head.channels": 4}, "Convolutions")],
)
def test_baseline_names_its_missing_parts_and_shows_the_others(app, runs, table, tiny, preset, settings, shows):
    """Token values are shown without attention too; no figure is empty."""
    read = {name: value for name, value in tiny.items() if name.startswith(("data", "text", "training"))}
    api.train(str(table), preset, {**read, **settings}, name=preset, store=RunStore(runs))
    said = markup(opened(app, run=preset))
    assert f"{preset} has no attention maps" in said
    assert [title for title in ("Token polarity", "Convolutions") if title in said] == [shows]


def test_long_text_lists_all_passages_and_short_text_has_none(app, runs):
    assert len(passages(opened(app, text="good film " * 1000))) == 50
    assert not passages(type_text(app, ("good " * 40).strip())) and "By passage" not in markup(app)
