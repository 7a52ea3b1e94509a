"""Page Start: guess the label of a sentence, see the model's answer, find out why, try a sentence of your own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from core.error_analysis.counter_examples import keep_example
from core.error_analysis.quiz import Quiz, choose_unanswered, refuse_run
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.results import choose_default_run
from dashboard.figures.start import CLASSES, NAME, StartView, TypedSentence, draw_start
from dashboard.screens import NO_PAGE, PAGES
from dashboard.widgets.figure import show_drawing
from dashboard.widgets.messages import as_sentence
from dashboard.widgets.options import LONGEST
from dashboard.widgets.style import add_style, get_look
from dashboard.widgets.unfinished import UnfinishedTask, find_unfinished


def show_page() -> None:
    """Draw the Start page: a quiz about the chosen run, or why there is none."""
    if page := state.pop_value(state.START_OPENS):
        state.open_page(page)
    add_style("bare.css")
    records = data.list_runs()
    begun = find_unfinished(records)
    view = _make_view(records)
    if begun is not None:
        view = replace(view, again={"text": f"{begun.words}.", "action": f"Open {PAGES[begun.page].title}"})
    key = state.get_figure_key(NAME)
    show_drawing(draw_start(view, get_look()), NAME, "", on_changes_change=lambda: _receive_changes(key, view, begun))


def _make_view(records: Sequence[RunRecord]) -> StartView:
    missing, default = state.get_value(state.MISSING, ""), choose_default_run(records)
    record = next((each for each in records if each.run == state.get_run()), None) or default
    if record is None:
        links = _make_links()
        action = {"text": "Train the first model", "href": links["train"]}
        other = {"text": "Import a run", "href": links["runs"]}
        words = {"title": "No model here yet", "text": "Train one in about a minute. Then it answers these sentences."}
        return StartView(CLASSES, choose_unanswered(), links, state={**words, "action": action, "other": other})
    name = data.label_run(record.run)
    note = f"There is no run “{missing:.60}” here. {name} answers instead." if missing else ""
    view = StartView(record.classes, (), _make_links(record.run), record, name, note=note)
    try:
        refuse_run(data.store(), record)
        quiz, problem = _make_quiz(record)
        typed = _answer_typed(record, quiz, state.get_value(state.START_TYPED, None))
    except (NotAvailable, RunDamaged) as error:
        return _explain_failure(view, error, records)
    at, mistyped = _read_place(len(quiz.questions))
    asked = state.read_link(NO_PAGE)
    unknown = f"There is no page “{asked:.60}”. Start is shown instead." if asked else ""
    links = _make_links(record.run, next((each.text for each in quiz.questions if not each.right), ""))
    said = " ".join(filter(None, (note, unknown, problem, mistyped)))
    saved = sum(each.label in record.classes for each in data.list_examples())
    return replace(view, questions=quiz.questions, links=links, at=at, note=said, typed=typed, saved=saved)


def _make_quiz(record: RunRecord) -> tuple[Quiz, str]:
    try:
        return data.make_quiz(record.run), ""
    except NotAvailable as error:
        return Quiz((), ()), f"{as_sentence(str(error).rstrip('.'))} Write one yourself."


def _read_place(n: int) -> tuple[int, str]:
    """Return the number of the sentence in the link, from 0, and a sentence on a link that names none."""
    asked = state.read_link(state.QUESTION)
    if not n or not asked or (asked.isdecimal() and len(asked) < 4 and 1 <= int(asked) <= n):
        return int(asked) - 1 if n and asked else 0, ""
    return 0, f"The link asks for sentence “{asked:.20}”; there are sentences 1 to {n}."


def _make_links(run: str = "", text: str = "") -> dict[str, str]:
    kept = {state.RUN: run} if run else {}
    if state.is_projector():
        kept[state.PROJECTOR] = "true"
    pages: dict[str, tuple[str, dict[str, str]]] = {page: (page, {}) for page in ("lessons", "runs", "train", "data")}
    pages |= {
        "accuracy": ("lesson", {"lesson": "accuracy"}),
        "sentence": ("sentence", {state.TEXT: text} if text else {}),
    }
    return {name: f"{page}?{urlencode({**kept, **more})}".rstrip("?") for name, (page, more) in pages.items()}


def _explain_failure(view: StartView, error: Exception, records: Sequence[RunRecord]) -> StartView:
    """Return the view of a run that has no quiz: it is damaged, of another kind, or without short sentences."""
    assert view.record is not None
    others = [each for each in records if each.run != view.record.run and each.status == "done"]
    better = choose_default_run(others)
    damaged = isinstance(error, RunDamaged) or view.record.status == "damaged"
    reason = str(error).replace(f"{data.store().get_path(view.record.run)}/", "").rstrip(".")
    if damaged:
        n = len(others)
        fine = "" if not n else "1 other model is fine." if n == 1 else f"{n} other models are fine."
        title, reason = "This model cannot be read", f"{reason}. {fine}"
    else:
        title, reason = f"{view.model} cannot answer here", as_sentence(reason)
    words: dict[str, Any] = {"title": title, "text": reason, "bad": damaged}
    if better:
        text = f"Use {data.label_run(better.run)} instead"
        words["action"] = {"text": text, "href": f"?{urlencode({state.RUN: better.run})}"}
    words["other"] = {"text": "All models", "href": view.links["runs"]}
    known = set(view.record.classes) <= set(CLASSES)  # of a record that cannot be read they are not known
    questions = choose_unanswered() if known else ()
    return replace(view, classes=CLASSES if known else view.classes, questions=questions, state=words)


def _answer_typed(record: RunRecord, quiz: Quiz, typed: TypedSentence | None) -> TypedSentence | None:
    if typed is None or typed.label >= len(record.classes):
        return None
    try:
        return replace(typed, question=data.ask_sentence(record.run, typed.text, quiz.common))
    except InputError as error:
        text = typed.text if len(typed.text) <= LONGEST else ""  # a longer one fits no link
        return replace(typed, problem=as_sentence(error), link=_make_links(record.run, text)["sentence"])


def _receive_changes(key: str, view: StartView, begun: UnfinishedTask | None) -> None:
    for change in state.receive_changes(key):
        if "at" in change:
            state.set_param(state.QUESTION, str(int(change["at"]) + 1))
        if asked := change.get("ask"):
            typed = TypedSentence(int(asked["number"]), str(asked["text"]), int(asked["label"]))
            state.set_value(state.START_TYPED, typed)
        if "save" in change:
            _save_typed(view)
        if change.get("open") == "train":
            state.set_value(state.ALONG, True)
            state.set_value(state.START_OPENS, "train")
        elif "open" in change and begun is not None:
            begun.prepare()
            state.set_value(state.START_OPENS, begun.page)


def _save_typed(view: StartView) -> None:
    typed: TypedSentence | None = state.get_value(state.START_TYPED, None)
    if typed is None or view.record is None or typed.saved:
        return
    link = _make_links(view.record.run, typed.text)["sentence"]
    author = str(state.get_value(state.AUTHOR, "") or "")
    keep_example(data.store().folder, typed.text, view.record.classes[typed.label], "", author, link)
    state.set_value(state.START_TYPED, replace(typed, saved=True))


show_page()
