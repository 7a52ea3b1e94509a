"""The page of models in a real browser: a row is chosen by hand and by keyboard, the drawing can be read and saved."""

import re

import pytest
from browsing import is_too_wide, looks, open_export, settle, visit
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_model_is_drawn_at_each_width(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/models?model=sentiformer&run=finished")
    drawing = page.get_by_role("img", name=re.compile("^From text to answer: Embedding"))
    expect(drawing).to_be_visible()
    for _ in looks(page):
        expect(drawing).to_be_visible()
        box = drawing.bounding_box()
        assert box["width"] > 380 and box["x"] + box["width"] <= page.viewport_size["width"]
        assert not is_too_wide(page)
    expect(page.locator(".katex").first).to_be_visible()
    assert complaints == []


def test_chosen_preset_is_shown_below_and_can_be_trained(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/models?paper=SentiFormer&run=finished&more=All+models")
    expect(page.get_by_role("heading", name=re.compile("^sentiformer has"))).to_be_visible()
    settle(page)
    page.locator("[data-testid=stDataFrame]").first.click(position={"x": 17, "y": 38 + 38 * 2 + 19})  # third row
    expect(page.get_by_role("heading", name=re.compile("^sentiformer-no-gate has"))).to_be_visible()
    settle(page)
    assert "model=sentiformer-no-gate" in page.url
    open_export(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Figures · SVG").click()
    drawn = saved.value.path().read_text()
    assert saved.value.suggested_filename == "sentiscope-model-sentiformer-no-gate.svg"
    assert "Feed-forward" in drawn and "var(--" not in drawn
    page.get_by_role("button", name="Train this").press("Enter")
    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    settle(page)
    assert "model=sentiformer-no-gate" in page.url
    assert complaints == []


def test_changed_model_is_drawn_while_it_is_built(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/train?model=ndt-01-n3&run=finished")
    page.get_by_role("button", name="Compose your own").click()
    drawing = page.get_by_role("img", name=re.compile("^From text to answer"))
    expect(drawing).to_have_attribute("aria-label", re.compile("3 maps"))
    page.get_by_role("textbox", name="maps per head").fill("5")
    page.keyboard.press("Enter")
    expect(drawing).to_have_attribute("aria-label", re.compile("5 maps"))
    page.get_by_role("textbox", name="window of neighbours").fill("7")
    page.keyboard.press("Enter")
    expect(page.get_by_text("the nearest is 8").first).to_be_visible()
    expect(drawing).to_have_count(0)
    page.get_by_role("button", name="Back to the preset").click()
    expect(drawing).to_have_attribute("aria-label", re.compile("3 maps"))
    assert complaints == []
