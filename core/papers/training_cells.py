"""Training cells: one training of a preset on a data set with one seed, planned in `recipes.json`.

A finished cell is one JSON line of the file of its group, written at once, so that an interrupted plan can be resumed.
`predicted` holds the predictions on the test split (`pack_rows`), and `labels.json` the true labels under the key
`test`: other metrics and paired tests need no training, and no text is stored.
"""

from __future__ import annotations

import base64
import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from core.atomic import make_folder, write_text
from core.exceptions import Cancelled, InputError, NotAvailable, SentiscopeError
from core.lazy_imports import numpy as np
from core.paper_settings import FINE_TUNINGS

HERE = Path(__file__).parent
RESULTS = HERE / "results"
"""The committed results."""
LABELS = "labels.json"
METRICS = ("accuracy", "precision_macro", "recall_macro", "f1_macro", "precision_weighted", "f1_weighted", "f1_micro")
PROBABLE = ("roc_auc", "average_precision", "loss", "ece")
DIGITS = 5
RECIPE = "recipe"
"""Not a setting: the fine-tuning recipe of a cell."""
EDIT = "edit"
"""Not a setting: what `evaluate --edit` changes in the trained model of a cell, to predict the test split again."""
Line = dict[str, Any]
Tell = Callable[[str, float | None], None]


class TrainingCell(NamedTuple):
    """A training cell; `name` is what the tables call its model."""

    group: str
    data: str
    model: str
    settings: dict[str, Any]
    """Dotted settings in addition to the preset, and the name of a fine-tuning recipe."""
    seed: int
    name: str
    seconds: float
    """Estimated duration on two cores."""

    @property
    def key(self) -> str:
        """Unique name within its group."""
        return make_key(self._asdict())

    def to_line(self) -> Line:
        """Return the fields that identify the cell in a file of results."""
        return {name: value for name, value in self._asdict().items() if name not in ("name", "seconds")}

    @property
    def backbone(self) -> str:
        """The pretrained encoder; empty: none."""
        recipe = self.settings.get(RECIPE, "")
        return str(FINE_TUNINGS[recipe].backbone if recipe else self.settings.get("model.backbone", ""))

    @property
    def needs(self) -> str:
        """The data set, and the pretrained encoder if there is one."""
        return " and ".join(filter(None, (self.data, self.backbone)))


def make_key(line: Line) -> str:
    """Return the fields that a cell and its line have in common."""
    return json.dumps([line["model"], line["settings"], line["seed"]], sort_keys=True)


@cache
def read_recipes() -> dict[str, Any]:
    """Return the version, tables and groups of the recipes."""
    found: dict[str, Any] = json.loads((HERE / "recipes.json").read_text(encoding="utf-8"))
    return found


def list_cells(group: Mapping[str, Any], seeds: int = 0, scale: str = "") -> Iterator[TrainingCell]:
    """Yield the cells of a group: models by settings by `seeds` (0: the recipe's), of a `scale` (empty: all)."""
    for part in group["cells"]:
        if scale not in ("", part.get("scale", group.get("scale", "small"))):
            continue
        names, values = list(part.get("grid", {})), list(part.get("grid", {}).values())
        parts = (read_recipes()["shared"][name] for name in part.get("shared", ()))
        shared = {name: value for each in parts for name, value in each.items()}
        chosen_seeds = range(seeds) if seeds and not names and not part["models"][0].startswith("tfidf") else None
        for model, chosen, seed in product(part["models"], product(*values), chosen_seeds or part["seeds"]):
            settings = group["settings"] | shared | part.get("settings", {}) | dict(zip(names, chosen, strict=True))
            seconds = 60.0 if model.startswith("tfidf") else part.get("seconds", group["seconds"])
            name = ", ".join([part.get("name", model), *(f"{value:g}" for value in chosen if "data.fold" not in names)])
            yield TrainingCell(group["group"], group["data"], model, settings, seed, name, seconds)


def read_lines(folders: Sequence[Path], group: str) -> dict[str, Line]:
    """Return key → last line of a group (a failure replaces no result); InputError: unreadable or damaged."""
    found: dict[str, Line] = {}
    for file in (folder / f"{group}.jsonl" for folder in folders):
        for number, text in enumerate(_read_text(file).splitlines(), 1):
            try:
                line = json.loads(text)
                key = make_key(line)
                if not ("failed" in line or (line["metrics"]["test"] and line["predicted"] and line["test"])):
                    raise KeyError("metrics")
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{file}: line {number} is damaged; delete it, and --resume trains it again") from None
            if "failed" not in line or key not in found:
                found[key] = line
    return found


def _read_text(file: Path) -> str:
    """Return the text of a file of results, empty if there is none; InputError: it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None


def read_labels(folders: Sequence[Path]) -> dict[str, Line]:
    """Return the true labels of the test splits by key; InputError: a file cannot be read, or is damaged."""
    found: dict[str, Line] = {}
    for file in (folder / LABELS for folder in folders):
        try:
            found |= json.loads(_read_text(file) or "{}")
        except (ValueError, TypeError):
            raise InputError(f"{file} is damaged; the labels are needed to read the results next to it") from None
    return found


def pack_rows(rows: np.ndarray) -> str:
    """Return class indices (n,) or 0/1 labels (n, C) as text, in as few bits as possible."""
    if rows.ndim == 1:
        bits = max(1, int(rows.max(initial=0)).bit_length())
        rows = rows[:, None] >> np.arange(bits) & 1
    compressed = zlib.compress(np.packbits(rows.astype(bool)).tobytes(), 9)
    return f"{rows.shape[1]}:{base64.b85encode(compressed).decode()}"


def unpack_rows(text: str, n: int, *, several: bool = False) -> np.ndarray:
    """Return the array that `pack_rows` encoded."""
    bits, _, rest = text.partition(":")
    flat = np.unpackbits(np.frombuffer(zlib.decompress(base64.b85decode(rest)), np.uint8))
    rows = flat[: n * int(bits)].reshape(n, int(bits))
    return rows if several else rows @ (1 << np.arange(int(bits)))


def _encode_labels(names: Any, classes: Sequence[str], several: bool) -> str:
    if not several:
        return pack_rows(names.map({name: number for number, name in enumerate(classes)}).to_numpy(np.int64))
    sets = [set(filter(None, (part.strip() for part in str(row).split(",")))) for row in names]
    return pack_rows(np.array([[name in row for name in classes] for row in sets], np.uint8))


def train_cell(cell: TrainingCell, device: str, revision: str) -> tuple[Line, dict[str, Line]]:
    """Train one cell; return its line, and the true labels of the test split by key."""
    import pandas as pd

    from core.runs.configuration import configure_with_recipe
    from core.runs.evaluation_data import DataRequest, predict_rows, read_evaluation_data
    from core.runs.load import load_run
    from core.runs.record import EVALUATION, PREDICTIONS
    from core.runs.store import RunStore
    from core.runs.training_jobs import execute

    line = cell.to_line()
    settings = {
        name: os.path.expandvars(value) if isinstance(value, str) else value for name, value in cell.settings.items()
    }
    recipe, edit = settings.pop(RECIPE, ""), settings.pop(EDIT, "")
    settings |= {"training.device": device, "training.threads": 1, "training.seed": cell.seed}
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        try:
            config, used = configure_with_recipe(cell.data, cell.model, settings, recipe, store=store)
            record = execute(store, store.create(config, cell.model, "cell", exactly=True, recipe=used).run)
            if record.status != "done":
                return line | {"failed": record.reason}, {}
        except SentiscopeError as error:
            return line | {"failed": str(error)}, {}
        table = pd.read_parquet(store.get_path("cell") / EVALUATION / "test" / PREDICTIONS)
        if edit:
            loaded = load_run(store, "cell").edit_all(edit)
            found = predict_rows(loaded, read_evaluation_data(record, DataRequest())).probabilities.argmax(1)
            changed = np.array(record.classes)[found] != table["predicted"].to_numpy()
            line |= {"edited": pack_rows(found), "changed": int(changed.sum())}
    several = record.task == "multi"
    labels = {
        "task": record.task,
        "classes": list(record.classes),
        "n": len(table),
        "labels": _encode_labels(table["label"], record.classes, several),
    }
    key = hashlib.blake2b(json.dumps(labels).encode(), digest_size=4).hexdigest()
    predicted = {"test": key, "predicted": _encode_labels(table["predicted"], record.classes, several)}
    return line | _describe_results(record) | {"revision": revision} | predicted, {key: labels}


def _describe_results(record: Any) -> Line:
    results = record.results
    metrics = {
        split: _round_metrics(values) for split, values in results["metrics"].items() if split in ("validation", "test")
    }
    tuned = {split: _round_metrics(values) for split, values in results.get("tuned", {}).get("metrics", {}).items()}
    silhouette = results.get("silhouette", {}).get("test", {}).get("overall")
    return {
        "metrics": metrics,
        **({"tuned": tuned} if tuned else {}),
        **({"lambda": results["lambda"]} if results.get("lambda") else {}),
        **({"silhouette": round(silhouette, DIGITS)} if silhouette is not None else {}),
        **{name: results[name] for name in ("best_epoch", "steps", "C") if name in results},
        "vocabulary": record.vocabulary,
        "parameters": record.parameters,
        "seconds": round(record.seconds, 1),
        "device": record.device,
        "torch": record.versions.get("torch", ""),
    }


def _round_metrics(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(values[name], DIGITS) for name in (*METRICS, *PROBABLE) if values.get(name) is not None}


def append_result(folder: Path, line: Line, labels: Mapping[str, Line]) -> None:
    """Store the result of a cell."""
    make_folder(folder)
    with (folder / f"{line['group']}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    known = read_labels([folder])
    if labels.keys() - known.keys():
        rows = [
            f"{json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in {**known, **labels}.items()
        ]
        write_text(folder / LABELS, "{\n" + ",\n".join(rows) + "\n}\n")


def train_cells(
    cells: Sequence[TrainingCell], folder: Path, tell: Tell, *, device: str = "cpu", workers: int = 1
) -> int:
    """Train cells in parallel, and store each result at once; return the number of failed cells."""
    from core.runs import pipeline  # noqa: F401 - imported once, before the workers are forked
    from core.runs.training_jobs import handle_stop_signals

    os.environ["SENTISCOPE_JOBS"] = str(workers)
    revision, ended, failed = find_revision(), 0, 0
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context)
    jobs = {pool.submit(train_cell, cell, device, revision): cell for cell in cells}
    waiting = set(jobs)
    with handle_stop_signals() as stopped, pool:
        while waiting and not stopped.is_set():
            finished, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
            for job in (each for each in jobs if each in finished):  # in the order of the cells
                error = job.exception()
                if isinstance(error, BrokenProcessPool):
                    raise NotAvailable("a training process was killed, perhaps for want of memory; --resume continues")
                told = {"failed": f"{type(error).__name__}: {error}"}
                line, labels = (jobs[job].to_line() | told, {}) if error else job.result()
                append_result(folder, line, labels)
                ended, failed = ended + 1, failed + ("failed" in line)
                result = line.get("failed") or f"F1 {line['metrics']['test']['f1_macro']:.4f}, {line['seconds']} s"
                tell(f"{line['group']} {line['model']} seed {line['seed']}: {result}", ended / len(cells))
        if stopped.is_set():
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()  # a training saves nothing and ends
            raise Cancelled("stopped; --resume continues")
    return failed


def find_revision() -> str:
    """Return the commit of this checkout, or SENTISCOPE_REVISION where there is none."""
    if known := os.environ.get("SENTISCOPE_REVISION"):
        return known
    asked = ["git", "-C", str(HERE), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
