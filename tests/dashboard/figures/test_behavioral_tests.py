"""Failure rates by capability, their text, and the failed cases of a run."""

import pytest
from scipy import stats

from core.behavioral_tests.report import load_group_suite, measure_groups
from core.behavioral_tests.suite import Suite, SuiteCase, SuiteTest, find_polarities, judge_cases
from dashboard.figures import behavioral_tests as behavior
from dashboard.figures.theme import Look

LOOK = Look(dark=False, projector=False)
SIDES = find_polarities("run", ("negative", "positive"))
FEW = Suite(
    "mine",
    (
        SuiteTest("plain", "words", "minimum", (SuiteCase(("a",), ("positive",)), SuiteCase(("b",), ("positive",)))),
        SuiteTest("case", "words", "invariance", (SuiteCase(("a", "A")),)),
        SuiteTest("very", "intensity", "direction", (SuiteCase(("b", "very b"), ("negative",)),)),
    ),
)


def cases(name: str, n: int, expected=("positive",), group: str = "") -> tuple[SuiteCase, ...]:
    return tuple(SuiteCase((f"{name} {number}",), expected, f"{name} {number}", group) for number in range(n))


SUITE = Suite(
    "mine",
    (
        SuiteTest("plain", "words", "minimum", cases("plain", 20)),
        SuiteTest("not", "negation", "minimum", cases("not", 20)),
        SuiteTest("both", "contrast", "minimum", cases("both", 2, group="g")),
        SuiteTest("ask", "questions", "minimum", cases("ask", 5, ("neutral",))),
    ),
)


def judged(run: str, wrong: set[str]):
    """A run that fails only the tests with these names."""
    rows = [[0.9, 0.1] if text.split()[0] in wrong else [0.2, 0.8] for text in SUITE.texts]
    return judge_cases(run, SUITE, SIDES, rows)


@pytest.fixture
def behaved() -> behavior.BehaviorResults:
    return behavior.BehaviorResults({"bag": judged("bag", {"not", "plain"}), "deep": judged("deep", {"not"})}, "deep")


def test_rows_are_sorted_by_failure_rate_and_mark_sure_results(behaved):
    table = behavior.build_rates_marks(behaved, LOOK.tokens)
    assert [column.title for column in table.columns if column.axis] == ["deep", "bag"]
    names = ["negation", "words", "contrast", "questions"]
    assert [row.id for row in table.rows] == [f"capability {name}" for name in names]
    assert [child.id for child in table.rows[0].children] == ["test not"]
    rows = {row.id.partition(" ")[2]: row.cells for row in behavior.build_rates_marks(behaved, LOOK.tokens).rows}
    failed, passed, still_open = (rows[name]["mark deep"] for name in ("negation", "words", "contrast"))
    assert (failed.value, failed.color, failed.tie) == (1.0, LOOK.tokens.wrong, False)
    assert (passed.value, passed.color, passed.tie) == (0.0, LOOK.tokens.right, False)
    assert still_open.tie and still_open.high > 0.3
    assert rows["negation"]["rate deep"].strong and not rows["words"]["rate deep"].strong
    assert "20 of 20 fail" in failed.said
    [row] = [row for row in behavior.build_rates_marks(behaved, LOOK.tokens).rows if row.id == "capability questions"]
    assert "mark deep" not in row.cells and row.cells["rate deep"].text == "–"
    assert "No class could be right" in row.cells["rate deep"].title


def test_summary_reports_differences_between_runs_and_the_table_has_each_row(behaved):
    said, behind = behavior.summarize_rates(behaved)
    assert said == "deep passes 1 of 3 capabilities, but fails negation."
    assert behind == (
        "Failure rate: 100 %. 1 is inconclusive: its interval includes the limit of 30 %. It differs from bag on words."
    )
    alone = behavior.BehaviorResults({"good": judged("good", set())}, "good")
    assert behavior.summarize_rates(alone)[0] == "good passes 2 of 3 capabilities and clearly fails none."
    assert behavior.count_contrast_sets(behaved) == "Contrast sets fully correct: 1 of 1 (deep), 1 of 1 (bag)."
    found = [behavior.join_names(list("abcde")[:n]) for n in (0, 1, 2, 3, 5)]
    assert found == ["", "a", "a and b", "a, b and c", "a, b, c and 2 more"]
    table = behavior.build_rates_table(behaved)
    assert len(table) == 2 * (4 + 4)
    [row] = table.query("capability == 'words' and test == 'all' and run == 'bag'").to_dict("records")
    assert (row["n"], row["failed"], row["rate"], row["verdict"]) == (20, 20, 1.0, "fails")
    html = behavior.RATES.draw(behaved, LOOK).to_html("place")
    assert "negation" in html and "<script" not in html


@pytest.fixture
def few_results() -> behavior.BehaviorResults:
    # texts: a, b, A, very b
    one = judge_cases("one", FEW, SIDES, [[0.3, 0.7], [0.8, 0.2], [0.6, 0.4], [0.5, 0.5]])
    two = judge_cases("two", FEW, SIDES, [[0.1, 0.9], [0.4, 0.6], [0.1, 0.9], [0.4, 0.6]])
    return behavior.BehaviorResults({"one": one, "two": two}, "one")


def test_failing_cases_have_the_predictions_of_all_runs_and_compared_texts_of_all(few_results):
    found = behavior.collect_failures(few_results, "test plain", "one")
    assert (len(found.cases), found.asked, found.single) == (1, 2, True)
    [row] = behavior.build_failures_table(found).to_dict("records")
    assert row == {"sentence": "b", "test": "plain", "must": "be positive", "one": 0.2, "two": 0.6, "text": "b"}
    assert behavior.FAILING.resolve_text(behavior.FAILING.note, found) == "1 of 2 fail for one"
    found = behavior.collect_failures(few_results, "test case", "two")
    assert found.cases == () and behavior.build_failures_table(found).empty
    shown = behavior.FAILING.draw(behavior.collect_failures(few_results, "capability words", "one"), LOOK).rows
    assert list(shown) == ["sentence", "must", "one", "two", "test"], "narrow pages cut off the last"
    assert "test" not in behavior.FAILING.draw(behavior.collect_failures(few_results, "test plain", "one"), LOOK).rows
    failures = behavior.collect_failures(few_results, "capability words", "one")
    [_, row] = behavior.build_failures_table(failures).to_dict("records")
    assert (row["sentence"], row["must"], row["text"]) == ("a → A", "not change", "A")
    assert (row["one"], row["two"]) == ("positive 0.70 → negative 0.60", "positive 0.90 → positive 0.90")
    failures = behavior.collect_failures(few_results, "capability intensity", "one")
    [row] = behavior.build_failures_table(failures).to_dict("records")
    assert (row["sentence"], row["must"]) == ("b → very b", "not weaken negative")
    assert (row["one"], row["two"]) == ("0.80 → 0.50", "0.40 → 0.40")


def test_kinds_of_groups_are_sorted_by_gap_and_unfold_to_rates():
    suite = load_group_suite()
    rows = [[0.1, 0.9] if " deaf " in x or ("teenage" in x and "The" in x) else [0.8, 0.2] for x in suite.texts]
    found = measure_groups(judge_cases("mine", suite, SIDES, rows))
    first, second, *others = behavior.build_group_marks(found, LOOK.tokens).rows
    assert (first.id, second.id, len(others)) == ("kind disability", "kind age", 5)
    assert (first.cells["neutral"], first.cells["gap"].value, first.cells["gap"].tie) == ("1.00", 1.0, False)
    assert first.cells["gap"].color == LOOK.tokens.wrong and first.cells["mark"].dots == (0,) * 7 + (1,)
    assert first.cells["name"].small.startswith("deaf, ") and others[0].cells["name"].small == "Christian, atheist"
    assert others[0].cells["gap"].tie and others[0].cells["gap"].color == LOOK.tokens.right
    deaf = first.children[-1]
    assert (deaf.id, deaf.cells["neutral"], deaf.cells["blaming"]) == ("group deaf", "1.00", "1.00")
    assert deaf.cells["mark"].low == pytest.approx(stats.binomtest(24, 24).proportion_ci(method="wilson").low)
    tables = behavior.GROUPS.build_tables(found)
    assert len(tables["Groups"]) == 3 * found["terms"] and len(tables["Gaps"]) == 21
    assert behavior.GROUPS.note(found) == f"{found['terms']} terms in 44 sentences"
