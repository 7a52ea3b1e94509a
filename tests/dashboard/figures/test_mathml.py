"""Formulas as MathML: known commands are converted, unknown commands raise errors."""

import dataclasses
from xml.etree import ElementTree

import pytest
from cases import cases
from stepping import TEXT, reader
from structures import QUICK, STRUCTURES

from core.interpret.forward_pass import compute_stages
from core.models.presets import PRESETS
from core.text.text_pairs import join_pair
from core.training.temperature import Scaling
from dashboard.figures.mathml import write_mathml


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
    words = "".join(
        ElementTree.fromstring(write_mathml(r"s_{ij} = \frac{q_i\cdot k_j}{\sqrt{32}} + \log g_j")).itertext()
    )
    assert words == "sij=qi·kj32+loggj"
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
