"""Class names with quotes, ampersands, percent signs, line breaks and emoji are drawn literally."""

import re

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from answering import answering, right_where, texts

from core import api
from core.runs.store import RunStore
from dashboard.export import _draw_figures, _make_source
from dashboard.figures.drawing import escape_text
from dashboard.figures.theme import Look

NAMES = ('Qa "no" & <b>%{zz}</b>\n😀', "Qb 'yes' &amp; 50 %\r\n👍🏽")
PLAIN = ('Qa "no" & <b>%{zz}</b> 😀', "Qb 'yes' &amp; 50 % 👍🏽")  # names that a file can hold
KNOWN = {"amp": "&", "lt": "<", "gt": ">"}
"""Of the named entities, those that plotly.js draws and we write; it draws `&quot;` as it stands."""
AS_THEY_ARE = ('say "no"', "it's", "a & b &amp; c", "<b>1 < 2</b>", "50 % of %{x}", "&lt;", "😀👍🏽é")
OTHERWISE = {"two\nlines\r\nand\rmore": "two↵lines↵and↵more", "a\x00b\tc": "a\ufffdb c"}


def drawn(text: str) -> str:
    """What plotly.js draws for a text: without tags, with its entities."""
    bare = re.sub(r"</?(?:b|i|br|span|sup|sub|extra)\b[^<>]*>", "", text)
    return re.sub(r"&(?:#(\d+)|([a-z]+));", lambda m: chr(int(m[1])) if m[1] else KNOWN.get(m[2], m[0]), bare)


@pytest.mark.parametrize("name", [*AS_THEY_ARE, *OTHERWISE])
def test_name_is_drawn_literally(name):
    written = escape_text(name)
    assert drawn(written) == OTHERWISE.get(name, name)
    assert not re.search(r"[<>\n\r]|%\{|&quot;|&#x", written), "no markup, no field of a template, no unknown entity"


def strings(value, path=""):
    """Every text of a figure, with its position."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from strings(each, f"{path}.{key}")
    elif isinstance(value, (list, tuple, np.ndarray)):
        for each in value:
            yield from strings(each, path)
    elif isinstance(value, str):
        yield path, value


def check(store: RunStore, runs: list[str], text: str = "") -> set[str]:
    """The figures of runs on which their classes are named, each as it is."""
    found, _ = _draw_figures(_make_source(store, runs, (), "", text, {}), Look(), ())
    named = set()
    for each in found:
        for path, words in strings(each.drawing.to_plotly_json()) if isinstance(each.drawing, go.Figure) else ():
            if not path.endswith(".bdata") and ("Qa" in words or "Qb" in words):
                named.add(each.name)
                assert not re.search(r"&quot;|&#x|[\n\r]|%\{zz", words), (each.name, path, words)
                shown = drawn(words)
                whole = any(escaped in shown for escaped in (*map(visible, NAMES), *PLAIN))
                assert whole or "…" in shown, (each.name, path, words)
    return named


def visible(name: str) -> str:
    """A name with line breaks shown as signs."""
    return name.replace("\r\n", "\n").replace("\n", "↵")


@pytest.mark.slow
def test_names_are_literal_on_every_figure_of_predictions(tmp_path):
    store, labels = RunStore(tmp_path), np.arange(80) % 2
    rows = texts(labels, phenomenon=np.where(labels, *NAMES))
    for name in ("odd", "other"):
        answering(store, name, right_where(np.arange(80) > 20, labels), rows, classes=NAMES)
    assert {"confusion", "roc", "phenomena"} <= check(store, ["odd", "other"])


@pytest.mark.slow
def test_names_are_literal_on_every_figure_of_a_trained_run(tmp_path, tiny):
    store = RunStore(tmp_path / "runs")
    rows = [(f"{word} film {n}", PLAIN[bad]) for n in range(20) for bad, word in enumerate(("good", "bad"))]
    pd.DataFrame(rows, columns=["text", "label"]).to_csv(tmp_path / "odd.csv", index=False)
    api.train(str(tmp_path / "odd.csv"), "ndt-01-n3", {**tiny, "data.separator": "none"}, name="odd", store=store)
    assert sorted(store.read("odd").classes) == sorted(PLAIN)
    assert {"calibration", "confusion", "map-pca"} <= check(store, ["odd"], "a good film, not bad")


@pytest.mark.browser
@pytest.mark.slow
def test_browser_shows_literal_names_on_axes_and_in_hover_labels(browser, tmp_path):
    store, labels = RunStore(tmp_path / "runs"), np.arange(80) % 2
    answering(store, "odd", right_where(np.arange(80) > 20, labels), texts(labels), classes=NAMES)
    api.figures("odd", tmp_path / "made", only=["confusion"], store=store)
    page = browser.new_page()
    page.goto(f"file://{tmp_path / 'made' / 'confusion.html'}")
    page.wait_for_selector(".xtick text")
    for axis in ("xtick", "ytick"):
        shown = page.locator(f".{axis} text").evaluate_all("found => found.map((each) => each.textContent)")
        assert sorted(re.sub("^(predicted |true ?)", "", each) for each in shown) == sorted(map(visible, NAMES))
    page.locator(".points path").first.hover(force=True)
    first = visible(NAMES[0])
    assert page.locator(".hoverlayer text").first.text_content() == f"label {first}, predicted {first}: 29"
    page.close()
