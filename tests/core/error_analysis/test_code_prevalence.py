"""Random draws, and rates that are told only where the rows that were read can tell."""

from collections import Counter

import pytest
from coding import code_rows
from scipy.stats import chisquare
from statsmodels.stats.proportion import proportion_confint

from core.error_analysis.codebook import Codes, compute_rates, draw_sample, list_draws, list_samples, sample_keys
from core.exceptions import InputError

KEYS = [f"{n:012x}" for n in range(200)]


@pytest.fixture
def codes(tmp_path):
    found = Codes(tmp_path, "reviews")
    found.add_code("irony")
    found.add_code("label")
    return found


def measure_rates(codes, keys):
    return compute_rates(codes.read_annotations(), keys, list_draws(codes))


def test_samples_ignore_input_order_and_larger_ones_contain_smaller_ones(codes):
    assert sample_keys(KEYS, 75, 3) == sample_keys(KEYS[::-1], 75, 3) == sample_keys(KEYS, 150, 3)[:75]
    assert set(sample_keys(KEYS, 75, 3)) != set(sample_keys(KEYS, 75, 4))
    counts = Counter(key for seed in range(100) for key in sample_keys(KEYS, 50, seed))
    assert chisquare([counts[key] for key in KEYS]).pvalue > 0.01, "every row is drawn equally often"
    made = draw_sample(codes, KEYS, 75, 0, "wrong", run="one", author="ann")
    assert draw_sample(codes, KEYS[::-1], 75, 0, "the same", author="ben") == made
    assert list_draws(codes) == [made] and made.keys == sample_keys(KEYS, 75, 0) and made.population == set(KEYS)
    with pytest.raises(InputError, match="201 at random of 200 rows: draw 1 to 200"):
        draw_sample(codes, KEYS, 201, 0, "wrong")


def test_rates_need_a_fully_coded_sample(codes):
    made = draw_sample(codes, KEYS, 75, 0, "wrong")
    code_rows(codes, made.keys[:20], ["irony"])
    code_rows(codes, made.keys[20:74], ["label"])
    half = measure_rates(codes, KEYS)
    assert not half["complete"] and half["sample"]["coded"] == 74 and half["codes"][0]["share"] is None
    assert half["said"] == "74 of 75 coded, a random sample of 200. Percentages need all of it coded."
    code_rows(codes, made.keys[74:], ["label"])
    code_rows(codes, [key for key in KEYS if key not in made.keys][:10], ["irony"])  # read by choice: they do not count
    whole = measure_rates(codes, KEYS)
    label, irony = whole["codes"]
    assert whole["complete"] and whole["coded"] == 85 and whole["sample"]["n"] == 75 and whole["sample"]["of"] == 200
    assert (label["code"], label["n"], label["hits"], label["share"]) == ("label", 55, 55, 55 / 75)
    assert (irony["n"], irony["hits"]) == (30, 20)
    assert irony["interval"] == pytest.approx(proportion_confint(20, 75, method="wilson"))
    assert measure_rates(codes, list(made.keys))["sample"]["of"] == 200, (
        "the draw itself speaks for what was drawn from"
    )


def test_a_subset_is_estimated_by_its_part_of_the_sample(codes):
    made = draw_sample(codes, KEYS, 75, 0, "wrong")
    code_rows(codes, made.keys, ["irony"])
    part = measure_rates(codes, KEYS[:100])
    assert part["complete"] and part["sample"]["n"] == sum(key in made.keys for key in KEYS[:100]) < 75
    assert part["sample"]["of"] == 100
    more = measure_rates(codes, [*KEYS, "f" * 12])
    assert not more["complete"] and not more["sample"]["draw"], "nothing was drawn from what is larger"


def test_picked_rows_are_no_random_sample(codes):
    code_rows(codes, KEYS[:199], ["irony"])
    some = measure_rates(codes, KEYS)
    assert not some["complete"] and [row["n"] for row in some["codes"]] == [199, 0]
    assert some["said"] == "199 of 200 coded. Percentages need all of them coded, or a random sample."
    code_rows(codes, KEYS[199:], ["label"])
    every = measure_rates(codes, KEYS)
    assert every["complete"] and every["said"] == "All are coded."
    assert every["codes"][0]["interval"] == pytest.approx(proportion_confint(199, 200, method="wilson"))


def test_rows_selected_by_codes_need_a_complete_sample(codes):
    made = draw_sample(codes, KEYS, 75, 0, "wrong")
    code_rows(codes, made.keys[:40], ["irony"])
    read = list(codes.read_annotations().given)
    assert measure_rates(codes, read)["complete"], "of sentences chosen otherwise they would be all"
    some = compute_rates(codes.read_annotations(), read, list_draws(codes), by_codes=True)
    assert not some["complete"] and {row["share"] for row in some["codes"]} == {None}
    assert some["said"].startswith("Chosen by their codes") and [row["n"] for row in some["codes"]] == [40, 0]
    code_rows(codes, made.keys[40:], ["label"])
    code_rows(codes, [key for key in KEYS if key not in made.keys][:9], ["irony"])
    whole = compute_rates(
        codes.read_annotations(), list(codes.read_annotations().given), list_draws(codes), by_codes=True
    )
    assert whole["complete"] and (whole["sample"]["n"], whole["sample"]["of"]) == (75, 200)
    assert {row["code"]: row["share"] for row in whole["codes"]} == {"irony": 40 / 75, "label": 35 / 75}


def test_several_authors_are_mentioned_and_no_rows_give_no_rates(codes):
    code_rows(codes, KEYS, ["irony"], author="ann")
    assert measure_rates(codes, KEYS)["said"] == "All are coded."
    code_rows(codes, KEYS[:50], ["label"], author="ben")
    both = measure_rates(codes, KEYS)
    assert both["authors"] == 2 and both["said"] == "All are coded. A code counts where any of 2 authors gave it."
    assert [row["share"] for row in both["codes"]] == [1.0, 0.25]
    none = measure_rates(codes, [])
    assert none["said"] == "No row is selected." and not none["complete"] and none["n"] == none["coded"] == 0
    assert [len(sample.keys) for sample in list_samples([], [])] == [0]
