"""The Sentence page through the entrance: changes inside the model, scales, two runs, long and empty texts."""

from __future__ import annotations

import json
import re

import pages
import pytest
from pages import words as markup

from core import api
from core.failures.table import read_table
from core.interpret.sentence import inspect_text
from core.models.trace import Intervention
from core.numbers import signed
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard import state

pytestmark = pytest.mark.slow

TEXT = "good film, dull and slow"


def opened(app, **parameters: str):
    return pages.opened(app, "sentence", **{"run": "finished", "text": TEXT, **parameters})


def asked(runs, text: str = TEXT, name: str = "finished", **change) -> dict[str, float]:
    run = load_run(RunStore(runs), name)
    intervene = Intervention(**change)
    return inspect_text(run.model, run.tokenizer, run.record.classes, text, intervene=intervene).probabilities


def shown(app) -> list[str]:
    """What every bar of the page says, from the top."""
    return re.findall(r'class="s-bar[^"]*" role="img" aria-label="([^"]*)"', markup(app))


def said(probabilities: dict[str, float]) -> str:
    return ", ".join(f"{name} {p:.3f}" for name, p in probabilities.items())


def switches(app, key: str):
    return next(each for each in app.get("button_group") if each.key == key)


def link(app) -> str:
    return "".join(app.query_params.get(state.EDIT, ""))


def levers(app):
    (board,) = pages.drawn(app, "levers")
    return board


def cells(board) -> dict[str, dict]:
    """Every cell by the parts of the link that it silences."""
    rows = [row for grid in board["grids"] for row in grid["rows"] if "cells" in row]
    return {",".join(cell["parts"]): cell for row in rows for cell in row["cells"]}


def sliders(board) -> dict[str, dict]:
    rows = [row["sliders"] for grid in board["grids"] for row in grid["rows"] if "sliders" in row]
    return {each["part"]: each for row in rows for each in row if isinstance(each, dict)}


def test_what_a_board_is_given_has_a_turn_that_rises_when_it_changes(app, runs):
    opened(app)
    first = levers(app)["turn"]
    assert levers(app.run())["turn"] == first
    app.query_params[state.EDIT] = "l2c1:1"
    assert levers(app.run())["turn"] > first


def test_a_lambda_of_the_link_changes_the_answer_as_the_core_says(app, runs):
    opened(app)
    assert shown(app) == [said(asked(runs))]
    assert not levers(app)["changed"]
    other = opened(app, edit="l2c1:1")
    changed = said(asked(runs, lambdas=((1, 1, 1.0),)))
    assert changed != said(asked(runs))
    assert shown(other) == [f"{changed}; as trained {said(asked(runs))}"]
    board = levers(other)
    assert board["changed"] == "λ₁ of layer 2 = 1.00" and "against the model as trained" in board["said"]
    assert [(key, each["value"], each["moved"]) for key, each in sliders(board).items() if each["moved"]] == [
        ("l2c1", 1.0, True)
    ]


def test_every_lever_has_the_push_of_its_part_and_knows_whether_it_is_silent(app, runs):
    off = {"heads_off": {(0, 1)}, "components_off": {(1, 1)}, "maps_off": {(0, 0, 2)}}
    change = Intervention(**{kind: frozenset(places) for kind, places in off.items()})
    loaded = load_run(RunStore(runs), "finished")
    trained, edited = (
        {(part.kind, part.layer, part.head, part.component): part for part in found.parts}
        for found in (loaded.parts(TEXT, "positive"), loaded.parts(TEXT, "positive", change))
    )

    def told(*place):
        push = f"push {signed(edited[place].zero, 3)} towards positive, as trained {signed(trained[place].zero, 3)}"
        return f"{push}, against its mean {signed(edited[place].mean, 3)}"

    board = levers(opened(app, edit="h1.2,c2.1,m1.1.2"))
    own = cells(board)
    assert own["h1.2"]["push"] == own["m1.1.2"]["push"] == "off"
    assert own["h1.2"]["about"] == (
        f"silence head 2 of layer 1, off now, as trained {signed(trained['head', 0, 1, None].zero, 3)}"
    )
    assert own["m2.1.1"]["about"].endswith(told("map", 1, 0, 1))
    assert own["c1.0"]["about"].endswith(told("component", 0, None, 0))
    assert own["h2.1,h2.2"]["about"].endswith(told("layer", 1, None, None)) and board["note"] == "as edited"
    assert {key for key, cell in own.items() if cell["off"]} == {"h1.2", "c2.1", "m1.1.2"}
    changed = said(asked(runs, **{kind: frozenset(places) for kind, places in off.items()}))
    assert shown(app)[0] == f"{changed}; as trained {said(asked(runs))}"


def test_a_link_says_that_silent_parts_say_their_mean(app, runs):
    found = {
        (part.kind, part.layer, part.head): part
        for part in load_run(RunStore(runs), "finished").parts(TEXT, "positive").parts
    }
    own = cells(levers(opened(app, silent="mean")))
    assert own["h1.2"]["parts"] == {"h1.2": "h1.2:mean"}
    assert f"push {signed(found['head', 0, 1].mean, 3)} towards positive" in own["h1.2"]["about"]
    changed = asked(runs, heads_mean=frozenset({(0, 1)}))
    opened(app, silent="mean", edit="h1.2:mean")
    assert shown(app)[0].startswith(said(changed)) and cells(levers(app))["h1.2"]["push"] == "mean"


def test_a_slider_is_its_own_curve_of_the_model_as_the_link_changed_it(app, runs):
    opened(app, edit="l1c1:0.9,l:0.5")
    change = {"lambdas": ((0, 1, 0.9),), "lambda_scale": 0.5}
    assert shown(app)[0].startswith(said(asked(runs, **change)))
    assert levers(app)["changed"] == "λ₁ of layer 1 = 0.90, all other λ × 0.50"
    own, (every,) = sliders(levers(app)), levers(app)["alone"]
    for part, wanted in {"l2c2": ((0, 1, 0.9), (1, 2, 1.0)), "l1c1": ((0, 1, 1.0),)}.items():
        chances, p = own[part]["curve"]["chances"], asked(runs, **change | {"lambdas": wanted})["positive"]
        assert own[part]["curve"]["values"][-1] == 1.0 and chances[-1] == pytest.approx(p, abs=1e-4)
    twice = asked(runs, **change | {"lambda_scale": 2.0})["positive"]
    assert every["value"] == 0.5 and every["curve"]["chances"][-1] == pytest.approx(twice, abs=1e-4)
    assert "λ bench" in markup(app) and "the others as they were changed" in markup(app)


def test_a_link_restores_all_changes_in_bars_and_levers(app, runs):
    opened(app, edit="l1c2:0.9,h2.1", layer="1", scale="per row")
    change = {"lambdas": ((0, 2, 0.9),), "heads_off": frozenset({(1, 0)})}
    assert shown(app)[0].startswith(said(asked(runs, **change)))
    assert sliders(levers(app))["l1c2"]["value"] == 0.9
    assert app.session_state[state.LAYER] == "1"
    (grid,) = (json.loads(each.proto.spec) for each in app.get("plotly_chart") if "-grid" in each.proto.id)
    assert grid["layout"]["coloraxis"]["colorbar"]["title"]["text"] == "weight ÷ strongest weight of its row"


def test_hostile_and_stale_changes_are_left_out_and_told(app, runs):
    opened(app, edit="h9.9,l1c1:7,<b>x</b>,h1.1")
    text = markup(app)
    assert "3 changes of the link cannot be made here" in text
    assert "<b>x</b>" not in text
    assert shown(app)[0].startswith(said(asked(runs, heads_off=frozenset({(0, 0)}))))


def test_changes_survive_a_visit_to_another_page(app, runs):
    opened(app, edit="h1.1")
    app.switch_page("screens/performance.py").run()
    app.switch_page("screens/sentence.py").run()
    assert link(app) == "h1.1"
    assert levers(app)["changed"] == "head 1 of layer 1 off"


def test_a_run_without_lambda_has_switches_and_no_slider(app, runs, table, tiny):
    api.train(str(table), "vanilla", tiny, name="plain", store=RunStore(runs))
    opened(app, run="plain", edit="l1c1:0.5")
    assert not sliders(levers(app)) and list(cells(levers(app)))[:2] == ["h1.1", "h1.2"]
    assert "One change of the link cannot be made here" in markup(app)


def test_a_baseline_has_nothing_to_change_and_can_stand_beside_another(app, runs):
    opened(app, run="baseline", beside="finished", edit="h1.1")
    assert not app.slider
    assert shown(app) == [said(asked(runs, name="baseline")), said(asked(runs, name="baseline")), said(asked(runs))]
    assert "Only one of the two has attention" in markup(app)


def test_two_runs_answer_the_same_text(app, runs, table, tiny):
    api.train(str(table), "differential", tiny, name="second", store=RunStore(runs))
    opened(app, beside="second", edit="h1.1")
    assert shown(app)[-1] == said(asked(runs, name="second"))
    assert shown(app)[-2] == said(asked(runs, heads_off=frozenset({(0, 0)})))
    assert "Both models read the same 6 tokens" in markup(app)
    first, second = pages.drawn(app, "words")[1:]
    assert [word["word"] for word in first["items"]] == [word["word"] for word in second["items"]]
    assert [word["push"] for word in first["items"]] != [word["push"] for word in second["items"]]


def test_a_second_run_that_is_not_here_is_told(app, runs):
    assert "There is no run “gone” to compare with" in markup(opened(app, beside="gone"))


def test_an_empty_text_keeps_the_changes_for_the_next_one(app, runs):
    opened(app, edit="h1.1")
    app.text_input(key=state.TEXT).set_value("").run()
    assert not app.exception
    assert "no word here" in markup(app)
    app.text_input(key=state.TEXT).set_value("good").run()
    assert levers(app)["changed"] == "head 1 of layer 1 off"


def test_a_long_text_shows_what_was_cut_off_and_a_window_of_the_rest(app, runs, table, tiny):
    api.train(str(table), "ndt-01-n2", tiny | {"text.max_length": 60}, name="long", store=RunStore(runs))
    opened(app, run="long", text=" ".join(f"word{i}" for i in range(2000)))
    text = markup(app)
    assert "The last 1\u202f940 tokens were cut off" in text
    assert "Not read: “word60 word61 " in text
    assert "Tokens 1 to 40 of 60" in text
    app.slider(key=state.FROM).set_value(21).run()
    assert "Tokens 21 to 60 of 60" in markup(app)


def test_a_class_token_is_told(app, runs, table, tiny):
    api.train(str(table), "vanilla", tiny | {"model.pooling": "cls"}, name="cls", store=RunStore(runs))
    text = markup(opened(app, run="cls"))
    assert "[CLS] is a learned place" in text


def test_a_model_that_reads_padding_shows_how_much_of_the_attention_lies_on_it(app, runs, table, tiny):
    changes = {"model.layers": 2, "model.pad_mode": "as_released", "text.max_length": 16, "training.epochs": 1}
    api.train(str(table), "tweet-v1-p2", {**tiny, **changes}, name="released", store=RunStore(runs))
    text = markup(opened(app, run="released", text="good film"))
    places = re.search(r"\[PAD\] × (\d+): (\d+) places of padding, weight 0\.\d\d", text)
    assert places and places[1] == places[2]
    assert "exactly 0" not in text and "[CLS]" not in text


@pytest.mark.parametrize(
    ("preset", "settings", "shows"),
    [
        ("lexicon", {}, "Polarity of each token"),
        ("cnn", {"model.head.channels": 4}, "Convolutions"),
        ("bilstm", {}, ""),
    ],
)
def test_a_baseline_says_what_it_lacks_and_shows_what_it_has(app, runs, table, tiny, preset, settings, shows):
    """What its words are read as is there without attention too; nobody sees an empty figure."""
    read = {name: value for name, value in tiny.items() if name.startswith(("data", "text", "training"))}
    api.train(str(table), preset, {**read, **settings}, name=preset, store=RunStore(runs))
    said = markup(opened(app, run=preset))
    assert f"{preset} has no attention to look into" in said
    assert [title for title in ("Polarity of each token", "Convolutions") if title in said] == [shows] * bool(shows)


@pytest.mark.parametrize("name", ["finished", "baseline"])
def test_the_words_have_the_push_that_explain_gives(app, runs, name):
    opened(app, run=name)
    (strip,) = pages.drawn(app, "words")
    found = load_run(RunStore(runs), name).explain(TEXT, target="positive")
    assert [(item["word"], item["push"]) for item in strip["items"]] == [
        (word.word, signed(word.push) if abs(word.push) >= 0.005 else "0.00") for word in found.words
    ]
    assert strip["items"][0]["about"].startswith(f"good, push {signed(found.words[0].push, 3)} towards positive")
    assert strip["reads"] == (name == "finished")


def test_words_push_as_edited_and_say_what_they_pushed_as_trained(app, runs):
    opened(app, edit="l2c1:1,h1.1")
    (strip,) = pages.drawn(app, "words")
    loaded = load_run(RunStore(runs), "finished")
    change = Intervention(lambdas=((1, 1, 1.0),), heads_off=frozenset({(0, 0)}))
    now, before = (loaded.explain(TEXT, target="positive", intervene=each).words[0].push for each in (change, None))
    about = f"good, push {signed(now, 3)} towards positive, as trained {signed(before, 3)}, is read "
    assert now != before and strip["items"][0]["about"].startswith(about)
    said = "".join(words for _, words in strip["cause"])
    assert said.endswith("All of it as edited.") and "Most read “" in said
    assert "attention and deletion: no verdict below 8 words" in said


def test_a_text_of_unknown_words_says_so_before_the_answer(app, runs):
    opened(app, text="zzz qqq www")
    shown = markup(app)
    assert -1 < shown.find("The run knows no word of this text") < shown.find("s-bar")


@pytest.fixture
def spelling(runs, table, tiny):
    """A run that reads the pieces of words."""
    settings = {**tiny, "model.ngram_buckets": 40}
    api.train(str(table), "ndt-01-n3", settings, name="spelling", store=RunStore(runs))


def test_the_pieces_of_an_unknown_word_are_shown_and_can_be_silenced(app, runs, spelling):
    text = "good qqzzx film"
    opened(app, run="spelling", text=text)
    assert not app.exception
    assert "Words that are not in the vocabulary are read by their pieces" in markup(app)
    own = switches(app, "edit-n1")
    assert own.options[:2] == [r"\<qq", "qqz"]
    assert not [each for each in app.get("button_group") if each.key in ("edit-n0", "edit-n2")]
    own.set_value([piece for piece in own.value if piece != "qqz"]).run()
    assert not app.exception
    assert link(app) == "n2.2"
    before, after = asked(runs, text, "spelling"), asked(runs, text, "spelling", pieces_off=frozenset({(1, 1)}))
    assert before != after
    assert shown(app)[0] == f"{said(after)}; as trained {said(before)}"
    assert levers(app)["changed"] == "piece 2 of token 2 silenced"


def test_a_piece_that_is_there_twice_is_one_switch(app, runs, spelling):
    opened(app, run="spelling", text="zaaaa")
    own = switches(app, "edit-n0")
    assert own.options.count("aaa") == 1 and len(own.value) == len(own.options) == 11
    own.set_value([piece for piece in own.value if piece != "aaa"]).run()
    assert not app.exception
    assert link(app) == "n1.3,n1.4"


def test_a_link_that_silences_pieces_is_answered_where_a_run_reads_none(app, runs):
    opened(app, text="good qqzzx film", edit="n2.2")
    assert "One change of the link cannot be made here" in markup(app)
    assert not [each for each in app.get("button_group") if each.key == "edit-n1"]


def selected(app, **parameters: str):
    """All sentences of the test split, as a link selects them."""
    return pages.opened(app, "sentence", run="finished", select="all", **parameters)


def test_a_selected_sentence_has_its_true_label_and_the_others_before_and_behind_it(app, runs):
    frame = read_table(RunStore(runs), "finished").frame.sort_values("p_said", ascending=False, kind="stable")
    selected(app, at=frame["key"].iloc[1])
    for place in (1, 2):
        text, label = frame["text"].iloc[place], frame["truth"].iloc[place]
        assert app.text_input(key=state.TEXT).value == text and f"{place + 1}<i> / 16</i>" in markup(app)
        said = asked(runs, text)
        verdict = "✓ right" if max(said, key=said.get) == label else "✕ wrong"
        assert f"true label <b>{label}</b>" in markup(app) and verdict in markup(app)
        app.button(key="selected-Next").click().run() if place == 1 else None
    assert app.query_params["at"] == frame["key"].iloc[2] and "text" in app.query_params


def test_the_last_selected_sentence_has_none_behind_it(app, runs):
    frame = read_table(RunStore(runs), "finished").frame.sort_values("p_said", ascending=False, kind="stable")
    selected(app, at=frame["key"].iloc[-1])
    assert app.button(key="selected-Next").disabled and not app.button(key="selected-Previous").disabled


def test_the_way_back_leads_to_the_page_where_it_was_selected(app, runs):
    selected(app, back="performance")
    app.button(key="selected-back").click().run()
    assert not app.exception and "<h1>Performance</h1>" in markup(app)


def test_a_sentence_of_ones_own_has_no_true_label(app, runs):
    frame = read_table(RunStore(runs), "finished").frame
    selected(app, at=frame["key"].iloc[0])
    assert "true label" in markup(app)
    app.text_input(key=state.TEXT).set_value("good film indeed").run()
    assert "true label" not in markup(app)


@pytest.mark.parametrize("text", [TEXT, ""])
def test_each_section_below_the_bench_is_linked_under_its_own_heading(app, runs, text):
    opened(app, text=text)
    linked = dict(re.findall(r'<a href="#([^"]+)" target="_self">([^<]+)</a>', markup(app)))
    headings = dict(re.findall(r'<h2 id="([^"]+)">([^<]+)</h2>', markup(app)))
    assert linked.items() <= headings.items()
    assert ("at-flip" in linked) == ("at-tried" in linked) == bool(text)
