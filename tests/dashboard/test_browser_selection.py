"""The selection in a browser: a click shows it next to the figure and in the bar, and its link restores it."""

import re

import pytest
from browsing import settle, visit
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SENTENCES = "[aria-label^='Selected sentences']"


def bar(page: Page):
    """The selection as the bar shows it."""
    return page.locator(".st-key-selected .s-now")


def click_cell(page: Page) -> None:
    """The first cell of the matrix."""
    page.locator(".st-key-fig-confusion .bars .point").first.click(force=True)


def shown(page: Page) -> str:
    """The text of the bar, once there is any."""
    expect(bar(page)).to_be_visible()
    settle(page)
    return bar(page).inner_text()


def test_cell_is_selected_by_rule_or_rows_and_another_browser_restores_it(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/performance?run=finished&threshold=1.0")
    click_cell(page)
    shown(page)
    page.wait_for_url(re.compile("select=ids%3A[0-9a-f]{16}"))
    page.goto(f"{server}/performance?run=finished")
    click_cell(page)
    said = shown(page)
    page.wait_for_url(re.compile("select=true%3Dnegative%3Bpredicted%3Dnegative"))
    page.locator(".st-key-selected-Next button").first.click()
    page.wait_for_url(re.compile("at=[0-9a-f]{12}"))
    looked_at, link = shown(page), page.url
    assert looked_at.startswith(said) and looked_at != said
    page.reload()
    assert shown(page) == looked_at
    expect(page.locator(".st-key-fig-confusion .barlayer .point path").first).to_have_css("stroke-width", "4px")
    expect(page.locator(".st-key-fig-confusion .barlayer .point path").nth(1)).not_to_have_css("stroke-width", "4px")
    other, others = visit(browser, server, "dark", 1024)
    other.goto(link)
    assert shown(other) == looked_at
    expect(other.locator(SENTENCES)).to_be_visible()
    other.get_by_role("button", name="Clear", exact=True).click()
    expect(bar(other)).to_have_count(0)
    assert "select=" not in other.url and complaints == [] and others == []
    check_every_page(page)
    assert complaints == []


def test_focus_moves_to_the_bar_when_errors_are_selected(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/performance?run=finished")
    button = page.get_by_role("button", name=re.compile("^Show the .* error"))
    button.focus()
    settle(page)
    button.press("Enter")
    shown(page)
    expect(page.locator(".st-key-selected button:focus")).to_have_count(1)
    page.goto(f"{page.url}&again=1")  # a link takes the focus nowhere
    shown(page)
    assert page.evaluate("document.activeElement === document.body") and complaints == []


def check_every_page(page: Page) -> None:
    """The selection appears on every page, and its sentence opens."""
    said = shown(page)
    page.get_by_role("link", name="Steps", exact=True).click()
    page.wait_for_url(re.compile(r"/steps\?.*select="))
    assert shown(page) == said
    page.locator(".st-key-selected-to-sentence button").first.click()
    page.wait_for_url(re.compile(r"/sentence\?.*at="))
    text = page.get_by_role("textbox", name="Sentence", exact=True)
    expect(text).to_be_visible()
    settle(page)
    before = text.input_value()
    assert before in shown(page)
    expect(page.get_by_text("true label")).to_be_visible()
    page.locator(".st-key-selected-Next button").first.click()
    expect(text).not_to_have_value(before)
    page.get_by_role("button", name="Back to Performance").click()
    page.wait_for_url(re.compile(r"/performance\?.*select="))
    page.locator(".st-key-selected-to-embeddings button").first.click()
    page.wait_for_url(re.compile(r"/embeddings\?.*select="))
    expect(page.locator(SENTENCES)).to_be_visible()
