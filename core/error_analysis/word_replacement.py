"""Replacement of a word in selected texts: how many answers of a run change, and which way."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.error_analysis.predictions_table import PredictionTable, build_table
from core.exceptions import InputError
from core.interpret.faithfulness import replace_phrases
from core.runs.load import LoadedRun
from core.runs.predictions import Answers

MOST = 2000  # texts that are predicted again, at most


def parse_replacement(text: str) -> tuple[str, str]:
    """Parse `great=terrible` into the word and its replacement; InputError: one is missing, or both are equal."""
    old, _, new = (each.strip() for each in text.partition("="))
    if not old or not new or old.lower() == new.lower():
        raise InputError(f"--replace {text!r:.80}: a word and another word, such as great=terrible")
    return old, new


def replace_word(
    loaded: LoadedRun, table: PredictionTable, places: Sequence[int], old: str, new: str
) -> dict[str, Any]:
    """Predict rows of a table again with a word or phrase replaced, capitals as in the text.

    InputError: more than `MOST` of these texts have the word.

    Returns:
        `old`, `new`, `texts` with the word, `changed` (answers), `right_before` and `right_after`; `ways`: `before`,
        `after` and `texts`, the most frequent change first; `rows`: `row`, `text`, `before`, `after` of each change.
    """
    texts = {at: replace_phrases(table.texts[at], {old: new}) for at in places}
    texts = {at: text for at, text in texts.items() if text != table.texts[at]}
    if len(texts) > MOST:
        raise InputError(f"{len(texts)} of these texts have '{old}'; select {MOST} or fewer")
    rows, record = np.array(list(texts), int), table.record
    before, after = table.frame["predicted"].to_numpy(object)[rows], np.array([], object)
    right = [int((~table.wrong[rows]).sum()), 0]
    if texts:
        labels = table.true[rows].argmax(1) if table.task == "single" else table.true[rows].astype(int)
        chances, columns = loaded.predict(list(texts.values())).probabilities, table.frame.iloc[rows][[]]
        own = Answers(record, list(texts.values()), labels, chances, columns, record.tuned_thresholds)
        read = build_table(own, table.split)
        after, right[1] = read.frame["predicted"].to_numpy(object), int((~read.wrong).sum())
    changes = [(at, one, two) for at, one, two in zip(texts, before, after, strict=True) if one != two]
    ways = Counter((one, two) for _, one, two in changes).most_common()
    return {
        **{"old": old, "new": new, "texts": len(texts), "changed": len(changes)},
        **{"right_before": right[0], "right_after": right[1]},
        "ways": [{"before": one, "after": two, "texts": n} for (one, two), n in ways],
        "rows": [{"row": at, "text": texts[at], "before": one, "after": two} for at, one, two in changes],
    }


def describe_replacement(found: dict[str, Any]) -> str:
    """Say how many answers change if a word is replaced, and which way."""
    named = f"“{found['old']}” → “{found['new']}”"
    if not found["texts"]:
        return f"No selected text has “{found['old']}”."
    ways = ", ".join(f"{each['texts']} from {each['before']} to {each['after']}" for each in found["ways"])
    return f"{named}: {found['changed']} of {found['texts']} answers change{f' ({ways})' if ways else ''}."
