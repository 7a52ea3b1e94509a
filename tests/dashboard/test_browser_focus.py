"""Where the keyboard is can be seen: every stop of Tab has an outline, in both themes, in the sidebar too."""

from __future__ import annotations

import pytest
from browsing import settle, visit
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ACCENT = {"light": "rgb(10, 100, 96)", "dark": "rgb(99, 197, 188)"}
PAGES = ("sentence", "steps", "performance", "data", "train")
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


@pytest.mark.parametrize("theme", ACCENT)
@pytest.mark.parametrize("path", PAGES)
def test_every_stop_of_tab_is_outlined(browser, server, theme, path, table):
    page, _ = visit(browser, server, theme)
    page.goto(f"{server}/{path}?run=finished&data={table}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    settle(page)
    unseen = []
    for _ in range(STOPS):
        page.keyboard.press("Tab")
        name, seen = page.evaluate(SEEN, ACCENT[theme])
        if not seen:
            unseen.append(name)
    assert unseen == []
