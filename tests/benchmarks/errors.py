"""Waiting times of Errors with many predictions, in Chromium against their goals.

    python tests/benchmarks/errors.py [--rows 25000] [--repeats 5]

Medians from the request, key or click to the frame that shows the answer, with the tags found before. A new browser
reads Streamlit's scripts first, so a second visit is measured too. The load of the machine is printed.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from answering import code_rows
from browsing import dashboard, opened_browser, served, settle, visit
from pages import answered, report, timed, watch

from core import api
from core.error_analysis.codebook import Codes, draw_sample, get_data_name
from core.error_analysis.predictions_table import hash_texts
from core.runs.store import RunStore

WORDS = "film plot scene actor music story end joke light sound voice line set crew shot town day night".split()
GOOD, BAD = ("warm", "wise", "funny", "rich"), ("dull", "flat", "slow", "cold")
INSIDE = "[...document.querySelectorAll('*')].map((one) => one.shadowRoot).filter(Boolean)"
"""The project's components: each has a shadow root, which `querySelector` does not search."""
READ = f"{INSIDE}.map((root) => root.querySelector('.reader .list li')).find(Boolean)"
FIRST = f"({INSIDE}.map((root) => root.querySelector('.reader')).find(Boolean)?.innerText ?? '').slice(0, 400)"
AT = f"{INSIDE}.map((root) => root.querySelector('.reader .top b')).find(Boolean)?.innerText"


def run(folder: Path, rows: int) -> None:
    """A small model with this number of invented test sentences."""
    random = np.random.default_rng(0)
    labels = np.arange(rows + 2000) % 2
    texts = []
    for number, label in enumerate(labels):
        mood = random.choice((BAD, GOOD)[label if random.random() > 0.15 else 1 - label])
        texts.append(f"the {' '.join(random.choice(WORDS, 9))} was {'not ' * (number % 7 == 0)}{mood}, number {number}")
    own = {"source": random.choice(["web", "phone", "post"], len(texts)), "likes": random.integers(0, 500, len(texts))}
    frame = pd.DataFrame({"text": texts, "label": np.array(["bad", "good"])[labels], **own})
    frame.to_csv(folder / "many.csv", index=False)
    settings = {"model.width": 16, "model.ff_width": 16, "training.epochs": 1, "training.threads": 1}
    split = {"data.split": f"{1500 / len(texts)}/{500 / len(texts)}/{rows / len(texts)}"}
    store = RunStore(folder / "runs")
    api.train(str(folder / "many.csv"), "vanilla", settings | split, name="many", store=store)
    Codes(store.folder, get_data_name(store.read("many"))).add_code("irony")


def opened(page: Page, link: str, seen: str) -> float:
    """From the request to the expected element."""
    start = time.perf_counter()
    page.goto(link, wait_until="commit")
    page.wait_for_function(seen, timeout=120_000)
    return time.perf_counter() - start


def first(page: Page, address: str) -> float:
    """From the request to the list."""
    seconds = opened(page, f"{address}/errors?run=many", READ)
    page.locator(".filter .word", has_text="any tag").wait_for(timeout=300_000)
    settle(page)
    return seconds


def lists(browser: Browser, address: str, bare: str) -> tuple[float, float, float]:
    """To the list in a new browser and again in the same one, and to a bare app's title in a new one."""
    page, _ = visit(browser, address)
    new, again = first(page, address), first(page, address)
    page.context.close()
    page, _ = visit(browser, bare)
    plain = opened(page, bare, "document.querySelector('h1')")
    page.context.close()
    return new, again, plain


def changed(page: Page, what: str) -> str:
    """An expression that is true when another expression has changed its value."""
    return f"{what} !== {json.dumps(page.evaluate(what))}"


def chosen(page: Page, value: str) -> float:
    """From Enter in the word field to the filtered list."""
    field = page.locator(".filter input[aria-label='Texts containing']")
    field.fill(value)
    return timed(page, "keydown", changed(page, FIRST), lambda: field.press("Enter"))


def row_below(page: Page, row: str, name: str) -> float:
    """From a click on a row of a table below to its word in the filter; then it is let go of.

    `name`: what the word says; empty: what stands behind the colon of the row's id.
    """
    row = page.locator(row).first
    row.scroll_into_view_if_needed()
    name = name or str(row.get_attribute("data-id")).rpartition(": ")[2]
    words = f"{INSIDE}.flatMap((root) => [...root.querySelectorAll('.filter .word.set')])"
    is_set = f"{words}.some((each) => each.textContent.includes('{name}'))"
    seconds = timed(page, "click", is_set, row.click)
    timed(page, "click", f"!{is_set}", row.click)
    return seconds


def chosen_option(page: Page, word: str, name: str) -> float:
    """From a click on a filter option to a list of another length; then the filter is reset."""
    seconds = []
    for option in (name, ""):
        page.locator(f".filter [data-id='word-{word}']").first.click()
        options = page.locator(f".filter [data-id='list-{word}'] li")
        one = (options.filter(has_text=option) if option else options).first
        seconds.append(timed(page, "click", changed(page, f"{AT}?.split(' of ')[1]"), one.click))
    return max(seconds)


def coded(page: Page) -> float:
    """From the key of a code to its pressed button, after moving to the next sentence."""
    page.keyboard.press("j")
    pressed = f"{INSIDE}.map((root) => root.querySelector('.reader .codes button')).find(Boolean)?.ariaPressed"
    watch(page, "keydown", f"{pressed} === 'true'")
    page.keyboard.press("1")
    return answered(page)


def code_all(folder: Path) -> None:
    """Give every row codes by two authors, out of 20 codes, and draw 75 rows."""
    store, random = RunStore(folder / "runs"), np.random.default_rng(0)
    codes = Codes(store.folder, get_data_name(store.read("many")))
    keys = hash_texts(api.runs_predictions("many", "test", store)["text"].tolist())
    for number in range(19):
        codes.add_code(f"cause {number}")
    for author in ("ann", "bob"):
        for number, part in enumerate(np.array_split(random.permutation(keys), 19)):
            code_rows(codes, part.tolist(), [f"cause {number}"], author=author)
    draw_sample(codes, keys, 75, 0, "all")


def counted(page: Page) -> float:
    """From the key of a code to its count below the list."""
    page.keyboard.press("j")
    count = f"{INSIDE}.map((root) => root.querySelector('tr[data-id=irony]')).find(Boolean)?.innerText"
    return timed(page, "keydown", changed(page, count), lambda: page.keyboard.press("1"))


def next_one(page: Page) -> float:
    """From j to the next sentence."""
    watch(page, "keydown", changed(page, AT))
    page.keyboard.press("j")
    return answered(page)


def next_in_the_bar(page: Page) -> float:
    """From a click on Next in the selection bar to the next sentence."""
    return timed(page, "click", changed(page, AT), page.locator(".st-key-selected-Next button").click)


def ordered(page: Page, order: str) -> float:
    """From the choice of another order to the sorted list."""
    orders = page.get_by_label("Order of the sentences")
    return timed(page, "input", changed(page, FIRST), lambda: orders.select_option(order))


def noted(page: Page) -> float:
    """From Escape in a note to its mark in the list."""
    page.keyboard.press("j")
    page.keyboard.press("n")
    page.keyboard.type("says so twice")
    chosen = f"{INSIDE}.map((root) => root.querySelector('.reader .list li[aria-selected=true]')).find(Boolean)"
    mark = f"{chosen}?.innerText.includes('\u270e')"
    return timed(page, "keydown", mark, lambda: page.keyboard.press("Escape"))


def taken_back(page: Page) -> float:
    """From u to the message that a code was undone."""
    coded(page)
    settle(page)
    done = f"({INSIDE}.map((root) => root.querySelector('.reader .foot .done')).find(Boolean)?.innerText ?? '')"
    said = f"{changed(page, done)} && {done}.startsWith('Undone')"
    return timed(page, "keydown", said, lambda: page.keyboard.press("u"))


def drawn(page: Page) -> float:
    """From a click on the offered sample to its 75 sentences."""
    return timed(page, "click", f"{AT}?.endsWith(' of 75')", page.locator(".st-key-codes-draw button").first.click)


def saved(page: Page, name: str) -> float:
    """From a click on Save to the message that the selection is a slice."""
    page.get_by_role("button", name="Save as slice").click()
    page.get_by_label("Name", exact=True).last.fill(name)
    said = f"document.body.innerText.includes('Saved as \u201c{name}')"
    seconds = timed(page, "click", said, page.get_by_role("button", name="Save", exact=True).last.click)
    page.keyboard.press("Escape")
    settle(page)
    return seconds


def merged(page: Page, name: str) -> float:
    """From a click on Merge to a table of codes without the merged one."""
    book = page.locator(".st-key-codes-book")
    book.get_by_role("combobox", name="Code", exact=True).click()
    page.get_by_role("listbox").wait_for()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    settle(page)
    gone = f"{INSIDE}.every((root) => !root.querySelector('tr[data-id=\"{name}\"]'))"
    return timed(page, "click", gone, book.get_by_role("button", name="Merge").click)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=25_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sentiscope-errors-"))
    try:
        run(folder, given.rows)
        plain = folder / "bare.py"
        plain.write_text("import streamlit as st\nst.title('bare')\n")
        with dashboard(folder / "runs") as address, served(plain) as bare, opened_browser() as browser:
            page, _ = visit(browser, address)
            first(page, address)  # finds the tags
            times = zip(*(lists(browser, address, bare) for _ in range(given.repeats)), strict=True)
            names = "list, new browser", "list, warm", "title of a bare app, new browser"
            for name, seconds in zip(names, times, strict=True):
                report(name, list(seconds), 1.5)
            report("j to the next sentence", [next_one(page) for _ in range(3 * given.repeats)], 0.05)
            words = [f"{word} " for word in WORDS[: given.repeats]]
            report("words searched to the list", [chosen(page, word) for word in words], 0.5)
            chosen(page, "")
            orders = ("lowest margin first", "surest first")
            report("order to the list", [ordered(page, each) for each in orders * 2], 0.5)
            report("Next in the bar", [next_in_the_bar(page) for _ in range(given.repeats)], 0.5)
            report("save as slice", [saved(page, f"slice {n}") for n in range(given.repeats)], 0.5)
            for name, row, seen in (
                ("tag", "tr[data-id='tag=negation']", "negation"),
                ("value of a column", "tr[data-id='source=web']", "web"),
                ("word of an outcome", ".st-key-fig-outcome-cloud .cloud button", "with the word"),
            ):
                times = [row_below(page, row, seen) for _ in range(given.repeats)]
                report(f"{name} picked to the filter", times, 0.5)
            for word, option in (("true", "good"), ("source", "web"), ("tag", "negation")):
                times = [chosen_option(page, word, option) for _ in range(given.repeats)]
                report(f"option of “{word}” to the list", times, 0.5)
            report("code's key to its mark", [coded(page) for _ in range(3 * given.repeats)], 0.5)
            report("note's end to its mark", [noted(page) for _ in range(given.repeats)], 0.5)
            report("u to what is taken back", [taken_back(page) for _ in range(given.repeats)], 0.5)
            code_all(folder)
            page.goto(f"{address}/errors?run=many")
            author = page.get_by_role("textbox", name="Author", exact=True)
            author.fill("ann")
            author.press("Enter")
            settle(page)
            page.locator(".reader .list").focus()
            report("the same, every row coded twice", [coded(page) for _ in range(3 * given.repeats)], 0.5)
            report("… to its count below", [counted(page) for _ in range(given.repeats)], 0.5)
            report("u to what is taken back", [taken_back(page) for _ in range(given.repeats)], 0.5)
            page.locator(".st-key-codes-book summary").click()
            settle(page)
            report("merge to the table of codes", [merged(page, f"cause {n}") for n in (17, 16, 15)], 0.5)
            report("draw to its sentences", [drawn(page)], 0.5)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
