"""`import sentiscope`: core's own objects under a name that a person knows, from any folder."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import sentiscope
from fresh import modules_after

import core.handle
from core import verbs
from core.handle import Run

TRAINED = Path(__file__).resolve().parents[2] / "trained"
METHODS = [name for name, member in vars(Run).items() if inspect.isfunction(member) and not name.startswith("_")]
OF_A_RUN = {"self", "run", "runs", "store"}


def asked_for(function):
    """What a caller may give besides the run: name and default of each parameter."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.name not in OF_A_RUN}


def test_it_gives_the_objects_of_core():
    assert sentiscope.Run is core.handle.Run
    assert sentiscope.train is core.handle.train
    assert sentiscope.presets is verbs.presets


@pytest.mark.slow
def test_a_script_elsewhere_can_import_it(machine):
    code = "import sentiscope; print(sentiscope.runs.__name__, sentiscope.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"runs {core.__version__}\n"


@pytest.mark.slow
def test_neither_a_sentence_nor_a_figure_loads_streamlit(monkeypatch):
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(TRAINED))
    pieces = {
        "sentence": "import sentiscope; run = sentiscope.run('starter-vanilla'); run.sentence('not bad')._repr_html_()",
        "figure": "run.figure('grid', text='not bad')",
    }
    loaded = modules_after(pieces)
    assert "torch" in loaded["sentence"] and "plotly" not in loaded["sentence"]
    assert "plotly" in loaded["figure"] and "streamlit" not in loaded["figure"]


def test_whatever_a_run_offers_is_a_verb_of_the_same_name_and_arguments():
    for name in METHODS:
        verb = getattr(verbs, name, None) or getattr(verbs, f"runs_{name}")
        assert asked_for(getattr(Run, name)) == asked_for(verb), name


def test_training_is_the_verb_of_the_same_arguments():
    assert asked_for(sentiscope.train) == asked_for(verbs.train)


def test_whatever_is_public_tells_what_it_is():
    assert [
        name for name in sentiscope.__all__ if name != "__version__" and not getattr(sentiscope, name).__doc__
    ] == []
