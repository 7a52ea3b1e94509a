"""Two server processes, one of which is killed while somebody works: nothing typed, coded or uploaded is lost."""

import re
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
    """The address of two server processes, and a function that kills the one of a browser."""
    with dashboard(tmp_path / "runs", ROOT / "trained", "dashboard.workers 2") as address:

        def kill(page):
            """Kill the process of a page's browser."""
            (index,) = (each["value"] for each in page.context.cookies() if each["name"] == COOKIE)
            at = sorted((int(each.cmdline()[4]), each) for each in find_server(address).children())
            at[int(index)][1].kill()

        yield address, kill


def reconnect(page, kill) -> None:
    """Kill the process of a page, and wait until a new one has drawn it."""
    with page.expect_websocket():
        kill(page)
    page.wait_for_timeout(1000)
    settle(page)


def test_nobody_loses_a_text_a_code_or_an_upload_when_their_process_is_killed(browser, pool, tmp_path):
    address, kill = pool
    codes = Codes(tmp_path / "runs", "built-in")
    codes.add_code("irony")
    page, _ = visit(browser, address)
    open_page(page, f"{address}/sentence?run=starter-vanilla")
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    enter(field, TEXT)
    settle(page)
    kill(page)
    field.fill(f"{TEXT} Never.")  # while nobody answers
    field.press("Enter")
    until(page, lambda: "Never." in unquote_plus(page.url))
    see(page.locator(".levers table").first)
    expect(field).to_have_value(f"{TEXT} Never.")

    open_page(page, f"{address}/errors?run=starter-vanilla")
    page.locator(".reader .list").focus()
    page.keyboard.press("1")
    until(page, lambda: codes.read_annotations().given)
    reconnect(page, kill)
    see(page.locator(".reader .codes button[aria-pressed=true]").first)

    open_page(page, f"{address}/data")
    file = tmp_path / "mine.csv"
    file.write_text(ROWS)
    page.get_by_role("button", name=re.compile("Use your own file")).click()
    page.locator("input[type=file]").set_input_files(file)
    see(page.get_by_role("button", name="Use this file"))
    reconnect(page, kill)
    page.get_by_role("button", name="Use this file").click()
    until(page, lambda: "mine" in page.url)
    settle(page)
    reconnect(page, kill)
    see(page.get_by_text("mine.csv").first)

    open_page(page, f"{address}/performance?run=starter-vanilla")
    reconnect(page, kill)
    open_export(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Confusion · CSV", exact=True).click()
    assert saved.value.path().read_text().count("\n") > 2
