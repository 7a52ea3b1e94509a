"""Lessons in a real browser: four stages with keys and clicks, two browsers in one class, sheet, the file offline."""

import pytest
from browsing import LOOKS, OF_A_LOOK, is_too_wide, open_page, show, until, violations, visit
from playwright.sync_api import Page, expect
from starters import STARTERS

from core.lessons.catalog import LESSONS, read_content
from core.lessons.tally import TallyStore
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard import lesson_html

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PROJECTOR = {"width": 1280, "height": 720}
HEADLINE = ".lesson .page h1"


@pytest.fixture(scope="module")
def contents(request):
    """The content of each lesson, as the server computes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_STARTERS", str(request.path.parents[2] / "trained"))
        return {name: read_content(name, RunStore()) for name in LESSONS}


def at(browser, server: str, more: str, size: dict[str, int] = PROJECTOR) -> tuple[Page, list[str]]:
    page, complaints = visit(browser, server)
    page.set_viewport_size(size)
    open_page(page, f"{server}/lesson?{more}")
    return page, complaints


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def said(page: Page) -> str:
    return page.locator(HEADLINE).inner_text()


FITS = """() => {
  const inside = [...document.querySelectorAll("*")].map((each) => each.shadowRoot?.querySelector(".lesson"));
  const root = document.querySelector(".lesson") ?? inside.find(Boolean);
  const has = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const texts = [...root.querySelectorAll(".page *")].filter((each) => has(each) && !each.closest("svg"));
  return texts.every((each) => parseFloat(getComputedStyle(each).fontSize) >= 14)
    && root.querySelector(".end").getBoundingClientRect().bottom <= innerHeight - 2
    && document.documentElement.scrollWidth <= innerWidth;
}"""


def fits(page: Page) -> bool:
    """Tell whether nothing has to be scrolled and no text is smaller than 14 pixels."""
    return bool(page.evaluate(FITS))


def test_accuracy_is_answered_with_keys_and_the_mark_stays(browser, server, contents):
    page, complaints = at(browser, server, "lesson=accuracy")
    content = contents["accuracy"]
    assert said(page) == content["stages"][0]["headline"] and fits(page)
    for early in (".kinds button", ".axis .wrong"):
        assert page.locator(early).count() == 0, "nothing is shown yet"
    press(page, "ArrowRight")
    assert said(page) == content["stages"][0]["headline"], "without an answer there is no way on"
    press(page, "b")
    expect(page.locator(".axis .you")).to_have_text("you")
    press(page, "ArrowRight")
    assert said(page) == content["stages"][1]["headline"] and fits(page)
    expect(page.locator(".side .say")).to_have_text(content["questions"][0]["choices"][1]["feedback"])
    assert page.locator(".kinds button").count() == 302 and page.locator(".axis .you").count() == 1
    until(page, lambda: "step=2" in page.url and "pick=1" in page.url)
    press(page, "ArrowRight")
    slider = page.get_by_role("slider", name="Hard sentences in 100")
    slider.focus()
    press(page, "ArrowRight", "ArrowRight")
    assert said(page) == content["figure"]["mixed"][8]["headline"], "in a field the arrows are its own"
    expect(slider).to_be_focused()
    until(page, lambda: "set=40" in page.url)
    box = slider.bounding_box()
    x, y = box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for share in (0.5, 0.6, 0.7, 0.8):  # it is drawn anew at every step, and stays in the hand
        page.mouse.move(box["x"] + box["width"] * share, y)
    page.mouse.up()
    assert said(page) == content["figure"]["mixed"][16]["headline"]
    until(page, lambda: "set=80" in page.url)
    page.reload()
    expect(page.locator(HEADLINE)).to_have_text(content["figure"]["mixed"][16]["headline"])
    page.locator("footer .go").click()
    press(page, "c")
    assert said(page) == content["stages"][3]["finding"] and fits(page)
    expect(page.locator(".options [aria-pressed=true]")).to_contain_text("you, right")
    press(page, "ArrowLeft", "ArrowLeft", "ArrowLeft", "d")
    assert page.locator(".options [aria-pressed=true]").inner_text().startswith("B"), "who has seen it cannot answer"
    assert complaints == []


def test_heads_are_chosen_switched_and_asked_again(browser, server, contents):
    page, complaints = at(browser, server, "lesson=heads")
    content = contents["heads"]
    right, names = content["figure"]["right"], content["figure"]["names"]
    dark = content["figure"]["first"]["dark"][0]
    assert page.locator(".page .cell").count() == 12 and page.locator(".share").count() == 0 and fits(page)
    page.locator(f"[data-id=head-{dark}]").focus()
    expect(page.locator(".zoom h2")).to_contain_text(names[dark][1:])
    press(page, "Enter")
    expect(page.locator(f"[data-id=head-{dark}]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(f"[data-id=head-{dark}]")).to_be_focused()
    press(page, "ArrowRight")
    assert said(page) == f"Without {names[right]} the answer flips." and fits(page)
    assert page.locator(".flips").count() == 1 and page.locator(f"[data-id=head-{dark}] .mark").inner_text() == "you"
    expect(page.locator(".side .say")).to_have_text(content["questions"][0]["choices"][dark]["feedback"])
    press(page, "ArrowRight")
    assert said(page) == f"Flip the answer, and keep {names[right]} on."
    off = [place for place in range(12) if names[place] in content["answers"][2]]
    for place in off:
        page.locator(f"[data-id=head-{place}]").click()
    positive = content["figure"]["sets"][sum(1 << place for place in off)] / 1000
    assert said(page) == f"Flipped: positive {positive:.2f}." and fits(page)
    until(page, lambda: f"set={sum(1 << place for place in off)}" in page.url)
    page.locator("[data-id=all-on]").click()
    assert said(page) == f"Flip the answer, and keep {names[right]} on."
    press(page, "ArrowRight")
    page.locator(f"[data-id=head-{right}]").click()
    assert said(page) == content["stages"][3]["finding"] and fits(page)
    expect(page.locator(".side .say")).to_have_text("You found it again.")
    expect(page.locator("footer .go")).to_have_attribute("href", "lesson?lesson=accuracy")
    page.locator("[data-id=restart]").click()
    assert said(page) == content["stages"][0]["headline"]
    until(page, lambda: "pick" not in page.url)
    assert complaints == []


def test_texts_are_made_longer_until_windows_guess(browser, server, contents):
    page, complaints = at(browser, server, "lesson=tfidf")
    content = contents["tfidf"]
    assert said(page) == content["stages"][0]["headline"] and page.locator(".page .unknown").count() == 3 and fits(page)
    press(page, "b", "ArrowRight")
    assert said(page) == content["stages"][1]["headline"] and page.locator(".page .unknown").count() == 0 and fits(page)
    expect(page.locator(".side .say")).to_have_text(content["questions"][0]["choices"][1]["feedback"])
    press(page, "ArrowRight")
    assert said(page) == "4 words: 5 of 6 models find the rule."
    page.get_by_role("slider", name="Words of a text").focus()
    press(page, "ArrowRight", "ArrowRight")
    assert said(page) == "16 words: 2 of 6 models find the rule." and page.locator(".models .lost").count() == 4
    until(page, lambda: "set=2" in page.url)
    assert fits(page)
    page.locator("footer .go").click()
    press(page, "a")
    assert said(page) == content["stages"][3]["finding"] and fits(page)
    page.get_by_role("link", name="See all lengths").click()
    page.wait_for_url("**/theory?experiment=markov*")
    assert complaints == []


def test_lambda_is_moved_and_two_models_are_compared(browser, server, contents):
    page, complaints = at(browser, server, "lesson=lambda")
    content = contents["lambda"]
    figure, (question, again) = content["figure"], content["questions"]
    assert said(page) == content["stages"][0]["headline"] and fits(page)
    assert page.locator(".page .changed").count() == 0 and page.locator(".page .course").count() == 1
    press(page, "a")
    assert page.locator(".page .mine").count() == figure["ranges"][0][1]
    press(page, "ArrowRight")
    assert said(page) == content["stages"][1]["headline"] and fits(page) and page.locator(".page .course").count() == 2
    assert page.locator(".page .changed").count() == figure["first"]["zero"] + figure["usual"]["zero"]
    expect(page.locator(".side .say")).to_have_text(question["choices"][0]["feedback"])
    press(page, "ArrowRight")
    assert said(page) == "As trained. Slide every λ to 0." and fits(page)
    page.get_by_role("slider", name="every λ ×").fill("0")
    flips = sum((line[0] >= 0.5) != (line[10] >= 0.5) for line in figure["sentence"]["positive"])
    assert said(page) == f"Every λ × 0.0: {flips} of 3 answers flip{'s' * (flips == 1)}." and fits(page)
    until(page, lambda: "set=0" in page.url)
    page.locator("footer .go").click()
    assert page.locator(".page .changed").count() == 0, "nothing is shown yet"
    press(page, "abcd"[again["right"]])
    assert said(page) == content["stages"][3]["finding"] and fits(page)
    assert page.locator(".page .changed").count() == figure["falling"]["zero"]
    page.get_by_role("link", name="Open it").click()
    page.wait_for_url("**/sentence?run=starter-ndt-shares*edit=l%3A0*")
    assert complaints == []


def test_words_are_chosen_removed_and_asked_again(browser, server, contents):
    page, complaints = at(browser, server, "lesson=word")
    content = contents["word"]
    figure, (first, second) = content["figure"], content["questions"]
    sentence, most = figure["first"], figure["first"]["most"]
    assert page.locator(".words button").count() == len(sentence["words"]) and fits(page)
    assert page.locator(".share b").all_inner_texts() == [""] * len(sentence["words"]), "nothing is shown yet"
    page.locator(f"[data-id=word-{most - 1}]").focus()
    press(page, "ArrowDown", "Enter")
    expect(page.locator(f"[data-id=word-{most}]")).to_be_focused()
    expect(page.locator(f"[data-id=word-{most}]")).to_have_attribute("aria-pressed", "true")
    press(page, "ArrowRight")
    assert said(page) == f"Without “{sentence['words'][first['right']]}” the answer flips." and fits(page)
    expect(page.locator(".side .say")).to_have_text(first["choices"][most]["feedback"])
    expect(page.locator(".effects .mine th")).to_contain_text(sentence["words"][most])
    assert page.locator(".effects .flips").count() == 1
    press(page, "ArrowRight")
    assert said(page) == content["stages"][2]["headline"] and fits(page)
    others = [place for place, word in enumerate(sentence["words"]) if f"“{word}”" in content["answers"][2]]
    for place in others:
        page.locator(f"[data-id=word-{place}]").click()
    bits = sum(1 << place for place in others)
    positive = figure["sets"][bits] / 1_000_000
    assert said(page) == f"Flipped: {figure['classes'][positive >= 0.5]} {max(positive, 1 - positive):.2f}."
    until(page, lambda: f"set={bits}" in page.url)
    assert page.locator(".words .gone").count() == len(others) and fits(page)
    page.locator("[data-id=all-back]").click()
    assert said(page) == content["stages"][2]["headline"]
    press(page, "ArrowRight")
    page.locator(f"[data-id=word-{second['right']}]").click()
    assert said(page) == content["stages"][3]["finding"] and fits(page)
    expect(page.locator(".side .say")).to_have_text(second["choices"][second["right"]]["feedback"])
    assert page.locator(".words button").count() == 0, "who has seen it cannot answer"
    assert complaints == []


def test_explanations_are_tested_with_one_slider(browser, server, contents):
    page, complaints = at(browser, server, "lesson=trust")
    content = contents["trust"]
    first, (question, again) = content["figure"]["first"], content["questions"]
    assert page.locator(".curves").count() == 0 and fits(page), "nothing is shown yet"
    wrong = 1 - question["right"]
    press(page, "ab"[wrong])
    expect(page.locator(".both thead .mine")).to_have_text(f"Explanation {'AB'[wrong]}you")
    press(page, "ArrowRight")
    assert said(page) == content["stages"][1]["headline"] and fits(page)
    expect(page.locator(".curves .letter.mine")).to_have_text(f"{'AB'[wrong]} you")
    expect(page.locator(".side .say")).to_have_text(question["choices"][wrong]["feedback"])
    press(page, "ArrowRight")
    slider = page.get_by_role("slider", name="Words removed")
    for count in (2, 1, 0):
        slider.fill(str(count))
        until(page, lambda count=count: f"set={count}" in page.url)
        left = [f"{curve[count]:.2f}" for curve in first["curves"]]
        words = "word" if count == 1 else f"{count} words"
        told = f"Without the first {words}: A {left[0]}, B {left[1]}."
        assert said(page) == (told if count else f"With all words: {first['answer']} {left[0]}.") and fits(page)
        assert page.locator(".orders .gone").count() == 2 * count
    press(page, "Tab")
    page.locator("footer .go").click()
    press(page, "ab"[again["right"]])
    assert said(page) == content["stages"][3]["finding"] and fits(page)
    expect(page.locator(".options [aria-pressed=true]")).to_contain_text("you, right")
    assert complaints == []


def test_a_recorded_training_is_gone_through_step_by_step(browser, server, contents):
    page, complaints = at(browser, server, "lesson=data")
    content = contents["data"]
    first, second = (content["figure"][name] for name in ("first", "second"))
    assert page.locator(".lines path").count() == 0 and fits(page), "nothing is shown yet"
    press(page, "d")
    expect(page.locator(".probes .asked em")).to_have_text("you")
    press(page, "ArrowRight")
    assert said(page) == content["stages"][1]["headline"] and fits(page)
    expect(page.locator(".side .say")).to_have_text(content["questions"][0]["choices"][3]["feedback"])
    expect(page.locator(".probes .asked .wrong")).to_contain_text("wrong")
    assert page.locator(".lines path").count() == 2 and page.locator(".probes .asked em").count() == 1
    press(page, "ArrowRight")

    def tells(step):
        last, known, fresh = first["steps"][-1]["step"], step["known"], step["fresh"]
        return f"Step {step['step']} of {last}: {known:.2f} of its own sentences right, {fresh:.2f} of new ones."

    assert said(page) == tells(first["steps"][-1]) and fits(page)
    page.get_by_role("button", name="Reset").click()
    assert said(page) == tells(first["steps"][0])
    expect(page.get_by_role("button", name="Reset")).to_be_disabled()
    for number in (1, 2):
        page.get_by_role("button", name="Step", exact=True).click()
        assert said(page) == tells(first["steps"][number])
        until(page, lambda number=number: f"set={number}" in page.url)
    expect(page.get_by_role("button", name="Step", exact=True)).to_be_focused()
    page.get_by_role("slider").fill("20")
    assert said(page) == tells(first["steps"][20])
    page.locator("footer .go").click()
    assert page.locator(".lines path").count() == 0, "nothing of the second training is shown yet"
    press(page, "a")
    assert said(page) == content["stages"][3]["finding"] and fits(page)
    page.get_by_role("button", name="Reset").click()
    assert page.locator(".top p").inner_text().startswith(f"Step 0 of {second['steps'][-1]['step']}.")
    assert page.get_by_role("link", name="Train on 500 now").get_attribute("href").startswith("train?model=vanilla")
    assert complaints == []


@pytest.mark.parametrize("name", LESSONS)
def test_an_untouched_page_carries_the_message(browser, server, contents, name):
    page, complaints = at(browser, server, f"lesson={name}&projector=true")
    assert fits(page)
    page.get_by_role("button", name="Show without answering").click()
    assert fits(page) and said(page) == contents[name]["stages"][1]["headline"]
    expect(page.locator(".side .say")).to_have_text(contents[name]["stages"][1]["reason"])
    assert page.locator(".you, .mark").count() == 0 and complaints == []


@pytest.mark.parametrize("name", LESSONS)
def test_no_stage_has_a_grave_fault(browser, server, name):
    page, complaints = at(browser, server, f"lesson={name}", {"width": 1440, "height": 900})
    for step in range(1, 5):
        again = "&again=0" if step == 4 else ""
        open_page(page, f"{server}/lesson?lesson={name}&step={step}&pick=1{again}")
        assert fits(page)
        for number, (theme, width) in enumerate(LOOKS):
            show(page, theme, width)
            assert violations(page, OF_A_LOOK if number else ()) == [], (step, theme)
            assert not is_too_wide(page), (step, theme)
    for more in ("notes=1", "sheet=1"):
        open_page(page, f"{server}/lesson?lesson={name}&{more}")
        assert violations(page) == [], more
    assert complaints == []


def test_two_browsers_share_a_class(browser, server, library):
    teacher, heard = at(browser, server, "lesson=accuracy")
    press(teacher, "Shift+C")
    teacher.get_by_role("button", name="Open a class poll").click()
    teacher.locator(".panel .address").wait_for()
    code = teacher.url.split("join=")[1][:4]
    assert teacher.locator(".panel .address").inner_text().endswith(f"/lesson?join={code}")
    press(teacher, "Escape")
    expect(teacher.locator(".join .address")).to_contain_text(code)
    context = browser.new_context()  # another browser: it shares no cookie
    pupil = context.new_page()
    pupil.goto(f"{server}/lesson?join={code}")
    pupil.locator(HEADLINE).wait_for()
    press(pupil, "d", "a")
    expect(teacher.locator(".strip .count")).to_have_text("1 answered")
    tally = TallyStore(library.folder)
    for number in range(3):
        tally.record_answer(code, 0, f"pupil {number}", 2)
    press(teacher, "b", "ArrowRight")
    until(teacher, lambda: tally.count_answers(code)["answered"][0] == 5)
    bars = teacher.locator(".tally li")
    expect(bars.nth(2)).to_contain_text("3")
    widths = [bar.bounding_box()["width"] for bar in teacher.locator(".tally i").all()]
    assert widths[2] == pytest.approx(3 * widths[0], abs=1) and widths[0] == pytest.approx(widths[1], abs=1)
    assert [row.split("\n")[-1] for row in bars.all_inner_texts()] == ["1", "1", "3", "0"]
    pupil.reload()
    pupil.locator(HEADLINE).wait_for()
    press(pupil, "ArrowRight")
    expect(pupil.locator(".tally li").first).to_contain_text("1")
    press(pupil, "c")
    assert pupil.get_by_role("button", name="Delete all answers").count() == 0, "only the teacher deletes"
    press(teacher, "ArrowRight", "ArrowRight", "c")
    press(teacher, "c")
    for place, number in enumerate((0, 1, 6, 0)):
        teacher.get_by_role("spinbutton").nth(2 * place + 1).fill(str(number))
    teacher.get_by_role("spinbutton").nth(0).focus()
    expect(teacher.locator(".tally")).to_contain_text("before and after")
    until(teacher, lambda: tally.count_answers(code) == {"answered": [5, 8], "counts": [[1, 1, 3, 0], [0, 1, 7, 0]]})
    expect(teacher.locator(".tally li").nth(2)).to_contain_text("7")
    teacher.get_by_role("button", name="Delete all answers").click()
    until(teacher, lambda: tally.count_answers(code)["answered"] == [0, 0])
    expect(pupil.locator(".side .fact").first).to_contain_text("0 answered")
    context.close()
    assert heard == []


def test_keys_open_notes_link_and_sheet(browser, server, contents):
    page, complaints = at(browser, server, "lesson=heads&step=2")
    press(page, "n")
    notes = page.get_by_role("complementary", name="Teacher’s notes")
    expect(notes).to_contain_text("Reveal. Ask who chose the darkest map.")
    until(page, lambda: "notes=1" in page.url)
    press(page, "n")
    expect(notes).to_have_count(0)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press(page, "l")
    expect(page.locator(".end .note")).to_contain_text("link")
    press(page, "p")
    expect(page.get_by_role("heading", name="Answers: What does one head do?")).to_be_visible()
    expect(page.locator(HEADLINE)).to_be_hidden()
    until(page, lambda: "sheet=1" in page.url)
    press(page, "Escape")
    expect(page.locator(HEADLINE)).to_have_text(contents["heads"]["stages"][1]["headline"])
    assert complaints == []


@pytest.mark.parametrize("name", LESSONS)
def test_a_printed_lesson_is_its_sheet_on_two_pages(browser, server, name):
    page, _ = at(browser, server, f"lesson={name}&step=3")
    page.emulate_media(media="print")
    expect(page.locator(HEADLINE)).to_be_hidden()
    assert page.locator(".leaf").count() == 2
    assert page.locator(".leaf .boxes").count() == (0 if name in ("word", "heads") else 2), "both questions are ticked"
    pdf = page.pdf(format="A4")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") == 2


@pytest.mark.parametrize("name", LESSONS)
def test_the_file_opens_from_disk_without_a_network(browser, contents, name, tmp_path):
    lesson_html.write(name, contents[name], RunStore(STARTERS), tmp_path / "lesson.html")
    context = browser.new_context(viewport=PROJECTOR, offline=True)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
    page.goto((tmp_path / "lesson.html").as_uri())
    assert said(page) == contents[name]["stages"][0]["headline"]
    page.locator("[data-id=option-0], [data-id=head-0], [data-id=word-0]").first.click()
    press(page, "ArrowRight")
    assert said(page) == contents[name]["stages"][1]["headline"] and fits(page)
    expect(page.locator(".side .say")).to_have_text(contents[name]["questions"][0]["choices"][0]["feedback"])
    press(page, "ArrowRight", "ArrowRight")
    page.locator("[data-id=option-0], [data-id=head-0], [data-id=word-0]").first.click()
    assert said(page) == contents[name]["stages"][3]["finding"]
    press(page, "c")  # a class without a server raises hands
    assert page.get_by_role("button", name="Open a class poll").count() == 0
    page.get_by_role("spinbutton").nth(0).fill("5")
    page.get_by_role("spinbutton").nth(3).fill("6")
    if name == "trust":  # hands are raised for A to D, whichever of them is right
        expect(page.get_by_role("spinbutton").nth(0)).to_have_attribute("aria-label", "Explanation A, first question")
    page.get_by_role("spinbutton").nth(0).focus()
    counted = page.locator(".tally")  # hands for ranges and explanations count in the row of what they are
    expect(counted if name in ("lambda", "trust") else counted.locator("li").first).to_contain_text("5")
    press(page, "Escape")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert violations(page) == [], theme
    context.close()
    assert complaints == []


TYPED = "This is not a bad film, but never again."
LIVE = {  # answers of the model in a file to a sentence after a change b, as they are recorded for a page
    "word": """m.read(m.tokenizer.findWords(text).filter((span) => /\\p{L}/u.test(text.slice(...span))).reverse()
      .reduce((left, span, at, all) => b >> all.length - 1 - at & 1 ? m.tokenizer.removeWord(left, span) : left,
      text))""",
    "heads": "m.read(text, { off: [...Array(12).keys()].filter((head) => b >> head & 1) })",
    "lambda": "m.read(text, { scale: b / 10 })",
}


@pytest.mark.parametrize("name", [each for each, lesson in LESSONS.items() if lesson.runs])
def test_a_file_reads_a_typed_sentence_with_its_models(browser, contents, name, tmp_path):
    lesson_html.write(name, contents[name], RunStore(STARTERS), tmp_path / "lesson.html")
    page, complaints = browser.new_context(viewport=PROJECTOR, offline=True).new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "lesson.html").as_uri())
    page.locator("[data-id=option-0], [data-id=head-0], [data-id=word-0]").first.click()
    press(page, "ArrowRight", *["ArrowRight"] * (name != "accuracy"))
    page.get_by_role("textbox", name="Your own sentence").fill(TYPED)
    for run in LESSONS[name].runs:
        positive = load_run(RunStore(STARTERS), run).predict([TYPED]).probabilities[0, 1]
        bar = page.get_by_role("img", name=f"negative {1 - positive:.2f}, positive {positive:.2f}")
        expect(bar.first).to_be_visible()
    if name in LIVE:
        figure = contents[name]["figure"]
        sentence = figure["sentence" if name == "lambda" else "first"]
        recorded = sentence["positive"][0] if name == "lambda" else figure["sets"][:200]
        read = f"[...Array(n).keys()].map((b) => {LIVE[name]}.probabilities[1])"
        code = f"([text, n]) => {{ const m = document.querySelector('.lesson').models[0]; return {read}; }}"
        found = page.evaluate(code, [sentence["text"], len(recorded)])
        whole = {"word": 1e6, "heads": 1e3}.get(name, 1)
        assert max(abs(a - b / whole) for a, b in zip(found, recorded, strict=True)) < 6e-4
    assert fits(page) and violations(page) == [] and complaints == []
    page.context.close()


def test_the_list_leads_to_each_lesson(page, server, contents):
    page.set_viewport_size(PROJECTOR)
    open_page(page, f"{server}/lessons")
    assert page.locator(".lessons svg path").count() > len(LESSONS) and violations(page) == [] and not is_too_wide(page)
    name = list(LESSONS)[-1]
    page.get_by_role("link", name=LESSONS[name].title).click()
    expect(page.locator(HEADLINE)).to_have_text(contents[name]["stages"][0]["headline"])


def test_back_leads_to_the_stage_before_and_then_out_of_the_lesson(browser, server, contents):
    page, complaints = visit(browser, server)
    open_page(page, f"{server}/lessons")
    page.get_by_role("link", name=LESSONS["accuracy"].title).click()
    headlines = [stage["headline"] for stage in contents["accuracy"]["stages"]]
    expect(page.locator(HEADLINE)).to_have_text(headlines[0])
    press(page, "b", "ArrowRight", "ArrowRight")
    until(page, lambda: "step=3" in page.url and "pick=1" in page.url)
    for step in (2, 1):
        page.go_back()
        until(page, lambda step=step: said(page) == headlines[step - 1])
        assert page.locator(".strip [aria-current=step]").inner_text().startswith(str(step))
    page.go_forward()
    until(page, lambda: said(page) == headlines[1] and "step=2" in page.url and "pick=1" in page.url)
    page.go_back()
    until(page, lambda: said(page) == headlines[0])
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Lessons", exact=True)).to_be_visible()
    assert complaints == []
