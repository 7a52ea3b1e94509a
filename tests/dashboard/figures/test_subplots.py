"""Panels drawn at once: equal to Plotly's, selectable cells, titles, errors."""

import numpy as np
import pytest
from plotly.subplots import make_subplots

from dashboard.figures.subplots import Panels, find_cell
from dashboard.figures.theme import Look, build_template

FIRST, SECOND = np.array([0, 0, 1, 1, 0, -1]), np.array([0, 1, 1, 0, 1, -1])


def test_matrix_cell_is_found_only_for_exactly_its_rows():
    assert find_cell(FIRST, SECOND, np.array([4, 1])) == (0, 1)
    assert find_cell(FIRST, SECOND, np.array([2])) == (1, 1)
    for rows in ([1], [1, 4, 0], [], [5]):
        assert find_cell(FIRST, SECOND, np.array(rows, np.int64)) is None


LOOK = Look(dark=True)


def parts(figure):
    """Call the same commands on the project's figure and on Plotly's."""
    for row in (1, 2):
        for column in (1, 2):
            figure.add_scatter(x=[1, 2], y=[row, column], line={"color": "#123456"}, row=row, col=column)
    figure.add_bar(x=[1, 2], y=[3, 4], row=1, col=2)
    figure.add_annotation(x=1, y=2, text="inside", row=2, col=2)
    figure.add_annotation(x=1, y=0.9, yref="y domain", text="at the top", row=1, col=2)
    figure.add_hline(y=0, line={"width": 1}, layer="below", row=2)
    figure.add_vline(x=1.5, line={"width": 2}, row=1, col=1)
    figure.update_xaxes(range=[0, 3], showticklabels=False)
    figure.update_xaxes(title="epoch", showticklabels=True, row=2)
    figure.update_yaxes(nticks=5)
    figure.update_yaxes(range=[0, 9], row=1, col=2)
    figure.update_layout(barmode="stack", margin={"r": 12})


@pytest.mark.slow
def test_figure_built_at_once_equals_plotly_built_part_by_part():
    spaces = {"horizontal_spacing": 0.1, "shared_xaxes": "columns"}
    ours, theirs = Panels(LOOK, [["", ""], ["", ""]], height=300, **spaces), make_subplots(2, 2, **spaces)
    theirs.update_layout(template=build_template(LOOK), height=300, margin={"t": 32})
    for figure in (ours, theirs):
        parts(figure)
    assert ours.build_figure().to_plotly_json() == theirs.to_plotly_json()


def test_panel_title_is_at_the_left_end():
    figure = Panels(LOOK, [["loss", "accuracy"], ["", "rate"]], height=300).build_figure()
    found = {each.text: (each.xref, each.yref) for each in figure.layout.annotations}
    places = {"loss": "", "accuracy": "2", "rate": "4"}
    assert found == {name: (f"x{at} domain", f"y{at} domain") for name, at in places.items()}
    assert {each.xanchor for each in figure.layout.annotations} == {"left"}


def test_two_figures_of_one_shape_share_nothing():
    first, second = (Panels(LOOK, [["a"]], height=300) for _ in range(2))
    first.update_xaxes(range=[0, 1])
    assert second.build_figure().layout.xaxis.range is None


def test_unknown_plotly_setting_is_refused():
    figure = Panels(LOOK, [["a"]], height=300)
    figure.update_xaxes(rnage=[0, 1])
    with pytest.raises(ValueError, match="rnage"):
        figure.build_figure()
