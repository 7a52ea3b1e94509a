import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("starters")]

STARTERS = ("starter-vanilla", "starter-differential", "starter-inceptive-16")
PAIR = ("compare", *STARTERS[:2])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a few labelled sentences of another domain."""
    folder = tmp_path_factory.mktemp("compare")
    kinds = [("good", "positive", "plain"), ("not good", "negative", "negated")] * 20
    rows = [f"The film was {word} number {n}.,{label},{kind}" for n, (word, label, kind) in enumerate(kinds)]
    own = "text,label,kind\n" + "\n".join(rows) + "\n"
    (folder / "own.csv").write_text(own)
    (folder / "codes.csv").write_text(own.replace(",negative,", ",0,").replace(",positive,", ",1,"))
    return folder


def test_comparison_prints_finding_letters_and_verdicts_also_with_renamed_labels(cli):
    code, out, _ = cli("compare", *STARTERS)
    assert code == 0 and "Accuracy: starter-inceptive-16 is better than starter-vanilla; 2 of 3 pairs" in out
    assert "A − C" in out and "C is better" in out and "McNemar" in out
    found = cli.json("compare", *STARTERS[:2], "--data", "own.csv", "--by", "kind", "--metric", "loss")
    assert (found["n"], found["split"], found["pairs"][0]["metric"]) == (40, "all", "loss")
    assert [(row["value"], row["n"]) for row in found["by"]] == [("negated", 20), ("plain", 20)]
    options = [word for pair in ("0=", "1=positive", "good=positive") for word in ("--map", pair)]
    code, out, err = cli("compare", *STARTERS[:2], "--data", "codes.csv", *options)
    assert code == 0, err
    assert "n = 20" in out and "Note: left out: label '0' (20 rows)" in out
    assert "Note: no row has the label 'good', which is to be renamed or left out" in out


SUITE = """
name: mine
tests:
  - {name: plain, capability: words, kind: minimum, expected: positive, texts: [The film was good., The film was bad.]}
  - {name: ask, capability: neutral, kind: minimum, expected: neutral, texts: [Is it good?]}
"""


def test_capabilities_are_listed_by_run_with_intervals(cli, place):
    (file := place / "my.yaml").write_text(SUITE)
    lines = cli.lines("behave", "starter-vanilla", "starter-differential", "--suite", file)
    assert lines[0] == "mine: 2 tests of 2 capabilities, 3 cases. Failure rate and 95 % interval:"
    assert "words must be 0.50 (0.09 to 0.91) 0.50 (0.09 to 0.91)" in lines
    assert "neutral must be not asked not asked" in lines
    assert "starter-vanilla and starter-differential differ on nothing beyond chance." in lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*PAIR, "--data", "nowhere.csv"), "nowhere.csv"),
        (
            ("compare", *STARTERS[:1] * 2),
            "'starter-vanilla' cannot be compared with itself; a comparison needs two runs or more",
        ),
        ((*PAIR, "--map", "pos=positive"), "--map belongs to --data"),
        (
            (*PAIR, "--data", "codes.csv"),
            f"sentiscope {' '.join(PAIR)} --data codes.csv --map 0=negative --map 1=positive",
        ),
        (("behave", "nobody"), "no run 'nobody'"),
        (("behave", "starter-vanilla", "--map", "positive"), "--map: write CLASS=POLARITY"),
    ],
)
def test_wrong_input_exits_with_code_2_and_an_error_sentence(cli, arguments, said):
    cli.refused(said, *arguments)
