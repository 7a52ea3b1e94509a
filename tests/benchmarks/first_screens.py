"""What the first screen of each page holds: words, controls, and where the main figure begins.

    python tests/benchmarks/first_screens.py [--run starter-vanilla] [--pages errors,train]

Counted in the main area and above the fold, without the user's own texts (`data-text`) and the marks of figures
(`data-mark`, and all that Plotly and KaTeX draw), at 1440 x 900 and on a projector of 1280 x 720.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from browsing import ROOT, dashboard, open_page, opened_browser, visit

SIZES = {"1440 x 900": (1440, 900, ""), "1280 x 720 projected": (1280, 720, "&projector=true")}
COUNT = """() => {
  const found = { words: 0, controls: 0, figure: null };
  const control = "button, a[href], input, select, textarea, summary, [role=slider], [role=tab], [role=combobox]";
  const seen = (box) => box.width > 1 && box.height > 1 && box.bottom > 0 && box.top < innerHeight;
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
      const first = node.matches("[class*=st-key-fig-]") && found.figure === null && box.height > 80;
      if (first) found.figure = Math.round(box.top);
      if (!inside && node.matches(control) && seen(box)) { found.controls += 1; inside = true; }
      if (node.shadowRoot) walk(node.shadowRoot, inside);
    }
    for (const child of node.childNodes) walk(child, inside);
  };
  walk(document.querySelector("[data-testid=stMain]"), false);
  return found;
}"""


def count_first_screen(page: Page, address: str, width: int, height: int) -> dict[str, int | None]:
    """Open a page and return words, controls and y of the first figure (None without one)."""
    page.set_viewport_size({"width": width, "height": height})
    open_page(page, address)
    found: dict[str, int | None] = page.evaluate(COUNT)
    return found


def main() -> None:
    """Print a row for each page."""
    from dashboard.screens import PAGES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="starter-vanilla")
    parser.add_argument("--pages", default=",".join(PAGES))
    arguments = parser.parse_args()
    print(f"| page | {' | '.join(SIZES)} |\n|---|{'---|' * len(SIZES)}")
    with tempfile.TemporaryDirectory() as folder, opened_browser() as browser:
        with dashboard(Path(folder) / "runs", ROOT / "trained") as base:
            page, _ = visit(browser, base)
            for name in arguments.pages.split(","):
                cells = []
                for width, height, more in SIZES.values():
                    found = count_first_screen(page, f"{base}/{name}?run={arguments.run}{more}", width, height)
                    figure = "–" if found["figure"] is None else found["figure"]
                    cells.append(f"{found['words']} words, {found['controls']} controls, y {figure}")
                print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
