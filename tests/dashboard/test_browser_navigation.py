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
    "lesson": "A model has learned 500 sentences by heart. What does it say?",
}
"""Addresses that are not in the menu or that differ from the title of their page."""


def test_old_and_unlisted_addresses_open_their_page(browser, server):
    page, complaints = visit(browser, server)
    for path, title in OLD.items():
        open_page(page, f"{server}/{path}?run=finished")
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        assert f"/{path}?" in page.url and "run=finished" in page.url
    open_page(page, f"{server}/overview?run=finished&metric=Loss")
    expect(page.get_by_role("columnheader", name="Loss", exact=True).first).to_be_visible()
    assert complaints == []


def test_menu_has_three_groups_and_back_works_in_one_press(browser, server):
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


def test_the_presenter_goes_through_a_talk_by_keys_and_leaves_to_the_page(browser, server):
    page, complaints = visit(browser, server, width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    open_page(page, f"{server}/performance?run=finished&split=validation")
    page.keyboard.press("a")
    added = page.get_by_text("1 link in “talk-")  # ends with the visitor: others of the server have another
    talk = added.inner_text().split("“")[1].removesuffix("”")
    assert re.fullmatch("talk-[0-9a-f]{4}", talk)
    page.get_by_role("button", name="Present", exact=True).click()
    finding = page.locator(".s-finding")
    expect(finding).to_contain_text("wrong:")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    settle(page)
    assert finding.bounding_box()["y"] < 66 and page.evaluate("document.documentElement.scrollHeight") <= 720
    chart = page.locator(".st-key-exhibit .main-svg").first.bounding_box()
    assert chart["y"] <= 120 and chart["height"] > 500 and chart["y"] + chart["height"] <= 720
    for rules in looks(page):
        assert violations(page, rules) == []
    expect(page.get_by_text("Rows are true classes")).to_be_hidden()
    page.keyboard.press("c")
    expect(page.get_by_text("Rows are true classes")).to_be_visible()
    page.keyboard.press("g")
    expect(page.get_by_role("dialog", name="Go to a page").get_by_role("button").first).to_be_focused()
    tops = {each.bounding_box()["y"] for each in page.locator(".picker h2").all()}
    assert len(tops) == 1, "all groups beside each other"
    page.keyboard.press("m")
    expect(finding).to_contain_text("nearest neighbours")
    for _ in range(9):  # quicker than pages open: none is lost, and the link is that of the last
        page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile("/sentence.*exhibit=1$"))
    settle(page)
    expect(page.locator(".strip [aria-current]")).to_contain_text("Sentence")
    open_page(page, f"{server}/?talk={talk}&present=1")
    expect(finding).to_contain_text("wrong:")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", level=1, name="Performance")).to_be_visible()
    page.wait_for_url(re.compile("/performance.*split=validation"))
    assert "present" not in page.url and complaints == []
