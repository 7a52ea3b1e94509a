import shutil

import pytest
from refused import check_raises
from sklearn.metrics import accuracy_score

from core import api
from core.evaluation.intervals import compute_wilson
from core.exceptions import NotAvailable
from core.lessons import accuracy
from core.lessons.accuracy import GUESSING, RUN, build_content
from core.lessons.catalog import read_content

pytestmark = pytest.mark.slow


def test_scores_are_those_of_the_evaluation_and_the_second_model_is_the_best_of_all_on_test(content, starters):
    for split, name in (("test", "test"), ("challenge", "hard")):
        frame = api.runs_predictions(RUN, split, store=starters)
        mark, right = content.figure[name], int((frame["label"] == frame["predicted"]).sum())
        assert mark["value"] == pytest.approx(100 * right / len(frame))
        assert [mark["low"], mark["high"]] == pytest.approx([100 * each for each in compute_wilson(right, len(frame))])
    frames = {each.run: api.runs_predictions(each.run, "test", store=starters) for each in starters.list()}
    scores = {run: accuracy_score(frame["label"], frame["predicted"]) for run, frame in frames.items()}
    assert content.figure["other"]["test"]["value"] == pytest.approx(100 * max(scores.values()))
    assert max(scores, key=scores.get).removeprefix("starter-") in content.stages[3].line


def test_every_harder_sentence_is_a_square_with_its_prediction(content, starters):
    frame = api.runs_predictions(RUN, "challenge", store=starters)
    items = [item for kind in content.figure["kinds"] for item in kind["items"]]
    said = dict(zip(frame["text"], zip(frame["label"], frame["predicted"], strict=True), strict=True))
    assert len(items) == len(frame) and {item["text"]: (item["label"], item["predicted"]) for item in items} == said
    for kind in content.figure["kinds"]:
        assert kind["n"] == len(kind["items"]) and kind["right"] == sum(item["ok"] for item in kind["items"])
        assert all(item["ok"] for item in kind["items"][: kind["right"]]), "wrong squares come last"
    shares = [kind["right"] / kind["n"] for kind in content.figure["kinds"]]
    assert shares == sorted(shares)
    example = content.figure["example"]
    assert not example["ok"] and example["sure"] == max(item["sure"] for item in items if not item["ok"])


def test_the_right_choice_is_the_nearest_and_the_headline_has_its_number(content):
    scores = content.figure["hard"], content.figure["other"]["hard"]
    for question, hard in zip(content.questions, scores, strict=True):
        distances = [abs(value - hard["value"]) for value in content.figure["values"]]
        assert question.right == distances.index(min(distances))
        assert "Your answer is right." in question.choices[question.right].feedback
        assert [choice.option for choice in question.choices] == [0, 1, 2, 3]
    assert content.figure["values"][-1] == 100 * GUESSING and len(set(content.figure["values"])) == 4
    assert content.stages[1].headline.startswith(f"{content.figure['hard']['value']:.0f} of 100.")
    low = [kind["name"] for kind in content.figure["kinds"] if kind["right"] / kind["n"] <= accuracy.BARELY]
    assert low and all(name in content.stages[1].headline for name in low)


def test_a_mixture_lies_on_the_line_between_both_scores(content):
    test, hard = (content.figure[name]["value"] for name in ("test", "hard"))
    mixed = content.figure["mixed"]
    assert len(mixed) == 21 and mixed[0]["accuracy"] == test and mixed[-1]["accuracy"] == pytest.approx(hard)
    for place, each in enumerate(mixed):
        share = 5 * place
        assert each["accuracy"] == pytest.approx(test + (hard - test) * share / 100)
        assert sum(each["wrong"]) == round(100 - each["accuracy"])
        assert f"With {share} hard sentences in 100, it gets {100 - sum(each['wrong'])} right." == each["headline"]
        assert 0 <= each["wrong"][0] <= 100 - share and 0 <= each["wrong"][1] <= share


def test_a_better_second_model_is_called_better(starters, monkeypatch):
    """Seen from the worst run on harder sentences, the best on test helps."""
    monkeypatch.setattr(accuracy, "RUN", "starter-vanilla")
    content = build_content(starters)
    helps = content.figure["other"]["hard"]["value"] > content.figure["hard"]["value"]
    assert ("helped a little" in content.stages[3].finding) == helps


def test_without_its_results_or_its_run_the_lesson_says_what_is_missing(starters, tmp_path, monkeypatch):
    copied = shutil.copytree(starters.get_path(RUN), tmp_path / "starters" / RUN)
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(tmp_path / "starters"))
    check_raises(NotAvailable, "needs a starter run with a better test score", build_content, starters)
    shutil.rmtree(copied / "evaluation" / "challenge")
    check_raises(NotAvailable, "results of starter-ndt-01-n3 on challenge", build_content, starters)
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(tmp_path / "none"))
    check_raises(NotAvailable, f"needs the model {RUN}, and it is not here", build_content, starters)


def test_content_is_kept_until_a_starter_run_changes(starters, tmp_path, monkeypatch):
    folder = shutil.copytree(starters.get_path(RUN).parent, tmp_path / "starters")
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(folder))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    first = read_content("accuracy")
    monkeypatch.setattr(accuracy, "_read_kinds", None)  # what is kept is not computed
    assert read_content("accuracy") == first
    [kept] = (tmp_path / "cache").glob("lesson-accuracy-*")
    kept.write_text("{")  # cut off by a full disk
    monkeypatch.undo()
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(folder))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    assert read_content("accuracy") == first
    path = folder / RUN / "evaluation" / "test" / "metrics.json"
    path.write_text(path.read_text().replace('"n": 3202', '"n": 3200'))
    assert "3\u202f200 test sentences" in read_content("accuracy")["fact"]
