"""The notebooks of README: stored without outputs, and every cell runs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from core.runs.store import RunStore

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted(Path(__file__).parent.glob("*.ipynb"))
EVERY = pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
HTML, PLOTLY = "text/html", "application/vnd.plotly.v1+json"


@EVERY
def test_notebook_is_stored_without_outputs(file):
    cells = nbformat.read(file, as_version=4).cells
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


def shown(notebook, kind):
    """The outputs of cells of one type, in order."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def test_first_run_notebook_shows_runs_sentence_and_figures_and_trains(machine, monkeypatch):
    monkeypatch.delenv("SENTISCOPE_STARTERS")
    notebook = nbformat.read(Path(__file__).parent / "first_run.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(".to_csv(", ".head(1200).to_csv(")  # of 3,202 rows: 1/3 of the time
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": machine}}).execute()
    pages = shown(notebook, HTML)
    assert "starter-ndt-01-n3</td>" in pages[0]
    assert any("min-width:1px" in page for page in pages)  # a bar of a probability
    assert [figure["layout"]["title"]["text"].partition(",")[0] for figure in shown(notebook, PLOTLY)] == [
        "Kinds of sentences",
        "All heads",
        "Training curves",
    ]
    own = [record for record in RunStore().list() if not record.run.startswith("starter-")]
    assert [record.status for record in own] == ["done"] and own[0].results["metrics"]["test"]["accuracy"] > 0.5
    streams = [each for cell in notebook.cells for each in cell.get("outputs", []) if each["output_type"] == "stream"]
    told = "".join(each["text"] for each in streams if each["name"] == "stdout").splitlines()
    assert [line[:8] for line in told if line[:5] == "epoch"] == [f"epoch {number}:" for number in (1, 2, 3, 4)]
    assert not [line for line in told if "%" in line], "no bar, which a notebook cannot move"
