"""Coding with the keyboard in a browser: quick, nothing lost, kept after a reload; keys rest in a text field."""

import statistics
import time

import numpy as np
import pytest
from answering import answering, code_rows, right_where, texts
from browsing import ROOT, enter, see, settle, until, visit
from playwright.sync_api import Browser, Page, expect

from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.predictions_table import read_table
from core.runs.store import RunStore
from dashboard.figures.drawing import to_draw_script
from dashboard.figures.error_list import ERRORS, Coding, SentenceList
from dashboard.figures.row_selection import apply_query, make_facts
from dashboard.figures.theme import Look

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROWS = 25
PLACE = ".reader .pane .top b"


@pytest.fixture
def codes(library) -> Codes:
    """A codebook with two codes, and no coded sentences."""
    found = Codes(library.folder, "built-in")
    for name in ("irony", "label"):
        found.add_code(name)
    return found


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "runs")


def test_coding_session_works_with_keys_alone(browser, server, codes):
    wrong = int(read_table(RunStore(ROOT / "trained"), "starter-vanilla").frame["wrong"].sum())
    codes.add_code("other")
    page, complaints = visit(browser, server)
    page.goto(f"{server}/errors?run=starter-vanilla")
    see(page.locator(".reader .codes button").first)
    expect(page.get_by_text("Finding tags")).to_have_count(0)
    settle(page)
    enter(page.get_by_role("textbox", name="Author", exact=True), "ann 123 jku")
    settle(page)
    assert codes.read_annotations().given == {}, "keys rest while a field has the focus"
    page.locator(".reader .list").focus()
    expect(page.locator(PLACE)).to_have_text(f"1 of {wrong}")
    waits = []
    for row in range(ROWS):
        begun = time.perf_counter()
        page.keyboard.press(str(row % 3 + 1))
        page.keyboard.press("j")
        expect(page.locator(PLACE)).to_have_text(f"{row + 2} of {wrong}")
        waits.append(time.perf_counter() - begun)
        # Wait until each code is written: under the load of .ci/run some of the 25 were lost.
        until(page, lambda row=row: len(codes.read_annotations("ann 123 jku").given) == row + 1)
    given = codes.read_annotations("ann 123 jku").given
    assert sorted({len(codes) for each in given.values() for codes in each.values()}) == [1]
    print(f"key to next sentence: median {statistics.median(waits):.3f} s, most {max(waits):.3f} s")
    page.keyboard.press("n")
    page.keyboard.type("12 j u")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.locator(PLACE)).to_have_text(f"{ROWS} of {wrong}")
    until(page, lambda: list(codes.read_annotations().notes.values()) == [{"ann 123 jku": "12 j u"}])
    page.keyboard.press("u")
    until(page, lambda: codes.read_annotations().notes == {})
    assert len(codes.read_annotations().given) == ROWS
    expect(page.locator(PLACE)).to_have_text(f"{ROWS + 1} of {wrong}")  # the undone code belongs to that sentence
    for rest in (0, 200, 400):  # ms: the reader sends its place after 350
        page.keyboard.press("n")
        page.keyboard.type("again")
        for key in ("Escape", "k"):
            page.keyboard.press(key)
        page.wait_for_timeout(rest)
        page.keyboard.press("u")
        expect(page.locator(PLACE)).to_have_text(f"{ROWS + 1} of {wrong}")
        until(page, lambda: codes.read_annotations().notes == {})
        settle(page)
        expect(page.locator(PLACE)).to_have_text(f"{ROWS + 1} of {wrong}")
    for key in "1u2":  # the second code is set after the undo, even on a busy page
        page.keyboard.press(key)
    expect(page.locator(".reader .codes [aria-pressed=true]")).to_have_text(["2label"])
    until(page, lambda: len(codes.read_annotations().given) > ROWS)
    assert sorted(
        codes.read_annotations().given[found] for found in codes.read_annotations().given.keys() - given.keys()
    ) == [{"ann 123 jku": ("label",)}]
    page.reload()
    page.locator(".reader .codes button").first.wait_for()
    expect(page.get_by_role("textbox", name="Author", exact=True)).to_have_value("ann 123 jku")
    assert complaints == []


def opened(browser: Browser, server: str, name: str = "") -> tuple[Page, list[str]]:
    """Errors in a separate browser, with or without a coder's name, with the focus on the list."""
    page, complaints = visit(browser, server)
    page.goto(f"{server}/errors?run=starter-vanilla")
    page.locator(".reader .codes button").first.wait_for()
    expect(page.get_by_text("Finding tags")).to_have_count(0)
    settle(page)
    if name:
        call(page, name)
    page.locator(".reader .list").focus()
    return page, complaints


def call(page: Page, name: str) -> None:
    """Enter a name, and wait until the page has it."""
    enter(page.get_by_role("textbox", name="Author", exact=True), name)
    settle(page)


def read_codes(codes: Codes) -> tuple[list[dict[str, tuple[str, ...]]], list[dict[str, str]]]:
    """Codes and notes of all rows with any."""
    found = codes.read_annotations()
    return [*found.given.values()], [*found.notes.values()]


MOUNT = """at => {
  const parentElement = document.createElement("div");
  parentElement.innerHTML = '<div class="reader"></div>';
  document.body.replaceChildren(parentElement);
  const setStateValue = (name, value) => { if (name === "coded") window.rows = Object.values(value.rows); };
  window.left = draw({ data: { ...window.given, at }, parentElement, setStateValue, setTriggerValue: () => {} });
}"""
"""Draw the reader again at a row, like a page that replaces the component."""
GONE = "() => { document.body.replaceChildren(); left(); }"


@pytest.mark.parametrize(("at", "given"), [(0, ["irony", "label", "irony", "label"]), (4, ["irony"])])
def test_codes_wait_for_a_reader_at_their_row(browser, store, at, given):
    labels = np.arange(6) % 2
    answering(store, "one", right_where(np.zeros(6, bool), labels), texts(labels))
    codes = Codes(store.folder, get_data_name(store.read("one")))
    for name in ("irony", "label"):
        codes.add_code(name)
    shown = apply_query(make_facts(store, store.read("one"), "test"), "wrong", store)
    coding = Coding(codes.read_annotations("ann"), "ann", session="one")
    reader = ERRORS.draw(SentenceList(shown, coding=coding), Look())
    page, complaints = visit(browser, "data:")
    page.set_content("<body></body>")
    page.add_script_tag(content=to_draw_script(reader.script))
    page.evaluate("given => { window.given = given; }", reader.data)
    keys = [row["key"] for row in reader.data["rows"]]
    page.evaluate(MOUNT, keys[0])
    for key in "1j":
        page.keyboard.press(key)
    page.evaluate(GONE)
    for key in "2j1j2":
        page.keyboard.press(key)
    page.evaluate(MOUNT, keys[at] if at else keys[0])
    assert page.evaluate("window.rows.flatMap(({codes}) => Object.keys(codes))") == given
    expect(page.locator(PLACE)).to_have_text(f"{at + 2 if at else 4} of 6")
    assert complaints == []


def test_two_browsers_of_one_author_keep_each_others_codes(browser, server, codes):
    one, complaints = opened(browser, server, "ann")
    two, _ = opened(browser, server, "ann")
    one.keyboard.press("1")
    until(one, lambda: read_codes(codes) == ([{"ann": ("irony",)}], []))
    two.keyboard.press("n")
    two.keyboard.type("so it is")  # a pause is enough to save
    until(two, lambda: read_codes(codes)[1] == [{"ann": "so it is"}])
    two.keyboard.press("Escape")
    one.keyboard.press("2")
    until(one, lambda: read_codes(codes)[0] == [{"ann": ("irony", "label")}])
    assert read_codes(codes)[1] == [{"ann": "so it is"}], "the first browser knew of no note"
    two.keyboard.press("u")
    # the author's latest change
    until(two, lambda: read_codes(codes) == ([{"ann": ("irony",)}], [{"ann": "so it is"}]))
    expect(two.locator(".reader .foot .done")).to_contain_text("Undone")
    assert complaints == []


def test_nameless_annotators_stay_separate_after_a_reload_until_they_give_a_name(browser, server, codes):
    one, complaints = opened(browser, server)
    two, _ = opened(browser, server)
    one.keyboard.press("1")
    until(one, lambda: len(read_codes(codes)[0]) == 1)
    two.keyboard.press("2")
    until(two, lambda: len(read_codes(codes)[0][0]) == 2)
    one.reload()
    expect(one.locator(".reader .codes [aria-pressed=true]")).to_have_text(["1irony"])
    settle(one)
    one.locator(".reader .list").focus()
    one.keyboard.press("u")  # a coder cannot undo another coder's change
    until(one, lambda: [*read_codes(codes)[0][0].values()] == [("label",)])
    two.locator(".reader .list").focus()
    two.keyboard.down("1")
    for _ in range(4):  # a key held down
        two.keyboard.down("1")
    two.keyboard.up("1")
    until(two, lambda: [*read_codes(codes)[0][0].values()] == [("irony", "label")])
    call(two, "ben")
    until(two, lambda: read_codes(codes)[0] == [{"ben": ("irony", "label")}])
    expect(two.locator(".reader .codes [aria-pressed=true]")).to_have_count(2)
    assert complaints == []


def test_failed_changes_are_stored_later(browser, server, codes, library):
    runs = library.folder
    page, _ = opened(browser, server, "ann")
    for file in runs.glob("codes.sqlite*"):
        file.rename(file.with_name(f"away-{file.name}"))
    (runs / "codes.sqlite").write_text("no database, long enough to be taken for one " * 40)
    page.keyboard.press("1")
    expect(page.get_by_text("This change was not stored")).to_be_visible()
    expect(page.locator(".reader .list li").first).to_be_visible()
    (runs / "codes.sqlite").unlink()
    for file in runs.glob("away-*"):
        file.rename(file.with_name(file.name.removeprefix("away-")))
    until(page, lambda: read_codes(codes)[0] == [{"ann": ("irony",)}])
    expect(page.locator(".reader .codes [aria-pressed=true]")).to_have_text(["1irony"])


def test_codebook_of_ten_codes_is_made_on_a_small_page(browser, server, codes):
    page, complaints = visit(browser, server, width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{server}/errors?run=starter-vanilla&projector=true")
    see(page.locator(".reader .codes button").first)
    page.locator(".st-key-codes-book summary").click()
    for number in range(3, 11):
        page.get_by_role("textbox", name="Name", exact=True).last.fill(f"cause {number}")
        page.get_by_role("textbox", name="Definition").fill("What makes it so")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(".st-key-fig-codes tbody tr[data-id]")).to_have_count(number)
        settle(page)
    assert {code.name: code.place for code in codes.read_annotations().book} == {
        **{"irony": 1, "label": 2},
        **{f"cause {number}": number for number in range(3, 10)},
        "cause 10": 0,
    }
    assert complaints == []


def test_code_is_made_in_the_reader_and_given_to_the_open_sentence(browser, server, codes):
    frame = read_table(RunStore(ROOT / "trained"), "starter-vanilla").frame
    page, complaints = opened(browser, server, "ann")
    page.keyboard.press("j")
    text = page.locator(".reader .list [aria-selected=true]").get_attribute("title")
    key = frame["key"][frame["text"] == text].iat[0]
    field = page.get_by_role("textbox", name="New code")
    enter(field, "dry 1j")
    until(page, lambda: codes.read_annotations().given == {key: {"ann": ("dry 1j",)}})
    expect(page.locator(".reader .codes [aria-pressed=true]")).to_have_text(["3dry 1j"])
    expect(field).to_be_focused()
    enter(field, "irony")
    expect(page.get_by_text("there is a code 'irony' already")).to_be_visible()
    field.press("Escape")
    page.keyboard.press("3")
    until(page, lambda: codes.read_annotations().given == {})
    assert len(codes.read_annotations().book) == 3 and complaints == []


def test_codes_are_renamed_merged_split_and_removed_by_mouse(browser, server, codes):
    frame = read_table(RunStore(ROOT / "trained"), "starter-vanilla").frame
    first, second = frame["key"][frame["wrong"]].tolist()[:2]
    codes.add_code("sarcasm")
    code_rows(codes, [first], ["irony"], author="ann")
    code_rows(codes, [second], ["sarcasm"], author="ann")
    page, complaints = opened(browser, server, "ann")
    see(page.locator(".reader .codes button").nth(2))
    book = page.locator(".st-key-codes-book")
    book.locator("summary").click()
    settle(page)

    def choose(field: str, name: str) -> None:
        book.get_by_role("combobox", name=field, exact=True).click()
        page.get_by_role("listbox").wait_for()
        page.keyboard.type(f"{name}\n")
        expect(book.get_by_role("combobox", name=field, exact=True)).to_have_value(name)
        settle(page)

    choose("Code", "sarcasm")
    expect(book.get_by_role("combobox", name="Merge into")).to_have_value("irony")
    book.get_by_role("button", name="Merge").click()
    names = page.locator(".st-key-fig-codes tbody tr[data-id]")
    expect(names).to_have_count(2)
    settle(page)
    assert [codes.read_annotations().get_codes(key) for key in (first, second)] == [("irony",), ("irony",)]
    choose("Code", "irony")
    enter(book.get_by_role("textbox", name="Split off as"), "dry humour")
    settle(page)
    book.get_by_role("button", name="Split").click()
    expect(names).to_have_count(3)
    settle(page)
    assert [codes.read_annotations().get_codes(key) for key in (first, second)] == [("dry humour",), ("dry humour",)], (
        "all that is selected"
    )
    choose("Code", "dry humour")
    name = book.get_by_role("textbox", name="Name", exact=True)
    expect(name).to_have_value("dry humour")  # the form of this code, not of the previous one
    name.fill("humour")
    book.get_by_role("button", name="Save").click()
    expect(names.filter(has_text="dry humour")).to_have_count(0)
    settle(page)
    assert codes.read_annotations().get_codes(first) == ("humour",)
    choose("Code", "label")
    book.get_by_role("button", name="Remove").click()
    expect(names).to_have_count(2)
    settle(page)
    assert {code.name for code in codes.read_annotations().book} == {"irony", "humour"} and complaints == []
