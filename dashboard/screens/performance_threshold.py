"""The one threshold of the page: who gets which answer."""

from __future__ import annotations

import streamlit as st

from dashboard.figures import answers
from dashboard.figures.source import Source
from dashboard.widgets.options import pick


def threshold_bar(source: Source) -> None:
    """Rule and threshold, both in the link; the source knows them from then on."""
    with st.container(key="rule-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        if answers.RULE.values(source):
            pick(answers.RULE, source, about=answers.RULE.about)
        option, classes = answers.slider(source), source.report.classes
        label, about = option.label, option.about
        if option is answers.THRESHOLD:
            name = classes[1] if len(classes) == 2 else str(source.chosen(answers.RULE))
            label, about = label_names(name)
        first = float(option.first(source))
        source.choices[option.name] = st.slider(
            label, 0.0, 1.0, first, 0.01, key=option.name, bind="query-params", width=420, help=about
        )


def label_names(name: str) -> tuple[str, str]:
    """Label and help of a slider that is about one class or label."""
    return (
        f"Threshold on P({name})",
        f"“{name}” is predicted where its probability is above this; every figure and count below follows",
    )
