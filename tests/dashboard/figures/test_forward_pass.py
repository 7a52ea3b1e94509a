"""The drawn steps: formulas, the visible part of matrices, numbers in formulas, tables."""

import numpy as np
import pytest

from core.interpret.forward_stages import Dot, ForwardStage, ForwardStages, StageMatrix, name_dimensions
from dashboard.figures.drawing import ASSETS
from dashboard.figures.forward_pass import DIMENSIONS, DRAWN, STEPS, StageView, _draw_stages, build_step_table
from dashboard.figures.theme import DARK, LIGHT, Look, compute_contrast


def pairs(many: int) -> StageMatrix:
    """Scores of so many tokens, from −1 upwards."""
    names = tuple(f"w{i}" for i in range(many))
    left = np.arange(many, dtype=float)[:, None] - 1
    return StageMatrix("s", left @ np.ones((1, many)), names, names, "score", Dot(left, np.ones((1, many))))


def shown(*matrices: StageMatrix, key: str = "scores") -> StageView:
    stage = ForwardStage(key, "Scores", (r"s_{ij} = \frac{q_i\cdot k_j}{\sqrt{32}}",), "Row i asks.", matrices)
    empty = ForwardStage("terms", "Terms", (), "This model has none.")
    steps = ForwardStages("a b", ("a", "b"), (stage, empty), 2, 1, 0, 2, 4, 3, ())
    return StageView(steps, key)


def test_stage_has_its_formula_as_mathml_its_numbers_and_their_origin():
    data = _draw_stages(shown(pairs(3)), Look()).data
    stage, empty = data["stages"]
    assert stage["formulas"][0].startswith("<math ") and empty["matrices"] == [] and data["at"] == "scores"
    (matrix,) = stage["matrices"]
    assert matrix["cells"][2] == [1.0, 1.0, 1.0] and (matrix["low"], matrix["top"]) == (-1.0, 1.0)
    assert matrix["fills"][0][1] == "(−1.00)·1.00 = −1.00"


def test_long_text_draws_its_first_tokens_with_a_note():
    long = shown(pairs(DRAWN + 5))
    (matrix,) = _draw_stages(long, Look()).data["stages"][0]["matrices"]
    assert len(matrix["rows"]) == len(matrix["columns"]) == len(matrix["cells"]) == len(matrix["fills"][0]) == DRAWN
    assert long.left_out == "The first 16 of 21 tokens are drawn; all are computed."
    assert long.left_out in STEPS.resolve_text(STEPS.reading, long)
    assert len(build_step_table(long.steps)) == (DRAWN + 5) ** 2
    assert shown(pairs(DRAWN)).left_out == ""


def test_vector_draws_its_first_numbers():
    vector = StageMatrix("x", np.full((2, 32), -2.0), ("a", "b"), name_dimensions(32))
    (matrix,) = _draw_stages(shown(vector), Look()).data["stages"][0]["matrices"]
    assert matrix["columns"] == [str(i) for i in range(1, DIMENSIONS + 1)] and matrix["note"] == "8 of 32"
    assert matrix["top"] == 2.0 and matrix["fills"][1][0] == "−2.00"


def test_maps_of_a_stage_share_their_scale_and_hidden_scores_have_no_ink():
    small, large = (StageMatrix("A", np.full((2, 2), top), ("a", "b"), ("a", "b"), "weight") for top in (0.25, 0.5))
    drawn = _draw_stages(shown(small, large, key="softmax"), Look()).data["stages"][0]["matrices"]
    assert [each["top"] for each in drawn] == [0.5, 0.5]
    score = StageMatrix("s", np.array([[1.0, -np.inf]]), ("a",), ("a", "b"), "score")
    (hidden,) = _draw_stages(shown(score), Look()).data["stages"][0]["matrices"]
    assert hidden["cells"] == [[1.0, None]] and hidden["low"] == 1.0


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_numbers_are_readable_on_each_shade(tokens):
    for background, ink in _draw_stages(shown(pairs(2)), Look(dark=tokens is DARK)).data["shades"]:
        assert compute_contrast(ink, background) >= 4.5


def test_position_is_described_in_words_that_become_text_nodes():
    assert shown(pairs(2)).place == STEPS.resolve_text(STEPS.note, shown(pairs(2))) == "layer 2, head 1, A₀"
    script = (ASSETS / "steps.js").read_text()
    assert "innerHTML" not in script and "insertAdjacent" not in script
