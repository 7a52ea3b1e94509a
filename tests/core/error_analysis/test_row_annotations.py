"""Cohen's κ is that of scikit-learn, its interval that of statsmodels."""

import numpy as np
import pytest
from coding import code_rows
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from core.error_analysis.codebook import Codes
from core.error_analysis.row_annotations import compare_authors, compute_kappa
from core.exceptions import InputError


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
