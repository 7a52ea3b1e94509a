"""The results in the READMEs are those of the committed files: no number is typed by hand.

`python tests/core/papers/test_readmes.py` writes the two blocks of the papers again, after new results.
"""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from core.api.papers import reproduce, tabulate_rows
from core.cli import app

ROOT = Path(__file__).parents[3]
HERE, COMMAND = "tests/core/papers/test_readmes.py", "sentiscope reproduce --format markdown"
COLUMNS = ("row", "data", "reported", "ours", "difference", "TF-IDF", "verdict")
MAIN = ("accuracy", "delta_mean")
HEADLINES = {
    "ndt": ("III: Vanilla, NDT [0,1] N=3", "VII: Vanilla, DT N=2, NDT [0,1] N=3"),
    "sentiformer": ("I: SentiFormer, BiLSTM, CNN",),
    "7ess-xin": ("II: 7ess-Xin V1 P1, 7ess-Xin V6 P2",),
    "lexical": ("2: mean of 5 models last head",),
    "inceptive": ("3: BERTweet baseline, BERTweet inceptive c=64",),
}
"""Rows of the table in README.md: those that carry each paper's claim and have results."""


def read_block(file: str, title: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    return text.partition(f"<!-- {title} -->\n\n")[2].partition("\n\n<!-- end -->")[0]


def write_headlines() -> str:
    lines = [f"| paper, table | {' | '.join(COLUMNS)} |", f"|{'---|' * 8}"]
    for paper, chosen in HEADLINES.items():
        for table, names in (each.split(": ") for each in chosen):
            [found] = reproduce(paper, table)["tables"]
            for row, texts in zip(found["rows"], tabulate_rows(found["rows"]), strict=True):
                if row["row"] in names.split(", ") and row["metric"] in MAIN and row["ours"] is not None:
                    cells = (texts[key] for key in COLUMNS)
                    lines.append(f"| {paper} {table} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write_output() -> str:
    return CliRunner().invoke(app, COMMAND.split()[1:]).output.strip()


BLOCKS = {"README.md": (HERE, write_headlines), "tests/benchmarks/README.md": (COMMAND, write_output)}
"""File → first line of its block, and what writes it."""


@pytest.mark.parametrize("file", BLOCKS)
def test_readmes_have_the_committed_results(file):
    title, write = BLOCKS[file]
    assert read_block(file, title) == write()


def read_starters(split: str) -> dict[str, tuple[float, list[float]]]:
    found = {}
    for folder in sorted((ROOT / "trained").glob("starter-*")):
        results = json.loads((folder / "run.json").read_text(encoding="utf-8"))["results"]
        found[folder.name] = results["metrics"][split]["accuracy"], results["intervals"][split]["accuracy"]
    return found


def test_readme_has_the_starters_accuracy():
    splits = [read_starters(split) for split in ("everyday", "challenge")]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in splits[0]:
        cells = [f"{value:.3f} ({low:.3f} to {high:.3f})" for value, (low, high) in (each[name] for each in splits)]
        assert f"| `{name}` | {cells[0]} | {cells[1]} |" in text


@pytest.mark.parametrize(("column", "split"), [(1, "test"), (2, "challenge"), (3, "everyday")])
def test_model_card_has_the_starters_accuracy(column, split):
    text = (ROOT / "trained/README.md").read_text(encoding="utf-8")
    card = text.partition("**Results.**")[2].partition("**Calibration.**")[0]
    for name, (accuracy, _) in read_starters(split).items():
        short = name.removeprefix("starter-")
        [row] = re.findall(rf"^\| {short}(?:, the built-in corpus alone)? \|.*$", card, re.MULTILINE)
        assert row.split("|")[column + 1].strip() == f"{100 * accuracy:.1f}", name


def test_model_card_has_the_starters_confident_errors():
    text = (ROOT / "trained/README.md").read_text(encoding="utf-8")
    card = text.partition("**Results.**")[2].partition("**Calibration.**")[0]
    for folder in (ROOT / "trained").glob("starter-*"):
        short = folder.name.removeprefix("starter-")
        table = pd.read_parquet(folder / "evaluation" / "everyday" / "predictions.parquet")
        sure = table.filter(regex="^p_|^prob").max(axis=1) > 0.95
        share = 100 * ((table["label"] != table["predicted"]) & sure).mean()
        [row] = re.findall(rf"^\| {short}(?:, the built-in corpus alone)? \|.*$", card, re.MULTILINE)
        assert row.split("|")[5].strip() in ("", f"{share:.1f}"), short


if __name__ == "__main__":
    for name, (title, write) in BLOCKS.items():
        path = ROOT / name
        path.write_text(path.read_text(encoding="utf-8").replace(read_block(name, title), write()), encoding="utf-8")
