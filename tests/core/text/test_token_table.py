import numpy as np
import pytest

from core.text.config import TextConfig
from core.text.token_table import TokenTable, build_token_table, split_batches
from core.text.tokenizer_factory import fit_tokenizer


def test_tables_give_any_rows_padded_on_the_right():
    batch = TokenTable.from_ids([[5, 6, 7], [], [8]]).pad_all()
    assert batch.ids.tolist() == [[5, 6, 7], [0, 0, 0], [8, 0, 0]]
    assert batch.keep.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    table = TokenTable.from_ids([[1, 2], [3], [4, 5, 6], []])
    assert table.lengths.tolist() == [2, 1, 3, 0]
    assert table.pad_rows(np.array([3, 1, 0])).ids.tolist() == [[0, 0], [3, 0], [1, 2]]
    assert table.pad_rows(np.array([1]), width=4).ids.tolist() == [[3, 0, 0, 0]]
    assert table.flat.dtype == np.int32
    assert [rows.tolist() for rows in split_batches(np.arange(5), 2)] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize(("texts", "shape"), [([[]], (1, 1)), ([[], []], (2, 1)), ([], (0, 1)), ([[3]], (1, 1))])
def test_a_batch_has_at_least_one_column(texts, shape):
    batch = TokenTable.from_ids(texts).pad_all()
    assert tuple(batch.ids.shape) == tuple(batch.keep.shape) == shape


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "buckets"),
    [({}, 0), ({"tagger": "en", "lexicon": "vader"}, 0), ({}, 50)],
    ids=["ids", "beside", "pieces"],
)
def test_appended_tables_equal_the_table_of_all_texts(settings, buckets):
    texts = ["a good film", "not bad at all", "", "good old films"]
    tokenizer = fit_tokenizer(texts, TextConfig(min_freq=1, **settings))
    tokenizer.buckets = buckets
    first, second, whole = (build_token_table(tokenizer, each) for each in (texts[:2], texts[2:], texts))
    ours, expected = first.append_table(second).pad_all(), whole.pad_all()
    for name, column in expected._asdict().items():
        assert (getattr(ours, name) is None) == (column is None), name
        assert column is None or np.array_equal(getattr(ours, name), column), name
