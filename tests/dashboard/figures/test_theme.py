"""The colours: one set in two places, readable, and with zero on the page."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dashboard.figures.theme import (
    DARK,
    LIGHT,
    Look,
    blend,
    class_colours,
    contrast,
    diverging,
    ink_shade,
    layer_colour,
    readable,
    sequential,
    shade,
    spread,
    template,
    two_sided,
)

CONFIG = tomllib.loads((Path(__file__).parents[3] / "dashboard" / ".streamlit" / "config.toml").read_text())
THEMES = [("light", LIGHT), ("dark", DARK)]


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_the_page_and_the_charts_have_the_same_colours(name, tokens):
    theme = CONFIG["theme"][name]
    assert theme["backgroundColor"] == tokens.paper
    assert theme["secondaryBackgroundColor"] == tokens.panel
    assert theme["textColor"] == tokens.ink
    assert theme["primaryColor"] == theme["linkColor"] == tokens.accent
    assert (theme["blueColor"], theme["orangeColor"], theme["redColor"]) == (tokens.plus, tokens.minus, tokens.wrong)
    assert theme["grayColor"] == tokens.muted
    assert tuple(theme["chartCategoricalColors"]) == tokens.categories
    assert theme["chartSequentialColors"][0] == tokens.paper


def test_the_server_is_closed_to_others_by_default():
    assert CONFIG["server"]["address"] == "127.0.0.1"
    assert CONFIG["server"]["allowedHosts"] == ["localhost", "127.0.0.1"]
    assert CONFIG["client"]["showErrorDetails"] == "none"
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["runner"] == {"magicEnabled": False, "postScriptGC": False}


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_text_has_enough_contrast(name, tokens):
    for colour in (tokens.ink, tokens.muted, tokens.accent, tokens.plus, tokens.minus, tokens.wrong):
        assert contrast(colour, tokens.paper) >= 4.5
    for colour in (*tokens.categories, *tokens.ordinal, tokens.right):
        assert contrast(colour, tokens.paper) >= 3
    for colour in (*tokens.plus_scale, *tokens.minus_scale):
        assert contrast(readable(tokens, colour), colour) >= 4.5


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_text_on_every_grey_has_enough_contrast(tokens):
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    greys = [tokens.right, tokens.muted, *(f"#{level:02X}{level:02X}{level:02X}" for level in range(256))]
    assert min(contrast(readable(tokens, grey), grey) for grey in greys) >= 4.5
    assert readable(tokens, tokens.paper) == tokens.ink and readable(tokens, tokens.ink) == tokens.paper


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_zero_is_the_page_in_every_scale_and_shades_step_to_full_colour(name, tokens):
    assert sequential(tokens)[0] == [0, tokens.paper]
    assert diverging(tokens)[5] == [0.5, tokens.paper]
    assert shade(tokens, 0.0, 1.0) == shade(tokens, 0.3, 0.0) == tokens.paper
    assert shade(tokens, 0.5, 0.5) == shade(tokens, 9, 0.5) == tokens.plus_scale[5]
    assert shade(tokens, -0.2, 0.5) == tokens.minus_scale[2]


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_what_is_read_is_ink_and_equal_ink_is_equal_weight_on_both_sides(name, tokens):
    upper = [[2 * (place - 0.5), colour] for place, colour in two_sided(tokens)[5:]]
    assert [colour for _, colour in upper] == [colour for _, colour in sequential(tokens)]
    assert [place for place, _ in upper] == pytest.approx([place for place, _ in sequential(tokens)])
    assert [colour for _, colour in two_sided(tokens)] == [colour for _, colour in reversed(two_sided(tokens))]
    assert sequential(tokens)[-1] == [1, tokens.ink]
    assert ink_shade(tokens, -0.4, 1) == ink_shade(tokens, 0.4, 1) == tokens.ink_scale[2]


def test_blend_meets_both_ends_and_the_middle():
    assert blend("#000000", "#FFFFFF", 0) == "#000000"
    assert blend("#000000", "#FFFFFF", 1) == blend("#000000", "#FFFFFF", 7) == "#FFFFFF"
    assert blend("#000000", "#204060", 0.5) == "#102030"


def test_the_deepest_layer_is_the_strongest():
    assert [layer_colour(LIGHT, i, 4) for i in range(4)] == list(LIGHT.ordinal)
    assert layer_colour(LIGHT, 0, 2) == LIGHT.ordinal[0]
    assert layer_colour(LIGHT, 0, 1) == LIGHT.accent


def test_classes_are_coloured_by_sign_where_their_names_or_their_order_have_one():
    assert class_colours(LIGHT, ["negative", "neutral", "positive"]) == [LIGHT.minus, LIGHT.right, LIGHT.plus]
    five = class_colours(LIGHT, ["very negative", "negative", "neutral", "positive", "very positive"])
    assert (five[0], five[4]) == (LIGHT.minus_scale[5], LIGHT.plus_scale[5])
    assert class_colours(LIGHT, ["bearish", "bullish"]) == list(LIGHT.categories[:2])
    assert class_colours(LIGHT, ["bearish", "so so", "bullish"], ordered=True) == [LIGHT.minus, LIGHT.right, LIGHT.plus]
    four = class_colours(LIGHT, list("1234"), ordered=True)
    assert four == [LIGHT.minus_scale[5], LIGHT.minus_scale[4], LIGHT.plus_scale[4], LIGHT.plus_scale[5]]
    many = class_colours(LIGHT, list("abcdefghijk"), ordered=True)
    assert many[5] == LIGHT.right and many[0] == LIGHT.minus_scale[5] and many[-1] == LIGHT.plus_scale[5]


def test_labels_keep_their_distance_and_their_order():
    placed = spread([0.5, 0.51, 0.1], 0.1)
    assert placed[1] - placed[0] == pytest.approx(0.1)
    assert placed[2] == 0.1
    assert spread([], 0.1) == []


def test_a_projector_enlarges_text_and_lines():
    assert template(Look(projector=True)).layout.font.size == pytest.approx(1.3 * template(Look()).layout.font.size)
    assert (Look(projector=True).height(100), Look().height(100)) == (120, 100)
