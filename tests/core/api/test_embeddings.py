import numpy as np
import pandas as pd
import pytest
from answering import answering, right_where, texts

from core.runs.record import EMBEDDINGS, EVALUATION
from core.runs.store import RunStore

pytestmark = pytest.mark.slow

WORDS = ("late delivery", "wants a refund", "very friendly")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with runs without weights: `clouds` (vectors in three clusters), `few` and `tfidf`."""
    folder = tmp_path_factory.mktemp("space")
    store = RunStore(folder / "runs")
    kinds = np.arange(120) % 3
    labels = np.arange(120) % 2
    right = np.where(kinds == 0, np.arange(120) >= 60, True)
    rows = texts(labels).assign(text=[f"{WORDS[kind]} {number % 7}" for number, kind in enumerate(kinds)])
    answering(store, "clouds", right_where(right, labels), rows)
    vectors = np.random.default_rng(0).normal(size=(120, 4)) + 40 * np.eye(3, 4)[kinds]
    for name, preset in (("few", "vanilla"), ("tfidf", "tfidf-nb")):
        answering(store, name, right_where(np.ones(8, bool), labels[:8]), texts(labels[:8]), preset=preset)
    for name, points in (("clouds", vectors), ("few", vectors[:8])):
        np.save(store.get_path(name) / EVALUATION / "test" / EMBEDDINGS, points.astype(np.float32))
    return folder


def test_groups_have_names_sizes_and_errors_and_small_splits_have_none(cli, place):
    lines = cli.lines("groups", "clouds")
    assert lines[0] == "clouds on test: 3 groups of 10 sentences or more; 0 of 120 in none."
    assert "delivery · late 40 50.0 % 35.2 to 64.8" in lines
    found = cli.json("groups", "clouds", "--csv", "grouped.csv")
    assert [each["n"] for each in found["groups"]] == [40, 40, 40]
    assert {each["name"]: each["wrong"] for each in found["groups"]}["delivery · late"] == 20
    table = pd.read_csv(place / "grouped.csv")
    assert table.groupby("group")["wrong"].sum().to_dict()["delivery · late"] == 20
    assert sorted(table["key"]) == sorted(key for each in found["groups"] for key in each["keys"])
    code, out, _ = cli("groups", "few")
    assert code == 0 and out.startswith("No groups: of 8 sentences there are no groups to look for")


def test_neighbors_of_a_row_need_no_model(cli, place):
    key = cli.json("errors", "clouds", "--where", "all")["rows"][0]["key"]
    found = cli.json("neighbours", "clouds", "--key", key, "--most", 3)
    vectors = np.load(place / "runs" / "clouds" / EVALUATION / "test" / EMBEDDINGS)
    away = np.linalg.norm(vectors - vectors[0], axis=1)
    nearest = np.argsort(away)[1:4]
    assert [each["row"] for each in found["neighbours"]] == nearest.tolist()
    assert [each["distance"] for each in found["neighbours"]] == pytest.approx(away[nearest].tolist(), rel=1e-5)
    assert found["text"] == "late delivery 0" and found["space"] == "head"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("groups", "tfidf"), "has no sentence vectors"),
        (("layers", "tfidf"), "no layers of attention"),
        (("layers", "clouds"), "has no weights"),
        (("neighbours", "tfidf", "good"), "has no sentence vectors"),
        (("neighbours", "clouds"), "one of the two"),
        (("neighbours", "clouds", "good", "--key", "x"), "one of the two"),
        (("neighbours", "clouds", "--key", "none"), "no sentence of test has the key"),
    ],
)
def test_impossible_requests_give_no_traceback(cli, asked, told):
    code, _, err = cli(*asked)
    assert code in (1, 2) and told in " ".join(err.split()) and "Traceback" not in err
