"""The menu and the addresses of pages in a real browser."""

import re

import pytest
from browsing import looks, open_page, settle, violations, visit
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OLD = {
    "overview": "Runs",
    "behave": "Behaviour tests",
    "tokens": "Tagging",
    "lambdas": "Lambdas",
    "sweeps": "Sweeps",
    "lesson": "Lesson",
}
"""Addresses that are not in the menu or that differ from the title of their page."""


def test_old_addresses_and_those_without_an_entry_open_their_page(browser, server):
    page, complaints = visit(browser, server)
    for path, title in OLD.items():
        open_page(page, f"{server}/{path}?run=finished")
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        assert f"/{path}?" in page.url and "run=finished" in page.url
    open_page(page, f"{server}/overview?run=finished&metric=Loss")
    expect(page.get_by_text("Loss, test").first).to_be_visible()
    assert complaints == []


def test_the_menu_has_three_groups_and_its_pages_lead_back_in_one_press(browser, server):
    page, complaints = visit(browser, server)
    open_page(page, f"{server}/?run=finished")
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    names = page.locator("[data-testid=stSidebarNavItems] li").evaluate_all(
        "rows => rows.map(row => getComputedStyle(row, '::before').content).filter(name => name !== 'none')"
    )
    assert names == ['"Learn"', '"Evaluate"', '"Build"']
    menu = page.get_by_test_id("stSidebarNavItems")
    expect(menu.get_by_role("link", name="Sweeps")).to_have_count(0)
    expect(menu.get_by_role("link", name="Tagging")).to_have_count(0)
    for rules in looks(page):
        assert violations(page, rules) == []
    menu.get_by_role("link", name="Errors", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Errors")
    settle(page)
    page.go_back()
    page.wait_for_url(re.compile(r"127\.0\.0\.1:\d+/\?.*run=finished"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    assert complaints == []
