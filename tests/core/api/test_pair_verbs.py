import csv

import pytest
import sentiscope
from refused import check_raises

from core import api
from core.exceptions import InputError

pytestmark = pytest.mark.slow
FIRST, SECOND = "the film was good", "the meal was bad"


@pytest.fixture
def store(paired):
    assert paired.read("both").pairs and not paired.read("one").pairs
    return paired


def test_second_text_can_be_given_in_three_ways(store):
    named = api.predict("both", [FIRST], pair=SECOND, store=store)["predictions"][0]
    assert named == api.predict("both", [sentiscope.pair(FIRST, SECOND)], store=store)["predictions"][0]
    assert api.inspect("both", sentiscope.pair(FIRST, SECOND), store=store)["segments"] == [0] * 5 + [1] * 4


def test_missing_or_superfluous_second_text_is_refused(store):
    check_raises(InputError, "run 'both' reads two texts", api.explain, "both", FIRST, store=store)
    for said, run, asked, how in (
        ("run 'both' reads two texts: give the second with --pair", "both", [FIRST], {}),
        ("reads two texts, and one of them is empty", "both", [FIRST], {"pair": ""}),
        ("reads two texts, and one of them is empty", "both", [" "], {"pair": SECOND}),
        ("run 'one' reads single texts: leave --pair out", "one", [FIRST], {"pair": SECOND}),
        ("second text of a single text", "both", [FIRST, FIRST], {"pair": SECOND}),
        ("--passage: run 'both' reads two texts side by side", "both", [FIRST], {"pair": SECOND, "passage": 3}),
        ("--passage -1: words per passage, at least 1", "one", [FIRST], {"passage": -1}),
    ):
        check_raises(InputError, said, api.predict, run, asked, **how, store=store)


def test_pair_table_is_read_and_keeps_both_columns(store, tmp_path):
    file, to = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = [(str(row), f"{FIRST} {row}", f"{SECOND} {row}") for row in range(5)]
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([("id", "question1", "question2"), *rows])
    assert api.predict("both", file=file, to=to, store=store)["rows"] == 5
    with to.open(newline="", encoding="utf-8-sig") as read:
        written = list(csv.DictReader(read))
    said = api.predict("both", [sentiscope.pair(first, second) for _, first, second in rows], store=store)
    assert [row["predicted"] for row in written] == [each["label"] for each in said["predictions"]]
    assert [(row["id"], row["question1"], row["question2"]) for row in written] == rows


def test_table_row_without_a_second_text_is_named(store, tmp_path):
    file = tmp_path / "in.csv"
    file.write_text(f"question1,question2\n{FIRST},{SECOND}\n{FIRST},\n{FIRST},{SECOND}\n")
    with pytest.raises(InputError, match=r"in\.csv, row 2, .*question2.*: this text of the pair is missing"):
        api.predict("both", file=file, to=tmp_path / "out.csv", store=store)
    assert not (tmp_path / "out.csv").exists()
    file.write_text(f"review,reply\n{FIRST},{SECOND}\n{FIRST},{SECOND}\n")
    with pytest.raises(InputError, match=r"no column of second texts; name it with data\.pair"):
        api.predict("both", file=file, store=store)
    settings = {"data.text": "review", "data.pair": "reply"}
    assert len(api.predict("both", file=file, settings=settings, store=store)["predictions"]) == 2
