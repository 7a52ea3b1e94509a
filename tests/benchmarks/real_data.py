"""The table of public data sets in README.md here: trains what `real_data.csv` lacks, keeps and prints what it found.

    export SENTISCOPE_DATA=...  # a folder with the sets
    python tests/benchmarks/real_data.py [--sets twitter_financial,tweeteval_emotion] [--models strong] [--print]

A row of the file is one model on one set with all its seeds; finished rows are kept, so a stopped run continues. Each
training is its own process; seconds are CPU seconds.

`patterns` holds what paired tests need: how many test rows TF-IDF of words and each seed get right. `10:31`: 31 rows
that TF-IDF gets right and the seed wrong. `together`: the same for the mean probability of the three seeds. If TF-IDF
of words and characters is better on validation, it is the reference. Which rows it gets right is known only beside
TF-IDF of words, so the pairing with the most disagreements is tested, and p is an upper bound.
"""

import argparse
import csv
import datetime
import os
import statistics
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import core
from core.data.load import load_dataset
from core.evaluation.baseline import YARDSTICKS, fit_baseline
from core.evaluation.comparison import HolmStep, Tested, apply_holm, round_rows, run_test
from core.evaluation.inference import EnsembleLogits, blend_logits, find_weight
from core.evaluation.metrics import build_scores
from core.evaluation.significance import ALPHA
from core.formatting import count
from core.metrics import METRICS
from core.runs.configuration import configure
from core.runs.predictions import average_answers, combine_scores, read_answers
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore

KEPT = Path(__file__).with_name("real_data.csv")
WORDS = "tfidf-logreg"
SETS = {
    "twitter_financial": ("Twitter Financial", "twitter_financial", ()),
    "tweeteval_emotion": ("TweetEval emotion", "tweeteval_emotion", ()),
    "sst2-dev": ("SST-2, official dev", "sst2", ()),
    "sst2-split": ("SST-2, 70/15/15 re-split", "sst2", ("data.split=0.7/0.15/0.15",)),
    "tweet_sentiment": ("TweetEval sentiment", "tweet_sentiment", ()),
    "sentiment140": ("Sentiment140", "sentiment140", ()),
    "imdb": ("IMDB, from 2 000 reviews", "imdb", ("data.limit=2000", "text.max_length=128")),
    "yelp": ("Yelp sentences", "yelp_polarity_sentences", ()),
    "nsmc": ("NSMC (Korean), from 30 000 reviews", "nsmc", ("data.limit=30000",)),
}
"""Key → title, registered name, settings of every model: the two largest sets are limited, so that two cores train the
whole table in a day. TF-IDF reads a text whole whatever `text.max_length` is."""
MODELS = {
    WORDS: ("TF-IDF, words", ("--model", WORDS)),
    "tfidf-logreg-chars": ("TF-IDF, words and characters", ("--model", "tfidf-logreg-chars")),
    "vanilla": ("vanilla", ("--model", "vanilla")),
    "strong": ("vanilla, `strong`", ("--model", "vanilla", "--recipe", "strong")),
    "mini-en": ("vanilla from mini-en", ("--model", "vanilla", "--from", "starter-vanilla")),
}
"""Key → title, arguments of `sentiscope train`; the first is the reference of all comparisons."""
PASSAGES = ("text.max_length=1024", "training.passages=64", "training.batch_size=32", "training.lr=3e-4")
OWN = {("imdb", "mini-en"): (*PASSAGES, "training.epochs=4", "training.patience=0", "training.word_dropout=0.1")}
"""Further settings of one model on one set: whole reviews in passages, the first of five attempts named beforehand."""
OURS = ("vanilla", "strong", "mini-en")  # models among which validation chooses
READ = {("sst2-split", "mini-en")}
"""What has read the rows it is tested on, with their labels: the re-split draws its test rows from the training rows of
SST-2, which mini-en learned from. Shown in brackets, neither tested nor chosen."""
FOREIGN = {("nsmc", "mini-en")}  # data sets in a language unknown to the model: neither trained nor shown
SEEDS = (0, 1, 2)
FIELDS = (
    *("set", "model", "arguments", "n", "validation", "accuracy", "f1_macro", "ece", "mixed", "temperature"),
    *("seconds", "megabytes", "parameters", "patterns", "together", "version", "date"),
)
Rows = dict[tuple[str, str], dict[str, str]]  # by data set and model


class Cost(NamedTuple):
    """Cost of one run in a separate process."""

    seconds: float
    megabytes: float


def kept() -> Rows:
    """Existing measurements."""
    if not KEPT.is_file():
        return {}
    with KEPT.open(newline="", encoding="utf-8") as file:
        return {(row["set"], row["model"]): row for row in csv.DictReader(file)}


def keep(rows: Rows) -> None:
    """All measurements, in the order of the table."""
    order = [(one, other) for one in SETS for other in MODELS if (one, other) in rows]
    beside = KEPT.with_suffix(".part")
    with beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[each] for each in order)
    beside.replace(KEPT)


def train_apart(store: RunStore, name: str, given: list[str]) -> Cost:
    """Return the cost of a run; a missing run is trained now in a separate process with one thread."""
    told = store.folder / f"{name}.cost"
    if not told.is_file():
        if (store.folder / name).is_dir():  # an incomplete run
            store.remove(name)
        given = [*given, "--name", name, "--set", "training.threads=1"]
        with (store.folder / f"{name}.log").open("w") as log:
            started = subprocess.Popen([sys.executable, "-m", "core.cli", "train", *given], stdout=log, stderr=log)
            _, ended, used = os.wait4(started.pid, 0)
        if ended:
            sys.exit(f"{name} failed: see {log.name}")
        told.write_text(f"{used.ru_utime + used.ru_stime:.1f} {used.ru_maxrss / 1024:.0f}\n")
    return Cost(*map(float, told.read_text().split()))


def trained(store: RunStore, key: str, model: str, seed: int) -> tuple[RunRecord, Cost]:
    """A finished run, trained now if it is missing, and its cost."""
    name, (_, data, settings) = f"{key}-{model}-{seed}", SETS[key]
    given = [*MODELS[model][1], "--data", data, "--seed", str(seed)]
    settings = (*settings, *OWN.get((key, model), ()))
    cost = train_apart(store, name, [*given, *(part for each in settings for part in ("--set", each))])
    return store.read(name), cost


def right(store: RunStore, record: RunRecord) -> np.ndarray:
    """(n,) bool: correct predictions on the test split."""
    path = store.get_path(record.run) / EVALUATION / "test" / PREDICTIONS
    rows = pd.read_parquet(path, columns=["label", "predicted"])
    return (rows["label"] == rows["predicted"]).to_numpy()


def right_together(store: RunStore, records: list[RunRecord]) -> np.ndarray:
    """(n,) bool: correct predictions on the test split by the mean over seeds."""
    said = average_answers(read_answers(store, each, "test") for each in records)
    return said.probabilities.argmax(1) == said.labels


def patterns(*right: np.ndarray) -> str:
    """Number of rows for each combination of correct models."""
    found = Counter("".join(map(str, row)) for row in np.stack(right, 1).astype(int).tolist())
    return " ".join(f"{bits}:{number}" for bits, number in sorted(found.items()))


def parts(store: RunStore, ours: RunRecord, words: RunRecord, split: str) -> tuple[EnsembleLogits, np.ndarray]:
    """Log-probabilities (n, C) of a network and of word TF-IDF on a split, and its labels."""
    read = [pd.read_parquet(store.get_path(each.run) / EVALUATION / split / PREDICTIONS) for each in (ours, words)]
    chances = [frame[[f"probability:{name}" for name in ours.classes]].to_numpy(np.float64) for frame in read]
    labels = np.array([ours.classes.index(name) for name in read[0]["label"]])
    return EnsembleLogits(*(np.log(np.maximum(each, np.finfo(np.float64).tiny)) for each in chances)), labels


def mixed_accuracy(store: RunStore, ours: RunRecord, words: RunRecord) -> float:
    """Accuracy of the mixture with word TF-IDF, weighted by validation loss."""
    weight = find_weight(*parts(store, ours, words, "validation"), "single")
    said, labels = parts(store, ours, words, "test")
    return float((blend_logits(said, weight, "single").argmax(1) == labels).mean())


def measure(store: RunStore, key: str, model: str, words: RunRecord) -> dict[str, str]:
    """One row: all seeds of a model on a data set, compared with word TF-IDF."""
    done = [trained(store, key, model, seed) for seed in (SEEDS if model not in YARDSTICKS else SEEDS[:1])]
    records, costs = [record for record, _ in done], [cost for _, cost in done]
    of_words, one_by_one = right(store, words), [right(store, each) for each in records]
    test = [record.results["metrics"]["test"] for record in records]

    def listed(values: list[float]) -> str:
        return " ".join(f"{value:.4f}" for value in values)

    return {
        "set": key,
        "model": model,
        "arguments": " ".join(MODELS[model][1]),
        "n": str(len(of_words)),
        "validation": listed([record.results["metrics"]["validation"]["accuracy"] for record in records]),
        **{name: listed([each[name] for each in test]) for name in ("accuracy", "f1_macro", "ece")},
        "mixed": listed([mixed_accuracy(store, each, words) for each in records]) if model in OURS else "",
        "temperature": listed([record.temperature for record in records]),
        "seconds": f"{statistics.mean(cost.seconds for cost in costs):.0f}",
        "megabytes": f"{max(cost.megabytes for cost in costs):.0f}",
        "parameters": str(records[0].parameters),
        "patterns": patterns(of_words, *one_by_one),
        "together": patterns(of_words, right_together(store, records)) if model in OURS else "",
        "version": core.__version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def fill(store: RunStore, keys: list[str], models: list[str]) -> None:
    """Measure what is missing, first word TF-IDF, the reference of all comparisons."""
    store.folder.mkdir(parents=True, exist_ok=True)
    for key in keys:
        _, data, settings = SETS[key]
        wanted = [model for model in models if (key, model) not in kept().keys() | FOREIGN]
        if not wanted:
            continue
        dataset = load_dataset(configure(data, WORDS, dict(each.split("=", 1) for each in settings)).data)
        for each in YARDSTICKS:  # stored, so that no run fits them again
            fit_baseline(dataset, each)
        words, _ = trained(store, key, WORDS, SEEDS[0])
        for model in wanted:
            row = measure(store, key, model, words)
            keep(kept() | {(key, model): row})
            print(f"{key} {model}: {row['accuracy']}, {row['seconds']} s", flush=True)


def unpack(patterns: str) -> np.ndarray:
    """(n, 1 + seeds): whether TF-IDF of words and each seed are right, rows in order of their bits."""
    found = [(list(map(int, bits)), int(number)) for bits, _, number in (p.partition(":") for p in patterns.split())]
    return np.repeat([bits for bits, _ in found], [number for _, number in found], 0)


def tested(patterns: str, reference: str = "") -> Tested:
    """Compare a model with TF-IDF on the same rows, by example and seed.

    `reference` are the patterns of TF-IDF of words and characters, if that is compared with. Among rows on which TF-IDF
    of words is equally right, those that it gets right are paired with those that the fewest seeds get right.
    """
    rows = unpack(patterns)
    if reference:
        other = unpack(reference)
        order, theirs = np.lexsort((rows[:, 1:].sum(1), rows[:, 0])), np.lexsort((-other[:, 1], other[:, 0]))
        rows = np.column_stack([other[theirs, 1], rows[order, 1:]])
    labels = np.zeros(len(rows), int)
    first, *seeds = (build_scores(labels, np.stack([each, 1 - each], 1).astype(float)) for each in rows.T)
    scores = {(seed, -1): combine_scores(each, first, "accuracy") for seed, each in enumerate(seeds)}
    return run_test(scores, METRICS["accuracy"])


def numbers(text: str) -> list[float]:
    return list(map(float, text.split()))


def spread(text: str) -> str:
    """Shares of several seeds in %: mean ± standard deviation."""
    values = [100 * each for each in numbers(text)]
    return f"{statistics.mean(values):.1f}" + (f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else "")


def choose(rows: Rows, done: list[str], tests: dict[tuple[str, str], Tested]) -> dict[str, str]:
    """Data set → the project's model with the best mean validation result over seeds."""

    def validated(key: str, model: str) -> float:
        return statistics.mean(numbers(rows[key, model]["validation"]))

    return {key: max((m for m in OURS if (key, m) in tests), key=partial(validated, key)) for key in done}


def corrected(tests: dict[tuple[str, str], Tested], chosen: dict[str, str]) -> dict[tuple[str, str], HolmStep]:
    """By set and model: each column is a family over the sets, and so is, under no name, what validation chose."""
    steps: dict[tuple[str, str], HolmStep] = {}
    for model in (*dict.fromkeys(model for _, model in tests), ""):
        family = {key: tests[key, model or chosen[key]] for key in chosen if (key, model or chosen[key]) in tests}
        found = apply_holm([test.p for test in family.values()])
        steps |= {(key, model): step for key, step in zip(family, found, strict=True)}
    return steps


def show(rows: Rows) -> None:
    """The table as in README.md of this folder: complete data sets only."""
    done = [key for key in SETS if all((key, model) in rows.keys() | FOREIGN for model in MODELS)]
    if not done:
        sys.exit("no set is complete")
    fair = {key: max(YARDSTICKS, key=lambda model: float(rows[key, model]["validation"])) for key in done}
    against = {key: rows[key, fair[key]]["patterns"] if fair[key] != WORDS else "" for key in done}
    pairs = [each for each in product(done, OURS) if each not in READ | FOREIGN]
    tests = {each: tested(rows[each]["patterns"], against[each[0]]) for each in pairs}
    chosen = choose(rows, done, tests)
    steps = corrected(tests, chosen)
    three = {key: tested(asked, against[key]) for key in done if (asked := rows[key, chosen[key]]["together"])}
    of_three = dict(zip(three, apply_holm([test.p for test in three.values()]), strict=True))

    def cell(key: str, model: str) -> str:
        if (key, model) in FOREIGN:
            return "–"
        said = spread(rows[key, model]["accuracy"])
        said = f"**{said}**" if chosen[key] == model else said
        if model in YARDSTICKS:
            return f"_{said}_" if model == fair[key] else said
        return f"({said})" if (key, model) in READ else marked(said, tests[key, model], steps[key, model])

    titles = [*(title for title, _ in MODELS.values()), "bold, its three seeds together", "bold, mixed with TF-IDF"]
    titles += ["macro F1: TF-IDF", "macro F1: bold"]
    print(f"| data (n of test) | {' | '.join(titles)} |")
    print("|---|" + "---:|" * len(titles))
    for key in done:
        row = rows[key, chosen[key]]
        cells = [cell(key, model) for model in MODELS]
        asked = key in three  # rows from before this column were not
        cells.append(marked(f"{100 * share_right(row['together']):.1f}", three[key], of_three[key]) if asked else "")
        cells += [spread(row["mixed"]), spread(rows[key, fair[key]]["f1_macro"]), spread(row["f1_macro"])]
        print(f"| {SETS[key][0]} ({count(int(row['n']))}) | {' | '.join(cells)} |")
    for title, name in (("seconds", "seconds"), ("MB", "megabytes")):
        most = [sorted({int(rows[key, model][name]) for key in done if (key, model) in rows}) for model in MODELS]
        ends = [" to ".join(map(str, dict.fromkeys((each[0], each[-1])))) for each in most]
        print(f"| {title} | {' | '.join(ends)} | | | | |")
    for key in done:
        print(f"{key}: {chosen[key]} {said_of(tests[key, chosen[key]], steps[key, ''])}")
        if key in three:
            print(f"{key}: its three seeds together {said_of(three[key], of_three[key])}")
    print(f"not complete: {', '.join(key for key in SETS if key not in done)}")


def marked(said: str, test: Tested, step: HolmStep) -> str:
    """A difference with an arrow if it is significant, else with the number of rows needed."""
    if step.p < ALPHA:
        return f"{said} {'↑' if test.difference > 0 else '↓'}"
    needed = test.count_rows_needed(step.alpha)
    return f"{said} ({round_rows(needed) if needed else '–'})"


def said_of(test: Tested, step: HolmStep) -> str:
    low, high = test.compute_interval(step.alpha) or (float("nan"), float("nan"))
    return f"{100 * test.difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}), p = {step.p:.3g}"


def share_right(patterns: str) -> float:
    """Share of rows that the second of two models predicts correctly."""
    found = [(bits, int(number)) for bits, _, number in (each.partition(":") for each in patterns.split())]
    return sum(number for bits, number in found if bits[1] == "1") / sum(number for _, number in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--print", action="store_true", help="train nothing")
    arguments = parser.parse_args()
    if not arguments.print:
        fill(RunStore(), arguments.sets.split(","), arguments.models.split(","))
    show(kept())


if __name__ == "__main__":
    main()
