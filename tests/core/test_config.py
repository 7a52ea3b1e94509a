import json

import pytest

from core.config import SETTINGS, compose, find_missing_inputs, flatten_config, from_dict, parse_settings, to_dict
from core.exceptions import ConfigError
from core.paper_settings import FINE_TUNINGS, PRESET
from core.recipes import apply_recipe
from core.runs.configuration import configure


def test_typed_settings_survive_json_and_only_new_runs_merge_look_alikes():
    typed = {"training.epochs": "3", "training.lr": "1e-3", "model.attention.row_norm": "yes", "data.name": "a b.csv"}
    config = compose("ndt-01-n3", typed)
    assert (config.training.epochs, config.training.lr, config.data.name) == (3, 1e-3, "a b.csv")
    assert config.model.attention.row_norm is True and config.model.attention.components == 3
    config = compose("differential", {"model.attention.lambda_per_head": True})
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
    assert parse_settings(["data.name=a=b.csv", " training.lr = 1 "]) == {"data.name": "a=b.csv", "training.lr": "1"}
    tree = to_dict(compose("vanilla"))
    assert tree["text"].pop("lookalikes") == 1 and from_dict(tree).text.lookalikes == 0


@pytest.mark.slow
def test_missing_settings_get_their_default_and_backbones_keep_look_alikes():
    for name in [name for name in SETTINGS if name != "text.lookalikes"]:
        tree = to_dict(compose("vanilla"))
        *groups, last = name.split(".")
        node = tree
        for group in groups:
            node = node[group]
        del node[last]
        assert from_dict(tree) == compose("vanilla"), name
    for name in FINE_TUNINGS:
        assert compose(PRESET, apply_recipe(name, PRESET).settings).text.lookalikes == 0, name
    tree = to_dict(compose("ndt-pm1-n2"))
    for name in SETTINGS:
        value = tree
        for part in name.split("."):
            value = value[part]
        assert to_dict(compose("ndt-pm1-n2", {name: value})) == tree


@pytest.mark.parametrize(
    ("preset", "settings", "version"),
    [
        ("tweet-v1-p1", {}, 1),
        ("tweet-v1-p1", {"text.normaliser": "tweet-clean-as-released"}, 0),
        ("tweet-v1-p1", {"model.pad_mode": "as_released"}, 0),
        ("tweet-v1-p1", {"model.pad_mode": "as_released", "text.lookalikes": 1}, 1),
        ("pretrained", {"model.backbone": "someone/something"}, 0),
        ("vanilla", {"text.lookalikes": "0"}, 0),
        ("tfidf-logreg", {}, 1),
    ],
)
def test_look_alikes_are_kept_for_models_as_released(preset, settings, version):
    assert compose(preset, settings).text.lookalikes == version


REFUSED = {
    "training.lrr=1": "did you mean 'training.lr'",
    "training=1": "unknown setting 'training'",
    "training.epochs=1.5": "a whole number",
    "training.epochs=0": "1 to 1000000",
    "training.lr=nan": "a number",
    "training.seed=9223372036854775808": "training.seed=9223372036854775808: 0 to",
    f"training.seed={'1' * 400}": "a number",
    f"training.seed={'1' * 5000}": "a number",
    f"training.lr={'1' * 400}": "a number",
    "training.lr=1e999": "a number",
    "training.epochs=yes": "a whole number",
    f"text.max_vocab={'1' * 30}": "a number that 64 bits hold",
    "training.threads=100000": "0 to 1024",
    "training.device=gpu": "auto, cpu, cuda",
    "training.device=cuda:x": "auto, cpu, cuda",
    "training.device=cuda:٣": "auto, cpu, cuda",
    "model.dropout=0.999999": "0 to 0.99",
    "model.dropout=0.9999999999999999": "0 to 0.99",
    "model.dropout=1": "0 to 0.99",
    "data.header=maybe": "data.header='maybe': one of yes, no",
    "training.schedule=step": "one of cosine, linear, constant",
    "model.ff_width=9999999999": "1 to 65536",
    "model.width=8196": "2 to 8192",
    "model.layers=129": "1 to 128",
    "model.attention.row_norm=maybe": "true or false",
    "data.seed=-1": "0 to ",
    "data.folds=1": "2 or more, or 0 for none",
    "data.fold=1": "0 without data.folds",
}


@pytest.mark.parametrize(("pair", "words"), REFUSED.items(), ids=REFUSED)
def test_wrong_settings_are_refused_in_words(pair, words):
    with pytest.raises(ConfigError, match=words) as refusal:
        compose("vanilla", parse_settings([pair]))
    assert pair.partition("=")[0] in str(refusal.value) and len(str(refusal.value)) < 300


@pytest.mark.parametrize("device", ["auto", "cpu", "mps", "cuda", "cuda:1"])
def test_device_names_are_checked_by_their_form(device):
    assert compose("vanilla", {"training.device": device}).training.device == device


GATES = {"model.attention.gate": True, "model.attention.lexicon_gate": True}
ACROSS = {
    "sentiformer": ({"text.tagger": "none"}, "model.position=polarity-aware", "choose text.tagger=auto"),
    "lexical-last": ({"text.lexicon": ""}, "model.attention.lexical=add", "choose text.lexicon=vader"),
    "lexicon": ({"text.lexicon": ""}, "model.family=lexicon", "choose text.lexicon=vader"),
    "vanilla": (GATES, "model.attention.lexicon_gate=true", "choose text.lexicon=vader"),
    "inceptive-mean": ({"training.diversity": 0.1}, "training.diversity=0.1", "model.attention.components=2"),
    "lexical-none": ({"training.lambda_lr": 10}, "training.lambda_lr=10", "choose training.lambda_lr=1"),
    "cnn": ({"training.lambda_lr": 10}, "training.lambda_lr=10", "model.attention.components=2"),
    "bilstm": ({"training.diversity": 0.1}, "training.diversity=0.1", "choose training.diversity=0"),
    "inceptive-64": ({"training.portions": 4}, "training.portions=4", "choose training.portions=1"),
}


@pytest.mark.parametrize("name", ACROSS)
def test_contradicting_settings_are_refused_with_a_valid_choice(name):
    settings, setting, way_out = ACROSS[name]
    with pytest.raises(ConfigError) as refusal:
        compose(name, settings)
    assert str(refusal.value).startswith(setting) and way_out in str(refusal.value)
    assert compose("differential", {"training.diversity": 0.1}).training.diversity == 0.1


def test_portions_are_refused_for_new_runs_with_batch_normalization():
    assert (
        compose("cnn", {"training.portions": 4}).training.portions == 4
    )  # its convolutions have no batch normalisation
    recorded = to_dict(compose("inceptive-64"))
    recorded["training"]["portions"] = 4
    assert from_dict(recorded).training.portions == 4


def test_several_lexicons_are_counted_and_flattened_settings_complete():
    two = {"text.lexicon": "vader,my.csv", "model.attention.lexical": "add"}
    with pytest.raises(ConfigError, match=r"model\.attention\.lexicons=1: text\.lexicon names 2; choose 2"):
        compose("vanilla", {**two, "model.attention.lexicons": 1})
    whole = compose("vanilla", {**two, "model.attention.lexical_heads": "apart"})
    assert find_missing_inputs("vanilla", {**two, "model.attention.lexical_heads": "apart"}) == {}
    assert whole.text.lexicons == ("vader", "my.csv") and whole.model.attention.lexicons == 2
    assert compose("lexicon", {"text.lexicon": "vader,my.csv"}).text.lexicons == ("vader", "my.csv")
    with pytest.raises(ConfigError, match="lexical_heads=apart: for 2 to 4 lexicons"):
        compose("lexical-all", {"model.attention.lexical_heads": "apart"})
    config = compose("ndt-01-n3", {"model.attention.lexical": "add", "text.lexicon": "vader"})
    assert config.model.needs_lexicon and config.text.lexicon == "vader"
    config = compose("vanilla", {"model.position": "polarity-aware", "model.pos_tags": "no"})
    assert not config.model.needs_tags and config.text.tagger == "none"
    values = flatten_config(compose("sentiformer"))
    assert list(values) == list(SETTINGS) and (values["model.attention.window"], values["text.tagger"]) == (64, "auto")


@pytest.mark.parametrize(
    ("model", "data", "settings", "setting", "value"),
    [
        ("vanilla", "sentiment140", {}, "text.normaliser", "tweet"),
        ("tweet-v2-p1", "sentiment140", {}, "text.normaliser", "tweet-clean"),
        ("tweet-v2-p1", "sentiment140", {"text.normaliser": "none"}, "text.normaliser", "none"),
        ("vanilla", "imdb", {}, "text.max_length", 256),
        ("sentiformer", "imdb", {}, "text.max_length", 512),
        ("sentiformer", "imdb", {"text.max_length": "64"}, "text.max_length", 64),
        ("lexicon", "sst2", {}, "text.min_freq", 1),
        ("vanilla", "nsmc", {}, "text.tokenizer", "bpe"),
        # Reported results are for the paper's own models.
        ("ndt-01-n3", "sst2", {}, "text.min_freq", 5),
        ("cnn", "sst2", {}, "text.min_freq", 2),
        ("sentiformer", "twitter_financial", {}, "text.min_freq", 2),
        ("cnn", "twitter_financial", {}, "text.normaliser", "tweet"),
        ("vanilla", "twitter_financial", {}, "text.normaliser", "tweet"),
        # Baselines read every data set in the same way.
        ("tfidf-logreg", "sst2", {}, "text.min_freq", 2),
        ("tfidf-logreg", "sst2", {"text.min_freq": "5"}, "text.min_freq", 5),
        ("tfidf-nb", "sentiment140", {}, "text.normaliser", "lower"),
        ("lexicon", "sentiment140", {}, "text.normaliser", "lower"),
    ],
)
def test_user_settings_override_presets_which_override_data_settings(model, data, settings, setting, value):
    assert flatten_config(configure(data, model, settings))[setting] == value


@pytest.mark.parametrize(
    ("preset", "settings", "expected"),
    [
        ("vanilla", {}, {}),
        ("vanilla", {"model.position": "polarity-aware"}, {"text.tagger": "auto"}),
        ("vanilla", {"model.position": "polarity-aware", "model.pos_tags": "false"}, {}),
        ("ndt-01-n3", {"model.attention.lexical": "add"}, {"text.lexicon": "vader"}),
        ("ndt-01-n3", {"model.attention.lexical": "add", "text.lexicon": "my.tsv"}, {}),
        ("sentiformer", {}, {}),
        ("sentiformer", {"text.tagger": "none"}, {}),
    ],
)
def test_inputs_of_model_parts_are_added_unless_set(preset, settings, expected):
    assert find_missing_inputs(preset, settings) == expected


def test_impossible_inputs_and_penalties_of_long_texts_with_a_window_are_refused():
    with pytest.raises(ConfigError, match="choose gate=true"):
        find_missing_inputs("vanilla", {"model.attention.lexicon_gate": "yes"})
    settings = {"training.diversity": 0.1, "model.attention.window": 64}
    settings |= {"model.attention.mixing": "additive", "model.attention.components": 2}
    assert compose("vanilla", {**settings, "text.max_length": 1024}).training.diversity == 0.1
    with pytest.raises(ConfigError, match=r"choose text\.max_length=1024"):
        compose("vanilla", {**settings, "text.max_length": 1025})
