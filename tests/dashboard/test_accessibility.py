"""Every page, with a run and with none: axe, width, foreign requests, and the line around what has the focus."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from browsing import LOOKS, is_too_wide, looks, open_page, settle, show, switch_theme, violations, visit
from playwright.sync_api import expect

from dashboard.screens import list_entries

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ACCENT = {"light": "rgb(10, 100, 96)", "dark": "rgb(99, 197, 188)"}
TABBED = ("sentence", "steps", "performance", "data", "train")
STOPS = 36
HALF = 6
SEEN = """accent => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const lined = (e) => getComputedStyle(e).outlineStyle === "solid" && getComputedStyle(e).outlineColor === accent
    && parseFloat(getComputedStyle(e).outlineWidth) >= 2;
  const name = at.getAttribute("aria-label") || at.innerText || at.tagName;
  if (at === document.body || at.dataset.testid === "stMain") return [name, true];
  const halo = getComputedStyle(at.parentElement.parentElement || at).boxShadow;
  if (at.type === "range" && !at.closest(".levers")) return [name, halo !== "none"];
  for (let e = at, up = 0; e && up < 6; e = e.parentElement, up++) {
    const box = e.getBoundingClientRect();
    if (lined(e) && box.width > 8 && box.height > 8) return [name, true];
  }
  if (at.closest(".head_view")) return [name, true];
  return [name, false];
}"""
"""The line is around what has the focus or its field; a slider's handle has a halo (a lever a line), the head view
marks of its own."""


def walked(page) -> Iterator[str]:
    """Visit all pages of the navigation, so that new pages are checked too; yields the path of each.

    Start has the whole window; a link of its own leads to the menu.
    """
    entries, way_out = page.get_by_test_id("stSidebarNavLink"), page.locator(".start header a", has_text="Runs")
    entries.first.wait_for(state="attached")
    paths = [(entry.get_attribute("href") or "").rsplit("/", 1)[-1] for entry in entries.all()]
    assert paths in [list(list_entries(tagging=tagging)) for tagging in (False, True)]
    for place, path in enumerate(paths):
        if way_out.is_visible():
            way_out.click()
        entries.nth(place).click()
        page.wait_for_url(lambda url, path=path: urlsplit(url).path == f"/{path}")
        settle(page)
        yield path


def list_faults(page, complaints, rules=()) -> list[str]:
    """List accessibility errors of the open page as it looks now."""
    found = [*violations(page, rules), *complaints, *page.get_by_test_id("stException").all_inner_texts()]
    found += ["too wide"] * is_too_wide(page)
    complaints.clear()
    return found


def test_pages_of_a_finished_run_have_no_serious_faults(browser, server):
    page, complaints = visit(browser, server)
    open_page(page, f"{server}/models?run=finished")
    for path in walked(page):
        assert "run=finished" in page.url, path
        for rules in looks(page):
            assert list_faults(page, complaints, rules) == [], (path, rules)


def test_pages_without_a_run_have_no_serious_faults(browser, empty_server):
    """Pages with little content: half are checked light and wide, half dark and narrow."""
    page, complaints = visit(browser, empty_server)
    open_page(page, empty_server)
    for number, path in enumerate(walked(page)):
        assert list_faults(page, complaints) == [], path
        if number == HALF:
            show(page, *LOOKS[1])


def test_all_tab_stops_have_an_outline(browser, server, table):
    page, _ = visit(browser, server)
    unseen = []
    for path in TABBED:
        page.emulate_media(color_scheme="light")
        open_page(page, f"{server}/{path}?run=finished&data={table}")
        for theme, key in (("light", "Tab"), ("dark", "Shift+Tab")):  # forwards and backwards
            switch_theme(page, theme)
            for _ in range(STOPS):
                page.keyboard.press(key)
                name, seen = page.evaluate(SEEN, ACCENT[theme])
                if not seen:
                    unseen.append((path, theme, name))
    assert unseen == []


def test_theme_switch_updates_text_and_figures_of_an_open_page(browser, server):
    page, _ = visit(browser, server)
    open_page(page, f"{server}/performance?run=finished")
    title, drawn = page.get_by_role("heading", level=1), page.locator(".js-plotly-plot .main-svg").first
    ink = {"light": "rgb(34, 38, 43)", "dark": "rgb(233, 231, 226)"}
    paper = {"light": "rgb(253, 252, 250)", "dark": "rgb(21, 24, 28)"}
    for theme in ("light", "dark", "light", "dark"):  # twice: a theme can be chosen again
        page.emulate_media(color_scheme=theme)
        expect(title).to_have_css("color", ink[theme])
        expect(drawn).to_have_css("background-color", paper[theme])
