"""What a click answers is in the window where it was clicked, and what others train is noticed without a reload."""

from __future__ import annotations

import pytest
from browsing import settle, visit
from playwright.sync_api import Page, Route, expect

from core.config import compose

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def within(page: Page, selector: str) -> bool:
    """Whether the upper end of this lies in the window."""
    box = page.locator(selector).bounding_box()
    return box is not None and 0 <= box["y"] <= page.evaluate("innerHeight") - 60


def test_the_sentences_of_a_clicked_cell_are_in_the_window(browser, server):
    page, complaints = visit(browser, server)
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{server}/performance?run=finished")  # anew: figures that were cleared have other keys
        page.locator(".st-key-fig-confusion .bars .point").first.wait_for()
        settle(page)
        page.locator(".st-key-fig-confusion .bars .point").first.click(force=True)  # Plotly lays a surface over it
        expect(page.get_by_text("of 16 sentences")).to_be_visible()
        settle(page)
        assert within(page, ".st-key-selection")
        if width == 1440:  # beside what was clicked, not below it
            bar, matrix = (page.locator(f".st-key-{key}").bounding_box() for key in ("selection", "fig-confusion"))
            assert bar["x"] > matrix["x"] + matrix["width"] and bar["y"] < matrix["y"] + matrix["height"]
        page.get_by_role("button", name="Clear", exact=True).click()
        expect(page.get_by_text("of 16 sentences")).to_be_hidden()
        settle(page)
        bars = page.locator(".st-key-fig-confidence .bars .point").filter(visible=True)  # most are empty
        bars.first.click(force=True)
        expect(page.locator(".st-key-selection")).to_contain_text("of 16 sentences")
        settle(page)
        chart, below = (page.locator(f".st-key-{key}").bounding_box() for key in ("fig-confidence", "selection"))
        assert chart is not None and below is not None
        assert below["y"] >= chart["y"] + chart["height"] - 1 and below["x"] < chart["x"] + chart["width"]
        assert within(page, ".st-key-selection")
        page.get_by_role("button", name="Clear", exact=True).click()
        expect(page.get_by_text("of 16 sentences")).to_be_hidden()
    assert complaints == []


def test_the_sentences_drawn_around_on_the_map_are_in_the_window(browser, server):
    page, complaints = visit(browser, server, width=1024)
    page.goto(f"{server}/embeddings?run=finished")
    plot = page.locator("[class*=st-key-fig-map-] .nsewdrag").first
    plot.wait_for()
    settle(page)
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    left, top, right, bottom = box["x"] + 5, box["y"] + 5, box["x"] + box["width"] - 5, box["y"] + box["height"] - 5
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(*corner, steps=4)
    page.mouse.up()
    expect(page.get_by_text("16 of 16 sentences")).to_be_visible()
    settle(page)
    assert within(page, ".st-key-selection") and complaints == []


def test_the_place_of_a_figure_is_filled_while_what_draws_it_is_on_its_way(browser, server):
    page, _ = visit(browser, server)
    waiting: list[Route] = []
    page.route("**/PlotlyChart*.js", lambda route: waiting.append(route))
    page.goto(f"{server}/performance?run=finished")
    place = page.locator(".st-key-fig-confusion")
    expect(place.get_by_test_id("stSkeleton")).to_be_visible()
    skeleton = place.get_by_test_id("stSkeleton")
    page.wait_for_function("one => one.getBoundingClientRect().height > 400", arg=skeleton.element_handle())
    before = place.bounding_box()
    assert skeleton.bounding_box()["height"] == before["height"]
    for route in waiting:
        route.continue_()
    expect(place.locator(".bars .point").first).to_be_visible()
    assert place.bounding_box()["height"] == before["height"]


def test_overview_notices_a_training_that_was_begun_elsewhere(browser, server, library):
    page, complaints = visit(browser, server)
    page.goto(server)
    expect(page.get_by_text("Try to fool")).to_be_visible()
    settle(page)
    library.create(compose("vanilla"), "vanilla", "elsewhere")
    expect(page.get_by_text("elsewhere waits for a free place")).to_be_visible()
    assert complaints == []
