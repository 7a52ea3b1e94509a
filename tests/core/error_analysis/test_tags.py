import dataclasses
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from answering import answering, right_where, texts
from refused import check_raises
from torch import nn
from trained_runs import TINY, train_runs, write_films

from core.api.public_classes import Run, train
from core.error_analysis import linguistic_tags, mc_dropout
from core.error_analysis.mc_dropout import DropoutUncertainty
from core.error_analysis.predictions_table import hash_texts, read_table
from core.error_analysis.split_analysis import cache_array
from core.error_analysis.tags import ABOUT, LOW_MARGIN, SURE, TableTags, find_peers, select_models
from core.exceptions import InputError
from core.models.dropout import Dropout, activate_dropout
from core.runs.record import EVALUATION, PREDICTIONS
from core.runs.store import RunStore

NAME = "unsure under dropout"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    place = tmp_path_factory.mktemp("tags")
    films = write_films(place / "films.csv", {"yes": ("the day of a good",), "no": ("the day of a bad",)}, 60)
    return Run("films", train_runs(place, films=(films, "vanilla", {**TINY, "text.max_length": 8})))


def test_margin_confidence_and_lexicon_tags_follow_the_table(store):
    random = np.random.default_rng(0)
    chances, labels = random.dirichlet(np.ones(3) / 3, 300), random.integers(0, 3, 300)
    answering(store, "one", chances, texts(labels), classes=tuple("abc"))
    table = read_table(store, "one")
    tags, frame = TableTags(store, table), table.frame
    np.testing.assert_array_equal(tags.match_tag("low margin"), frame["margin"] < LOW_MARGIN)
    np.testing.assert_array_equal(tags.match_tag("sure and wrong"), (frame["p_predicted"] >= SURE) & frame["wrong"])
    said = ["what a great day", "a terrible, awful day", "the day"]
    answering(store, "two", np.full((6, 2), 0.5), pd.DataFrame({"text": said * 2, "label": [0, 0, 0, 1, 1, 1]}))
    tags = TableTags(store, read_table(store, "two"))
    assert tags.match_tag("lexicon disagrees").tolist() == [True, False, False, False, True, False]
    said = ["good but bad", "great and awful", "superb, excellent, great, and a little bad", "good", "the day", "bad"]
    answering(store, "three", np.full((6, 2), 0.5), pd.DataFrame({"text": said, "label": [0, 1] * 3}))
    tags = TableTags(store, read_table(store, "three"))
    assert tags.match_tag("both signs").tolist() == [True, True, False, False, False, False]


@pytest.mark.slow
def test_disagreeing_models_and_seeds_have_different_tags(store):
    labels, rows = np.arange(40) % 2, texts(np.arange(40) % 2)
    answering(store, "one", right_where(np.arange(40) > 3, labels), rows)
    answering(store, "seed", right_where(np.arange(40) > 5, labels), rows, training__seed=7)
    answering(store, "other", right_where(np.arange(40) != 20, labels), rows, preset="ndt-01-n2")
    answering(store, "third", right_where(np.arange(40) != 30, labels), rows, preset="ndt-01-n3")
    table = read_table(store, "one")
    tags = TableTags(store, table, ["seed", "other", "third"])
    said = {name: read_table(store, name).frame["predicted"] for name in ("one", "seed", "other", "third")}
    np.testing.assert_array_equal(tags.match_tag("seeds disagree"), said["seed"] != said["one"])
    apart = (said["other"] != said["one"]) | (said["third"] != said["one"])
    np.testing.assert_array_equal(tags.match_tag("models disagree"), apart)
    for name in ("other", "third"):
        expected = (said[name] != said["one"]).to_numpy()
        np.testing.assert_array_equal(tags.available[f"models disagree with {name}"], expected)
        np.testing.assert_array_equal(TableTags(store, table).match_tag(f"models disagree with {name}"), expected)
    assert "models disagree" not in tags.available and "models disagree" not in tags.absent
    alone = TableTags(store, table)
    np.testing.assert_array_equal(alone.match_tag("seeds disagree"), tags.match_tag("seeds disagree"))
    assert "--against" in alone.absent["models disagree"]
    assert set(alone.compare_with_run("third").available) - set(alone.available) == {"models disagree with third"}
    check_raises(InputError, "no run 'nobody'", alone.match_tag, "models disagree with nobody")
    with pytest.raises(InputError, match="not tested on the same rows"):
        answering(store, "few", right_where(np.ones(20, bool), labels[:20]), rows.head(20))
        TableTags(store, table, ["few"]).match_tag("models disagree")


@pytest.mark.slow
def test_seeds_need_equal_settings_and_rows(store):
    labels, rows = np.arange(40) % 2, texts(np.arange(40) % 2)
    chances = right_where(np.ones(40, bool), labels)
    answering(store, "one", chances, rows)
    answering(store, "again", chances, rows)  # no other seed
    answering(store, "wider", chances, rows, training__seed=7, model__width=64)
    answering(store, "fewer", chances[:20], rows.head(20), training__seed=7)
    answering(store, "unfinished", chances, rows, training__seed=7, status="running")
    answering(store, "elsewhere", chances, rows, training__seed=7, split="validation")
    table = read_table(store, "one")
    assert "no other seed of this model" in TableTags(store, table).absent["seeds disagree"]
    others = find_peers(store, table.record, "test", store.list())
    assert {each.run for each in others} == {"again", "wider"}
    assert select_models(table.record, others, "test") == ["wider"]
    answering(store, "seed", right_where(np.arange(40) > 2, labels), rows, training__seed=7)
    assert TableTags(store, table).match_tag("seeds disagree").sum() == 3


def test_the_best_other_model_on_the_split_comes_first(store):
    labels, rows = np.arange(40) % 2, texts(np.arange(40) % 2)
    for name, width, score in (("one", 32, 0.9), ("low", 48, 0.2), ("none", 80, None), ("high", 64, 0.8)):
        results = {} if score is None else {"metrics": {"test": {"f1_macro": score}}}
        given = {"model__width": width, "training__metric": "f1_macro", "results": results}
        answering(store, name, right_where(labels > 0, labels), rows, **given)
    record = store.read("one")
    assert select_models(record, find_peers(store, record, "test", store.list()), "test") == ["high", "low", "none"]


@pytest.mark.slow
def test_texts_in_other_languages_have_no_word_tags(store):
    rows = pd.DataFrame({"text": ["영화가 좋았다"] * 3, "label": [0, 1, 1]})
    answering(store, "one", np.full((3, 2), 0.5), rows, data__name="nsmc")
    tags = TableTags(store, read_table(store, "one"))
    for name in ("negation", "contrast", "intensifier"):
        assert "(ko)" in tags.absent[name]
    with pytest.raises(InputError, match="'negation': this run does not have it: its words are known in English"):
        tags.match_tag("negation")
    check_raises(InputError, "no tag 'irony'; the tags are negation, contrast", tags.match_tag, "irony")
    assert "no lexicon" in tags.absent["lexicon disagrees"]
    assert set(tags.available) | set(tags.absent) == set(ABOUT)


@pytest.mark.slow
def test_tags_from_tokenizer_training_and_vectors_are_cached(trained):
    table = read_table(trained.store, "films")
    heard = []
    tags = TableTags(trained.store, table, tell=lambda what, share: heard.append(what))
    assert tags.match_tag("truncated").sum() == 0  # eight words each
    assert tags.match_tag("near duplicate").tolist() == [False] * len(table)  # seven of eight words and a number: 7 / 9
    assert set(tags.absent) == {"models disagree", "seeds disagree", "lexicon disagrees", "unsure under dropout"}
    first = {name: has.tolist() for name, has in tags.available.items()}
    assert heard and (table.frame["text"].str.split().str.len() == 8).all()
    heard.clear()
    again = TableTags(trained.store, table, tell=lambda what, share: heard.append(what))
    assert {name: has.tolist() for name, has in again.available.items()} == first and not heard


@pytest.mark.slow
def test_missing_data_leave_out_training_tags(trained):
    path = Path(trained.record.config.data.name)
    content = path.read_text()
    path.unlink()
    try:
        absent = TableTags(trained.store, read_table(trained.store, "films")).absent
    finally:
        path.write_text(content)
    for tag in ("near duplicate", "neighbours conflict"):
        assert "cannot be read here" in absent[tag] and "no such file" in absent[tag]


def test_cached_tags_are_computed_once_and_repaired(monkeypatch, tmp_path):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path))
    made = []

    def make():
        made.append(1)
        return np.arange(3)

    assert (
        cache_array("x", {"a": 1}, (3,), make).tolist() == cache_array("x", {"a": 1}, (3,), make).tolist() == [0, 1, 2]
    )
    assert len(made) == 1
    cache_array("x", {"a": 2}, (3,), make)
    (first, second) = (tmp_path / "failures").glob("*.npy")
    for path in (first, second):
        path.write_bytes(b"nothing")
    cache_array("x", {"a": 1}, (3,), make)
    assert len(made) == 3


def test_runs_without_texts_have_tags_if_the_data_exist(trained):
    table = read_table(trained.store, "films")
    hidden = dataclasses.replace(
        table, frame=table.frame.assign(text="(row of test?)", key=hash_texts(["x"] * len(table)))
    )
    assert TableTags(trained.store, hidden).match_tag("question").all()
    assert not TableTags(trained.store, table).match_tag("question").any()


@pytest.mark.slow
def test_runs_without_texts_have_tags_that_need_no_texts(store):
    labels = np.arange(40) % 2
    answering(store, "one", right_where(labels == 1, labels, 0.95), texts(labels), data__texts=False)
    path = store.get_path("one") / EVALUATION / "test" / PREDICTIONS
    pd.read_parquet(path).drop(columns="text").to_parquet(path, index=False)
    table = read_table(store, "one")
    tags = TableTags(store, table)
    assert "its text is not kept" in table.texts[3] and set(tags.available) == {"low margin", "sure and wrong"}
    np.testing.assert_array_equal(tags.match_tag("sure and wrong"), labels == 0)
    assert all("made without its texts" in tags.absent[name] for name in ("negation", "question", "near duplicate"))


HAS = {
    "question": ("Why?", "本当？", "لماذا؟"),
    "capitals": ("this is SO good", "ÄRGER pur", "NO"),
    "elongation": ("sooo good", "whaaat", "Neeein"),
    "emoji": ("nice 🙂", "🇩🇪", "ok ❤️"),
    "hashtag": ("#fail again", "so (#sad)"),
}
HAS_NOT = {
    "question": ("Why", "see https://a.b/c?d=e", "so www.a.b?x=y"),
    "capitals": ("I am A man", "@NASA said", "$TSLA up", "#WIN", "B2B", "https://A.B/CDE"),
    "elongation": ("good", "see www.a.b", "aa bb", "1000"),
    "emoji": ("nice :)", "50 % – 3"),
    "hashtag": ("no. 3", "a#b", "# alone", "https://a.b/#c"),
}


@pytest.mark.parametrize("name", HAS)
def test_signs_are_found_outside_of_links(name):
    assert linguistic_tags.find_signs(HAS[name])[name].all()
    assert not linguistic_tags.find_signs(HAS_NOT[name])[name].any()


@pytest.mark.parametrize(
    ("language", "name", "has", "has_not"),
    [
        ("en", "negation", ("I do NOT know", "it isn’t", "Never!"), ("knot", "a notable one")),
        ("en", "contrast", ("good, but long", "However long"), ("a butler",)),
        ("en", "intensifier", ("Very good",), ("every one",)),
        ("de", "negation", ("Keine Ahnung", "gar nicht"), ("ein Kleid",)),
        ("de", "contrast", ("gut, aber lang",), ("aberwitzig",)),
        ("nl", "negation", ("ik weet het niet", "geen idee"), ("een",)),
        ("nl", "intensifier", ("heel goed",), ("helen",)),
    ],
)
def test_whole_words_are_found_in_their_language(language, name, has, has_not):
    assert linguistic_tags.match_words(name, linguistic_tags.collect_words(has), language).all()
    assert not linguistic_tags.match_words(name, linguistic_tags.collect_words(has_not), language).any()


def test_word_lists_cover_every_tag_and_language_that_is_known_or_detected():
    for name in linguistic_tags.NAMED:
        for language in linguistic_tags.LANGUAGES:
            found = linguistic_tags.match_words(name, linguistic_tags.collect_words(["", "und", "the"]), language)
            np.testing.assert_array_equal(found, [False, False, False])
    for listed in map(linguistic_tags.list_by_language, linguistic_tags.NAMED):
        assert set(listed) == set(linguistic_tags.LANGUAGES)
        for words in listed.values():
            assert all(linguistic_tags.collect_words([word]) == [{word}] for word in words.split())
    assert linguistic_tags.guess_language("nsmc", ["the film is not what I have seen"]) == "ko"
    assert linguistic_tags.guess_language("my.csv", ["das ist nicht der Film, den ich für euch auch sah"]) == "de"
    assert linguistic_tags.guess_language("my.csv", ["영화가 좋았다"]) == ""
    assert "English, German, Dutch" in linguistic_tags.explain_language(
        "ko"
    ) and "(ko)" in linguistic_tags.explain_language("ko")


def test_flips_and_spread_equal_their_definition_and_the_closed_form():
    said, first = np.array([[True, False], [True, False]]), np.array([[True, False], [False, True]])
    answers = np.array([said, said, said, first, first])
    chances = np.array([[0.9, 0.6], [0.9, 0.6], [0.9, 0.6], [0.9, 0.1], [0.9, 0.1]])
    flips, spread = mc_dropout.measure_spread(said, answers, chances)
    assert flips.tolist() == [0.0, 0.4] and spread[0] == 0
    assert spread[1] == pytest.approx(math.sqrt(0.6 * 0.4) * 0.5)  # two values, 0.5 apart, 3 to 2
    measured = {"flips": [0.19, 0.2, 0.0], "spread": [0.14, 0.0, 0.15]}
    assert mc_dropout.find_uncertain(measured).tolist() == [False, True, True]
    # x is 0 with probability p, else x / (1 - p): mean x, variance x² p / (1 - p); without dropout always x
    x, p = torch.full((200_000,), 3.0), 0.25
    model = nn.Sequential(Dropout(p))
    assert torch.equal(model.eval()(x), x)
    found = activate_dropout(model, 0).eval()(x)
    assert set(found.tolist()) == {0.0, 4.0} and torch.equal(model.eval()(x), x), "the model itself is not touched"
    assert found.mean().item() == pytest.approx(3, abs=0.03)
    assert found.var().item() == pytest.approx(9 * p / (1 - p), rel=0.02)
    assert torch.equal(activate_dropout(model, 7)(x), activate_dropout(model, 7)(x)) and not torch.equal(
        activate_dropout(model, 8)(x), found
    )
    assert torch.equal(activate_dropout(nn.Sequential(Dropout(0.0)), 0)(x), x)


@pytest.mark.slow
def test_the_dropout_tag_is_computed_once_and_reproducible(tmp_path):
    films = write_films(tmp_path / "films.csv", {"yes": ("good",), "no": ("bad",)}, 40)
    made = train(str(films), "vanilla", {**TINY, "model.dropout": 0.5}, name="dropped")
    store = made.store
    assert "--unsure" in made.errors(tags=True)["absent"][NAME]
    heard = []
    found = made.errors(tags=True, unsure=True, where="all", on_progress=lambda what, share: heard.append(what))
    assert heard.count("reading with dropout on") == mc_dropout.READINGS and NAME not in found["absent"]
    table = read_table(store, "dropped")
    assert [NAME in row["tags"] for row in found["rows"]] == TableTags(store, table).match_tag(NAME).tolist()
    here = DropoutUncertainty.from_run(store, table.record, table.split)
    before = here.get_path("json").read_bytes()
    made.errors(unsure=True, on_progress=lambda what, share: heard.append(what))
    assert heard.count("reading with dropout on") == mc_dropout.READINGS, "kept"
    here.get_path("json").unlink()
    mc_dropout.find_tagged(store, table)
    assert here.get_path("json").read_bytes() == before, "seeded"


@pytest.mark.slow
def test_runs_without_dropout_have_no_tag_and_a_reason(tmp_path):
    store = RunStore(tmp_path / "runs")
    answering(store, "whole", [[0.2, 0.8]], texts([0]), model__dropout=0.0)
    answering(store, "counted", [[0.2, 0.8]], texts([0]), preset="tfidf-logreg")
    answering(store, "bare", [[0.2, 0.8]], texts([0]))
    reasons = {"whole": "its dropout is 0", "counted": "a baseline has no dropout", "bare": "it has no weights"}
    for name, why in reasons.items():
        check_raises(InputError, why, TableTags(store, read_table(store, name)).match_tag, NAME)
    with pytest.raises(InputError, match="--unsure: run 'whole' cannot be read with dropout on: its dropout is 0"):
        Run("whole", store).errors(unsure=True)
