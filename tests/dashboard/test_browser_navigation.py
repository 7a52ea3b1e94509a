"""The menu, addresses, *Back* and links between pages in a real browser, and a selection that can be cleared."""

import re
from collections.abc import Sequence

import pytest
from browsing import arrive, enter, is_in_window, looks, open_page, see, settle, violations, visit
from first_screen import EMPTY, make_link
from playwright.sync_api import Page, expect

from core.config import compose

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OLD = {
    "overview": "Runs",
    "behave": "Behaviour tests",
    "tokens": "Tagging",
    "lambdas": "Attention",
    "sweeps": "Sweeps",
    "theory": "Theory",
    "lesson": "A model has learned 500 sentences by heart. What does it say?",
}
"""Addresses that are not in the menu or that differ from the title of their page."""
MENU = ("Data", "Performance", "Embeddings", "Sentence", "Steps", "Attention")
RUNNING = """() => document.getAnimations().filter((each) => each.playState === "running"
  && !each.effect.target.closest("[data-testid=stStatusWidget]"))
  .map((each) => each.animationName ?? each.transitionProperty)"""


def test_old_and_unlisted_addresses_open_their_page(page, server):
    for path, title in OLD.items():
        open_page(page, f"{server}/{path}?run=finished")
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        assert f"/{path}?" in page.url and "run=finished" in page.url
    open_page(page, f"{server}/overview?run=finished&metric=Loss")
    expect(page.get_by_role("columnheader", name="Loss", exact=True).first).to_be_visible()


def test_menu_has_three_groups_and_back_works_in_one_press(page, server):
    open_page(page, f"{server}/?run=finished")
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    assert page.locator("[data-testid=stSidebarNavItems] li").evaluate_all(
        "rows => rows.map(row => getComputedStyle(row, '::before').content).filter(name => name !== 'none')"
    ) == ['"Learn"', '"Evaluate"', '"Build"']
    menu = page.get_by_test_id("stSidebarNavItems")
    expect(menu.get_by_role("link", name="Sweeps")).to_have_count(0)
    expect(menu.get_by_role("link", name="Tagging")).to_have_count(0)
    assert [each for rules in looks(page) for each in violations(page, rules)] == []
    menu.get_by_role("link", name="Errors", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Errors")
    settle(page)
    page.go_back()
    page.wait_for_url(re.compile(r"127\.0\.0\.1:\d+/\?.*run=finished"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")


def test_the_presenter_goes_through_a_talk_by_keys_and_leaves_to_the_page(browser, server):
    page, complaints = visit(browser, server, width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    open_page(page, f"{server}/performance?run=finished&split=validation")
    page.keyboard.press("a")
    added = page.get_by_text("1 link in “talk-")  # ends with the visitor: others of the server have another
    talk = added.inner_text().split("“")[1].removesuffix("”")
    assert re.fullmatch("talk-[0-9a-f]{4}", talk)
    page.get_by_role("button", name="Present", exact=True).click()
    finding = page.locator(".s-finding")
    expect(finding).to_contain_text("wrong:")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    settle(page)
    assert finding.bounding_box()["y"] < 66 and page.evaluate("document.documentElement.scrollHeight") <= 720
    chart = page.locator(".st-key-exhibit .main-svg").first.bounding_box()
    assert chart["y"] <= 120 and chart["height"] > 500 and chart["y"] + chart["height"] <= 720
    assert [each for rules in looks(page) for each in violations(page, rules)] == []
    expect(page.get_by_text("Rows are true classes")).to_be_hidden()
    page.keyboard.press("c")
    expect(page.get_by_text("Rows are true classes")).to_be_visible()
    page.keyboard.press("g")
    expect(page.get_by_role("dialog", name="Go to a page").get_by_role("button").first).to_be_focused()
    tops = {each.bounding_box()["y"] for each in page.locator(".picker h2").all()}
    assert len(tops) == 1, "all groups beside each other"
    page.keyboard.press("m")
    expect(finding).to_contain_text("nearest neighbours")
    for _ in range(9):  # quicker than pages open: none is lost, and the link is that of the last
        page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile("/sentence.*exhibit=1$"))
    settle(page)
    expect(page.locator(".strip [aria-current]")).to_contain_text("Sentence")
    open_page(page, f"{server}/?talk={talk}&present=1")
    expect(finding).to_contain_text("wrong:")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", level=1, name="Performance")).to_be_visible()
    page.wait_for_url(re.compile("/performance.*split=validation"))
    assert "present" not in page.url and complaints == []


def test_back_leads_to_the_previous_page_in_one_press_and_forward_again(page, server):
    page.goto(f"{server}/models?run=finished")
    arrive(page, "Models")
    for title in MENU:
        page.get_by_role("link", name=title, exact=True).click()
        arrive(page, title)
        assert "run=finished" in page.url, title
    for step, titles in ((page.go_back, ("Models", *MENU)[-2::-1]), (page.go_forward, MENU[:2])):
        for title in titles:
            step()
            page.wait_for_url(re.compile(rf"/{title.lower()}\b.*run=finished"))
            arrive(page, title)
    # A late message of the left page must not remove the *Forward* entry.
    page.get_by_role("link", name="Models", exact=True).click()
    arrive(page, "Models")
    before = page.url
    page.get_by_role("link", name="Sentence", exact=True).click()
    arrive(page, "Sentence")
    sentence = page.url
    page.go_back()
    page.wait_for_url(before)
    arrive(page, "Models")
    for late in (sentence, before):  # Streamlit's entries when Sentence ends late
        page.evaluate("address => history.pushState({}, '', address)", late)
    page.go_forward()
    page.wait_for_url(sentence)
    arrive(page, "Sentence")


def test_link_without_a_run_is_one_history_step(page, server):
    page.goto(f"{server}/_stcore/health")
    for title in ("Performance", "Sentence"):
        before = page.evaluate("history.length")
        page.goto(f"{server}/{title.lower()}")
        arrive(page, title)
        assert "run=" in page.url and page.evaluate("history.length") == before + 1


def test_previous_page_is_restored_as_it_was(page, server):
    page.goto(f"{server}/performance?run=finished&split=validation")
    arrive(page, "Performance")
    page.get_by_role("link", name="Sentence", exact=True).click()
    arrive(page, "Sentence")
    page.get_by_role("slider", name="λ₁").first.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    page.wait_for_function("location.search.includes('edit=l1c1')")
    settle(page)
    page.go_back()
    page.wait_for_url(re.compile(r"/performance\?.*split=validation"))
    arrive(page, "Performance")
    expect(page.get_by_role("radio", name="validation")).to_be_checked()
    expect(page.locator(".s-run").first).to_contain_text("validation")
    page.go_forward()
    arrive(page, "Sentence")
    assert "edit=l1c1" in page.url


LASSO = ((-0.49, -0.49), (0.49, -0.49), (0.49, 0.49), (-0.49, 0.49), (-0.49, -0.45))
"""A lasso around all points, in fractions of the plot."""
HALF = ((-0.49, -0.49), (0, -0.49), (0, 0.49), (-0.49, 0.49), (-0.49, -0.45))
MARKED = """() => document.querySelector("[class*=st-key-fig-map] .js-plotly-plot").data
  .flatMap((each) => [...(each.selectedpoints ?? [])].map((place) => each.customdata[place])).sort((a, b) => a - b)"""
"""The rows that the map shows as selected."""
KEPT = ".js-plotly-plot", ".st-key-method", ".st-key-colour", ".st-key-map-fields input"
"""Parts of the page Embeddings that a lasso changes nothing about."""


def first_row(page: Page, name: str, rows: int = 0) -> None:
    """Choose a table row by its checkbox, which is painted on a canvas and has no element."""
    table = page.get_by_role("figure", name=name).or_(page.locator(f"[aria-label='{name}']")).first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 16, box["y"] + 38 * (rows + 1) + 19)


def draw(page: Page, around: Sequence[tuple[float, float]] = LASSO) -> None:
    """A lasso on the map."""
    plot = page.locator("[class*=st-key-fig-map] .nsewdrag")
    plot.evaluate("plot => plot.scrollIntoView({block: 'center'})")
    settle(page)
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for number, (right, down) in enumerate(around):
        page.mouse.move(x + right * box["width"], y + down * box["height"], steps=6)
        if number == 0:
            page.mouse.down()
    page.mouse.up()


def read_on_the_sentence_page(page: Page) -> str:
    """The text on the Sentence page, which must also be in the link."""
    page.wait_for_url(re.compile(r"/sentence\?"))
    field = page.get_by_role("textbox", name="Sentence", exact=True)
    see(field)
    text = field.input_value()
    assert "text=" in page.url and "run=finished" in page.url
    expect(page.get_by_role("list", name="words with their effect").first).to_be_visible()
    return text


def test_row_of_the_runs_table_opens_its_run(page, server, library):
    page.goto(f"{server}/?run=baseline")
    table = page.get_by_role("grid", name="Models on reviews.csv, best first")
    see(table)
    table.get_by_role("rowheader", name="finished").click()
    expect(page.locator(".s-sel b")).to_have_text("finished")
    settle(page)
    library.create(compose("vanilla"), "vanilla", "elsewhere")  # runs of others appear without a reload
    see(page.get_by_text("elsewhere on built-in waits for a free place"))
    page.get_by_role("button", name="Sentence", exact=True).click()
    page.wait_for_url(re.compile(r"/sentence\?.*run=finished"))
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()


def test_sentence_of_a_matrix_cell_opens_the_sentence_page(page, server):
    page.goto(f"{server}/performance?run=finished&threshold=1.0")
    page.locator(".st-key-fig-confusion .bars .point").first.click(force=True)
    see(page.get_by_text("of 16 sentences"))
    first_row(page, "Selected sentences: label negative, predicted negative at 1.00")
    page.get_by_role("button", name="Look inside this sentence").click()
    assert "film number" in read_on_the_sentence_page(page)


def test_lasso_redraws_nothing_and_its_link_marks_the_same_points(page, server):
    page.goto(f"{server}/embeddings?run=finished&split=test")
    see(page.get_by_text("PCA, 2-D, n ="))
    before = [page.locator(each).first.element_handle() for each in KEPT]
    assert page.evaluate(MARKED) == []
    draw(page, HALF)
    bar = page.locator(".st-key-selected-now .s-now")
    expect(bar).to_contain_text("selected on the map")
    settle(page)
    rows = page.evaluate(MARKED)
    assert 0 < len(rows) < 16 and bar.inner_text().startswith(f"{len(rows)} of 16")
    assert [name for name, each in zip(KEPT, before, strict=True) if not each.evaluate("it => it.isConnected")] == []
    page.goto(f"{server}/performance?{page.url.partition('?')[2]}")
    expect(bar).to_contain_text(f"{len(rows)} of 16")
    settle(page)
    page.locator(".st-key-selected-to-embeddings button").first.click()
    see(page.get_by_text("PCA, 2-D, n ="))
    assert page.evaluate(MARKED) == rows
    page.go_back()
    page.go_back()
    see(page.get_by_text("PCA, 2-D, n ="))
    assert page.evaluate(MARKED) == rows and bar.inner_text().startswith(f"{len(rows)} of 16")


def test_map_points_lead_to_a_sentence_and_clear_removes_the_outline(browser, server):
    page, complaints = visit(browser, server, width=1024)
    page.goto(f"{server}/embeddings?run=finished")
    see(page.get_by_text("PCA, 2-D, n ="))
    draw(page)
    expect(page.locator(".s-now", has_text="selected on the map")).to_be_visible()
    see(page.get_by_text("16 of 16 sentences"))
    outlines = page.locator("[class*=st-key-fig-map] .selectionlayer path")
    assert outlines.count() > 0 and is_in_window(page, ".st-key-selection")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".s-now", has_text="selected on the map")).to_be_hidden()
    settle(page)
    page.wait_for_function("document.querySelectorAll('[class*=st-key-fig-map] .selectionlayer path').length === 0")
    enter(page.get_by_role("textbox", name="Your sentence on this map"), "a good film")
    see(page.get_by_text("The diamond is your sentence"))
    assert page.locator(".s-now", has_text="selected on the map").count() == 0  # not restored by the browser
    draw(page)
    see(page.locator(".s-now", has_text="selected on the map"))
    first_row(page, "Selected sentences: selected on the map")
    page.get_by_role("button", name="Look inside this sentence").click()
    assert "film number" in read_on_the_sentence_page(page) and complaints == []


def test_text_of_the_data_page_opens_the_sentence_page(page, server):
    page.goto(f"{server}/data?run=finished&find=porter")
    see(page.get_by_text("Choose one to open it."))
    first_row(page, "Texts of the data set")
    page.get_by_role("button", name="Try it on the Sentence page").click()
    assert "porter" in read_on_the_sentence_page(page)


def test_split_is_kept_between_pages_that_use_one(page, server):
    page.goto(f"{server}/performance?run=finished&split=validation")
    chosen = page.get_by_role("radio", name="validation")
    expect(chosen).to_be_checked()
    for link in ("Embeddings", "Performance"):
        page.get_by_role("link", name=link, exact=True).click()
        see(page.get_by_role("heading", name=link, level=1))
        expect(page.locator(".s-run")).to_contain_text("validation")
        assert "split=validation" in page.url
    expect(chosen).to_be_checked()
    page.goto(f"{server}/performance?run=finished&split=foo")
    expect(page.get_by_role("radio", name="test")).to_be_checked()


def test_no_animation_runs_on_a_loaded_page_with_reduced_motion(browser, first_server):
    context = browser.new_context(reduced_motion="reduce")  # not a visitor of `visit`, whose animations are off
    page = context.new_page()
    for path, title in (("start", None), ("performance", "Performance"), ("train", "Train")):
        page.goto(f"{first_server}/{path}")
        see(page.get_by_role("heading", level=1, name=title) if title else page.get_by_text("Sentence 1 of 5"))
        settle(page)
        assert page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
        assert page.evaluate(RUNNING) == [], path
    context.close()


DEEPEST = "let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;"
LISTED = """() => {
  const controls = "button, a[href], input, select, textarea, summary, [role=slider], [role=tab], tr[tabindex]";
  const inside = (node) => [...node.querySelectorAll("*")].flatMap((e) =>
    [...(e.matches(controls) ? [e] : []), ...(e.shadowRoot ? inside(e.shadowRoot) : [])]);
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !e.disabled;
  const first = (box) => box.width > 1 && box.height > 1 && box.top < 900;
  const all = inside(document.querySelector("[data-testid=stMain]"));
  window.describe = (e) => e.tagName + " " + (e.ariaLabel || e.innerText || e.value);
  window.left = new Map(all.filter((e) => shown(e) && first(e.getBoundingClientRect())).map((e) => [describe(e), e]));
}"""
"""Remember the controls of the first screen, 900 pixels of a window so high that nothing scrolls."""
STOP = f"""() => {{ {DEEPEST}
  if (e === document.body) return null;
  const within = "[role=radiogroup], [role=group], [role=toolbar], table, [class*=st-key-]"; // arrows from here
  const group = e.closest(within);
  left.delete(describe(e)); // by its name: a figure that is drawn again has new elements
  for (const [name, each] of left) if (group && each.closest(within) === group) left.delete(name);
  const box = (e.closest("input")?.closest("[role=group]") ?? e).getBoundingClientRect(); // with its outline
  window.drawn = !e.closest("canvas, td"); // the chosen cell of a table keeps its frame
  return [describe(e), Math.max(0, box.x - 5), Math.max(0, box.y - 5), box.width + 10, box.height + 10];
}}"""
WALKED = ("runs", "performance", "errors", "compare", "behave", "embeddings", "papers", "data", "models", "train")
WALKED += ("sweeps", "sentence", "steps", "attention", "lessons", "lesson", "start", "theory")


def test_tab_reaches_each_control_of_a_first_screen_with_visible_focus(browser, first_server):
    page, _ = visit(browser, first_server)
    page.set_viewport_size({"width": 1440, "height": 3000})
    for path in WALKED:
        open_page(page, f"{first_server}/{make_link(path, 'starter-ndt-01-n3')}")
        page.wait_for_function(f"!({EMPTY})()")
        if path == "errors":  # its list is drawn again when the tags arrive
            expect(page.locator(".filter .word", has_text="any tag")).to_be_attached(timeout=120_000)
            settle(page)
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to main content")).to_be_focused()
        page.keyboard.press("Enter")
        page.evaluate(LISTED)
        for _ in range(150):  # a trap would never end
            page.keyboard.press("Tab")
            stop = page.evaluate(STOP)
            if stop is None:
                break
            name, *box = stop
            around = dict(zip(("x", "y", "width", "height"), box, strict=True))
            focused = page.screenshot(clip=around)
            page.evaluate(f"() => {{ {DEEPEST} window.now = e; e.blur(); }}")
            assert page.screenshot(clip=around) != focused or not page.evaluate("drawn"), (path, name)
            page.evaluate("() => window.now.focus({ focusVisible: true })")
        assert stop is None and page.evaluate("() => [...left.keys()]") == [], path
