"""The result of a click is visible in the same window, and figures have their size before drawing."""

import pytest
from browsing import is_in_window, settle, visit
from playwright.sync_api import Route, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_sentences_of_a_clicked_cell_are_scrolled_into_view(browser, server):
    page, complaints = visit(browser, server)
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{server}/performance?run=finished&more=Confidence")  # reload: cleared figures have new keys
        page.locator(".st-key-fig-confusion .bars .point").first.wait_for()
        settle(page)
        page.locator(".st-key-fig-confusion .bars .point").first.click(force=True)  # Plotly puts a surface over it
        expect(page.get_by_text("of 16 sentences")).to_be_visible()
        settle(page)
        assert is_in_window(page, ".st-key-selection")
        if width == 1440:  # next to the clicked figure, not below it
            bar, matrix = (page.locator(f".st-key-{key}").bounding_box() for key in ("selection", "fig-confusion"))
            assert bar["x"] > matrix["x"] + matrix["width"] and bar["y"] < matrix["y"] + matrix["height"]
        page.get_by_role("button", name="Clear", exact=True).click()
        expect(page.get_by_text("of 16 sentences")).to_be_hidden()
        settle(page)
        bars = page.locator(".st-key-fig-confidence .bars .point").filter(visible=True)  # most bars are empty
        bars.first.click(force=True)
        expect(page.locator(".st-key-selection")).to_contain_text("of 16 sentences")
        settle(page)
        chart, below = (page.locator(f".st-key-{key}").bounding_box() for key in ("fig-confidence", "selection"))
        assert chart is not None and below is not None
        assert below["y"] >= chart["y"] + chart["height"] - 1 and below["x"] < chart["x"] + chart["width"]
        assert is_in_window(page, ".st-key-selection")
        page.get_by_role("button", name="Clear", exact=True).click()
        expect(page.get_by_text("of 16 sentences")).to_be_hidden()
    assert complaints == []


def test_figure_placeholder_is_shown_while_its_script_loads(browser, server):
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
