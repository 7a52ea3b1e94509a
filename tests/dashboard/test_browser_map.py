"""The map in a browser: search, groups and neighbours set the selection; layers are computed next to it."""

import re

import pytest
from browsing import looks, settle, violations, visit
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RUN = "run=starter-ndt-pm1-n2"


def opened(browser, base: str, link: str, theme: str = "light", width: int = 1440) -> tuple[Page, list[str]]:
    """The page of a link once it is settled, and its errors."""
    page, complaints = visit(browser, base, theme, width)
    page.goto(f"{base}/embeddings?{RUN}&more=all&{link}")
    expect(page.get_by_role("heading", name="Silhouette by class")).to_be_visible()
    settle(page)
    return page, complaints


def bar(page: Page):
    """The selection as the bar shows it."""
    return page.locator(".st-key-selected .s-now")


def test_search_result_is_selected_by_rule_and_the_link_restores_both(browser, server):
    page, complaints = opened(browser, server, "")
    page.get_by_role("button", name="Options", exact=True).click()
    page.get_by_role("textbox", name="Find", exact=True).fill("never")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    button = page.locator(".st-key-select-found button")
    expect(button).to_be_visible()
    n = re.sub(r"\D", "", button.inner_text())
    button.click()
    page.wait_for_url(re.compile(r"select=text(~|%7E)never"))
    expect(bar(page)).to_contain_text("with “never”")
    other, others = opened(browser, server, page.url.partition("?")[2], "dark", 1024)
    expect(bar(other)).to_contain_text("with “never”")
    other.get_by_role("button", name="Options", exact=True).click()
    expect(other.get_by_role("textbox", name="Find", exact=True)).to_have_value("never")
    assert re.sub(r"\D", "", bar(other).inner_text().partition(" of ")[0]) == n
    assert complaints == [] and others == []


def test_picked_cluster_becomes_the_selection(browser, server):
    page, complaints = opened(browser, server, "colour=found%20group")
    table = page.locator("table[aria-label^='Clusters of sentences']")
    expect(table).to_be_visible()
    row = table.locator("tbody tr").first
    name, n = (row.locator("td, th").nth(place).inner_text() for place in (0, 1))
    row.click()
    page.wait_for_url(re.compile(r"select=ids(:|%3A)[0-9a-f]{16}"))
    expect(bar(page)).to_contain_text(f"cluster “{name}”")
    assert re.sub(r"\D", "", bar(page).inner_text().partition(" of ")[0]) == re.sub(r"\D", "", n)
    assert complaints == []


def test_neighbors_follow_the_current_sentence(browser, server):
    page, complaints = opened(browser, server, "select=text~boring&split=test")
    nearest = page.get_by_role("heading", name="Nearest neighbours", exact=True)
    said = page.locator(".st-key-head-map-neighbours .s-fig span")
    expect(nearest).to_be_visible()
    expect(said).to_contain_text("selected")
    settle(page)
    page.locator(".st-key-selected-Next button").first.click()
    expect(said).to_contain_text("boring")
    settle(page)
    before = said.inner_text()
    page.locator(".st-key-selected-Next button").first.click()
    expect(said).not_to_have_text(before)
    assert complaints == []


def test_layers_are_read_in_the_background_and_the_page_is_accessible(browser, server):
    page, complaints = opened(browser, server, "find=not&density=on&place=a%20fine%20film")
    read = page.locator(".st-key-read-layers button")
    chart = page.locator(".st-key-fig-map-layers")
    expect(read.or_(chart).first).to_be_visible()
    if read.count():
        read.click()
    expect(chart).to_be_visible(timeout=240_000)  # all layers are computed again
    settle(page)
    for rules in looks(page):
        assert violations(page, rules) == []
    assert complaints == []
