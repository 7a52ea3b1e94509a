import dataclasses
import json

import pandas as pd

from core.data import sandbox
from core.data.card import check_dataset
from core.data.config import DataConfig


def frame(count):
    return pd.DataFrame({"text": [f"text {n}" for n in range(count)], "label": ["no", "yes"] * (count // 2)})


def test_good_files_are_read_once_and_reported_like_inspections(tmp_path, monkeypatch):
    frame(40).to_csv(tmp_path / "a.csv", index=False)
    result = check_dataset(DataConfig(name=str(tmp_path / "a.csv")))
    assert json.loads(json.dumps(result))["files"][0]["columns"][1]["name"] == "label"
    assert result["ok"] and result["problem"] == ""
    assert result["splits"] == {"train": 32, "validation": 4, "test": 4} and result["classes"] == ["no", "yes"]
    message = "only 40 rows: scores will vary widely"
    assert result["files"][0]["findings"] == ({"kind": "small", "level": "warning", "count": 40, "message": message},)
    path = tmp_path / "a.csv"
    frame(40).assign(other=["x", "y"] * 20).to_csv(path, index=False)
    config = DataConfig(name=str(path))
    inspected, asked = dataclasses.asdict(sandbox.inspect_file(path, config.get_read_settings())), []
    ask = sandbox._run_request
    monkeypatch.setattr(sandbox, "_run_request", lambda *request: asked.append(request) or ask(*request))
    assert check_dataset(config)["files"] == [inspected] and len(asked) == 1


def test_decisions_name_alternatives_and_their_setting(tmp_path):
    lines = ["id;Kommentar;Note;Ort", *(f'{n};"schön; Nummer {n}";{n % 5};{"AB"[n % 2]}' for n in range(40))]
    (tmp_path / "a.csv").write_bytes("\n".join(lines).encode("cp1252"))
    result = check_dataset(DataConfig(name=str(tmp_path / "a.csv")))
    found = {each["what"]: (each["chosen"], each["setting"], each["guessed"]) for each in result["decisions"]}
    assert found == {
        "encoding": ("latin-1", "data.encoding", True),
        "delimiter": (";", "data.delimiter", False),
        "quoting": ("double", "data.quoting", False),
        "header": ("yes", "data.header", False),
        "text": ("Kommentar", "data.text", False),
        "label": ("Ort", "data.label", True),
    }
    label = result["decisions"][-1]
    assert (label["alternatives"], label["proof"]) == (("Note",), "A (20), B (20)")
    assert result["decisions"] == [{**each, "file": "a.csv"} for each in result["files"][0]["decisions"]]
    for each in result["decisions"]:
        assert each["proof"]
    other = check_dataset(DataConfig(name=str(tmp_path / "a.csv"), label="Note"))
    assert other["classes"] == list("01234") and not other["decisions"][-1]["guessed"]


def test_bad_and_missing_files_are_reported_with_their_problem(tmp_path):
    frame(40).assign(label="yes").to_csv(tmp_path / "a.csv", index=False)
    result = check_dataset(DataConfig(name=str(tmp_path / "a.csv"), label="label"))
    assert not result["ok"] and "every row has the label 'yes'" in result["problem"]
    assert result["files"][0]["problem"] == result["problem"]
    result = check_dataset(DataConfig(name="/no/such/file.csv"))
    assert result["problem"] == "/no/such/file.csv: no such file" and result["files"] == []


def test_every_split_of_a_folder_is_reported(tmp_path):
    for name, count in (("train", 40), ("dev", 10)):
        frame(count).to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    result = check_dataset(DataConfig(name=str(tmp_path)))
    assert [report["file"] for report in result["files"]] == ["train.jsonl", "dev.jsonl"]
    assert result["splits"] == {"train": 40, "validation": 5, "test": 5}
