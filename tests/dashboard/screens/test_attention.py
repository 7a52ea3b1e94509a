"""The page Attention: offers both steps, shows what they found, and opens sentences with a head switched off."""

import json

import pages
import pytest
from pages import text_of
from trained_runs import TINY

from core import api
from core.error_analysis.word_replacement import describe_replacement
from core.runs import background_jobs
from core.runs.store import RunStore
from dashboard.figures.figure import Source
from dashboard.figures.part_importance import WORDS, read_importance, read_words
from dashboard.figures.split_attention import (
    DEVIATION,
    HEADS,
    IN_MENU,
    MASS,
    OTHER_RUN,
    SHOWN,
    build_grid_table,
    draw_grid,
    list_compared,
    list_measures,
    pick_ends,
    read_maps,
    select_rows,
)
from dashboard.figures.theme import Look
from dashboard.reader import Reader


def opened(app, **parameters):
    return pages.opened(app, "attention", **parameters)


@pytest.fixture
def attended(runs):
    """The runs, with the maps and the importance of `finished` measured on its test split."""
    return api.attend("finished", split="test", store=RunStore(runs))


def test_steps_that_are_not_computed_are_offered_and_started(app, runs, monkeypatch):
    begun = []
    monkeypatch.setattr(background_jobs, "start_job", lambda store, files, command, kind: begun.append(files.words))
    shown = text_of(opened(app, run="finished", more=["Importance", "Words"]))
    assert "Reads up to 500 texts" in shown and "Predicts up to 300 texts" in shown
    for label in ("Read the maps", "Measure importance", "Rank words"):
        next(each for each in app.button if each.label == label).click().run()
    about = ("attend", "finished", "--split", "test", "--limit")
    assert begun == [
        (*about, "500", "--only", "maps"),
        *((*about, "300", "--only", step) for step in ("importance", "words")),
    ]


def test_each_section_begins_with_its_finding(app, attended):
    shown = text_of(opened(app, run="finished", more="all"))
    for name in ("mass", "distance", "importance"):
        assert attended["findings"][name].replace("'", "&#x27;") in shown, name
    assert attended["findings"]["entropy"].partition(". ")[0] in shown
    assert "How far component maps differ" in shown and "What the model needs" in shown
    assert "Change since the first step" in shown and "Predicts up to" not in shown
    (sections,) = [each for each in app.get("button_group") if each.label == "More"]
    assert list(sections.options) == ["Kinds of words", "Distance", "Importance", "Words", "λ"]


def test_a_chosen_head_lists_its_sentences_with_links_that_switch_it_off(app, attended):
    shown = text_of(opened(app, run="finished", head="2.1.1"))
    found = next(each for each in attended["examples"] if (each["layer"], each["head"]) == (2, 1))
    assert "largest output of head 1 of layer 2" in shown and "edit=m2.1.1" in shown
    assert pages.words(app).count('href="sentence?') == len(found["texts"]) == 5
    assert "Sentences with" not in text_of(opened(app, run="finished", head="9.x"))


def test_words_are_ranked_and_one_of_them_selects_its_sentences(app, attended, runs, monkeypatch):
    assert attended["findings"]["words"] in text_of(opened(app, run="finished", more="Words"))
    row = attended["words"]["rows"][0]
    words = read_words(Source(RunStore(runs).read("finished"), Reader(), split="test"))
    assert WORDS.build_tables(words)["Words"].iloc[0].to_dict() == {
        **{"word": row["word"], "of_class": row["class"], "texts": row["texts"], "value": row["value"]},
        **dict(zip(("low", "high"), row["interval"], strict=True)),
    }
    assert len(pick_ends(words.rows)) <= SHOWN


def test_a_replacement_counts_the_answers_that_change_in_the_selection(app, attended, runs):
    word = attended["words"]["rows"][0]["word"]
    for select, where in (("", "all"), (f"all;word={word}", f"word={word}")):
        found = api.errors("finished", where=where, replace=f"{word}=terrible", store=RunStore(runs))["replacement"]
        shown = text_of(opened(app, run="finished", more="Words", replace=f"{word}=terrible", select=select))
        assert describe_replacement(found) in shown and f"Same as the label: {found['right_before']} before" in shown


def test_a_replacement_without_a_second_word_is_refused(app, runs):
    assert "a word and another word" in text_of(opened(app, run="finished", more="Words", replace="good"))


def test_components_in_each_head_are_offered_after_importance(app, attended, monkeypatch):
    begun = []
    monkeypatch.setattr(background_jobs, "start_job", lambda store, files, command, kind: begun.append(files.words))
    opened(app, run="finished", more="Importance")
    next(each for each in app.button if each.label == "Also each component in each head").click().run()
    assert begun[0][-1] == "--each-map"


def test_a_run_without_attention_says_so(app, runs):
    assert "has no attention" in text_of(opened(app, run="baseline"))


def test_the_grid_shows_the_chosen_measure_of_every_map(app, attended, runs):
    record = RunStore(runs).read("finished")
    source = Source(record, Reader(), split="test")
    assert list_measures(source)[: len(IN_MENU)] == list(IN_MENU) and "first token" in list_measures(source)
    assert HEADS.read_data(source.copy_with_choices(measure="entropy")).measure == "entropy share"
    shown = HEADS.read_data(source.copy_with_choices(measure="first token"))
    rows = select_rows(shown)
    part = record.config.model
    assert len(rows) == part.layers * part.attention.heads * part.attention.components
    drawn = [value for trace in draw_grid(shown, Look()).data for value in trace.customdata]
    assert sorted(map(list, drawn)) == sorted([row["layer"], row["head"], row["component"]] for row in rows)
    table = build_grid_table(shown)
    assert set(table["measure"]) >= {"entropy share", "tokens", "first token"} and table["untrained"].notna().all()
    assert json.loads(json.dumps(read_importance(source).found)) == attended["importance"]
    top = MASS.build_tables(read_maps(source))["Mass"]
    assert (top["low"] / top["uniform"]).is_monotonic_decreasing
    assert (top["value"] / top["uniform"]).tolist() == pytest.approx(top["times"].tolist())


def test_deviation_is_compared_with_a_run_whose_maps_are_stored(app, runs):
    store, found = RunStore(runs), {}
    config = {**TINY, "training.epochs": 1}
    table = store.read("finished").config.data.name
    for name, preset in (("lexical", "lexical-last"), ("plain", "lexical-none")):
        api.train(table, preset, config, name=name, store=store)
        found[name] = api.attend(name, split="test", only="maps", store=store)
    shown = text_of(opened(app, run="lexical", more="Class token", **{"deviation-of": "plain"}))
    compared = api.attend("lexical", split="test", only="maps", against="plain", store=store)
    assert compared["findings"]["deviation"] in shown and "the other run" in shown
    source = Source(store.read("lexical"), Reader(), split="test").copy_with_choices(**{OTHER_RUN.name: "plain"})
    assert list_compared(source) == ["", "plain"]
    table = DEVIATION.build_tables(DEVIATION.read_data(source))["Deviation"]
    wanted = table["value"] - [row["value"] for row in found["plain"]["deviation"]]
    assert table["difference"].tolist() == pytest.approx(wanted.tolist(), abs=1e-5)
    names = [trace.name for trace in DEVIATION.draw(DEVIATION.read_data(source), Look()).data]
    assert names == ["this run", "untrained", "plain"] * 2
