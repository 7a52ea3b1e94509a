import io
import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from answering import answering, right_where, texts
from refused import check_raises

from core.error_analysis.annotation_files import describe_interface, format_annotations, import_file
from core.error_analysis.codebook import Codes
from core.error_analysis.predictions_table import read_table
from core.exceptions import DataError, InputError
from core.runs.store import RunStore


@pytest.fixture
def table(tmp_path):
    store, labels = RunStore(tmp_path / "runs"), np.arange(6) % 2
    rows = texts(labels, desk=[f"d{n}" for n in range(6)])
    answering(store, "one", right_where(labels > 0, labels), rows, data__name="reviews.csv")
    return read_table(store, "one")


@pytest.fixture
def codes(tmp_path, table):
    made, keys = Codes(tmp_path / "runs", "reviews.csv"), table.frame["key"]
    for name in ("irony; mild", "label"):
        made.add_code(name.replace(";", ","))
    made.give_codes([keys[0]], ["irony, mild", "label"], author="ann", run="one")
    made.give_codes([keys[0]], ["label"], author="ben", run="one")
    made.write_note(keys[1], 'says "no",\ntwice', author="ann")
    return made


def export(table, codes, name):
    return format_annotations(table, [True] * len(table), codes, codes.read_annotations(), name)


def list_annotations(codes):
    said = codes.read_annotations()
    return said.given, said.notes


@pytest.mark.parametrize("name", ["out.json", "out.parquet", "out.csv"])
def test_annotations_come_back_equal(tmp_path, table, codes, name):
    content, before = export(table, codes, name), list_annotations(codes)
    (tmp_path / name).write_bytes(content)
    fresh = Codes(tmp_path / "other", "reviews.csv")
    assert import_file(fresh, table, tmp_path / name)["rows"] == 3 and list_annotations(fresh) == before
    assert import_file(codes, table, tmp_path / name)["rows"] == 3 and list_annotations(codes) == before


def test_a_task_has_data_prediction_and_annotations(table, codes):
    tasks = json.loads(export(table, codes, "out.json"))
    assert [task["data"]["key"] for task in tasks] == table.frame["key"].tolist() and tasks[2]["data"]["desk"] == "d2"
    assert tasks[2]["annotations"] == []
    guess = tasks[0]["predictions"][0]
    assert guess["model_version"] == "one" and guess["score"] == table.frame["p_predicted"][0]
    assert guess["result"][0]["value"] == {"choices": [table.frame["predicted"][0]]}
    said = [{each["from_name"]: each["value"] for each in one["result"]} for one in tasks[0]["annotations"]]
    assert said[0] == {"codes": {"choices": ["irony, mild", "label"]}, "author": {"text": ["ann"]}}
    assert [each["author"]["text"] for each in said] == [["ann"], ["ben"]]


def test_a_file_of_label_studio_itself_is_read(tmp_path, table, codes):
    key = table.frame["key"][3]
    given = {"from_name": "codes", "to_name": "text", "type": "choices", "value": {"choices": ["label"]}}
    note = {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": "one line"}}
    done = {"id": 7, "completed_by": {"id": 1, "email": "eve@here.org"}, "result": [given, note], "lead_time": 3.1}
    done["updated_at"] = "2099-01-01T00:00:00.000000Z"
    task = {"id": 1, "data": {"key": key, "text": "x"}, "annotations": [done, {"was_cancelled": True, "result": []}]}
    (tmp_path / "in.json").write_text(json.dumps([task]))
    assert import_file(codes, table, tmp_path / "in.json") == {"codes": 0, "rows": 1, "added": []}
    assert codes.read_annotations().given[key] == {"eve@here.org": ("label",)}
    assert codes.read_annotations().notes[key] == {"eve@here.org": "one line"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "a list of tasks"),
        ("[1", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('[{"data": {"text": "x"}}]', "row 1, field 'data.key': the task has no text under data.key"),
        ('[{"data": {"key": "k"}, "annotations": 3}]', "it has to be a list"),
        ('[{"data": {"key": "k"}, "annotations": [{}]}]', "needs a list under result"),
        ('[{"data": {"key": "k"}, "annotations": [{"result": [{"value": {"choices": [1]}}]}]}]', "have to be texts"),
    ],
)
def test_another_json_is_refused(tmp_path, table, codes, content, said):
    (tmp_path / "in.json").write_text(content)
    check_raises(DataError, said, import_file, codes, table, tmp_path / "in.json")


def test_the_ending_says_the_format(table, codes):
    check_raises(InputError, "a name that ends in .csv, .parquet, .json", export, table, codes, "out.xml")
    frame = pd.read_parquet(io.BytesIO(export(table, codes, "out.parquet")))
    assert frame["codes"].tolist()[:3] == ["irony, mild; label", "label", ""]


def test_the_interface_is_xml_with_all_choices():
    view = ElementTree.fromstring(describe_interface(["bad", "good"], ['a "quoted" & <b>']))
    assert [each.get("name") for each in view] == ["text", "label", "codes", "note", "author"]
    assert [each.get("value") for each in view.iter("Choice")] == ["bad", "good", 'a "quoted" & <b>']
