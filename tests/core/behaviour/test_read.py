"""Suites as files: what is no suite is refused with the line or the field; a table is one too."""

from __future__ import annotations

import pytest

from core.behaviour.read import LARGEST, parse, read_suite
from core.exceptions import DataError

ONE = "  - {name: one, capability: c, kind: minimum, expected: positive, texts: [x]}\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a suite has a name and tests"),
        (b"- a\n- b\n", "a suite has a name and tests"),
        (b"tests: [{}]", "the field name is missing"),
        (b"name: a\ntests: []", "tests is []: a list of length at least 1"),
        (b"name: a\nname: b\ntests: []", "line 2: name stands here twice"),
        (b"name: a\n\ttests: []", "line 2:"),
        (b"name: [a\n", "line 2:"),
        (b"name: &x a\ntests: [*x, *x]", "line 2: aliases (*x) are not read"),
        (b"name: !!python/object/apply:os.getcwd []\ntests: []", "could not determine a constructor"),
        (b"name: \xff\n", "it is not UTF-8"),
        (f"name: a\ntests:\n{ONE}{ONE}".encode(), "two tests are called 'one'"),
        (b"name: a\ntests:\n  - {capability: c}\n", "test 1: the field name is missing"),
        (b"name: a\nother: b\ntests:\n  - {}\n", "unknown field `other`"),
        (b"name: " + b"[" * 2000 + b"]" * 2000, "nested more than 64 deep"),
    ],
)
def test_what_is_no_suite_is_refused_with_its_file_and_place(content, said):
    with pytest.raises(DataError) as told:
        parse(content, "my.yaml")
    assert str(told.value).startswith("my.yaml: ") and said in str(told.value)


def test_a_suite_of_too_many_cases_is_refused_before_it_is_asked(monkeypatch):
    monkeypatch.setattr("core.behaviour.suite.MOST_CASES", 1)
    two = ONE.replace("texts: [x]", "texts: [x, y]")
    with pytest.raises(DataError, match="it comes to 2 cases, at most 1 are asked; lower `most`"):
        parse(f"name: a\ntests:\n{two}".encode(), "my.yaml")


def test_a_file_is_read_by_its_ending(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(f"name: a\ntests:\n{ONE}")
    assert read_suite(str(path)).texts == ("x",)
    path.write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(DataError, match=r"my.yaml: it has 2 MB, and at most 2 MB are read"):
        read_suite(str(path))
    with pytest.raises(DataError, match="no such file"):
        read_suite(str(tmp_path / "none.yaml"))


def table(tmp_path, rows, head="text,test,capability,expected,group"):
    path = tmp_path / "my.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return read_suite(str(path))


def test_a_table_is_a_suite_and_its_groups_are_contrast_sets(tmp_path):
    rows = [
        "It is fine,not,negation,Positive,1",
        "It is not fine,not,negation,negative|neutral,1",
        "Ok,plain,words,positive,",
    ]
    suite = table(tmp_path, rows)
    assert [(test.name, test.capability, test.kind) for test in suite.tests] == [
        ("not", "negation", "minimum"),
        ("plain", "words", "minimum"),
    ]
    first, second = suite.tests[0].cases
    assert first.group == second.group == "not 1" and second.expected == ("negative", "neutral")
    assert suite.tests[1].cases[0].group == ""


def test_rows_of_a_group_without_an_answer_must_be_answered_alike(tmp_path):
    rows = [
        "It is fine,case,robust,a",
        "IT IS FINE,case,robust,a",
        "it is fine,case,robust,a",
        "b1,case,robust,b",
        "b2,case,robust,b",
    ]
    [test] = table(tmp_path, rows, "text,test,capability,group").tests
    assert test.kind == "invariance"
    assert [case.texts for case in test.cases] == [("It is fine", "IT IS FINE", "it is fine"), ("b1", "b2")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["x,,c,positive,", "y,t,c,positive,"], "my.csv, row 1, field 'test': the cell is empty"),
        (["x,t,c,happy,", "y,t,c,positive,"], "my.csv, row 1, field 'expected': 'happy' is no answer"),
        (["x,t,c,positive,", "y,t,d,positive,"], "row 2, field 'capability': test 't' is of 'c' in an earlier row"),
        (["x,t,c,positive,", "y,t,c,,g"], "row 2, field 'expected': test 't' expects an answer in other rows"),
        (["x,t,c,,g", "y,t,c,,h"], "row 1, field 'group': group 'g' of test 't' needs two different texts"),
        (["x,t,c,,g", "y,t,c,,"], "row 2: test 't' has neither expected nor group here"),
    ],
)
def test_a_row_that_cannot_be_asked_is_named(tmp_path, rows, said):
    with pytest.raises(DataError) as told:
        table(tmp_path, rows)
    assert said in str(told.value)


def test_a_table_of_another_kind_is_refused_with_the_columns_that_a_suite_has(tmp_path):
    with pytest.raises(
        DataError, match=r"has the columns text, test, capability, expected or group; found text, label"
    ):
        table(tmp_path, ["x,1", "y,0"], "text,label")
