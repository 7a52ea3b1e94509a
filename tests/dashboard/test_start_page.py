"""Start: which sentences it shows, what a link opens, why no model answers, and what happens to a typed sentence."""

import json
import shutil
from urllib.parse import parse_qs, urlsplit

import pytest
from finished import copied
from pages import drawn, opened
from streamlit.testing.v1 import AppTest

from core.error_analysis.counter_examples import keep_example, read_examples
from core.error_analysis.quiz import Question, make_quiz
from core.runs.store import RunStore
from dashboard import state
from dashboard.figures.start import TypedSentence, order_classes

RUN = "starter-ndt-01-n3"


def start(app: AppTest, **parameters: str) -> dict:
    """Return what the page gives its component."""
    [data] = drawn(opened(app, "start", **parameters), "start")
    return data


def test_it_shows_the_quiz_of_the_run_and_links_that_keep_it(app, starters):
    data = start(app)
    questions = make_quiz(RunStore(), RUN).questions
    assert [each["text"] for each in data["questions"]] == [each.text for each in questions]
    classes = data["classes"]
    for each, question in zip(data["questions"], questions, strict=True):
        assert (classes[each["label"]], classes[each["predicted"]]) == (question.label, question.predicted)
        assert each["scores"] == [list(column) for column in question.scores] and "kind" not in each
    assert (data["model"], data["order"], data["ends"]) == ("ndt-01-n3", [0, 1], {"minus": 0, "plus": 1})
    assert data["ask"] == "Is the writer positive or negative?"
    assert data["accuracy"] == "On its own test set this model gets 97 of 100 right."
    assert (data["at"], data["note"], data["state"], data["own"], data["again"]) == (0, "", None, None, None)
    pages = {name: urlsplit(link) for name, link in data["links"].items()}
    assert all(parse_qs(link.query)["run"] == [RUN] for link in pages.values())
    assert pages["accuracy"].path == "lesson" and parse_qs(pages["accuracy"].query)["lesson"] == ["accuracy"]
    wrong = next(each.text for each in questions if not each.right)
    assert parse_qs(pages["sentence"].query)["text"] == [wrong]


@pytest.mark.parametrize(
    ("asked", "at", "note"),
    [
        ("2", 1, ""),
        ("5", 4, ""),
        *((wrong, 0, f"The link asks for sentence “{wrong}”; there are sentences 1 to 5.") for wrong in "60b"),
        pytest.param("9" * 5000, 0, f"The link asks for sentence “{9:9<20}”; there are sentences 1 to 5.", id="huge"),
    ],
)
def test_a_link_opens_a_sentence_and_a_mistyped_one_says_so(app, starters, asked, at, note):
    data = start(app, sentence=asked)
    assert (data["at"], data["note"]) == (at, note)


def test_a_link_to_a_run_that_is_gone_says_who_answers(app, starters):
    data = start(app, run="nowhere")
    assert data["note"] == "There is no run “nowhere” here. ndt-01-n3 answers instead."
    assert len(data["questions"]) == 5 and data["state"] is None


def test_without_a_model_the_class_can_vote(app, tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "none"))
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(tmp_path / "none"))
    data = start(app)
    assert data["state"]["title"] == "No model here yet"
    assert [data["state"][name]["href"] for name in ("action", "other")] == ["train", "runs"]
    assert len(data["questions"]) == 5 and not any(each["scores"] for each in data["questions"])
    assert {data["classes"][each["label"]] for each in data["questions"]} == {"negative", "positive"}


def test_a_model_that_cannot_be_read_names_the_file_and_one_that_can(app, runs):
    copied(runs, "cut", run="cut")
    (runs / "cut" / "weights.safetensors").write_bytes(b"too short")
    told = start(app, run="cut")["state"]
    assert told["title"] == "This model cannot be read" and told["text"].startswith("weights.safetensors: ")
    assert str(runs) not in told["text"] and "models are fine." in told["text"]
    assert told["action"] == {"text": "Use finished instead", "href": "?run=finished"}
    record = start(AppTest.from_file(app._script_path, default_timeout=60), run="damaged")
    assert record["state"]["text"].startswith("run.json: ") and len(record["questions"]) == 5


def test_a_run_on_pairs_says_why_it_cannot_answer(app, paired, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_RUNS", str(paired.folder))
    told = start(app, run="both")
    assert told["state"]["title"] == "both cannot answer here"
    assert told["state"]["text"] == "It reads two texts at a time." and told["questions"] == []


def test_a_run_without_short_sentences_lets_people_write_their_own(app, runs):
    copied(runs, "bare", run="bare")
    shutil.rmtree(runs / "bare" / "evaluation")
    data = start(app, run="bare")
    assert data["questions"] == [] and data["state"] is None and data["note"].endswith("Write one yourself.")


def test_a_typed_sentence_is_answered_and_refused_in_a_sentence(app, starters):
    opened(app, "start")
    app.session_state[state.START_TYPED] = TypedSentence(7, "I cannot say that I was bored.", 1)
    own = drawn(app.run(), "start")[0]["own"]
    assert own["number"] == 7 and own["question"]["text"] == "I cannot say that I was bored." and not own["saved"]
    assert len(own["question"]["scores"][0]) == 2 ** len(own["question"]["subset"])
    app.session_state[state.START_TYPED] = TypedSentence(8, "so many words " * 21, 1)
    own = drawn(app.run(), "start")[0]["own"]
    assert own["question"] is None and own["problem"] == "This sentence has 63 words; 60 are the maximum here."
    assert urlsplit(own["link"]).path == "sentence"


def test_saved_sentences_are_counted_where_the_run_has_their_class(app, runs):
    for text, label in (("one", "positive"), ("two", "negative"), ("three", "joy")):
        keep_example(runs, text, label)
    assert start(app, run="finished")["saved"] == 2 and len(read_examples(runs)) == 3


@pytest.mark.parametrize(
    ("classes", "ordered", "order", "ends"),
    [
        (("negative", "positive"), False, [0, 1], (0, 1)),
        (("positive", "negative"), False, [1, 0], (1, 0)),
        (("ham", "spam"), False, [0, 1], (0, 1)),
        (("negative", "neutral", "positive"), False, [0, 1, 2], (0, 2)),
        (("anger", "joy", "sadness"), False, [0, 1, 2], (None, None)),
        (("1", "2", "3", "4", "5"), True, [0, 1, 2, 3, 4], (0, 4)),
    ],
)
def test_the_negative_end_is_left_and_only_ends_have_a_colour(classes, ordered, order, ends):
    assert order_classes(classes, ordered=ordered) == (order, {"minus": ends[0], "plus": ends[1]})


def test_words_are_counted_as_a_browser_counts_them(app, starters):
    opened(app, "start")
    app.session_state[state.START_TYPED] = TypedSentence(7, "\N{PILE OF POO} an awful \N{PILE OF POO} film", 0)
    question = drawn(app.run(), "start")[0]["own"]["question"]
    units = question["text"].encode("utf-16-le")
    words = [units[2 * start : 2 * end].decode("utf-16-le") for start, end in question["words"]]
    assert words == question["text"].split()


def test_questions_travel_as_plain_numbers(app, starters):
    question = start(app)["questions"][0]
    assert json.loads(json.dumps(question)) == question
    assert set(question) == set(Question.__dataclass_fields__) - {"kind", "split"}
