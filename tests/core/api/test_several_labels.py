"""The command line on a run with several labels per text: what a person reads."""

import re

import pytest
from several import LABELS, indicator_file
from typer.testing import CliRunner

from core.api.printing import out
from core.cli import app

pytestmark = pytest.mark.slow

SMALL = ["model.width=16", "model.ff_width=16", "training.batch_size=8", "training.lr=0.02", "text.min_freq=1"]


@pytest.fixture(scope="module")
def say(tmp_path_factory):
    """say("evaluate", "several") → what is printed; the run `several` is trained."""
    folder = tmp_path_factory.mktemp("cli")
    file = indicator_file(folder / "remarks.csv")
    folders = {f"SENTISCOPE_{name}": str(folder / name) for name in ("RUNS", "CACHE")}

    def call(*words):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(out, "_width", 200)
            result = CliRunner().invoke(app, [str(word) for word in words], env=folders)
        assert result.exit_code == 0, result.output
        return result.output

    settings = [word for setting in [*SMALL, "training.threads=1"] for word in ("--set", setting)]
    call.trained = call("train", "--data", file, "--model", "ndt-01-n2", "--epochs", 8, "--name", "several", *settings)
    call.file = file
    return call


def test_train_ends_with_macro_f1_its_interval_and_what_tuning_changes(say):
    head = next(line for line in say.trained.splitlines() if line.startswith("split"))
    assert re.split(r"\s{2,}", head.strip()) == [
        "split",
        "F1 macro, tuned",
        "95 %",
        "TF-IDF, tuned",
        "at 0.5",
        "TF-IDF at 0.5",
        "F1 micro at 0.5",
        "AUPR",
    ]


def test_evaluate_shows_each_label_at_both_thresholds(say):
    lines = say("evaluate", "several").splitlines()
    assert [line.split()[0] for line in lines if line.split()[0] in LABELS] == list(LABELS)
    assert any(line.startswith("hamming_loss") for line in lines)
    assert next(line for line in lines if line.startswith("metric")).split() == ["metric", "at", "0.5", "tuned"]


def test_predict_and_inspect_name_every_label_with_its_probability(say):
    assert "late 0." in say("predict", "several", "word1 late warm") and "none of them" in say(
        "predict", "several", "word1 word2"
    )
    first = say("inspect", "several", "word1 late warm").splitlines()[0]
    assert first.startswith("late 0.") and ", warm 0." in first


def test_runs_list_has_the_macro_f1_where_there_is_no_accuracy(say):
    lines = say("runs", "list").splitlines()
    assert "test F1 macro" in lines[0]
    assert lines[1].split()[:4] == ["several", "ndt-01-n2", say.file.name, "done"]


def test_data_check_and_card_say_how_labels_are_written_and_how_many_there_are(say):
    checked = say("data", "check", say.file)
    assert "in 3 columns of 0 and 1" in checked
    card = say("data", "card", say.file, "--no-yardstick")
    assert '"labels": {' in card and '"task": "multi"' in card


def test_flip_is_of_one_label_that_goes_or_comes(say):
    shown = say("flip", "several", "word1 late warm", "--target", "late").splitlines()
    shown = [line for line in shown if not line.startswith("reading: ")]
    assert shown[0].startswith("late 0.") and shown[1].startswith("word1 [-late-]") and shown[1].endswith(" warm")
    assert shown[2].startswith("warm 0.")
    assert shown[3].startswith("proven: ")


def test_distance_follows_one_label(say):
    shown = say("distance", "several", "word1 [not] {} late", "--target", "late", "--insert", "so").splitlines()
    assert "P(late) by words between, then without the negation" in shown
    assert [line.split()[0] for line in shown[-2:]] == ["0", "1"]
