"""Marks in table cells."""

from __future__ import annotations

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from dashboard.figures.sparkline import INTERVAL, PAD, blank, interval, sparkline
from dashboard.figures.theme import LIGHT


def drawing(address: str) -> ElementTree.Element:
    head, _, body = address.partition(",")
    assert head == "data:image/svg+xml;utf8"
    return ElementTree.fromstring(unquote(body))


def test_an_interval_lies_where_its_numbers_say():
    _, band, mark, ring = drawing(interval(0.75, 0.5, 1.0, (0.5, 1.0), 0.5, LIGHT))
    assert float(band.get("x")) == PAD
    assert float(band.get("width")) == INTERVAL - 2 * PAD
    assert float(mark.get("x")) == pytest.approx(INTERVAL / 2 - 1.25, abs=0.1)
    assert float(ring.get("cx")) == PAD


def test_numbers_off_the_axis_stay_at_its_end():
    _, _, mark = drawing(interval(0.2, 0.1, 0.3, (0.5, 1.0), None, LIGHT))
    assert float(mark.get("x")) == pytest.approx(PAD - 1.2, abs=0.1)


def test_a_sparkline_starts_in_the_middle_and_reaches_the_edge():
    _, line = drawing(sparkline([(0.2, 0.25, 0.3)], [0], LIGHT))
    heights = [float(y) for y in re.findall(r",([\d.]+)", line.get("points"))]
    assert heights == pytest.approx([14, 8.5, 3])


def test_nothing_to_draw_is_an_empty_picture():
    assert len(drawing(blank())) == len(drawing(sparkline([(0.2, 0.2)], [0], LIGHT))) == 0
