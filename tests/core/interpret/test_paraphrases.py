"""Rules that leave the meaning alone, and the words that are the same afterwards."""

from __future__ import annotations

import pytest

from core.interpret.paraphrases import contracted, framed, paraphrases, unstopped
from core.text.typed import typed_words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I do not like it", "I don't like it"),
        ("It is late and we are cold", "It's late and we're cold"),
        ("DO NOT GO", "DON'T GO"),
        ("Don't go", "Do not go"),
        ("It's mine", "It's mine"),
        ("a notable isnot", "a notable isnot"),
    ],
)
def test_contractions_go_either_way_where_only_one_thing_is_meant(text, said):
    assert contracted(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The film is good.", "I think that the film is good."),
        ("I liked it", "I think that I liked it"),
        ("NASA won", "I think that NASA won"),
        ("Is it good?", "Is it good?"),
        ("", ""),
    ],
)
def test_a_frame_keeps_names_and_leaves_questions_alone(text, said):
    assert framed(text) == said


def test_a_full_stop_goes_or_comes_and_other_marks_stay():
    assert [unstopped(text) for text in ("So.", "So", "So…", "So...", "So!", "")] == [
        "So",
        "So.",
        "So…",
        "So...",
        "So!",
        "",
    ]


def test_shared_words_are_found_on_both_sides():
    found = {each.edit: each for each in paraphrases("It is not a GOOD film.")}
    assert set(found) == {"contraction", "frame", "full stop", "lower case"}
    for each in found.values():
        before, after = "It is not a GOOD film.", each.text
        old, new = typed_words(before), typed_words(after)
        pairs = [(before[slice(*old[a])].lower(), after[slice(*new[b])].lower()) for a, b in each.shared]
        assert all(one == two for one, two in pairs)
    assert len(found["frame"].shared) == len(found["lower case"].shared) == 7
    assert found["contraction"].text == "It's not a GOOD film."
    assert [a for a, _ in found["full stop"].shared] == [0, 1, 2, 3, 4, 5]
