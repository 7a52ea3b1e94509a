import csv
import shutil

import pytest

from core.api.evaluation import evaluate
from core.api.prediction import predict
from core.exceptions import InputError


@pytest.fixture
def run(store, finished):
    shutil.copytree(finished, store.folder)
    return "mine"


def test_an_edit_of_all_texts_is_the_edit_of_each(store, run, tmp_path):
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


def test_an_edit_of_all_texts_names_no_token(store, run):
    with pytest.raises(InputError, match=r"--edit g1\.1:0"):
        evaluate(run, edit="g1.1:0", store=store)
