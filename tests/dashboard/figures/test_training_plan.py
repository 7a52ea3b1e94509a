"""A planned training: its parts, size, time and command line."""

import shlex

import pytest
from structures import STRUCTURES

from core.config import SETTINGS, compose, flatten_config
from core.models.config import READS
from core.runs.cost_estimate import Estimate, Size
from core.settings import GROUPS
from dashboard.figures.training_plan import (
    OFFERED,
    describe_cost,
    describe_size,
    describe_time,
    format_millions,
    format_setting,
    list_shown_settings,
    summarize_changes,
    write_command,
)


def test_each_setting_is_offered_once_under_its_group():
    offered = [name for names in list_shown_settings({}, None).values() for name in names]
    assert set(offered) == OFFERED
    assert len(offered) == len(set(offered))
    model = {name for name in SETTINGS if name.startswith("model.")}
    assert model <= OFFERED
    further = {"training.lambda_lr", "training.diversity", "text.lexicon", "text.lexicon_match", "text.tagger"}
    assert OFFERED - model == further
    assert set(SETTINGS) >= OFFERED
    everything = list_shown_settings({}, None)
    assert tuple(everything) == GROUPS
    assert all(SETTINGS[name].group == title for title, names in everything.items() for name in names)


def offered(preset, own=(), **settings):
    config = compose(preset, settings)
    return {name for names in list_shown_settings(dict.fromkeys(own, "x"), config.model).values() for name in names}


def test_settings_without_effect_are_hidden_unless_the_user_set_them():
    plain = offered("vanilla")
    assert "model.attention.gate" in plain and "model.attention.lexicon_gate" not in plain
    assert "model.attention.lexicon_gate" in offered("sentiformer")
    assert "model.attention.lexicon_gate" in offered("vanilla", ["model.attention.lexicon_gate"])
    assert {"model.attention.constraint", "training.diversity"} <= offered("ndt-01-n3") - plain
    assert "Lexicon" in list_shown_settings({}, compose("vanilla").model)
    assert "Scores" not in list_shown_settings({}, compose("cnn").model)


@pytest.mark.parametrize("preset", ["bilstm", "cnn", "tfidf-svm", "lexicon"])
def test_baseline_shows_the_settings_that_its_family_reads(preset):
    model = compose(preset).model
    read = {f"model.{name}" for name in READS[model.family]}
    assert {name for name in offered(preset) if name.startswith("model.")} - {"model.family"} == read


@pytest.mark.parametrize("preset", STRUCTURES)
def test_settings_that_a_preset_changes_are_never_hidden(preset):
    usual = flatten_config(compose("vanilla"))
    own = flatten_config(compose(preset))
    changed = {name for name in OFFERED if own[name] != usual[name]}
    assert changed <= offered(preset)


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (Size(591_107, 1_000, "run"), "0.59 M parameters at 1\u202f000 tokens, as an earlier run counted"),
        (Size(22_000_000, 67_000, "bound"), "22.00 M parameters at 67\u202f000 tokens at most"),
        (Size(836_000, 3_100, "data"), "0.84 M parameters at 3\u202f100 tokens, counted in these texts"),
        (None, "Its size is known when its n-grams are counted"),
    ],
)
def test_size_names_its_basis(size, said):
    assert describe_size(size) == said


def test_changed_model_is_described_by_parts_changes_and_implied_settings():
    settings = {"model.attention.gate": "true", "model.attention.lexical": "add", "training.lr": "0.01"}
    along = {"text.lexicon": "vader"}
    said = summarize_changes(compose("ndt-01-n3", {**settings, **along}), settings, along)
    assert said == (
        "It has gate, σ added, 3 maps, λ in [0,1]. 2 changes to the preset. "
        "Also set, because a part needs it: text.lexicon=vader."
    )
    assert summarize_changes(compose("vanilla"), {}, {}) == "It has nothing besides a plain encoder."


CONFIG = compose("ndt-01-n3", {"training.epochs": 4})


def test_time_estimate_names_its_basis_without_false_precision():
    assert describe_time(Estimate(1000, 52.0, 0), CONFIG).endswith(
        "a guess: nothing similar has been trained on this machine yet"
    )
    said = describe_time(Estimate(1000, 41.7, 2), CONFIG)
    assert said == "About 40 s at most · 1\u202f000 steps in 4 epochs · measured on 2 earlier runs here"
    assert "· up to 1\u202f000 steps" in describe_time(Estimate(1000, 41.7, 2, counted=False), CONFIG)
    assert "About 4 min 0 s at most" in describe_time(Estimate(9, 228.0, 1), CONFIG)
    assert "About 2 h 0 min at most" in describe_time(Estimate(9, 7100.0, 1), CONFIG)
    assert "known after the first steps" in describe_time(None, CONFIG)
    assert "in one go" in describe_time(None, compose("tfidf-logreg"))


def test_cost_is_a_sentence_without_what_is_unknown():
    size, time = Size(4_300_000, 30_000, "bound"), Estimate(1000, 52.0, 0)
    assert describe_cost("x", size, time, CONFIG) == "x has at most 4.30 M parameters and trains in at most about 50 s."
    assert describe_cost("x", None, time, CONFIG) == "x trains in at most about 50 s."
    assert describe_cost("x", size, None, CONFIG) == "x has at most 4.30 M parameters."
    assert describe_cost("x", None, None, compose("tfidf-logreg")) == "x is fitted in one go."
    assert describe_cost("x", None, None, CONFIG) == "x can be trained."


def test_command_line_sets_the_same_values_as_typed():
    said = write_command("my data.csv", "vanilla", {"data.name": "x", "training.lr": "0.001"}, "first")
    parts = ["sentiscope", "train", "--data=my data.csv", "--model=vanilla", "--set=training.lr=0.001", "--name=first"]
    assert shlex.split(said) == parts
    assert format_setting(CONFIG, "model.attention.row_norm") == "false"
    assert format_setting(CONFIG, "training.epochs") == "4"
    assert (format_millions(6), format_millions(9_999), format_millions(10_000)) == ("6", "9\u202f999", "0.01 M")
