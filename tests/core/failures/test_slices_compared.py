"""Two runs on the sentences of each slice: paired, as on a column with the same rows; what cannot be is left out."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, right_where, texts
from sklearn.metrics import f1_score

from core.api.comparison import compare
from core.exceptions import InputError
from core.failures.selection import Selection
from core.failures.slices import save_slice
from core.runs.store import RunStore

pytestmark = pytest.mark.slow

ROWS = 200
LABELS = np.arange(ROWS) % 2
RANDOM = np.random.default_rng(0)
GOOD, POOR = RANDOM.random(ROWS) < 0.95, RANDOM.random(ROWS) < 0.6
KIND = np.where(np.arange(ROWS) % 4 > 0, "long", "short")


@pytest.fixture
def store(tmp_path):
    store = RunStore(tmp_path / "runs")
    for name, right, preset in (("good", GOOD, "differential"), ("poor", POOR, "vanilla")):
        answering(store, name, right_where(right, LABELS), texts(LABELS, kind=KIND), preset=preset)
    return store


def save(store, **rules):
    for name, rule in rules.items():
        save_slice(store, store.read("good"), name, Selection(tuple(rule.split(";"))))


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
def test_slices_that_are_the_values_of_a_column_come_to_the_same_as_the_column(store, metric):
    save(store, long="kind=long", short="kind=short")
    sliced, column = (compare("good", "poor", by=[by], metrics=[metric], store=store)["by"] for by in ("slice", "kind"))
    assert [{**each, "column": "kind"} for each in sliced] == column and sliced[0]["column"] == "slice"
    first = sliced[0]
    assert first["difference"] == pytest.approx(first["first_value"] - first["second_value"])
    if metric == "f1_macro":
        here, said = KIND == "long", np.where(GOOD, LABELS, 1 - LABELS)
        assert first["first_value"] == pytest.approx(f1_score(LABELS[here], said[here], average="macro"))


def test_slices_may_overlap_and_those_of_one_run_alone_are_left_out(store):
    save(store, half="kind=long;truth=good", long="kind=long", lost="wrong", nobody="text~nobody", odd="truth=none")
    found = compare("good", "poor", by=["slice"], store=store)
    assert [(each["value"], each["n"]) for each in found["by"]] == [("half", 100), ("long", 150)]
    assert found["notes"] == [
        "slice lost is left out: its rules select other sentences for each run",
        "slice nobody is left out: there is no sentence of it",
        "slice odd is left out: --where truth=none: no class 'none'; the classes are bad, good",
        "TF-IDF is left out: the data of run 'good' have changed since it was trained.",
    ]


def test_refusals_say_what_to_do(store):
    with pytest.raises(InputError, match="--by slice: no slice of these data was saved; `sentiscope slices RUN --save"):
        compare("good", "poor", by=["slice"], store=store)
    save(store, lost="wrong")
    with pytest.raises(InputError, match="--by slice: slice lost is left out: its rules"):
        compare("good", "poor", by=["slice"], store=store)
    with pytest.raises(InputError, match="leave --data out"):
        compare("good", "poor", data="x.csv", by=["slice"], store=store)
