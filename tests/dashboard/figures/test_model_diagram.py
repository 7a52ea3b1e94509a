"""The diagram of a model: every part and term, in order, complete, in both themes."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from structures import STRUCTURES

from core.models.model_description import list_parts
from core.models.presets import PRESETS
from dashboard.figures.model_diagram import WIDTH, describe_parts, draw_diagram
from dashboard.figures.theme import DARK, LIGHT, Look, compute_contrast

SVG = "{http://www.w3.org/2000/svg}"


def made(name: str):
    return list_parts(PRESETS[name].model, vocabulary=30_000, classes=2)


def drawn(name: str, look: Look = Look()) -> ElementTree.Element:  # noqa: B008 - frozen
    return ElementTree.fromstring(draw_diagram(made(name), look))


@pytest.mark.parametrize("name", STRUCTURES)
def test_parts_and_terms_are_drawn_in_order_without_overlap(name):
    root = drawn(name)
    texts, height = list(root.iter(f"{SVG}text")), float(root.get("viewBox").split()[3])
    words, at = [text.text for text in texts], 0
    for title in (title for part in made(name) for title in (part.title, *(term.name for term in part.terms))):
        at = words.index(title, at) + 1
    boxes = [box for box in root.iter(f"{SVG}rect") if box.get("stroke")]
    edges = [(float(box.get("y")), float(box.get("y")) + float(box.get("height"))) for box in boxes]
    assert all(above[1] < below[0] for above, below in pairwise(edges))
    assert all(0 <= float(text.get("y")) <= height and 0 <= float(text.get("x")) <= WIDTH for text in texts)


def test_each_branch_of_a_layer_returns_to_its_residual_connection():
    for name in ("sentiformer", "sentiformer-no-norm", "tweet-v1-p1"):
        assert len(list(drawn(name).iter(f"{SVG}circle"))) == 2, name
    assert not list(drawn("bilstm").iter(f"{SVG}circle"))


def test_post_norm_follows_the_sum_and_pre_norm_precedes_the_branch():
    def order(name):
        root = drawn(name)
        seen = [(float(each.get("cy")), "+") for each in root.iter(f"{SVG}circle")]
        seen += [(float(t.get("y")), "norm") for t in root.iter(f"{SVG}text") if t.text == "LayerNorm"]
        return [what for _, what in sorted(seen)]

    assert order("tweet-v1-p1") == ["+", "norm", "+", "norm"]
    assert order("vanilla") == ["norm", "+", "norm", "+", "norm"]


def test_alternative_text_describes_the_diagram_and_a_projector_enlarges_it():
    said, root = describe_parts(made("sentiformer")), drawn("sentiformer")
    assert (root.get("aria-label"), root.get("role")) == (said, "img")
    assert "in each of 6 layers Attention, 8 heads, queries of 32, values of 32 with gate (each key" in said
    assert float(drawn("sentiformer", Look(projector=True)).get("width")) == 1.3 * float(root.get("width"))


@pytest.mark.parametrize("dark", [False, True])
def test_words_have_contrast_on_their_boxes(dark):
    tokens = DARK if dark else LIGHT
    for text in drawn("sentiformer", Look(dark=dark)).iter(f"{SVG}text"):
        assert (
            min(compute_contrast(text.get("fill"), tokens.paper), compute_contrast(text.get("fill"), tokens.panel))
            >= 4.5
        )
