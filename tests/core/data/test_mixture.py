import json
import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import check_raises

from core.data import mixture
from core.data.config import DataConfig
from core.data.dataset import Dataset
from core.data.load import load_dataset
from core.data.mixture import (
    CORPUS,
    add_texts,
    drop_learned,
    exclude_texts,
    find_learned,
    hash_texts,
    mix_splits,
    read_lineage,
    write_lineage,
)
from core.data.mixture import COUNTER_EXAMPLES as NAME
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
    return lambda config: sets[config.name]


def test_mixture_parts_are_split_as_alone_without_training_texts_in_other_splits(one, sets):
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
    check_raises(DataError, "'many' has several labels per text", mix_splits, ["sst2", "many"], DataConfig(), one)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"name": "imdb+yelb_polarity_sentences"}, "'yelb_polarity_sentences' .did you mean 'yelp_polarity_sentences'"),
        ({"name": "imdb", "apart": "imbd"}, "data.apart: 'imbd' is no registered data set"),
        ({"add": "imbd"}, "data.add: 'imbd' is no registered data set"),
    ],
)
def test_wrong_names_are_reported(config, said):
    check_raises((ConfigError, DataError), said, load_dataset, DataConfig(**config))


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


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(st.text(max_size=20), max_size=50))
def test_lineage_files_contain_the_digests_of_their_texts(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("lineage")
    path = write_lineage(folder, texts)
    assert read_lineage(path).tolist() == sorted(set(hash_texts(texts).tolist()))
    assert write_lineage(folder, [*texts[::-1], *texts]) == path, "one file for one set of texts"
    assert find_learned(texts, [path]).all()


@pytest.mark.parametrize("content", [b"", b"nonsense", zlib.compress(b"12345678"), zlib.compress(b"123")])
def test_lineage_files_that_do_not_match_their_name_are_refused(tmp_path, content):
    path = write_lineage(tmp_path / "l", ["a text"])
    path.write_bytes(content)
    check_raises(DataError, "does not hold the digests of texts that its name says", read_lineage, path)


def test_digests_ignore_case_and_blanks_and_are_small_and_limited(tmp_path, monkeypatch):
    first, *others = hash_texts(["A good film!", "a GOOD  film !", "a good film", "9 of 10", "1 of 10", ":)", ":("])
    assert [other == first for other in others] == [True] + 5 * [False] and len(set(others)) == 6
    texts = [f"text {chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(10_000)]
    path = write_lineage(tmp_path / "l", texts)
    assert len(read_lineage(path)) == 10_000 and path.stat().st_size < 40_000
    monkeypatch.setattr(mixture, "_MOST_TEXTS", 100)
    path = write_lineage(tmp_path / "l", ["a text"])
    path.write_bytes(zlib.compress(bytes(1_000_000)))
    check_raises(DataError, "does not hold", read_lineage, path)


def split(count, learned=0):
    texts = [f"learned {'x' * n}" for n in range(learned)] + [f"new {'y' * n}" for n in range(count - learned)]
    return pd.DataFrame({"text": texts, "label": np.arange(count) % 2})


@pytest.mark.parametrize(("rows", "learned"), [(120, 86), (40, 10), (10, 5), (1, 0)])
def test_learned_texts_are_removed_from_all_splits_but_train(tmp_path, rows, learned):
    file = str(write_lineage(tmp_path / "l", split(90, 90)["text"].tolist()))
    given = {"train": split(50, 50), "validation": split(rows, learned), "test": split(30), "extra": split(8, 1)}
    splits, beside, notes = drop_learned(given, split(9, 4), [file])
    sizes = {name: len(each) for name, each in splits.items()}
    assert sizes == {"train": 50, "validation": rows - learned, "test": 30, "extra": 7} and len(beside) == 5
    assert len(notes) == 1 + bool(learned) and notes[-1].startswith("lineage: 1 row of extra left out")
    assert list(splits["validation"].index) == list(range(rows - learned))


@pytest.mark.parametrize(("rows", "learned"), [(120, 91), (10, 6), (1, 1)])
def test_splits_with_too_few_new_texts_are_refused(tmp_path, rows, learned):
    file = str(write_lineage(tmp_path / "l", split(100, 100)["text"].tolist()))
    told = rf"learned from {learned} of {rows} rows? of the test split, and {rows - learned} are"
    check_raises(DataError, told, drop_learned, {"train": split(5), "test": split(rows, learned)}, None, [file])


@pytest.fixture
def table(tmp_path):
    rows = [(f"sentence number {n} is {'good' * (n % 2) or 'bad'}", ("minus", "plus")[n % 2]) for n in range(60)]
    pd.DataFrame(rows, columns=["text", "label"]).to_csv(tmp_path / "own.csv", index=False)
    return str(tmp_path / "own.csv")


@pytest.fixture
def keep(tmp_path):
    def keep(*pairs):
        file = tmp_path / "abc123.json"
        file.write_text(json.dumps([{"text": text, "label": label} for text, label in pairs]))
        return str(file)

    return keep


def test_counterexamples_follow_the_training_rows_unless_in_other_splits_or_classes(table, keep):
    config = DataConfig(name=table, examples=keep(("not bad at all", "plus"), ("hardly good", "minus")))
    plain, found = load_dataset(DataConfig(name=table)), load_dataset(config)
    train = found.splits["train"]
    assert train["text"].tolist() == [*plain.splits["train"]["text"], "not bad at all", "hardly good"]
    assert train["label"].tolist()[-2:] == [found.classes.index("plus"), found.classes.index("minus")]
    assert (train["corpus"] == NAME).sum() == 2 and train["label"].dtype == "int64"
    for split in ("validation", "test"):
        pd.testing.assert_frame_equal(found.splits[split], plain.splits[split])
    assert found.fingerprint != plain.fingerprint and f"{NAME}: 2 rows joined train" in found.notes
    plain = load_dataset(DataConfig(name=table))
    judged = plain.splits["test"]["text"][0], plain.splits["validation"]["text"][0].upper()
    kept = keep(*((text, "plus") for text in judged), ("fine", "so so"), ("new", "plus"))
    found = load_dataset(DataConfig(name=table, examples=kept))
    assert found.splits["train"]["text"].tolist() == [*plain.splits["train"]["text"], "new"]
    assert f"{NAME}: 1 row of other classes left out" in found.notes
    assert f"{NAME}: 2 rows left out, read alike in the other splits" in found.notes


def test_counterexample_labels_are_renamed_and_not_read_for_evaluation(table, keep, tmp_path):
    given = keep(("new", "plus"), ("newer", "good"))
    found = load_dataset(DataConfig(name=table, rename="plus=good", limit=10, examples=given))
    assert len(found.splits["train"]) == 12 and found.splits["train"]["text"].tolist()[-2:] == ["new", "newer"]
    config = DataConfig(name=table, examples=str(tmp_path / "gone.json"))
    assert "corpus" not in load_dataset(config, to_train=False).splits["train"]
    check_raises(DataError, r"gone\.json: no such file", load_dataset, config)


@pytest.mark.parametrize("content", ["{}", "[1]", '[{"text": 1, "label": "plus"}]', "no json", '[{"text": "a"}]'])
def test_snapshots_with_other_content_are_refused(table, tmp_path, content):
    file = tmp_path / "other.json"
    file.write_text(content)
    with pytest.raises(DataError, match=r"other\.json: no kept counter-examples"):
        load_dataset(DataConfig(name=table, examples=str(file)))


def test_counterexamples_of_multilabel_data_have_sets_of_labels(tmp_path, keep):
    rows = pd.DataFrame({"text": [f"text {n}" for n in range(40)], "label": ["a;b", "a", "b", ""] * 10})
    rows.to_csv(tmp_path / "several.csv", index=False)
    kept = keep(("new", "b;a"), ("newer", "a"), ("nothing of it", ""), ("other", "a;c"))
    plain = load_dataset(DataConfig(name=str(tmp_path / "several.csv")))
    found = load_dataset(DataConfig(name=str(tmp_path / "several.csv"), examples=kept))
    train = found.splits["train"]
    assert found.task == "multi" and train["text"].tolist()[-3:] == ["new", "newer", "nothing of it"]
    assert train["label"].tolist()[-3:] == [(0, 1), (0,), ()]
    assert f"{NAME}: 1 row of other classes left out" in found.notes and f"{NAME}: 3 rows joined train" in found.notes
    for split in ("validation", "test"):
        pd.testing.assert_frame_equal(found.splits[split], plain.splits[split])
