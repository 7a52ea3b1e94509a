"""Reports of a run, a comparison or a coded session: numbers equal the record, texts are escaped."""

import base64
import dataclasses
import hashlib
import re

import numpy as np
import pytest
from answering import answering, right_where, texts
from reports import columns, packed

from core import api
from core.api.public_classes import Run
from core.error_analysis.codebook import list_draws
from core.error_analysis.predictions_table import read_table
from core.exceptions import InputError
from core.metrics import INTERVAL_VERSION
from core.runs.store import RunStore
from dashboard.reports import report_sections as kept_rows
from dashboard.reports.build import build_report
from dashboard.reports.report_parts import ReportReader
from dashboard.reports.report_sections import write_codes_section, write_run_card

pytestmark = pytest.mark.slow

LABELS = np.arange(60) % 2
GOOD, POOR = np.arange(60) % 10 > 1, np.arange(60) % 3 > 0
EVIL = '</script><script>alert("x")</script>'
RESULTS = {
    "steps": 7,
    "interval_version": INTERVAL_VERSION,
    "metrics": {"test": {"accuracy": 0.8, "loss": 0.4321}},
    "intervals": {"test": {"accuracy": [0.7123, 0.8765], "loss": [0.4, 0.5]}},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """`good` and `poor` on the same rows; one text and one source would run as markup."""
    store = RunStore(tmp_path_factory.mktemp("reports") / "runs")
    rows = texts(LABELS, source=["=paper" if row % 4 else EVIL for row in range(60)])
    rows.loc[3, "text"] = f"=1+1 not {EVIL}"
    answering(store, "good", right_where(GOOD, LABELS), rows, results=RESULTS)
    answering(store, "poor", right_where(POOR, LABELS), rows)
    answering(store, "private", right_where(POOR, LABELS), rows, data__texts=False)
    return store


def coded(store, run, told=True):
    """The section of the codes of a run's errors."""
    reading, record = ReportReader(store), store.read(run)
    known = list_draws(reading.open_codebook(record))
    return write_codes_section(reading.read_annotations(record), known, read_table(store, run), told=told)


@pytest.fixture(scope="module")
def good(store):
    """The report of one run, and its message."""
    return build_report(["good"], store=store)


def test_metrics_intervals_and_counts_equal_record_and_predictions(good, store):
    for number in ("0.800", "0.712", "0.876", "0.432", "0.500"):
        assert f">{number}</td>" in good.markup
    frame, kinds = read_table(store, "good").frame, ("bad", "good")
    (bars,) = packed(good.markup)["charts"]["confusion"]["chart"]["data"]
    shown = [int(re.search(r">(\d+)</b>", cell)[1]) for cell in bars["text"]]
    assert shown == [((frame.true == true) & (frame.predicted == said)).sum() for true in kinds for said in kinds]


def test_table_has_each_prediction_with_data_columns_and_tags(good, store):
    frame, found = read_table(store, "good").frame, columns(good.markup)
    for name in ("key", "text", "true", "predicted", "source"):
        assert found[name] == frame[name].tolist()
    assert found["row"] == list(range(60))
    assert np.allclose(found["p_true"], frame["p_true"]) and np.allclose(found["margin"], frame["margin"])
    assert [each == "wrong" for each in found["outcome"]] == frame["wrong"].tolist()
    assert "negation" in found["tags"][3] and "negation" not in found["tags"][4]


def test_each_section_names_its_size_and_user_texts_are_escaped(good):
    sizes = {each["name"]: each["n"] for each in good.about["sections"]}
    assert sizes["results"] == sizes["predictions"] == 60 and sizes["errors"] == int((~GOOD).sum())
    assert {"card", "settings", "data"} <= sizes.keys()
    for each in good.about["sections"]:
        assert f'<section id="{each["name"]}"' in good.markup and f'href="#{each["name"]}"' in good.markup
    assert EVIL not in good.markup and "<script>alert" not in good.markup
    script = good.markup[good.markup.rindex("<script>") + 8 : good.markup.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}' 'sha256-" in good.markup and "default-src 'none'" in good.markup
    assert len(re.findall("<script", good.markup)) == len(re.findall("</script>", good.markup)) == 3
    assert not re.findall(r'(?:src|href)="(?!#)', good.markup)


def test_comparison_report_agrees_with_the_verb(store):
    made = build_report(["good", "poor"], store=store)
    (pair,) = api.compare("good", "poor", store=store)["pairs"]
    assert made.about["kind"] == "comparison" and "compare-pairs" in made.about["figures"]
    assert f"{pair['difference']:+.3f}"[1:] in made.markup
    right = columns(made.markup)["who is right"]
    assert right.count("only good") == (GOOD & ~POOR).sum() and right.count("none") == (~GOOD & ~POOR).sum()
    assert {"1-metrics", "2-confusion"} <= set(made.about["figures"]) | set(made.about["left_out"])


def test_run_without_texts_reveals_none(store):
    codes = Run("private", store).codes
    made = build_report(["private"], store=store)
    whole = made.markup + str(packed(made.markup))
    assert "The texts are not in this report" in made.markup and not made.about["texts"]
    for told in (EVIL, "text 1", "=paper", "=1+1", read_table(store, "private").frame["key"][5]):
        assert told not in whole
    assert len(columns(made.markup)["true"]) == 60 and codes.list()["codes"] == []
    beside = build_report(["good", "private"], store=store).markup
    whole = beside + str(packed(beside))
    assert "sentence 3" in whole and not [told for told in (EVIL, "text 1", "=paper") if told in whole]


def test_code_rates_appear_only_if_they_can_be_estimated(store):
    run = Run("good", store)
    run.codes.add("irony", definition="<b>the opposite</b>", example="great, just great")
    draw = run.codes.draw(5, author="ann")
    run.codes.code(["irony"], keys=draw["keys"][:3], author="ann")
    half = coded(store, "good").markup
    assert "No percentages" in half and "95 % interval</th>" not in half
    run.codes.add("late")
    run.codes.code(["late"], keys=draw["keys"][3:], author="ann")
    made = build_report(["good"], store=store)
    irony = next(each for each in run.codes.rates()["codes"] if each["code"] == "irony")
    low, high = irony["interval"]
    assert f">{irony['share']:.3f}</td>" in made.markup and f">{low:.3f} to {high:.3f}</td>" in made.markup
    assert "&lt;b&gt;the opposite&lt;/b&gt;" in made.markup and '<li dir="auto">great, just great</li>' in made.markup
    assert {"name": "codes", "title": "Codes", "n": 5} in made.about["sections"]
    hidden = columns(build_report(["good"], author="bob", store=store).markup)
    assert [] not in hidden.get("codes", [["none"]]), "whoever has coded nothing sees no codes of others"
    run.codes.undo(author="ann")


def test_unwritable_file_is_refused_and_an_existing_one_is_kept(store, tmp_path):
    file = tmp_path / "mine.html"
    file.write_text("mine")
    with pytest.raises(InputError, match="it is there already"):
        Run("good", store).report(file)
    assert file.read_text() == "mine"
    with pytest.raises(InputError, match="cannot be written"):
        api.report("good", tmp_path / "no" / "such" / "folder.html", store=store)


def test_visitors_of_a_server_see_no_path(store):
    record = store.read("poor")
    data = dataclasses.replace(record.config.data, name="/srv/secret/reviews.csv")
    made = dataclasses.replace(record, run="away", config=dataclasses.replace(record.config, data=data))
    store.create(made.config, "vanilla", "away", exactly=True)
    store.write(made)
    (store.get_path("away") / "evaluation").symlink_to(store.get_path("poor") / "evaluation")
    assert "/srv/secret" in write_run_card(made, store).markup
    told = build_report(["away"], no_paths=True, store=store).markup
    assert "/srv/secret" not in told and "elsewhere:reviews.csv" in told


def test_errors_come_first_if_not_all_rows_fit(monkeypatch):
    monkeypatch.setattr(kept_rows, "MOST_ROWS", 3)
    wrong = np.array([False, False, True, False, True])
    assert kept_rows.select_rows(wrong, [1] * 5).places.tolist() == [0, 2, 4]
    monkeypatch.setattr(kept_rows, "MOST_BYTES", 10)
    found = kept_rows.select_rows(wrong, [1, 1, 6, 1, 5])
    assert found.places.tolist() == [2] and not found.whole
    coded = np.array([True, False, False, True, False])
    assert kept_rows.select_rows(wrong, [8, 1, 6, 8, 5], coded).places.tolist() == [0, 3], "whatever was coded is there"
    assert kept_rows.make_number_column("x", [1.25, float("inf"), float("nan")])["values"] == [1.25, None, None]


def test_report_without_texts_hides_definitions(tmp_path):
    store = RunStore(tmp_path / "runs")
    answering(store, "private", right_where(POOR, LABELS), texts(LABELS), data__texts=False)
    run = Run("private", store)
    run.codes.add("irony", definition="as in: what a joy", example="thanks a lot")
    run.codes.code(["irony"], keys=run.codes.draw(5, author="ann")["keys"], author="ann")
    for told in (True, False):
        markup = coded(store, "private", told=told).markup
        assert [words in markup for words in ("what a joy", "thanks a lot", "text ")] == [told] * 3
        assert "irony" in markup and "5 rows of 20" in markup
        assert ("Left out: definitions and examples" in markup) != told


def test_report_of_3000_long_texts_is_at_most_6_mb(tmp_path):
    random, labels = np.random.default_rng(0), np.arange(3000) % 2
    letters, often = list("abcdefghijklmnopqrstuvwxyz"), 1 / np.arange(1, 30_001)
    words = np.array(["".join(random.choice(letters, random.integers(2, 10))) for _ in range(30_000)])
    rows = texts(labels)
    rows["text"] = [" ".join(random.choice(words, 240, p=often / often.sum())) for _ in range(3000)]
    store = RunStore(tmp_path / "runs")
    answering(store, "long", right_where(np.arange(3000) > 400, labels), rows)
    made = api.report("long", tmp_path / "long.html", store=store)
    assert rows["text"].str.len().mean() > 1500 and 2_000_000 < made["bytes"] < 6_000_000
