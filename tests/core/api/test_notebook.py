"""What a notebook shows of runs and sentences: facts, numbers and one map; text is never executed."""

import re

import numpy as np
import pytest

from core import api
from core.api import notebook
from core.api.public_classes import Run, Runs, run, runs

pytestmark = pytest.mark.usefixtures("starters")
TYPED = "<script>alert(1)</script> & a good film"


def test_run_shows_its_facts_and_its_scores_on_each_split():
    chosen = run("starter-vanilla")
    page = chosen._repr_html_()
    test, (low, high) = chosen.metrics["test"], chosen.record.results["intervals"]["test"]["accuracy"]
    assert "done, vanilla on built-in, 2\u202f692\u202f354 parameters" in page
    assert repr(chosen).startswith("Run('starter-vanilla': done")
    assert f"<td>test</td><td>{test['accuracy']:.3f}</td><td>{low:.3f} to {high:.3f}</td>" in page
    assert re.findall("<tr><td>([a-z]+)", page) == ["validation", "test", "challenge", "everyday"]


@pytest.mark.slow
def test_runs_are_a_table_of_the_given_runs_newest_first():
    listed = [row["run"] for row in api.runs_list()["runs"]]
    assert re.findall("<tr><td>([a-z0-9-]+)", runs()._repr_html_()) == listed
    assert re.findall("<tr><td>([a-z0-9-]+)", Runs(runs()[2:4])._repr_html_()) == listed[2:4]
    assert repr(runs()).count("\n") == len(listed) - 1
    assert (Runs()._repr_html_(), repr(Runs())) == ("<div>no runs yet</div>", "no runs yet")


@pytest.mark.slow
def test_sentence_shows_text_prediction_bars_and_mean_map_of_the_last_layer():
    said = run("starter-differential").sentence("not bad at all")
    page = said._repr_html_()
    (label, highest) = max(said.prediction["probabilities"].items(), key=lambda pair: pair[1])
    assert f"<strong>{label} {highest:.3f}</strong>" in page
    widths = [float(width) for width in re.findall(r"width:([\d.]+)em;min-width:1px", page)]
    assert widths == [pytest.approx(10 * chance, abs=0.006) for chance in said.prediction["probabilities"].values()]
    shown = np.array([float(weight) for weight in re.findall('title="([+-][0-9.]+)"', page)]).reshape(4, 4)
    np.testing.assert_allclose(shown, said.maps[-1].mean(0), atol=6e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["starter-vanilla", "starter-tweet-v1-p2"])
def test_typed_text_is_escaped(name):
    page = run(name).sentence(TYPED)._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page


def test_reason_of_a_damaged_run_is_escaped(machine):
    folder = machine / "runs" / "broken"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"schema": "<b>"}')
    for shown in (Run("broken"), runs()):
        page = shown._repr_html_()
        assert "broken" in page and "damaged" in page and "<b>" not in page


@pytest.mark.slow
def test_long_text_has_a_note_instead_of_a_map(monkeypatch):
    said = run("starter-vanilla").sentence("a good film")
    assert "sentiscope-map" in said._repr_html_()
    monkeypatch.setattr(notebook, "LONGEST_MAP", 2)
    assert "No map of 3 tokens here" in said._repr_html_() and "sentiscope-map" not in said._repr_html_()
