"""Mixtures of named data sets, and removal of training texts."""

import json

import pandas as pd
import pytest

from core.data.config import DataConfig
from core.data.dataset import Dataset
from core.data.load import load_dataset
from core.data.mixture import CORPUS, add_texts, exclude_texts, mix_splits
from core.data.sources import is_registered, split_mixture, suggest_settings
from core.exceptions import ConfigError, DataError

SIZES = {"train": 40, "validation": 6, "test": 8}
CLASSES = {"imdb": ("negative", "positive"), "sst2": ("negative", "positive"), "tweets": ("bad", "so so", "good")}


def write_set(stem, count, classes):
    """Texts that differ after every normalisation; the coarsest one removes numbers."""
    names = ["".join("abcdefghij"[int(digit)] for digit in str(number)) for number in range(count)]
    labels = [number % classes for number in range(count)]
    return pd.DataFrame({"text": [f"{stem} {name}" for name in names], "label": labels, stem: 1})


@pytest.fixture
def sets():
    def build_one(name, classes):
        parts = {split: write_set(f"{name} {split}", count, len(classes)) for split, count in SIZES.items()}
        splits = {split: rows.rename(columns={f"{name} {split}": name}) for split, rows in parts.items()}
        return Dataset(name, splits, classes, "", task="multi" if name == "many" else "single", notes=(f"of {name}",))

    return {name: build_one(name, classes) for name, classes in {**CLASSES, "many": ("x", "y")}.items()}


@pytest.fixture
def one(sets):
    """Return a function that loads one data set."""
    return lambda config: sets[config.name]


def test_mixture_parts_are_split_as_alone_and_named(one, sets):
    found = mix_splits(["sst2", "tweets"], DataConfig(), one)
    assert found.classes == ("negative", "positive", "bad", "so so", "good")
    assert {split: len(rows) for split, rows in found.splits.items()} == {"train": 80, "validation": 12, "test": 16}
    train = found.splits["train"]
    assert list(train) == ["text", "label", CORPUS], "and no column that only one of them has"
    assert train[CORPUS].tolist() == ["sst2"] * 40 + ["tweets"] * 40
    assert train["label"][:2].tolist() == ["negative", "positive"] and train["label"][42] == "good"
    assert found.notes == ("sst2: of sst2", "tweets: of tweets")
    asked = []
    wanted = DataConfig(name="sst2+imdb", rename="good=positive", order="a,b", limit=9, apart="sst5", seed=3)
    mix_splits(["sst2", "imdb"], wanted, lambda config: asked.append(config) or sets[config.name])
    assert asked == [DataConfig(name="sst2", seed=3), DataConfig(name="imdb", seed=3)]


def test_no_training_text_of_a_mixture_is_in_another_split(one, sets):
    sets["sst2"].splits["train"].loc[:1, "text"] = ["IMDB test, b!!", "@you  sst2 validation A http://x.y"]
    found = mix_splits(["sst2", "imdb"], DataConfig(), one)
    assert len(found.splits["train"]) == 78 and found.splits["train"]["text"][0] == "sst2 train c"
    assert found.notes[-1] == "train: 2 rows left out, read alike in the other splits"
    assert len(found.splits["test"]) == 16


def test_texts_of_sets_in_apart_are_removed_from_train(one, sets):
    splits = sets["sst2"].splits
    splits["train"].loc[:1, "text"] = ["tweets test a", "tweets train a"]
    kept, notes = exclude_texts(splits, ["tweets"], one)
    assert kept["train"]["text"].tolist()[:2] == ["tweets train a", "sst2 train c"] and len(kept["train"]) == 39
    assert notes == ["train: 1 row left out, read alike in 'tweets' beyond train"]
    assert kept["test"] is splits["test"]
    splits = {**sets["sst2"].splits, "train": sets["tweets"].splits["test"]}
    with pytest.raises(ConfigError, match="apart=tweets: it contains every training text"):
        exclude_texts(splits, ["imdb", "tweets"], one)


def test_added_sets_are_added_to_train_only(sets):
    given, added = sets["sst2"], {"tweets": sets["tweets"], "imdb": sets["imdb"]}
    added["imdb"].splits["train"].loc[0, "text"] = "SST2 test b"
    config = DataConfig(name="sst2", rename="bad=negative,good=positive")
    splits, beside, notes = add_texts(given.splits, given.classes, added, config)
    train = splits["train"]
    assert list(train) == ["text", "label", CORPUS]
    assert train[CORPUS].value_counts(sort=False).to_dict() == {"sst2": 40, "tweets": 27, "imdb": 39}
    tweets = train[train[CORPUS] == "tweets"]
    assert tweets["text"].tolist()[:3] == ["tweets train a", "tweets train c", "tweets train d"]
    assert tweets["label"].tolist()[:3] == [0, 1, 0], "bad, good, bad"
    assert splits["test"] is given.splits["test"] and splits["validation"] is given.splits["validation"]
    assert list(beside) == ["text", "label"] and len(beside) == 4 + 6
    assert sorted(beside["text"])[:2] == ["imdb validation a", "imdb validation b"]
    assert dict(beside.to_numpy())["tweets validation c"] == 1, "good"
    assert notes == [
        "tweets: train: 13 rows of other classes left out",
        "imdb: train: 1 row left out, read alike in the other splits",
    ]


@pytest.mark.parametrize(("whole", "more"), [("sst2", "many"), ("many", "sst2")])
def test_multilabel_data_cannot_be_mixed_or_extended(sets, one, whole, more):
    splits = sets[whole].splits
    if whole == "many":
        splits = {split: rows.assign(label=[(1,)] * len(rows)) for split, rows in splits.items()}
    with pytest.raises(DataError, match="'many' has several labels per text"):
        add_texts(splits, sets[whole].classes, {more: sets[more]}, DataConfig(name=whole))
    with pytest.raises(DataError, match="'many' has several labels per text"):
        mix_splits(["sst2", "many"], DataConfig(), one)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"name": "imdb+yelb_polarity_sentences"}, "'yelb_polarity_sentences' .did you mean 'yelp_polarity_sentences'"),
        ({"name": "imdb", "apart": "imbd"}, "data.apart: 'imbd' is no registered data set"),
        ({"add": "imbd"}, "data.add: 'imbd' is no registered data set"),
    ],
)
def test_wrong_names_are_reported(config, said):
    with pytest.raises((ConfigError, DataError), match=said):
        load_dataset(DataConfig(**config))


def test_mixtures_get_the_settings_on_which_their_parts_agree():
    assert split_mixture("sst2 + imdb") == ("sst2", "imdb") and is_registered("sst2+imdb")
    assert split_mixture("sst2") == () == split_mixture("sst2+mine.csv") and not is_registered("mine+yours.csv")
    assert suggest_settings("tweet_sentiment+sst5") == {"text.max_length": 64, "text.normaliser": "tweet"}
    assert "text.max_length" not in suggest_settings("sst5+imdb")


@pytest.fixture
def named_sets(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    named = {"imdb": ["negative", "positive"], "tweet_sentiment": ["negative", "neutral", "positive"]}
    for name, classes in named.items():
        (tmp_path / name).mkdir()
        names = {"type": "single", "classes": dict(enumerate(classes))}
        (tmp_path / name / "labels.json").write_text(json.dumps(names))
        for split, count in SIZES.items():
            write_set(f"{name} {split}", count, len(classes)).to_parquet(tmp_path / name / f"{split}.parquet")


@pytest.mark.slow
def test_a_mixture_is_loaded_renamed_and_limited(named_sets):
    found = load_dataset(DataConfig(name="imdb+tweet_sentiment", rename="neutral=", limit=20))
    assert found.name == "imdb+tweet_sentiment" and found.language == "en" and found.classes == ("negative", "positive")
    assert {split: len(rows) for split, rows in found.splits.items()} == {"train": 20, "validation": 10, "test": 13}
    assert found.licence.startswith("imdb: none stated; tweet_sentiment: ")


@pytest.mark.slow
def test_added_sets_change_only_train_and_are_not_needed_for_evaluation(named_sets, monkeypatch):
    alone = load_dataset(DataConfig(name="imdb"))
    found = load_dataset(DataConfig(name="imdb", add="tweet_sentiment", rename="neutral="))
    assert found.name == "imdb" and found.classes == alone.classes and found.language == "en"
    assert len(found.splits["train"]) == len(alone.splits["train"]) + 27
    assert found.fingerprint != alone.fingerprint and "tweet_sentiment: " in found.licence
    fewer = load_dataset(DataConfig(name="imdb", add="tweet_sentiment", add_limit=12))
    assert fewer.splits["train"][CORPUS].value_counts().to_dict() == {"imdb": 40, "tweet_sentiment": 8}
    unread = load_dataset(
        DataConfig(name="imdb", add="sst5", apart="yelp-5", rename="very negative=negative"), to_train=False
    )
    for split in ("validation", "test"):
        pd.testing.assert_frame_equal(found.splits[split], alone.splits[split])
        pd.testing.assert_frame_equal(unread.splits[split], alone.splits[split])
