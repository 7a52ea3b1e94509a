"""The Data page: choosing a data set, viewing it, importing a file, and allowed folders."""

import json
from pathlib import Path

import pandas as pd
import pytest
from pages import named, opened, press, words
from pages import words as text_of
from trained_runs import write_splits

from core.api.data import Yardsticks
from core.config import from_dict
from core.data.config import DataConfig
from core.data.uploads import list_choices
from core.runs.store import RunStore
from dashboard import access, state
from dashboard.data import data

pytestmark = pytest.mark.slow

ROWS = [(f"{word} film number {n}", label) for label, word in (("pos", "good"), ("neg", "bad")) for n in range(20)]
CSV = ("review,verdict\n" + "\n".join(",".join(row) for row in ROWS)).encode()
LONGER = " with gears and valves that turn well"


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(access, "is_local", lambda: True)


def uploaded(app, name: str, content: bytes):
    """The page after a file upload; the small table avoids loading the built-in corpus."""
    opened(app, "data", data="caves", more="all")
    app.file_uploader[0].set_value((name, content, "text/csv")).run()
    return app


def test_pages_and_commands_hide_the_server_path_of_uploads(app, tmp_path):
    uploaded(app, "mine.csv", CSV)
    press(app, "use-data")
    choice = app.session_state[state.DATA]
    (stored,) = list_choices(access.get_library_folder())
    run = RunStore().create(from_dict({"data": {"name": stored.config.name}}), "vanilla")
    for page in ("train", "sweeps", "models", "runs"):
        app.switch_page(f"screens/{page}.py").run()
        assert app.session_state[state.DATA] == choice
        shown = text_of(app) + "".join(code.value for code in app.get("code"))
        shown += "".join(frame.value.to_csv() for frame in app.dataframe)
        assert str(tmp_path) not in shown, page
    assert run.config.data.name.startswith(str(tmp_path))


def chosen(app, label: str):
    return named(app.selectbox, label)


def can_be_used(app) -> bool:
    """Whether the shown file can be saved."""
    return "use-data" in [button.key for button in app.button]


def kept():
    """The only data set of the library."""
    (choice,) = list_choices(access.get_library_folder())
    return choice


def test_uploaded_file_is_inspected_confirmed_stored_and_selectable_everywhere(app, tmp_path):
    uploaded(app, "reviews.csv", CSV)
    assert chosen(app, "Text column").value == "review" and chosen(app, "Label column").value == "verdict"
    assert "2 classes: neg (20), pos (20)" in text_of(app)
    assert not (tmp_path / "runs").exists()  # nothing is stored before it is used
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Use this file"]
    assert "a new file" in text_of(app) and app.selectbox(key=state.DATA).disabled
    press(app, "use-data")
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Train on this"]
    choice = kept()
    assert Path(choice.config.name).read_bytes() == CSV and app.session_state[state.DATA] == choice.id
    shown = text_of(app)
    assert "reviews.csv" in shown and "n = 40" in shown and "Classes" in shown
    assert not app.selectbox(key=state.DATA).disabled and chosen(opened(app, "train"), "Data").value == choice.id


def test_training_on_a_stored_file_uses_all_confirmed_settings(app, tmp_path, monkeypatch):
    monkeypatch.setattr("core.runs.training_jobs.start", lambda store, run: store.read(run))
    content = "verdict;review\n" + "\n".join(f"{label};caf\u00e9 {text}" for text, label in ROWS)
    uploaded(app, "r.csv", content.encode("cp1252"))
    chosen(app, "Encoding").set_value("cp1252").run()
    chosen(app, "Delimiter").set_value("semicolon").run()
    press(app, "use-data")
    press(opened(app, "train"), "start")
    (record,) = RunStore().list()
    data = record.config.data
    assert (data.text, data.label, data.delimiter, data.encoding) == ("review", "verdict", ";", "cp1252")
    assert Path(data.name).is_relative_to(access.get_library_folder())


def test_header_like_first_row_can_be_declared_a_text(app):
    uploaded(app, "r.csv", b"title,good\n" + CSV.split(b"\n", 1)[1])
    assert "the first row names the columns" in text_of(app)
    chosen(app, "First row").set_value("data").run()
    assert "no column names, so columns are numbered" in text_of(app) and chosen(app, "Text column").value == "0"
    (preview,) = (each.value for each in app.dataframe if list(each.value.columns) == ["0", "1"])
    assert list(preview.iloc[0]) == ["title", "good"]
    chosen(app, "First row").set_value("names of columns").run()
    assert chosen(app, "Text column").value == "title"
    press(app, "use-data")
    assert kept().config.header == "yes"


def test_wrong_column_or_encoding_is_reported_and_another_is_inspected(app):
    uploaded(app, "r.csv", CSV.replace(b"good", "g\u00f6\u00f6d".encode()))
    chosen(app, "Label column").set_value("review").run()
    assert "cannot be both the text and the label" in text_of(app) and not can_be_used(app)
    chosen(app, "Label column").set_value("verdict").run()
    chosen(app, "Encoding").set_value("utf-16").run()
    assert "r.csv cannot be" in text_of(app)
    chosen(app, "Encoding").set_value("utf-8").run()
    assert "2 classes: neg (20), pos (20)" in text_of(app)


def test_another_table_of_a_file_can_be_chosen_and_stored(app):
    spans = [{"text": text, "label": [[0, 3, "X"]]} for text, _ in [*ROWS, *ROWS]]
    rows = [{"text": text, "label": label} for text, label in ROWS]
    uploaded(app, "r.json", json.dumps({"spans": spans, "reviews": rows}).encode())
    assert "r.json cannot be read this way" in text_of(app) and chosen(app, "Sheet").value == "spans"
    chosen(app, "Sheet").set_value("reviews").run()
    assert "2 classes: neg (20), pos (20)" in text_of(app)
    press(app, "use-data")
    assert kept().config.sheet == "reviews"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"review,verdict\n" + b"\n".join(f"film {n},good".encode() for n in range(40)), "“Label column” above"),
        (b"\x80\x04cposix\nsystem\n", "never opened"),
    ],
)
def test_unusable_file_is_refused_with_a_reason(app, tmp_path, content, words):
    assert words in text_of(uploaded(app, "r.csv", content))
    assert not can_be_used(app) and not (tmp_path / "runs").exists()


def test_file_name_is_escaped_and_cannot_leave_its_folder(app, tmp_path):
    uploaded(app, "../../<img src=x>.csv", CSV)
    assert "<img" not in text_of(press(app, "use-data"))
    assert {path.name for path in tmp_path.iterdir()} <= {"runs", "cache"}


def test_opened_text_shows_its_steps_and_tokens_escaped(app):
    uploaded(app, "r.csv", CSV.replace(b"bad film", b"<script>alert(1)</script>"))
    press(app, "use-data")
    app.session_state[state.TEXTS] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()
    assert "Tokenization" in text_of(app) and "original text" in text_of(app) and "<script" not in text_of(app)
    app.toggle(key=state.IDS).set_value(True).run()
    assert "<small>" in text_of(app) and "<script" not in text_of(app)


def test_link_restores_filters_and_page(app, table, tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split in ("train", "validation", "test"):
        (folder / f"{split}.csv").write_bytes(table.read_bytes())
    opened(app, "data", data=str(folder), part="test", find="WARM", more="all", **{"class": "positive"})
    shown = text_of(app)
    assert "Rows 1 to 10 of 10" in shown and "test, n = 80" in shown
    app.text_input(key=state.FIND).set_value("no such words").run()
    assert "No text matches" in text_of(app)


def test_missing_data_set_explains_how_to_get_it(app):
    assert "No download is known" in text_of(opened(app, "data", data="kornli"))


def test_remote_visitors_cannot_open_local_paths(app, table, tmp_path, monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: False)
    assert "is called" in text_of(opened(app, "data", data=str(table)))
    monkeypatch.setenv("SENTISCOPE_DATA", str(table.parent))
    app.run()
    assert "reviews.csv" in text_of(app) and can_be_used(app)


def test_path_is_inspected_first_and_its_baseline_measured_on_demand(app, table, monkeypatch):
    monkeypatch.setattr(Yardsticks, "start", Yardsticks.compute)
    assert "reviews.csv" in text_of(opened(app, "data", data=str(table), more="Baselines"))
    assert not list_choices(access.get_library_folder()) and "n = 80" in text_of(press(app, "use-data"))
    assert [each.config.name for each in list_choices(access.get_library_folder())] == [str(table.resolve())]
    app.button(key="measure").click().run(timeout=120)
    (shown,) = (frame.value for frame in app.dataframe if "accuracy" in frame.value.columns)
    assert shown["TF-IDF of"].unique().tolist() == ["words", "words and their parts"]
    assert not [button for button in app.button if button.key == "measure"]


def reviews(cell=lambda n: n % 2, more: str = "") -> bytes:
    """A Russian file of 40 rows in an old encoding; `more` extends the header, `cell` gives all other values."""
    lines = [f"запись,оценка{more}", *(f"скучный фильм номер {n},{cell(n)}" for n in range(40))]
    return "\n".join(lines).encode("cp1251")


def test_guess_about_a_file_shows_its_proof_and_one_button_changes_it(app):
    uploaded(app, "отзывы.csv", reviews(lambda n: f"{n % 5},{'АБ'[n % 2]}", ",город"))
    assert "Encoding: cp1251 (a guess). As read: скучный фильм номер 0,0,А" in text_of(app)
    assert "Label column: город (a guess). As read: А (20), Б (20)" in text_of(app)
    named(app.button, "Use оценка").click().run()
    assert chosen(app, "Label column").value == "оценка" and "5 classes: 0 (8)" in text_of(app)
    next(button for button in app.button if button.label.startswith("Use mac")).click().run()
    assert chosen(app, "Encoding").value == "mac-cyrillic"


def test_guess_about_a_folder_is_changed_by_one_button(app, tmp_path, monkeypatch):
    folder = tmp_path / "отзывы"
    for split in ("train", "test"):
        write_split(folder, split, reviews())
    monkeypatch.chdir(tmp_path)
    shown = text_of(opened(app, "data", data="отзывы", more="About"))
    assert "Encoding: cp1251 (a guess). As read: скучный фильм номер 0,0" in shown
    named(app.button, r"Use koi8\-r").click().run()
    choice = kept()
    assert choice.config.encoding == "koi8-r" and choice.config.name == str(folder)
    assert app.session_state[state.DATA] == choice.id
    assert "encoding: koi8-r" in text_of(app) and "(a guess)" not in text_of(app)


def test_failed_change_of_a_folder_keeps_the_data_set(app, tmp_path):
    for split, cities in (("train", "AB"), ("test", "CC")):
        rows = ["text,label,![x](city)", *(f"a fine day number {n},{n % 2},{cities[n % 2]}" for n in range(40))]
        write_split(tmp_path / "days", split, "\n".join(rows).encode())
    opened(app, "data", data=str(tmp_path / "days"))
    before = app.session_state[state.DATA]
    named(app.button, r"Use \!\[x\]\(city\)").click().run()
    assert "Nothing was changed" in text_of(app)
    assert app.session_state[state.DATA] == before and not list_choices(access.get_library_folder())


def write_split(folder: Path, split: str, content: bytes) -> None:
    """Write one split of a folder."""
    folder.mkdir(exist_ok=True)
    (folder / f"{split}.csv").write_bytes(content)


def test_user_choice_can_be_reset_to_the_detected_value(app):
    uploaded(app, "отзывы.csv", reviews(lambda n: "а;б" if n % 3 else "аб"[n % 2]))
    for name, label, word, other in (
        ("encoding", "Encoding", r"koi8\-r", "cp1251"),
        ("header", "First row", "data", "names of columns"),
        ("separator", "Several labels", "one label per cell", "semicolon"),
    ):
        use(app, name, word)
        assert {"as found", other} <= {each.label.removeprefix("Use ") for each in buttons(app, name)}
        use(app, name, "as found")
        assert chosen(app, label).value == "as found" and word not in {each.label for each in buttons(app, name)}


def test_choice_for_a_stored_file_can_be_reset(app):
    uploaded(app, "отзывы.csv", reviews())
    press(app, "use-data")
    before = app.session_state[state.DATA]
    use(app, "encoding", r"koi8\-r")
    assert app.session_state[state.DATA] != before
    use(app, "encoding", "as found")
    assert "Encoding: cp1251 (a guess)" in text_of(app) and "n = 40" in text_of(app)


def test_edited_text_in_a_class_folder_is_read_again(tmp_path):
    for n in range(40):
        path = tmp_path / "films" / ("pos", "neg")[n % 2] / f"{n}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"a film number {n}")
    config = DataConfig(name=str(tmp_path / "films"))
    before = data.load_dataset(config)
    assert data.load_dataset(config).fingerprint == before.fingerprint and data.get_loaded_dataset(config) is not None
    (tmp_path / "films" / "pos" / "0.txt").write_text("a play number 0")
    after = data.load_dataset(config)
    assert after.fingerprint != before.fingerprint
    assert "a play number 0" in set(pd.concat(after.splits.values())["text"])


def buttons(app, setting: str):
    """The buttons of the decisions about a setting."""
    return [button for button in app.button if (button.key or "").startswith(f"use-{setting}-")]


def use(app, setting: str, word: str) -> None:
    """Click the button for another value of a setting."""
    next(button for button in buttons(app, setting) if button.label == f"Use {word}").click().run()


@pytest.mark.parametrize("more", ["", LONGER])
def test_data_page_reports_differences_of_test_only_if_there_are_any(app, runs, tmp_path, monkeypatch, more):
    monkeypatch.setattr(access, "is_local", lambda: True)
    shown = words(opened(app, "data", data=str(write_splits(tmp_path / "data", 60, more))))
    assert "n = 120" in shown and ("test differs from training" in shown) == bool(more)
    assert ("Compared with training, test has longer texts" in shown) == bool(more)
    assert "validation differs" not in shown


def test_performance_page_reports_differences_of_the_shown_split(app, runs, monkeypatch):
    told = {"name": "test", "known": "training", "warnings": ["Compared with training, test has <b>other</b> labels."]}
    monkeypatch.setattr("dashboard.data.data.compare_split", lambda record, name: told if name == "test" else None)
    shown = words(opened(app, "performance", run="finished", split="test"))
    assert "test differs from training" in shown and "&lt;b&gt;other&lt;/b&gt; labels" in shown
