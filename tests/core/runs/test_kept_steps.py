"""Steps of a training whose weights are kept: the model as it was then, from every command that takes edits."""

import shutil
import zipfile

import numpy as np
import pytest
import torch

from core import api
from core.exceptions import InputError
from core.interpret.model_edits import Edits
from core.runs.archive import export_file
from core.runs.load import load_run
from core.runs.store import list_kept_steps

TEXT = "good film, dull and slow"


@pytest.fixture(scope="module")
def kept(trained_on_reviews):
    """The folder of `mine`, which keeps its first step, its last, and the one between."""
    return trained_on_reviews("ndt-01-n2", "mine", **{"training.epochs": 1, "training.keep": 3})


@pytest.fixture
def run(store, kept):
    shutil.copytree(kept.parent, store.folder)
    return "mine"


def test_first_last_and_middle_step_are_kept(kept, store, run):
    steps = store.read(run).progress["steps"]
    assert list_kept_steps(kept) == (0, round(steps / 2), steps)
    loaded = load_run(store, run)
    final, last, first = (loaded.read_step(each).model.state_dict() for each in (None, steps, 0))
    assert all(torch.equal(final[name], last[name]) for name in final), "one epoch: its end is the best"
    assert not all(torch.equal(final[name], first[name]) for name in final) and loaded.read_step(None) is loaded


def test_edits_read_a_kept_step_in_every_command(store, run):
    loaded, line = load_run(store, run), "step:0,h1.1"
    edits = loaded.parse_edits(TEXT, line)
    assert edits == Edits(step=0, heads_off=((0, 0),)) and loaded.parse_edits(TEXT, edits.encode_line()) == edits
    assert Edits(step=0).inside is False and "weights of step 0" in edits.describe_changes()
    wanted = loaded.read_step(0).predict([TEXT], intervene=edits.to_intervention()).probabilities[0]
    assert not np.allclose(wanted, loaded.predict([TEXT]).probabilities[0], atol=1e-4)
    (said,) = api.predict(run, [TEXT], edit=line, store=store)["predictions"]
    for found in (said, api.inspect(run, TEXT, edit=line, store=store)["prediction"]):
        assert list(found["probabilities"].values()) == pytest.approx(wanted.tolist(), abs=1e-6)
    assert loaded.edit_all(line).predict([TEXT]).probabilities[0] == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(InputError, match=r"--edit step:1: this run has .*weights of steps 0, "):
        api.predict(run, [TEXT], edit="step:1", store=store)


def test_a_run_that_keeps_no_step_says_what_can_be_changed(store, run, tmp_path):
    export_file(store, run, tmp_path / "run.zip")
    assert not [name for name in zipfile.ZipFile(tmp_path / "run.zip").namelist() if "steps" in name]
    shutil.rmtree(store.get_path(run) / "steps")
    with pytest.raises(InputError, match=r"--edit step:0: this run has layers"):
        api.predict(run, [TEXT], edit="step:0", store=store)
