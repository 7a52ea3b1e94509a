"""The tables of one pretrained encoder in README.md here: trains what is missing, then prints both.

    export SENTISCOPE_DATA=...       # a folder with the sets
    export SENTISCOPE_BACKBONES=...  # a folder that has all-MiniLM-L6-v2 as `minilm`
    python tests/benchmarks/backbones.py [--print]

Whole training sets, one seed, a process of one thread each. Runs stay as `SET-MODEL`, with CPU seconds and peak MB in
`SET-MODEL.cost`.
"""

import argparse

from real_data import train_apart

from core.evaluation.comparison import apply_holm, run_test
from core.formatting import count
from core.metrics import METRICS
from core.runs.predictions import combine_scores, read_answers
from core.runs.store import RunStore

SETS = {"tweeteval_emotion": ("TweetEval emotion", 2), "twitter_financial": ("Twitter Financial", 1)}
"""Registered name → title, epochs of full fine-tuning."""
WORDS, CHARS = "words", "chars"
OURS = "pretrained --set model.backbone=minilm --set model.pooling=mean"
TUNED = f"{OURS} --epochs EPOCHS --set training.lr=1e-4"
INCEPTIVE = ("kernels=2,3,5,7", "channels=16", "attention_heads=4", "dense=128")
INCEPTIVE = " ".join(f"--set model.head.{each}" for each in INCEPTIVE)
MODELS = {
    WORDS: ("TF-IDF, words", "tfidf-logreg"),
    CHARS: ("TF-IDF, words and characters", "tfidf-logreg-chars"),
    "strong": ("vanilla, `strong`", "vanilla --recipe strong"),
    "mini-en": ("vanilla from mini-en", "vanilla --from starter-vanilla"),
    "probe": ("MiniLM, its head alone", f"{OURS} --epochs 3 --set training.lr=1e-3 --set training.frozen=7"),
    "tuned": ("MiniLM, all of it", TUNED),
    "lexical": ("… with VADER's σ", f"{TUNED} --set model.attention.lexical=add --set text.lexicon=vader"),
    "inceptive": ("… with an Inceptive head", f"{TUNED} {INCEPTIVE}"),
}
"""Key → title, arguments of `sentiscope train --model`."""
BESIDE = {WORDS: "against words", CHARS: "against words and characters"}
AMONG = ("lexical", "inceptive")  # models that are also compared with plain fine-tuning


def train(store: RunStore, data: str, model: str) -> None:
    """Train a run unless it is finished."""
    given = MODELS[model][1].replace("EPOCHS", str(SETS[data][1])).split()
    train_apart(store, f"{data}-{model}", ["--data", data, "--model", *given])


def differences(store: RunStore, data: str) -> dict[tuple[str, str], str]:
    """Differences in accuracy by pair of models, in points; one family of McNemar tests."""
    pairs = [(model, beside) for model in MODELS for beside in BESIDE if model not in (WORDS, beside)]
    pairs += [(model, "tuned") for model in AMONG]
    records = {model: store.read(f"{data}-{model}") for model in MODELS}
    said = {model: read_answers(store, record, "test").to_scores("accuracy") for model, record in records.items()}
    scores = [combine_scores(said[model], said[beside], "accuracy") for model, beside in pairs]
    tests = [run_test({(0, -1): each}, METRICS["accuracy"]) for each in scores]
    found = {}
    for pair, test, step in zip(pairs, tests, apply_holm([test.p for test in tests]), strict=True):
        low, high = test.compute_interval(step.alpha) or (float("nan"),) * 2
        p = "p < 0.001" if step.p < 0.001 else f"p = {step.p:.3f}" if step.p < 0.1 else f"p = {step.p:.2f}"
        found[pair] = f"{100 * test.difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}), {p}"
    return found


def table(store: RunStore, data: str) -> None:
    """Print the table of one data set as in README.md of this folder."""
    title, apart = SETS[data][0], differences(store, data)
    records = {model: store.read(f"{data}-{model}") for model in MODELS}
    rows = len(read_answers(store, records[WORDS], "test"))
    columns = (f"{title} ({count(rows)} of test)", "accuracy, 95 %", "macro F1", *BESIDE.values(), "seconds", "MB")
    print(f"\n| {' | '.join(columns)} |\n|---{'|---:' * (len(columns) - 1)}|")
    for model, record in records.items():
        metrics, (low, high) = record.results["metrics"]["test"], record.results["intervals"]["test"]["accuracy"]
        seconds, megabytes = map(float, (store.folder / f"{data}-{model}.cost").read_text().split())
        cells = [MODELS[model][0], f"{100 * metrics['accuracy']:.1f} ({100 * low:.1f} to {100 * high:.1f})"]
        cells += [f"{100 * metrics['f1_macro']:.1f}", *(apart.get((model, beside), "") for beside in BESIDE)]
        print(f"| {' | '.join([*cells, f'{seconds:.0f}', f'{megabytes:.0f}'])} |")
    for model in AMONG:
        print(f"{MODELS[model][0]}, beside MiniLM without: {apart[model, 'tuned']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="train nothing")
    arguments, store = parser.parse_args(), RunStore()
    store.folder.mkdir(parents=True, exist_ok=True)
    for data in SETS:
        for model in () if arguments.print else MODELS:
            train(store, data, model)
        table(store, data)


if __name__ == "__main__":
    main()
