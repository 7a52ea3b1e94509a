"""The Sentence page through the entrance: changes inside the model, scales, two runs, long and empty texts."""

from __future__ import annotations

import re

import pages
import pytest
from pages import words as markup

from core import verbs
from core.interpret.sentence import inspect_text
from core.models.trace import Intervention
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard import state

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


def test_a_slider_changes_the_answer_as_the_core_says(app, runs):
    opened(app)
    assert shown(app)[0] == said(asked(runs))
    app.slider(key="edit-l1c1").set_value(1.0).run()
    assert not app.exception
    changed = said(asked(runs, lambdas=((1, 1, 1.0),)))
    assert changed != said(asked(runs))
    assert shown(app) == [f"{changed}; as trained {said(asked(runs))}", said(asked(runs)), changed]
    assert link(app) == "l2c1:1"
    assert "λ₁ of layer 2 = 1.00" in markup(app)


def test_heads_and_components_are_switched_off_and_reset_brings_all_back(app, runs):
    opened(app)
    switches(app, "edit-h0").set_value(["1"]).run()
    switches(app, "edit-c1").set_value(["A₀", "A₂"]).run()
    assert link(app) == "h1.2,c2.1"
    change = {"heads_off": frozenset({(0, 1)}), "components_off": frozenset({(1, 1)})}
    assert shown(app)[0].startswith(said(asked(runs, **change)) + "; as trained")
    assert "head 2 of layer 1 off, A₁ of layer 2 off" in markup(app)
    app.button(key="edit-reset").click().run()
    assert not app.exception
    assert link(app) == ""
    assert shown(app)[0] == said(asked(runs))
    assert switches(app, "edit-h0").value == ["1", "2"]


def test_a_link_restores_all_changes_in_bars_and_controls(app, runs):
    opened(app, edit="l1c2:0.9,h2.1", layer="1", scale="per row")
    change = {"lambdas": ((0, 2, 0.9),), "heads_off": frozenset({(1, 0)})}
    assert shown(app)[0].startswith(said(asked(runs, **change)))
    assert app.slider(key="edit-l0c2").value == 0.9
    assert app.session_state[state.LAYER] == "1"
    assert "weight ÷ strongest weight of its row" in markup(app)


def test_a_slider_put_back_to_the_learned_value_is_no_change(app, runs):
    opened(app, edit="l1c1:0.9")
    label = app.slider(key="edit-l0c1").label
    learned = float(re.search(r"learned (\d\.\d+)", label)[1])
    app.slider(key="edit-l0c1").set_value(learned).run()
    assert link(app) == ""
    assert shown(app)[0] == said(asked(runs))


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
    assert "head 1 of layer 1 off" in markup(app)


@pytest.mark.slow
def test_a_run_without_lambda_has_switches_and_no_slider(app, runs, table, tiny):
    verbs.train(str(table), "vanilla", tiny, name="plain", store=RunStore(runs))
    opened(app, run="plain", edit="l1c1:0.5")
    keys = [each.key for each in app.get("button_group")]
    assert not [each for each in app.slider if each.key.startswith("edit-")]
    assert "edit-h0" in keys
    assert "edit-c0" not in keys
    assert "One change of the link cannot be made here" in markup(app)


def test_a_baseline_has_nothing_to_change_and_can_stand_beside_another(app, runs):
    opened(app, run="baseline", beside="finished", edit="h1.1")
    assert not app.slider
    assert shown(app) == [said(asked(runs, name="baseline")), said(asked(runs, name="baseline")), said(asked(runs))]
    assert "Only one of the two has attention" in markup(app)


def test_two_runs_answer_the_same_text(app, runs, table, tiny):
    verbs.train(str(table), "differential", tiny, name="second", store=RunStore(runs))
    opened(app, beside="second", edit="h1.1")
    assert shown(app)[-1] == said(asked(runs, name="second"))
    assert shown(app)[-2] == said(asked(runs, heads_off=frozenset({(0, 0)})))
    assert "Both models read the same 6 tokens" in markup(app)
    assert "tokens of the second run" in markup(app)


def test_a_second_run_that_is_not_here_is_told(app, runs):
    assert "There is no run “gone” to compare with" in markup(opened(app, beside="gone"))


def test_an_empty_text_keeps_the_changes_for_the_next_one(app, runs):
    opened(app, edit="h1.1")
    app.text_input(key=state.TEXT).set_value("").run()
    assert not app.exception
    assert "no word here" in markup(app)
    app.text_input(key=state.TEXT).set_value("good").run()
    assert "head 1 of layer 1 off" in markup(app)


@pytest.mark.slow
def test_a_long_text_shows_what_was_cut_off_and_a_window_of_the_rest(app, runs, table, tiny):
    verbs.train(str(table), "ndt-01-n2", tiny | {"text.max_length": 60}, name="long", store=RunStore(runs))
    opened(app, run="long", text=" ".join(f"word{i}" for i in range(2000)))
    text = markup(app)
    assert "The last 1\u202f940 tokens were cut off" in text
    assert "<del>word60 " in text
    assert "1\u202f910 more words" in text
    assert "Tokens 1 to 40 of 60" in text
    app.slider(key=state.FROM).set_value(21).run()
    assert "Tokens 21 to 60 of 60" in markup(app)


@pytest.mark.slow
def test_a_class_token_is_told(app, runs, table, tiny):
    verbs.train(str(table), "vanilla", tiny | {"model.pooling": "cls"}, name="cls", store=RunStore(runs))
    text = markup(opened(app, run="cls"))
    assert 'class="s-special"' in text
    assert "[CLS] is a learned place" in text


@pytest.mark.slow
def test_a_model_that_reads_padding_shows_how_much_of_the_attention_lies_on_it(app, runs, table, tiny):
    changes = {"model.layers": 2, "model.pad_mode": "as_released", "text.max_length": 16, "training.epochs": 1}
    verbs.train(str(table), "tweet-v1-p2", {**tiny, **changes}, name="released", store=RunStore(runs))
    text = markup(opened(app, run="released", text="good film"))
    places = re.search(r"\[PAD\] × (\d+): (\d+) places of padding, weight 0\.\d\d", text)
    assert places and places[1] == places[2] and f">[PAD] × {places[1]}</b>" in text
    assert "exactly 0" not in text and "[CLS]" not in text


@pytest.mark.slow
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
    verbs.train(str(table), preset, {**read, **settings}, name=preset, store=RunStore(runs))
    said = markup(opened(app, run=preset))
    assert f"{preset} has no attention to look into" in said
    assert [title for title in ("Polarity of each token", "Convolutions") if title in said] == [shows] * bool(shows)


def test_a_text_of_unknown_words_says_so_before_the_answer(app, runs):
    opened(app, text="zzz qqq www")
    shown = markup(app)
    assert -1 < shown.find("The run knows no word of this text") < shown.find("s-bar")


@pytest.fixture
def spelling(runs, table, tiny):
    """A run that reads the pieces of words."""
    settings = {**tiny, "model.ngram_buckets": 40}
    verbs.train(str(table), "ndt-01-n3", settings, name="spelling", store=RunStore(runs))


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
    assert "piece 2 of token 2 silenced" in markup(app)


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
