"""*Back* in a real browser: one press leads to the page before, whatever a page wrote into its link."""

import re

import pytest
from browsing import settle, visit
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = ("Data", "Performance", "Embeddings", "Sentence", "Steps", "Lambdas")


def at(page: Page, title: str) -> None:
    """Wait until the page with this title is settled."""
    expect(page.get_by_role("heading", level=1, name=title, exact=True)).to_be_visible()
    settle(page)


def test_back_leads_to_the_previous_page_in_one_press_and_forward_again(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/models?run=finished")
    at(page, "Models")
    for title in PAGES:
        page.get_by_role("link", name=title, exact=True).click()
        at(page, title)
        assert "run=finished" in page.url, title
    for step, titles in ((page.go_back, ("Models", *PAGES)[-2::-1]), (page.go_forward, PAGES[:2])):
        for title in titles:
            step()
            page.wait_for_url(re.compile(rf"/{title.lower()}\b.*run=finished"))
            at(page, title)
    # A late message of the left page must not remove the *Forward* entry.
    page.get_by_role("link", name="Models", exact=True).click()
    at(page, "Models")
    before = page.url
    page.get_by_role("link", name="Sentence", exact=True).click()
    at(page, "Sentence")
    sentence = page.url
    page.go_back()
    page.wait_for_url(before)
    at(page, "Models")
    for late in (sentence, before):  # Streamlit's entries when Sentence ends late
        page.evaluate("address => history.pushState({}, '', address)", late)
    page.go_forward()
    page.wait_for_url(sentence)
    at(page, "Sentence")
    assert complaints == []


def test_link_without_a_run_is_one_history_step(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/_stcore/health")
    for title in ("Performance", "Sentence"):
        before = page.evaluate("history.length")
        page.goto(f"{server}/{title.lower()}")
        at(page, title)
        assert "run=" in page.url and page.evaluate("history.length") == before + 1
    assert complaints == []


def test_previous_page_is_restored_as_it_was(browser, server):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/performance?run=finished&split=validation")
    at(page, "Performance")
    page.get_by_role("link", name="Sentence", exact=True).click()
    at(page, "Sentence")
    page.get_by_role("slider", name="λ₁").first.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    page.wait_for_function("location.search.includes('edit=l1c1')")
    settle(page)
    page.go_back()
    page.wait_for_url(re.compile(r"/performance\?.*split=validation"))
    at(page, "Performance")
    expect(page.get_by_role("radio", name="validation")).to_be_checked()
    expect(page.locator(".s-run").first).to_contain_text("validation")
    page.go_forward()
    at(page, "Sentence")
    assert "edit=l1c1" in page.url and complaints == []
