"""What a click answers is in the window where it was clicked, and what others train is noticed without a reload."""

from __future__ import annotations

import shutil

import pytest
from browsing import dashboard, settle, visit
from playwright.sync_api import Page, Route, expect

from core.config import compose
from core.runs.store import RunStore

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def within(page: Page, selector: str) -> bool:
    """Whether the upper end of this lies in the window."""
    box = page.locator(selector).bounding_box()
    return box is not None and 0 <= box["y"] <= page.evaluate("innerHeight") - 60


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_sentences_of_a_clicked_cell_are_in_the_window(browser, server, width):
    page, complaints = visit(browser, server, width=width)
    page.goto(f"{server}/performance?run=finished")
    page.locator(".st-key-fig-confusion .bars .point").first.click(force=True)
    expect(page.get_by_text("of 16 sentences")).to_be_visible()
    settle(page)
    page.wait_for_timeout(500)
    assert within(page, ".st-key-selection")
    if width == 1440:  # beside what was clicked, not below it
        bar, matrix = (page.locator(f".st-key-{key}").bounding_box() for key in ("selection", "fig-confusion"))
        assert bar["x"] > matrix["x"] + matrix["width"] and bar["y"] < matrix["y"] + matrix["height"]
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
    page.wait_for_timeout(500)
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


def test_overview_notices_a_training_that_was_begun_elsewhere(browser, trained, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(trained, runs)
    with dashboard(runs) as address:
        page, complaints = visit(browser, address)
        page.goto(address)
        expect(page.get_by_text("Try to fool")).to_be_visible()
        settle(page)
        RunStore(runs).create(compose("vanilla"), "vanilla", "elsewhere")
        expect(page.get_by_text("elsewhere waits for a free place")).to_be_visible()
    assert complaints == []
