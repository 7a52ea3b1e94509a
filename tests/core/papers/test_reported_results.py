"""Reported results: complete, and found for the corresponding run."""

import itertools
from collections import Counter
from math import sqrt

import pytest

from core.api.training import summarize_run
from core.config import compose
from core.models.attention import compute_alpha_beta, compute_initial_lambda, compute_lambda_target
from core.models.presets import PAPERS, PRESETS
from core.papers.reported_results import PAPER_SENTENCES, explain_unmatched, find_counterpart, select_reported
from core.runs.record import RunRecord

RANGES = {"01": "[0,1]", "pm1": "[-1,1]", "pos": "[0,inf)", "free": "(-inf,inf)"}


def drift(constraint, *datasets, layer=None):
    """Return the reported value minus our initial value for each lambda of the tables."""
    return [
        row.value - compute_initial_lambda(constraint, row.layer, row.component)
        for row in select_reported(paper="ndt", metric="lambda")
        if row.variant.startswith(RANGES[constraint])
        and (not datasets or row.dataset in datasets)
        and layer in (None, row.layer)
    ]


def rms(values):
    return sqrt(sum(value**2 for value in values) / len(values))


def test_reported_tables_are_complete_and_found_by_paper():
    assert {row.paper for row in select_reported()} == {preset.paper for preset in PRESETS.values()} - {"baseline"}
    counts = Counter(row.paper for row in select_reported())
    assert counts == {"ndt": 547, "7ess-xin": 195, "lexical": 135, "inceptive": 105, "sentiformer": 51}
    tables = Counter(row.table for row in select_reported(paper="ndt"))
    assert [tables[name] for name in ("I", "III", "V", "VII")] == [56] * 4  # 14 models, 4 metrics
    assert [tables[name] for name in ("II", "IV", "VI", "VIII")] == [48] * 4 and tables["IX"] == 56
    found = select_reported(paper="ndt", metric="lambda")
    assert len(found) == len({(row.dataset, row.variant, row.layer, row.component) for row in found}) == 192
    four = {(row.layer, row.component) for row in found if row.variant.endswith("N=4")}
    assert four == {(layer, component) for layer in (1, 2) for component in (1, 2, 3)}


def test_initial_lambdas_match_the_reported_values():
    assert rms(drift("01", "IMDB", "TFN")) == pytest.approx(0.0014, abs=5e-5)
    assert max(map(abs, drift("01", "IMDB", "TFN"))) == pytest.approx(0.0027, abs=5e-5)
    assert rms(drift("01")) == pytest.approx(0.0056, abs=5e-5)
    assert sum(abs(value) <= 0.00041 for value in drift("pm1", "IMDB", "TFN", layer=1)) == 10
    assert rms(drift("pm1", "IMDB", "TFN", layer=2)) == pytest.approx(0.011, abs=5e-4)
    assert rms(drift("pm1", layer=1)) == pytest.approx(0.075, abs=5e-4)
    assert rms(drift("pm1", layer=2)) == pytest.approx(0.030, abs=5e-4)
    assert min(drift("pos")) == pytest.approx(0.0114, abs=5e-5)
    assert [value for value in drift("free") if value < 0] == [pytest.approx(-0.0023, abs=5e-5)]
    assert compute_alpha_beta("pos", 2, 1)[1] == compute_lambda_target(2, 1)


@pytest.mark.parametrize(
    ("preset", "data", "lambdas", "accuracy"),
    [
        ("ndt-01-n3", "imdb", ((0.1506, 0.1436), (0.1841, 0.1604)), 0.8474),
        ("vanilla", "imdb", (), 0.8399),
        ("differential", "imdb", (), 0.842),
    ],
)
def test_runs_of_a_preset_find_their_reported_results(preset, data, lambdas, accuracy):
    found = find_counterpart(preset, compose(preset, {"data.name": data}))
    assert (found.lambdas, found.metrics["accuracy"]) == (lambdas, pytest.approx(accuracy))


@pytest.mark.parametrize("components", [2, 3, 4])
def test_every_ndt_preset_has_metrics_and_lambdas_on_the_four_data_sets(components):
    for case in itertools.product(RANGES, ("imdb", "sst2", "yelp-5", "twitter_financial")):
        preset = f"ndt-{case[0]}-n{components}"
        found = find_counterpart(preset, compose(preset, {"data.name": case[1]}))
        assert [len(layer) for layer in found.lambdas] == [components - 1] * 2, case
        assert set(found.metrics) == {"accuracy", "precision_weighted", "f1_weighted", "roc_auc"}, case
        assert all(0.4 < value < 1 for value in found.metrics.values()), case
        assert len(found.tables) == 2, case


@pytest.mark.parametrize(
    ("preset", "settings", "words"),
    [
        ("ndt-01-n3", {"data.name": "built-in"}, "not built-in"),
        ("differential-v2", {"data.name": "imdb"}, "No paper reports"),
        ("tfidf-logreg", {"data.name": "imdb"}, "No paper reports"),
        ("tweet-v1-p2", {}, "The 7ess-Xin paper reports 195 numbers; they are not matched with runs."),
        ("sentiformer", {}, "The SentiFormer paper reports 51 numbers"),
        ("lexical-all", {}, "The Sentiment Lexical Attention paper reports 135 numbers"),
        ("inceptive-16", {}, "The Inceptive Transformers paper reports 105 numbers"),
        ("ndt-01-n3", {"data.name": "imdb", "model.layers": 3}, "settings differ"),
    ],
)
def test_runs_without_reported_results_get_a_reason(preset, settings, words):
    config = compose(preset, settings)
    assert find_counterpart(preset, config) is None and words in explain_unmatched(preset, config)


def test_other_splits_are_noted_and_run_summaries_have_the_reported_results():
    dev = find_counterpart("ndt-01-n3", compose("ndt-01-n3", {"data.name": "sst2"}))
    again = find_counterpart("ndt-01-n3", compose("ndt-01-n3", {"data.name": "sst2", "data.split": "0.7/0.15/0.15"}))
    whole = find_counterpart("ndt-01-n3", compose("ndt-01-n3", {"data.name": "imdb"}))
    few = find_counterpart("ndt-01-n3", compose("ndt-01-n3", {"data.name": "imdb", "data.limit": 500}))
    assert "keeps the official splits" in dev.note and "Both split" in again.note
    assert whole.note == "" and few.note == "Training was limited to 500 rows."
    open_choices = {"data.name": "imdb", "model.dropout": 0.2, "model.attention.learn_beta": True}
    open_choices["model.attention.lambda_start"] = "0.25"
    assert find_counterpart("ndt-01-n3", compose("ndt-01-n3", open_choices)) is not None
    config = compose("ndt-01-n3", {"data.name": "imdb"})
    told = summarize_run(RunRecord("a", "ndt-01-n3", "done", config, "2026-01-01"))["reported"]
    assert told["lambda"] == [[0.1506, 0.1436], [0.1841, 0.1604]]
    assert told["metrics"]["accuracy"] == pytest.approx(0.8474)
    other = compose("ndt-01-n3", {"data.name": "built-in"})
    assert summarize_run(RunRecord("a", "ndt-01-n3", "done", other, "2026-01-01"))["reported"] is None


def test_quoted_phrases_are_short_and_all_name_their_paper():
    assert {each.paper for each in PAPER_SENTENCES} <= PAPERS.keys()
    assert len({each.text for each in PAPER_SENTENCES}) == len(PAPER_SENTENCES)
    assert all(len(each.text.split()) <= 5 for each in PAPER_SENTENCES if not each.ours)
    assert any(not each.ours for each in PAPER_SENTENCES)
