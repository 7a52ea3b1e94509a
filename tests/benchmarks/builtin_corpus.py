"""What models reach on the built-in corpus, per phenomenon: writes the figures that its data card carries.

for s in 0 1 2; do sentiscope train --seed $s --name builtin-n3-s$s; done
sentiscope train --model vanilla --name builtin-vanilla-s0
python tests/benchmarks/builtin_corpus.py builtin-n3-s0 builtin-n3-s1 builtin-n3-s2 builtin-vanilla-s0
"""

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

import pandas as pd

from core.data.config import DataConfig
from core.data.load import load_dataset
from core.data.sources.builtin import corpus_files
from core.evaluation.baseline import fit_baseline
from core.runs.record import EVALUATION, PREDICTIONS
from core.runs.store import RunStore

SPLITS = ("test", "challenge", "everyday")
TARGET = Path(corpus_files.__file__).with_name("measured.json")


def correct(store: RunStore, run: str, split: str) -> pd.DataFrame:
    """Phenomenon, mark of unseen rows, and correctness of the run, row by row."""
    rows = pd.read_parquet(store.get_path(run) / EVALUATION / split / PREDICTIONS)
    return rows.assign(correct=rows["label"] == rows["predicted"])[["phenomenon", "unseen", "correct"]]


def figures(store: RunStore, runs: list[str], classes: int) -> dict[str, Any]:
    """Accuracies over the seeds of one model: mean per phenomenon, and each seed's overall."""
    splits = {}
    for split in SPLITS:
        frames = [correct(store, run, split) for run in runs]
        pooled = pd.concat(frames)
        splits[split] = {
            "rows": len(frames[0]),
            "accuracy": [round(float(frame["correct"].mean()), 4) for frame in frames],
            "unseen words": round(float(pooled["correct"][pooled["unseen"]].mean()), 4) if split == "test" else None,
            "phenomena": pooled.groupby("phenomenon")["correct"].mean().round(4).to_dict(),
        }
    config = store.read(runs[0]).config
    return {"seeds": len(runs), "epochs": config.training.epochs, "classes": classes, "splits": splits}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    arguments = parser.parse_args()
    store, dataset = RunStore(), load_dataset(DataConfig())
    models: dict[str, list[str]] = {}
    for run in arguments.runs:
        record = store.read(run)
        if record.status != "done" or record.data_fingerprint != dataset.fingerprint:
            parser.error(f"{run} is {record.status}, or was not trained on the corpus as it is now")
        models.setdefault(record.preset, []).append(run)
    known = fit_baseline(dataset)
    bag = {"splits": {name: {"accuracy": [round(known["splits"][name]["accuracy"], 4)]} for name in SPLITS}}
    bag["splits"]["test"]["phenomena"] = {name: round(value, 4) for name, value in known["phenomena"].items()}
    card = {
        "fingerprint": dataset.fingerprint,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "models": {
            "tfidf-logreg": bag,
            **{preset: figures(store, runs, len(dataset.classes)) for preset, runs in models.items()},
        },
        "challenge labels": json.loads(TARGET.read_text("utf-8"))["challenge labels"],
    }
    TARGET.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
