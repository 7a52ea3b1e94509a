"""The JSON of every command and the numbers of every figure equal the record in this folder.

`unchanged.json` was written before the rooms were taken apart (issue 26); a change that only moves code leaves it as it
is. For each command it has one line: for each dictionary or list of the answer (`rows[]`, in their order) its keys, a
hash of their values, row after row, and one letter for each number with a point. A figure has one line as well: the
columns of its tables, which `figures RUN --to DIR --csv` writes.

Machines add up in another order, so a number is kept as its place on a scale that is even near 0 (steps of 5e-6) and
logarithmic beyond (0.05 %), and the next place on either side passes. Seconds, dates, memory, versions, paths and what
only names this machine are left out (`PASSING`). Columns of more than 24 numbers are kept as sums of neighbours.

Keys that were renamed since are in `renamed.json`: old key → new key. What stands before a key there says where, after
a slash in which figure; a key alone is meant everywhere. The record keeps the old ones. Names in the text of a rule or
of an error are turned back before they are hashed.

Written anew by `python tests/contracts/test_unchanged.py --write [START…]`, all of it or the entries whose names begin
so; a figure or verb that is removed on purpose is a line that is deleted by hand. It goes by `core.cli.main` alone.

Not in it: `dashboard` (serves until it is ended), `report` and `inspect --html` (a document; its figures are here),
`doctor` (this machine), `pretrain` with weights, `backbones check` (none is here), `data check` of a download,
`runs import` of a hub, `runs measure` and the figure `compare-cost` (seconds), `runs cancel` and `sweeps cancel`
(nothing is under way), `--detach`.
"""

import contextlib
import csv
import hashlib
import io
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
RECORD = HERE / "unchanged.json"
RENAMED: dict[str, str] = json.loads((HERE / "renamed.json").read_text())
TRAINED = HERE.parents[1] / "trained"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
EPSILON, STEP = 1e-2, 5e-4
MOST = 24
"""Letters of a column."""
LOOSE = {"figures one/steps": 24}
"""Places by which a letter may differ: Adam turns the rounding of gradients near 0 into steps, so weights trained here
differ between processors, and sums of queries and keys near 0 show it most."""
PASSING = re.compile(
    r"seconds|second|memory|bytes|speed|date|created|started|finished|updated|changed|version|device|threads|machine"
    r"|when|^at$|_at$|^time$|hash|commit|fingerprint|file$|files|path|folder|identity|key_of|host|pid|hub_cache"
    r"|^inference$|^efficiency$"
)
"""Keys whose values differ between machines, days or versions."""

A, B = "starter-ndt-pm1-n2", "starter-lexical-last"
TEXT, OTHER = "The food was not bad at all.", "The film was not good at all."
TINY = [
    f"--set={setting}"
    for setting in ("model.width=16", "model.ff_width=16", "training.batch_size=8", "training.lr=0.01")
] + ["--set=training.threads=1", "--set=text.min_freq=1", "--set=training.device=cpu"]
ON = ("--split", "everyday")
COMMANDS: dict[str, tuple[str, ...]] = {
    "train": ("train", "--data", "reviews.csv", "--model", "ndt-01-n2", "--epochs", "3", "--name", "one", *TINY),
    "train/vanilla": ("train", "--data", "reviews.csv", "--model", "vanilla", "--epochs", "1", "--name", "two", *TINY),
    "train/from": ("train", "--data", "reviews.csv", "--from", "one", "--epochs", "1", "--name", "three", *TINY),
    "sweep": ("sweep", "study", "--model", "vanilla", "--data", "reviews.csv", "--seeds", "2", "--epochs", "1", *TINY),
    "sweep/dry": ("sweep", "dry", "--model", "vanilla", "--data", "reviews.csv", "--folds", "2", "--dry-run", *TINY),
    "sweeps list": ("sweeps", "list"),
    "sweeps show": ("sweeps", "show", "study"),
    "sweeps rm": ("sweeps", "rm", "study"),
    "evaluate": ("evaluate", A, *ON),
    "evaluate/data": ("evaluate", A, "--data", "reviews.csv", "--against", B, "--limit", "40"),
    "evaluate/by": ("evaluate", B, "--split", "challenge", "--by", "phenomenon", "--cost", "positive=5"),
    "compare": ("compare", A, B, *ON),
    "compare/by": ("compare", A, B, "--split", "challenge", "--by", "phenomenon", "--metric", "f1_macro"),
    "behave": ("behave", A, "--suite", "suite.yaml"),
    "errors": ("errors", A, "--split", "challenge"),
    "errors/tags": ("errors", "one", "--where", "all", "--tags", "--label-errors", "--against", "two"),
    "errors/unsure": ("errors", "one", "--where", "all", "--unsure", "--order", "unsure"),
    "errors/where": ("errors", A, *ON, "--where", "right", "--where", "word=not", "--order", "margin"),
    "slices": ("slices", A, "--split", "challenge"),
    "slices/save": ("slices", A, "--split", "challenge", "--save", "nots", "--where", "word=not"),
    "slices/rename": ("slices", A, "--split", "challenge", "--rename", "nots", "denied"),
    "slices/rm": ("slices", A, "--split", "challenge", "--rm", "denied"),
    "shift": ("shift", "one"),
    "predict": ("predict", A, TEXT, OTHER),
    "predict/data": ("predict", A, "--data", "reviews.csv", "--to", "said.csv", "--set", "data.text=text"),
    "inspect": ("inspect", B, TEXT),
    "explain": ("explain", B, TEXT),
    "explain/shapley": ("explain", A, TEXT, "--method", "shapley", "--target", "negative"),
    "explain/parts": ("explain", B, TEXT, "--parts"),
    "explain/lambdas": ("explain", A, TEXT, "--lambdas"),
    "explain/methods": ("explain", A, TEXT, "--methods"),
    "patch": ("patch", A, TEXT, OTHER),
    "steps": ("steps", A, TEXT, "--layer", "1", "--head", "2"),
    "steps/lexical": ("steps", B, TEXT),
    "agreement": ("agreement", A, *ON, "--limit", "10"),
    "believe": ("believe", A, "--method", "deletion", "--limit", "4"),
    "believe/text": ("believe", A, TEXT),
    "flip": ("flip", A, "The food was bad.", "--readings", "300"),
    "distance": ("distance", A, "The film was [not] {} good.", "--against", B, "--most", "4"),
    "project": ("project", A, *ON, "--method", "pca"),
    "groups": ("groups", A, *ON),
    "layers": ("layers", "one"),
    "neighbours": ("neighbours", "one", "word1 word2 good", "--most", "5"),
    "neighbours/where": ("neighbours", "one", "--where", "all", "--most", "4"),
    "presets": ("presets",),
    "presets/paper": ("presets", "--paper", "sentiformer"),
    "presets/one": ("presets", "ndt-01-n3", "--vocabulary", "500", "--classes", "3"),
    "codes list": ("codes", "list", A, "--split", "challenge"),
    "codes add": ("codes", "add", A, "irony", "--definition", "means the opposite", "--author", "ann"),
    "codes add/label": ("codes", "add", A, "label"),
    "codes edit": ("codes", "edit", A, "label", "--name", "odd label", "--definition", "d"),
    "codes draw": ("codes", "draw", A, "8", "--seed", "3", "--split", "challenge"),
    "codes code": ("codes", "code", A, "irony", "--split", "challenge", "--where", "word=not", "--author", "ann"),
    "codes code/ben": ("codes", "code", A, "irony", "--split", "challenge", "--where", "wrong", "--author", "ben"),
    "codes rates": ("codes", "rates", A, "--split", "challenge"),
    "codes kappa": ("codes", "kappa", A, "ann", "ben", "--split", "challenge", "--where", "all"),
    "codes export": ("codes", "export", A, "codes.csv", "--split", "challenge"),
    "codes import": ("codes", "import", A, "codes.csv", "--split", "challenge"),
    "codes split": ("codes", "split", A, "irony", "--into", "wit", "--split", "challenge", "--where", "wrong"),
    "codes merge": ("codes", "merge", A, "irony", "wit", "--into", "irony"),
    "codes rm": ("codes", "rm", A, "odd label"),
    "codes undo": ("codes", "undo", A),
    "counter-examples keep": ("counter-examples", "keep", TEXT, "--label", "positive", "--note", "n", "--run", A),
    "counter-examples list": ("counter-examples", "list", "--run", A),
    "counter-examples export": ("counter-examples", "export", "kept.csv"),
    "data list": ("data", "list"),
    "data card": ("data", "card", "reviews.csv"),
    "data check": ("data", "check", "reviews.csv", "--from", "one"),
    "backbones list": ("backbones", "list"),
    "runs list": ("runs", "list"),
    "runs show": ("runs", "show", "one"),
    "runs show/starter": ("runs", "show", B),
    "runs export": ("runs", "export", "two", "two.zip"),
    "runs rm": ("runs", "rm", "two"),
    "runs import": ("runs", "import", "two.zip"),
    "wrong/run": ("evaluate", "nobody"),
    "wrong/class": ("explain", A, TEXT, "--target", "odd"),
    "wrong/where": ("errors", A, "--where", "odd"),
    "wrong/setting": ("train", "--set", "model.odd=1"),
}
SUITE = """\
name: a few
tests:
  - name: denied praise
    capability: negation
    kind: minimum
    expected: negative
    texts: [The food was not good., The film was never great., I did not like it.]
"""
DRAWN: dict[str, tuple[str, ...]] = {
    "one": ("one", "--against", "three", "--text", "word1 word2 good"),
    "A": (A, *ON, "--text", TEXT),
    "B": (B, "--split", "challenge", "--against", A, "--text", TEXT),
    "map": (A, "--only", "map-tsne,map-pca-3d"),
}
"""Arguments of `figures`: every figure that the run has."""


def call(place: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `sentiscope`, run in this process and in a separate folder."""
    from core.cli import main

    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as here:
        here.chdir(place)
        for name, value in {"RUNS": str(place / "runs"), "CACHE": str(place / "cache"), "JOBS": "1"}.items():
            here.setenv(f"SENTISCOPE_{name}", value)
        here.setenv("SENTISCOPE_STARTERS", str(place / "none"))
        here.setenv("OMP_NUM_THREADS", "1")
        here.setattr(sys, "argv", ["sentiscope", *arguments])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as ended:
                code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


def furnish(place: Path) -> None:
    """The starter runs, a data set and a behavioral test suite."""
    for run in (A, B):
        shutil.copytree(TRAINED / run, place / "runs" / run)
    random = np.random.default_rng(0)
    lines = ["text,label"]
    for number in range(120):
        label = ("bad", "good")[number % 2]
        words = [f"word{each}" for each in random.integers(0, 30, random.integers(1, 10))]
        said = ("negative", "positive")[number % 2 if number % 11 else 1 - number % 2]
        lines.append(f"{' '.join([*words, label])},{said}")
    (place / "reviews.csv").write_text("\n".join(lines) + "\n")
    (place / "suite.yaml").write_text(SUITE)


def columns(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(`rows[].n`, value) of every value, in order; also the lengths of lists and dictionaries."""
    if PASSING.search(key.rpartition(".")[2].removesuffix("[]").lower()):
        yield key, "…"
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from columns(each, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        yield f"{key}[]", f"#{len(value)}"
        for each in value:
            yield from columns(each, f"{key}[]")
    else:
        yield key, value


def scaled(number: float) -> float:
    """Position on a scale that is linear near 0 and logarithmic beyond."""
    return math.asinh(number / EPSILON) / STEP


def renamed(record: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The record with today's keys."""

    def today(full: str, name: str) -> str:
        found = (new for old, new in RENAMED.items() if full.endswith(old if old.startswith("/") else f".{old}"))
        return next(found, name)

    def line(where: str, of: str) -> str:
        names, between, rest = of.rpartition(" = ")
        return ", ".join(today(f"{where}.{name}", name) for name in names.split(", ")) + between + rest

    return {
        name: {key: line(f"{name}.{key}" if key else name, each) for key, each in of.items()}
        for name, of in record.items()
    }


def before(text: str, behind: str = "!?[<>=~]") -> str:
    """A text with the former names of rules."""
    old = {new: key.rpartition(".")[2] for key, new in RENAMED.items()}
    return re.sub(rf"\b({'|'.join(old)})(?={behind})", lambda name: old[name[1]], text)


def written(columns: dict[str, list[Any]]) -> str:
    """What belongs together: the names, a hash of everything but numbers with a point, and letters for each of those.

    A letter is the sum of neighbours where a column is long: they are even then, but for a machine's rounding.
    """
    pointed = {
        name: [scaled(each) for each in values if isinstance(each, float) and math.isfinite(each)]
        for name, values in columns.items()
    }
    rest = [
        ["." if isinstance(each, float) and math.isfinite(each) else each for each in values]
        for values in columns.values()
    ]
    letters = ""
    for points in pointed.values():
        size = -(-len(points) // MOST) or 1
        sums = [sum(points[at : at + size]) for at in range(0, len(points), size)]
        letters += "".join(LETTERS[round(each) % len(LETTERS)] for each in sums)
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:6]
    return f"{', '.join(columns)} = {digest} {letters}".strip()


def entry(found: Iterator[tuple[str, Any]], place: Path) -> dict[str, str]:
    """The summary of each dictionary, list or table, by its position."""
    gathered: dict[str, dict[str, list[Any]]] = {}
    for key, value in found:
        said = before(re.sub(r"\d\.\d+", "0.0", value.replace(str(place), ""))) if isinstance(value, str) else value
        stands, _, name = key.replace(str(place), "").rpartition(".")
        gathered.setdefault(stands, {}).setdefault(name, []).append(said)
    return {stands: written(columns) for stands, columns in gathered.items()}


def cells(file: Path) -> Iterator[tuple[str, Any]]:
    """(column, cell) of a CSV, where numbers are numbers."""
    with file.open(newline="", encoding="utf-8-sig") as lines:
        head, *rows = csv.reader(lines)
    for row in rows:
        for name, cell in zip(head, row, strict=True):
            yield name.replace(".", ""), float(cell) if re.fullmatch(r"-?\d+(\.\d+(e-?\d+)?|e-?\d+)", cell) else cell


def helped() -> Iterator[tuple[str, dict[str, str]]]:
    """Every command with its arguments, options and defaults."""
    import typer

    from core.cli import app

    def walk(command: Any, name: str) -> Iterator[tuple[str, dict[str, str]]]:
        for each, below in getattr(command, "commands", {}).items():
            yield from walk(below, f"{name} {each}".strip())
        if not getattr(command, "commands", {}):
            asked = [
                (each.name if each.param_type_name == "argument" else "/".join(each.opts), each.required, each.default)
                for each in command.params
            ]
            said = [str(each[0]) + ("!" if each[1] else f"={each[2]}" if each[2] else "") for each in asked]
            yield f"help {name}", {"": " ".join(sorted(said))}

    yield from walk(typer.main.get_command(app), "")


def answers(place: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Every entry of the record, computed now."""
    yield from helped()
    for name, arguments in COMMANDS.items():
        code, out, err = call(place, *arguments, "--json")
        if code:
            told = before(re.sub(r"\s+", "", err.replace(str(place), "")), ",")
            yield name, {"": written({f"exit {code}": [told]})}
        else:
            yield name, entry(columns(json.loads(out)), place)
    for name, arguments in DRAWN.items():
        folder = place / "drawn" / name
        code, out, err = call(place, "figures", arguments[0], "--to", str(folder), "--csv", *arguments[1:], "--json")
        assert code == 0, err
        yield f"figures {name}", entry(columns(json.loads(out)["left_out"]), place)
        for file in sorted(set(folder.glob("*.csv")) - {folder / "compare-cost.csv"}):
            yield f"figures {name}/{file.stem}", entry(cells(file), place)


def differing(before: str, now: str, places: int = 1) -> bool:
    """Whether a value differs by more than machines do."""
    (hashed, _, points), (hashed_now, _, points_now) = before.rpartition(" "), now.rpartition(" ")
    if before == now or " = " not in hashed:
        return before != now
    apart = [(LETTERS.index(a) - LETTERS.index(b)) % 64 for a, b in zip(points, points_now, strict=False)]
    return (
        hashed != hashed_now or len(points) != len(points_now) or any(min(each, 64 - each) > places for each in apart)
    )


def differences(before: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> list[str]:
    """Return a line for each recorded entry, key or column that is missing, moved or different."""
    said = [f"{name}: is gone" for name in before if name not in now]
    for name in (name for name in before if name in now):
        kept, found = before[name], now[name]
        said += [f"{name}: {key} is {'gone' if key in kept else 'new'}" for key in kept.keys() ^ found.keys()]
        said += [
            f"{name}: {key or 'it'} is another one\n    {kept[key]}\n    {found[key]}"
            for key in kept
            if key in found and differing(kept[key], found[key], LOOSE.get(name, 1))
        ]
        if list(kept) != list(found) and kept.keys() == found.keys():
            said.append(f"{name}: its keys come in another order")
    return said


def test_predictions_and_figures_are_unchanged(tmp_path):
    furnish(tmp_path)
    said = differences(renamed(json.loads(RECORD.read_text())), dict(answers(tmp_path)))
    assert not said, "\n".join(said)


def test_keys_are_renamed_by_the_table():
    told = "n, said = 0f A"
    record = {"errors": {"": told, "rows[]": told}, "figures A/errors": {"": told}, "figures A/words": {"": told}}
    kept, now = "n, said = 0f A", "n, predicted = 0f A"
    assert list(renamed(record).values()) == [{"": kept, "rows[]": now}, {"": now}, {"": kept}]
    assert (
        before("true=bad;p_predicted<0.2, is predicted; true!=bad") == "truth=bad;p_said<0.2, is predicted; truth!=bad"
    )


def test_changed_number_key_order_or_text_is_detected_but_not_rounding():
    whole = {"rows": [{"n": 1, "share": 0.25, "said": "good"}, {"n": 2, "share": 0.5, "said": "bad"}]}

    def seen(changed: Any) -> list[str]:
        return differences(*({"verb": entry(columns(each), Path("/x"))} for each in (whole, changed)))

    rows = whole["rows"]
    assert not seen({"rows": [rows[0] | {"share": 0.2500001}, rows[1]]})
    for changed in (
        [rows[0] | {"share": 0.2505}, rows[1]],
        [rows[0], rows[1] | {"n": 3}],
        [rows[0], rows[1] | {"said": "odd"}],
        rows[::-1],
        [dict(reversed(each.items())) for each in rows],
    ):
        [said] = seen({"rows": changed})
        assert said.startswith("verb: rows[] is another one")
    assert len(seen({"rows": rows[:1]})) == 2


def write(starts: list[str]) -> None:
    """Write the record, or only entries whose names start with the given words."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        os.environ |= {"HF_HUB_OFFLINE": "1", "HOME": str(place), "COLUMNS": "200"}
        furnish(place)
        now = dict(answers(place))
    kept = json.loads(RECORD.read_text()) if starts else {}
    kept |= {name: found for name, found in now.items() if not starts or name.startswith(tuple(starts))}
    lines = [f"{json.dumps(name)}: {json.dumps(found, ensure_ascii=False)}" for name, found in kept.items()]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))
    write(sys.argv[1 + sys.argv[1:].index("--write") + 1 :] if "--write" in sys.argv else sys.exit(__doc__))
