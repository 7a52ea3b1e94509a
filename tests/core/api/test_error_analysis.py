import json

import numpy as np
import pandas as pd
import pytest
from answering import answering, right_where, texts

from core.api.public_classes import Run
from core.error_analysis.tags import ABOUT
from core.runs.store import RunStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with runs: one with three errors, one with none, one of twenty classes."""
    folder = tmp_path_factory.mktemp("failures")
    store = RunStore(folder / "runs")
    labels, right = np.arange(40) % 2, np.arange(40) >= 3
    rows = texts(labels, id=[f"t-{n}" for n in range(40)], note=["=1+1"] * 40)
    answering(store, "three", right_where(right, labels), rows)
    answering(store, "none", right_where(np.ones(40, bool), labels), rows)
    answering(store, "one", right_where(np.arange(40) > 4, labels), texts(labels))
    names = tuple(f"class {n}" for n in range(20))
    answering(store, "twenty", np.roll(np.eye(20), 1, 0), texts(np.arange(20)), classes=names)
    several = pd.DataFrame({"text": ["one", "not two", "three"], "label": [(0, 1), (), (1,)]})
    answering(store, "several", [[0.9, 0.3], [0.1, 0.8], [0.2, 0.9]], several, classes=("late", "loud"))
    one = right_where(np.arange(40) > 9, np.zeros(40, int))
    answering(store, "one-class", one, texts(np.zeros(40, int), source=["web"] * 40))
    labels = np.arange(200) % 2
    right = np.where(np.arange(200) < 50, np.arange(200) >= 30, np.arange(200) >= 70)
    said = [f"this is {'not' * (n < 50)} text {n}{' again' * (not right[n])}" for n in range(200)]
    answering(store, "tagged", right_where(right, labels, 0.55), texts(labels).assign(text=said), data__name="sst2")
    return folder


def test_errors_have_labels_and_predictions_and_an_empty_selection_has_zeros(cli):
    lines = cli.lines("errors", "three")
    assert lines[0] == "three on built-in, test: 3 errors, 7.5 % (2.6 to 19.9 %)."
    assert lines[1] == "3 of 40 sentences: wrong." and lines[3].endswith("bad good 0.900 0.800 text 0")
    found = cli.json("errors", "none")
    assert found["said"] == "All 40 sentences are right." and found["rows"] == []
    assert found["selected"] == {"n": 0, "wrong": 0, "rate": 0.0, "interval": [0.0, 1.0], "share": 0.0}
    code, out, _ = cli("errors", "three", "--where", "text~nobody says this")
    assert code == 0 and "No sentence is left of 40 sentences: text~nobody says this. Take a clause out." in out
    code, out, _ = cli("errors", "three", "--label-errors")
    assert code == 0 and "No label is doubted: the data of run 'three' have changed since it was trained." in out
    assert cli("errors", "three", "--where", "text~\udcff", "--json")[0] == 0


def test_old_filter_names_select_the_same_rows(cli):
    old = cli.json("errors", "three", "--where", "truth=good", "--where", "p_said>0.5", "--where", "said!=good")
    assert old == cli.json(
        "errors", "three", "--where", "true=good", "--where", "p_predicted>0.5", "--where=predicted!=good"
    )
    assert old["where"] == ["true=good", "p_predicted>0.5", "predicted!=good"] and old["selected"]["n"] == 1
    [kept] = cli.json("slices", "twenty", "--save", "first", "--where", "truth=class 1")["slices"]
    assert kept["select"] == "true=class 1" and kept["n"] == 1
    assert cli.json("slices", "twenty", "--rm", "first")["slices"] == []


def test_json_and_csv_have_the_same_rows(cli, place):
    found = cli.json("errors", "three", "--where", "wrong", "--where", "true=good", "--csv", "x.csv")
    whole = {"n": 1, "wrong": 1, "rate": 1.0, "interval": [pytest.approx(0.2065, abs=1e-4), 1.0], "share": 0.025}
    assert found["selected"] == whole and found["own"] == ["id", "note"] and found["rows"][0]["id"] == "t-1"
    written = pd.read_csv(place / "x.csv")
    assert written["id"].tolist() == ["t-1"] and written["note"].tolist() == ["'=1+1"]
    assert written["key"].tolist() == [found["rows"][0]["key"]]


def test_tags_are_sorted_by_excess_errors_and_select_rows(cli, place):
    found = cli.json("errors", "tagged", "--tags", "--csv", "tags.csv")
    by_name = {row["tag"]: row for row in found["tags"]}
    assert found["tags"][0]["tag"] == "negation"
    assert (by_name["negation"]["n"], by_name["negation"]["wrong"], by_name["negation"]["selected"]) == (50, 30, 30)
    assert by_name["negation"]["ratio"] == pytest.approx((30 / 50) / (20 / 150)) and by_name["negation"]["differs"]
    assert set(by_name).isdisjoint(found["absent"]) and "--against" in found["absent"]["models disagree"]
    assert sum("negation" in row["tags"] for row in found["rows"]) == 30
    assert pd.read_csv(place / "tags.csv")["tag:negation"].sum() == 30
    first = found["words"][0]
    assert (first["words"], first["selected"], first["rest"]) == ("again", 50, 0)
    assert found["marks"][0]["name"] == "negation" and "sure and wrong" not in {each["name"] for each in found["marks"]}
    found = cli.json("errors", "tagged", "--where", "tag=negation", "--where", "right")
    assert found["selected"]["n"] == 20 and "tags" not in found
    lines = cli.lines("errors", "tagged", "--tags")
    assert any(line.startswith("negation 50 30 60.0 % +23.3 4.50 2.") and line.endswith("< 0.001") for line in lines)
    assert any(line.startswith("negation 0.4") and line.endswith("yes 60 % 13 % < 0.001") for line in lines)
    assert any(line.startswith("No text has: ") and "question, capitals" in line for line in lines)


@pytest.mark.parametrize(("run", "wrong"), [("none", 0), ("one-class", 10), ("several", 2), ("twenty", 20)])
def test_tags_exist_without_errors_and_for_one_several_or_twenty_classes(cli, run, wrong):
    found = cli.json("errors", run, "--tags")
    assert found["wrong"] == len(found["rows"]) == wrong
    assert {row["tag"] for row in found["tags"]} | set(found["absent"]) == set(ABOUT)
    assert all(row["wrong"] <= wrong and row["n"] + row["rest"]["n"] == found["n"] for row in found["tags"])
    assert cli("errors", run, "--tags")[0] == cli("errors", run, "--tags", "--where", "text~nobody says this")[0] == 0


def test_python_accepts_a_single_rule_and_rows_follow_the_chosen_order(place, cli):
    run = Run("three", RunStore(place / "runs"))
    assert run.errors(where="all")["selected"]["n"] == 40
    assert run.errors(where="wrong", against="none")["selected"]["n"] == 3
    rows = cli.json(*("errors", "twenty", "--where", "all", "--order", "margin", "--csv", "ordered.csv"))["rows"]
    assert [row["key"] for row in rows] == pd.read_csv(place / "ordered.csv")["key"].tolist()
    assert (margins := [row["margin"] for row in rows]) == sorted(margins)


def test_slices_are_saved_listed_used_and_removed(cli, place):
    assert cli("slices", "three")[1] == "No slice of built-in yet; --save NAME --where CLAUSE keeps one.\n"
    [one] = cli.json("slices", "three", "--save", "bad ones", "--where", "true=bad")["slices"]
    assert (one["n"], one["wrong"], one["where"], one["said"]) == (20, 2, ["true=bad"], "label bad")
    inside = cli.json("errors", "three", "--slice", "bad ones", "--where", "wrong")
    assert inside["where"] == ["true=bad", "wrong"] and [row["true"] for row in inside["rows"]] == ["bad", "bad"]
    assert cli.json("errors", "three", "--slice", "bad ones")["selected"]["n"] == 20
    assert one["lacks"].startswith("No sentence of it is good, so its recall is undefined.")
    printed = " ".join(cli("slices", "three")[1].split())
    low, high = one["intervals"]["f1_macro"]
    assert f"20 10.0 % 2.8 to 30.1 +5.0 0.474 ({low:.3f} to {high:.3f}) label bad" in printed
    assert f"bad ones: {one['lacks']}" in printed
    assert "three bad" in cli("slices", "three", "--rename", "bad ones", "three bad")[1]
    assert cli("slices", "three", "--rename", "bad ones", "x")[0] == 2
    Run("three", RunStore(place / "runs")).slices(rename=("three bad", "bad ones"))
    assert cli("slices", "three", "--rm", "bad ones")[0] == 0
    assert Run("three", RunStore(place / "runs")).slices()["slices"] == []


def test_report_is_one_json_object_and_a_file(cli, tmp_path):
    file = tmp_path / "one.html"
    code, out, err = cli("report", "one", "--to", str(file), "--json")
    assert code == 0, err
    said = json.loads(out)
    assert said["file"] == str(file) and said["bytes"] == file.stat().st_size
    assert (said["kind"], said["runs"], said["split"], said["n"], said["texts"]) == ("run", ["one"], "test", 40, True)
    assert said["command"] == "sentiscope report one" and said["command"] in file.read_text()
    assert "drawing" in err and "roc" in said["figures"] and "labels" in said["left_out"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("errors", "three", "--order", "shortest"), "no order shortest; there are sure, wrong, margin, unsure, file"),
        (("errors", "three", "--csv", "/dev/null"), "not a file"),
        (("errors", "three", "--against", "nosuch"), "nosuch"),
        (("errors", "three", "--tags", "--against", "twenty"), "cannot be compared"),
        (("slices", "three", "--where", "wrong"), "name it with --save NAME"),
        (("slices", "three", "--rm", "nobody"), "no slice nobody of the data of run 'three'"),
        (("slices", "three", "--save", "x", "--where", "ids:0123456789abcdef"), "are not stored here"),
        (("report", "gone"), "gone"),
        (("report", "one", "--split", "dev"), "no predictions of a split 'dev'"),
        (("report", "one", "--to", "/no/such/folder/one.html"), "no such folder"),
    ],
)
def test_wrong_input_gives_an_error_sentence_and_saves_no_slice(cli, place, arguments, said):
    cli.refused(said, *arguments)
    assert Run("three", RunStore(place / "runs")).slices()["slices"] == []
