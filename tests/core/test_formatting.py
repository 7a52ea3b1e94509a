from core.formatting import count, whole_percent


def test_thousands_have_narrow_spaces_and_a_share_is_percent_with_a_space():
    assert (count(872), count(6920), count(1_234_567)) == ("872", "6\u202f920", "1\u202f234\u202f567")
    assert (whole_percent(0.1), whole_percent(1)) == ("10 %", "100 %")
