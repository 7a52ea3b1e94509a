"""Drawing of tables with intervals, with the same look on pages and in exported files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from core.formatting import number
from dashboard.figures.drawing import Component, Node, make_node, read_asset, write_node
from dashboard.figures.interval_table import Axis, Cell, IntervalColumn, IntervalRow, Mark, Marks, TextCell
from dashboard.figures.theme import Look

STYLES = ("ties", "soft", "opt", "wrap")  # classes of a column
TAIL = 7  # last letters of a name that stay if it is shortened: run names differ there
LANE, MARGIN = 9, 12
ROOM, LOW = 14, 1.2  # a table with more rows has rows this low (rem) on a projector, so that all are seen
COLORS = ("paper", "panel", "ink", "muted", "accent", "right", "grid")
"""Colours that the style sheet uses; a page already defines them."""


class TieSegment(NamedTuple):
    """Piece of a vertical line in one table row; the whole line joins a group of rows."""

    lane: int
    part: str  # start, on or end; past: the row lies between them but is not in the group


class TieLanes(NamedTuple):
    """Pieces of the vertical lines that join groups of table rows, for each row and for the rows it unfolds to."""

    rows: dict[str, list[TieSegment]]
    below: dict[str, list[TieSegment]]
    lanes: int


def place_ties(rows: Sequence[str], groups: Sequence[Sequence[str]]) -> TieLanes:
    """Place vertical lines that join groups of table rows; lines that do not overlap are drawn in the same column."""
    place = {row: index for index, row in enumerate(rows)}
    beside: dict[str, list[TieSegment]] = {row: [] for row in rows}
    below: dict[str, list[TieSegment]] = {row: [] for row in rows}
    ends: list[int] = []
    for group in sorted(sorted(map(place.__getitem__, each)) for each in groups if len(each) > 1):
        first, last = group[0], group[-1]
        lane = next((lane for lane, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        for row in range(first, last + 1):
            part = {first: "start", last: "end"}.get(row, "on" if row in group else "past")
            beside[rows[row]].append(TieSegment(lane, part))
            if row < last:
                below[rows[row]].append(TieSegment(lane, "on" if {row, row + 1} <= set(group) else "past"))
    return TieLanes(beside, below, len(ends))


def render_html(table: Marks, look: Look) -> str:
    """Write a table with intervals as HTML for an exported file or notebook; it needs no script or other file."""
    colors = "".join(f"{name}:{value};" for name, value in _map_colors(look).items())
    node = make_node("div", draw_node(table, look), class_="marks", style=colors)
    return f"<style>{read_asset('marks.css')}</style>{write_node(node)}"


def _map_colors(look: Look) -> dict[str, str]:
    return {f"--{'rule' if name == 'grid' else name}": getattr(look.tokens, name) for name in COLORS}


def build_component(
    table: Marks, look: Look, *, picked: str = "", picks: bool = False, tick: str = "", ticked: Sequence[str] = ()
) -> Component:
    """Draw a table with intervals as a browser component that can be used with the keyboard.

    `picked` is the selected row, if rows can be selected (`picks`); `tick` is the label of check boxes (empty: none)
    and `ticked` the ticked rows. The component's states `picked` and `ticked` have the ids of rows.
    """
    node = draw_node(table, look, tick=tick, live=True)
    told = {"table": node, "colours": _map_colors(look), "picked": picked, "picks": picks, "ticked": list(ticked)}
    return Component("marks", told, look, still=partial(render_html, table, look))


def draw_node(table: Marks, look: Look, *, tick: str = "", live: bool = False) -> Node:
    """Return the HTML node of a table with intervals; `live`: its rows unfold, and the keyboard can be used."""
    return _Drawing(table, look, tick, live).draw_table()


@dataclass(frozen=True)
class _Drawing:
    table: Marks
    look: Look
    tick: str
    live: bool

    @cached_property
    def folds(self) -> bool:
        """Tell whether an interactive table with intervals has rows that unfold to further rows."""
        return self.live and any(row.children for row in self.table.rows)

    @cached_property
    def ties(self) -> TieLanes:
        """Return the vertical lines that join groups of rows in an interval table."""
        return place_ties([row.id for row in self.table.rows], self.table.groups)

    def draw_table(self) -> Node:
        """Return the HTML node of the whole interval table."""
        role = {"role": "treegrid" if self.folds else "grid"} if self.live else {}
        grids = (f"--g{k}:{_draw_grid(column.axis)};" for k, column in enumerate(self.table.columns) if column.axis)
        height = LOW if self.look.projector and len(self.table.rows) > ROOM else self.table.height
        style = f"--row:{height:g}rem;--px:{self.look.scale_size(1):g}px;{''.join(grids)}"
        columns = [*([IntervalColumn(self.tick, "", "2.2rem")] if self.tick else []), *self.table.columns]
        lanes = f"{2 * MARGIN + LANE * max(0, self.ties.lanes - 1)}px"
        widths = [lanes if column.ties else column.width for column in columns]
        styles = [
            _set_class(each) | ({"style": f"width:{w}"} if w else {}) for each, w in zip(columns, widths, strict=True)
        ]
        rows = (each for row in self.table.rows for each in self._draw_rows(row))
        head, body = make_node("thead", make_node("tr", *map(_draw_head, columns))), make_node("tbody", *rows)
        cols = make_node("colgroup", *(make_node("col", **each) for each in styles))
        return make_node("table", cols, head, body, aria_label=self.table.label, style=style, **role)

    def _draw_rows(self, row: IntervalRow) -> Iterator[Node]:
        state = {"data_id": row.id, "tabindex": "0", "aria_selected": "false"} if self.live and row.picks else {}
        if self.folds:
            state |= {"aria_level": "1"} | ({"aria_expanded": "false"} if row.children else {})
        apart = {"class_": "apart"} if row.apart else {}
        cells = self._draw_cells(row, self.ties.rows[row.id], foldable=bool(row.children))
        yield make_node("tr", *cells, **state, **apart)
        for child in row.children if self.folds else ():
            state |= {"data_id": child.id, "data_of": row.id, "aria_level": "2", "hidden": "", "class_": "child"}
            state.pop("aria_expanded", None)
            yield make_node("tr", *self._draw_cells(child, self.ties.below[row.id], child=True), **state)

    def _draw_cells(
        self, row: IntervalRow, lines: list[TieSegment], *, foldable: bool = False, child: bool = False
    ) -> Iterator[Node]:
        first, *others = self.table.columns
        name = _to_text_cell(row.cells.get(first.key, ""))
        if self.tick:
            box = make_node("input", type="checkbox", tabindex="-1", aria_label=f"{self.tick} {name.text}")
            yield make_node("td", box if row.ticks and not child else None, class_="box")
        fold = make_node("span", "\u25b8" * foldable, class_="fold", aria_hidden="true") if self.folds else None
        parts = make_node("span", fold, *_draw_words(name, cut_in_the_middle=not first.wrap), class_="name")
        yield make_node("th", parts, scope="row", title=name.title or name.text, **_set_class(first))
        for column in others:
            cell = row.cells.get(column.key, "")
            if column.ties:
                places = [(f"tie {line.part}", f"left:{MARGIN + LANE * line.lane}px") for line in lines]
                yield make_node("td", *(make_node("span", class_=k, style=s) for k, s in places), class_="ties")
            elif column.axis is not None:
                mark = _draw_mark(cell if isinstance(cell, Mark) else Mark(), column.axis)
                grid = {"style": f"--g:var(--g{self.table.columns.index(column)})"}
                yield make_node("td", make_node("span", mark, class_="m", **grid), **_set_class(column))
            else:
                words = _to_text_cell(cell)
                title = {"title": words.title or words.text} if words.text else {}
                yield make_node("td", *_draw_words(words), **title, **_set_class(column))


def _set_class(column: IntervalColumn) -> dict[str, str]:
    known = {"num": column.number, "mark": column.axis, **{name: getattr(column, name) for name in STYLES}}
    names = " ".join(name for name, is_so in known.items() if is_so)
    return {"class_": names} if names else {}


def _draw_head(column: IntervalColumn) -> Node:
    title: Node = column.title or make_node("span", column.key, class_="sr")
    labels = make_node("span", *_draw_labels(column.axis), class_="ax", aria_hidden="true") if column.axis else None
    return make_node("th", title, labels, scope="col", **_set_class(column))


def _draw_labels(axis: Axis) -> Iterator[Node]:
    """Yield the labels of an axis; in a narrow column every second label may be hidden, but never zero."""
    first, last = axis.ticks.index(axis.zero) if axis.zero in axis.ticks else 0, len(axis.ticks) - 1
    stay = {*range(first % 2, last + 1, 2)}
    if len(stay) == 1:  # an axis needs two labels
        stay.add(0 if first == last else last)
    for place, (tick, label) in enumerate(zip(axis.ticks, axis.labels, strict=True)):
        lesser = {} if place in stay else {"class_": "lesser"}
        yield make_node("span", label, style=f"left:{axis.to_percent(tick):.2f}%", **lesser)


def _to_text_cell(cell: Cell) -> TextCell:
    return cell if isinstance(cell, TextCell) else TextCell(cell if isinstance(cell, str) else "")


def _draw_words(words: TextCell, *, cut_in_the_middle: bool = False) -> Iterator[Node]:
    if words.dot:
        yield make_node("span", class_="dot", style=f"--c:{words.dot}")
    cut = cut_in_the_middle and len(words.text) > 2 * TAIL
    parts = (words.text[:-TAIL], words.text[-TAIL:]) if cut else (words.text,)
    kind = "text strong" if words.strong else "text"
    yield make_node("span", *(make_node("span", part) for part in parts), class_=kind)
    if words.small:
        yield make_node("small", words.small)
    if words.example:
        yield make_node("small", f"“{words.example}”", data_text="")


def _draw_grid(axis: Axis) -> str:
    lines = []
    for tick in axis.ticks:
        color, width = ("right", "1.5px") if tick == axis.zero else ("rule", "1px")
        lines.append(f"linear-gradient(var(--{color}) 0 0) {axis.to_percent(tick):.2f}% 0/{width} 100% no-repeat")
    if axis.band is not None:
        start, end = map(axis.to_percent, axis.band)
        place = 100 * start / (100 - end + start) if end - start < 100 else 0  # in CSS a share of the free space
        lines.append(f"linear-gradient(var(--panel) 0 0) {place:.2f}% 0/{end - start:.2f}% 100% no-repeat")
    return ",".join(lines) or "none"


def _draw_mark(mark: Mark, axis: Axis) -> Node | None:
    if not (said := mark.said or _describe_mark(mark)):
        return None
    color, kind = {"style": f"--c:{mark.color}"} if mark.color else {}, "tie" if mark.tie else "sure"
    return make_node("span", *_draw_parts(mark, axis), class_=kind, role="img", aria_label=said, title=said, **color)


def _draw_parts(mark: Mark, axis: Axis) -> Iterator[Node]:
    if mark.value is not None and not axis.low <= mark.value <= axis.high:
        low, text = mark.value < axis.low, number(mark.value)
        yield make_node(
            "span", f"\u2039 {text}" if low else f"{text} \u203a", class_=f"edge {'low' if low else 'high'}"
        )
        return
    if mark.low is not None and mark.high is not None:
        start, end = axis.to_percent(mark.low), axis.to_percent(mark.high)
        yield make_node("span", class_="bar", style=f"left:{start:.2f}%;width:{end - start:.2f}%")
    points = [("value", mark.value), ("ring", mark.reference), *(("run", dot) for dot in mark.dots)]
    for kind, value in points:
        if value is not None and axis.low <= value <= axis.high:
            yield make_node("span", class_=kind, style=f"left:{axis.to_percent(value):.2f}%")


def _describe_mark(mark: Mark) -> str:
    value = "" if mark.value is None else number(mark.value)
    known = mark.low is not None and mark.high is not None
    ends = f"95 % interval {number(mark.low or 0)} to {number(mark.high or 0)}" if known else ""
    dots = "runs " + ", ".join(map(number, mark.dots)) if mark.dots else ""
    ring = f"baseline {number(mark.reference)}" if mark.reference is not None else ""
    return ", ".join(filter(None, (value, ends, dots, ring)))
