"""Intervals of older records: computed anew where value and rows suffice, left out where they do not."""

import dataclasses

import pytest
from statsmodels.stats.proportion import proportion_confint

from core.config import compose
from core.metrics import INTERVAL_VERSION
from core.runs.folders import starters_dir
from core.runs.store import RunStore

OLD = {"accuracy": [1.0, 1.0], "ece": [0.03, 0.08], "f1_macro": [1.0, 1.0], "loss": [0.2, 0.4]}
VALUES = {"accuracy": 1.0, "ece": 0.02, "f1_macro": 1.0, "loss": 0.3}


def read_again(store, **results):
    record = store.create(compose("vanilla"), "vanilla", "old")
    store.write(dataclasses.replace(record, status="done", results=results))
    return store.read("old").results


def test_old_shares_are_wilsons_and_what_the_bootstrap_got_wrong_is_left_out(store):
    known = {"silhouette": {"test": {"rows": 12, "of": 12}}}
    found = read_again(store, metrics={"test": VALUES}, intervals={"test": OLD}, **known)
    assert set(found["intervals"]["test"]) == {"accuracy", "loss"} and found["interval_version"] == INTERVAL_VERSION
    assert found["intervals"]["test"]["accuracy"] == pytest.approx(proportion_confint(12, 12, method="wilson"))
    assert found["intervals"]["test"]["loss"] == OLD["loss"]


def test_a_share_of_unknown_rows_has_no_interval(store):
    found = read_again(store, metrics={"test": VALUES}, intervals={"test": OLD})
    assert found["intervals"] == {"test": {"loss": [0.2, 0.4]}}


def test_intervals_at_tuned_thresholds_are_too(store):
    tuned = {
        "metrics": {"test": {"subset_accuracy": 0.5, "f1_macro": 0.6}},
        "intervals": {"test": {"subset_accuracy": [0.4, 0.6], "f1_macro": [0.5, 0.7]}},
    }
    known = {"silhouette": {"test": {"rows": 0, "of": 20}}}
    found = read_again(store, metrics={"test": {}}, intervals={"test": {}}, tuned=tuned, **known)["tuned"]["intervals"]
    assert found["test"]["subset_accuracy"] == pytest.approx(proportion_confint(10, 20, method="wilson"))
    assert found["test"]["f1_macro"] == [0.5, 0.7]


def test_what_was_recorded_by_todays_methods_stays(store):
    given = {"intervals": {"test": OLD}, "interval_version": INTERVAL_VERSION}
    assert read_again(store, metrics={"test": VALUES}, **given)["intervals"] == {"test": OLD}


@pytest.mark.parametrize("run", sorted(path.name for path in starters_dir().glob("starter-*")))
def test_intervals_of_starters_are_todays_and_hold_their_values(run):
    results = RunStore().read(run).results
    for split, ranges in results["intervals"].items():
        assert set(ranges) == set(results["metrics"][split])
        for name, (low, high) in ranges.items():
            assert low <= results["metrics"][split][name] <= high, (split, name)
        n = results["silhouette"][split]["of"]
        right = round(results["metrics"][split]["accuracy"] * n)
        assert ranges["accuracy"] == pytest.approx(proportion_confint(right, n, method="wilson"))
