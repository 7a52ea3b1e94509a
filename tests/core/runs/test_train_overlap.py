import dataclasses

import numpy as np
import pandas as pd
import pytest

from core.cache import get_cache_folder
from core.data.config import DataConfig
from core.exceptions import NotAvailable
from core.runs import train_overlap
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer


def make_learned_record(loaded, data, fingerprint=None):
    """Return the record of the run with these data."""
    config = dataclasses.replace(loaded.record.config, data=data)
    found = loaded.record.data_fingerprint if fingerprint is None else fingerprint
    return dataclasses.replace(loaded.record, config=config, data_fingerprint=found)


def test_texts_with_equal_token_ids_are_equal():
    tokenizer = fit_tokenizer(["a good film", "a bad film indeed"], TextConfig(min_freq=1, max_length=4))
    texts = ["a good film indeed", "A  GOOD film indeed", "a good film indeed bad", "a film indeed"]
    found = train_overlap.encode_texts(tokenizer, [*texts, "a strange film", "a odd film", ""])
    first, *others = found.keys
    assert [key == first for key in others] == [True, True, False, False, False, False]
    assert found.keys[4] == found.keys[5], "both words are unknown to it"
    assert found.cut.tolist() == [False, False, True, False, False, False, False]
    tokenizer.max_length = 0
    assert not train_overlap.encode_texts(tokenizer, ["a b c " * 100]).cut.any()


def test_the_overlap_finds_the_training_split(loaded):
    trained, texts = train_overlap.load_trained_data(loaded.record), []
    for rows in trained.splits.values():
        texts += rows["text"].tolist()
    found = train_overlap.find_overlap(
        train_overlap.encode_texts(loaded.tokenizer, texts),
        train_overlap.TrainingTexts(loaded.record, loaded.tokenizer),
    )
    known = {tuple(loaded.tokenizer.encode(text).ids) for text in trained.splits["train"]["text"]}
    assert found.tolist() == [tuple(loaded.tokenizer.encode(text).ids) in known for text in texts]
    assert found[: len(trained.splits["train"])].all() and not found.all()


@pytest.mark.parametrize("settings", [{"limit": 20}, {"folds": 4, "fold": 1}, {"seed": 5}])
def test_other_rows_are_not_in_the_overlap(tmp_path, loaded, settings):
    rows = pd.DataFrame({"text": [f"text {chr(97 + n % 26)}{n}" for n in range(80)], "label": ["no", "yes"] * 40})
    rows.to_csv(tmp_path / "own.csv", index=False)
    config = DataConfig(name=str(tmp_path / "own.csv"), **settings)
    dataset = train_overlap.load_dataset(config)
    record = make_learned_record(loaded, config, dataset.fingerprint)
    tokenizer = fit_tokenizer(rows["text"].tolist(), TextConfig(min_freq=1))
    found = train_overlap.find_overlap(
        train_overlap.encode_texts(tokenizer, rows["text"].tolist()), train_overlap.TrainingTexts(record, tokenizer)
    )
    assert set(rows["text"][found]) == set(dataset.splits["train"]["text"])
    assert int(np.sum(found)) == len(dataset.splits["train"]) < 80


def test_missing_or_changed_data_are_reported(loaded):
    own = loaded.record.config.data
    with pytest.raises(NotAvailable, match="the data of run 'mine' have changed since it was trained"):
        train_overlap.load_trained_data(make_learned_record(loaded, own, "0" * 64))
    with pytest.raises(NotAvailable, match="cannot be read here"):
        train_overlap.load_trained_data(
            make_learned_record(loaded, dataclasses.replace(own, name="/nowhere/reviews.csv"))
        )
    gone = make_learned_record(loaded, dataclasses.replace(own, name="yelp_polarity_sentences"))
    short = r"yelp_polarity_sentences\) are not on this machine; set SENTISCOPE_DATA to the folder that holds them$"
    with pytest.raises(NotAvailable, match=short):
        train_overlap.load_trained_data(gone)


def test_training_texts_are_read_once_for_a_tokenizer(loaded, monkeypatch):
    texts = train_overlap.load_trained_data(loaded.record).splits["train"]["text"].tolist()
    reading = train_overlap.encode_texts(loaded.tokenizer, [*texts, "a text that was never seen by it"])
    first = train_overlap.find_overlap(reading, train_overlap.TrainingTexts(loaded.record, loaded.tokenizer))
    assert first[:-1].all() and not first[-1]
    [kept] = get_cache_folder().glob("seen-*.npz")
    for content in (b"", b"not an array", b"\x93NUMPY\x01\x00"):
        kept.write_bytes(content)  # damaged keys are made again
        assert (
            train_overlap.find_overlap(reading, train_overlap.TrainingTexts(loaded.record, loaded.tokenizer)) == first
        ).all()
        assert kept.stat().st_size > len(content)
    monkeypatch.setattr(train_overlap, "load_trained_data", lambda record: pytest.fail("it is kept"))
    assert np.array_equal(
        train_overlap.find_overlap(reading, train_overlap.TrainingTexts(loaded.record, loaded.tokenizer)), first
    )
    other = fit_tokenizer(["a good film"], TextConfig(min_freq=1))
    with pytest.raises(pytest.fail.Exception):
        train_overlap.find_overlap(reading, train_overlap.TrainingTexts(loaded.record, other))
