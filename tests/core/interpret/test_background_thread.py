import threading

import finished
import numpy as np
import pytest
from refused import check_raises
from small_readers import TEXT, reader

from core.interpret.ablation import patch_activations, silence_parts
from core.interpret.attribution import explain_text
from core.interpret.background_thread import BackgroundThread, WorkStopped
from core.interpret.faithfulness import measure_sentence
from core.interpret.negation_templates import fill_template, predict_template
from core.runs.load import LoadedRun

LONG = " ".join([TEXT] * 12)


def run_three_steps(known: BackgroundThread[str], told: list[str], stop_at: str = ""):
    def found(tell):
        for name in ("deletion", "attention", "gradient"):
            tell(name, None)
            told.append(name)
            if name == stop_at:
                known.request_stop()
            yield name

    return found


def test_a_stopped_thread_keeps_its_partial_results():
    known, told = BackgroundThread[str](), []
    known.run_steps(run_three_steps(known, told, "attention"))
    assert told == ["deletion", "attention"] and known.found == "attention" and not known.whole
    known.start_and_wait(run_three_steps(known, told))
    assert told == ["deletion", "attention"], "what was stopped is not asked again by itself"
    known.allow_restart()
    known.start_and_wait(run_three_steps(known, told))
    assert known.whole and known.found == "gradient" and not known.running
    known.start_and_wait(run_three_steps(known, told))
    assert len(told) == 5, "what is whole is not asked again"


def test_a_second_caller_waits_for_the_running_thread():
    known, go, began = BackgroundThread[int](), threading.Event(), []

    def found(tell):
        began.append(1)
        go.wait(10)
        yield 7

    known.start_and_wait(found, 0.0)
    assert known.running and known.found is None
    known.start_and_wait(found, 0.0)
    go.set()
    known.start_and_wait(found)
    assert began == [1] and known.found == 7 and known.whole


def test_progress_belongs_to_the_last_reported_step():
    known = BackgroundThread[str]()
    known.report_progress("deletion", None)
    assert known.share is None
    known.report_progress("", 0.25)
    assert (known.what, known.share) == ("deletion", 0.25)
    known.report_progress("shapley", 0.5)
    known.report_progress("", 0.1)
    assert (known.what, known.share) == ("shapley", 0.5)


def test_errors_reach_the_waiting_caller_and_the_next_call_restarts():
    known = BackgroundThread[str]()

    def fails(tell):
        raise OSError("no such weights")
        yield ""

    for _ in range(2):
        check_raises(OSError, "no such weights", known.start_and_wait, fails)
    known.start_and_wait(lambda tell: iter(["found"]))
    assert known.found == "found" and known.whole


ASKED = {
    "pushes": lambda run: explain_text(run.make_reader(), LONG).pushes,
    "shapley": lambda run: explain_text(run.make_reader(), TEXT, "shapley").pushes,
    "integrated": lambda run: explain_text(run.make_reader(), TEXT, "integrated").pushes,
    "parts": lambda run: np.array([(part.zero, part.mean) for part in silence_parts(run.make_reader(), LONG).parts]),
    "lambdas": lambda run: np.concatenate([curve.log_odds for curve in run.measure_lambdas(LONG).curves]),
    "patches": lambda run: np.array(
        [each.moved for each in patch_activations(run.make_reader(), LONG, LONG.replace("good", "bad")).patches]
    ),
    "reach": lambda run: (
        predict_template(
            run.make_reader(), fill_template("The film was [not] {} good.", "very " * 20), "yes"
        ).probabilities
    ),
    "own": lambda run: np.array(list(measure_sentence(run.make_reader(), TEXT, "deletion").tests.values()), float),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_work_stops_on_request_and_the_model_is_unchanged(name, tmp_path):
    lent = reader("ndt-01-n3", max_length=256)
    run = LoadedRun(finished.run("one"), lent.model, lent.tokenizer, tmp_path)
    before, told = ASKED[name](run), []
    np.testing.assert_allclose(ASKED[name](run.copy_with_progress(lambda *how: told.append(how))), before, atol=1e-5)
    assert all(share is None or 0 <= share <= 1 for _, share in told)

    def until(many):
        left = many

        def tell(what, share):
            nonlocal left
            left -= 1
            if left < 0:
                raise WorkStopped

        return tell

    for many in {0, len(told) // 2, len(told) - 1}:
        check_raises(WorkStopped, None, ASKED[name], run.copy_with_progress(until(many)))
    np.testing.assert_array_equal(ASKED[name](run), before)
