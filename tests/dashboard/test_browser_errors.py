"""Errors in a real browser: keys move without the server, filter and sentence are in the link, axe is content."""

from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import looks, settle, violations, visit
from playwright.sync_api import Page, expect

from core.error_analysis.predictions_table import read_table

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def opened(page: Page, address: str) -> None:
    """The page with its list, and with all tags."""
    page.goto(address)
    expect(page.locator(".reader .list li").first).to_be_visible(timeout=120_000)
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
    settle(page)


def place(page: Page) -> str:
    """The position in the reader: `2 of 16`."""
    return page.locator(".reader .top b").first.inner_text()


def test_keys_move_link_follows_fields_keep_letters_and_filter_works_by_keyboard(browser, server, library):
    page, complaints = visit(browser, server)
    opened(page, f"{server}/errors?run=finished&select=all&order=random")  # an order that is none is ignored
    assert place(page) == "1 of 16"
    for key in "jjjk":
        page.keyboard.press(key)
    expect(page.locator(".reader .top b").first).to_have_text("3 of 16")
    page.wait_for_url("**at=**")
    read = page.locator(".reader .list li[aria-selected=true]").get_attribute("title")
    settle(page)
    page.locator(".filter input[aria-label='Texts containing']").fill("jk")
    assert place(page) == "3 of 16"
    page.locator(".filter input[aria-label='Texts containing']").fill("")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.locator(".reader .keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".reader .keys")).to_be_hidden()
    for rules in looks(page):
        assert violations(page, rules) == []
    page.reload()
    expect(page.locator(".reader .list li[aria-selected=true]")).to_have_attribute("title", read)
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
    settle(page)
    expect(page.get_by_role("button", name="any class")).to_have_count(0)  # only what is set is shown
    page.get_by_role("button", name="add filter").press("Enter")
    page.get_by_role("button", name="any class").first.press("Enter")
    options = page.get_by_role("listbox", name="true class")
    table = read_table(library, "finished")
    wrong = table.wrong[table.frame["true"] == "negative"]
    said = [str(int(wrong.sum())), str(int((~wrong).sum()))]
    expect(options).to_be_visible()
    expect(options.get_by_role("option").nth(1).locator(".n")).to_have_text(said)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".filter .word.set", has_text="negative")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["select"] == ["all;true=negative"]
    settle(page)
    assert place(page).endswith(f"of {page.locator('.reader .list li').count()}")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", level=1, name="Sentence")).to_be_visible()
    page.goto(f"{server}/errors?run=finished&select=text~no%20such%20words")
    expect(page.locator(".reader .empty")).to_contain_text("No sentence is left")
    assert complaints == []
