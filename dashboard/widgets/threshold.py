"""The one threshold of a page: who gets which answer."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import state
from dashboard.figures.decisions import ANSWER

RULE_HELP = (
    "Top answer: the class with the highest probability, if that is above the threshold; otherwise no answer. "
    "A class: it stands against all others, and is said where its own probability is above the threshold."
)


def threshold_bar(classes: Sequence[str]) -> tuple[str, float]:
    """The rule and the threshold as chosen, both in the URL; see `dashboard.figures.decisions.decide`."""
    rule = ANSWER
    with st.container(key="rule-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        if len(classes) > 2:
            rules = [ANSWER, *classes]
            state.keep_to(state.RULE, rules)
            state.initial(state.RULE, ANSWER)
            rule = (
                st.selectbox("Threshold on", rules, key=state.RULE, bind="query-params", width=180, help=RULE_HELP)
                or ANSWER
            )
        about, name, first = _meaning(classes, rule)
        key = state.THRESHOLD if first else state.ABSTAIN
        threshold = st.slider(name, 0.0, 1.0, first, 0.01, key=key, bind="query-params", width=420, help=about)
    return rule, float(threshold)


def _meaning(classes: Sequence[str], rule: str) -> tuple[str, str, float]:
    """Help, label and first value of the slider."""
    if len(classes) == 2 or rule != ANSWER:
        name = classes[1] if len(classes) == 2 else rule
        about = f"“{name}” is said where its probability is above this; every figure and count below follows"
        return about, f"Threshold on P({name})", 0.5
    return (
        "Below this the model gives no answer; every figure and count below follows",
        "Threshold on the top answer",
        0.0,
    )
