"""Texts of made-up words: what they are, what is learned of them, and that a model then doubts."""

import numpy as np
import pytest

from core import api
from core.runs.load import load_run
from core.runs.store import RunStore
from core.text.config import TextConfig
from core.text.nonsense import LONGEST, MOST_WORDS, SHORTEST, nonsense
from core.text.token_table import token_table
from core.text.tokenizers import fit_tokenizer
from core.training.batches import Examples
from core.training.config import further
from core.training.further_texts import with_nonsense

TEXTS = ["a good film", "a bad film", "not bad", "영화가 정말 재미있어요"]
TOKENIZER = fit_tokenizer(TEXTS, TextConfig(min_freq=1))


@pytest.mark.slow
def test_made_up_texts_are_the_same_for_the_same_seed_and_of_unknown_words():
    found = nonsense(TEXTS, 200, 0)
    assert found == nonsense(TEXTS, 200, 0) != nonsense(TEXTS, 200, 1)
    words = [word for text in found for word in text.split()]
    assert {len(text.split()) for text in found} == set(range(1, MOST_WORDS + 1))
    assert {len(word) for word in words} == set(range(SHORTEST, LONGEST + 1))
    unknown = [TOKENIZER.encode(text).ids for text in found]
    assert np.mean([each == 1 for ids in unknown for each in ids]) > 0.99
    # One letter over and over is among them, and the letters of the texts are.
    assert any(len(set(word)) == 1 for word in words) and any("가" in word for word in words)


def test_their_target_is_how_frequent_each_class_is_and_all_else_stays():
    labels = np.array([0, 1, 1, 1])
    examples = Examples(token_table(TOKENIZER, TEXTS), labels)
    found = with_nonsense(examples, TEXTS, TOKENIZER, classes=2, share=0.5, seed=3)
    np.testing.assert_allclose(found.targets, [[1, 0], [0, 1], [0, 1], [0, 1], [1 / 3, 2 / 3], [1 / 3, 2 / 3]])
    assert found.labels is labels and len(found.tokens) == 6
    for row, text in enumerate([*TEXTS, *nonsense(TEXTS, 2, 3)]):
        start, end = found.tokens.offsets[row : row + 2]
        assert found.tokens.flat[start:end].tolist() == TOKENIZER.encode(text).ids


def test_of_several_labels_and_of_a_teacher_too():
    several = np.array([[1, 0], [1, 1], [0, 0], [1, 0]], np.float32)
    taught = Examples(token_table(TOKENIZER, TEXTS), several, several * 0.5)
    found = with_nonsense(taught, TEXTS, TOKENIZER, classes=2, share=0.1, seed=0)
    np.testing.assert_allclose(found.targets, [*several * 0.5, [4 / 6, 2 / 6]])


def test_none_are_made_where_none_are_asked_for():
    examples = Examples(token_table(TOKENIZER, TEXTS), np.array([0, 1, 1, 1]))
    assert with_nonsense(examples, TEXTS, TOKENIZER, classes=2, share=0.0, seed=0) is examples
    assert [further(1000, share) for share in (0, 1e-9, 0.02)] == [0, 1, 20]


@pytest.mark.slow
def test_a_model_that_was_taught_doubt_answers_unknown_words_with_the_class_prior(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    store = RunStore(tmp_path / "runs")
    small = {"model.width": 32, "model.ff_width": 32, "training.batch_size": 32, "training.lr": 3e-3}
    small |= {"data.limit": 2000, "training.epochs": 6, "training.threads": 1}

    def distance(share, name):
        result = api.train(settings={**small, "training.nonsense": share}, model="vanilla", name=name, store=store)
        assert result["status"] == "done"
        loaded = load_run(store, name)
        said = loaded.predict(["zzz qqq www"]).probabilities[0, 1]
        return abs(said - 0.5), store.read(name)  # the built-in corpus is balanced

    (doubted, record), (believed, plain) = distance(0.02, "doubting"), distance(0.0, "plain")
    assert doubted <= 0.10 < believed
    # 40 texts more are learned, and nothing is measured on them.
    assert (record.progress["steps"], plain.progress["steps"]) == (6 * 64, 6 * 63)
    assert record.progress["rows"] == plain.progress["rows"] and record.progress["rows"]["train"] == 2000
