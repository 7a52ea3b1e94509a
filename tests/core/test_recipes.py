import pytest
from structures import STRUCTURES

from core.config import compose, flatten_config
from core.exceptions import ConfigError
from core.models.presets import PRESETS
from core.recipes import RECIPES, apply_recipe
from core.runs.configuration import configure

STRONG = RECIPES["strong"].settings


def test_recipes_override_data_and_preset_but_user_settings_decide_which_fit():
    found = apply_recipe("strong", "vanilla", {"training.lr": 3e-4}, {"text.min_freq": 5, "text.normaliser": "tweet"})
    values = flatten_config(compose("vanilla", found.settings, {"text.min_freq": 5, "text.normaliser": "tweet"}))
    assert {name: values[name] for name in STRONG} == {**STRONG, "training.lr": 3e-4}
    assert values["text.normaliser"] == "tweet" and not found.left_out
    assert apply_recipe("", "vanilla", {"training.lr": 1}) == ("", {"training.lr": 1}, {})
    config = configure("built-in", "vanilla", {"training.epochs": 1}, recipe="strong")
    assert config.model.ngram_buckets == 20_000 and config.training.epochs == 1
    found = apply_recipe("strong", "vanilla", {"text.tokenizer": "bpe", "training.teacher": ""})
    assert list(found.left_out) == ["model.ngram_buckets"]
    assert compose("vanilla", found.settings).training.teacher == ""
    with pytest.raises(ConfigError, match=r"unknown recipe 'stronger' \(did you mean 'strong'\?\)"):
        apply_recipe("stronger", "vanilla")
    with pytest.raises(ConfigError, match="unknown model preset"):
        apply_recipe("strong", "vanila")


@pytest.mark.parametrize("preset", STRUCTURES)
def test_presets_report_unsupported_settings_of_a_recipe(preset):
    found = apply_recipe("strong", preset)
    compose(preset, found.settings)
    assert found.settings.keys() | found.left_out.keys() == STRONG.keys()
    assert not found.settings.keys() & found.left_out.keys()
    model = PRESETS[preset].model
    if not model.by_steps:
        assert not found.settings
    elif preset.startswith("tweet"):
        assert list(found.left_out) == ["model.ngram_buckets"] and "byte pairs" in found.left_out["model.ngram_buckets"]
    elif preset == "pretrained":
        assert list(found.left_out) == ["model.ngram_buckets", "training.vectors"]
    else:
        assert list(found.left_out) == ([] if model.family == "encoder" else ["model.ngram_buckets"])
