"""Coding with the keyboard in a browser: quick, nothing lost, kept after a reload; keys rest in a text field."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import ROOT, served, settle, visit
from playwright.sync_api import expect

from core.failures.codes import Codes

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROWS = 25
PLACE = ".reader .pane .top b"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def starters(tmp_path_factory, runs) -> Iterator[str]:
    own = {"SENTISCOPE_RUNS": str(runs), "SENTISCOPE_CACHE": str(tmp_path_factory.mktemp("cache"))}
    with served("dashboard/server.py", "dashboard.warm", **own, SENTISCOPE_STARTERS=str(ROOT / "trained")) as address:
        yield address


def test_a_session_with_keys_alone(browser, starters, runs):
    codes = Codes(runs, "built-in")
    for name in ("irony", "label", "other"):
        codes.add(name)
    page, complaints = visit(browser, starters)
    page.goto(f"{starters}/errors?run=starter-vanilla")
    page.locator(".reader .codes button").first.wait_for()
    page.wait_for_timeout(1500)
    expect(page.get_by_text("The tags of these texts are being found")).to_have_count(0)
    settle(page)
    author = page.get_by_role("textbox", name="Author", exact=True)
    author.fill("ann 123 jku")
    author.press("Enter")
    settle(page)
    assert codes.coded().given == {}, "keys rest while a field has the focus"
    page.locator(".reader .list").focus()
    expect(page.locator(PLACE)).to_have_text("1 of 310")
    waits = []
    for row in range(ROWS):
        begun = time.perf_counter()
        page.keyboard.press(str(row % 3 + 1))
        page.keyboard.press("j")
        expect(page.locator(PLACE)).to_have_text(f"{row + 2} of 310")
        waits.append(time.perf_counter() - begun)
    page.wait_for_timeout(1000)
    settle(page)
    given = codes.coded("ann 123 jku").given
    assert len(given) == ROWS and sorted({len(codes) for each in given.values() for codes in each.values()}) == [1]
    print(f"key to next sentence: median {statistics.median(waits):.3f} s, most {max(waits):.3f} s")
    page.keyboard.press("n")
    page.keyboard.type("12 j u")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.locator(PLACE)).to_have_text(f"{ROWS} of 310")
    settle(page)
    page.wait_for_timeout(500)
    assert list(codes.coded().notes.values()) == [{"ann 123 jku": "12 j u"}]
    page.keyboard.press("u")
    page.wait_for_timeout(500)
    settle(page)
    assert codes.coded().notes == {} and len(codes.coded().given) == ROWS
    page.keyboard.press("j")
    expect(page.locator(PLACE)).to_have_text(f"{ROWS + 1} of 310")
    for key in "1u2":  # the second code comes after what is taken back, however busy the page is
        page.keyboard.press(key)
    expect(page.locator(".reader .codes [aria-pressed=true]")).to_have_text(["2label"])
    until = time.monotonic() + 60
    while len(codes.coded().given) == ROWS and time.monotonic() < until:
        page.wait_for_timeout(200)
    assert sorted(codes.coded().given[found] for found in codes.coded().given.keys() - given.keys()) == [
        {"ann 123 jku": ("label",)}
    ]
    page.reload()
    page.locator(".reader .codes button").first.wait_for()
    expect(page.get_by_role("textbox", name="Author", exact=True)).to_have_value("ann 123 jku")
    assert complaints == []
