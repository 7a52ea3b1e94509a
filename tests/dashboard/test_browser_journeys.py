"""Four people at the app, their clicks and keys counted, and what every page shows before anybody scrolls."""

import csv
import io
import json
import random
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import arrive, open_page, see, settle, until, visit
from first_screen import SIZES, TOP, count_first_screen, find_excess, make_link
from playwright.sync_api import Locator, Page, expect
from tiny_backbones import classifier

from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.counter_examples import read_examples
from core.lessons.catalog import LESSONS
from dashboard.screens import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VANILLA, NDT, DIFFERENTIAL = (f"starter-{name}" for name in ("vanilla", "ndt-01-n3", "differential"))
SMALL = {"epochs": "4", "width": "16", "feed-forward width": "16", "batch size": "8", "min freq": "1"}


@dataclass
class Hand:
    """The hand of somebody at a page: it counts its clicks and keys."""

    page: Page
    clicks: int = 0
    keys: int = 0

    def click(self, what: Locator, **more: object) -> None:
        self.clicks += 1
        what.click(**more)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.keys += 1
            self.page.keyboard.press(key)

    def write(self, text: str) -> None:
        self.keys += len(text)
        self.page.keyboard.type(text)

    def button(self, name: str | re.Pattern[str]) -> None:
        exact = {} if isinstance(name, re.Pattern) else {"exact": True}
        self.click(self.page.get_by_role("button", name=name, **exact).first)

    def enter(self, field: str, value: str) -> None:
        """Replace what a text field holds."""
        self.click(self.page.get_by_role("textbox", name=field, exact=True).last)
        self.press("ControlOrMeta+a")
        self.write(value)
        self.press("Enter")

    def open(self, name: str) -> None:
        """Open a page from the menu."""
        self.click(self.page.get_by_test_id("stSidebarNavItems").get_by_role("link", name=name, exact=True))
        arrive(self.page, name)

    def tell(self, who: str) -> None:
        print(f"{who}: {self.clicks} clicks, {self.keys} keys")


def save(hand: Hand, name: str) -> str:
    """Download what a button offers, and return its text."""
    button = hand.page.get_by_role("button", name=name, exact=True)
    if not button.is_visible():
        hand.click(hand.page.get_by_role("button", name="Export", exact=True))
    with hand.page.expect_download() as download:
        hand.click(button)
    return download.value.path().read_text()


def test_a_teacher_guesses_sees_why_and_presents_in_the_first_minute(browser, first_server):
    page, complaints = visit(browser, first_server, width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    hand = Hand(page)
    page.goto(first_server)
    expect(page.get_by_text("Sentence 1 of 5")).to_be_visible()
    expect(page.locator(".start .bar")).to_have_count(0)
    hand.button("positive")
    expect(page.locator(".start .bar")).to_have_attribute("aria-label", re.compile("negative 0.*positive 0"))
    hand.button(re.compile("^Why"))
    expect(page.locator(".start .why")).to_contain_text("Click a word to remove it.")
    assert (hand.clicks, hand.keys) == (2, 0), "at most three clicks were asked for"
    hand.click(page.get_by_role("button", name=re.compile("^expensive, ")))
    expect(page.get_by_role("button", name=re.compile("^expensive, "))).to_have_attribute("aria-pressed", "true")
    hand.click(page.get_by_role("link", name="Runs", exact=True))
    arrive(page, "Runs")
    hand.button("Present")
    expect(page.get_by_role("list", name="Exhibits")).to_be_visible()
    hand.press("g", "p")
    finding = page.locator(".s-finding")
    expect(finding).to_contain_text("wrong:")
    settle(page)
    said, link = finding.inner_text(), page.url
    assert "present=1" in link and hand.clicks <= 5 and hand.keys <= 2
    second, others = visit(browser, first_server, "dark", 1280)
    second.goto(link)
    expect(second.locator(".s-finding")).to_have_text(said)
    expect(second.locator(".st-key-exhibit .main-svg").first).to_be_visible()
    expect(second.locator(".strip [aria-current]")).to_contain_text("Performance")
    hand.tell("teacher")
    assert complaints == [] and others == []


TRIED = {
    "I would not call this a good film.": "negative",
    "It could not have been better.": "positive",
    "The best part was the exit.": "negative",
    "After two washes it fits my son. He is six.": "negative",
    "Nothing about it was bad.": "positive",
}
"""Sentences that a pupil writes, and what they mean; the model is right on some and fooled by others."""


def test_a_student_tries_five_sentences_and_saves_one_that_fools_the_model(browser, first_server, newcomer):
    page, complaints = visit(browser, first_server)
    hand = Hand(page)
    page.goto(first_server)
    expect(page.get_by_text("Sentence 1 of 5")).to_be_visible()
    hand.press("ArrowRight")
    hand.button("Try your own")
    verdict, saved, outcomes = page.locator(".start h1"), "", []
    for number, (text, meant) in enumerate(TRIED.items()):
        if number:
            hand.button(re.compile("^Try another"))
        expect(page.get_by_label("Your sentence")).to_be_focused()
        hand.write(text)
        hand.press("Enter", "ArrowLeft" if meant == "negative" else "ArrowRight")
        expect(verdict).to_have_text(re.compile(r"^(Not fooled|Fooled)\. It says (negative|positive)"))
        fooled = verdict.inner_text().startswith("Fooled")
        outcomes.append(fooled)
        assert fooled == (f"It says {meant}" not in verdict.inner_text())
        if fooled and not saved:
            hand.button(re.compile("^Save this sentence"))
            expect(page.locator(".start .count")).to_contain_text("1 saved.")
            saved = text
    assert saved and set(outcomes) == {True, False}, "some fool it, and some do not"
    until(page, lambda: [(each.text, each.label) for each in read_examples(newcomer.folder)] == [(saved, TRIED[saved])])
    hand.tell("student")
    assert hand.clicks <= 6 and hand.keys <= sum(map(len, TRIED)) + 11, "it took nine clicks before"
    assert complaints == []


def write_reviews() -> bytes:
    """Write 240 sentences with a column of their own, one in six with the word of the other label."""
    draw, written = random.Random(0), io.StringIO()
    table = csv.writer(written)
    table.writerow(["shop", "text", "label"])
    for row in range(240):
        label = row % 2
        word = draw.choice((("bad", "dull", "slow"), ("good", "warm", "wise"))[label ^ (row % 6 == 0)])
        table.writerow([("north", "south")[row % 4 > 1], f"a {word} guide, said guest {row}", ("no", "yes")[label]])
    return written.getvalue().encode()


def test_a_researcher_goes_from_a_file_to_coded_errors_in_few_clicks(browser, first_server, newcomer):
    page, complaints = visit(browser, first_server)
    hand = Hand(page)
    page.goto(first_server)
    hand.click(page.get_by_role("link", name="Your data", exact=True))
    hand.button(re.compile("Use your own file"))
    file = {"name": "guests.csv", "mimeType": "text/csv", "buffer": write_reviews()}
    hand.clicks += 1  # the window of the system
    page.locator("input[type=file]").set_input_files(file)
    hand.button("Use this file")
    hand.button("Train on this")
    see(page.get_by_role("button", name="Start training"))
    assert hand.clicks <= 5
    for section in ("Compose your own", "Advanced settings"):
        hand.click(page.get_by_text(section))
    settle(page)
    for field, value in SMALL.items():
        hand.enter(field, value)
        settle(page)
    hand.button("Start training")
    ways = page.get_by_role("button", name="See what it gets wrong")
    expect(ways).to_be_visible(timeout=240_000)
    settle(page)
    hand.click(ways)
    arrive(page, "Performance")
    [record] = newcomer.list()
    hand.click(page.locator(".st-key-fig-confusion .bars .point").nth(1), force=True)
    see(page.locator(".st-key-selected .s-now"))
    assert parse_qs(urlsplit(page.url).query)["select"] == ["true=no;predicted=yes"]
    hand.click(page.locator(".st-key-selected").get_by_role("button", name="Errors", exact=True).first)
    arrive(page, "Errors")
    place = page.locator(".reader .pane .top b")
    expect(place).to_have_text(re.compile(r"^1 of \d+$"))
    count = int(place.inner_text().split()[-1])
    assert count > 1
    codes = Codes(newcomer.folder, get_data_name(record))
    arrived = hand.clicks
    hand.click(page.get_by_role("textbox", name="New code"))
    hand.write("wrong label")
    hand.press("Enter")
    expect(page.locator(".reader .codes [aria-pressed=true]")).to_have_text("1wrong label")
    until(page, lambda: len(codes.read_annotations().given) == 1)
    assert hand.clicks - arrived <= 2, "at most two clicks to the first code"
    hand.press("Escape")
    for row in range(1, count):
        hand.press("j")
        expect(place).to_have_text(f"{row + 1} of {count}")
        hand.press("1")
        until(page, lambda row=row: len(codes.read_annotations().given) == row + 1)
    hand.press("n")
    hand.write("said twice")
    hand.press("Escape")
    until(page, lambda: [*codes.read_annotations().notes.values()] != [])
    assert hand.clicks - arrived <= 2
    settle(page)
    rows = list(csv.DictReader(io.StringIO(save(hand, "Sentences · CSV"))))
    assert [row["codes"] for row in rows] == ["wrong label"] * count
    assert [row["note"] for row in rows if row["note"]] == ["said twice"]
    assert {row["shop"] for row in rows} <= {"north", "south"}
    assert {(row["true"], row["predicted"]) for row in rows} == {("no", "yes")}
    hand.tell(f"researcher, {count} errors coded")
    assert hand.clicks - len(SMALL) - 2 <= 12 and complaints == [], "it took 17 clicks before"


def test_somebody_opens_a_classifier_and_takes_coded_errors_to_label_studio(browser, first_server, newcomer, tmp_path):
    """The classifier has random weights and the labels 0 and 1, the file no and yes."""
    folder = classifier(tmp_path / "guest-bert", labels=2, id2label={0: "no", 1: "yes"})
    page, complaints = visit(browser, first_server)
    hand = Hand(page)
    page.goto(f"{first_server}/models?more=Open+a+classifier")
    arrive(page, "Models")
    hand.enter("Its folder", str(folder))
    start = page.locator(".st-key-open-classifier button").first
    see(start)
    hand.clicks += 1  # the window of the system
    file = {"name": "guests.csv", "mimeType": "text/csv", "buffer": write_reviews()}
    page.locator("input[type=file]").set_input_files(file)
    see(page.get_by_text("240 labelled rows, split all."))
    hand.click(start)
    ways = page.get_by_role("button", name="See what it gets wrong")
    expect(ways).to_be_visible(timeout=240_000)
    settle(page)
    hand.click(ways)
    arrive(page, "Errors")
    [record] = newcomer.list()
    assert record.run == "guest-bert" and record.results["metrics"]["test"]["accuracy"] < 1
    expect(page.locator(".reader .pane .top b")).to_have_text(re.compile(r"^1 of \d+$"))
    hand.click(page.get_by_role("textbox", name="New code"))
    hand.write("other domain")
    hand.press("Enter")
    codes = Codes(newcomer.folder, get_data_name(record))
    until(page, lambda: len(codes.read_annotations().given) == 1)
    settle(page)
    hand.button("Files")
    see(page.get_by_role("button", name="Codes · Label Studio", exact=True))  # else `save` would open Export over it
    tasks = json.loads(save(hand, "Codes · Label Studio"))
    [coded] = [task for task in tasks if task["annotations"]]
    assert "other domain" in json.dumps(coded["annotations"]) and "guest" in json.dumps(coded["data"])
    assert coded["predictions"][0]["model_version"] == "guest-bert" and len(tasks) > 1
    hand.tell("somebody with a classifier")
    assert hand.clicks <= 9 and complaints == []


def test_somebody_studies_attention_across_pages(browser, first_server):
    page, complaints = visit(browser, first_server)
    hand = Hand(page)
    page.goto(f"{first_server}/runs?run={DIFFERENTIAL}")
    arrive(page, "Runs")
    hand.open("Compare")
    hand.button("Choose runs")
    for name in ("inceptive-16", "vanilla"):
        hand.button(f"Remove {name}")
        expect(page.get_by_role("button", name=f"Remove {name}", exact=True)).to_have_count(0)
        settle(page)
    hand.press("Escape")
    see(page.get_by_role("heading", name=re.compile("ndt-01-n3.*differential|differential.*ndt-01-n3")))
    hand.tell("attention, Compare")
    pairs = list(csv.DictReader(io.StringIO(save(hand, "Pairs · CSV"))))
    assert [{*row.values()} >= {NDT, DIFFERENTIAL} for row in pairs] == [True], pairs
    hand.open("Attention")
    hand.button("λ")
    hand.button(re.compile("^Compare with"))
    hand.click(page.get_by_role("combobox", name="Compare with", exact=True))
    hand.write("ndt-01-n3")
    expect(page.get_by_role("option", name=re.compile("^ndt-01-n3"))).to_be_visible()
    hand.press("Enter")
    expect(page.get_by_role("button", name=re.compile("^Remove ndt-01-n3"))).to_be_visible()
    hand.press("Escape", "Escape")
    settle(page)
    lambdas = list(csv.DictReader(io.StringIO(save(hand, "Course · CSV"))))
    assert {NDT, DIFFERENTIAL} <= {value for row in lambdas for value in row.values()}
    hand.open("Sentence")
    bar = page.locator(".st-key-answer .s-bar").first
    head = page.get_by_role("button", name=re.compile("^switch off head 1 of layer 3"))
    before = bar.get_attribute("aria-label")
    hand.click(head)
    page.wait_for_url(re.compile(r"edit=h3\.1"))
    see(page.get_by_role("img", name="as trained").first)
    after = bar.get_attribute("aria-label")
    assert re.match(r"negative [\d.]+, positive [\d.]+", after) and after != before
    assert list(csv.DictReader(io.StringIO(save(hand, "Parts · CSV"))))
    hand.tell("attention")
    assert hand.clicks <= 17 and complaints == []  # λ is a section of Attention: two clicks more


@pytest.mark.parametrize("name", PAGES)
def test_a_first_screen_is_not_too_full(browser, first_server, name):
    page, complaints = visit(browser, first_server)
    beyond = []
    for width, height, more in SIZES.values():
        found = count_first_screen(page, f"{first_server}/{make_link(name, VANILLA)}{more}", width, height)
        print(f"{name} {width} × {height}: {found}")
        beyond += find_excess(name, found, projected=bool(more))
    assert beyond == [] and complaints == []


SHOWN = {
    "start": (f"start?run={NDT}", [".start .sentence", ".start .choose", ".start footer"]),
    "lessons": ("lessons?", [".lessons li >> nth=0", ".lessons li >> nth=-1"]),
    **{f"lesson {name}": (f"lesson?lesson={name}", [".lesson .middle", ".lesson .end"]) for name in LESSONS},
    "sentence": (f"sentence?run={VANILLA}", [".st-key-fig-words .words", ".st-key-answer .s-bar", ".levers table"]),
    "performance": (f"performance?run={VANILLA}", [".st-key-fig-confusion .main-svg"]),
    "compare": (
        f"compare?compare={NDT}&compare={DIFFERENTIAL}",
        [".st-key-fig-compare-matrix .main-svg", "tr[data-id='A-B']"],
    ),
    "train, afterwards": (f"train?run={NDT}&view=run", [".st-key-fig-progress .main-svg"]),
    "train, before": ("train?view=form", [".st-key-fig-composed .diagram"]),
}
"""The link of a page, and what of it must be whole in the window of a projector: first the main figure."""
CUT = ("train, before",)  # main figures that go on below the fold: they begin in the upper half, what follows is detail


@pytest.mark.parametrize("name", SHOWN)
def test_nobody_scrolls_on_a_projector(browser, first_server, name):
    """The main figure begins at 320 or higher; what is listed of the page ends within 720 pixels.

    Of the diagram before a training only the top counts, of Sentence the words, the answer and the levers.
    """
    page, complaints = visit(browser, first_server, width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    link, parts = SHOWN[name]
    open_page(page, f"{first_server}/{link}&projector=true")
    for place, part in enumerate(parts):
        node = page.locator(part).first
        see(node)
        box = node.bounding_box()
        top, bottom = box["y"], box["y"] + box["height"]
        print(f"{name}, {part}: {top:.0f} to {bottom:.0f}")
        assert top >= 0 and (name in CUT or bottom <= 720), part
        assert place or top <= TOP, part
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0 and complaints == []
