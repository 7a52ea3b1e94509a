"""What words and parts push by, as their figures share it."""

from dashboard.figures.pushed import FAINTEST, full_colour


def test_the_strongest_push_has_full_colour_unless_all_hardly_move_the_answer():
    assert full_colour([1.0, -3.0]) == 3.0
    assert full_colour([0.001, -0.002]) == full_colour([]) == FAINTEST
