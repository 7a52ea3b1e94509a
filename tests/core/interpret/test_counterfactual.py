import dataclasses
from itertools import chain, combinations, pairwise

import numpy as np
import pytest
import torch
from refused import check_raises
from small_models import small
from small_readers import lent

from core.evaluation.inference import predict_texts
from core.exceptions import InputError
from core.interpret import counterfactual as flipping
from core.interpret.attribution_math import compute_log_odds
from core.interpret.background_thread import MOST_AT_ONCE as AT_ONCE
from core.interpret.counterfactual import (
    MOST,
    MOST_READINGS,
    Move,
    apply_moves,
    find_candidates,
    order_index_sets,
    rank_move,
    search_flip,
)
from core.models.baselines import BagOfNgrams
from core.models.builder import build_model
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.lexicon import Lexicon
from core.text.ngrams import NGramTokenizer
from core.text.special_ids import FIRST
from core.text.tokenizer_factory import fit_tokenizer
from core.text.word_spans import find_word_spans

WEIGHTS = {"good": 1.5, "great": 1.0, "fine": 0.7, "film": 0.2, "bad": -1.0, "awful": -1.5, "not": -0.4, "not bad": 2.0}
SIXTY = " ".join(["good", "great", "fine", "film"] * 15)
TEXT = "a good great fine happy film and bad awful sad plot the ending never works but xxlong 7 , not at all"


def make_reader(model, tokenizer, classes, task="single"):
    """Return a context that lists the texts it predicts."""
    asked = []

    def predict(texts):
        asked.extend(texts)
        return predict_texts(model, tokenizer, texts, task=task)

    return dataclasses.replace(lent(model, tokenizer, classes, task=task), predict=predict), asked


def make_bag(bias=0.0, weights=WEIGHTS, classes=("bad", "good"), **more):
    """Return TF-IDF with a weight for `good`, or for every class, per n-gram; every idf is 1."""
    tokenizer = NGramTokenizer(list(weights), TextConfig())
    model = BagOfNgrams(vocabulary=tokenizer.size, classes=len(classes))
    with torch.no_grad():
        for row, weight in enumerate(weights.values(), start=2):
            model.weight[row] = torch.tensor([0.0, weight] if isinstance(weight, float) else weight)
        model.bias[1] = bias
    return make_reader(model.eval(), tokenizer, classes, **more)


def make_encoder(text, bias):
    """Return a small encoder with random weights and this bias to the second class."""
    tokenizer = fit_tokenizer([text, "a good bad film"], TextConfig(min_freq=1))
    torch.manual_seed(0)
    model = build_model(small(PRESETS["ndt-01-n2"].model), vocabulary=tokenizer.size, classes=2, max_length=16).eval()
    middle = predict_texts(model, tokenizer, [text]).logits[0]
    with torch.no_grad():
        model.head.bias += torch.tensor([0.0, float(middle[0] - middle[1]) + bias])
    return make_reader(model, tokenizer, ("bad", "good"))


def get_last(states):
    *_, found = states
    return found


def search_brute_force(own, found):
    """Return (size, log-odds) of the first flip in order among all sets of moves; None if there is none."""
    words = found.text.split()
    place = {int(start): number for number, start in enumerate(np.cumsum([0, *(len(word) + 1 for word in words)]))}
    deletions = [(number, None) for number in range(len(words))]
    options = deletions + [(place[move.start], move.instead) for move in found.allowed.replacements]
    sets = chain(combinations(options, 1), combinations(options, 2), combinations(deletions, 3))
    sets = [each for each in sets if len({number for number, _ in each}) == len(each)]
    texts = []
    for each in sets:
        texts.append(" ".join(word for word in (dict(enumerate(words)) | dict(each)).values() if word is not None))
    target = own.classes.index(found.target)
    whole, said = own.predict([found.text]), own.predict(texts)
    odds = compute_log_odds(said.probabilities, target, own.task)
    given, now = own.is_predicted(target, said), bool(own.is_predicted(target, whole)[0])
    rated = ([rank_move(words, instead, at) for at, instead in each] for each in sets)
    tried = zip(sets, rated, odds, given, strict=True)
    flips = [(len(each), sorted(kinds)[::-1], odd if now else -odd) for each, kinds, odd, yes in tried if yes != now]
    size, _, odd = min(flips, default=(None, None, None))
    return None if size is None else (size, odd if now else -odd)


def check_flip(found, expected):
    if expected is None:
        return found.flip is None and found.verdict == "none, proven"
    odds = pytest.approx(expected[1], abs=1e-4)
    return (len(found.flip.moves), found.flip.log_odds, found.verdict) == (expected[0], odds, "proven")


@pytest.mark.slow
def test_flips_of_a_linear_model_equal_brute_force():
    text, sizes = "fine film not bad good great", []
    for bias in (-1.5, 0.0, 0.6, 1.2, 3.0):
        own, _ = make_bag(bias)
        found = get_last(search_flip(own, text))
        assert check_flip(found, search_brute_force(own, found)), (bias, found.flip)
        sizes.append(found.flip and len(found.flip.moves))
    assert {1, 2, None} <= set(sizes)
    own, _ = make_bag(0.15, {"film": 1.0, "scene": 0.9, "plot": 0.8, "score": 0.7, "awful": -1.0})
    text = "film scene plot score awful"
    found = get_last(search_flip(own, text))
    assert len(found.flip.moves) == 3 and check_flip(found, search_brute_force(own, found))
    assert [move.word for move in found.flip.moves] == ["film", "scene", "plot"] and found.flip.text == "score awful"


def test_other_flips_have_other_words_and_the_strongest_comes_first():
    own, _ = make_bag(-0.3)
    text = "good film and great plot but bad"
    found = get_last(search_flip(own, text))
    flips = [found.flip, *found.also]
    assert found.verdict == "proven" and [len(each.moves) for each in flips] == [1] * len(flips)
    moves = [*(Move("", *span) for span in find_word_spans(text)), *found.allowed.replacements]
    said, expected = own.predict([apply_moves(text, (move,)) for move in moves]), {}
    for move, odd, is_it in zip(
        moves, compute_log_odds(said.probabilities, 1, own.task), own.is_predicted(1, said), strict=True
    ):
        if not is_it:
            kind = rank_move(text.split(), move.instead, text[: move.start].count(" "))
            expected[move.start] = min(expected.get(move.start, (3, 0.0)), (kind, float(odd)))
    ordered = sorted(expected.items(), key=lambda each: each[1])
    assert [each.moves[0].start for each in flips] == [start for start, _ in ordered]
    assert [each.log_odds for each in flips] == pytest.approx([odd for _, (_, odd) in ordered], abs=1e-5)
    assert len(flips) > 1


def test_a_deletion_is_natural_then_a_word_of_the_same_part_of_speech():
    words = "I did not like the film".split()
    assert [rank_move(words, instead, 3) for instead in (None, "love", "lovely")] == [0, 1, 2]
    assert rank_move(["gut", "Film"], "Apfel", 1) == 1  # of so few words the language is not known
    own, _ = make_bag(-0.5, {"great": 1.0, "bad": -9.0, "film": 0.1})
    found = get_last(search_flip(own, "the film was great"))
    assert [(move.word, move.instead) for move in found.flip.moves] == [("great", None)], "not great -> bad"


@pytest.mark.slow
@pytest.mark.parametrize("bias", [-2.0, -0.02, 0.05, 0.4, 5.0])
def test_flips_of_an_encoder_equal_brute_force(bias):
    text = "the ending never works but"
    own, _ = make_encoder(text, bias)
    found = get_last(search_flip(own, text))
    assert found.target == ("good" if bias > 0 else "bad") and len(found.allowed.replacements) == 5 * 8
    assert check_flip(found, search_brute_force(own, found))


def test_any_other_class_is_a_flip_and_a_target_can_be_named():
    weights = {"good": [0.0, 0.0, 2.0], "film": [0.0, 0.5, 0.0], "awful": [3.0, 0.0, 0.0]}
    own, _ = make_bag(0.1, weights, classes=("bad", "mixed", "good"))
    found = get_last(search_flip(own, "good film"))
    assert found.target == "good" and check_flip(found, search_brute_force(own, found))
    assert found.flip.text == "film" and max(found.flip.probabilities, key=found.flip.probabilities.get) == "mixed"
    becomes = get_last(search_flip(own, "good film", "mixed"))
    assert becomes.target == "mixed" and becomes.log_odds < becomes.flip.log_odds
    assert becomes.flip.text == "film" and check_flip(becomes, search_brute_force(own, becomes))


@pytest.mark.slow
def test_multi_label_flips_cross_the_threshold():
    own, _ = make_bag(0.0, {"good": 1.0, "film": 2.0, "plot": -3.0}, task="multi")
    half, strict, loose = (dataclasses.replace(own, thresholds=each) for each in ({}, {"good": 0.8}, {"good": 0.4}))
    # P(good) is 0.89, 0.73 without `film`, and 0.5, which is not above 0.5, without both.
    found = [get_last(search_flip(each, "good film", "good")) for each in (half, strict, loose)]
    assert [each.flip and each.flip.text for each in found] == ["", "good", None]
    assert [each.verdict for each in found] == ["proven", "proven", "none, proven"]
    joins = get_last(search_flip(strict, "film plot", "good"))
    assert joins.flip.text == "film" and joins.flip.probabilities["good"] > 0.8 > joins.probabilities["good"]
    assert all(
        check_flip(each, search_brute_force(own, each)) for own, each in zip((half, strict, loose), found, strict=True)
    )


def test_no_text_is_predicted_twice_and_flips_are_reported_early():
    own, asked = make_bag(0.1)
    text = "bad film bad good bad"
    found = get_last(search_flip(own, text))
    assert len(asked) == len(set(asked)) == found.readings and asked[0] == text
    assert check_flip(found, search_brute_force(own, found))
    for move in found.flip.moves:
        assert text[move.start : move.end] == move.word
    states = [state for state in search_flip(make_bag(-1.6)[0], SIXTY) if state.flip]
    assert (states[0].verdict, states[-1].verdict) == ("smallest found", "proven")
    assert states[-1].flip.log_odds <= states[0].flip.log_odds < 0


@pytest.mark.slow
@pytest.mark.parametrize("readings", [1, 2, 61, AT_ONCE + 1, 600, 1500])
def test_the_number_of_predictions_is_limited(readings):
    own, asked = make_bag(50.0)
    found = get_last(search_flip(own, SIXTY, readings=readings))
    # Of 60 words in turn some sets come to the same text; there are more than enough others.
    assert len(asked) == len(set(asked)) == found.readings == readings
    assert found.flip is None and found.verdict == "none found"


@pytest.mark.slow
def test_proven_flips_follow_all_smaller_sets_and_long_texts_leave_predictions_for_triples():
    words = [f"word{number}" for number in range(20)]
    strong = {"word3": 6.0, "word7": 6.0, "word9": 6.0}
    own, _ = make_bag(3.3, dict.fromkeys(words, -1.0) | strong)
    found = get_last(search_flip(own, " ".join(words), readings=100))
    assert found.verdict == "smallest found" and {move.word for move in found.flip.moves} == set(strong)
    whole = get_last(search_flip(own, " ".join(words)))
    assert whole.flip == found.flip and check_flip(whole, search_brute_force(own, whole))
    own, _ = make_bag(50.0)
    needed = get_last(search_flip(own, "good bad film")).readings
    assert get_last(search_flip(own, "good bad film", readings=needed)).verdict == "none, proven"
    assert get_last(search_flip(own, "good bad film", readings=needed - 1)).verdict == "none found"
    assert get_last(search_flip(own, "film film", readings=3)).verdict == "none, proven", "film, and nothing"
    own, asked = make_bag(50.0)
    found = get_last(search_flip(own, SIXTY))
    lengths = [len(text.split()) for text in asked]
    assert found.readings == MOST_READINGS == 4000 and lengths.count(57) > 500
    assert sum(length > 57 for length in lengths) > 2000


@pytest.mark.slow
def test_the_search_reports_progress_and_can_be_stopped():
    own, asked = make_bag(50.0)
    states = [state.readings for state in search_flip(own, SIXTY, stopped=lambda: len(asked) > 300)]
    assert states[0] == 1 and states == sorted(states) and len(asked) == states[-1]
    assert 300 < states[-1] <= 300 + AT_ONCE and max(np.diff(states)) <= AT_ONCE
    stopped = get_last(search_flip(own, "good film", stopped=lambda: True))
    assert (stopped.readings, stopped.verdict, stopped.flip) == (1, "none found", None)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_empty_texts_have_no_counterfactuals(text):
    found = get_last(search_flip(make_bag()[0], text))
    assert (found.flip, found.verdict, found.readings) == (None, "none, proven", 1)


def test_repeated_words_need_few_sets(monkeypatch):
    own, _ = make_bag(0.1)
    found = get_last(search_flip(own, "Good"))
    assert (found.flip.text, found.flip.moves[0].instead, found.verdict) == ("Awful", "Awful", "proven")
    assert {move.instead for move in found.allowed.replacements} == {"Bad", "Awful"}
    assert get_last(search_flip(make_bag(-0.1)[0], "film")).flip.moves[0].instead is None
    monkeypatch.setattr(flipping, "MOST_SETS", 1000)
    own, asked = make_bag(50.0, {"film": 1.0})
    found = get_last(search_flip(own, "film " * 301))
    assert len(asked) == found.readings == 3 and found.verdict == "none found"
    assert found.note == "Moves are of the first 300 of 301 words."


def test_invalid_searches_are_refused_before_predicting():
    own, asked = make_bag()
    check_raises(InputError, "class 'nice': this run has bad, good", search_flip, own, "good", "nice")
    for readings in (0, -1, MOST_READINGS + 1):
        check_raises(InputError, f"readings {readings}: from 1 to 4", search_flip, own, "good", readings=readings)
    assert not asked


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("number", [0, 1, 2, 6])
def test_sets_are_unique_and_sorted_by_sum(number, size):
    values = np.random.default_rng(0).normal(size=number).round(1).tolist()
    found = list(order_index_sets(values, size))
    assert sorted(tuple(sorted(each)) for each in found) == list(combinations(range(number), size))
    sums = [sum(values[place] for place in each) for each in found]
    assert all(first >= second - 1e-9 for first, second in pairwise(sums))


def read_with(preset="vanilla", lexicon=None, text=None, **change):
    tokenizer = fit_tokenizer([TEXT], TextConfig(min_freq=1, **(text or {})))
    if lexicon is not None:
        tokenizer.set_lexicon(lexicon)
    torch.manual_seed(0)
    config = PRESETS[preset].model
    config = dataclasses.replace(small(config) if config.family == "encoder" else config, **change)
    tokenizer.buckets = config.ngram_buckets
    return lent(build_model(config, vocabulary=tokenizer.size, classes=2, max_length=32).eval(), tokenizer)


def list_nearest(own, word, vectors):
    """Return the whole words of the vocabulary by descending cosine."""
    names = [own.tokenizer.name(token) for token in range(FIRST, own.tokenizer.size)]
    words = [name for name in names if name.isalpha() and name not in (word, "xxlong")]
    length = torch.nn.functional.normalize(vectors.double(), dim=1)
    cosine = {name: float(length[names.index(name)] @ length[names.index(word)]) for name in words}
    return sorted(words, key=lambda name: -cosine[name])


@pytest.mark.slow
def test_neutral_words_are_replaced_by_their_nearest_words():
    own = read_with()
    found = find_candidates(own, ["film"])["film"]
    assert list(found) == list_nearest(own, "film", own.model.embedding.weight.detach()[FIRST:])[:MOST] and MOST == 8


def test_character_ngrams_are_part_of_word_vectors():
    own = read_with(ngram_buckets=50)
    rows = own.model.embedding.weight.detach()[FIRST:]
    names = [own.tokenizer.name(token) for token in range(FIRST, own.tokenizer.size)]
    encodings = [own.tokenizer.encode(name) for name in names]
    table = own.model.ngrams.table.weight.detach()
    whole = torch.stack(
        [row + table[torch.tensor(each.grams[0]) - 1].mean(0) for row, each in zip(rows, encodings, strict=True)]
    )
    assert list(find_candidates(own, ["film"])["film"]) == list_nearest(own, "film", whole)[:MOST]
    assert list_nearest(own, "film", whole)[:MOST] != list_nearest(own, "film", rows)[:MOST]


def test_opposites_and_neighbors_alternate_but_marks_links_names_and_numbers_stay():
    own = read_with()
    # VADER: good 1.9, bad -2.5, awful -2.0, sad -2.1; of its other words the run knows none.
    found = find_candidates(own, ["good"])["good"]
    near = list_nearest(own, "good", own.model.embedding.weight.detach()[FIRST:])
    assert [found[0], found[2], found[4]] == ["awful", "sad", "bad"] and len(found) == len(set(found)) == MOST
    assert set(found) <= {"awful", "sad", "bad", *near[:MOST]}
    odd = [",", "7", "@bob", "#good", "http://good.com", "👍🏽", "xxlong", "..."]
    assert not any(find_candidates(read_with(), odd).values())
    assert find_candidates(read_with(), ["zebra"]) == {"zebra": ()}


def test_models_without_vectors_use_opposites_of_the_lexicon():
    own = read_with("tfidf-logreg")
    # VADER: great 3.1, happy 2.7, good 1.9, fine 0.8.
    assert find_candidates(own, ["good", "film", "Sad"]) == {
        "good": ("awful", "sad", "bad"),
        "film": (),
        "Sad": ("Good", "Happy", "Great", "Fine"),
    }
    polarity = {"film": (2.0, 0.0, 0.0), "plot": (0.0, 0.0, 2.0), "never": (0.0, 2.0, 0.0)}
    own = read_with("tfidf-logreg", lexicon=Lexicon(polarity))
    assert find_candidates(own, ["film", "good", "never"]) == {"film": ("plot",), "good": (), "never": ()}


@pytest.mark.parametrize(("word", "first"), [("good", "awful"), ("Good", "Awful"), ("GOOD", "AWFUL")])
def test_candidates_keep_the_casing_of_the_word(word, first):
    found = find_candidates(read_with(), [word])[word]
    assert found[0] == first and all(each.lower() != "good" for each in found)


@pytest.mark.slow
def test_byte_pair_neighbors_are_words_of_the_lexicon():
    own = read_with(text={"tokenizer": "bpe", "max_vocab": 400})
    listed = {"good", "great", "fine", "happy", "bad", "awful", "sad"}
    pieces = {own.tokenizer.name(token)[1:] for token in range(FIRST, own.tokenizer.size)}
    found = find_candidates(own, ["good"])["good"]
    assert found and listed & pieces and len(found) == len(set(found)) <= MOST
