"""Deviations from the papers, checked against the settings that they name."""

import pytest
from small_models import example, make, small

from core import preset_catalog
from core.config import compose, flatten_config
from core.models.builder import build_model
from core.models.presets import PRESETS

FREE = {name for name, preset in PRESETS.items() if name.startswith("tfidf") or name == "lexicon"}


def test_every_preset_lists_its_deviations():
    assert {name for name, preset in PRESETS.items() if not preset.departures} == FREE


@pytest.mark.slow
def test_listed_deviations_match_the_presets():
    """Each names an existing setting; the paper's value differs and gives a valid model."""
    for name, preset in PRESETS.items():
        own = flatten_config(compose(name))
        for each in preset.departures:
            assert each.what and each.why and bool(each.setting) != bool(each.ours), (name, each)
            assert not each.setting or each.setting in own, (name, each)
            if each.instead:
                assert each.paper, (name, each)
                changed = flatten_config(compose(name, {each.setting: each.instead}))
                # Released normalisers leave look-alikes unchanged.
                other = [key for key in own if own[key] != changed[key] and key != "text.lookalikes"]
                assert other == [each.setting], (name, each)
        said = [each.what for each in preset.departures]
        assert len(said) == len(set(said)), name


@pytest.mark.slow
def test_deviations_read_their_values_from_the_preset():
    rows = {row["what"]: row for row in preset_catalog.list_deviations("inceptive-64")}
    assert rows["learning rate"]["here"] == f"training.lr={compose('inceptive-64').training.lr}" == "training.lr=0.0005"
    assert rows["learning rate"]["instead"] == "training.lr=1e-5"
    assert rows["two classes"]["here"] == "model.head.one_logit=false"
    assert preset_catalog.describe_preset("inceptive-64")["departures"] == list(rows.values())


def test_deviations_concern_only_parts_of_the_variant():
    def list_names(name: str) -> set[str]:
        return {each.what for each in PRESETS[name].departures}

    assert "gate of the class token" not in list_names("sentiformer-no-gate")
    assert not {"window", "random tokens", "global tokens"} & list_names("sentiformer-full")
    assert "tagger" not in list_names("sentiformer-no-pos") and "tagger" in list_names("sentiformer")
    assert "lexicon" not in list_names("lexical-none")
    assert "statistics of the batch norm" not in list_names("inceptive-mean")
    assert "dropout after the encoder" not in list_names("inceptive-64")


def test_gates_start_open_and_are_one_at_class_tokens():
    config = small(PRESETS["sentiformer"].model)
    gates = make(config)(example((5, 3)), trace=True).trace.layers[0].gates
    assert (gates[:, 0] == 1).all() and (gates[:, 1] < 1).all()
    fresh = build_model(config, vocabulary=9, classes=2).state_dict()
    assert [bias.item() for name, bias in fresh.items() if name.endswith("gate.bias")] == [2.0, 2.0]
