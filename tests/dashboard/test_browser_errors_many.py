"""Errors with a thousand sentences in a browser: typed rules, and rows after the first batch."""

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from answering import answering, right_where, texts
from browsing import settle, visit
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROWS = 1000


@pytest.fixture(scope="module")
def address(library, server) -> str:
    """The app with a run of 1000 sentences; positive texts predicted as negative mention rain."""
    each = np.arange(ROWS)
    labels, wrong = each % 2, each % 8 == 1
    frame = texts(labels)
    frame["text"] = [f"a day of {'rain' if bad else 'sun'}, number {row}" for row, bad in zip(each, wrong, strict=True)]
    frame["tweet"] = [f"t-{row}" for row in each]
    frame["date"] = [f"2026-{1 + row % 12:02}-{1 + row % 28:02}" for row in each]
    for name in ("many", "late"):
        answering(library, name, right_where(~wrong, labels), frame)
    return server


def opened(page: Page, address: str) -> None:
    """The page with its list, and with all tags."""
    page.goto(address)
    expect(page.locator(".reader .list li").first).to_be_visible(timeout=120_000)
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
    settle(page)


def test_ids_and_rules_can_be_typed_and_invalid_ones_are_reported(browser, address):
    page, complaints = visit(browser, address)
    opened(page, f"{address}/errors?run=many&select=all")
    page.get_by_role("button", name="add filter").click()
    page.get_by_role("button", name="any tweet").click()
    page.get_by_role("searchbox", name="Search tweet").fill("t-7")
    page.keyboard.press("Enter")
    expect(page.locator(".filter .word.set", has_text="tweet t-7")).to_be_visible()
    expect(page.locator(".reader .list li")).to_have_count(1)
    assert parse_qs(urlsplit(page.url).query)["select"] == ["all;tweet=t-7"]
    settle(page)
    search = page.locator(".filter [aria-label='Texts containing']")
    search.fill("tweet=t-11")
    search.press("Enter")
    expect(page.locator(".filter .word.set", has_text="tweet t-11")).to_be_visible()
    expect(search).to_have_value("")
    settle(page)
    search.fill("date>=soon")
    search.press("Enter")
    expect(page.get_by_text("'soon' is no date")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["select"] == ["all;tweet=t-11"]
    settle(page)
    page.get_by_role("button", name="coded or not").click()
    expect(page.get_by_role("option", name="noted, not coded yet")).to_be_visible()
    page.keyboard.press("Escape")
    assert complaints == []


def test_arriving_tags_keep_open_menus_and_the_focus(browser, address):
    page, complaints = visit(browser, address)
    page.goto(f"{address}/errors?run=late&select=all")
    page.get_by_role("button", name="add filter").press("Enter")
    page.get_by_role("button", name="any class").first.press("Enter")
    options = page.get_by_role("listbox", name="true class")
    expect(options).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
    settle(page)
    expect(options).to_be_focused()
    expect(options.locator("li.at")).to_contain_text("good")
    page.keyboard.press("Enter")
    expect(page.locator(".filter .word.set", has_text="good")).to_be_focused(timeout=30_000)
    assert parse_qs(urlsplit(page.url).query)["select"] == ["all;true=good"]
    assert complaints == []


def at(page: Page) -> str:
    """The sentence in the reader."""
    return page.locator(".reader .top b").first.inner_text()


def listed(page: Page) -> int:
    """Rows of the list."""
    return page.locator(".reader .list li").count()


def test_keys_move_beyond_the_sent_rows_and_the_link_follows(browser, address):
    page, complaints = visit(browser, address)
    opened(page, f"{address}/errors?run=many&select=all")
    assert listed(page) == 300
    page.locator(".reader .list li").nth(295).click()
    for _ in range(25):
        page.keyboard.press("j")
        page.evaluate("new Promise(requestAnimationFrame)")
    expect(page.locator(".reader .top b").first).to_have_text("321 of 1\u202f000")
    for _ in range(3):
        page.keyboard.press("k")
    expect(page.locator(".reader .top b").first).to_have_text("318 of 1\u202f000")
    page.locator(".reader .list").focus()
    page.keyboard.press("End")
    expect(page.locator(".reader .top b").first).to_have_text("1\u202f000 of 1\u202f000")
    expect(page.locator(".reader .list")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator(".reader .top b").first).to_have_text("1 of 1\u202f000")
    page.keyboard.press("End")
    expect(page.locator(".reader .top b").first).to_have_text("1\u202f000 of 1\u202f000")
    read = page.locator(".reader .list li[aria-selected=true]").get_attribute("title")
    expect(page.locator(".st-key-selected-now .s-now")).to_contain_text(str(read))
    page.reload()
    expect(page.locator(".reader .top b").first).to_have_text("1\u202f000 of 1\u202f000")
    assert complaints == []


def test_list_grows_when_scrolled_and_the_bar_shows_the_position(browser, address):
    page, complaints = visit(browser, address)
    opened(page, f"{address}/errors?run=many&select=all")
    page.locator(".reader .list li").nth(299).scroll_into_view_if_needed()
    expect(page.locator(".reader .list li").nth(400)).to_be_attached(timeout=20_000)
    top, size = page.locator(".reader .list").evaluate("(it) => [it.scrollTop, it.scrollHeight / it.children.length]")
    assert 250 < top / size < 400 and at(page) == "1 of 1\u202f000"
    first = page.locator(".reader .list li").first
    assert first.get_attribute("aria-selected") == "true"
    opened(page, f"{address}/errors?run=many&select=wrong")  # the bar shows the current sentence
    for place in range(2, 5):
        page.keyboard.press("j")
        expect(page.locator(".reader .top b").first).to_have_text(f"{place} of 125")
        expect(page.locator(".st-key-selected-now .s-at")).to_have_text(f"{place} / 125")
    page.locator(".st-key-selected-Next button").click()
    expect(page.locator(".reader .top b").first).to_have_text("5 of 125")
    expect(page.locator(".st-key-selected-now .s-at")).to_have_text("5 / 125")
    assert complaints == []
