import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.data import mixture
from core.data.mixture import drop_learned, find_learned, hash_texts, read_lineage, write_lineage
from core.exceptions import DataError


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(st.text(max_size=20), max_size=50))
def test_lineage_files_contain_the_digests_of_their_texts(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("lineage")
    path = write_lineage(folder, texts)
    assert read_lineage(path).tolist() == sorted(set(hash_texts(texts).tolist()))
    assert write_lineage(folder, [*texts[::-1], *texts]) == path, "one file for one set of texts"
    assert find_learned(texts, [path]).all()


def test_digests_ignore_case_and_blanks_and_are_small(tmp_path):
    first, *others = hash_texts(["A good film!", "a GOOD  film !", "a good film", "9 of 10", "1 of 10", ":)", ":("])
    assert [other == first for other in others] == [True] + 5 * [False] and len(set(others)) == 6
    texts = [f"text {chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(10_000)]
    path = write_lineage(tmp_path / "l", texts)
    assert len(read_lineage(path)) == 10_000 and path.stat().st_size < 40_000


@pytest.mark.parametrize("content", [b"", b"nonsense", zlib.compress(b"12345678"), zlib.compress(b"123")])
def test_lineage_files_that_do_not_match_their_name_are_refused(tmp_path, content):
    path = write_lineage(tmp_path / "l", ["a text"])
    path.write_bytes(content)
    with pytest.raises(DataError, match="does not hold the digests of texts that its name says"):
        read_lineage(path)


def test_unpacking_stops_at_the_size_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(mixture, "_MOST_TEXTS", 100)
    path = write_lineage(tmp_path / "l", ["a text"])
    path.write_bytes(zlib.compress(bytes(1_000_000)))
    with pytest.raises(DataError, match="does not hold"):
        read_lineage(path)


def split(count, learned=0):
    texts = [f"learned {'x' * n}" for n in range(learned)] + [f"new {'y' * n}" for n in range(count - learned)]
    return pd.DataFrame({"text": texts, "label": np.arange(count) % 2})


@pytest.mark.parametrize(("rows", "learned"), [(120, 86), (40, 10), (10, 5), (1, 0)])
def test_learned_texts_are_removed_from_all_splits_but_train(tmp_path, rows, learned):
    file = str(write_lineage(tmp_path / "l", split(90, 90)["text"].tolist()))
    given = {"train": split(50, 50), "validation": split(rows, learned), "test": split(30), "extra": split(8, 1)}
    splits, beside, notes = drop_learned(given, split(9, 4), [file])
    sizes = {name: len(each) for name, each in splits.items()}
    assert sizes == {"train": 50, "validation": rows - learned, "test": 30, "extra": 7}
    assert len(beside) == 5
    assert len(notes) == 1 + bool(learned) and notes[-1].startswith("lineage: 1 row of extra left out")
    assert list(splits["validation"].index) == list(range(rows - learned))


@pytest.mark.parametrize(("rows", "learned"), [(120, 91), (10, 6), (1, 1)])
def test_splits_with_too_few_new_texts_are_refused(tmp_path, rows, learned):
    file = str(write_lineage(tmp_path / "l", split(100, 100)["text"].tolist()))
    told = rf"learned from {learned} of {rows} rows? of the test split, and {rows - learned} are"
    with pytest.raises(DataError, match=told):
        drop_learned({"train": split(5), "test": split(rows, learned)}, None, [file])
