import pytest

from core import preset_catalog
from core.config import compose, flatten_config
from core.exceptions import InputError
from core.models.presets import PAPERS, PRESETS
from core.preset_catalog import describe_setting, find_nearest, list_differences
from core.recipes import RECIPES


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("ndt", "ndt"),
        ("7ess-Xin", "7ess-xin"),
        ("Sentiment Lexical Attention", "lexical"),
        ("inceptive transformers", "inceptive"),
        ("SENTIFORMER", "sentiformer"),
        ("baseline", "baseline"),
        ("Baselines", "baseline"),
    ],
)
def test_papers_are_found_by_key_and_short_title(said, key):
    assert preset_catalog.find_paper(said) == key
    assert {each["paper"] for each in preset_catalog.list_presets(said)} == {key}


@pytest.mark.parametrize(("vocabulary", "classes"), [(0, 2), (10**9, 2), (100, 1), (100, 10**6)])
def test_sizes_that_no_model_has_are_refused(vocabulary, classes):
    for call in (preset_catalog.list_presets, lambda **sizes: preset_catalog.describe_preset("vanilla", **sizes)):
        with pytest.raises(InputError, match=r"--vocabulary|--classes"):
            call(vocabulary=vocabulary, classes=classes)


def test_papers_list_every_preset_once():
    assert sorted([each["name"] for paper in PAPERS for each in preset_catalog.list_presets(paper)]) == sorted(PRESETS)
    assert [each["name"] for each in preset_catalog.list_presets()] == list(PRESETS)
    with pytest.raises(InputError, match="did you mean 'sentiformer'") as refusal:
        preset_catalog.list_presets("sentifomer")
    assert all(key in str(refusal.value) for key in PAPERS)


def test_parameters_of_parts_add_up_and_the_nearest_preset_is_named():
    found = preset_catalog.describe_preset("sentiformer-no-gate", vocabulary=1_000, classes=5)
    assert sum(part["parameters"] * part["times"] for part in found["diagram"]) == found["parameters"]
    assert found["nearest"] == "sentiformer"
    assert [each["setting"] for each in found["differences"]] == ["model.attention.gate"]
    assert found["differences"][0]["here"] == "no" and found["differences"][0]["sentiformer"] == "yes"
    assert found["settings"]["training.warmup"] == 0.1 and found["title"] == "SentiFormer"


@pytest.mark.slow
def test_every_model_setting_is_used():
    """A preset or recipe changes it, a deviation from a paper names it, or it is one of those for experiments."""
    usual = flatten_config(compose("vanilla"))
    used = {
        name
        for preset in PRESETS
        for name, value in preset_catalog.list_preset_settings()[preset].items()
        if value != usual[name]
    }
    used |= {each.setting for preset in PRESETS.values() for each in preset.departures}
    used |= {name for recipe in RECIPES.values() for name in recipe.settings}
    # Settings for pretrained encoders and opened classifiers, for lexicons other than VADER, and for experiments.
    named = {"model.backbone", "model.head.activation", "model.attention.lexicons"}
    named |= {
        f"model.attention.{name}"
        for name in ("row_norm", "learn_strength", "lexical_component", "lexical_strength", "lambda_input")
    }
    named |= {f"model.attention.{name}" for name in ("lambda_per_head", "lexicon_gate", "random_globals")}
    assert {name for name in usual if name.startswith("model.")} <= used | named


@pytest.fixture(scope="module")
def settings():
    return {name: flatten_config(compose(name)) for name in PRESETS}


@pytest.mark.slow
def test_every_model_setting_has_its_own_label(settings):
    said = [describe_setting(name) for name in settings["vanilla"] if name.startswith("model.")]
    assert len(set(said)) == len(said) and not any("_" in each for each in said)
    assert describe_setting("model.attention.lexical") == "sigma of the lexicon"
    assert describe_setting("training.batch_size") == "batch size"


def test_differences_name_setting_and_both_values_with_model_settings_first(settings):
    (found,) = list_differences(settings["sentiformer-no-gate"], settings["sentiformer"])
    assert found == ("model.attention.gate", "gate on the keys", "no", "yes")
    (found,) = list_differences(settings["ndt-01-n2"], settings["ndt-pm1-n2"])
    assert found[1:] == ("range of lambda", "[0,1]", "[−1,1]"), "a range is written as one"
    found = [each.setting for each in list_differences(settings["vanilla"], settings["inceptive-64"])]
    rooms = [name.startswith("model.") for name in found]
    assert rooms == sorted(rooms, reverse=True) and not all(rooms)


@pytest.mark.slow
def test_the_nearest_preset_has_the_fewest_different_model_settings(settings):
    def changed(name, other):
        found = list_differences(settings[name], settings[other])
        return sum(each.setting.startswith("model.") for each in found), len(found)

    assert find_nearest("tweet-v4-p2", settings) == "tweet-v1-p2" and find_nearest("ndt-01-n3", settings) == "ndt-01-n2"
    for name in PRESETS:
        relative = find_nearest(name, settings)
        assert relative != name
        assert changed(name, relative) == min(changed(name, other) for other in PRESETS if other != name), name
