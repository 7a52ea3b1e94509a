import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refused import check_raises

from core import api
from core.cache import get_cache_folder
from core.config import compose
from core.data.config import DataConfig
from core.data.mixture import read_lineage
from core.exceptions import DataError, InputError, NotAvailable, RunDamaged, RunNotFound
from core.runs import archive, lineage
from core.runs.lineage import describe_removed, find_files, load_trained_data
from core.runs.pipeline import Experiment
from core.runs.predictions import Answers, align_answers
from core.runs.record import IMPORTED
from core.runs.store import RunStore
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer


def make_sentences(first, last):
    return [f"text {'x' * (n % 7)} of {'abcdefghij'[n // 10 % 10]}{'klmnopqrst'[n % 10]}" for n in range(first, last)]


@pytest.fixture
def write(tmp_path):

    def write(first, last):
        path = tmp_path / f"from-{first}-to-{last}.csv"
        texts = make_sentences(first, last)
        pd.DataFrame({"text": texts, "label": ["no", "yes"] * (len(texts) // 2)}).to_csv(path, index=False)
        return str(path)

    return write


def begin(store, name, data, model="vanilla", **settings):
    store.create(compose(model, {"data.name": data, **settings}), model, name)
    Experiment(store, name, lambda: False, lambda event: None)._load_data()
    return store.update(name, status="done")


def list_learned(store, record):
    return {digest for path in find_files(store.get_path(record.run), record) for digest in read_lineage(path).tolist()}


def test_training_texts_of_the_start_run_are_removed_from_evaluation(store, write):
    first = begin(store, "first", write(0, 60))
    second = begin(store, "second", write(40, 100), **{"training.start": "first", "data.split": "0.4/0.3/0.3"})
    before = set(load_trained_data(first).splits["train"]["text"])
    splits = load_trained_data(second).splits  # read again with the same fingerprint
    judged = {text for name in ("validation", "test") for text in splits[name]["text"]}
    assert not before & judged and before & set(make_sentences(40, 60))
    notes = [note for note in second.data_notes if note.startswith("lineage: ")]
    counts = [int(note.split()[1]) for note in notes]
    assert len(notes) == 2 and [18 - n for n in counts] == [len(splits["validation"]), len(splits["test"])]
    known = list_learned(store, first)
    assert list_learned(store, second) > known
    store.update("first", lineage=())
    third = begin(store, "third", write(60, 120), **{"training.start": "first"})
    assert list_learned(store, third) > known and third.lineage_unknown == (), "of an older run it is computed"
    store.remove("first")
    Experiment(store, "second", lambda: False, lambda event: None)._load_data()
    assert store.read("second") == second, "a training that goes on keeps its rows without its start"


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["training.start", "training.teacher"])
def test_removed_rows_are_known_before_the_training(store, write, setting):
    begin(store, "first", write(0, 60))
    settings = {setting: "first", "data.split": "0.4/0.3/0.3"}
    config = compose("vanilla", {"data.name": write(40, 100), **settings})
    begun = begin(store, "second", write(40, 100), **settings)
    told = tuple(note for note in begun.data_notes if note.startswith("lineage: "))
    assert describe_removed(store, config) == told and len(told) == 2
    checked = api.data_check(write(40, 100), settings, store=store)
    assert told == tuple(note for note in checked["notes"] if note.startswith("lineage: "))
    assert checked["splits"] == {name: len(rows) for name, rows in load_trained_data(begun).splits.items()}
    begin(store, "third", write(0, 60), **{"data.seed": 1})
    refused = api.data_check(write(0, 60), start="third", store=store)
    assert not refused["ok"] and "are too few for evaluation" in refused["problem"]
    check_raises(RunNotFound, None, api.data_check, write(0, 60), start="none", store=store)


@pytest.mark.slow
def test_teachers_and_their_start_runs_count(store, write):
    begin(store, "first", write(0, 60))
    begin(store, "second", write(90, 150), **{"training.start": "first"})
    third = begin(store, "third", write(50, 110), **{"training.teacher": "second", "data.split": "0.4/0.3/0.3"})
    judged = {text for name in ("validation", "test") for text in load_trained_data(third).splits[name]["text"]}
    for name in ("first", "second"):
        assert not judged & set(load_trained_data(store.read(name)).splits["train"]["text"])
    assert len(third.lineage) == 3 and third.lineage_unknown == ()


def test_equal_splits_lose_no_row_and_share_a_file(store, write):
    first = begin(store, "first", write(0, 60))
    again = begin(store, "again", write(0, 60), **{"training.start": "first"})
    assert again.data_fingerprint == first.data_fingerprint and again.lineage == first.lineage
    assert not any(note.startswith("lineage") for note in again.data_notes)
    one, other = (find_files(store.get_path(each.run), each)[0] for each in (first, again))
    assert one != other and one.stat().st_ino == other.stat().st_ino
    with pytest.raises(DataError, match="too few for evaluation: 30 or half must be left"):
        begin(store, "other", write(0, 60), **{"training.start": "first", "data.seed": 1})


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["data", "run", "lineage", "run whose name another one has now"])
def test_unknown_lineage_is_reported_and_inherited(store, write, tmp_path, gone):
    begin(store, "old", write(0, 60))
    first = begin(store, "first", write(60, 80), **{"training.start": "old"})
    if gone == "lineage":
        for path in find_files(store.get_path("first"), first):
            path.unlink()
    else:
        store.update("first", lineage=())
        store.update("old", lineage=())
        if gone == "data":
            (tmp_path / "from-0-to-60.csv").unlink()
        else:
            store.remove("old")
            if gone != "run":
                begin(store, "old", write(80, 100))
    unknown = ("first",) if gone == "lineage" else ("old",)
    second = begin(store, "second", write(100, 160), **{"training.teacher": "first"})
    third = begin(store, "third", write(100, 160), **{"training.start": "second"})
    assert second.lineage_unknown == third.lineage_unknown == unknown
    assert f"lineage: not known what '{unknown[0]}' learned from" in " ".join(third.data_notes)


def test_exports_contain_the_lineage(store, write, tmp_path):
    begin(store, "first", write(0, 60))
    second = begin(store, "second", write(40, 100), **{"training.start": "first", "data.split": "0.4/0.3/0.3"})
    archive.export_file(store, "second", tmp_path / "second.zip")
    elsewhere = RunStore(tmp_path / "elsewhere")
    there = elsewhere.read(archive.import_run(elsewhere, tmp_path / "second.zip"))
    assert there.lineage == second.lineage and list_learned(elsewhere, there) == list_learned(store, second)
    copy = elsewhere.get_path("second") / "lineage" / second.lineage[1]
    assert there.config.data.parse_list("lineage") == (str(copy),)
    assert (elsewhere.get_path("second") / IMPORTED).is_file()
    find_files(store.get_path("second"), second)[1].write_bytes(b"nonsense")
    archive.export_file(store, "second", tmp_path / "second.zip")
    with pytest.raises(InputError, match="does not hold the digests of texts that its name says"):
        archive.import_run(elsewhere, tmp_path / "second.zip")


@pytest.mark.parametrize("name", ["../../etc/passwd", "a.texts", "0" * 32])
def test_records_with_other_lineage_files_are_refused(store, write, name):
    begin(store, "first", write(0, 20))
    path = store.get_path("first") / "run.json"
    path.write_text(path.read_text().replace(store.read("first").lineage[0], name))
    check_raises(RunDamaged, r"lineage\[0\]", store.read, "first")


def test_comparisons_explain_different_rows_of_the_same_data(store, write):
    first = begin(store, "first", write(0, 60))
    old = begin(store, "old", write(0, 60), **{"data.split_rule": 1})
    path = store.get_path("old") / "run.json"
    path.write_text(path.read_text().replace('   "split_rule": 1,\n', ""))
    assert store.read("old").config.data.split_rule == 1, "a record without a rule keeps the first"
    load_trained_data(store.read("old"))
    second = begin(store, "second", write(0, 60), **{"training.start": "first"})
    data = dataclasses.replace(second.config.data, lineage="/gone/" + "a" * 32 + ".texts")
    second = dataclasses.replace(second, config=dataclasses.replace(second.config, data=data))

    def answers(record, text):
        labels = pd.Series([0]).to_numpy()
        return Answers(record, [text], labels, pd.DataFrame({"a": [0.5], "b": [0.5]}).to_numpy(), pd.DataFrame())

    with pytest.raises(InputError, match=r"'old' was cut by an older rule than 'first' \(data\.split_rule=1 and 2"):
        align_answers([answers(first, "one"), answers(old, "two")])
    with pytest.raises(InputError, match="rows that a run which one of them started from had learned from are left"):
        align_answers([answers(first, "one"), answers(second, "two")])


def make_learned_record(loaded, data, fingerprint=None):
    """Return the record of the run with these data."""
    config = dataclasses.replace(loaded.record.config, data=data)
    found = loaded.record.data_fingerprint if fingerprint is None else fingerprint
    return dataclasses.replace(loaded.record, config=config, data_fingerprint=found)


def test_texts_with_equal_token_ids_are_equal():
    tokenizer = fit_tokenizer(["a good film", "a bad film indeed"], TextConfig(min_freq=1, max_length=4))
    texts = ["a good film indeed", "A  GOOD film indeed", "a good film indeed bad", "a film indeed"]
    found = lineage.encode_texts(tokenizer, [*texts, "a strange film", "a odd film", ""])
    first, *others = found.keys
    assert [key == first for key in others] == [True, True, False, False, False, False]
    assert found.keys[4] == found.keys[5], "both words are unknown to it"
    assert found.cut.tolist() == [False, False, True, False, False, False, False]
    tokenizer.max_length = 0
    assert not lineage.encode_texts(tokenizer, ["a b c " * 100]).cut.any()


def test_the_overlap_finds_the_training_split(loaded):
    trained, texts = lineage.load_trained_data(loaded.record), []
    for rows in trained.splits.values():
        texts += rows["text"].tolist()
    found = lineage.find_overlap(
        lineage.encode_texts(loaded.tokenizer, texts), lineage.TrainingTexts(loaded.record, loaded.tokenizer)
    )
    known = {tuple(loaded.tokenizer.encode(text).ids) for text in trained.splits["train"]["text"]}
    assert found.tolist() == [tuple(loaded.tokenizer.encode(text).ids) in known for text in texts]
    assert found[: len(trained.splits["train"])].all() and not found.all()


@pytest.mark.parametrize("settings", [{"limit": 20}, {"folds": 4, "fold": 1}, {"seed": 5}])
def test_other_rows_are_not_in_the_overlap(tmp_path, loaded, settings):
    rows = pd.DataFrame({"text": [f"text {chr(97 + n % 26)}{n}" for n in range(80)], "label": ["no", "yes"] * 40})
    rows.to_csv(tmp_path / "own.csv", index=False)
    config = DataConfig(name=str(tmp_path / "own.csv"), **settings)
    dataset = lineage.load_dataset(config)
    record = make_learned_record(loaded, config, dataset.fingerprint)
    tokenizer = fit_tokenizer(rows["text"].tolist(), TextConfig(min_freq=1))
    found = lineage.find_overlap(
        lineage.encode_texts(tokenizer, rows["text"].tolist()), lineage.TrainingTexts(record, tokenizer)
    )
    assert set(rows["text"][found]) == set(dataset.splits["train"]["text"])
    assert int(np.sum(found)) == len(dataset.splits["train"]) < 80


def test_missing_or_changed_data_are_reported(loaded):
    own = loaded.record.config.data
    with pytest.raises(NotAvailable, match="the data of run 'mine' have changed since it was trained"):
        lineage.load_trained_data(make_learned_record(loaded, own, "0" * 64))
    with pytest.raises(NotAvailable, match="cannot be read here"):
        lineage.load_trained_data(make_learned_record(loaded, dataclasses.replace(own, name="/nowhere/reviews.csv")))
    gone = make_learned_record(loaded, dataclasses.replace(own, name="yelp_polarity_sentences"))
    short = r"yelp_polarity_sentences\) are not on this machine; set SENTISCOPE_DATA to the folder that holds them$"
    check_raises(NotAvailable, short, lineage.load_trained_data, gone)


def test_training_texts_are_read_once_for_a_tokenizer(loaded, monkeypatch):
    texts = lineage.load_trained_data(loaded.record).splits["train"]["text"].tolist()
    reading = lineage.encode_texts(loaded.tokenizer, [*texts, "a text that was never seen by it"])
    first = lineage.find_overlap(reading, lineage.TrainingTexts(loaded.record, loaded.tokenizer))
    assert first[:-1].all() and not first[-1]
    [kept] = get_cache_folder().glob("seen-*.npz")
    for content in (b"", b"not an array", b"\x93NUMPY\x01\x00"):
        kept.write_bytes(content)  # damaged keys are made again
        assert (lineage.find_overlap(reading, lineage.TrainingTexts(loaded.record, loaded.tokenizer)) == first).all()
        assert kept.stat().st_size > len(content)
    monkeypatch.setattr(lineage, "load_trained_data", lambda record: pytest.fail("it is kept"))
    assert np.array_equal(lineage.find_overlap(reading, lineage.TrainingTexts(loaded.record, loaded.tokenizer)), first)
    other = fit_tokenizer(["a good film"], TextConfig(min_freq=1))
    with pytest.raises(pytest.fail.Exception):
        lineage.find_overlap(reading, lineage.TrainingTexts(loaded.record, other))


RUN = "starter-ndt-small"
STORE = RunStore(Path(__file__).parents[3] / "trained")


@pytest.mark.slow
def test_split_comparisons_are_cached(monkeypatch, tmp_path):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path))
    record = STORE.read(RUN)
    first = lineage.compare_run_split(record, "test")
    assert first is not None and first["n"] == {"training": 8000, "other": 3202}
    monkeypatch.setattr(lineage, "load_trained_data", lambda record: pytest.fail("it is kept"))
    assert lineage.compare_run_split(record, "test") == first
    assert lineage.compare_run_split(record, "train") is None


@pytest.mark.slow
def test_a_training_caches_the_comparison_of_its_splits(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    path, store = tmp_path / "own.csv", RunStore(tmp_path / "runs")
    rows = [f"{word} film number {n},{label}" for word, label in (("good", "yes"), ("dull", "no")) for n in range(150)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    api.train(str(path), "tfidf-logreg", name="own", store=store)
    path.unlink()
    found = lineage.compare_run_split(store.read("own"), "test")
    assert found["n"] == {"training": 240, "other": 30} and found["warnings"] == []
