"""Fit of a sentiment lexicon to a data set before training: coverage, and agreement with the labels."""

from typing import Any

import numpy as np

from core.behavioral_tests.suite import find_polarities
from core.data.dataset import TRAIN, Dataset
from core.error_analysis.linguistic_tags import SIDES, find_words, read_valences
from core.evaluation.intervals import compute_wilson
from core.exceptions import InputError
from core.interpret.split_attention import describe_neutral
from core.text.config import TextConfig, TokenizerKind
from core.text.lexicon import NEUTRAL
from core.text.token_table import build_token_table
from core.text.tokenizer_factory import fit_tokenizer

MOST = 5000  # training texts, the first ones, in which neutral tokens are counted
TOKENIZERS: tuple[TokenizerKind, ...] = ("word", "bpe")


def measure_neutral(name: str, dataset: Dataset) -> list[dict[str, Any]]:
    """Measure the share of tokens outside a lexicon (`value`, `interval` over texts) in training texts by tokenizer."""
    texts, rows = dataset.splits[TRAIN]["text"].tolist()[:MOST], []
    for kind in TOKENIZERS:
        table = build_token_table(fit_tokenizer(texts, TextConfig(tokenizer=kind, min_freq=1, lexicon=name)), texts)
        assert table.polarity is not None  # the tokenizer has a lexicon
        neutral = (table.polarity == np.float32(NEUTRAL)).all(-1)
        rows.append({"data": dataset.name, "tokenizer": kind, **(describe_neutral(neutral, table, name) or {})})
    return rows


def fit_lexicon(name: str, dataset: Dataset) -> dict[str, Any]:
    """Measure how a lexicon fits the training texts of a data set.

    Returns:
        `lexicon`, `texts`, `coverage` (share of words that it lists), `texts_covered` (share of texts with one);
        `decided`: texts whose words do not sum to 0 and whose label has a polarity; `agreement`: the share of them in
        which both have the same sign, with 95 % `interval` (Wilson), and `larger`, that of always the more frequent
        polarity; `reason`: why there is no agreement, else empty; `neutral`: see `measure_neutral`.
    """
    valences, rows = read_valences(name), dataset.splits[TRAIN]
    words = [find_words(text) for text in rows["text"]]
    known = [[valences[word] for word in each if word in valences] for each in words]
    total = sum(map(len, words))
    found: dict[str, Any] = {
        "lexicon": name,
        "texts": len(words),
        "coverage": sum(map(len, known)) / total if total else 0.0,
        "texts_covered": float(np.mean([bool(each) for each in known])) if known else 0.0,
        "neutral": measure_neutral(name, dataset),
    }
    found |= {"decided": 0, "agreement": None, "interval": None, "larger": None, "reason": ""}
    if dataset.task != "single":
        return found | {"reason": "only texts with one label each agree or disagree with a lexicon"}
    try:
        sides = find_polarities(name, dataset.classes, order=dataset.classes if dataset.ordered else ())
    except InputError as error:
        return found | {"reason": f"{error}".partition(";")[0].partition("' has ")[2] or str(error)}
    of_class = np.array([SIDES.get(sides[each] or "", 0) for each in dataset.classes])
    told, said = of_class[rows["label"].to_numpy()], np.sign([round(sum(each), 9) for each in known])
    both = (told != 0) & (said != 0)
    n, same = int(both.sum()), int((told == said)[both].sum())
    if not n:
        return found | {"reason": "no training text has both a polarity and a listed word"}
    larger = max(float((told[both] == sign).mean()) for sign in (-1, 1))
    return found | {"decided": n, "agreement": same / n, "interval": list(compute_wilson(same, n)), "larger": larger}
