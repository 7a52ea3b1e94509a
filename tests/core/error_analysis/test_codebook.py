from collections import Counter

import numpy as np
import pytest
from answering import answering, code_rows, right_where, texts
from refused import check_raises
from scipy.stats import chisquare
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa, to_table
from statsmodels.stats.proportion import proportion_confint

from core.error_analysis import query
from core.error_analysis.annotation_store import clean_author, make_visitor_id, name_author
from core.error_analysis.codebook import (
    Codes,
    compute_rates,
    draw_sample,
    get_data_name,
    list_draws,
    list_samples,
    sample_keys,
)
from core.error_analysis.predictions_table import read_table
from core.error_analysis.row_annotations import Code, compare_authors, compute_kappa
from core.error_analysis.selection import Selection, describe_selection, select_rows
from core.exceptions import InputError
from core.runs.store import RunStore

KEYS = [f"{n:012x}" for n in range(200)]


@pytest.fixture
def codes(tmp_path):
    found = Codes(tmp_path, "reviews")
    for name in ("irony", "negation", "label"):
        found.add_code(name)
    return found


def test_codes_get_the_first_free_digit_in_each_data_set(tmp_path, codes):
    many = Codes(tmp_path, "d")
    assert [many.add_code(f"code {n}").place for n in range(10)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]
    many.edit_code("code 3", place=0)
    assert many.add_code("new").place == 4 and [code.name for code in many.list_codes()][-2:] == ["code 3", "code 9"]
    other = Codes(codes.ledger.path.parent, "tweets")
    other.add_code("irony")
    code_rows(other, ["k"], ["irony"])
    assert codes.read_annotations().given == {} and len(codes.list_codes()) == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda c: c.add_code(" Irony "), "there is a code 'irony' already"),
        (lambda c: c.add_code("a;b"), "without ';'"),
        (lambda c: c.add_code(" \n "), "a name of one line"),
        (lambda c: c.add_code("x" * 61), "at most 60 characters"),
        (lambda c: c.add_code("a\x1b[31mb"), "holds the character U.001B, which is invisible"),
        (lambda c: c.add_code("a\u202eb"), "holds the character U.202E"),
        (lambda c: c.add_code("\u200d"), "has no visible letter, digit or sign"),
        (lambda c: code_rows(c, ["k"], [], author="\u2066ann"), "holds the character U.2066"),
        (lambda c: c.add_code("new", place=2), "key 2 belongs to the code 'negation'"),
        (lambda c: c.add_code("new", place=10), "a digit from 1 to 9"),
        (lambda c: c.edit_code("irony", to="LABEL"), "`codes merge` joins two codes"),
        (
            lambda c: code_rows(c, ["k"], ["nothing"]),
            "no code 'nothing' for reviews; the codes are: irony, label, negation",
        ),
        (lambda c: c.write_note("k", "x" * 4001), "at most 4000 characters, these are 4001"),
        (lambda c: c.merge_codes(["irony"], "irony"), "at least one other code"),
        (lambda c: c.split_code("irony", "new", ["k"]), "no row of the selection has the code 'irony'"),
        (lambda c: code_rows(c, ["k"], [], author="a" * 61), "author 'a"),
    ],
)
def test_invalid_input_is_refused_and_changes_nothing(codes, wrong, said):
    before = codes.ledger.read_history("reviews")
    check_raises(InputError, said, wrong, codes)
    assert codes.ledger.read_history("reviews") == before


def test_codes_are_stored_per_author(codes):
    code_rows(codes, ["a", "b"], ["irony"], author="ann", run="one")
    codes.give_codes(["b"], ["label"], author="ann")
    code_rows(codes, ["b"], ["negation"], author="ben")
    coded = codes.read_annotations()
    assert coded.given["b"] == {"ann": ("irony", "label"), "ben": ("negation",)} and coded.authors == ("ann", "ben")
    assert coded.get_codes("b") == ("irony", "label", "negation") and coded.select_author("ben").given == {
        "b": {"ben": ("negation",)}
    }
    assert codes.read_annotations("ann").given == {"a": {"ann": ("irony",)}, "b": {"ann": ("irony", "label")}}
    np.testing.assert_array_equal(coded.match_code(["a", "b", "c"]), [True, True, False])
    np.testing.assert_array_equal(coded.match_code(["a", "b", "c"], "label"), [False, True, False])
    codes.give_codes(["a", "b"], ["irony"], off=True, author="ann")
    assert codes.read_annotations("ann").given == {"b": {"ann": ("label",)}}
    assert {row["run"] for row in codes.ledger.read_rows("codings", key="a")} == set()


def test_merging_codes_keeps_one_coding_and_can_be_undone(codes):
    code_rows(codes, ["a"], ["irony", "negation"], author="ann")
    code_rows(codes, ["b"], ["negation"], author="ben")
    before = codes.read_annotations()
    assert codes.merge_codes(["negation"], "irony", author="ann") == 2
    assert codes.read_annotations().given == {"a": {"ann": ("irony",)}, "b": {"ben": ("irony",)}}
    assert [code.name for code in codes.list_codes()] == ["irony", "label"]
    codes.undo_last("ann")
    assert codes.read_annotations() == before


def test_splitting_moves_selected_rows_of_all_authors(codes):
    code_rows(codes, ["a", "b", "c"], ["irony"], author="ann")
    code_rows(codes, ["a"], ["irony"], author="ben")
    assert codes.split_code("irony", "sarcasm", ["a", "b", "z"]) == 3
    codes.edit_code("irony", to="pun", definition="says the opposite")
    assert {key: codes.read_annotations().get_codes(key) for key in "abc"} == {
        "a": ("sarcasm",),
        "b": ("sarcasm",),
        "c": ("pun",),
    }
    assert codes.list_codes()[0] == Code("pun", 1, "says the opposite", "")


def test_notes_and_codes_of_others_are_hidden_alike(codes):
    codes.write_note("a", "irony, I think", author="ann")
    code_rows(codes, ["b"], ["irony"], author="ann")
    keys = ["a", "b"]

    def seen(author):
        found = codes.read_annotations().filter_visible(author)
        return found.match_notes(keys).tolist(), found.match_code(keys).tolist()

    everything = [True, False], [False, True]
    assert seen("ann") == everything and seen("") == everything
    assert seen("ben") == ([False, False], [False, False])
    code_rows(codes, ["b"], ["label"], author="ben")
    assert seen("ben") == ([False, False], [False, True]), "of a he has said nothing yet"
    codes.write_note("a", "a wish", author="ben")
    assert codes.read_annotations().filter_visible("ben").notes["a"] == {"ann": "irony, I think", "ben": "a wish"}


def test_used_codes_cannot_be_removed_nor_restored_without_the_codebook(codes):
    code_rows(codes, ["a"], ["irony"], author="ann")
    check_raises(InputError, "sentences have it", codes.remove_code, "irony")
    code_rows(codes, ["a"], [], author="ann")
    codes.remove_code("irony", author="ben")
    assert [code.name for code in codes.list_codes()] == ["negation", "label"]
    check_raises(InputError, "1 sentence has the code 'irony'", codes.undo_last, "ann")


@pytest.mark.slow
def test_runs_on_the_same_sentences_share_codes(tmp_path):
    store, labels = RunStore(tmp_path / "runs"), np.arange(6) % 2
    for name in ("one", "two"):
        answering(store, name, right_where(labels > 0, labels), texts(labels), data__name="/somewhere/reviews.csv")
    one, two = (read_table(store, name) for name in ("one", "two"))
    assert get_data_name(one.record) == get_data_name(two.record) == "reviews.csv"
    codes = Codes(store.folder, get_data_name(one.record))
    codes.add_code("irony")
    code_rows(codes, one.frame["key"][[0, 4]], ["irony"], run="one")

    def rows(clause):
        return np.flatnonzero(
            query.match_rows(query.parse_rules([clause], two), two, codes=codes.read_annotations())
        ).tolist()

    assert rows("coded") == rows("code=irony") == [0, 4]
    assert rows("uncoded") == rows("code!=irony") == [1, 2, 3, 5]
    codes.write_note(two.frame["key"][4], "both", author="ann")
    codes.write_note(two.frame["key"][5], "a note first, codes later", author="ann")
    assert rows("noted") == [4, 5] and rows("unnoted") == [0, 1, 2, 3]
    later = select_rows(Selection(("noted", "uncoded")), two, None, store)
    assert later.places.tolist() == [5] and describe_selection(later.clauses) == "noted, not coded"
    found = select_rows(Selection(("coded", "code!=irony", "uncoded")), two, None, store)
    assert found.places.tolist() == [] and describe_selection(found.clauses) == "coded, not coded irony, not coded"
    check_raises(InputError, "no code 'sarcasm'; the codes are: irony", rows, "code=sarcasm")
    check_raises(InputError, "write a code, or coded or uncoded alone", rows, "code=")


def test_code_names_ignore_case(codes):
    code_rows(codes, ["a"], ["IRONY"], author="ann")
    codes.give_codes(["b"], ["Irony"], author="ann")
    assert codes.read_annotations().given == {"a": {"ann": ("irony",)}, "b": {"ann": ("irony",)}}
    assert codes.read_annotations().match_code(["a", "c"], "Irony").tolist() == [True, False]
    assert codes.split_code("Irony", "NEGATION", ["a"]) == 1
    assert codes.read_annotations().get_codes("a") == ("negation",)
    assert codes.merge_codes(["Negation"], "Irony") == 1 and codes.read_annotations().get_codes("a") == ("irony",)
    assert codes.edit_code("IRONY", to="Irony").name == "Irony"
    assert codes.read_annotations().get_codes("b") == ("Irony",)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.add_code("pun", author="ann"),
        lambda c: c.edit_code("irony", to="pun", author="ann"),
        lambda c: c.merge_codes(["irony", "label"], "pun", author="ann"),
        lambda c: c.split_code("irony", "pun", ["a"], author="ann"),
    ],
    ids=["add", "rename", "merge", "split"],
)
def test_undo_keeps_a_code_that_is_used_since(codes, change):
    code_rows(codes, ["a"], ["irony"], author="ben")
    change(codes)
    code_rows(codes, ["b"], ["pun"], author="ben")
    before = codes.read_annotations()
    check_raises(InputError, "cannot be undone: 1 sentence has the code 'pun' by now", codes.undo_last, "ann")
    assert codes.read_annotations() == before
    code_rows(codes, ["b"], [], author="ben")
    codes.undo_last("ann")
    assert [code.name for code in codes.list_codes()] == ["irony", "negation", "label"]


def test_codes_of_others_are_visible_after_coding_the_row(codes):
    code_rows(codes, ["a", "b", "c"], ["irony"], author="ann")
    codes.write_note("b", "why?", author="ann")
    code_rows(codes, ["a"], ["label"], author="ben")
    everything, seen = codes.read_annotations(), codes.read_annotations().filter_visible("ben")
    assert seen.given == {"a": {"ann": ("irony",), "ben": ("label",)}} and seen.notes == {}
    assert everything.count_hidden(seen, "abz") == 1 and everything.count_hidden(everything, "abc") == 0
    assert codes.read_annotations().filter_visible("carl").given == {}
    assert codes.read_annotations().filter_visible(make_visitor_id("0" * 12)) == everything
    code_rows(codes, ["b"], ["label"], author="ben")
    assert codes.read_annotations().filter_visible("ben").notes == {"b": {"ann": "why?"}}


def test_unnamed_visitors_are_separate_and_can_take_a_name(codes):
    one, two = make_visitor_id("0" * 12), make_visitor_id("1" * 12)
    code_rows(codes, ["a", "b"], ["irony"], author=one)
    codes.write_note("a", "mine", author=one)
    code_rows(codes, ["a"], ["label"], author=two)
    codes.write_note("b", "theirs", author=two)
    codes.write_note("b", "", author=two)
    codes.write_note("c", "other", author=one)
    codes.write_note("c", "was there", author="ann")
    codes.write_note("d", "x" * 3000, author=one)
    codes.write_note("d", "y" * 3000, author="ann")
    assert [name_author(each) for each in (one, "", "ann")] == ["(no name)", "(no name)", "ann"]
    assert clean_author(one) == one
    assert codes.transfer_visitor(one, "ann") and not codes.transfer_visitor(one, "ann")
    assert codes.read_annotations().given == {"a": {two: ("label",), "ann": ("irony",)}, "b": {"ann": ("irony",)}}
    assert codes.read_annotations().notes == {
        "a": {"ann": "mine"},
        "c": {"ann": "was there\nother"},
        "d": {"ann": "y" * 3000 + "\n" + "x" * 3000},
    }
    assert [codes.undo_last(two)["said"] for _ in range(3)] == ["note: row b", "note: row b", "label: row a"]
    assert codes.read_annotations().given == {"a": {"ann": ("irony",)}, "b": {"ann": ("irony",)}}


def test_changes_made_before_taking_a_name_can_be_undone(codes):
    code_rows(codes, ["a", "b"], ["irony"], author=make_visitor_id("0" * 12))
    codes.transfer_visitor(make_visitor_id("0" * 12), "ann")
    assert codes.undo_last("ann")["said"] == "irony: 2 rows" and codes.read_annotations().given == {}


@pytest.fixture
def two_codes(tmp_path):
    found = Codes(tmp_path, "reviews")
    found.add_code("irony")
    found.add_code("label")
    return found


def measure_rates(two_codes, keys):
    return compute_rates(two_codes.read_annotations(), keys, list_draws(two_codes))


def test_samples_ignore_input_order_and_larger_ones_contain_smaller_ones(two_codes):
    assert sample_keys(KEYS, 75, 3) == sample_keys(KEYS[::-1], 75, 3) == sample_keys(KEYS, 150, 3)[:75]
    assert set(sample_keys(KEYS, 75, 3)) != set(sample_keys(KEYS, 75, 4))
    counts = Counter(key for seed in range(100) for key in sample_keys(KEYS, 50, seed))
    assert chisquare([counts[key] for key in KEYS]).pvalue > 0.01, "every row is drawn equally often"
    made = draw_sample(two_codes, KEYS, 75, 0, "wrong", run="one", author="ann")
    assert draw_sample(two_codes, KEYS[::-1], 75, 0, "the same", author="ben") == made
    assert list_draws(two_codes) == [made] and made.keys == sample_keys(KEYS, 75, 0) and made.population == set(KEYS)
    check_raises(InputError, "201 at random of 200 rows: draw 1 to 200", draw_sample, two_codes, KEYS, 201, 0, "wrong")


def test_rates_need_a_fully_coded_sample(two_codes):
    made = draw_sample(two_codes, KEYS, 75, 0, "wrong")
    code_rows(two_codes, made.keys[:20], ["irony"])
    code_rows(two_codes, made.keys[20:74], ["label"])
    half = measure_rates(two_codes, KEYS)
    assert not half["complete"] and half["sample"]["coded"] == 74 and half["codes"][0]["share"] is None
    assert half["said"] == "74 of 75 coded, a random sample of 200. Percentages need all of it coded."
    code_rows(two_codes, made.keys[74:], ["label"])
    code_rows(two_codes, [key for key in KEYS if key not in made.keys][:10], ["irony"])  # by choice: they do not count
    whole = measure_rates(two_codes, KEYS)
    label, irony = whole["codes"]
    assert whole["complete"] and whole["coded"] == 85 and whole["sample"]["n"] == 75 and whole["sample"]["of"] == 200
    assert (label["code"], label["n"], label["hits"], label["share"]) == ("label", 55, 55, 55 / 75)
    assert (irony["n"], irony["hits"]) == (30, 20)
    assert irony["interval"] == pytest.approx(proportion_confint(20, 75, method="wilson"))
    assert measure_rates(two_codes, list(made.keys))["sample"]["of"] == 200, (
        "the draw itself speaks for what was drawn from"
    )


def test_a_subset_is_estimated_by_its_part_of_the_sample(two_codes):
    made = draw_sample(two_codes, KEYS, 75, 0, "wrong")
    code_rows(two_codes, made.keys, ["irony"])
    part = measure_rates(two_codes, KEYS[:100])
    assert part["complete"] and part["sample"]["n"] == sum(key in made.keys for key in KEYS[:100]) < 75
    assert part["sample"]["of"] == 100
    more = measure_rates(two_codes, [*KEYS, "f" * 12])
    assert not more["complete"] and not more["sample"]["draw"], "nothing was drawn from what is larger"


def test_picked_rows_are_no_random_sample(two_codes):
    code_rows(two_codes, KEYS[:199], ["irony"])
    some = measure_rates(two_codes, KEYS)
    assert not some["complete"] and [row["n"] for row in some["codes"]] == [199, 0]
    assert some["said"] == "199 of 200 coded. Percentages need all of them coded, or a random sample."
    code_rows(two_codes, KEYS[199:], ["label"])
    every = measure_rates(two_codes, KEYS)
    assert every["complete"] and every["said"] == "All are coded."
    assert every["codes"][0]["interval"] == pytest.approx(proportion_confint(199, 200, method="wilson"))


def test_rows_selected_by_codes_need_a_complete_sample(two_codes):
    made = draw_sample(two_codes, KEYS, 75, 0, "wrong")
    code_rows(two_codes, made.keys[:40], ["irony"])
    read = list(two_codes.read_annotations().given)
    assert measure_rates(two_codes, read)["complete"], "of sentences chosen otherwise they would be all"
    some = compute_rates(two_codes.read_annotations(), read, list_draws(two_codes), by_codes=True)
    assert not some["complete"] and {row["share"] for row in some["codes"]} == {None}
    assert some["said"].startswith("Chosen by their codes") and [row["n"] for row in some["codes"]] == [40, 0]
    code_rows(two_codes, made.keys[40:], ["label"])
    code_rows(two_codes, [key for key in KEYS if key not in made.keys][:9], ["irony"])
    whole = compute_rates(
        two_codes.read_annotations(), list(two_codes.read_annotations().given), list_draws(two_codes), by_codes=True
    )
    assert whole["complete"] and (whole["sample"]["n"], whole["sample"]["of"]) == (75, 200)
    assert {row["code"]: row["share"] for row in whole["codes"]} == {"irony": 40 / 75, "label": 35 / 75}


def test_several_authors_are_mentioned_and_no_rows_give_no_rates(two_codes):
    code_rows(two_codes, KEYS, ["irony"], author="ann")
    assert measure_rates(two_codes, KEYS)["said"] == "All are coded."
    code_rows(two_codes, KEYS[:50], ["label"], author="ben")
    both = measure_rates(two_codes, KEYS)
    assert both["authors"] == 2 and both["said"] == "All are coded. A code counts where any of 2 authors gave it."
    assert [row["share"] for row in both["codes"]] == [1.0, 0.25]
    none = measure_rates(two_codes, [])
    assert none["said"] == "No row is selected." and not none["complete"] and none["n"] == none["coded"] == 0
    assert [len(sample.keys) for sample in list_samples([], [])] == [0]


@pytest.mark.parametrize("kinds", [2, 3, 6])
def test_kappa_and_interval_equal_libraries(kinds):
    random = np.random.default_rng(kinds)
    first = random.integers(0, kinds, 120)
    second = np.where(random.random(120) < 0.6, first, random.integers(0, kinds, 120))
    found = compute_kappa(first.tolist(), second.tolist())
    known = cohens_kappa(to_table(np.stack([first, second], 1))[0])
    assert found.value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    assert found.interval == pytest.approx((known.kappa_low, known.kappa_upp), abs=1e-9)


def test_constant_raters_have_no_kappa():
    one = ["a"] * 9 + ["b"]
    assert compute_kappa([*one, "b", "b"], [*one, "b", "a"]).interval[1] == 1  # the normal interval goes beyond
    assert compute_kappa(["a"] * 5, ["a"] * 5) == compute_kappa([], []) == (None, None)
    assert compute_kappa(["a", "a"], ["b", "b"]).value == 0 == cohen_kappa_score(["a", "a"], ["b", "b"])


@pytest.mark.slow
def test_authors_are_compared_on_rows_that_both_coded(tmp_path):
    codes, random = Codes(tmp_path, "reviews"), np.random.default_rng(0)
    names = ["irony", "label", "negation"]
    for name in names:
        codes.add_code(name)
    keys = [f"k{n:02}" for n in range(40)]
    said = {}
    for author, rows in (("ann", keys[:30]), ("ben", keys[5:])):
        for key in rows:
            said[author, key] = sorted({*random.choice(names, 2)})
            code_rows(codes, [key], said[author, key], author=author)
    both = keys[5:30]
    found = compare_authors(codes.read_annotations(), "ann", "ben", keys)
    ours, theirs = ([";".join(said[author, key]) for key in both] for author in ("ann", "ben"))
    assert found["n"] == 25 and found["same"] == sum(a == b for a, b in zip(ours, theirs, strict=True))
    assert found["kappa"] == pytest.approx(cohen_kappa_score(ours, theirs))
    for row in found["codes"]:
        first, second = ([row["code"] in said[author, key] for key in both] for author in ("ann", "ben"))
        assert (row["first"], row["second"]) == (sum(first), sum(second))
        assert row["both"] == sum(np.array(first) & np.array(second))
        assert row["kappa"] == pytest.approx(cohen_kappa_score(first, second))
    apart = [key for key, a, b in zip(both, ours, theirs, strict=True) if a != b]
    assert [each["key"] for each in found["apart"]] == apart
    with pytest.raises(InputError, match=r"carl has coded nothing; coded have: ann, ben"):
        compare_authors(codes.read_annotations(), "ann", "carl", keys)
