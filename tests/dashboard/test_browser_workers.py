"""Two server processes that are killed while ten people work: nothing typed, coded or uploaded is lost."""

import contextlib
import re
from itertools import groupby
from urllib.parse import unquote_plus

import pytest
from browsing import ROOT, dashboard, enter, find_server, open_export, open_page, see, settle, until, visit
from playwright.sync_api import expect

from core.error_analysis.codebook import Codes
from dashboard.workers import COOKIE

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TEXT = "The room was not bad at all."
WORDS = ("good", "bad")
ROWS = "text,label\n" + "".join(f"Film {number} was {word}.,{word}\n" for number in range(20) for word in WORDS)


@pytest.fixture
def pool(tmp_path):
    """The address of two server processes, and a function that kills one of them."""
    with dashboard(tmp_path / "runs", ROOT / "trained", "dashboard.workers 2") as address:

        def kill(index):
            """Kill the process with an index."""
            at = sorted((int(each.cmdline()[4]), each) for each in find_server(address).children())
            at[index][1].kill()

        yield address, kill


def find_process(page) -> int:
    """Return the index of the process of a page's browser."""
    (index,) = (each["value"] for each in page.context.cookies() if each["name"] == COOKIE)
    return int(index)


def reconnect(kill, *pages) -> None:
    """Kill the process of pages, and wait until a new one has drawn them."""
    with contextlib.ExitStack() as waited:
        for page in pages:
            waited.enter_context(page.expect_websocket())
        kill(find_process(pages[0]))
    pages[0].wait_for_timeout(1000)
    for page in pages:
        settle(page)


def test_ten_people_lose_no_text_code_or_upload_when_their_processes_are_killed(browser, pool, tmp_path):
    address, kill = pool
    codes = Codes(tmp_path / "runs", "built-in")
    codes.add_code("irony")
    file = tmp_path / "mine.csv"
    file.write_text(ROWS)
    pages = [visit(browser, address)[0] for _ in range(10)]
    writing, coding, uploading = pages[:4], pages[4:7], pages[7:]
    for number, page in enumerate(writing):
        open_page(page, f"{address}/sentence?run=starter-vanilla")
        enter(page.get_by_role("textbox", name="Sentence", exact=True), f"{TEXT} {number}")
    for number, page in enumerate(coding):
        open_page(page, f"{address}/errors?run=starter-vanilla&select=all;word={('film', 'room', 'food')[number]}")
        page.locator(".reader .list").focus()
        page.keyboard.press("1")
        until(page, lambda given=number + 1: len(codes.read_annotations().given) == given)
    for page in uploading:
        open_page(page, f"{address}/data")
        page.get_by_role("button", name=re.compile("Use your own file")).click()
        page.locator("input[type=file]").set_input_files(file)
        see(page.get_by_role("button", name="Use this file"))
    for page in pages:
        settle(page)
    groups = [list(group) for _, group in groupby(sorted(pages, key=find_process), find_process)]
    assert [len(group) for group in groups] == [5, 5]
    for group in groups:
        reconnect(kill, *group)
    for number, page in enumerate(writing):
        expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(f"{TEXT} {number}")
        see(page.locator(".levers table").first)
    for page in coding:
        see(page.locator(".reader .codes button[aria-pressed=true]").first)
    assert len(codes.read_annotations().given) == 3
    for page in uploading:
        page.get_by_role("button", name="Use this file").click()
        until(page, lambda page=page: "mine" in page.url)
        settle(page)
        see(page.get_by_text("mine.csv").first)


def test_what_is_typed_while_no_process_answers_and_files_used_before_are_kept(browser, pool, tmp_path):
    address, kill = pool
    page, _ = visit(browser, address)
    open_page(page, f"{address}/sentence?run=starter-vanilla")
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    enter(field, TEXT)
    settle(page)
    kill(find_process(page))
    field.fill(f"{TEXT} Never.")  # while nobody answers
    field.press("Enter")
    until(page, lambda: "Never." in unquote_plus(page.url))
    see(page.locator(".levers table").first)
    expect(field).to_have_value(f"{TEXT} Never.")

    open_page(page, f"{address}/data")
    file = tmp_path / "mine.csv"
    file.write_text(ROWS)
    page.get_by_role("button", name=re.compile("Use your own file")).click()
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Use this file").click()
    until(page, lambda: "mine" in page.url)
    settle(page)
    reconnect(kill, page)
    see(page.get_by_text("mine.csv").first)

    open_page(page, f"{address}/performance?run=starter-vanilla")
    reconnect(kill, page)
    open_export(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Confusion · CSV", exact=True).click()
    assert saved.value.path().read_text().count("\n") > 2
