"""Train what the papers' tables are compared with: the cells of `recipe.json` that `results/` lacks.

    export SENTISCOPE_DATA=...  # a folder with the sets
    python tests/benchmarks/papers/train.py [--groups ndt-twitter-financial] [--models tfidf] [--device cuda]
        [--workers 8] [--minutes 60] [--dry-run] [--print]

A cell is one training of a preset on a data set with one seed, as `sentiscope train` does it. Each that ends is a line
of the file of its group at once, so that whoever comes later goes on where the last one stopped. `predicted` holds the
answers on the test split (`packed`), and `labels.json` what the texts are labelled, under the name that `test` gives:
other metrics and paired tests need no training and no text.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import multiprocessing
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from core.api.training import train
from core.exceptions import SentiscopeError
from core.papers.reported_results import select_reported
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore

HERE = Path(__file__).parent
RECIPE = HERE / "recipe.json"
RESULTS = HERE / "results"
LABELS = "labels.json"
METRICS = ("accuracy", "precision_macro", "recall_macro", "f1_macro", "precision_weighted", "f1_weighted", "f1_micro")
PROBABLE = ("roc_auc", "average_precision", "loss", "ece")
DIGITS = 5
IDLE = 5
"""Seconds after which a worker without a cell ends."""
Line = dict[str, Any]


class Cell(NamedTuple):
    """One training."""

    group: str
    data: str
    model: str
    settings: dict[str, Any]
    """Dotted settings in addition to the preset."""
    seed: int

    @property
    def key(self) -> str:
        """Unique name within its group."""
        return key_of(self._asdict())


def key_of(line: Line) -> str:
    """Return the fields that a cell and its line have in common."""
    return json.dumps([line["model"], line["settings"], line["seed"]], sort_keys=True)


def read_groups() -> list[dict[str, Any]]:
    """Return the groups of the recipe in training order."""
    groups: list[dict[str, Any]] = json.loads(RECIPE.read_text(encoding="utf-8"))["groups"]
    return groups


def cells_of(group: dict[str, Any]) -> Iterator[Cell]:
    """Yield the cells of a group: models by settings by seeds."""
    for part in group["cells"]:
        names, values = list(part.get("grid", {})), list(part.get("grid", {}).values())
        for model, chosen, seed in product(part["models"], product(*values), part["seeds"]):
            settings = {**group["settings"], **part.get("settings", {}), **dict(zip(names, chosen, strict=True))}
            yield Cell(group["group"], group["data"], model, settings, seed)


def read_lines(folder: Path, group: str) -> list[Line]:
    """Return the lines of a group; for repeated cells only the last line."""
    file = folder / f"{group}.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    return list({key_of(line): line for line in lines}.values())


def missing(folder: Path, groups: Sequence[dict[str, Any]], models: Sequence[str]) -> list[Cell]:
    """Return the cells without a line, for models whose names start with one of these words."""
    found = []
    for group in groups:
        known = {key_of(line) for line in read_lines(folder, group["group"]) if "failed" not in line}
        found += [cell for cell in cells_of(group) if cell.key not in known and cell.model.startswith(tuple(models))]
    return found


def packed(rows: np.ndarray) -> str:
    """Return class numbers (n,) or 0/1 labels (n, C) as text, in as few bits as possible."""
    if rows.ndim == 1:
        bits = max(1, int(rows.max(initial=0)).bit_length())
        rows = rows[:, None] >> np.arange(bits) & 1
    compressed = zlib.compress(np.packbits(rows.astype(bool)).tobytes(), 9)
    return f"{rows.shape[1]}:{base64.b85encode(compressed).decode()}"


def unpacked(text: str, n: int, *, several: bool = False) -> np.ndarray:
    """Return the array that `packed` encoded."""
    bits, _, rest = text.partition(":")
    flat = np.unpackbits(np.frombuffer(zlib.decompress(base64.b85decode(rest)), np.uint8))
    rows = flat[: n * int(bits)].reshape(n, int(bits))
    return rows if several else rows @ (1 << np.arange(int(bits)))


def coded(names: pd.Series, classes: Sequence[str], several: bool) -> np.ndarray:
    """Return the column of a prediction table in the form for `packed`."""
    if not several:
        return names.map({name: number for number, name in enumerate(classes)}).to_numpy(np.int64)
    said = [set(filter(None, (part.strip() for part in str(row).split(",")))) for row in names]
    return np.array([[name in row for name in classes] for row in said], np.uint8)


def perform(cell: Cell, device: str, revision: str) -> tuple[Line, dict[str, Line]]:
    """Train one cell; return its line, and the labels of the test texts under its name."""
    line: Line = cell._asdict()
    settings = {
        name: os.path.expandvars(value) if isinstance(value, str) else value for name, value in cell.settings.items()
    }
    settings |= {"training.device": device, "training.threads": 1}
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        try:
            train(cell.data, cell.model, settings, seed=cell.seed, name="cell", store=store)
        except SentiscopeError as error:
            return line | {"failed": str(error)}, {}
        record = store.read("cell")
        said = pd.read_parquet(store.get_path("cell") / EVALUATION / "test" / PREDICTIONS)
    labels = {
        "task": record.task,
        "classes": list(record.classes),
        "n": len(said),
        "labels": _packed(record, said["label"]),
    }
    name = hashlib.blake2b(json.dumps(labels).encode(), digest_size=4).hexdigest()
    told = _told(record) | {"revision": revision, "test": name, "predicted": _packed(record, said["predicted"])}
    return line | told, {name: labels}


def _packed(record: RunRecord, names: pd.Series) -> str:
    return packed(coded(names, record.classes, record.task == "multi"))


def _told(record: RunRecord) -> Line:
    results = record.results
    metrics = {
        split: _rounded(values) for split, values in results["metrics"].items() if split in ("validation", "test")
    }
    tuned = {split: _rounded(values) for split, values in results.get("tuned", {}).get("metrics", {}).items()}
    return {
        "metrics": metrics,
        **({"tuned": tuned} if tuned else {}),
        **({"lambda": results["lambda"]} if results.get("lambda") else {}),
        **({"silhouette": round(apart, DIGITS)} if (apart := _silhouette(record)) is not None else {}),
        **{name: results[name] for name in ("best_epoch", "steps", "C") if name in results},
        "vocabulary": record.vocabulary,
        "parameters": record.parameters,
        "seconds": round(record.seconds, 1),
        "device": record.device,
        "torch": record.versions.get("torch", ""),
    }


def _silhouette(record: RunRecord) -> float | None:
    return record.results.get("silhouette", {}).get("test", {}).get("overall")


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(values[name], DIGITS) for name in (*METRICS, *PROBABLE) if values.get(name) is not None}


def _work(tasks: Any, done: Any, device: str, revision: str) -> None:
    """Train cells until none are left."""
    with contextlib.suppress(queue.Empty):
        while True:
            cell = tasks.get(timeout=IDLE)
            try:
                done.put(perform(cell, device, revision))
            except Exception as error:  # a failed cell must not stop the others
                done.put((cell._asdict() | {"failed": f"{type(error).__name__}: {error}"}, {}))


def keep(folder: Path, line: Line, labels: dict[str, Line]) -> None:
    """Write the result of a cell."""
    with (folder / f"{line['group']}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    known = json.loads((folder / LABELS).read_text(encoding="utf-8")) if (folder / LABELS).is_file() else {}
    if labels.keys() - known.keys():
        rows = [
            f"{json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in (known | labels).items()
        ]
        (folder / LABELS).write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def fill(cells: Sequence[Cell], folder: Path, device: str, workers: int, seconds: float) -> None:
    """Train cells in parallel within the time limit; unfinished cells are lost."""
    from core.runs import pipeline  # noqa: F401 - read once, before the workers are made of this process

    os.environ["SENTISCOPE_JOBS"] = str(workers)
    ends, revision = time.monotonic() + seconds, revision_here()
    forked = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    tasks, done = forked.Queue(), forked.Queue()
    processes = [forked.Process(target=_work, args=(tasks, done, device, revision)) for _ in range(workers)]
    for process in processes:
        process.start()
    for cell in cells:
        tasks.put(cell)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(queue.Empty):
        for number in range(1, len(cells) + 1):
            line, labels = done.get(timeout=max(0.0, ends - time.monotonic()))
            keep(folder, line, labels)
            said = line.get("failed") or f"F1 {line['metrics']['test']['f1_macro']:.4f}, {line['seconds']} s"
            told = f"{line['group']} {line['model']} {line['settings']} {line['seed']}"
            print(f"{number}/{len(cells)} {told}: {said}", flush=True)
    for process in processes:
        process.kill()


def chosen(lines: Sequence[Line], metric: str) -> float | None:
    """Return the test score, in %, of the TF-IDF model with the better validation score, over all folds."""
    scores: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        if line["model"].startswith("tfidf") and "failed" not in line:
            pair = (line["metrics"]["validation"][metric], line["metrics"]["test"][metric])
            scores.setdefault(line["model"], []).append(pair)
    means = [tuple(100 * statistics.mean(each) for each in zip(*pairs, strict=True)) for pairs in scores.values()]
    return max(means)[1] if means else None


def reported_of(group: dict[str, Any]) -> dict[str, float]:
    """Return the paper's value for each model of a group, in % or points."""
    asked = group["reported"]
    if not asked:
        return {}
    rows = select_reported(paper=group["paper"], dataset=asked["dataset"], metric=asked["metric"])
    printed = {(row.model, row.variant): row.value * (1 if row.unit else 100) for row in reversed(rows)}
    return {model: printed[name] for model, names in asked["rows"].items() if (name := tuple(names)) in printed}


def show(folder: Path, groups: Sequence[dict[str, Any]]) -> None:
    """Print the table of README.md: the project's values, with the paper's in brackets."""
    labels = json.loads((folder / LABELS).read_text(encoding="utf-8"))
    print("| group (n of test) | TF-IDF | ours, mean ± standard deviation × seeds or folds (reported) |")
    print("|---|---:|---|")
    for group in groups:
        lines = [line for line in read_lines(folder, group["group"]) if "failed" not in line]
        if lines:
            several = sorted({labels[line["test"]]["n"] for line in lines})
            tests = " to ".join(f"{n:,}" for n in dict.fromkeys((several[0], several[-1])))
            left = f"; {lacking} missing" if (lacking := len(missing(folder, [group], [""]))) else ""
            words = chosen(lines, group["metric"]) if axis_of(group) != "data.limit" else None
            tfidf = "" if words is None else f"{words:.1f}"
            said = " · ".join(told_of(group, scores_of(group, lines)))
            print(f"| {group['title']} ({tests}{left}) | {tfidf} | {said} |")


def told_of(group: dict[str, Any], ours: dict[str, dict[Any, list[float]]]) -> Iterator[str]:
    """Yield each model with its scores, or with its gain over the paper's reference model."""
    printed, without = reported_of(group), group.get("baseline")
    base = statistics.mean(ours[without][None]) if without else 0.0
    for model, points in ours.items():
        gain = bool(without) and model != without
        form = "+.1f" if gain else ".1f"
        parts = []
        for value, scores in points.items():
            spread = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
            at = "" if value is None else f"{value:g}: "
            parts.append(f"{at}{statistics.mean(scores) - gain * base:{form}}{spread} × {len(scores)}")
        yield f"{model} {', '.join(parts)}" + (f" ({printed[model]:{form}})" if model in printed else "")


def axis_of(group: dict[str, Any]) -> str:
    """Return the setting along which a group forms a curve; none for folds."""
    return next((name for part in group["cells"] for name in part.get("grid", {}) if name != "data.fold"), "")


def scores_of(group: dict[str, Any], lines: Sequence[Line]) -> dict[str, dict[Any, list[float]]]:
    """Return the test scores in % by model and by value of the axis, in the order of the recipe."""
    axis = axis_of(group)
    known = {key_of(line): 100 * line["metrics"]["test"][group["metric"]] for line in lines}
    found: dict[str, dict[Any, list[float]]] = {}
    for cell in cells_of(group):
        if cell.key in known and (axis == "data.limit" or not cell.model.startswith("tfidf")):
            found.setdefault(cell.model, {}).setdefault(cell.settings.get(axis), []).append(known[cell.key])
    return found


def revision_here() -> str:
    """Return the commit of this checkout, or SENTISCOPE_REVISION where there is none."""
    if known := os.environ.get("SENTISCOPE_REVISION"):
        return known
    asked = ["git", "-C", str(HERE), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", default="", help="names of the recipe, with commas; empty: all")
    parser.add_argument("--models", default="", help="beginnings of presets, with commas; empty: all")
    parser.add_argument("--device", default="cpu", help="as training.device")
    parser.add_argument("--workers", type=int, default=1, help="trainings side by side")
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="after which everything stops")
    parser.add_argument("--to", type=Path, default=RESULTS)
    parser.add_argument("--print", action="store_true", help="print the table of README.md and train nothing")
    parser.add_argument("--dry-run", action="store_true", help="list what is missing")
    asked = parser.parse_args()
    groups = [group for group in read_groups() if not asked.groups or group["group"] in asked.groups.split(",")]
    if asked.print:
        show(asked.to, groups)
        return
    cells = missing(asked.to, groups, asked.models.split(","))
    if asked.dry_run:
        for cell in cells:
            print(cell.group, cell.data, cell.model, cell.settings, cell.seed)
        print(f"{len(cells)} missing")
        return
    fill(cells, asked.to, asked.device, asked.workers, 60 * asked.minutes)


if __name__ == "__main__":
    main()
