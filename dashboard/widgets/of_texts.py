"""What a page about labels of texts says of a run that gives each word a tag, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.runs.record import RunRecord
from dashboard import state
from dashboard.widgets.header import header
from dashboard.widgets.messages import finding, problem
from dashboard.widgets.runs import facts

OF_TEXTS = {
    "performance": "Confusion, ROC and calibration are of one label for each text.",
    "errors": "Its rows are texts with a label each.",
    "compare": "Paired tests are of the same texts, right or wrong.",
    "behave": "A suite asks for the polarity of a text.",
    "embeddings": "A point is a text with its label.",
    "sentence": "Pushes and parts are of the answer to a whole text.",
    "steps": "Its last stage is the answer to a whole text.",
    "lambdas": "Its curves are of the answer to a whole text.",
}
"""By page, why it has nothing to show."""


def refused(record: RunRecord | None, page: str, titles: Mapping[str, str]) -> bool:
    """Whether the page has nothing to show of this run, which is then said, with the way to what there is."""
    if record is None or record.task != "tokens" or page not in OF_TEXTS:
        return False
    header(titles[page], "", facts(record))
    what = "Its sentences, errors by kind, types and the tags of a sentence of your own stand on Tokens."
    finding(f"{record.run} gives each word a tag", f"{OF_TEXTS[page]} {what}")
    if st.button("Open Tokens", type="primary", key="to-tokens"):
        state.go("tokens")
    return True


def without_tags(record: RunRecord) -> None:
    """What the page of tagged words says of a run that labels texts."""
    problem(
        f"{record.run} gives a text a label, and no tags to its words",
        "Choose a run that was trained on words with a tag each: `sentiscope train --data FILE.conll`.",
    )
