"""The lesson on λ: courses of λ, measured numbers of answers, and one sentence in three models."""

import json

import pytest
from starters import STARTERS

from core.lessons import lambdas
from core.lessons.lambdas import FACTORS, FILE, FREE_RUN, LABELS, OPTIONS, RUNS, SETTINGS, USUAL_RUN
from core.models.trace import Intervention
from core.runs.attention_files import PartEffects
from core.runs.evaluation_data import DataRequest, read_evaluation_data
from core.runs.load import load_run
from core.runs.part_importance import measure_edit
from core.runs.store import RunStore

pytestmark = pytest.mark.slow


def test_a_choice_counts_by_its_distance_from_the_measured_number():
    for n, order in ((0, (0, 1, 2, 3)), (5, (1, 0, 2, 3)), (15, (3, 2, 0, 1)), (90, (3, 2, 1, 0))):
        question = lambdas._build_question("How many?", n, "Why.")
        assert [choice.option for choice in question.choices] == list(order) and order[question.right] == 0
        assert [choice.label for choice in question.choices] == list(LABELS) and len(OPTIONS) == len(LABELS)
        assert [one.feedback.startswith("You found it.") for one in question.choices].index(True) == question.right


@pytest.mark.parametrize(("name", "run"), [("first", FREE_RUN), ("usual", USUAL_RUN)])
def test_changed_answers_are_those_of_the_edit_in_the_starter(content, name, run):
    loaded = load_run(RunStore(STARTERS), run)
    given = read_evaluation_data(loaded.record, DataRequest(split="test", limit=500))
    shown, single = content.figure[name], measure_edit(loaded, loaded.edit_all("l:0"), given)
    assert (shown["texts"], shown["changed"]["every λ at 0"]) == (single["rows"], single["changed"])
    assert shown["zero"] == round(100 * single["changed"] / single["rows"])
    final = [value for layer in loaded.record.results["lambda"] for value in layer]
    assert len(shown["lines"]) == len(final) and shown["steps"][0] == 0


def test_what_the_lesson_says_and_draws_is_true_of_the_starters_and_the_recorded_trainings(content):
    first, usual, falling = (content.figure[name] for name in ("first", "usual", "falling"))
    assert first["moved"] > 0.5 and first["zero"] >= 8 and usual["moved"] < 0.05 and usual["zero"] < first["zero"] / 2
    assert falling["moved"] > 0.2 and falling["zero"] <= 2
    assert max(line[-1] for line in falling["lines"].values()) < 0.05
    assert [each.choices[each.right].label for each in content.questions] == ["8 to 20 of 100", "0 to 2 of 100"]
    longer = json.loads(FILE.read_text())["longer"]
    assert longer["moved"] > 0.5 and longer["changed"]["every λ at 0"] < 0.06 * longer["texts"]
    assert longer["changed"]["all heads off"] > 0.3 * longer["texts"], "the first map does the work, not none"
    shown = content.figure["sentence"]
    zero, trained = (shown["positive"][0][FACTORS.index(factor)] for factor in (0, 1))
    assert (zero >= 0.5) != (trained >= 0.5)
    for run, line in zip(RUNS, shown["positive"], strict=True):
        loaded = load_run(RunStore(STARTERS), run)
        for place in (0, 7, 20):
            assert loaded.inspect(shown["text"], Intervention(lambda_scale=FACTORS[place])).probabilities[
                "positive"
            ] == pytest.approx(line[place], abs=1e-3)


def test_a_training_is_recorded_as_the_file_has_it(monkeypatch):
    monkeypatch.setattr(PartEffects, "find", lambda self, tell: {"texts": 1, "effects": []})
    preset, settings = SETTINGS["falling"]
    found = lambdas.record_training(preset, settings | {"data.limit": 300, "training.epochs": 1})
    kept = json.loads(FILE.read_text())["falling"]
    assert found.keys() == kept.keys() and found["lines"].keys() == kept["lines"].keys()
    assert [line[0] for line in found["lines"].values()] == pytest.approx([0.25] * 4, abs=0.01)
    assert found["steps"][0] == kept["steps"][0] == 0 and len(found["steps"]) > 5
