"""Similarity of the layers of two runs: the stored vectors against numpy, the command, and its figure."""

import numpy as np
import pytest

from core.api import public as sentiscope
from core.exceptions import InputError, NotAvailable
from core.runs.projections import LayerFiles, compare_layers
from dashboard.figures.compare_sentences import CKA, describe_similarity
from dashboard.figures.figure import Source
from dashboard.figures.theme import Look
from dashboard.reader import Reader

pytestmark = pytest.mark.slow

RUNS = "starter-vanilla", "starter-ndt-01-n3"


def test_layers_of_two_starters_are_compared_on_the_same_sentences(starters):
    here, other = (LayerFiles.from_run(starters, run, "challenge") for run in RUNS)
    with pytest.raises(NotAvailable, match="its layers have not been read: sentiscope layers starter-vanilla"):
        compare_layers(here, other)
    found = sentiscope.run(RUNS[0]).layers(split="challenge", against=RUNS[1])["cka"]
    assert found["stages"] == [["embedding", "layer 1", "layer 2", "layer 3"]] * 2 and found["run"] == RUNS[1]
    (rows, own), (same, theirs) = (each.load_vectors("layer 3") for each in (here, other))
    assert np.array_equal(rows, same) and len(rows) == found["rows"]
    x, y = (each.astype(float) - each.astype(float).mean(0) for each in (own, theirs))
    below = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    assert found["values"][3][3] == pytest.approx(np.linalg.norm(x.T @ y) ** 2 / below, abs=1e-9)
    itself = compare_layers(here, here).values
    assert np.diag(itself) == pytest.approx(1) and itself == pytest.approx(itself.T)
    with pytest.raises(InputError, match="not of the same sentences"):
        compare_layers(here, LayerFiles.from_run(starters, RUNS[1], "test"))
    reader = Reader(starters)
    shape = CKA.read_data(Source(starters.read(RUNS[0]), reader, others=[starters.read(RUNS[1])], split="challenge"))
    figure = CKA.draw(shape, Look())
    assert figure.data[0].z == pytest.approx(np.array(found["values"])) and len(figure.layout.annotations) == 16
    assert describe_similarity(shape).endswith(f"CKA {found['values'][3][3]:.2f}.")
    assert list(CKA.build_tables(shape)["CKA"]["layer"]) == found["stages"][0]
    with pytest.raises(NotAvailable, match="name another with --against"):
        CKA.read_data(Source(starters.read(RUNS[0]), reader, split="challenge"))
