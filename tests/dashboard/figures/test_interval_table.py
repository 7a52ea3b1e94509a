"""The table of intervals: axis, reference lines and drawing."""

import json
import re

import pytest

from dashboard.figures import interval_table
from dashboard.figures.drawing import write_node
from dashboard.figures.interval_drawing import TieSegment, build_component, draw_node, place_ties, render_html
from dashboard.figures.interval_table import IntervalColumn, IntervalRow, Mark, Marks, TextCell, make_axis
from dashboard.figures.theme import DARK, LIGHT, Look

ACCURACY = {"best": 0.916, "second": 0.907, "third": 0.898, "yardstick": 0.673}
WIDE = interval_table.Axis(0.0, 1.0, (0.0, 0.5, 1.0), ("0", "0.5", "1"))


def mark(value: float, half: float = 0.01, **more) -> Mark:
    return Mark(value, value - half, value + half, **more)


def table(**more) -> Marks:
    marks = {name: mark(value) for name, value in ACCURACY.items()}
    shared = make_axis(list(marks.values()), leaves_out="low")
    columns = (IntervalColumn("model", "Model", "12rem"), IntervalColumn("ties", "", ties=True))
    interval = IntervalColumn("mark", "95 % interval", axis=shared)
    columns += (interval, IntervalColumn("time", "Training", number=True, opt=True))
    rows = [IntervalRow(name, {"model": name, "mark": each, "time": "2 s"}) for name, each in marks.items()]
    rows[1] = IntervalRow("second", dict(rows[1].cells), children=(IntervalRow("seed-0", {"model": "seed 0"}),))
    return Marks("Models", columns, tuple(rows), groups=(("best", "second"),), **more)


def test_axis_has_zero_limits_and_an_extent_that_a_distant_minority_does_not_widen():
    found = make_axis([Mark(0.03, 0.01, 0.05)], zero=0, signed=True)
    assert found.low < 0 < found.high and found.labels[:2] == ("0", "+0.02")
    assert make_axis([Mark(-0.03, -0.05, -0.01)], zero=0, signed=True).labels[0] == "−0.04"
    found = make_axis([Mark(0.99, 0.97, 1.0)], ends=(0, 1))
    assert (found.high, found.to_percent(1.0)) == (1, 100) and make_axis([]).low < make_axis([]).high
    assert make_axis([Mark()]) == make_axis([]) and make_axis([Mark(0.5)]).to_percent(0.5) == pytest.approx(50)
    marks = [mark(value) for value in ACCURACY.values()]
    found = make_axis(marks, leaves_out="low")
    assert 0.88 < found.low < 0.888 and 0.926 < found.high < 0.93
    assert make_axis(marks).low < 0.663, "unasked, nothing is left out"
    assert make_axis(marks, leaves_out="high").low < 0.663, "the far one is not on this side"
    assert make_axis([mark(0.9), mark(0.5)], leaves_out="low").low < 0.5


@pytest.mark.parametrize(
    ("mark", "labels"),
    [
        (Mark(0.5, 0.0, 1.0), ("0", "0.25", "0.50", "0.75", "1.00")),
        (Mark(0.9, 0.88, 0.92), ("0.88", "0.89", "0.90", "0.91", "0.92")),
        (Mark(150.0, 100.0, 200.0), ("100", "125", "150", "175", "200")),
    ],
)
def test_gridlines_are_at_round_numbers(mark, labels):
    found = make_axis([mark])
    assert found.labels == labels and found.ticks == pytest.approx(list(map(float, labels)))


def test_tie_lines_join_groups_and_share_lanes_without_overlap():
    found = place_ties(["a", "b", "c", "d"], [["a", "b"], ["b", "d"], ["c"]])
    assert found.lanes == 2 and found.rows["a"] == [TieSegment(0, "start")]
    assert found.rows["b"] == [TieSegment(0, "end"), TieSegment(1, "start")]
    assert found.rows["c"] == [TieSegment(1, "past")], "it lies between them and does not belong to them"
    assert found.rows["d"] == [TieSegment(1, "end")]
    found = place_ties(["a", "b", "c", "d"], [["c", "d"], ["a", "b"]])
    assert found.lanes == 1
    assert found.below == {"a": [TieSegment(0, "on")], "b": [], "c": [TieSegment(0, "on")], "d": []}


def test_marks_are_at_their_values_and_ties_have_their_own_look():
    one = Marks(
        "x",
        (IntervalColumn("name", "Name"), IntervalColumn("m", "Value", axis=WIDE)),
        (IntervalRow("a", {"name": "a", "m": Mark(0.5, 0.25, 0.75)}),),
    )
    text = render_html(one, Look())
    assert 'class="bar" style="left:25.00%;width:50.00%"' in text and 'class="value" style="left:50.00%"' in text
    assert 'aria-label="0.500, 95 % interval 0.250 to 0.750"' in text
    columns = (IntervalColumn("name", "Pair"), IntervalColumn("m", "Difference", axis=WIDE))
    marks = {"a": mark(0.5, tie=True), "b": mark(0.5, color="#3F9168")}
    rows = tuple(IntervalRow(id, {"name": id, "m": each}) for id, each in marks.items())
    text = render_html(Marks("x", columns, rows), Look())
    assert text.count('class="tie"') == text.count('class="sure"') == 1 and 'style="--c:#3F9168"' in text
    text = render_html(table(), Look())
    assert '<span class="edge low">‹ 0.673</span>' in text and text.count('class="bar"') == 3
    one = Marks("x", (IntervalColumn("name", "Run"),), (IntervalRow("a", {"name": "built-in-ndt-01-n3-seed-2"}),))
    assert "<span>built-in-ndt-01-n3</span><span>-seed-2</span>" in render_html(one, Look())


@pytest.mark.parametrize(
    ("ticks", "zero", "gone"),
    [
        ((-2.0, -1.0, 0.0, 1.0, 2.0), 0.0, ["-1.0", "1.0"]),
        ((-1.0, 0.0, 1.0), 0.0, ["-1.0"]),
        ((-1.0, 0.0), 0.0, []),
        ((0.94, 0.96), None, []),
        ((0.1, 0.2, 0.3, 0.4), None, ["0.2", "0.4"]),
    ],
)
def test_narrow_axis_keeps_zero_and_another_label(ticks, zero, gone):
    one = interval_table.Axis(-3.0, 3.0, ticks, tuple(map(str, ticks)), zero)
    columns = (IntervalColumn("name", "Pair"), IntervalColumn("m", "Difference", axis=one))
    text = render_html(Marks("x", columns, (IntervalRow("a", {"name": "a", "m": mark(0.5)}),)), Look())
    assert re.findall(r'<span [^>]*class="lesser"[^>]*>([^<]*)<', text) == gone


def test_exported_table_has_its_colors_and_no_script():
    text = render_html(table(), Look())
    assert "seed 0" not in text and "tabindex" not in text and "<input" not in text and 'role="grid"' not in text
    assert "<script" not in text and "http" not in text
    assert f"--ink:{LIGHT.ink};" in render_html(table(), Look())
    assert f"--rule:{DARK.grid};" in render_html(table(), Look(dark=True))
    assert "--px:1.3px" in render_html(table(), Look(projector=True))
    many = Marks("x", (IntervalColumn("name", "Name"),), tuple(IntervalRow(f"{n}", {}) for n in range(17)))
    assert "--row:1.2rem" in render_html(many, Look(projector=True)) and "--row:1.95rem" in render_html(many, Look())
    made = build_component(table(), Look(), picks=True, tick="compare", ticked=["best"])
    assert made.to_html("here").startswith('<div id="here"><style>') and "<script" not in made.to_html("here")
    assert made.data["ticked"] == ["best"] and made.data["picks"] and json.dumps(made.data)


def test_page_table_rows_can_be_focused_ticked_and_unfolded_and_text_is_escaped():
    text = write_node(draw_node(table(), Look(), tick="compare", live=True))
    assert 'role="treegrid"' in text
    assert text.count('tabindex="0"') == 5, "four rows and a seed"
    assert text.count('aria-expanded="false"') == 1
    assert text.count('type="checkbox"') == 4 and 'aria-label="compare best"' in text
    assert 'data-id="seed-0" tabindex="0" aria-selected="false" aria-level="2" data-of="second" hidden=""' in text
    node = draw_node(table(), Look(), live=True)
    assert json.loads(json.dumps(node)) == node
    evil = "<img src=x onerror=alert(1)>\"'"
    rows = (IntervalRow(evil, {"name": TextCell(evil, small=evil, title=evil), "m": mark(0.5, said=evil)}),)
    one = Marks(evil, (IntervalColumn("name", evil), IntervalColumn("m", evil, axis=WIDE)), rows)
    for text in (render_html(one, Look()), write_node(draw_node(one, Look(), tick="compare", live=True))):
        assert "<img" not in text and "alert(1)" in text


def test_declared_columns_give_the_drawing_and_the_csv():
    rows = [
        {"rule": "a", "n": 1200, "share": 0.5, "ends": (0.4, 0.6), "p": 0.01},
        {"rule": "b", "n": 30, "share": 0.1, "ends": None, "p": None},
        {"rule": "c", "n": 0, "share": 0.0, "ends": None, "p": None},
    ]
    declared = interval_table.IntervalTable(
        "Shares",
        (
            interval_table.name("name", "Rule", lambda row: row["rule"].upper(), "5rem", rule="rule"),
            interval_table.count("n", "n", "n", "3rem", csv="rows"),
            interval_table.interval("mark", "share", lambda row: Mark(row["share"]), lambda marks: WIDE),
            interval_table.make_csv_columns("p", low="ends.0", high="ends.1"),
        ),
        rows,
        "rule",
        shown=rows[:2],
        apart=lambda row: row["ends"] is None,
        picks=lambda row: row["n"] > 100,
    )
    drawn = declared.marks
    columns = [("name", "Rule", None), ("n", "n", None), ("mark", "share", WIDE)]
    assert [(column.key, column.title, column.axis) for column in drawn.columns] == columns
    cells = [("a", "A", "1\u202f200"), ("b", "B", "30")]
    assert [(row.id, row.cells["name"], row.cells["n"]) for row in drawn.rows] == cells
    assert [(row.apart, row.picks) for row in drawn.rows] == [(False, True), (True, False)]
    assert list(declared.frame) == ["rule", "rows", "p", "low", "high"]
    assert declared.frame.iloc[0].tolist() == ["a", 1200, 0.01, 0.4, 0.6] and declared.frame["low"].isna().sum() == 2
