"""A complete session of a researcher: own table, training, errors, codes, comparison, report."""

import csv
import io
import random
import re

import pytest
from browsing import settle, visit
from playwright.sync_api import Page, expect

from core import api

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SMALL = {"epochs": "4", "width": "16", "feed-forward width": "16", "batch size": "8", "min freq": "1"}


def own_table() -> bytes:
    """300 sentences with ids, sources and dates; rows with source `phone` have random labels."""
    draw = random.Random(0)
    good, bad = ("good", "warm", "funny", "wise"), ("bad", "dull", "slow", "flat")
    nouns = ("plot", "cast", "score", "ending", "set")
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(["id", "source", "date", "text", "label"])
    for number in range(300):
        label, source = number % 2, draw.choice(["phone", "web", "post"])
        mood = draw.choice((bad, good)[label if source != "phone" else draw.randrange(2)])
        text = f"the {draw.choice(nouns)} was {mood}, said guest {number}"
        table.writerow([f"R-{number:04}", source, f"2026-03-{number % 28 + 1:02}", text, ("no", "yes")[label]])
    return written.getvalue().encode()


def train(page: Page) -> None:
    """From the open page Train to a finished run `mine`."""
    page.get_by_text("Compose your own").click()
    page.get_by_text("Advanced settings").click()
    for field, value in {"Name of the run": "mine", **SMALL}.items():
        page.get_by_role("textbox", name=field, exact=True).fill(value)
        page.keyboard.press("Enter")
        settle(page)
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url("**run=mine*")
    ended = page.locator(".s-run", has_text=re.compile(r"mine.*finished after"))
    expect(ended).to_be_visible(timeout=240_000)
    settle(page)


def listed(page: Page) -> int:
    """The number of listed sentences, after all tags are found."""
    expect(page.locator(".reader .list li").first).to_be_visible()
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached()
    settle(page)
    return int(page.locator(".reader .top b").first.inner_text().split(" of ")[1])


def test_table_to_report_session_and_its_link_work_in_a_second_browser(browser, empty_server, bare, tmp_path):
    page, complaints = visit(browser, empty_server)
    page.goto(f"{empty_server}/data")
    page.get_by_text("Use your own file").click()
    settle(page)
    page.locator("input[type=file]").set_input_files(
        {"name": "guests.csv", "mimeType": "text/csv", "buffer": own_table()}
    )
    page.get_by_role("button", name="Use this file").click()
    page.get_by_role("button", name="Train on this").click()
    expect(page.get_by_role("button", name="Start training")).to_be_visible()
    settle(page)
    train(page)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(bare.folder.parent / "cache"))
        api.train(bare.read("mine").config.data.name, "tfidf-logreg", name="words", store=bare)

    page.goto(f"{empty_server}/errors?run=mine")
    whole = listed(page)
    page.get_by_role("button", name="add filter").click()
    page.get_by_role("button", name="any source").click()
    page.get_by_role("option", name=re.compile("^phone")).click()
    page.wait_for_url("**source%3Dphone**")
    phone = listed(page)
    assert 0 < phone < whole, "most of what is wrong came by phone"

    page.locator(".st-key-codes-book summary").click()
    page.get_by_role("textbox", name="Name", exact=True).last.fill("mislabelled")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".reader .codes button")).to_have_count(1)
    page.keyboard.press("Escape")
    settle(page)
    page.locator(".reader .list").focus()
    for row in range(phone):
        expect(page.locator(".reader .pane .top b")).to_have_text(f"{row + 1} of {phone}")
        page.keyboard.press("1")
        page.keyboard.press("j")
    rate = page.locator(".st-key-fig-codes tbody tr[data-id]")
    expect(rate).to_contain_text(re.compile(rf"{phone}\D*1\.00"))
    page.wait_for_url("**at=**")
    link = page.url

    page.goto(f"{empty_server}/compare?compare=mine&compare=words")
    alone = page.locator(".s-open", has_text="is right on").or_(page.locator(".s-open", has_text="are right on"))
    expect(alone).to_contain_text(re.compile("mine.*words|words.*mine"))

    page.goto(link)
    listed(page)
    page.get_by_role("button", name="Report · HTML").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the report").click()
    assert saved.value.suggested_filename == "sentiscope-report-mine-test.html"
    saved.value.save_as(tmp_path / "report.html")
    report = browser.new_page()
    report.goto((tmp_path / "report.html").as_uri())
    for said in ("mislabelled", "source", "R-0"):  # the author's code, column and id
        expect(report.locator("main, body").first).to_contain_text(said)

    other, others = visit(browser, empty_server, "dark", 1024)
    other.goto(link)
    assert listed(other) == phone
    expect(other.locator(".st-key-fig-codes tbody tr[data-id]")).to_contain_text("mislabelled")
    assert complaints == [] and others == []
