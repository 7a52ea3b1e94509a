"""The results in the READMEs are those of the committed files: no number is typed by hand.

`python tests/core/papers/test_readmes.py` writes their blocks again, after new results.
"""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from core.api.papers import reproduce, tabulate_rows
from core.api.public_classes import Run
from core.behavioral_tests import report as groups
from core.cli import app
from core.data.sources.builtin.corpus_files import read_groups
from core.formatting import count
from core.papers.reported_results import read_speed
from core.runs.store import RunStore
from dashboard.figures.behavioral_tests import STARTERS_APART

ROOT = Path(__file__).parents[3]
HERE, COMMAND = "tests/core/papers/test_readmes.py", "sentiscope reproduce --format markdown"
COLUMNS = ("row", "data", "reported", "ours", "difference", "TF-IDF", "verdict")
MAIN = ("accuracy", "delta_mean")
HEADLINES = {
    "ndt": ("III: NDT [0,1] N=3", "VII: NDT [0,1] N=3"),
    "sentiformer": ("I: SentiFormer",),
    "7ess-xin": ("II: 7ess-Xin V6 P2",),
    "lexical": ("2: mean of 5 models last head",),
    "inceptive": ("3: BERTweet inceptive c=64",),
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


def write_public_sets() -> str:
    command = [sys.executable, str(ROOT / "tests/benchmarks/real_data.py"), "--print"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()
    table = [line for line in printed if line.startswith("|")]
    return "\n".join([*table, "", *(f"- {line}" for line in printed if not line.startswith(("|", "not complete")))])


def write_counts() -> str:
    """Count the sets on which the bold model of the table differs significantly (arrows) from TF-IDF."""
    marks = re.findall(r"\*\*[^*|]+\*\* ?([↑↓]?)", read_block(*LONG))
    numbers = "none one two three four five six seven eight nine".split()
    more, less, sets = (numbers[each] for each in (marks.count("↑"), marks.count("↓"), len(marks)))
    said = f"significantly better than TF-IDF on {more},\nand worse on {less} ([table](tests/benchmarks/README.md))."
    return f"On {sets} public sets the small model chosen on validation is {said}"


def write_speed() -> str:
    speed = read_speed()
    lines = ["| model | ms per batch | sentences/s | times vanilla |", "|---|---:|---:|---:|"]
    for row in speed["models"]:
        numbers = f"{row['milliseconds']:.0f} | {count(round(row['sentences_per_second']))} | {row['ratio']:.2f}"
        lines.append(f"| `{row['model']}` | {numbers} |")
    lines += [
        "",
        "| tokens | window, ms | full attention, ms | times faster | n/(k + s) |",
        "|---:|---:|---:|---:|---:|",
    ]
    for row in speed["lengths"]:
        times = f"{row['sparse']['milliseconds']:.0f} | {row['full']['milliseconds']:.0f}"
        lines.append(f"| {count(row['tokens'])} | {times} | {row['faster']:.2f} | {row['theory']:.1f} |")
    machine = f"{speed['processor']}, {speed['threads']} threads, torch {speed['torch']}"
    slopes = (f"{way} length^{speed['slopes'][way]['milliseconds']:.2f}" for way in ("sparse", "full"))
    about = f"{machine}. First table: {speed['batch']} texts of {speed['length']} tokens."
    return "\n".join([*lines, "", about, f"Time from 1 024 tokens: {', '.join(slopes)}."])


STARTERS = sorted(folder.name for folder in (ROOT / "trained").glob("starter-*"))
SENTENCES = Path(__file__).with_name("typed_sentences.csv")
SPLITS = ("test", "challenge", "everyday")
TESTS = ("insertion", "pairs", "stability", "control")


def write_typed_sentences() -> str:
    with SENTENCES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    store = RunStore(ROOT / "trained")
    answers = [Run(name, store).predict([row["text"] for row in rows])["predictions"] for name in STARTERS]
    lines = [f"| sentence | {' | '.join(name.removeprefix('starter-') for name in STARTERS)} |"]
    lines.append(f"|---|{'---:|' * len(STARTERS)}")
    for at, row in enumerate(rows):
        said = [each[at] for each in answers]
        shares = [(f"{each['probabilities']['positive']:.2f}", each["label"] == row["label"]) for each in said]
        lines.append(f"| {row['text']} | {' | '.join(share if right else f'**{share}**' for share, right in shares)} |")
    right = [sum(each["label"] == row["label"] for each, row in zip(said, rows, strict=True)) for said in answers]
    return "\n".join([*lines, f"| right | {' | '.join(f'{number} of {len(rows)}' for number in right)} |"])


def read_results(name: str) -> dict:
    return json.loads((ROOT / "trained" / name / "run.json").read_text(encoding="utf-8"))["results"]


def write_starters() -> str:
    heads = ["built-in, test", "difficult (302)", "everyday (200)", "macro F1, test", "macro recall, test"]
    heads += [
        "confident errors",
        "calibration error",
        *(f"TF-IDF, {name}" for name in ("test", "difficult", "everyday")),
    ]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for name in STARTERS:
        found = read_results(name)
        shares = [found["metrics"][split]["accuracy"] for split in SPLITS]
        table = pd.read_parquet(ROOT / "trained" / name / "evaluation" / "everyday" / "predictions.parquet")
        sure = table.filter(regex="^probability:").max(axis=1) > 0.95
        shares += [found["metrics"]["test"][f"{each}_macro"] for each in ("f1", "recall")]
        shares.append(((table["label"] != table["predicted"]) & sure).mean())
        words = [found["yardstick"]["splits"][split]["accuracy"] for split in SPLITS]
        cells = [f"{100 * each:.1f}" for each in shares] + [f"{found['metrics']['test']['ece']:.3f}"]
        lines.append(f"| {' | '.join([name.removeprefix('starter-'), *cells, *(f'{100 * w:.1f}' for w in words)])} |")
    return "\n".join(lines)


def write_faithfulness() -> str:
    lines = ["| | insertion | two words at once | paraphrased | random weights |", "|---|---:|---:|---:|---:|"]
    for name in STARTERS:
        [file] = (ROOT / "trained" / name / "belief").glob("*.json")
        [deletion] = json.loads(file.read_text(encoding="utf-8"))["belief"]["methods"]
        values = (f"{deletion['tests'][test]['value']:.2f}" for test in TESTS)
        lines.append(f"| {name.removeprefix('starter-')} | {' | '.join(values)} |")
    return "\n".join(lines)


def write_effects() -> str:
    """Write how many of 500 test answers of each starter change when all parts of a kind are changed."""
    found = {}
    for name in STARTERS:
        [file] = (ROOT / "trained" / name / "attention").glob("effects-*.json")
        measured = json.loads(file.read_text(encoding="utf-8"))
        assert measured["texts"] == 500
        found[name] = {row["what"]: row["changed"] for row in measured["effects"]}
    kinds = sorted({kind for each in found.values() for kind in each}, key=lambda kind: (kind == "all heads off", kind))
    lines = [f"| | {' | '.join(kinds)} |", f"|---|{'---:|' * len(kinds)}"]
    for name, each in found.items():
        lines.append(f"| {' | '.join([name.removeprefix('starter-'), *(str(each.get(kind, '')) for kind in kinds)])} |")
    return "\n".join(lines)


def write_groups() -> str:
    """Write the largest gap of each kind in neutral sentences, in points, for each starter."""
    store, kinds = RunStore(ROOT / "trained"), tuple(read_groups())
    lines = [f"| | {' | '.join(kinds)} | largest gap of mean probability |", f"|---|{'---:|' * (len(kinds) + 1)}"]
    for name in STARTERS:
        gaps = {each["kind"]: each for each in groups.select_gaps(groups.find_groups(store, name))}
        cells = []
        for kind in kinds:
            low, high = (round(100 * end) for end in gaps[kind]["interval"])
            cells.append(f"{round(100 * gaps[kind]['gap'])} ({low} to {high})")
        worst = max(each["probability_gap"] for each in gaps.values())
        lines.append(f"| {' | '.join([name.removeprefix('starter-'), *cells, str(round(100 * worst))])} |")
    return "\n".join(lines)


LONG = ("tests/benchmarks/README.md", "python tests/benchmarks/real_data.py --print")
GROUPS = ("core/behavioral_tests/README.md", "core/behavioral_tests/groups.yaml")
BLOCKS = {
    ("README.md", HERE): write_headlines,
    ("tests/benchmarks/README.md", COMMAND): lambda: CliRunner().invoke(app, COMMAND.split()[1:]).output.strip(),
    LONG: write_public_sets,
    ("README.md", "tests/benchmarks/README.md"): write_counts,
    ("tests/benchmarks/README.md", "core/papers/results/speed.json"): write_speed,
    ("trained/README.md", "tests/core/papers/typed_sentences.csv"): write_typed_sentences,
    ("trained/README.md", "trained/starter-*/run.json"): write_starters,
    ("trained/README.md", "trained/starter-*/belief"): write_faithfulness,
    ("core/interpret/README.md", "trained/starter-*/attention"): write_effects,
    GROUPS: write_groups,
}
"""File and first line of a block → what writes it."""


@pytest.mark.parametrize(
    ("file", "title"),
    [pytest.param(*each, marks=pytest.mark.slow) if each in (LONG, GROUPS) else each for each in BLOCKS],
)
def test_readmes_have_the_committed_results(file, title):
    assert read_block(file, title) == BLOCKS[file, title]()


def test_the_page_says_the_largest_gap_of_the_starters_that_learned_of_groups():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in read_block(*GROUPS).splitlines()[2:]]
    gaps = [int(cell.split()[0]) for row in rows if "start" in read_results(f"starter-{row[0]}") for cell in row[1:-1]]
    assert len(gaps) == 42 and f"gaps of up to {max(gaps)} points are left" in STARTERS_APART


def test_every_table_with_measured_numbers_is_in_a_block():
    for file in ("trained/README.md", "tests/benchmarks/README.md"):
        text = (ROOT / file).read_text(encoding="utf-8")
        for title in (title for name, title in BLOCKS if name == file):
            text = text.replace(read_block(file, title), "")
        typed = [line for line in text.splitlines() if line.startswith("|") and re.search(r"(?<![-\w])\d+[.,]\d", line)]
        assert typed == [], file


def test_readme_has_the_starters_accuracy():
    text, alone = (ROOT / "README.md").read_text(encoding="utf-8"), []
    for name in STARTERS:
        found = read_results(name)
        pairs = [
            (found["metrics"][split]["accuracy"], found["intervals"][split]["accuracy"]) for split in SPLITS[:0:-1]
        ]
        cells = " | ".join(f"{value:.3f} ({low:.3f} to {high:.3f})" for value, (low, high) in pairs)
        if "start" in found:
            assert f"| `{name}` | {cells} |" in text
        else:
            alone.append([value for value, _ in pairs])
    low, high = min(alone)[0], max(alone)[0]
    assert f"The other four know only the built-in corpus: {low:.2f} to {high:.2f} on everyday sentences." in text
    best = read_results("starter-vanilla")["yardstick"]["splits"]
    everyday, challenge = (f"{best[split]['accuracy']:.3f}" for split in SPLITS[:0:-1])
    assert f"TF-IDF of the same texts gets {everyday} and {challenge}" in text


if __name__ == "__main__":
    for (name, title), write in BLOCKS.items():
        path, head = ROOT / name, f"<!-- {title} -->\n\n"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(head + read_block(name, title), head + write()), encoding="utf-8")
