"""Every page, with a run and with none: axe, width, foreign requests, and the line around what has the focus."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import is_too_wide, open_page, switch_theme, violations, visit
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCREENS = Path(__file__).resolve().parents[2] / "dashboard" / "screens"
EDITED = "sentence?run=finished&beside=baseline&edit=h1.1,l1c1:0.9&text=good+film+unheard+of"
ACCENT = {"light": "rgb(10, 100, 96)", "dark": "rgb(99, 197, 188)"}
TABBED = ("sentence", "steps", "performance", "data", "train")
STOPS = 36
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


def paths(page) -> list[str]:
    """Read the paths of all pages from the navigation, so that a new page is checked as well."""
    entries = page.get_by_test_id("stSidebarNavLink")
    entries.first.wait_for()
    found = [entry.get_attribute("href") or "" for entry in entries.all()]
    screens = [path for path in SCREENS.glob("*.py") if "_" not in path.stem]
    assert len(found) == len(screens), "every page stands in the navigation, none behind a button"
    return [path.rsplit("/", 1)[-1] for path in found]


def faults(page, complaints, address, links) -> dict[str, list[str]]:
    """Visit each link once, light and wide, then dark and narrow; pages without fault are left out."""
    found: dict[str, list[str]] = {}
    for link in links:
        page.set_viewport_size({"width": 1440, "height": 900})
        page.emulate_media(color_scheme="light")
        open_page(page, f"{address}/{link}")
        for theme, width in (("light", 1440), ("dark", 1024)):
            page.set_viewport_size({"width": width, "height": 900})
            switch_theme(page, theme)
            wide = [f"wider than {width}"] * is_too_wide(page)
            raised = [f"{page.get_by_test_id('stException').all_inner_texts()}"] * page.get_by_test_id(
                "stException"
            ).count()
            found[f"{link} {theme}"] = [*violations(page), *complaints, *wide, *raised]
            complaints.clear()
    return {link: each for link, each in found.items() if each}


def test_no_page_of_a_finished_run_has_a_grave_fault(browser, server):
    page, complaints = visit(browser, server)
    open_page(page, server)
    links = [f"{path}?run=finished" for path in paths(page)]
    assert faults(page, complaints, server, [*links, EDITED]) == {}


def test_no_page_without_a_run_has_a_grave_fault(browser, empty_server):
    page, complaints = visit(browser, empty_server)
    open_page(page, empty_server)
    assert faults(page, complaints, empty_server, paths(page)) == {}


@pytest.mark.parametrize("theme", ACCENT)
def test_every_stop_of_tab_is_outlined(browser, server, theme, table):
    page, _ = visit(browser, server, theme)
    unseen = []
    for path in TABBED:
        open_page(page, f"{server}/{path}?run=finished&data={table}")
        for _ in range(STOPS):
            page.keyboard.press("Tab")
            name, seen = page.evaluate(SEEN, ACCENT[theme])
            if not seen:
                unseen.append((path, name))
    assert unseen == []


def test_a_theme_switched_on_an_open_page_reaches_its_text_and_its_figures(browser, server):
    page, _ = visit(browser, server)
    open_page(page, f"{server}/performance?run=finished")
    title, drawn = page.get_by_role("heading", level=1), page.locator(".js-plotly-plot .main-svg").first
    ink = {"light": "rgb(34, 38, 43)", "dark": "rgb(233, 231, 226)"}
    paper = {"light": "rgb(253, 252, 250)", "dark": "rgb(21, 24, 28)"}
    for theme in ("light", "dark", "light", "dark"):  # and back: what the server was told before is not its last word
        page.emulate_media(color_scheme=theme)
        expect(title).to_have_css("color", ink[theme])
        expect(drawn).to_have_css("background-color", paper[theme])
