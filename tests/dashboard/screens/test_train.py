"""The page Train: presets by paper, and custom models."""

import json
import shlex
from functools import partial
from pathlib import Path

import pages
import pytest
from pages import press, words
from streamlit.testing.v1 import AppTest
from tiny_backbones import backbone, word_pieces

import dashboard
from core import api
from core.config import compose, parse_settings
from core.error_analysis.counter_examples import keep_example
from core.models.presets import PRESETS
from core.runs.configuration import configure
from core.runs.store import RunStore, get_own_process
from dashboard import access, state
from dashboard.data import data
from dashboard.figures.training_curves import LIVE

pytestmark = pytest.mark.slow
APP = Path(dashboard.__file__).parent / "app.py"


@pytest.fixture
def opened(app, runs, table, monkeypatch):
    """opened(**parameters) → the form as a link shows it, on a small file and with all its parts open."""
    monkeypatch.setattr(access, "is_local", lambda: True)
    return partial(pages.opened, app, "train", data=str(table), more="all")


def choose(app, **choices: str):
    for name, value in choices.items():
        key = f"{state.SETTING}{name.replace('__', '.')}"
        next(each for each in (*app.selectbox, *app.text_input) if each.key == key).set_value(value)
    app.run()
    return app


def grayed(app) -> dict[str, str]:
    """The placeholders of empty fields, by setting."""
    return {each.key.removeprefix(state.SETTING): each.placeholder for each in app.text_input if each.key}


def command(app) -> list[str]:
    return shlex.split(app.code[0].value)


def test_paper_offers_its_presets_and_a_link_restores_both(opened):
    app = opened(paper="7ess-Xin", model="tweet-v3-p2")
    assert app.selectbox(key=state.PRESET).value == "tweet-v3-p2"
    assert app.selectbox(key=state.PRESET).options == [name for name in PRESETS if name.startswith("tweet-")]
    app.selectbox(key=state.PAPER).set_value("Baselines").run()
    assert app.selectbox(key=state.PRESET).value == "bilstm"


def test_changed_model_is_described_drawn_and_given_as_a_command(opened):
    app = choose(opened(model="ndt-01-n3"), model__attention__gate="true", model__attention__rotary="true")
    shown = words(app)
    assert "It has rotary, gate, 3 maps, λ in [0,1]. 2 changes to the preset." in shown and "parameters at" in shown
    assert any("log g_j" in each.value for each in app.latex)
    assert "--set=model.attention.gate=true" in command(app)


def test_file_read_on_the_data_page_has_an_estimate_from_its_rows(opened, table):
    assert "up to 1\u202f000 steps" in words(opened(model="vanilla")), "it has not been read"
    rows = len(data.load_dataset(access.make_config(access.find_dataset(str(table))).data).splits["train"])
    shown = words(opened(model="vanilla"))
    assert f"{4 * -(-rows // 64)} steps in 4 epochs" in shown
    assert "tokens, counted in these texts" in shown and "training rows" not in shown


def test_settings_implied_by_a_part_are_in_the_command(opened):
    app = choose(opened(model="vanilla"), model__position="polarity-aware", model__attention__lexical="add")
    assert "Also set, because a part needs it: text.tagger=auto and text.lexicon=vader." in words(app)
    assert {"--set=text.tagger=auto", "--set=text.lexicon=vader"} <= set(command(app))
    assert grayed(app)["text.lexicon"] == "vader"


def test_command_makes_the_same_settings(opened, table):
    given = command(choose(opened(model="lexical-all"), model__attention__lexical_strength="2", model__layers="2"))
    assert given[:2] == ["sentiscope", "train"]
    options = dict(part.removeprefix("--").split("=", 1) for part in given[2:] if not part.startswith("--set="))
    settings = parse_settings(part.removeprefix("--set=") for part in given[2:] if part.startswith("--set="))
    config = configure(options["data"], options["model"], settings)
    assert (config.model.attention.lexical_strength, config.model.layers) == (2, 2) and config.data.name == str(table)


@pytest.mark.parametrize(
    ("model", "choices", "way_out"),
    [
        ("ndt-01-n3", {"model__attention__mixing": "single"}, "choose mixing=additive"),
        ("vanilla", {"model__width": "130"}, "the nearest is 128"),
    ],
)
def test_contradicting_settings_are_refused_with_the_nearest_valid_choice(opened, model, choices, way_out):
    app = choose(opened(model=model), **choices)
    assert "These settings do not fit together" in words(app) and way_out in words(app) and not app.latex
    runs = len(RunStore().list())
    assert "This training cannot start" in words(press(app, "start")) and len(RunStore().list()) == runs


def test_setting_without_effect_gives_the_reason(opened):
    app = choose(opened(model="lexical-all"), text__lexicon="vader")
    choose(app, model__attention__lexical="none")
    help_of = {each.label: each.help for each in app.text_input}
    assert "Without effect here**: no part of this model reads a lexicon" in help_of["lexicon"]
    assert "Without effect" not in help_of["heads"]


def test_reset_to_the_preset_empties_only_the_builder(opened):
    app = choose(opened(model="vanilla"), model__attention__gate="true", training__lr="0.01")
    parts = command(press(app, "compose-clear"))
    assert not any("model." in part for part in parts) and "--set=training.lr=0.01" in parts


def test_training_starts_from_a_finished_run_with_its_tokenizer_and_encoder(opened, runs):
    app = opened(model="ndt-01-n3")
    run, *_ = app.selectbox(key=f"{state.SETTING}training.start").options  # finished encoders
    app = choose(app, training__start=run)
    assert f"--set=training.start={run}" in command(app)
    own = RunStore(runs).read(run).config
    fields = grayed(app)
    assert fields["model.width"] == str(own.model.width) and fields["text.min_freq"] == str(own.text.min_freq)


def test_rows_that_the_start_run_learned_are_counted_before_training(opened, runs, table):
    app = choose(opened(), training__start="finished")
    assert "Lineage" not in words(app) and "would be refused" not in words(app), "cut as that run did"
    told = dict.fromkeys(("Lineage: ", "would be refused"), 0)
    for split in ("0.8/0.1/0.1", "0.2/0.4/0.4"):
        app = choose(app, data__seed="1", data__split=split)
        given = {"training.start": "finished", "data.seed": 1, "data.split": split}
        checked = api.data_check(str(table), given, store=RunStore(runs))
        notes = [note for note in checked.get("notes", ()) if note.startswith("lineage: ")] or [checked["problem"]]
        assert all(note[1:] in words(app) for note in notes)
        for each in told:
            told[each] += each in words(app)
    assert sum(told.values()) == 2


def test_recipe_lists_its_settings_and_is_in_command_and_run(opened, runs, monkeypatch):
    monkeypatch.setattr("core.runs.training_jobs.start", lambda store, run: store.read(run))
    app = opened(model="vanilla")
    assert "The recipe sets" not in words(app)
    app.toggle(key=state.RECIPE).set_value(True).run()
    app = choose(app, training__lr="0.002")
    shown = words(app)
    assert "The recipe sets text.min_freq = 2, model.ngram_buckets = 20000, model.dropout = 0.3" in shown
    assert "training.word_dropout = 0.05, training.nonsense = 0.1, training.batch_size = 128." in shown
    assert "Your own value is kept: training.lr." in shown and grayed(app)["model.ngram_buckets"] == "20000"
    assert "--recipe=strong" in command(app) and "--set=training.lr=0.002" in command(app)
    press(app, "start")
    record = next(each for each in RunStore(runs).list() if each.status == "queued")
    assert (record.recipe, record.config.model.ngram_buckets, record.config.training.lr) == ("strong", 20_000, 0.002)


def test_counter_examples_are_added_as_listed_now(opened, runs):
    app = opened(model="vanilla")
    assert app.toggle(key=state.ALONG).disabled, "there are none"
    keep_example(runs, "not bad", "positive")
    app.run()
    app.toggle(key=state.ALONG).set_value(True).run()
    [file] = (runs / ".counter-examples").glob("*.json")
    assert json.loads(file.read_text()) == [{"text": "not bad", "label": "positive"}]
    assert "--add=counter-examples" in command(app) and str(file) not in " ".join(command(app))


def test_gray_settings_are_those_of_the_chosen_backbone(opened, tmp_path):
    folder = backbone(tmp_path / "tiny")
    app = choose(opened(model="pretrained"), model__backbone=str(folder))
    sizes = {"model.width": "24", "model.layers": "2", "model.ff_width": "32", "model.attention.heads": "3"}
    assert grayed(app).items() >= {**sizes, "text.max_vocab": str(word_pieces().get_vocab_size())}.items()
    assert f"--set=model.backbone={folder}" in command(app)


def test_forbidden_backbone_reveals_nothing_to_visitors(opened, tmp_path, monkeypatch):
    folder = backbone(tmp_path / "tiny")
    app = opened(model="pretrained", data="built-in")
    monkeypatch.setattr(access, "is_local", lambda: False)
    choose(app, model__backbone=str(folder))
    assert "shows on this server" in words(app) and grayed(app)["model.width"] == "768"


def test_link_restores_every_changed_setting_in_a_new_session(app, opened, runs, table):
    first = choose(opened(model="vanilla"), training__seed="7", model__layers="2", training__start="finished")
    first.toggle(key=state.RECIPE).set_value(True).run()
    said, link = command(first), dict(first.query_params)
    assert link["set"] == ["model.layers=2", "training.seed=7", "training.start=finished"]
    other = AppTest.from_file(str(APP), default_timeout=60)
    pages.opened(other, "train", **link, more="all")
    assert command(other) == said and {"--recipe=strong", "--set=training.seed=7"} <= set(said)
    other.toggle(key=state.RECIPE).set_value(False).run()
    choose(other, training__seed="", model__layers="", training__start=None)
    assert "set" not in other.query_params and state.RECIPE not in other.query_params


def test_settings_stay_while_their_fields_are_folded(opened):
    app = choose(opened(model="vanilla"), training__seed="7", model__layers="2")
    app.session_state[state.MORE] = ["Plan and command"]
    app.run()
    assert not [each for each in app.text_input if each.key == f"{state.SETTING}training.seed"]
    assert {"--set=training.seed=7", "--set=model.layers=2"} <= set(command(app.run()))


def test_name_that_is_no_setting_in_a_link_is_reported(opened):
    app = opened(model="vanilla", set="training.sed=1")
    assert "It is ignored: training.sed." in words(app) and not any("sed" in part for part in command(app))


def test_ended_training_can_be_stepped_through_and_reset(opened, runs):
    app = opened(run="finished", view="run")
    curves, _ = data.read_curves(RunStore(runs).read("finished"))
    end = f"Epoch {curves.epochs} of {curves.epochs}: the training loss is "
    assert end in words(app) and app.button(key="replay-next").disabled
    assert "Epoch 1 of" in words(press(app, "replay-reset")) and end not in words(app)
    press(app, "replay-next")
    assert app.session_state[f"{state.REPLAY}finished"] == curves.step[1]
    drawn = next(each["data"][0] for each in pages.charts(app) if each["layout"].get("uirevision") == LIVE)
    assert drawn["x"] == list(curves.step[:2])


def test_training_names_the_number_of_its_sentences_before_its_first_step(opened, runs):
    store = RunStore(runs)
    store.create(compose("ndt-01-n3", {"data.limit": 1200}), "ndt-01-n3", "early")
    store.update("early", status="running", process=get_own_process())
    app = opened(run="early")
    assert "<h2>Loading 1\u202f200 sentences</h2>" in words(app) and not pages.charts(app)
    store.update("early", progress={"rows": {"train": 900}})
    assert "<h2>Loading 900 sentences</h2>" in words(app.run())
