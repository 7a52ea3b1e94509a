"""What leads from one page to another in a real browser, and a selection that can be cleared."""

import re

import pytest
from browsing import is_in_window, settle, visit
from playwright.sync_api import Page, expect

from core.config import compose

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LASSO = ((-0.49, -0.49), (0.49, -0.49), (0.49, 0.49), (-0.49, 0.49), (-0.49, -0.45))
"""Around everything, in shares of the plot."""


def first_row(page: Page, name: str, rows: int = 0) -> None:
    """Choose a row of a table by its box, which is painted and has no element of its own."""
    table = page.get_by_role("figure", name=name).or_(page.locator(f"[aria-label='{name}']")).first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 16, box["y"] + 38 * (rows + 1) + 19)


def draw(page: Page) -> None:
    """A lasso on the map."""
    plot = page.locator("[class*=st-key-fig-map] .nsewdrag")
    plot.evaluate("plot => plot.scrollIntoView({block: 'center'})")
    settle(page)
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for number, (right, down) in enumerate(LASSO):
        page.mouse.move(x + right * box["width"], y + down * box["height"], steps=6)
        if number == 0:
            page.mouse.down()
    page.mouse.up()


def outlines(page: Page) -> int:
    """Shapes that a selection has left on the map."""
    return page.locator("[class*=st-key-fig-map] .selectionlayer path").count()


def read_on_the_sentence_page(page: Page) -> str:
    """The text that the Sentence page shows, which must be in its link too."""
    page.wait_for_url(re.compile(r"/sentence\?"))
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    expect(field).to_be_visible()
    settle(page)
    text = field.input_value()
    assert "text=" in page.url and "run=finished" in page.url
    expect(page.get_by_role("list", name="words with their effect").first).to_be_visible()
    return text


def test_a_row_of_the_table_of_runs_leads_to_its_run(browser, server, library):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/?run=baseline")
    table = page.get_by_role("grid", name="Models on reviews.csv, best first")
    expect(table).to_be_visible()
    settle(page)
    table.get_by_role("rowheader", name="finished").click()
    expect(page.locator(".s-sel b")).to_have_text("finished")
    settle(page)
    library.create(compose("vanilla"), "vanilla", "elsewhere")  # what others train is noticed without a reload
    expect(page.get_by_text("elsewhere waits for a free place")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Sentence", exact=True).click()
    page.wait_for_url(re.compile(r"/sentence\?.*run=finished"))
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    assert complaints == []


def test_a_sentence_of_a_cell_leads_to_its_inside(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/performance?run=finished&threshold=1.0")
    page.locator(".st-key-fig-confusion .bars .point").first.click(force=True)
    expect(page.get_by_text("of 16 sentences")).to_be_visible()
    settle(page)
    first_row(page, "Selected sentences: true negative, predicted negative at 1.00")
    page.get_by_role("button", name="Look inside this sentence").click()
    assert "film number" in read_on_the_sentence_page(page)
    assert complaints == []


def test_points_of_the_map_lead_to_a_sentence_and_clear_takes_the_outline_away(browser, server):
    page, complaints = visit(browser, server, width=1024)
    page.goto(f"{server}/embeddings?run=finished")
    expect(page.get_by_role("heading", name="PCA, 2-D")).to_be_visible()
    settle(page)
    draw(page)
    expect(page.locator(".s-now", has_text="selected on the map")).to_be_visible()
    expect(page.get_by_text("16 of 16 sentences")).to_be_visible()
    settle(page)
    assert outlines(page) > 0 and is_in_window(page, ".st-key-selection")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".s-now", has_text="selected on the map")).to_be_hidden()
    settle(page)
    page.wait_for_function("document.querySelectorAll('[class*=st-key-fig-map] .selectionlayer path').length === 0")
    page.get_by_role("textbox", name="Your sentence on this map").fill("a good film")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The diamond is your sentence")).to_be_visible()
    settle(page)
    assert page.locator(".s-now", has_text="selected on the map").count() == 0  # the browser does not bring it back
    draw(page)
    expect(page.locator(".s-now", has_text="selected on the map")).to_be_visible()
    settle(page)
    first_row(page, "Selected sentences: selected on the map")
    page.get_by_role("button", name="Look inside this sentence").click()
    assert "film number" in read_on_the_sentence_page(page)
    assert complaints == []


def test_a_text_of_the_data_leads_to_the_sentence_page(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/data?run=finished&find=porter")
    expect(page.get_by_role("heading", name="Texts")).to_be_visible()
    settle(page)
    first_row(page, "Texts of the data set")
    page.get_by_role("button", name="Try it on the Sentence page").click()
    assert "porter" in read_on_the_sentence_page(page)
    assert complaints == []


def test_the_split_goes_along_between_pages_that_have_one(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/performance?run=finished&split=validation")
    chosen = page.get_by_role("radio", name="validation")
    expect(chosen).to_be_checked()
    for link in ("Embeddings", "Performance"):
        page.get_by_role("link", name=link, exact=True).click()
        expect(page.get_by_role("heading", name=link, level=1)).to_be_visible()
        settle(page)
        expect(chosen).to_be_checked()
        assert "split=validation" in page.url
    page.goto(f"{server}/performance?run=finished&split=foo")
    expect(page.get_by_role("radio", name="test")).to_be_checked()
    assert complaints == []
