import numpy as np
import pandas as pd
import pandas.testing
import pytest
from tiny_runs import TINY

from core.config import compose
from core.exceptions import NotAvailable
from core.runs import efficiency, predictions
from core.runs.predictions import explain_lacking_texts, list_evaluated_splits, read_predictions
from core.runs.store import RunStore
from core.runs.training_jobs import execute

pytestmark = pytest.mark.slow

PAIR = "kept", "without"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A store with two trainings, `kept` with and `without` without texts, and their file with titles."""
    folder = tmp_path_factory.mktemp("texts")
    store, file = RunStore(folder / "runs"), folder / "reviews.csv"
    rows = [
        (f"word{n % 30} {('bad', 'good')[n % 2]} word{n}", ("negative", "positive")[n % 2], f"a title of number{n}")
        for n in range(120)
    ]
    pd.DataFrame(rows, columns=["text", "label", "title"]).to_csv(file, index=False)
    for name in PAIR:
        config = compose("vanilla", {**TINY, "data.name": str(file), "data.texts": name == "kept"})
        assert execute(store, store.create(config, "vanilla", name).run).status == "done"
    return store, file


@pytest.fixture
def store(trained):
    predictions._read_texts.cache_clear()
    return trained[0]


@pytest.fixture
def file(trained):
    content = trained[1].read_bytes()
    yield trained[1]
    trained[1].write_bytes(content)


def path(store, run, split="test"):
    return store.get_path(run) / "evaluation" / split / "predictions.parquet"


def test_texts_are_in_no_file_of_the_run_and_read_from_the_data_set(store, file):
    secret = pd.read_csv(file)
    texts = [*secret["text"], *secret["title"]]

    def held(run):
        columns = [pd.read_parquet(file) for file in store.get_path(run).rglob("*.parquet")]
        whole = b"\n".join(file.read_bytes() for file in sorted(store.get_path(run).rglob("*")) if file.is_file())
        words = {str(value) for frame in columns for name in frame for value in frame[name]}
        return [text for text in texts if text.encode() in whole or text in words]

    assert held("kept"), "what this test looks for is found where it is"
    assert held("without") == []
    for split in list_evaluated_splits(store.get_path("kept")):
        kept, without = (read_predictions(path(store, run, split)) for run in PAIR)
        pandas.testing.assert_frame_equal(without, kept, check_dtype=False)
    assert explain_lacking_texts(store.get_path("without"), store.read("without")) == ""


def test_missing_texts_have_placeholders(store, file):
    rows = pd.read_csv(file)
    rows.loc[0, "text"] = "quite another text"
    rows.to_csv(file, index=False)
    assert "not kept with this run" in read_predictions(path(store, "without"))["text"][0]
    assert "have changed since it was trained" in explain_lacking_texts(
        store.get_path("without"), store.read("without")
    )
    predictions._read_texts.cache_clear()
    file.unlink()
    found = read_predictions(path(store, "without"))
    assert found["text"][3] == "(row 3 of test: its text is not kept with this run)"
    assert list(found) == ["row", "text", "label", "predicted", "probability:negative", "probability:positive"]
    assert np.array_equal(found["row"], np.arange(len(found)))
    why = explain_lacking_texts(store.get_path("without"), store.read("without"))
    assert why.startswith("It was made without its texts, and the data of run 'without' cannot be read here")
    with pytest.raises(NotAvailable, match="speed and memory cannot be measured: it was made without its texts"):
        efficiency.Speed.from_run(store, "without").compute()


def test_reading_decisions_are_stored_without_texts(store):
    with_texts, without = (store.read(run).data_decisions for run in PAIR)
    assert [each.what for each in without] == [each.what for each in with_texts] != []
    assert all(each.proof for each in with_texts) and not any(each.proof for each in without)


def test_embeddings_of_a_split_that_lacks_them_are_computed_and_kept(store, tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path))
    folder, classes = store.get_path("kept"), store.read("kept").classes
    stored, labels = predictions.read_vectors(folder, "validation", classes)
    path = folder / "evaluation" / "validation" / "embeddings.npy"
    path.rename(tmp_path / "away.npy")
    try:
        assert predictions.list_embedded_splits(store, "kept") == ["test", "validation"]
        for _ in range(2):  # computed, then read
            vectors, again = predictions.read_vectors(folder, "validation", classes)
            np.testing.assert_allclose(vectors, stored, rtol=2**-10, atol=1e-6)  # half precision
            np.testing.assert_array_equal(again, labels)
        assert len([*tmp_path.glob("embeddings-*.npy")]) == 1
    finally:
        (tmp_path / "away.npy").rename(path)
