"""Behaviour tests in a browser: select a capability by keyboard, open a failed sentence, no accessibility errors."""

from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import looks, settle, violations, visit
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_picked_capability_lists_sentences_that_can_be_opened(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/behave?run=finished&against=baseline")
    table = page.get_by_role("treegrid", name="Failure rates by capability and run")
    expect(table).to_be_visible(timeout=120_000)
    settle(page)
    table.locator("tr[data-id='capability emoji']").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Failed tests: emoji")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["capability"] == ["capability emoji"]
    for rules in looks(page):
        assert violations(page, rules) == []
    page.get_by_test_id("stDataFrame").last.click(position={"x": 20, "y": 56})  # the checkbox of the first row
    page.get_by_role("button", name="Look inside this sentence").click()
    expect(page.get_by_role("heading", level=1, name="Sentence")).to_be_visible()
    settle(page)
    asked = parse_qs(urlsplit(page.url).query)
    assert asked["run"] == ["finished"] and asked["text"][0]
    assert complaints == []
