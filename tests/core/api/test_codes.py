import shutil

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.api.public_classes import Run
from core.runs.store import RunStore

pytestmark = pytest.mark.slow


@pytest.fixture
def run(place):
    """A run with twenty errors in forty rows, and no codes yet."""
    shutil.rmtree(place / "runs", ignore_errors=True)
    store, labels = RunStore(place / "runs"), np.arange(40) % 2
    answering(store, "one", right_where(np.arange(40) >= 20, labels), texts(labels, id=[f"t-{n}" for n in range(40)]))
    return Run("one", store)


def coded(cli, word, *words):
    return cli.json("codes", word, "one", *words)


def test_coding_session_works_on_the_terminal(cli, run):
    assert coded(cli, "add", "irony", "--definition", "=means the opposite")["place"] == 1
    coded(cli, "add", "label", "--author", "ann")
    drawn = coded(cli, "draw", "8", "--seed", "3", "--csv", "drawn.csv")
    assert (drawn["n"], drawn["of"], drawn["said"]) == (8, 20, "20 of 40 sentences: wrong.")
    keys = drawn["keys"]
    assert cli("codes", "draw", "one", "8", "--seed", "3")[1].splitlines()[-8:] == keys
    given = [each for key in keys[:5] for each in ("--key", key)]
    assert coded(cli, "code", "irony", *given, "--author", "ann")["rows"] == 5
    rates = coded(cli, "rates")
    assert not rates["complete"] and rates["sample"]["coded"] == 5
    coded(cli, "code", "label", *[each for key in keys[5:] for each in ("--key", key)])
    coded(cli, "note", keys[0], "so it is")
    lines = cli.lines("codes", "rates", "one")
    said = "8 rows of 20, drawn at random and coded. A code counts where any of 2 authors gave it."
    assert lines[0] == f"20 of 40 sentences: wrong. {said}"
    assert lines[1:] == ["code n share 95 %", "irony 5 0.625 0.306 to 0.863", "label 3 0.375 0.137 to 0.694"]
    listed = coded(cli, "list", "--where", "all")
    assert [(each["author"], each["coded"], each["notes"]) for each in listed["authors"]] == [("", 3, 1), ("ann", 5, 0)]
    code, out, _ = cli("codes", "list", "one")
    assert code == 0 and "ann: 5 of 20 rows coded, 0 notes." in out and "Drawn: 8 of 20, seed 3" in out
    assert len(run.errors(where=["wrong", "code=irony"])["rows"]) == 5
    assert coded(cli, "undo") == {"undone": f"note: row {keys[0]}"}


def test_exported_sheet_hides_other_authors_and_code_selections_have_no_shares(cli, run, tmp_path):
    coded(cli, "add", "irony")
    coded(cli, "code", "irony", "--where", "wrong", "--author", "ann")
    assert coded(cli, "rates")["complete"] and coded(cli, "rates", "--where", "row<20")["complete"]
    for where in ("coded", "code=irony"):
        told = coded(cli, "rates", "--where", where)
        assert not told["complete"] and told["codes"][0]["share"] is None and "Chosen by their codes" in told["said"]
    coded(cli, "draw", "8", "--csv", str(tmp_path / "ben.csv"), "--author", "ben")
    assert "ann" not in (tmp_path / "ben.csv").read_text(encoding="utf-8")


def test_two_authors_are_compared(cli, run):
    coded(cli, "add", "irony")
    coded(cli, "add", "label")
    coded(cli, "code", "irony", "--where", "wrong", "--author", "ann")
    coded(cli, "code", "irony", "--where", "row<10", "--author", "ben")
    coded(cli, "code", "label", "--where", "row=10..19", "--author", "ben")
    code, out, _ = cli("codes", "kappa", "one", "ann", "ben")
    assert code == 0 and out.startswith("20 rows coded by both, 10 alike: 0.00 (")
    assert cli("codes", "kappa", "one", "ann", "carl")[0] == 2


def test_code_files_are_exported_and_imported(cli, run, tmp_path):
    coded(cli, "add", "irony", "--definition", "=x")
    coded(cli, "code", "irony", "--where", "wrong")
    assert coded(cli, "export", str(tmp_path / "a.csv"), "--book", str(tmp_path / "b.csv"))["rows"] == 20
    assert "'=x" in (tmp_path / "b.csv").read_text()
    assert ",id,author,codes,note,time" in (tmp_path / "a.csv").read_text()
    before = run.codes.list()["codes"]
    for file in run.store.folder.glob("codes.sqlite*"):
        file.unlink()
    taken = coded(cli, "import", str(tmp_path / "a.csv"), "--book", str(tmp_path / "b.csv"))
    assert taken == {"rows": 20, "added": ["irony"], "codes": 1} and run.codes.list()["codes"] == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("code", "one", "irony", "--key", "abc"), "key 'abc': no sentence of one, test has it"),
        (("code", "one", "irony"), "name at least one code, and rows"),
        (("code", "one", "irony", "--where", "wrong"), "`sentiscope codes add` makes one"),
        (("draw", "one", "100"), "100 at random of 20 rows: draw 1 to 20"),
        (("split", "one", "irony", "--into", "x"), "say which rows"),
        (("export", "one", "/nowhere/a.csv"), "cannot be written"),
        (("list", "none"), "no run 'none'"),
        (("rates", "one", "--where", "code=x"), "no code 'x'; the codes are: none yet"),
    ],
)
def test_wrong_input_gives_an_error_sentence(cli, run, words, said):
    cli.refused(said, "codes", *words)
