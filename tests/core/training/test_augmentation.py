"""Augmentation: joined texts, and texts of made-up words with the class prior as target."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from core import api
from core.runs.load import load_run
from core.runs.store import RunStore
from core.text.config import TextConfig
from core.text.token_table import build_token_table
from core.text.tokenizer_factory import fit_tokenizer
from core.training import augmentation
from core.training.config import count_added_texts
from core.training.training_stage import Examples

STARTERS = RunStore(Path(__file__).parents[3] / "trained")
TEXTS = ["a good film", "a bad film", "not bad", "a very long and rather dull film"]
TOKENIZER = fit_tokenizer(TEXTS, TextConfig(min_freq=1, max_length=12))
SAID = [*TEXTS[:3], "영화가 정말 재미있어요"]
KOREAN = fit_tokenizer(SAID, TextConfig(min_freq=1))
LENGTHS, KINDS = np.random.default_rng(0).integers(1, 30, 400), np.repeat([0, 1], [300, 100])


@pytest.mark.slow
def test_joined_texts_have_one_class_and_fit_the_length():
    found = augmentation.draw_groups(LENGTHS, KINDS, 2000, 200, 0)
    again, other = (augmentation.draw_groups(LENGTHS, KINDS, 2000, 200, seed) for seed in (0, 1))
    assert all(map(np.array_equal, found, again)) and not all(map(np.array_equal, found, other))
    assert all(len(set(KINDS[rows])) == 1 for rows in found)
    sums = np.array([LENGTHS[rows].sum() for rows in found])
    assert all(total <= 200 or len(rows) == 1 for total, rows in zip(sums, found, strict=True))
    # Lengths are uniform from 2 to 200, minus the text that did not fit.
    assert np.quantile(sums, [0.25, 0.5, 0.75]) == pytest.approx([44, 93, 143], abs=8)
    assert np.mean([KINDS[rows[0]] for rows in found]) == pytest.approx(0.25, abs=0.03)


def test_joined_targets_are_the_mean_and_joined_multi_label_texts_share_their_labels():
    labels = np.array([0, 1, 1, 1])
    targets = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.0, 1.0]], np.float32)
    examples = Examples(build_token_table(TOKENIZER, TEXTS), labels, targets)
    found = augmentation.append_joined(examples, TEXTS, TOKENIZER, classes=2, share=1.0, seed=3)
    parts = augmentation.draw_groups(examples.tokens.lengths, labels, 4, 12, 3)
    assert any(len(rows) > 1 for rows in parts) and found.labels is labels and len(found.tokens) == 8
    np.testing.assert_allclose(found.targets[:4], targets)
    for row, rows in enumerate(parts, 4):
        np.testing.assert_allclose(found.targets[row], targets[rows].mean(0), rtol=1e-6)
        start, end = found.tokens.offsets[row : row + 2]
        assert found.tokens.flat[start:end].tolist() == TOKENIZER.encode(" ".join(TEXTS[each] for each in rows)).ids
    one = Examples(build_token_table(TOKENIZER, TEXTS), np.array([0, 1, 1, 1]))
    several = dataclasses.replace(one, labels=np.array([[1, 0], [1, 1], [1, 1], [0, 0]], np.float32))
    for examples, kinds in ((one, [[1, 0], [0, 1]]), (several, [[1, 0], [1, 1], [0, 0]])):
        found = augmentation.append_joined(examples, TEXTS, TOKENIZER, classes=2, share=1.0, seed=0)
        assert all(row in kinds for row in found.targets[4:].tolist())


@pytest.mark.slow
def test_made_up_texts_are_reproducible_and_have_unknown_words():
    found = augmentation.generate_nonsense(SAID, 200, 0)
    assert found == augmentation.generate_nonsense(SAID, 200, 0) != augmentation.generate_nonsense(SAID, 200, 1)
    words = [word for text in found for word in text.split()]
    assert {len(text.split()) for text in found} == set(range(1, augmentation.MOST_WORDS + 1))
    assert {len(word) for word in words} == set(range(augmentation.SHORTEST, augmentation.LONGEST + 1))
    assert np.mean([each == 1 for ids in [KOREAN.encode(text).ids for text in found] for each in ids]) > 0.99
    # Includes words of one letter, and letters of the given texts.
    assert any(len(set(word)) == 1 for word in words) and any("가" in word for word in words)


def test_made_up_texts_have_the_class_prior_as_target_also_with_labels_and_a_teacher():
    labels = np.array([0, 1, 1, 1])
    examples = Examples(build_token_table(KOREAN, SAID), labels)
    for add in (augmentation.append_nonsense, augmentation.append_joined):
        assert add(examples, SAID, KOREAN, classes=2, share=0.0, seed=0) is examples, "none are asked for"
    assert [count_added_texts(1000, share) for share in (0, 1e-9, 0.02)] == [0, 1, 20]
    found = augmentation.append_nonsense(examples, SAID, KOREAN, classes=2, share=0.5, seed=3)
    np.testing.assert_allclose(found.targets, [[1, 0], [0, 1], [0, 1], [0, 1], [1 / 3, 2 / 3], [1 / 3, 2 / 3]])
    assert found.labels is labels and len(found.tokens) == 6
    for row, text in enumerate([*SAID, *augmentation.generate_nonsense(SAID, 2, 3)]):
        start, end = found.tokens.offsets[row : row + 2]
        assert found.tokens.flat[start:end].tolist() == KOREAN.encode(text).ids
    several = np.array([[1, 0], [1, 1], [0, 0], [1, 0]], np.float32)
    taught = Examples(build_token_table(KOREAN, SAID), several, several * 0.5)
    found = augmentation.append_nonsense(taught, SAID, KOREAN, classes=2, share=0.1, seed=0)
    np.testing.assert_allclose(found.targets, [*several * 0.5, [4 / 6, 2 / 6]])


@pytest.mark.slow
def test_training_with_made_up_texts_predicts_the_prior_for_unknown_words(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    store = RunStore(tmp_path / "runs")
    small = {"model.width": 32, "model.ff_width": 32, "training.batch_size": 32, "training.lr": 3e-3}
    small |= {"data.limit": 2000, "training.epochs": 6, "training.threads": 1, "training.nonsense": 0.02}
    assert api.train(settings=small, model="vanilla", name="doubting", store=store)["status"] == "done"
    doubting, believing = load_run(store, "doubting"), load_run(STARTERS, "starter-ndt-small")
    assert believing.record.config.training.nonsense == 0
    doubted, believed = (
        abs(each.predict(["zzz qqq www"]).probabilities[0, 1] - 0.5)  # the built-in corpus is balanced
        for each in (doubting, believing)
    )
    assert doubted <= 0.10 < believed
    # 40 texts are added for training, none for evaluation.
    progress = doubting.record.progress
    assert progress["steps"] == 6 * 64 and progress["rows"]["train"] == 2000
