import csv

import numpy as np
import pytest
from refused import check_raises

from core.api.evaluation import evaluate
from core.api.prediction import predict
from core.evaluation.comparison import McNemar
from core.exceptions import InputError
from core.runs.evaluation_data import DataRequest, read_evaluation_data


def test_an_edit_of_all_texts_is_the_edit_of_each_and_names_no_token(store, run, tmp_path):
    usual, edited = (evaluate(run, limit_test=40, edit=edit, store=store) for edit in ("", "h1.1"))
    found = edited["edited"]
    assert (found["edit"], found["rows"]) == ("h1.1", usual["n"])
    assert (found["trained"], found["edited"]) == (usual["metrics"]["accuracy"], edited["metrics"]["accuracy"])
    assert found["difference"] == pytest.approx(found["edited"] - found["trained"])
    assert found["interval"][0] <= found["difference"] <= found["interval"][1]
    texts = ["a good film", "The BAD film was long", ""]
    file = tmp_path / "texts.csv"
    with file.open("w") as stream:
        csv.writer(stream).writerows([["text"], *([text] for text in texts[:2])])
    alone = [predict(run, texts=[text], edit="h1.1", store=store)["predictions"][0] for text in texts[:2]]
    whole = predict(run, file=file, edit="h1.1", store=store)
    assert whole["edit"] == "h1.1"
    for one, each in zip(alone, whole["predictions"], strict=True):
        assert each["probabilities"] == pytest.approx(one["probabilities"], abs=1e-6)
    for edit in ("g1.1:0", "h1.1,g1.1:0"):
        said = rf"--edit {edit.split(',')[-1]}: this names a word of one text; an edit of many texts names parts"
        check_raises(InputError, said, evaluate, run, edit=edit, store=store)
    check_raises(InputError, r"--edit h9\.1: this run has layers 1 to", evaluate, run, edit="h9.1", store=store)


def test_the_answers_that_an_edit_changes_are_those_of_the_loop_of_single_edits(store, run):
    found = evaluate(run, limit_test=30, edit="h1.1,t:0.5", store=store)["edited"]
    rows = read_evaluation_data(store.read(run), DataRequest(limit=30)).rows
    pairs = []
    for text, label in zip(rows["text"], rows["label"], strict=True):
        answers = [predict(run, [text], edit=x, store=store)["predictions"][0]["label"] for x in ("", "h1.1,t:0.5")]
        pairs.append([answers[0] != answers[1], *(store.read(run).classes[label] == each for each in answers)])
    changed, trained, edited = np.array(pairs).T
    assert (found["changed"], found["trained"], found["edited"]) == (changed.sum(), trained.mean(), edited.mean())
    lost, won = int((trained & ~edited).sum()), int((edited & ~trained).sum())
    assert found["interval"] == pytest.approx(McNemar(won, lost, len(rows)).compute_interval(0.05))
