import dataclasses
import json

import pandas as pd
import pytest

from core.data import sandbox
from core.data.card import build_card, check_dataset, count_duplicates
from core.data.config import DataConfig
from core.data.dataset import Dataset
from core.text.config import TextConfig


def rows(*pairs, **columns):
    return pd.DataFrame({"text": [t for t, _ in pairs], "label": [n for _, n in pairs], **columns})


@pytest.fixture(scope="module")
def dataset():
    train = rows(*[("good day", 1), ("bad day", 0)] * 8, ("a long good day out here", 1), ("bad day", 1))
    test = rows(("good day", 1), ("LONG good", 1), ("awful day", 0), ("bad", 0))
    test["phenomenon"] = ["plain", "plain", "new", "plain"]
    return Dataset("d", {"train": train, "test": test}, ("neg", "pos"), "f" * 64, language="en", notes=("one note",))


def test_the_card_is_plain_json_with_all_statistics(dataset):
    card = build_card(dataset, TextConfig(min_freq=1, max_length=4))
    assert json.loads(json.dumps(card)) == card
    assert (card["name"], card["language"], card["notes"], card["classes"]) == ("d", "en", ["one note"], ["neg", "pos"])
    assert card["yardstick"] is None and card["splits"]["train"]["rows"] == 18
    assert card["splits"]["train"]["classes"]["neg"] == {"rows": 8, "share": 8 / 18}
    assert card["splits"]["test"]["phenomena"] == {"plain": 3, "new": 1}
    assert "phenomena" not in card["splits"]["train"]
    assert card["vocabulary"] == {"size": 2 + 7, "max_length": 4, "tokenizer": "word"}
    assert card["splits"]["train"]["tokens"]["unknown_share"] == 0
    assert card["splits"]["test"]["tokens"]["unknown_share"] == 1 / 7
    tokens = card["splits"]["train"]["tokens"]
    assert tokens["longest"] == 6 and tokens["mean"] == pytest.approx((17 * 2 + 6) / 18)
    assert tokens["quantiles"]["0.5"] == 2 and sum(tokens["histogram"]["rows"]) == 18
    assert len(tokens["histogram"]["edges"]) == len(tokens["histogram"]["rows"]) + 1
    assert tokens["cut_texts_share"] == 1 / 18 and tokens["cut_tokens_share"] == 2 / 40


def test_duplicates_within_and_across_splits_and_phrases_are_counted(dataset):
    found = count_duplicates(dataset.splits, TextConfig())
    assert found["within"] == {"train": 15, "test": 0} and found["conflicting"] == 1
    assert found["from_train"] == {"test": {"rows": 1, "share": 0.25, "phrase_share": 0.75}}
    splits = {"train": rows(("the goodness of it", 1)), "test": rows(("good", 1), ("goodness  OF", 1), ("of the", 0))}
    assert count_duplicates(splits, TextConfig())["from_train"]["test"]["phrase_share"] == 1 / 3


TWEETS = {
    "train": rows(("@ann so GOOD!!! http://x.y", 1), ("so good", 1), ("bad 1", 0)),
    "test": rows(("so good", 1), ("so good 7 @bob", 0), ("So  good !!!", 1), ("awful", 0)),
}


@pytest.mark.parametrize(
    ("normaliser", "train", "test", "seen"),
    [("none", 0, 0, 1), ("lower", 0, 0, 1), ("tweet", 0, 0, 1), ("tweet-clean", 1, 2, 3)],
)
def test_cards_count_exact_and_normalized_duplicates(normaliser, train, test, seen):
    found = count_duplicates(TWEETS, TextConfig(normaliser=normaliser))
    assert (found["within"], found["from_train"]["test"]["rows"]) == ({"train": 0, "test": 0}, 1)
    read = found["as_read"]
    assert read["within"] == {"train": train, "test": test}
    assert read["from_train"]["test"] == {"rows": seen, "share": seen / 4}
    assert read["settings"]["normaliser"] == normaliser
    assert read["conflicting"] == (1 if normaliser == "tweet-clean" else 0)


def test_cards_of_multilabel_data_count_labels_and_labels_per_text():
    train = rows(("calm joy", (0, 1)), ("calm", (0,)), ("nothing", ()), ("calm", (0, 1)))
    dataset = Dataset("d", {"train": train, "test": train[:1]}, ("calm", "joy"), "f" * 64, task="multi")
    card = build_card(dataset, TextConfig(min_freq=1))
    assert json.loads(json.dumps(card)) == card
    found = card["splits"]["train"]
    assert found["classes"] == {"calm": {"rows": 3, "share": 0.75}, "joy": {"rows": 2, "share": 0.5}}
    assert found["labels"] == {"mean": 1.25, "rows": {"0": 1, "1": 1, "2": 2}}
    assert card["repeats"]["conflicting"] == 1


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
    assert {each["what"]: (each["chosen"], each["setting"], each["guessed"]) for each in result["decisions"]} == {
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


def test_bad_and_missing_files_and_every_split_of_a_folder_are_reported(tmp_path):
    frame(40).assign(label="yes").to_csv(tmp_path / "a.csv", index=False)
    result = check_dataset(DataConfig(name=str(tmp_path / "a.csv"), label="label"))
    assert not result["ok"] and "every row has the label 'yes'" in result["problem"]
    assert result["files"][0]["problem"] == result["problem"]
    result = check_dataset(DataConfig(name="/no/such/file.csv"))
    assert result["problem"] == "/no/such/file.csv: no such file" and result["files"] == []
    for name, count in (("train", 40), ("dev", 10)):
        frame(count).to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    result = check_dataset(DataConfig(name=str(tmp_path)))
    assert [report["file"] for report in result["files"]] == ["train.jsonl", "dev.jsonl"]
    assert result["splits"] == {"train": 40, "validation": 5, "test": 5}
