"""Records of finished runs without training."""

import json
import shutil
from pathlib import Path

from core.config import compose
from core.runs.record import RECORD, RunRecord


def run(name: str, accuracy: float | None = None, *, status="done", task="single", **settings) -> RunRecord:
    """One of `vanilla` with this accuracy (macro F1) on test, and TF-IDF at 0.7; settings with `__` for the dot."""
    given = {each.replace("__", "."): value for each, value in settings.items()}
    results = {}
    if accuracy is not None:
        metric = "accuracy" if task == "single" else "f1_macro"
        results = {
            "metrics": {"test": {metric: accuracy, "loss": 1 - accuracy}},
            "intervals": {"test": {metric: [accuracy - 0.02, accuracy + 0.02], "loss": [0.0, 1.0]}},
            "yardstick": {"splits": {"test": {metric: 0.7}}},
        }
    if task == "multi" and accuracy is not None:
        interval = {"test": {"f1_macro": [accuracy, accuracy + 0.2]}}
        results["tuned"] = {"metrics": {"test": {"f1_macro": accuracy + 0.1}}, "intervals": interval}
        results["yardstick"]["tuned"] = {"splits": {"test": {"f1_macro": 0.75}}}
    config = compose("vanilla", given)
    return RunRecord(name, "vanilla", status, config, "", classes=("no", "yes"), task=task, results=results)


def copied(runs: Path, name: str, **changes) -> None:
    """A run like `finished`, with another name and settings (`__` for the dot)."""
    shutil.copytree(runs / "finished", runs / name)
    record = json.loads((runs / name / RECORD).read_text())
    for key, value in changes.items():
        *path, last = key.split("__")
        tree = record
        for part in path:
            tree = tree[part]
        tree[last] = value
    (runs / name / RECORD).write_text(json.dumps(record))
