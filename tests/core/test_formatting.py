"""How whole numbers and shares are written, here and on the pages."""

from core.formatting import format_count, format_whole_percent


def test_thousands_have_narrow_spaces_and_a_share_is_percent_with_a_space():
    assert (format_count(872), format_count(6920), format_count(1_234_567)) == (
        "872",
        "6\u202f920",
        "1\u202f234\u202f567",
    )
    assert (format_whole_percent(0.1), format_whole_percent(1)) == ("10 %", "100 %")
