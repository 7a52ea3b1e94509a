"""The drawn steps: formulas as MathML, the visible part of matrices, numbers in formulas, tables."""

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pytest
from seeds import cases
from stepping import TEXT, reader
from structures import QUICK, STRUCTURES

from core.interpret.forward_pass import compute_stages
from core.interpret.forward_stages import Dot, ForwardStage, ForwardStages, StageMatrix, name_dimensions
from core.models.presets import PRESETS
from core.text.text_pairs import join_pair
from core.training.temperature import Scaling
from dashboard.figures import forward_pass
from dashboard.figures.drawing import ASSETS
from dashboard.figures.forward_pass import DIMENSIONS, DRAWN, STEPS, StageView, build_step_table, write_mathml
from dashboard.figures.theme import DARK, LIGHT, Look, compute_contrast


def pairs(many: int) -> StageMatrix:
    """Scores of so many tokens, from −1 upwards."""
    names = tuple(f"w{i}" for i in range(many))
    left = np.arange(many, dtype=float)[:, None] - 1
    return StageMatrix("s", left @ np.ones((1, many)), names, names, "score", Dot(left, np.ones((1, many))))


def shown(*matrices: StageMatrix, key: str = "scores") -> StageView:
    stage = ForwardStage(key, "Scores", (r"s_{ij} = \frac{q_i\cdot k_j}{\sqrt{32}}",), "Row i asks.", matrices)
    empty = ForwardStage("terms", "Terms", (), "This model has none.")
    return StageView(ForwardStages("a b", ("a", "b"), (stage, empty), 2, 1, 0, 2, 4, 3, ()), key)


def test_stage_has_formula_numbers_and_their_origin_and_a_position_in_words():
    data = forward_pass._draw_stages(shown(pairs(3)), Look()).data
    stage, empty = data["stages"]
    assert stage["formulas"][0].startswith("<math ") and empty["matrices"] == [] and data["at"] == "scores"
    (matrix,) = stage["matrices"]
    assert matrix["cells"][2] == [1.0, 1.0, 1.0] and (matrix["low"], matrix["top"]) == (-1.0, 1.0)
    assert matrix["fills"][0][1] == "(−1.00)·1.00 = −1.00"
    assert shown(pairs(2)).place == STEPS.resolve_text(STEPS.note, shown(pairs(2))) == "layer 2, head 1, A₀"
    script = (ASSETS / "steps.js").read_text()
    assert "innerHTML" not in script and "insertAdjacent" not in script


def test_long_texts_draw_their_first_tokens_and_maps_of_a_stage_share_their_scale():
    long = shown(pairs(DRAWN + 5))
    (matrix,) = forward_pass._draw_stages(long, Look()).data["stages"][0]["matrices"]
    assert len(matrix["rows"]) == len(matrix["columns"]) == len(matrix["cells"]) == len(matrix["fills"][0]) == DRAWN
    assert long.left_out == "The first 16 of 21 tokens are drawn; all are computed."
    assert long.left_out in STEPS.resolve_text(STEPS.reading, long)
    assert len(build_step_table(long.steps)) == (DRAWN + 5) ** 2 and shown(pairs(DRAWN)).left_out == ""
    vector = StageMatrix("x", np.full((2, 32), -2.0), ("a", "b"), name_dimensions(32))
    (matrix,) = forward_pass._draw_stages(shown(vector), Look()).data["stages"][0]["matrices"]
    assert matrix["columns"] == [str(i) for i in range(1, DIMENSIONS + 1)] and matrix["note"] == "8 of 32"
    assert matrix["top"] == 2.0 and matrix["fills"][1][0] == "−2.00"
    small, large = (StageMatrix("A", np.full((2, 2), top), ("a", "b"), ("a", "b"), "weight") for top in (0.25, 0.5))
    drawn = forward_pass._draw_stages(shown(small, large, key="softmax"), Look()).data["stages"][0]["matrices"]
    assert [each["top"] for each in drawn] == [0.5, 0.5]
    score = StageMatrix("s", np.array([[1.0, -np.inf]]), ("a",), ("a", "b"), "score")
    (hidden,) = forward_pass._draw_stages(shown(score), Look()).data["stages"][0]["matrices"]
    assert hidden["cells"] == [[1.0, None]] and hidden["low"] == 1.0


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_numbers_are_readable_on_each_shade(tokens):
    for background, ink in forward_pass._draw_stages(shown(pairs(2)), Look(dark=tokens is DARK)).data["shades"]:
        assert compute_contrast(ink, background) >= 4.5


def inside(latex: str) -> str:
    """Without the element around it."""
    found = write_mathml(latex)
    ElementTree.fromstring(found)
    return found.removeprefix('<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow>').removesuffix("</mrow></math>")


@pytest.mark.parametrize(
    ("latex", "markup"),
    [
        ("q_i", "<msub><mi>q</mi><mi>i</mi></msub>"),
        ("x^2", "<msup><mi>x</mi><mrow><mn>2</mn></mrow></msup>"),
        ("s'_{ij}", "<msubsup><mi>s</mi><mrow><mi>i</mi><mi>j</mi></mrow><mrow><mo>′</mo></mrow></msubsup>"),
        (r"\sqrt{32}", "<msqrt><mrow><mn>32</mn></mrow></msqrt>"),
        (r"\operatorname{ReLU}", "<mtext>ReLU</mtext>"),
        (r"\text{for } j", "<mtext>for </mtext><mi>j</mi>"),
        (r"\tfrac{1}{T}", "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>T</mi></mrow></mfrac>"),
        ("a-1", '<mi>a</mi><mo stretchy="false">−</mo><mn>1</mn>'),
    ],
)
def test_all_commands_of_our_formulas_are_supported(latex, markup):
    assert inside(latex) == markup


def test_letters_and_numbers_are_kept_and_markup_characters_are_escaped():
    formula = r"s_{ij} = \frac{q_i\cdot k_j}{\sqrt{32}} + \log g_j"
    assert "".join(ElementTree.fromstring(write_mathml(formula)).itertext()) == "sij=qi·kj32+loggj"
    assert inside("a<b") == '<mi>a</mi><mo stretchy="false">&lt;</mo><mi>b</mi>'
    assert "<script" not in inside(r"\text{<script>}")


@pytest.mark.parametrize("latex", [r"\unheard", "a_{i", "a}", "a_", r"\text i"])
def test_unknown_commands_are_refused(latex):
    with pytest.raises(ValueError, match=r"known|bracket|missing"):
        write_mathml(latex)


@pytest.mark.parametrize("task", ["single", "multi"])
@pytest.mark.parametrize("prior", [(), (0.7, 0.2, 0.1)])
def test_all_formulas_of_temperatures_and_tfidf_pairs_are_supported(task, prior):
    check("vanilla", task=task, scaling=Scaling(1.7, prior))
    check("tfidf-logreg", text=join_pair("good film", "bad film"))


@pytest.mark.parametrize("preset", cases((name for name in STRUCTURES if name != "pretrained"), QUICK))
def test_all_formulas_of_all_presets_are_supported(preset):
    check(preset)
    if preset in ("lexical-last", "lexical-hadamard"):
        part = dataclasses.replace(PRESETS["lexical-all"].model.attention, lexicons=2)
        check("lexical-all", attention=dataclasses.replace(part, lexical=PRESETS[preset].model.attention.lexical))


def check(preset, **given):
    for stage in compute_stages(reader(preset, **given), TEXT).stages:
        for formula in (*stage.formulas, *(matrix.name for matrix in stage.matrices)):
            ElementTree.fromstring(write_mathml(formula))
