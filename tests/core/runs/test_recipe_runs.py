"""A recipe from the command to the record."""

import io

import pytest
from rich.console import Console
from tiny_runs import TINY

from core.api import training
from core.api.printing import TrainingProgress
from core.api.training import train
from core.recipes import RECIPES
from core.runs.load import load_run
from core.runs.sweep import Plan, list_members
from core.runs.train_overlap import encode_texts

SMALL = {**TINY, "model.ngram_buckets": 50, "training.epochs": 1, "data.limit": 60}


@pytest.mark.slow
def test_a_recipe_run_reads_letters_of_unknown_words(store, table, monkeypatch, tmp_path):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")
    settings = {**SMALL, "training.teacher": ""}
    done = train(str(table), "vanilla", settings, recipe="strong", name="mine", store=store)
    record = store.read("mine")
    assert (done["recipe"], record.recipe, record.left_out) == ("strong", "strong", {})
    assert record.config.training.vectors == "ppmi" and record.config.model.ngram_buckets == 50
    run = load_run(store, "mine")
    assert record.parameters == sum(each.numel() for each in run.model.parameters())
    first, second = run.predict(["good zzzzqq", "good xxyyww"]).logits  # one to a model that knows <unk> alone
    assert abs(first - second).max() > 1e-6
    keys = encode_texts(run.tokenizer, ["good zzzzqq", "good xxyyww", "GOOD  zzzzqq"]).keys
    assert keys[0] != keys[1] and keys[0] == keys[2]


def test_a_sweep_has_a_recipe_for_every_preset():
    found = list_members(Plan("study", ("vanilla", "tweet-v1-p1", "tfidf-logreg"), recipe="strong"))
    assert [each.config.model.ngram_buckets for each in found] == [20_000, 0, 0]
    assert [len(each.recipe.left_out) for each in found] == [0, 1, len(RECIPES["strong"].settings)]
    assert Plan("study").recipe == ""


def test_settings_left_out_of_a_recipe_are_recorded(store, table, monkeypatch):
    monkeypatch.setattr(training, "resume", lambda run, **how: how["on_event"])
    told = []
    training.train(str(table), "tweet-v1-p1", recipe="strong", name="mine", store=store, on_event=told.append)
    left_out = store.read("mine").left_out
    assert list(left_out) == ["model.ngram_buckets"]
    assert told == [{"kind": "recipe", "recipe": "strong", "left_out": left_out}]
    shown = Console(file=io.StringIO(), width=40)
    TrainingProgress(shown).print_event(told[0])
    assert shown.file.getvalue().startswith("recipe strong, without model.ngram_buckets: model.ngram_buckets=20000:")
