"""What the first screen of a page holds, and the limits that it keeps.

Counted in the main area and above the fold, without the user's own texts (`data-text`) and the marks of figures
(`data-mark`, and all that Plotly and KaTeX draw).
"""

from collections.abc import Callable
from typing import TypedDict

from browsing import PATIENCE, open_page
from playwright.sync_api import Page

COUNT = """() => {
  const found = { words: 0, controls: 0, figure: null };
  const control = "button, a[href], input, select, textarea, summary, [role=slider], [role=tab], [role=combobox]";
  const seen = (box) => box.width > 1 && box.height > 1 && box.bottom > 0 && box.top < innerHeight;
  const figures = "[class*=st-key-fig-], [data-testid=stDataFrame]";
  const icons = "[data-testid=stIconMaterial]"; // their text is the name of a sign
  const heard = (node) => getComputedStyle(node).clipPath.startsWith("inset(50%"); // not seen
  const shown = (node) => getComputedStyle(node).display === "contents" || // it has no box, its children have
    node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const walk = (node, inside) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const range = document.createRange();
      range.selectNodeContents(node);
      if (node.parentElement && shown(node.parentElement) && seen(range.getBoundingClientRect()))
        found.words += (node.textContent.match(/[\\p{L}\\p{N}]+/gu) || []).length;
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE && !(node instanceof ShadowRoot)) return;
    if (node instanceof Element) {
      if (node.matches(`style, script, [data-text], [data-mark], .main-svg, .modebar, .katex, ${icons}`)) return;
      if (heard(node) || !shown(node)) return;
      const box = node.getBoundingClientRect();
      const first = found.figure === null && box.height > 80 && node.matches(figures);
      if (first) found.figure = Math.round(box.top);
      if (!inside && node.matches(control) && seen(box)) { found.controls += 1; inside = true; }
      if (node.shadowRoot) walk(node.shadowRoot, inside);
    }
    for (const child of node.childNodes) walk(child, inside);
  };
  walk(document.querySelector("[data-testid=stMain]"), false);
  return found;
}"""
EMPTY = """() => [...document.querySelectorAll("[data-testid=stBidiComponentRegular], [class*=st-key-fig-]")].some(
  (each) => each.checkVisibility() && !each.querySelector("*") && !each.shadowRoot?.querySelector("*"))"""
"""Tells whether a component is still to be drawn: its script arrives after its page."""
REST = 400  # milliseconds between two counts that agree
SIZES = {"1440 x 900": (1440, 900, ""), "1280 x 720 projected": (1280, 720, "&projector=true")}
WORDS, CONTROLS, TOP = 150, 20, 320
"""Most words and controls on a first screen, and the lowest beginning of the main figure on a projector (pixels)."""
MORE_CONTROLS = {"sentence": 30, "errors": 30}
DIFFERENTIAL = "run=starter-differential"
LINKS = {"attention": DIFFERENTIAL, "lambdas": DIFFERENTIAL, "lesson": "lesson=heads"}
LINKS |= {"compare": "compare=starter-ndt-01-n3&compare=starter-differential"}
"""What a page needs to have something to show."""


class Found(TypedDict):
    """Words, controls, and y of the first figure or table (None without one)."""

    words: int
    controls: int
    figure: int | None


def make_link(page: str, run: str) -> str:
    """Return the address of a page with something to show: its own runs, or this one."""
    more = LINKS.get(page, "")
    return f"{page}?{more if 'run=' in more else f'run={run}&{more}'}"


def count_first_screen(page: Page, address: str, width: int, height: int) -> Found:
    """Open a page and count its first screen, once all is drawn and two counts agree."""
    page.set_viewport_size({"width": width, "height": height})
    open_page(page, address)
    page.wait_for_function(f"!({EMPTY})()", polling=100)
    return wait_until_same(page, lambda: page.evaluate(COUNT))


def wait_until_same(page: Page, count: Callable[[], Found]) -> Found:
    """Return a count that is the same twice in a row."""
    before = count()
    for _ in range(int(PATIENCE / REST)):
        page.wait_for_timeout(REST)
        after = count()
        if after == before and after["words"]:
            return after
        before = after
    raise AssertionError(f"the page never rests: {before}")


def find_excess(name: str, found: Found, *, projected: bool) -> list[str]:
    """Return by which limits of the page `name` its first screen is too full, in words."""
    most = {"words": WORDS, "controls": MORE_CONTROLS.get(name, CONTROLS)} | ({"figure": TOP} if projected else {})
    beyond = {each: limit for each, limit in most.items() if (found[each] or 0) > limit}
    return [f"{name}: {found[each]} {each}, at most {limit}" for each, limit in beyond.items()]
