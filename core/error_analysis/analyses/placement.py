"""Cached analysis of how much words matter by their place in a text and by their part of speech."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core import error_analysis, evaluation, interpret, runs
from core.error_analysis.split_analysis import SplitAnalysis
from core.exceptions import NotAvailable
from core.lazy_imports import numpy as np
from core.runs.background_jobs import Offer, Tell
from core.runs.record import WEIGHTS

PLACES = ("beginning", "middle", "end")
MOST, LEAST_WORDS, LEAST_TEXTS = 300, 3, 10
"""Texts that are read, at most; words of such a text and texts of a group, at least."""


@dataclass(frozen=True)
class WordPlacement(SplitAnalysis[dict[str, Any]]):
    """Measure how much words matter by place in the text and by part of speech.

    The effect of a word is the change in the log-odds of the predicted class when it is deleted, without its sign. In
    each text it is divided by the mean over its words, so that 1 is an average word and all texts count the same.

    Returns:
        `run`, `data`, `split`; `texts` that were read, of at least three words (300 at most, drawn with seed 0);
        `rows`: `kind` (place: a third of the words each; or part of speech), `group`, `texts` that have it, `words`,
        mean relative `effect`, and its 95 % interval from `low` to `high` (a bootstrap over the texts); `left_out`: why
        there are no parts of speech.
    """

    name = "placement"
    VERSION = 1
    offer = Offer(
        "Effect of words by place",
        "Deleting words one at a time",
        "The effects could not be computed",
        "Deletes each word of 300 texts. Takes up to a minute; the result is stored.",
    )

    def find(self, tell: Tell) -> dict[str, Any]:
        """Delete each word of a sample of texts; NotAvailable without texts or weights."""
        from core.text.pos_tags import MODELS, TAGS, Tagger, tag_texts

        table = error_analysis.predictions_table.read_table(self.store, self.run, self.split)
        if why := runs.predictions.explain_lacking_texts(self.store.get_path(self.run), table.record):
            raise NotAvailable(why)
        if not (self.store.get_path(self.run) / WEIGHTS).is_file():
            raise NotAvailable("it has no weights, so that no sentence can be read")
        long = [text for text in table.texts if len(interpret.attribution.select_words(text)) >= LEAST_WORDS]
        texts = [long[row] for row in evaluation.projection.draw_rows(len(long), MOST, 0)]
        reader = runs.load.load_run(self.store, self.run).make_reader()
        effects, words = [], []
        for number, reading in enumerate(interpret.attribution.iterate_texts(reader, texts)):
            tell("deleting words", number / len(texts))
            effects.append(np.abs(reading.attribute_by("deletion").pushes))
            words.append([reading.text[start:end] for start, end in reading.words])
        rows, left_out = summarize_groups("place", effects, [find_places(len(each)) for each in effects]), ""
        language = error_analysis.linguistic_tags.guess_language(table.record.config.data.name, texts)
        if language in MODELS:
            tags = [[TAGS[tag - 1] for tag in each] for each in tag_texts(Tagger(language), words)]
            rows += summarize_groups("part of speech", effects, tags)
        else:
            left_out = "no tagger for the language of these texts"
        return {"texts": len(texts), "rows": rows, "left_out": left_out}


def find_places(words: int) -> list[str]:
    """Return for each word of a text the third that it is in."""
    return [PLACES[min(2, int(3 * (place + 0.5) / words))] for place in range(words)]


def summarize_groups(kind: str, effects: Sequence[Any], groups: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Return the mean relative effect of each group of words over the texts that have it, largest first.

    `effects` are (W,) of each text, `groups` the group of each word. Texts without any effect are left out.
    """
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    for own, names in zip(effects, groups, strict=True):
        for name in set(names) if own.sum() > 0 else ():
            found[name].append(own[np.array(names) == name] / own.mean())
    rows = []
    for name, chosen in found.items():
        if len(chosen) >= LEAST_TEXTS:
            means = [each.mean() for each in chosen]
            low, high = evaluation.intervals.compute_mean_interval(means) or (None, None)
            row = {"kind": kind, "group": name, "texts": len(chosen), "words": sum(map(len, chosen))}
            rows.append({**row, "effect": float(np.mean(means)), "low": low, "high": high})
    return sorted(rows, key=lambda row: -row["effect"])
