"""Tables as CSV."""

import csv
import io
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import streamlit.config

import dashboard
from core.data.sandbox import read_rows
from core.formatting import format_csv

PLAIN = ["=1+1", "+a", "-b", "@c"]
AFTER_BLANKS = ["\n=1+1", "\r\n=1", "\t=1", "  =1", "\xa0@x", "\ufeff=1", "\n", "\ttab", "\uff1d1+1", "\x00=1"]


def written(frame: pd.DataFrame) -> str:
    """The CSV after its byte order mark; the table itself is not changed."""
    before = frame.copy(deep=True)
    mark, *text = format_csv(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert mark == "\ufeff"
    return "".join(text)


def test_csv_starts_with_the_mark_for_excel_and_keeps_numbers_and_equal_names(tmp_path):
    frame = pd.DataFrame({"text": ["나쁜 영화, 정말", "schön “so”"] * 20, "label": ["나쁨", "gut"] * 20})
    path = tmp_path / "given.csv"
    path.write_text(format_csv(frame), encoding="utf-8")
    assert path.read_bytes().startswith(b"\xef\xbb\xbftext,label\n")
    with read_rows(path, {"text": "", "delimiter": "", "encoding": "", "header": ""}) as rows:
        assert rows.schema.names == ["text", "label"] and rows.text == "text"
        assert [text for batch in rows.batches for text in rows.get_texts(batch)] == frame["text"].tolist()
    pd.testing.assert_frame_equal(pd.read_csv(path), frame)
    frame = pd.DataFrame([["=1", -2.0], [None, 1.5]], columns=["a", "a"])
    assert written(frame).splitlines() == ["a,a", "'=1,-2.0", ",1.5"]


@pytest.mark.parametrize("text", [*PLAIN, *AFTER_BLANKS])
def test_cells_and_column_names_cannot_be_formulas(text):
    frame = pd.DataFrame({text: [text], "kind": pd.Categorical([text])})
    header, row = csv.reader(io.StringIO(written(frame), newline=""))
    assert header == [f"'{text}", "kind"] and row == [f"'{text}", f"'{text}"]


@pytest.mark.parametrize("text", ["good = bad", "a-b", "'1", "", " ", "not bad", "😀"])
def test_other_texts_are_kept(text):
    assert next(csv.reader([written(pd.DataFrame({text: [1]})).splitlines()[0]])) == ([text] if text else [""])


def test_tables_have_no_csv_button_of_their_own():
    """Streamlit's toolbar creates its CSV in the browser and does not escape formulas."""
    config = tomllib.loads((Path(dashboard.__file__).parent / ".streamlit" / "config.toml").read_text())
    assert config["client"]["disableDataExport"] is True
    assert "client.disableDataExport" in streamlit.config.get_config_options()
