"""Which models of a table cannot be told apart."""

import pandas as pd
import pytest

from core.config import compose
from core.exceptions import InputError
from core.runs.record import EVALUATION, PREDICTIONS
from core.runs.store import RunStore
from core.runs.ties import in_a_row, ties


def pairs(*several):
    return [frozenset(each) for each in several]


@pytest.mark.parametrize(
    ("count", "apart", "groups"),
    [
        (3, [], [[0, 1, 2]]),
        (3, [(0, 1), (0, 2), (1, 2)], []),
        (4, [(0, 2), (0, 3), (1, 3)], [[0, 1], [1, 2], [2, 3]]),
        (4, [(0, 3)], [[0, 1, 2], [1, 2, 3]]),
        (3, [(0, 1)], [[1, 2]]),
        (1, [], []),
        (0, [], []),
    ],
)
def test_groups_are_the_largest_stretches_without_a_pair_that_is_apart(count, apart, groups):
    assert in_a_row(count, pairs(*apart)) == groups


def wrote(store: RunStore, name: str, wrong: range, rows: int = 400, **settings) -> str:
    """A finished run that gets some of its test rows wrong."""
    run = store.create(compose("vanilla", settings), "vanilla", name).run
    folder = store.path(run) / EVALUATION / "test"
    folder.mkdir(parents=True)
    labels = ["no", "yes"] * (rows // 2)
    said = [("yes" if label == "no" else "no") if row in wrong else label for row, label in enumerate(labels)]
    frame = pd.DataFrame({"row": range(rows), "text": [f"text {row}" for row in range(rows)], "label": labels})
    frame["predicted"] = said
    for name in ("no", "yes"):
        frame[f"probability:{name}"] = [0.9 if each == name else 0.1 for each in said]
    frame.to_parquet(folder / PREDICTIONS)
    store.update(run, status="done", classes=("no", "yes"), data_fingerprint=str(rows))
    return run


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
def test_a_clear_difference_separates_and_a_small_one_joins(tmp_path, metric):
    store = RunStore(tmp_path)
    lost = {"best": range(40), "near": range(4, 46), "far": range(200, 300)}
    models = [[wrote(store, name, wrong, **{"data.seed": min(wrong)})] for name, wrong in lost.items()]
    assert ties(store, models, metric) == [[0, 1]]


@pytest.mark.slow
def test_seeds_of_a_model_are_one(tmp_path):
    store = RunStore(tmp_path)
    seeds = [wrote(store, f"s{seed}", range(10 * seed, 40 + 10 * seed), **{"training.seed": seed}) for seed in range(3)]
    other = wrote(store, "other", range(300, 345), **{"training.lr": 1e-3})
    assert ties(store, [seeds, [other]], "accuracy") == [[0, 1]]


def test_other_rows_are_refused_in_words(tmp_path):
    store = RunStore(tmp_path)
    models = [[wrote(store, "a", range(10))], [wrote(store, "b", range(10), rows=100, **{"training.lr": 1e-3})]]
    with pytest.raises(InputError, match="were not tested on the same rows: 400 and 100"):
        ties(store, models, "accuracy")
