"""In which direction a text is read, and how it is told within a sentence of another one."""

import pytest

from core.text.clusters import direction, quoted


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("not bad", "ltr"),
        ("", "ltr"),
        ("감사합니다 ক্ষমা 2024!", "ltr"),
        ("الفيلم رائع", "rtl"),
        ("שלום!", "rtl"),
        ("@user12 RT الفيلم رائع جداً، شكراً", "rtl"),
        ("he said شكراً and went on", "ltr"),
    ],
)
def test_most_letters_decide(text, way):
    assert direction(text) == way


def test_a_quoted_text_keeps_its_marks_on_its_side():
    assert quoted("bad!") == "“bad!”"
    assert quoted("شكراً!") == "“\u2068شكراً!\u2069”"
    assert quoted("감사" * 40, 5) == "“감사감사…”"
