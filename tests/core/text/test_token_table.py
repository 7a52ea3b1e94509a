import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.text.token_table import TokenTable, build_token_table, split_batches
from core.text.tokenizer_factory import fit_tokenizer

TEXTS = ["so soooo good", "a no-go , alas", "don't go", "go"]


def test_tables_give_any_rows_padded_on_the_right():
    batch = TokenTable.from_ids([[5, 6, 7], [], [8]]).pad_all()
    assert batch.ids.tolist() == [[5, 6, 7], [0, 0, 0], [8, 0, 0]]
    assert batch.keep.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    table = TokenTable.from_ids([[1, 2], [3], [4, 5, 6], []])
    assert table.lengths.tolist() == [2, 1, 3, 0]
    assert table.pad_rows(np.array([3, 1, 0])).ids.tolist() == [[0, 0], [3, 0], [1, 2]]
    assert table.pad_rows(np.array([1]), width=4).ids.tolist() == [[3, 0, 0, 0]] and table.flat.dtype == np.int32
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


def test_frequent_ngrams_are_known_and_repetitions_kept():
    tokenizer = NGramTokenizer.fit(["not good", "not good", "good good good"], TextConfig(min_freq=2))
    assert [tokenizer.name(each) for each in range(2, tokenizer.size)] == ["good", "not", "not good"]
    tokenizer = NGramTokenizer.fit(["a b c d e f g h", "h g f", "h g", "h"], TextConfig(min_freq=1, max_vocab=8))
    assert [tokenizer.name(each) for each in range(2, 8)] == ["h", "g", "f", "h g", "a", "a b"]
    tokenizer = NGramTokenizer.fit(["not good", "not good"], TextConfig(min_freq=2))
    found = tokenizer.encode("Good, GOOD not good")
    assert found.tokens == ["good", "good", "not", "good", "not good"]
    assert found.offsets == [(0, 4), (6, 10), (11, 14), (15, 19), (11, 19)] and found.truncated == 0


def test_character_ngrams_equal_scikit_learns_and_have_the_span_of_their_letters():
    tokenizer = NGramTokenizer.fit(TEXTS, TextConfig(min_freq=1, char_ngrams=5))
    words = [" ".join(tokenizer.encode(text).tokens[: len(text.split())]) for text in ("so soooo good", "don't go")]
    assert words == ["so soooo good", "don't go"]
    known = CountVectorizer(analyzer="char_wb", ngram_range=(2, 5))
    apart = [text.replace("-", " - ") for text in TEXTS]  # scikit-learn splits words elsewhere
    counts = known.fit_transform(apart).toarray()
    names = [tokenizer.name(each) for each in range(2, tokenizer.size)]
    assert {name[1:] for name in names if name.startswith(" ")} == set(known.vocabulary_)
    assert tokenizer.characters.sum() == len(known.vocabulary_) and not tokenizer.characters[:2].any()
    for text, row in zip(TEXTS, counts, strict=True):
        ids = [each for each in tokenizer.encode_batch([text])[0] if tokenizer.characters[each]]
        found = {name: ids.count(each) for each, name in enumerate(names, 2) if each in ids}
        assert found == {" " + name: row[place] for name, place in known.vocabulary_.items() if row[place]}
    tokenizer = NGramTokenizer.fit(["go good", "go good"], TextConfig(char_ngrams=3))
    found = tokenizer.encode("Go ?")
    assert found.tokens == ["go", "g", "go", "o", "go", "go"]
    assert found.offsets == [(0, 2), (0, 1), (0, 2), (1, 2), (0, 2), (0, 2)]
    assert [tokenizer.name(each) for each in found.ids] == ["go", "  g", " go", " o ", "  go", " go "]
    assert tokenizer.encode_batch(["Go ?"]) == [found.ids]
