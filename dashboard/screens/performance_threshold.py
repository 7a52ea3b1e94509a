"""The one threshold of the page: who gets which answer."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.figures import answers
from dashboard.figures.source import Source
from dashboard.widgets.options import pick


def threshold_bar(source: Source) -> None:
    """Rule, threshold and the cost of a miss, all in the link; the source knows them from then on."""
    with st.container(key="rule-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        if answers.RULE.values(source):
            pick(answers.RULE, source, about=answers.RULE.about)
        threshold_slider(source)


def threshold_slider(source: Source, of: str = "") -> float:
    """The threshold, and behind it what a miss costs, where it is about one class.

    Args:
        source: Knows both from then on.
        of: What the threshold depends on besides; where that or the cost has changed it begins anew.

    Returns:
        Where it begins: known more exactly than the slider's step, and kept so until the slider is moved.
    """
    option, name = answers.slider(source), answers.one_class(source)
    place = st.container(width=420)
    if name:
        ratios, cost = answers.RATIOS, answers.COST
        source.choices[cost.name] = st.number_input(
            *(cost.label, ratios.low, ratios.high, 0.0, ratios.step),
            format="%g",
            key=cost.name,
            bind="query-params",
            width=150,
            help=cost.about,
        )
        if source.choices[cost.name]:
            of = f"{source.record.run}, {name}, {of}, {source.choices[cost.name]:g}"
    exact = float(option.first(source))
    first = None if of or state.follows(option.name) else round(exact, 2)
    if first is None:
        state.follow(option.name, of, round(exact, 2))
    label, about = label_names(name) if name else (option.label, option.about)
    with place:
        moved = st.slider(label, 0.0, 1.0, first, 0.01, key=option.name, bind="query-params", help=about)
    if moved != round(exact, 2):
        source.choices[option.name] = float(moved)
    return exact


def label_names(name: str) -> tuple[str, str]:
    """Label and help of a slider that is about one class or label."""
    return (
        f"Threshold on P({name})",
        f"“{name}” is predicted where its probability is above this; every figure and count below follows",
    )
