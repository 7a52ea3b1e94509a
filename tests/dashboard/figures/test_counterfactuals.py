"""The smallest changes that flip a prediction, and saved counter-examples."""

import dataclasses
from itertools import repeat

import pytest

from core.error_analysis.counter_examples import CounterExample, ExamplePrediction
from core.formatting import format_csv
from core.interpret.counterfactual import AllowedMoves, Flip, Move, Search
from dashboard.figures import counterfactuals
from dashboard.figures.theme import Look

TEXT = "not <b>good</b> at all"
NOT, GOOD = Move("not", 0, 3), Move("good", 7, 11, "bad")
ALLOWED = AllowedMoves(words=9, readings=4000, replacements=(GOOD, dataclasses.replace(GOOD, instead="dull"), NOT))
BARE = Search(TEXT, "negative", {"negative": 0.9, "positive": 0.1}, 2.2, None, (), "none found", 1, ALLOWED, "")
ONE = Flip("<b>good</b> at all", {"negative": 0.2, "positive": 0.8}, -1.4, (NOT,))
TWO = Flip("<b>bad</b> at all", {"negative": 0.3, "positive": 0.7}, -0.8, (NOT, GOOD))


def ended(**found) -> counterfactuals.SearchSession:
    search = counterfactuals.SearchSession(("run",), iter([dataclasses.replace(BARE, readings=1234, **found)]))
    search.advance(1.0)
    assert not search.running
    return search


@pytest.mark.parametrize(
    ("found", "title", "text"),
    [
        ({"verdict": "none, proven"}, "No allowed change gives another answer", "All combinations"),
        ({"verdict": "none found"}, "No other answer was found", "Not all combinations were checked."),
        ({"verdict": "proven", "flip": ONE}, "One change is enough", "All single changes were checked."),
        ({"verdict": "proven", "flip": TWO}, "2 changes are needed", "All smaller combinations were checked, and"),
        ({"verdict": "smallest found", "flip": TWO}, "Fewest found: 2 changes", "Not all combinations up to this size"),
    ],
)
def test_verdict_reports_proof_and_number_of_texts(found, title, text):
    said = counterfactuals.write_verdict(ended(**found))
    assert said[0] == title and said[1].startswith(text) and said[1].endswith("Variants checked: 1\u202f234.")


def test_search_reports_progress_and_keeps_results_when_stopped():
    found = dataclasses.replace(BARE, readings=129, flip=TWO)
    search = counterfactuals.SearchSession(("run",), iter([BARE, *repeat(found, 3)]))
    assert counterfactuals.write_progress(search) == "1 of at most 4\u202f000 variants checked · no other answer yet"
    search.advance(0.0)
    assert search.found.readings == 1, "no time, no step"
    search.advance(1.0)
    assert counterfactuals.write_progress(search).endswith(
        "129 of at most 4\u202f000 variants checked · the answer changes after 2 changes, still checking"
    )
    states = iter([BARE, BARE])
    search = counterfactuals.SearchSession(("run",), states)
    search.stop()
    search.advance(1.0)
    assert next(states) is BARE and "was stopped. Variants checked: 1." in counterfactuals.write_verdict(search)[1]


def test_edits_are_marked_in_the_text_described_and_listed():
    assert counterfactuals.mark_moves(TEXT, (NOT, GOOD)) == (
        '<p class="s-flip"><del>not</del> &lt;b&gt;<del>good</del> <ins>bad</ins>&lt;/b&gt; at all</p>'
    )
    assert counterfactuals.write_moves((NOT, GOOD)) == "“not” deleted, “good” replaced by “bad”"
    two = dataclasses.replace(ALLOWED, replacements=ALLOWED.replacements[:2])
    assert counterfactuals.list_replacements(two) == ["good → bad, dull"]
    said = "Changes: of 9 words up to 3 deleted, or up to 2 deleted or replaced; 3 r"
    assert counterfactuals.describe_moves(ALLOWED).startswith(said)
    table = counterfactuals.build_flip_table(ended(verdict="proven", flip=TWO, also=(ONE,)))
    assert table["text"].tolist() == [TEXT, TWO.text, ONE.text]
    assert table["moves"].tolist()[1:] == ["“not” deleted, “good” replaced by “bad”", "“not” deleted"]
    assert table["probability:positive"].tolist() == [0.1, 0.7, 0.8] and set(table["verdict"]) == {"proven"}


def example(text, label="positive"):
    return CounterExample(text, text, label, "=note", "ann", "sentence?text=x", "2026-01-31T12:00:00+00:00")


GUESSES = [("negative", 0.25, True), ("positive", 0.75, False), ("positive", None, None)]
SHOWN = counterfactuals.ClassList(
    [example("not bad"), example("=1+1"), example("fine", "so so")],
    {"one": [ExamplePrediction(*each) for each in GUESSES]},
    "one",
    3,
)


def test_note_counts_wrong_examples_and_the_csv_can_be_trained_on():
    assert (
        counterfactuals.COUNTER_EXAMPLES.resolve_text(counterfactuals.COUNTER_EXAMPLES.note, SHOWN)
        == "3 saved · one gets 1 of 2 wrong today"
    )
    drawn = counterfactuals.COUNTER_EXAMPLES.draw(SHOWN, Look()).rows
    assert list(drawn["one"]) == ["✕ negative, 0.25", "✓ positive, 0.75", "– positive"]
    assert list(drawn["time"]) == ["2026-01-31"] * 3
    table = counterfactuals.build_examples_table(SHOWN)
    assert list(table)[:3] == ["text", "label", "note"] and list(table["one, P(label)"])[:2] == [0.25, 0.75]
    assert "'=1+1,positive,'=note" in format_csv(table)


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("sentence?run=one&text=a%20b", "sentence?run=one&text=a%20b"),
        ("/base/sentence?run=one", "sentence?run=one"),
        ("https://host:8501/sentence?run=one#x", "sentence?run=one"),
        *(
            (link, "")
            for link in ("javascript:alert(1)//sentence?x", "data:text/html,<script>/sentence?x", "", "sentence")
        ),
        *((link, "") for link in ("//[broken/sentence?x", "https://elsewhere/other?x=1")),
    ],
)
def test_only_links_into_the_dashboard_are_shown_as_links(link, shown):
    assert counterfactuals.get_page_link(link) == shown
