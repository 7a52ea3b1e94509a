"""Words of many texts, ranked by the mean effect of deleting them on the log-odds of each class."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.interpret.attribution import iterate_texts
from core.interpret.attribution_math import compute_log_odds
from core.interpret.explain_context import ExplainContext
from core.interpret.split_attention import estimate_means
from core.text.words import is_bare_mark, split_words

LEAST = 5  # texts that have a listed word
PORTION = 16  # texts between two progress reports


def measure_words(
    reader: ExplainContext,
    texts: Sequence[str],
    tell: Callable[[str, float | None], None] = lambda what, share: None,
) -> list[dict[str, Any]]:
    """Measure the mean effect of deleting each word over texts, on the log-odds of each class.

    The effect of a word in a text is the loss of log-odds without it, the mean over its occurrences. Capitals are
    ignored; marks and words of fewer than `LEAST` texts are left out.

    Returns:
        Rows, for each class from the largest effect to the smallest: `class`, `word`, `texts` with it, `value` (mean
        over them) and its 95 % `interval` (percentile bootstrap over them).
    """
    found: dict[str, list[np.ndarray]] = defaultdict(list)  # word → effects (C,) of each text
    for start in range(0, len(texts), PORTION):
        tell("deleting one word at a time", start / len(texts))
        for reading in iterate_texts(reader, texts[start : start + PORTION]):
            chances, own = reading.said.probabilities, defaultdict[str, list[np.ndarray]](list)
            odds = np.stack([compute_log_odds(chances, at, reader.task) for at in range(len(reader.classes))], 1)
            for (first, end), effect in zip(reading.words, odds[0] - odds[1:], strict=True):
                own[reading.text[first:end].lower()].append(effect)
            for word, effects in own.items():
                found[word].append(np.mean(effects, 0))
    rows = []
    for word, each in found.items():
        if len(each) >= LEAST and len(split_words(word)) == 1 and not is_bare_mark(word):
            means = estimate_means(np.stack(each))
            about = {"word": word, "texts": len(each)}
            rows += [{"class": name, **about, **means.describe(at)} for at, name in enumerate(reader.classes)]
    place = {name: at for at, name in enumerate(reader.classes)}
    return sorted(rows, key=lambda row: (place[row["class"]], -row["value"], row["word"]))
