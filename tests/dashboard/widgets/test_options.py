"""Options as widgets: button labels are Markdown, so names with Markdown characters use a menu."""

import pytest
from streamlit.testing.v1 import AppTest


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
