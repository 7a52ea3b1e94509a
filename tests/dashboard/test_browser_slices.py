"""Slices, orders and near errors in a browser: select, store in the link, show next to the figure."""

import pytest
from browsing import settle, violations, visit
from playwright.sync_api import Page, expect

from core.error_analysis.predictions_table import PredictionTable, read_table

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def predictions(library) -> PredictionTable:
    return read_table(library, "finished")


def first(page: Page) -> str | None:
    return page.locator(".reader .list li").first.get_attribute("title")


def test_list_has_the_order_of_the_link(browser, server, predictions):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/errors?run=finished&select=all")
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached()
    settle(page)
    rows = predictions.frame.sort_values("margin", kind="stable")
    page.get_by_label("Order of the sentences").select_option("lowest margin first")
    page.wait_for_url("**order=margin**")
    expect(page.locator(".reader .list li").first).to_have_attribute("title", rows["text"].iat[0])
    page.locator("h1").click()
    page.keyboard.press("j")
    expect(page.locator(".reader .list li[aria-selected=true]")).to_have_attribute("title", rows["text"].iat[1])
    page.reload()
    expect(page.locator(".reader .list li").first).to_have_attribute("title", rows["text"].iat[0])
    settle(page)
    assert violations(page) == []
    assert complaints == []


def test_run_without_errors_offers_the_least_sure_sentences(browser, server, predictions):
    right = predictions.frame[~predictions.wrong]
    page, complaints = visit(browser, server)
    page.goto(f"{server}/errors?run=finished&select=wrong;key={right['key'].iat[0]}")
    expect(page.locator(".reader .empty")).to_contain_text("All 1 selected are right")
    settle(page)
    page.get_by_role("button", name="Lowest margin first").click()
    page.wait_for_url("**order=margin**")
    expect(page.locator(".reader .list li")).to_have_count(1)
    assert first(page) == right["text"].iat[0] and "wrong" not in page.url and complaints == []


def test_slice_is_saved_picked_on_another_page_and_compared(browser, server, predictions):
    page, complaints = visit(browser, server)
    page.goto(f"{server}/errors?run=finished&select=true%3Dpositive")
    page.get_by_role("button", name="Save as slice").click()
    page.get_by_test_id("stPopoverBody").get_by_label("Name", exact=True).fill("good *ones*")  # codes have one too
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as “good *ones*”")).to_be_visible()
    page.goto(f"{server}/performance?run=finished&more=Saved%20slices")
    n = int(predictions.true[:, predictions.classes.index("positive")].sum())
    bar = page.locator(".st-key-selected")
    expect(bar).to_contain_text("Nothing is selected")
    row = page.locator(".st-key-fig-slices tr", has_text="good *ones*").first
    expect(row).to_contain_text(str(n))
    settle(page)
    page.get_by_role("button", name="Slices", exact=True).click()
    page.locator("label", has_text="good *ones*").click()
    expect(bar).to_contain_text(f"{n} of {len(predictions)}")
    page.wait_for_url("**select=true**")
    settle(page)
    assert violations(page) == []
    page.goto(f"{server}/compare?compare=finished&compare=baseline&by=slice&more=all")
    expect(page.locator(".st-key-fig-compare-where")).to_contain_text("good *ones*")
    assert complaints == []
