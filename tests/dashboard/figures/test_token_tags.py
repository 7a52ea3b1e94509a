"""The page Tokens: filtered sentences, types, errors by kind, a typed sentence."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from named_words import write_conll

from core.data.config import DataConfig
from core.data.load import load_dataset
from core.exceptions import NotAvailable
from core.runs.word_tagging import TaggedText
from dashboard.figures import token_tags
from dashboard.figures.datasets import Filters, filter_rows
from dashboard.figures.figure import Source
from dashboard.figures.theme import Look
from dashboard.figures.token_tags import TAG_CHANCES, TAG_ERRORS, TAG_SENTENCES, TAG_TYPED, TAG_TYPES

ROWS = [
    ("Almo saw Pell", "B-PER O B-LOC", "B-PER O B-LOC"),
    ("in Old Pell", "O B-LOC I-LOC", "O O B-LOC"),
    ("Almo ran", "B-PER O", "B-LOC O"),
    ("<b>Berin</b> ran", "B-PER O", "O O"),
    ("it rained", "O O", "O B-LOC"),
]
CLASSES = ("B-LOC", "B-PER", "I-LOC", "O")


class Reading:
    """A run with these sentences."""

    def list_splits(self, run):
        return ["test"]

    def read_tags(self, record, split):
        columns = {name: [row[at].split() for row in ROWS] for at, name in ((1, "label"), (2, "predicted"))}
        chances = [[0.75] * len(row[0].split()) for row in ROWS]
        return pd.DataFrame(
            {"row": range(len(ROWS)), "text": [row[0] for row in ROWS], **columns, "probability": chances}
        )

    def tag_words(self, record, text):
        words = text.split()
        chances = np.tile(np.array([0.1, 0.6, 0.1, 0.2], np.float32), (len(words), 1))
        chances[-1] = np.nan
        return TaggedText(words, chances, CLASSES)


def source(task="tokens", text="", **choices):
    config = SimpleNamespace(model=SimpleNamespace(family="encoder"))
    record = SimpleNamespace(run="names", task=task, status="done", config=config, preset="vanilla")
    choices = {name.replace("_", "-"): each for name, each in choices.items()}
    return Source(record, Reading(), text=text, choices=choices)


def shown(**choices):
    return TAG_SENTENCES.read_data(source(**choices)).places


def test_filter_finds_sentences_and_labels_are_above_predictions():
    assert shown() == shown(tag_outcome=token_tags.ANY_ERROR) == (1, 2, 3, 4)
    assert shown(tag_outcome="wrong border") == (1,) and shown(tag_outcome="wrong type") == (2,)
    assert shown(tag_outcome="missed") == (3,) and shown(tag_outcome="spurious") == (4,)
    assert shown(tag_outcome="all right") == (0,) and shown(tag_outcome="all sentences", tag_type="PER") == (0, 2, 3)
    assert shown(tag_search="ALMO") == (2,)
    data = TAG_SENTENCES.draw(TAG_SENTENCES.read_data(source(tag_outcome="all sentences")), Look()).data
    right, border, *_ = data["sentences"]
    assert [line["who"] for line in right["lines"]] == ["predicted"]
    label, said = border["lines"]
    assert [part.get("kind", part["text"]) for part in label["parts"]] == ["in", "LOC"]
    parts = [(part["text"], part.get("wrong", "")) for part in said["parts"]]
    assert parts == [("in Old", ""), ("Pell", "wrong border")]
    data = TAG_SENTENCES.draw(TAG_SENTENCES.read_data(source(tag_outcome="missed")), Look()).data
    assert data["sentences"][0]["lines"][0]["parts"][0]["text"] == "<b>Berin</b>"
    assert "<b>Berin" not in TAG_CHANCES.draw(TAG_CHANCES.read_data(source(text="<b>Berin</b> ran")), Look()).to_json()


def test_errors_of_labeled_spans_add_up_without_spurious_spans(monkeypatch):
    head, rest = token_tags.summarize_spans(TAG_TYPES.read_data(source()))
    assert head == "2 of 5 spans are found with their type and both borders."
    assert rest == "The other 3: 1 with a wrong type, 1 with a wrong border, 1 missed. 1 predicted span has no label."
    named = ROWS
    monkeypatch.setitem(globals(), "ROWS", ROWS[3:4])
    assert token_tags.summarize_spans(TAG_TYPES.read_data(source()))[1] == "The other 1: 1 missed."
    monkeypatch.setitem(globals(), "ROWS", named[:1])
    assert token_tags.summarize_spans(TAG_TYPES.read_data(source()))[1] == "No span is missed, and none is added."


def test_type_and_error_figures_equal_their_tables_and_typed_words_have_tags():
    rows = TAG_TYPES.read_data(source())
    table = TAG_TYPES.build_tables(rows)["Types"].set_index("type")
    assert table.loc["PER", ["spans", "right", "wrong type", "missed"]].tolist() == [3, 1, 1, 1]
    assert table.loc["LOC", "recall"] == pytest.approx(1 / 2)
    assert {trace.name: sum(trace.x) for trace in TAG_ERRORS.draw(rows, Look()).data} == {"LOC": 2, "PER": 2}
    typed = TAG_CHANCES.read_data(source(text="Almo ran"))
    table = TAG_CHANCES.build_tables(typed)["Probabilities"]
    assert table["tag"].tolist() == ["B-PER", "O"]
    assert table.loc[0, "B-PER"] == pytest.approx(0.6) and np.isnan(table.loc[1, "B-PER"])
    assert TAG_TYPED.draw(typed, Look()).data["sentences"][0]["lines"][0]["parts"][0]["kind"] == "PER"


@pytest.mark.parametrize("figure", [TAG_SENTENCES, TAG_TYPES, TAG_ERRORS, TAG_TYPED])
def test_text_classification_run_has_no_tag_figures(figure):
    with pytest.raises(NotAvailable, match="gives a text a label"):
        figure.read_data(source(task="single", text="Almo"))


def test_data_page_shows_the_tags_of_texts(tmp_path):
    dataset = load_dataset(DataConfig(name=str(write_conll(tmp_path / "names.conll", 60))))
    rows = filter_rows(dataset, Filters("", "B-LOC", "", ""))
    assert len(rows) and all("B-LOC" in label.split() for label in rows["label"])
    assert all(len(row.label.split()) == len(row.text.split()) for row in rows.itertuples())
