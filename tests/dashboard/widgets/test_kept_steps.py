"""Sentence as the model was at a kept step of its training, and the way back."""

import shutil

from pages import press, sentence, text_of

from core.runs.record import STEPS, WEIGHTS
from dashboard.widgets.kept_steps import find_nearest


def test_a_kept_step_is_named_and_left_by_a_button_and_another_is_refused(app, runs):
    shown = text_of(sentence(app, edit="step:4", more=""))
    assert "One change of the link cannot be applied" in shown and "The model at step" not in shown
    folder = runs / "finished"
    (folder / STEPS).mkdir()
    shutil.copy(folder / WEIGHTS, folder / STEPS / "4.safetensors")
    shown = text_of(sentence(app, edit="step:4,h1.1", more=""))
    assert "The model at step 4 of" in shown and "cannot be applied" not in shown
    press(app, "leave-step")
    assert app.query_params["edit"] == "h1.1" and "The model at step" not in text_of(app)


def test_the_nearest_kept_step_is_opened():
    assert [find_nearest((0, 5, 10), asked) for asked in (-1, 2.4, 2.6, 99)] == [0, 0, 5, 10]
