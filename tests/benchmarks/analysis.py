"""A worked analysis of errors on real data, with mouse and keyboard alone, and how long its keys wait.

    python tests/benchmarks/analysis.py --data DIR

`--data` is a folder with `twitter_financial`. Trains `vanilla` with the strong recipe on Train, clicks a cell of the
confusion matrix, makes a codebook, codes 75 random errors by keys as in `analysis_codes.csv` (keys of rows, no texts),
saves the most frequent code as a slice and the report. Errors that the file does not know stay uncoded and are listed.
"""

import argparse
import csv
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, expect

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from browsing import opened_browser, served, settle, visit

CODES = Path(__file__).with_name("analysis_codes.csv")
RUN, AUTHOR = "tweets", "ann"
WAIT = 300_000
BOOK = {
    "trade words": "The direction is said in words of the trade: beats, downgrade, derailed.",
    "two directions": "One thing up and another down, or up with something bad.",
    "implied": "Only who knows the world knows what it means: a lawsuit, a recall, a prize.",
    "denied": "A denial, an understatement or irony turns it round.",
    "figure": "The direction is in a number or its sign.",
    "decoy": "A word of direction that is not about an asset.",
    "doubtful label": "The label itself is doubtful.",
    "said outright": "Said in plain words, and missed all the same.",
    "no cause seen": "Nothing in it explains the answer.",
}
"""The codebook of the file: what each code means; its digits in this order."""
TOP = ".reader .pane .top b"


def train(page: Page, address: str) -> None:
    """On the page Train: choose a preset, a data set, the strong recipe and one thread, and click Start."""
    page.goto(f"{address}/train?model=vanilla&data=twitter_financial")
    settle(page)
    page.get_by_text("Strong recipe").click()
    settle(page)
    page.get_by_text("Advanced settings").click()
    for field, value in {"Name of the run": RUN, "threads": "1"}.items():
        page.get_by_role("textbox", name=field, exact=True).fill(value)
        page.keyboard.press("Enter")
        settle(page)
    page.get_by_role("button", name="Start training").click()
    page.get_by_text("finished after").wait_for(timeout=1_200_000)
    settle(page)


def cell(page: Page) -> str:
    """Click a wrong cell of the matrix; return the text of the bar."""
    page.get_by_role("link", name="Performance", exact=True).click()
    cells = page.locator(".st-key-fig-confusion .bars .point")
    cells.nth(2).click(timeout=WAIT, force=True)
    bar = page.locator(".st-key-selected .s-now")
    expect(bar).to_be_visible(timeout=WAIT)
    settle(page)
    return bar.inner_text()


def list_errors(page: Page) -> None:
    """Open Errors with all tags, with only wrong sentences selected."""
    page.get_by_role("button", name="Clear", exact=True).click()
    settle(page)
    page.get_by_role("link", name="Errors", exact=True).click()
    page.locator(".filter .word", has_text="any tag").wait_for(timeout=WAIT)
    settle(page)


def make_book(page: Page) -> None:
    """Enter the author's name, then each code."""
    author = page.get_by_role("textbox", name="Author", exact=True)
    author.fill(AUTHOR)
    author.press("Enter")
    settle(page)
    page.locator(".st-key-codes-book summary").click()
    for number, (name, definition) in enumerate(BOOK.items(), 1):
        field = page.get_by_role("textbox", name="Name", exact=True).last
        field.fill(name)
        page.get_by_role("textbox", name="Definition").fill(definition)
        page.get_by_role("button", name="Add", exact=True).click()
        page.locator(".reader .codes button").nth(number - 1).wait_for(timeout=WAIT)
        settle(page)
    page.keyboard.press("Escape")


def read(page: Page, last: str) -> str:
    """The key of the sentence that is read, out of the link, which has it when one stays at a sentence."""
    gone = "(last) => { const at = new URLSearchParams(location.search).get('at'); return at && at !== last && at; }"
    return str(page.wait_for_function(gone, arg=last, timeout=WAIT).json_value())


def code(page: Page, known: dict[str, str]) -> tuple[list[float], list[str]]:
    """Code each drawn sentence by a digit; return seconds to the next one, and keys without a code in the file."""
    page.get_by_role("button", name="Code 75 at random").click()
    expect(page.locator(TOP)).to_have_text("1 of 75", timeout=WAIT)
    settle(page)
    page.locator(".reader .list").focus()
    waits, unknown, names, key = [], [], list(BOOK), ""
    for row in range(75):
        key = read(page, key)
        begun = time.perf_counter()
        if key in known:
            page.keyboard.press(str(names.index(known[key]) + 1))
        else:
            unknown.append(key)
        if row < 74:
            page.keyboard.press("j")
            expect(page.locator(TOP)).to_have_text(f"{row + 2} of 75")
            waits.append(time.perf_counter() - begun)
    settle(page)
    return waits, unknown


def conclude(page: Page) -> list[str]:
    """Read the rates of the codes, select the most frequent code and save it as a slice."""
    rows = page.locator(".st-key-fig-codes tbody tr[data-id]")
    expect(rows.first).to_be_visible(timeout=WAIT)
    told = [" ".join(each.split()) for each in rows.all_inner_texts()]
    rows.first.locator("td, th").first.click()
    page.wait_for_url("**code%3D**", timeout=WAIT)
    settle(page)
    page.get_by_role("button", name="Save as slice").click()
    page.get_by_role("textbox", name="Name", exact=True).last.fill("most frequent cause")
    page.keyboard.press("Enter")
    page.locator(".st-key-selected-keep button").click()
    page.get_by_text("Saved as “most frequent cause”").wait_for(timeout=WAIT)
    page.keyboard.press("Escape")
    settle(page)
    return told


def report(page: Page) -> str:
    """Save the coded session as one file; return its name and size."""
    page.get_by_role("button", name="Report · HTML").click()
    with page.expect_download(timeout=WAIT) as saved:
        page.get_by_role("button", name="Save the report").click(timeout=WAIT)
    return f"{saved.value.suggested_filename}, {Path(saved.value.path()).stat().st_size / 1e6:.1f} MB"


def main() -> None:
    """Run the analysis and print its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args()
    with CODES.open(encoding="utf-8") as file:
        known = {row["key"]: row["code"] for row in csv.DictReader(file)}
    with tempfile.TemporaryDirectory(prefix="sentiscope-analysis-") as folder:
        own = {"SENTISCOPE_DATA": str(given.data), "SENTISCOPE_RUNS": f"{folder}/runs"}
        own |= {"SENTISCOPE_CACHE": f"{folder}/cache", "SENTISCOPE_STARTERS": f"{folder}/none"}
        with served("dashboard/server.py", "dashboard.launcher", **own) as address, opened_browser() as browser:
            page, complaints = visit(browser, address)
            train(page, address)
            print("a cell clicked:", cell(page), flush=True)
            list_errors(page)
            make_book(page)
            waits, unknown = code(page, known)
            late = statistics.quantiles(waits, n=20)[-1]
            print(f"key to next sentence: median {statistics.median(waits):.2f} s, 95 % within {late:.2f} s, ", end="")
            print(f"most {max(waits):.2f} s, n = {len(waits)}, load {os.getloadavg()[0]:.1f}")
            print(f"{75 - len(unknown)} of 75 coded; not in the file:", *unknown or ["none"])
            print(*conclude(page), sep="\n")
            print("report:", report(page))
            print("complaints of the browser:", complaints or "none")


if __name__ == "__main__":
    main()
