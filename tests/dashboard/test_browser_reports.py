"""A report as a file in a browser, the button that creates it, and a whole session from a table to a report."""

import csv
import io
import random
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from answering import answering, right_where, texts
from browsing import OF_A_LOOK, ROOT, enter, is_too_wide, open_page, see, settle, violations, visit
from playwright.sync_api import Page, expect
from reports import packed

from core import api
from core.error_analysis.predictions_table import read_table
from core.formatting import format_csv
from core.runs.store import RunStore

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LIMIT = 6_000_000  # bytes of a report of 3,000 rows
LIGHT = "rgb(253, 252, 250)"  # its paper
NASTY = (
    *('</script><script>document.title = "run"</script>', "<img src=x onerror=\"document.title='run'\">", "<!--"),
    *("]]>", '=HYPERLINK("http://a.b","c")', "+1", "-2+3", "@SUM(A1)", "\ufeff=1", "'=1", "\u3000\uff1d1", "\x85=1"),
    *("\u200b=1", "\u2028line\u2029", "\ta", 'say "no", comma', "line\nbreak", "line\rreturn", "مرحبا بالعالم"),
    *("e\u0301😀", "%s {x} ${y} {{z}}"),
)
SMALL = {"epochs": "4", "width": "16", "feed-forward width": "16", "batch size": "8", "min freq": "1"}


def opened(browser, file: Path, theme: str = "light", width: int = 1440) -> tuple[Page, list[str]]:
    """A file in a browser without a network, once its figures are drawn."""
    page, complaints = visit(browser, f"file://{file}", theme, width)
    page.context.set_offline(True)
    page.goto(f"file://{file}")
    page.wait_for_selector("html[data-drawn=true]", timeout=60_000)
    return page, complaints


@pytest.fixture(scope="module")
def starter(tmp_path_factory) -> Path:
    """The report of a run on 3,202 sentences."""
    file = tmp_path_factory.mktemp("starter") / "report.html"
    api.report("starter-ndt-01-n3", file, store=RunStore(ROOT / "trained"))
    return file


@pytest.fixture(scope="module")
def nasty(tmp_path_factory) -> tuple[Path, RunStore]:
    """The report of a run whose texts, columns and classes would do harm as markup or in a spreadsheet."""
    folder = tmp_path_factory.mktemp("nasty")
    store, labels = RunStore(folder / "runs"), np.arange(2 * len(NASTY)) % 2
    rows = texts(labels, **{"=own": [*NASTY, *NASTY]})
    rows["text"] = [f"{text} {place}" if place % 3 else f"{text}{place}" for place, text in enumerate([*NASTY, *NASTY])]
    answering(store, "nasty", right_where(np.arange(len(labels)) > 6, labels), rows, classes=("</script>bad", "=good"))
    api.report("nasty", folder / "report.html", store=store)
    return folder / "report.html", store


def test_report_works_offline_and_prints(browser, starter):
    data = packed(starter.read_text())
    assert data["rows"]["n"] == 3202 and starter.stat().st_size < LIMIT
    page, complaints = opened(browser, starter)
    charts = data["charts"]
    assert len(charts) > 10
    drawn = page.locator("#roc .main-svg").first
    for width, rules in ((1440, ()), (1024, OF_A_LOOK)):
        page.set_viewport_size({"width": width, "height": 900})
        expect(drawn).to_have_css("background-color", LIGHT)
        for name in charts:
            assert page.locator(f"#{name} .js-plotly-plot .main-svg").count(), name
        assert page.locator("#parts .diagram svg").count() == 1 and not is_too_wide(page) and complaints == []
        assert violations(page, rules) == []
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(drawn).to_have_css("background-color", LIGHT)
    assert page.pdf(format="A4")[:4] == b"%PDF" and complaints == []


def test_predictions_are_searched_filtered_sorted_and_reached_by_keyboard(browser, starter):
    frame = read_table(RunStore(ROOT / "trained"), "starter-ndt-01-n3").frame
    page, complaints = opened(browser, starter)
    status, table = page.locator("#rows [role=status]"), page.locator("#rows tbody tr")

    def count(n: int) -> str:
        return f"{n:,}".replace(",", "\u202f")

    rows = page.locator("#rows")
    rows.get_by_label("outcome", exact=True).select_option("wrong")
    expect(status).to_contain_text(f"{count(int(frame.wrong.sum()))} of {count(len(frame))} sentences")
    rows.get_by_label("Search", exact=True).fill("NOT")
    found = frame[frame.wrong & frame.text.str.lower().str.contains("not")]
    expect(status).to_contain_text(f"{len(found)} of")
    expect(table).to_have_count(min(50, len(found)))
    rows.get_by_role("button", name="margin", exact=True).press("Enter")
    surest = found.sort_values("margin", ascending=False).iloc[0]
    expect(table.first).to_contain_text(surest.text)
    rows.get_by_label("Search", exact=True).fill("")
    rows.get_by_role("button", name="Next", exact=True).press("Enter")
    expect(status).to_contain_text("51 to 100 shown")
    rows.get_by_label("Search", exact=True).fill("no such word anywhere")
    expect(status).to_have_text(f"0 of {count(len(frame))} sentences")
    assert complaints == []


def test_user_texts_are_escaped_in_page_and_csv(browser, nasty):
    file, store = nasty
    page, complaints = opened(browser, file)
    assert page.title() == "nasty · Sentiscope"
    assert page.locator("img").count() == 0 and page.locator("script").count() == 4, "plotly.js is the fourth"
    shown = page.locator("#rows tbody td.main").all_inner_texts()
    assert any(text.startswith("</script><script>") for text in shown) and complaints == []
    assert violations(page) == []
    with page.expect_download() as found:
        page.get_by_role("button", name="These rows · CSV").click()
    saved = Path(found.value.path()).read_bytes().decode("utf-8-sig")
    options = {"keep_default_na": False, "dtype": str}
    ours = pd.read_csv(io.StringIO(saved, newline=""), **options)
    frame = read_table(store, "nasty").frame
    wanted = pd.read_csv(io.StringIO(format_csv(frame), newline=""), **options)
    for name in ("key", "text", "true", "predicted", "'=own"):
        assert ours[name].tolist() == wanted[name].tolist()
    assert np.allclose(ours["p_true"].astype(float), frame["p_true"])
    assert all(cell[:1] not in "=+-@" or not cell for name in ("text", "'=own", "true") for cell in ours[name])


def test_buttons_of_performance_errors_and_compare_make_a_report(browser, server, library):
    labels = np.arange(60) % 2
    rows = texts(labels)
    answering(library, "one", right_where(np.arange(60) > 9, labels), rows)
    answering(library, "two", right_where(np.arange(60) > 29, labels), rows)
    page, complaints = visit(browser, server)
    for link, kind in (
        ("performance?run=one", "one"),
        ("errors?run=one", "one"),
        ("compare?compare=one&compare=two", "one · two"),
    ):
        open_page(page, f"{server}/{link}")
        page.get_by_role("button", name="Report · HTML").click()
        save = page.get_by_role("button", name="Save the report")
        see(save)
        with page.expect_download() as found:
            save.click()
        assert f"<h1>{kind}</h1>" in Path(found.value.path()).read_text(encoding="utf-8"), link
    assert complaints == []


def own_table() -> bytes:
    """300 sentences with ids, sources and dates; rows with source `phone` have random labels."""
    draw = random.Random(0)
    good, bad = ("good", "warm", "funny", "wise"), ("bad", "dull", "slow", "flat")
    nouns = ("plot", "cast", "score", "ending", "set")
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(["id", "source", "date", "text", "label"])
    for number in range(300):
        label, source = number % 2, draw.choice(["phone", "web", "post"])
        mood = draw.choice((bad, good)[label if source != "phone" else draw.randrange(2)])
        text = f"the {draw.choice(nouns)} was {mood}, said guest {number}"
        table.writerow([f"R-{number:04}", source, f"2026-03-{number % 28 + 1:02}", text, ("no", "yes")[label]])
    return written.getvalue().encode()


def train(page: Page) -> None:
    """From the open page Train to a finished run `mine`."""
    page.get_by_text("Compose your own").click()
    page.get_by_text("Advanced settings").click()
    for field, value in {"Name of the run": "mine", **SMALL}.items():
        enter(page.get_by_role("textbox", name=field, exact=True), value)
        settle(page)
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url("**run=mine*")
    expect(page.locator(".s-run", has_text=re.compile(r"mine.*finished after"))).to_be_visible(timeout=240_000)
    settle(page)


def listed(page: Page) -> int:
    """The number of listed sentences, after all tags are found."""
    expect(page.locator(".reader .list li").first).to_be_visible()
    expect(page.locator(".filter .word", has_text="any tag")).to_be_attached()
    settle(page)
    return int(page.locator(".reader .top b").first.inner_text().split(" of ")[1])


def test_table_to_report_session_and_its_link_work_in_a_second_browser(browser, empty_server, bare, tmp_path):
    page, complaints = visit(browser, empty_server)
    page.goto(f"{empty_server}/data")
    page.get_by_text("Use your own file").click()
    settle(page)
    given = {"name": "guests.csv", "mimeType": "text/csv", "buffer": own_table()}
    page.locator("input[type=file]").set_input_files(given)
    page.get_by_role("button", name="Use this file").click()
    page.get_by_role("button", name="Train on this").click()
    see(page.get_by_role("button", name="Start training"))
    train(page)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(bare.folder.parent / "cache"))
        api.train(bare.read("mine").config.data.name, "tfidf-logreg", name="words", store=bare)
    page.goto(f"{empty_server}/errors?run=mine")
    whole = listed(page)
    page.get_by_role("button", name="add filter").click()
    page.get_by_role("button", name="any source").click()
    page.get_by_role("option", name=re.compile("^phone")).click()
    page.wait_for_url("**source%3Dphone**")
    phone = listed(page)
    assert 0 < phone < whole, "most of what is wrong came by phone"
    page.locator(".st-key-codes-book summary").click()
    page.get_by_role("textbox", name="Name", exact=True).last.fill("mislabelled")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".reader .codes button")).to_have_count(1)
    page.keyboard.press("Escape")
    settle(page)
    page.locator(".reader .list").focus()
    for row in range(phone):
        expect(page.locator(".reader .pane .top b")).to_have_text(f"{row + 1} of {phone}")
        page.keyboard.press("1")
        page.keyboard.press("j")
    expect(page.locator(".st-key-fig-codes tbody tr[data-id]")).to_contain_text(re.compile(rf"{phone}\D*1\.00"))
    page.wait_for_url("**at=**")
    link = page.url
    page.goto(f"{empty_server}/compare?compare=mine&compare=words")
    alone = page.locator(".s-open", has_text="is right on").or_(page.locator(".s-open", has_text="are right on"))
    expect(alone).to_contain_text(re.compile("mine.*words|words.*mine"))
    page.goto(link)
    listed(page)
    page.get_by_role("button", name="Report · HTML").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the report").click()
    assert saved.value.suggested_filename == "sentiscope-report-mine-test.html"
    saved.value.save_as(tmp_path / "report.html")
    report = browser.new_page()
    report.goto((tmp_path / "report.html").as_uri())
    for said in ("mislabelled", "source", "R-0"):  # the author's code, column and id
        expect(report.locator("main, body").first).to_contain_text(said)
    other, others = visit(browser, empty_server, "dark", 1024)
    other.goto(link)
    assert listed(other) == phone
    expect(other.locator(".st-key-fig-codes tbody tr[data-id]")).to_contain_text("mislabelled")
    assert complaints == [] and others == []
