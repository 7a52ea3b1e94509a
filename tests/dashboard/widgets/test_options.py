"""Options as widgets, folded sections, and controls hidden by a link."""

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import state


def script(names):
    from types import SimpleNamespace

    from dashboard.figures.figure import Option
    from dashboard.widgets.options import choose_option

    choose_option(Option("towards", "Towards", lambda source: names), SimpleNamespace(choices={}))


@pytest.mark.parametrize(
    ("name", "menu"),
    [("very_positive", False), ("not-good", False), ("![x](http://a)", True), ("_late_", True), (":smile:", True)],
)
def test_names_with_markdown_are_shown_in_a_menu(name, menu):
    app = AppTest.from_function(script, args=([name, "warm"],)).run()
    assert (len(app.selectbox), len(app.button_group)) == ((1, 0) if menu else (0, 1))
    (widget,) = app.selectbox if menu else app.button_group
    assert widget.value == name


def two_sections():
    import streamlit as st

    from dashboard.widgets.options import show_sections

    st.text(show_sections({"ROC": lambda: st.markdown("a curve") and 1, "PR": lambda: st.markdown("another") and 2}))


@pytest.mark.parametrize(
    ("more", "shown"), [("", []), ("PR", ["another"]), ("all", ["a curve", "another"]), ("none", [])]
)
def test_a_link_opens_sections_and_others_are_not_computed(more, shown):
    app = AppTest.from_function(two_sections)
    if more:
        app.query_params[state.MORE] = more
    app.run()
    assert [each.value for each in app.markdown] == shown and not app.exception


def test_a_link_hides_named_controls_and_nothing_else():
    app = AppTest.from_string("from dashboard.widgets.style import send_style\n\nsend_style()")
    app.query_params[state.HIDE] = "threshold,menu,x}body{color:red"
    style = app.run().get("html")[0].proto.body
    assert ".st-key-threshold,[data-testid=stSidebar]{display:none!important}" in style and "color:red" not in style
