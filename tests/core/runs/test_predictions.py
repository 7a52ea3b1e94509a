"""Predictions of a run that keeps no texts: none in any file, all of them again where the data set is."""

import numpy as np
import pandas as pd
import pandas.testing
import pytest

from core.exceptions import NotAvailable
from core.runs import efficiency, predictions
from core.runs.predictions import evaluated_splits, lacks_texts, read_predictions
from core.runs.worker import execute

pytestmark = pytest.mark.slow


@pytest.fixture
def secret(table):
    """A file whose texts nobody may find in a run, with a column that is a text as well."""
    rows = pd.read_csv(table)
    rows["title"] = [f"a title with number{number} in it" for number in range(len(rows))]
    rows.to_csv(table, index=False)
    return rows


@pytest.fixture
def pair(store, tiny, secret):
    """The same training with its texts and without."""
    runs = [store.create(tiny("vanilla", **{"data.texts": keep}), "vanilla").run for keep in (True, False)]
    assert [execute(store, run).status for run in runs] == ["done", "done"]
    predictions._texts.cache_clear()
    return runs


def path(store, run, split="test"):
    return store.path(run) / "evaluation" / split / "predictions.parquet"


def test_no_file_of_the_run_holds_a_text(store, pair, secret):
    texts = [text for text in [*secret["text"], *secret["title"]] if text.count(" ") > 1]
    assert len(texts) > 150

    def held(run):
        columns = [pd.read_parquet(file) for file in store.path(run).rglob("*.parquet")]
        whole = b"\n".join(file.read_bytes() for file in sorted(store.path(run).rglob("*")) if file.is_file())
        words = {str(value) for frame in columns for name in frame for value in frame[name]}
        return [text for text in texts if text.encode() in whole or text in words]

    kept, without = pair
    assert held(kept), "what this test looks for is found where it is"
    assert held(without) == []


def test_where_the_data_are_the_texts_are_read_again(store, pair):
    kept, without = pair
    for split in evaluated_splits(store.path(kept)):
        pandas.testing.assert_frame_equal(
            read_predictions(path(store, without, split)), read_predictions(path(store, kept, split)), check_dtype=False
        )
    assert lacks_texts(store.path(without), store.read(without)) == ""


def test_where_the_data_are_not_every_text_says_so(store, pair, table):
    table.unlink()
    _, without = pair
    found = read_predictions(path(store, without))
    assert found["text"][3] == "(row 3 of test: its text is not kept with this run)"
    assert list(found) == ["row", "text", "label", "predicted", "probability:negative", "probability:positive"]
    assert np.array_equal(found["row"], np.arange(len(found)))
    why = lacks_texts(store.path(without), store.read(without))
    assert why.startswith(f"It was made without its texts, and the data of run '{without}' cannot be read here")
    with pytest.raises(NotAvailable, match="speed and memory cannot be measured: it was made without its texts"):
        efficiency._measured(store, without)


def test_changed_data_are_not_taken_for_those_of_the_run(store, pair, table):
    _, without = pair
    rows = pd.read_csv(table)
    rows.loc[0, "text"] = "quite another text"
    rows.to_csv(table, index=False)
    assert "not kept with this run" in read_predictions(path(store, without))["text"][0]
    assert "have changed since it was trained" in lacks_texts(store.path(without), store.read(without))


def test_a_run_keeps_how_its_file_was_read_and_no_line_of_it_without_texts(store, pair):
    with_texts, without = (store.read(run).data_decisions for run in pair)
    assert [each.what for each in without] == [each.what for each in with_texts] != []
    assert all(each.proof for each in with_texts) and not any(each.proof for each in without)
