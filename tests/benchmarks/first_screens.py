"""What the first screen of each page holds: words, controls, and where the main figure begins.

    python tests/benchmarks/first_screens.py [--run starter-vanilla] [--pages errors,train]

A star marks what is beyond a limit of `tests/support/first_screen.py`, which says what is counted.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from browsing import ROOT, dashboard, opened_browser, visit
from first_screen import SIZES, count_first_screen, find_excess, make_link


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
                    address = f"{base}/{make_link(name, arguments.run)}{more}"
                    found = count_first_screen(page, address, width, height)
                    figure = "–" if found["figure"] is None else found["figure"]
                    star = " *" if find_excess(name, found, projected=bool(more)) else ""
                    cells.append(f"{found['words']} words, {found['controls']} controls, y {figure}{star}")
                print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
