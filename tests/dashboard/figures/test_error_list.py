"""The list and the reader: rows that are sent, their details, and empty lists."""

import numpy as np
import pandas as pd
import pytest
from answering import answering, code_rows, right_where, texts

from core.error_analysis.codebook import Codes, draw_sample, get_data_name, list_draws
from core.error_analysis.neighbors import TrainingNeighbor
from core.evaluation.intervals import compute_wilson
from core.formatting import format_csv
from core.interpret.attribution import DeletionAttribution
from core.runs.store import RunStore
from dashboard.figures import error_list
from dashboard.figures.row_selection import apply_query, make_facts
from dashboard.figures.theme import LIGHT, Look

KEYS = [f"k{n:02}" for n in range(20)]


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


def reading(store, select="wrong", **given):
    """Of the run `one`."""
    return error_list.SentenceList(apply_query(make_facts(store, store.read("one"), "test"), select, store), **given)


def drawn(shown):
    return error_list.ERRORS.draw(shown, Look()).data


def test_surest_errors_come_first_and_data_columns_are_shown(store):
    labels = np.arange(6) % 2
    sure = np.array([0.6, 0.9, 0.7, 0.8, 0.95, 0.85])
    rows = texts(labels, id=[f"id {row}" for row in range(6)], likes=[1.0, 2.5, None, 4, 5, 6], old=[False] * 6)
    answering(store, "one", right_where(np.arange(6) == 4, labels, sure), rows)
    data = drawn(reading(store))
    assert [row["text"] for row in data["rows"]] == ["text 1", "text 5", "text 3", "text 2", "text 0"]
    assert (
        data["rows"][0]["own"] == "id: id 1 · likes: 2.5 · old: no" and data["rows"][3]["own"] == "id: id 2 · old: no"
    )
    first = data["rows"][0]
    assert (first["true"], first["predicted"], first["p"], first["wrong"]) == ("good", "bad", 0.9, True)
    assert first["chances"] == [("bad", 0.9), ("good", 0.1)]


@pytest.mark.slow
def test_long_list_is_sent_in_part_around_the_open_row(store):
    labels = np.arange(1000) % 2
    answering(store, "one", right_where(np.zeros(1000, bool), labels), texts(labels))
    shown = reading(store)
    data = drawn(shown)
    assert len(data["rows"]) == error_list.SENT
    assert (data["start"], data["total"], data["many"]) == (0, 1000, "1\u202f000")
    every = shown.analysis.table.frame["key"].to_numpy()[shown.analysis.places]
    for at, start in ((0, 0), (199, 0), (200, 100), (299, 100), (700, 600), (999, 700)):
        data = drawn(reading(store, at=every[at]))
        sent = [row["key"] for row in data["rows"]]
        assert data["start"] == start and sent == every[start : start + error_list.SENT].tolist()
    asked = reading(store, at=every[0], around=300)
    assert asked.start == 200 and asked.shown.tolist() == shown.analysis.places[200:500].tolist()
    assert len(error_list.build_sentences_table(shown)) == 1000


@pytest.mark.slow
def test_table_has_codes_and_notes_if_given_and_escapes_formulas(store):
    labels = np.arange(4) % 2
    answering(store, "one", right_where(np.zeros(4, bool), labels), texts(labels, note=list("wxyz")))
    plain = error_list.build_sentences_table(reading(store))
    assert "codes" not in plain and sorted(plain["note"]) == list("wxyz"), "own columns keep their names"
    codes = Codes(store.folder, get_data_name(store.read("one")))
    first, second, *_ = plain["key"]
    for name in ("irony", "label"):
        codes.add_code(name)
    code_rows(codes, [first], ["label", "irony"])
    codes.write_note(first, "=1+1")
    code_rows(codes, [second], ["irony"], author="Ada")
    codes.write_note(second, "sarcastic", author="Ada")
    codes.write_note(second, "not at all", author="Ben")
    table = error_list.build_sentences_table(reading(store)).set_index("key")
    assert table["codes"].tolist() == ["irony; label", "irony", "", ""]
    assert table["note"].tolist() == ["=1+1", "Ada: sarcastic\nBen: not at all", "", ""]
    assert sorted(table["data:note"]) == list("wxyz") and "'=1+1" in format_csv(table)
    seen = error_list.build_sentences_table(reading(store), codes.read_annotations("Ben"))
    assert seen["codes"].tolist() == [""] * 4, "what others coded is hidden until Ben has coded it"


def test_twenty_classes_show_the_likeliest_and_both_classes_of_the_error(store):
    classes = tuple(f"class {number:02}" for number in range(20))
    chances = np.full((1, 20), 0.01)
    chances[0, [3, 4, 5]] = 0.4, 0.25, 0.18
    answering(store, "one", chances, texts([19]), classes=classes)
    chances = drawn(reading(store))["rows"][0]["chances"]
    assert [name for name, _ in chances] == ["class 03", "class 04", "class 05", "class 19", "16 others"]
    assert sum(p for _, p in chances) == pytest.approx(1.0)


def test_several_labels_list_missed_and_invented_ones(store):
    rows = pd.DataFrame({"text": ["one", "two"], "label": [(0, 1), ()]})
    answering(store, "one", [[0.9, 0.3], [0.1, 0.8]], rows, classes=("late", "loud"))
    data = drawn(reading(store))
    found = [(row["missed"], row["invented"]) for row in data["rows"]]
    assert data["several"] and found == [("", "loud"), ("loud", "")]
    record = store.read("one")
    given = ("", "loud"), ("", "", "late"), ("late",)
    assert [error_list.choose_target(record, *each) for each in given] == ["loud", "late", ""]


def test_no_errors_and_no_rows_have_different_messages(store):
    labels = np.arange(40) % 2
    answering(store, "one", right_where(np.ones(40, bool), labels), texts(labels))
    assert drawn(reading(store))["empty"][0] == "All 40 are right"
    assert drawn(reading(store, "text~nothing of the kind"))["empty"][0] == "No sentence is left"


def test_words_are_colored_by_effect_and_neighbors_are_listed(store):
    answering(store, "one", [[0.2, 0.8]], texts([0]), classes=("negative", "positive"))
    key = reading(store).analysis.table.frame["key"].iat[0]
    pushed = DeletionAttribution("positive", ("not", "good"), (-2.0, 1.0), (False, True))
    near, same = [TrainingNeighbor("so good", "positive", "words", 0.51239)], {"negative": 2, "positive": 1}
    detail = error_list.Detail(pushed, near, same, among="of 2 drawn from 9")
    said = drawn(reading(store, details={key: detail}))["details"][key]
    assert [word["colour"] for word in said["words"]] == [LIGHT.minus_scale[5], LIGHT.plus_scale[2]]
    about = ["effect −2.00 towards positive", "effect +1.00 towards positive, not in the vocabulary"]
    assert [word["about"] for word in said["words"]] == about and said["ends"] == ["towards negative", "positive"]
    assert said["near"] == [["so good", "positive", "words", 0.512]] and said["among"] == "of 2 drawn from 9"
    assert said["double"] == "The same text is in training as negative (2) and positive (1)."


@pytest.fixture
def codes(tmp_path):
    found = Codes(tmp_path, "reviews")
    for name in ("irony", "label"):
        found.add_code(name, f"what {name} is")
    return found


def shape(codes, author, keys=KEYS):
    return error_list.count_codes(codes.read_annotations().filter_visible(author), author, keys, list_draws(codes))


def test_half_coded_sample_has_counts_and_complete_one_has_shares(codes):
    made = draw_sample(codes, KEYS, 8, 0, "wrong")
    code_rows(codes, made.keys[:6], ["irony"], author="ann")
    half = shape(codes, "ann")
    assert error_list.describe_coding(half).startswith("6 of 8 coded, a random sample of 20")
    assert [column.key for column in error_list.build_codes_table(half).marks.columns] == ["code", "n"]
    code_rows(codes, made.keys[6:], ["label"], author="ann")
    table = error_list.build_codes_table(shape(codes, "ann")).marks
    first = table.rows[0].cells
    assert [row.id for row in table.rows] == ["irony", "label"] and first["share"] == "0.75"
    code_rows(codes, [key for key in KEYS if key not in made.keys][:5], ["label"], author="ann")
    beyond = error_list.build_codes_table(shape(codes, "ann")).marks.rows
    shares = [("irony", "6", "0.75"), ("label", "2", "0.25")]  # n counts the rows of the share
    assert [(row.id, row.cells["n"], row.cells["share"]) for row in beyond] == shares
    assert (first["mark"].low, first["mark"].high) == compute_wilson(6, 8) and first["code"].title == "what irony is"


def test_annotators_see_other_codes_row_by_row_and_an_empty_codebook_has_no_rows(codes, tmp_path):
    code_rows(codes, KEYS, ["irony"], author="ann")
    code_rows(codes, KEYS[:2], ["label"], author="ben")
    assert shape(codes, "carl").found["coded"] == 0 and shape(codes, "").found["coded"] == 20
    code_rows(codes, KEYS[2:4], ["irony"], author="ben")
    some = shape(codes, "ben")
    assert some.found["coded"] == 4 and some.pair["n"] == 4 and some.pair["same"] == 2
    assert "κ with ann 0.00" in error_list.describe_coding(some)
    assert len(some.pair["apart"]) == 2, "of the four that both have coded"
    assert error_list.build_codes_table(shape(Codes(tmp_path, "other"), "")).marks.rows == ()
    none = shape(codes, "", [])
    assert error_list.describe_coding(none) == "No row is selected"
    assert [row.cells["n"] for row in error_list.build_codes_table(none).marks.rows] == ["0", "0"]
