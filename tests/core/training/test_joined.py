"""Long texts made of short ones: what stands in them, how long they are, what is learned of them."""

import dataclasses

import numpy as np
import pytest

from core import api
from core.exceptions import SentiscopeError
from core.runs.store import RunStore
from core.text.config import TextConfig
from core.text.token_table import token_table
from core.text.tokenizers import fit_tokenizer
from core.training.batches import Examples
from core.training.further_texts import groups, with_joined

TEXTS = ["a good film", "a bad film", "not bad", "a very long and rather dull film"]
TOKENIZER = fit_tokenizer(TEXTS, TextConfig(min_freq=1, max_length=12))
LENGTHS, KINDS = np.random.default_rng(0).integers(1, 30, 400), np.repeat([0, 1], [300, 100])


@pytest.mark.slow
def test_a_joined_text_is_of_one_class_and_as_long_as_fits():
    found = groups(LENGTHS, KINDS, 2000, 200, 0)
    assert all(len(set(KINDS[rows])) == 1 for rows in found)
    sums = np.array([LENGTHS[rows].sum() for rows in found])
    assert all(total <= 200 or len(rows) == 1 for total, rows in zip(sums, found, strict=True))
    # Drawn evenly from 2 to 200, less what the next text would have needed.
    assert np.quantile(sums, [0.25, 0.5, 0.75]) == pytest.approx([44, 93, 143], abs=8)
    assert np.mean([KINDS[rows[0]] for rows in found]) == pytest.approx(0.25, abs=0.03)


def test_the_same_texts_are_joined_for_the_same_seed():
    first, again, other = (groups(LENGTHS, KINDS, 50, 200, seed) for seed in (0, 0, 1))
    assert all(map(np.array_equal, first, again)) and not all(map(np.array_equal, first, other))


def test_what_is_learned_of_it_is_the_mean_of_its_texts_and_all_else_stays():
    labels = np.array([0, 1, 1, 1])
    targets = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.0, 1.0]], np.float32)
    examples = Examples(token_table(TOKENIZER, TEXTS), labels, targets)
    found = with_joined(examples, TEXTS, TOKENIZER, classes=2, share=1.0, seed=3)
    parts = groups(examples.tokens.lengths, labels, 4, 12, 3)
    assert any(len(rows) > 1 for rows in parts)
    assert found.labels is labels and len(found.tokens) == 8
    np.testing.assert_allclose(found.targets[:4], targets)
    for row, rows in enumerate(parts, 4):
        np.testing.assert_allclose(found.targets[row], targets[rows].mean(0), rtol=1e-6)
        start, end = found.tokens.offsets[row : row + 2]
        assert found.tokens.flat[start:end].tolist() == TOKENIZER.encode(" ".join(TEXTS[each] for each in rows)).ids


def test_of_labels_it_has_those_of_its_texts():
    one = Examples(token_table(TOKENIZER, TEXTS), np.array([0, 1, 1, 1]))
    several = dataclasses.replace(one, labels=np.array([[1, 0], [1, 1], [1, 1], [0, 0]], np.float32))
    for examples, kinds in ((one, [[1, 0], [0, 1]]), (several, [[1, 0], [1, 1], [0, 0]])):
        found = with_joined(examples, TEXTS, TOKENIZER, classes=2, share=1.0, seed=0)
        assert all(row in kinds for row in found.targets[4:].tolist())


def test_none_are_joined_where_none_are_asked_for():
    examples = Examples(token_table(TOKENIZER, TEXTS), np.array([0, 1, 1, 1]))
    assert with_joined(examples, TEXTS, TOKENIZER, classes=2, share=0.0, seed=0) is examples


@pytest.mark.slow
def test_the_rows_of_two_texts_are_refused(tmp_path):
    rows = [f"the sky is {word},the {word} sky,{label}" for word, label in (("blue", "same"), ("red", "other"))]
    file = tmp_path / "pairs.csv"
    file.write_text("\n".join(["first,second,label", *rows * 20]))
    settings = {"data.text": "first", "data.pair": "second", "training.joined": 0.1}
    store = RunStore(tmp_path / "runs")
    try:
        result = api.train(str(file), "vanilla", settings, epochs=1, store=store)
    except SentiscopeError as error:
        told = str(error)
    else:
        told = result["reason"]
    assert "training.joined" in told and "each row has two" in told
