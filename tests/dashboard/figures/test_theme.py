"""Colours: equal in Python and CSS, readable, and with zero in the colour of the page."""

import tomllib
from pathlib import Path

import pytest

from dashboard.figures import theme
from dashboard.figures.theme import DARK, LIGHT, Look

CONFIG = tomllib.loads((Path(__file__).parents[3] / "dashboard" / ".streamlit" / "config.toml").read_text())
THEMES = [("light", LIGHT), ("dark", DARK)]


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_page_and_charts_have_the_same_colors(name, tokens):
    page = CONFIG["theme"][name]
    of_page = {"background": "paper", "secondaryBackground": "panel", "text": "ink", "primary": "accent"}
    of_page |= {"link": "accent", "blue": "plus", "orange": "minus", "red": "wrong", "gray": "muted"}
    assert {each: page[f"{each}Color"] for each in of_page} == {k: getattr(tokens, v) for k, v in of_page.items()}
    assert tuple(page["chartCategoricalColors"]) == tokens.categories
    assert page["chartSequentialColors"][0] == tokens.paper


def test_server_is_closed_to_others_by_default():
    assert CONFIG["server"]["address"] == "127.0.0.1"
    assert CONFIG["server"]["allowedHosts"] == ["localhost", "127.0.0.1"]
    assert CONFIG["client"]["showErrorDetails"] == "none"
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["runner"] == {"magicEnabled": False, "postScriptGC": False}


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_text_has_enough_contrast(name, tokens):
    for color in (tokens.ink, tokens.muted, tokens.accent, tokens.plus, tokens.minus, tokens.wrong):
        assert theme.compute_contrast(color, tokens.paper) >= 4.5
    for color in (*tokens.categories, *tokens.ordinal, tokens.right):
        assert theme.compute_contrast(color, tokens.paper) >= 3
    for color in (*tokens.plus_scale, *tokens.minus_scale):
        assert theme.compute_contrast(theme.choose_text_color(tokens, color), color) >= 4.5


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_text_on_every_gray_has_enough_contrast(tokens):
    assert theme.compute_contrast("#000000", "#FFFFFF") == pytest.approx(21)
    grays = [tokens.right, tokens.muted, *(f"#{level:02X}{level:02X}{level:02X}" for level in range(256))]
    assert min(theme.compute_contrast(theme.choose_text_color(tokens, gray), gray) for gray in grays) >= 4.5
    assert (
        theme.choose_text_color(tokens, tokens.paper) == tokens.ink
        and theme.choose_text_color(tokens, tokens.ink) == tokens.paper
    )


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_zero_is_the_background_and_shades_reach_full_color(name, tokens):
    assert theme.make_sequential_scale(tokens)[0] == [0, tokens.paper]
    assert theme.make_diverging_scale(tokens)[5] == [0.5, tokens.paper]
    assert theme.shade_signed(tokens, 0.0, 1.0) == theme.shade_signed(tokens, 0.3, 0.0) == tokens.paper
    assert theme.shade_signed(tokens, 0.5, 0.5) == theme.shade_signed(tokens, 9, 0.5) == tokens.plus_scale[5]
    assert theme.shade_signed(tokens, -0.2, 0.5) == tokens.minus_scale[2]


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_equal_attention_has_equal_ink_on_both_sides(name, tokens):
    upper = [[2 * (place - 0.5), color] for place, color in theme.make_two_sided_scale(tokens)[5:]]
    assert [color for _, color in upper] == [color for _, color in theme.make_sequential_scale(tokens)]
    assert [place for place, _ in upper] == pytest.approx([place for place, _ in theme.make_sequential_scale(tokens)])
    both = [color for _, color in theme.make_two_sided_scale(tokens)]
    assert both == both[::-1]
    assert theme.make_sequential_scale(tokens)[-1] == [1, tokens.ink]
    assert theme.shade_ink(tokens, -0.4, 1) == theme.shade_ink(tokens, 0.4, 1) == tokens.ink_scale[2]


def test_blend_meets_both_ends_and_the_middle():
    assert theme.blend_colors("#000000", "#FFFFFF", 0) == "#000000"
    assert theme.blend_colors("#000000", "#FFFFFF", 1) == theme.blend_colors("#000000", "#FFFFFF", 7) == "#FFFFFF"
    assert theme.blend_colors("#000000", "#204060", 0.5) == "#102030"


def test_deepest_layer_has_the_strongest_color():
    assert [theme.color_layer(LIGHT, i, 4) for i in range(4)] == list(LIGHT.ordinal)
    assert theme.color_layer(LIGHT, 0, 2) == LIGHT.ordinal[0]
    assert theme.color_layer(LIGHT, 0, 1) == LIGHT.accent


def test_classes_are_colored_by_sign_or_order_if_they_have_one():
    assert theme.color_classes(LIGHT, ["negative", "neutral", "positive"]) == [LIGHT.minus, LIGHT.right, LIGHT.plus]
    five = theme.color_classes(LIGHT, ["very negative", "negative", "neutral", "positive", "very positive"])
    assert (five[0], five[4]) == (LIGHT.minus_scale[5], LIGHT.plus_scale[5])
    assert theme.color_classes(LIGHT, ["bearish", "bullish"]) == list(LIGHT.categories[:2])
    three = theme.color_classes(LIGHT, ["bearish", "so so", "bullish"], ordered=True)
    assert three == [LIGHT.minus, LIGHT.right, LIGHT.plus]
    four = theme.color_classes(LIGHT, list("1234"), ordered=True)
    assert four == [LIGHT.minus_scale[5], LIGHT.minus_scale[4], LIGHT.plus_scale[4], LIGHT.plus_scale[5]]
    many = theme.color_classes(LIGHT, list("abcdefghijk"), ordered=True)
    assert many[5] == LIGHT.right and many[0] == LIGHT.minus_scale[5] and many[-1] == LIGHT.plus_scale[5]


def test_spread_labels_keep_their_distance_and_order():
    placed = theme.spread_labels([0.5, 0.51, 0.1], 0.1)
    assert placed[1] - placed[0] == pytest.approx(0.1)
    assert placed[2] == 0.1
    assert theme.spread_labels([], 0.1) == []


def test_projector_enlarges_text_and_lines():
    large, usual = (theme.build_template(look).layout.font.size for look in (Look(projector=True), Look()))
    assert large == pytest.approx(1.3 * usual)
    assert (Look(projector=True).scale_height(100), Look().scale_height(100)) == (120, 100)
