import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from refused import check_raises
from scipy.stats import spearmanr
from small_models import small
from small_readers import CLASSES, TEXT, lent, reader
from toys import labeled, opinions, sentences, toy

from core.evaluation.inference import EnsembleLogits, predict_texts
from core.exceptions import InputError
from core.interpret import attribution
from core.interpret.attention_findings import describe_words
from core.interpret.attribution import LEAST, METHODS, attribute_texts, explain_text, list_methods, measure_words
from core.interpret.attribution_math import TopWords, compute_log_odds, find_largest, find_top_words
from core.interpret.counterfactual import search_flip
from core.interpret.faithfulness import measure_methods
from core.interpret.negation_templates import fill_template, predict_template
from core.interpret.trace_summary import average_attention
from core.models.baselines import BagOfNgrams
from core.models.builder import build_model
from core.models.capabilities import list_capabilities
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.text.text_pairs import join_pair
from core.text.tokenizer_factory import fit_tokenizer
from core.text.word_spans import find_word_spans, remove_words
from core.training.temperature import UNSCALED, Scaling

STARTERS = ["sentiformer", "tweet-v1-p2"]  # words and byte pairs
SENTENCE = "Not bad at all, but the ending never works"


WEIGHTS = {"good": 2.0, "bad": -3.0, "film": 0.25, "not": -0.5, "not bad": 4.0}
TEXTS = [TEXT, "", "bad, bad zzz", "good"]


def make_bag(scaling=UNSCALED, task="single"):
    """Return TF-IDF with a weight for `good` per n-gram; every idf is 1."""
    tokenizer = NGramTokenizer(list(WEIGHTS), TextConfig())
    model = BagOfNgrams(vocabulary=tokenizer.size, classes=2)
    with torch.no_grad():
        model.weight[2:, 1] = torch.tensor(list(WEIGHTS.values()))
        model.bias[1] = 0.5
    return lent(model.eval(), tokenizer, task=task, scaling=scaling)


def compute_by_hand(*grams):
    """Return the logit of `good` for n-grams that occur once."""
    return 0.5 + sum(WEIGHTS[gram] for gram in grams) / math.sqrt(max(1, len(grams)))


@pytest.mark.parametrize("scaling", [UNSCALED, Scaling(2.0), Scaling(2.0, (0.1, 0.9))])
@pytest.mark.parametrize("task", ["single", "multi"])
def test_deletion_attribution_is_the_loss_of_log_odds(scaling, task):
    temperature = scaling.temperature
    found = explain_text(make_bag(scaling, task), "A not  BAD film", target="good")
    whole = compute_by_hand("not", "bad", "film", "not bad")
    left = (
        compute_by_hand("not", "bad", "film", "not bad"),
        compute_by_hand("bad", "film"),
        compute_by_hand("not", "film"),
    )
    last = compute_by_hand("not", "bad", "not bad")
    prior = np.log(9) / 2 if scaling.prior else 0  # half of the log-odds of 0.9, the same with and without a word
    assert found.log_odds == pytest.approx(whole / temperature + prior, abs=1e-5)
    places = [(word.word, word.start, word.end) for word in found.words]
    assert places == [("A", 0, 1), ("not", 2, 5), ("BAD", 7, 10), ("film", 11, 15)]
    pushes = [(whole - rest) / temperature for rest in (*left, last)]
    np.testing.assert_allclose([word.push for word in found.words], pushes, atol=1e-5)
    assert found.completeness is None and found.agreement == {"attention": None}


def test_the_default_target_is_the_predicted_class():
    answer, other = explain_text(make_bag(), "not bad"), explain_text(make_bag(), "not bad", target="bad")
    assert (answer.target, other.target) == ("good", "bad") and answer.probabilities == other.probabilities
    np.testing.assert_allclose([word.push for word in other.words], [-word.push for word in answer.words], atol=1e-6)
    check_raises(InputError, "class 'nice': this run has bad, good", explain_text, make_bag(), "good", target="nice")


def test_available_methods_follow_from_capabilities_and_others_are_refused():
    said = "method 'lime': one of deletion, shapley, gradient"
    check_raises(InputError, said, explain_text, make_bag(), "good", "lime")
    for method in ("gradient", "integrated", "attention", "collapse"):
        lacks = "has no attention" if method in attribution.READ else "reads no vectors of words"
        said = f"method '{method}': this model {lacks}; choose deletion or shapley$"
        check_raises(InputError, said, explain_text, make_bag(), "good", method)
    named = {x: list_methods(list_capabilities(PRESETS[x].model)) for x in ("vanilla", "bilstm", "cnn", "lexicon")}
    assert named["vanilla"] == list(METHODS)
    assert named["bilstm"] == named["cnn"] == ["deletion", "shapley", "gradient", "integrated"]
    assert named["lexicon"] == ["deletion", "shapley"]


def test_shapley_values_add_up_to_the_effect_of_the_text():
    found = explain_text(make_bag(), "not bad", "shapley", target="good")
    empty = compute_by_hand()
    alone = (compute_by_hand("not"), compute_by_hand("bad"))
    both = compute_by_hand("not", "bad", "not bad")
    expected = [(alone[i] - empty + both - alone[1 - i]) / 2 for i in (0, 1)]
    np.testing.assert_allclose([word.push for word in found.words], expected, atol=1e-5)
    assert [word.error for word in found.words] == [0, 0]
    assert found.completeness.at_reference == pytest.approx(empty, abs=1e-6)
    assert abs(found.completeness.error) < 1e-9 and found.completeness.steps == 2


def make_encoder(preset="vanilla", max_length=12, bpe=False, **change):
    config = TextConfig(min_freq=1, max_length=max_length, **{"tokenizer": "bpe", "max_vocab": 300} if bpe else {})
    tokenizer = fit_tokenizer([SENTENCE, "a good film"], config)
    torch.manual_seed(0)
    config = dataclasses.replace(small(PRESETS[preset].model), **change)
    return lent(build_model(config, vocabulary=tokenizer.size, classes=2, max_length=max_length).eval(), tokenizer)


@pytest.mark.parametrize("bpe", [False, True])
@pytest.mark.parametrize("method", ["attention", "collapse"])
def test_attention_attribution_sums_tokens_into_words(bpe, method):
    own = make_encoder(max_length=40, bpe=bpe)
    view = own.inspect(SENTENCE)
    weights = average_attention(view.layers[0 if method == "collapse" else -1].combined, view.places)
    found = explain_text(own, SENTENCE, method)
    assert found.pushes.sum() == pytest.approx(weights.sum(), abs=1e-6) == 1
    if not bpe:
        np.testing.assert_allclose(found.pushes, weights, atol=1e-6)


@pytest.mark.slow
def test_class_token_and_padding_are_no_words():
    classed, filled = make_encoder(pooling="cls"), make_encoder("tweet-v1-p1", pad_mode="as_released")
    for own in (classed, filled):
        found, view = explain_text(own, "a good film", "attention"), own.inspect("a good film")
        first = len(view.tokens) - 3 - bool(view.filled)
        assert [word.word for word in found.words] == ["a", "good", "film"] and len(view.tokens) > 3
        expected = average_attention(view.layers[-1].combined, view.places)[first : first + 3]
        np.testing.assert_allclose(found.pushes, expected, atol=1e-6)
        assert len(explain_text(own, "a good film", "integrated").words) == 3


@pytest.mark.slow
def test_agreement_uses_absolute_values_for_unsigned_methods():
    own = make_encoder()
    each = {name: explain_text(own, SENTENCE, name).pushes for name in ("deletion", "gradient", "attention")}
    found = explain_text(own, SENTENCE, "gradient").agreement
    assert found["deletion"] == pytest.approx(spearmanr(each["gradient"], each["deletion"]).statistic)
    assert found["attention"] == pytest.approx(spearmanr(abs(each["gradient"]), each["attention"]).statistic)
    assert set(explain_text(own, SENTENCE, "attention").agreement) == {"deletion"}
    assert explain_text(own, "good film").agreement == {"attention": None}
    long = explain_text(own, f"{SENTENCE} good a film but never very film good a so never bad").tests["attention"]
    assert long.words == 12, "words that are cut off have 0 by both methods, which is no agreement"


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["", "good"])
def test_texts_with_no_or_one_word_are_explained(method, text):
    found = explain_text(make_encoder(), text, method)
    assert [word.word for word in found.words] == text.split() * ("good" in text)
    assert np.isfinite(found.pushes).all() and set(found.agreement.values()) <= {None}


@pytest.mark.slow
def test_long_texts_have_a_note_on_unread_and_unexplained_words():
    text = " ".join(["good", "film"] * 200)
    found = explain_text(make_encoder(), text)
    assert len(found.words) == attribution.MOST_WORDS == 300
    assert found.note == (
        "The model reads the first 12 tokens; 388 at the end are cut off. Explained are the first 300 of 400 words."
    )
    assert found.words[-1].push == pytest.approx(0, abs=1e-6), "without it, the first 12 tokens are the same"
    assert len(explain_text(make_encoder(), text, "integrated").words) == 300


def test_texts_too_long_for_maps_are_explained_by_other_methods(monkeypatch):
    monkeypatch.setattr("core.models.attention.DENSE_TRACE", 2)
    own = make_encoder("sentiformer")
    with pytest.raises(InputError, match="too long for maps of all pairs; choose deletion"):
        explain_text(own, SENTENCE, "attention")
    assert explain_text(own, SENTENCE).agreement == {"attention": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("এই ছবি good 👍🏽", ["এই", "ছবি", "good", "👍🏽"]),
        ("이 영화 GOOD!", ["이", "영화", "GOOD", "!"]),
        ("@bob see http://t.co/x #Good", ["@bob", "see", "http://t.co/x", "#Good"]),
    ],
)
@pytest.mark.parametrize("run", STARTERS)
def test_words_are_spans_of_the_typed_text_in_any_script(starter, run, text, typed):
    loaded = starter(run)
    for method in ("deletion", "gradient", "attention"):
        found = explain_text(loaded.make_reader(), text, method)
        assert [text[word.start : word.end] for word in found.words] == [word.word for word in found.words] == typed


@pytest.mark.slow
def test_eight_concurrent_threads_get_equal_results(starter):
    """Equal up to float32 rounding: an effect between threads would be far larger."""
    loaded = starter("ndt-01-n3")
    asked = [(text, method) for text in (SENTENCE, "a good film") for method in METHODS]
    alone = [explain_text(loaded.make_reader(), *each) for each in asked]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda each: explain_text(loaded.make_reader(), *each), asked))
    for one, other in zip(alone, together, strict=True):
        assert (one.method, one.target, one.note) == (other.method, other.target, other.note)
        assert other.log_odds == pytest.approx(one.log_odds, abs=1e-4)
        assert [word.push for word in other.words] == pytest.approx([word.push for word in one.words], abs=1e-3)


def test_batched_attributions_equal_single_ones_and_name_unknown_words_and_classes():
    own = reader("ndt-01-n3")
    targets = ["good", "bad", "", "good"]
    for text, target, found in zip(TEXTS, targets, attribute_texts(own, TEXTS, targets), strict=True):
        alone = explain_text(own, text, "deletion", target)
        assert found.target == alone.target and found.words == tuple(word.word for word in alone.words)
        assert found.pushes == pytest.approx(alone.pushes, abs=1e-5)
    found = attribute_texts(reader("vanilla"), TEXTS, ["good"] * 4)
    known = {word: not strange for each in found for word, strange in zip(each.words, each.unknown, strict=True)}
    assert not known["zzz"] and known["bad"] and known["good"]
    check_raises(InputError, "class 'fine'", attribute_texts, reader("vanilla"), ["good"], ["fine"])


def test_rounded_ties_choose_the_first_word():
    assert find_largest(np.array([1.0, -3.0, 3.0 + 1e-9])) == 1
    assert find_top_words(np.array([0.5, 0.5]), np.array([0.1, -0.2])) == TopWords(0, 1) and not TopWords(0, 1).same
    assert find_top_words(np.array([1.0]), np.array([2.0])) is None


KEPT = "never very good , but bad"
CUT = f"{KEPT} good good good bad never very good"
ODD = "Sooooo good #BuyTheDip @you http://x.y/abc don't ... 👍🏽 İyi ΟΔΟΣ " * 2
OTHERS = ["", "good", KEPT, "SO BAD", ODD, "x" * 40]


@pytest.fixture(scope="module")
def own():
    return reader("vanilla", max_length=6)


def compute_odds(own, *texts):
    """Return the log-odds of the first class, the target of `explain_text`."""
    return compute_log_odds(own.predict(list(texts)).probabilities, 0, "single")


@pytest.mark.parametrize(
    "kind", [{}, {"tokenizer": "bpe", "max_vocab": 300}, {"mark_elongation": True, "mark_capitals": True}]
)
@pytest.mark.parametrize("length", [4, 5, 7])
def test_the_part_that_is_read_has_the_same_tokens(kind, length):
    tokenizer = fit_tokenizer([CUT, *OTHERS], TextConfig(min_freq=1, max_length=length, **kind))
    for text in (CUT, *OTHERS):
        whole, part = tokenizer.encode(text), tokenizer.encode(remove_words(text, tokenizer.find_truncated(text)))
        assert part.truncated == 0 and part.ids == whole.ids[: len(part.ids)]
        assert whole.tokens[len(part.ids) :] in ([], [" "]), "a blank alone cannot be typed at the end"


def test_each_text_of_a_pair_is_truncated_at_its_end():
    pairs = [join_pair("a good film", "a bad film"), join_pair("good good", "bad bad")] * 2
    tokenizer = fit_tokenizer(pairs, TextConfig(min_freq=1, max_length=6))
    longer = ("a good film a", "bad a film bad good"), ("good", "bad " * 9), ("a " * 9, "film"), ("", "a " * 9)
    for first, second in longer:
        text = join_pair(first, second)
        cut = tokenizer.find_truncated(text)
        assert cut and tokenizer.encode(remove_words(text, cut)).ids == tokenizer.encode(text).ids
        assert tokenizer.encode(remove_words(text, cut)).truncated == 0


def test_attributions_explain_the_part_that_is_read(own):
    found = explain_text(own, CUT, target="bad")
    whole, *rest = compute_odds(own, CUT, *[remove_words(KEPT, [word]) for word in find_word_spans(KEPT)])
    np.testing.assert_allclose(found.pushes[:6], whole - rest, atol=1e-6)
    assert found.log_odds == pytest.approx(compute_odds(own, KEPT)[0], abs=1e-6), "its own value is the prediction"
    assert (abs(found.pushes[6:]) < 1e-6).all(), "nothing happens without what is not read"
    [several] = attribute_texts(own, [CUT], ["bad"])
    np.testing.assert_allclose(several.pushes, found.pushes, atol=1e-6)


@pytest.mark.slow
def test_shapley_values_and_flips_use_the_part_that_is_read(own):
    long = explain_text(own, f"{KEPT} good", "shapley", "bad")
    assert long.completeness.at_reference == pytest.approx(compute_odds(own, "")[0], abs=1e-6)
    whole, none = compute_odds(own, KEPT, "")
    assert sum(long.pushes) == pytest.approx(whole - none, abs=1e-5)
    assert long.pushes[6] == pytest.approx(0, abs=1e-6), "the seventh word is not read"
    *_, long = search_flip(own, CUT, "bad", readings=200)
    *_, short = search_flip(own, KEPT, "bad", readings=200)
    assert dataclasses.replace(long, note="") == dataclasses.replace(short, note="")
    assert long.text == KEPT and long.note == "The model reads the first 6 tokens; 7 at the end are cut off."


@pytest.mark.slow
def test_faithfulness_uses_the_part_that_is_read():
    texts = sentences(12, 3)
    short = toy(opinions(1))
    short.tokenizer.max_length = 6
    cut = [short.read_part(text) for text in texts]
    assert all(len(part.split()) == 6 for part in cut)
    long, by_hand = (measure_methods(short, short, labeled(short, each), ["deletion"]) for each in (texts, cut))
    assert long.cut == 12 and dataclasses.replace(long, cut=0) == by_hand


def test_removing_the_negation_admits_no_new_tokens(own):
    asked = fill_template("never [very] {} good bad", "good good good good", 4)
    for step, chance in zip(asked, predict_template(own, asked, "good").without, strict=True):
        words = [word for place, word in enumerate(step.text.split()[:6]) if place != 1]
        assert chance == pytest.approx(own.predict([" ".join(words)]).probabilities[0, 1], abs=1e-6)
    [behind] = predict_template(own, fill_template("never {} good bad good bad [very]", "good", 0), "good").without
    [after] = predict_template(
        own, fill_template("never good bad good bad good {} [very] bad", "good", 0), "good"
    ).without
    assert behind == pytest.approx(own.predict(["never good bad good bad"]).probabilities[0, 1], abs=1e-6)
    assert after == pytest.approx(own.predict(["never good bad good bad good"]).probabilities[0, 1], abs=1e-6)


def test_tfidf_reads_the_whole_remaining_text(own):
    heard = []

    def predict(texts, whole=()):
        heard.append((list(texts), list(whole)))
        found = predict_texts(own.model, own.tokenizer, texts)
        return dataclasses.replace(found, parts=EnsembleLogits(found.logits, found.logits))

    explain_text(dataclasses.replace(own, predict=predict, mix_weight=0.5), CUT)
    [(read, whole)] = heard
    assert whole == [CUT, *(remove_words(CUT, [word]) for word in find_word_spans(CUT))]
    assert read[0] == CUT and read[1] == "very good , but bad" and set(read[7:]) == {KEPT}


COUNTED_TEXTS = [
    *["very very good , but never bad", "Never good", "bad , very bad", "good , very good", "very bad , never good"],
    *["good very", "#good bad", "but good"],
]


def test_effects_are_those_of_single_deletions():
    own = reader("ndt-pm1-n3")

    def odds(text):
        chances = own.predict([text]).probabilities[0].astype(float)
        return np.log(chances) - np.log(1 - chances)

    found, several = {}, {}
    for text in COUNTED_TEXTS:
        words, lost = text.split(), {}
        for at, word in enumerate(words):
            if word.isalpha():
                without = " ".join(words[:at] + words[at + 1 :])
                lost.setdefault(word.lower(), []).append(odds(text) - odds(without))
        for word, each in lost.items():
            found.setdefault(word, []).append(np.mean(each, 0))
    several = {word: each for word, each in found.items() if len(each) >= LEAST}
    rows = measure_words(own, COUNTED_TEXTS)
    assert {row["word"] for row in rows} == set(several) == {"good", "very"}
    for row in rows:
        each = np.array(several[row["word"]])[:, CLASSES.index(row["class"])]
        assert (row["texts"], row["value"]) == (len(each), pytest.approx(each.mean(), abs=1e-5))
        assert row["interval"][0] <= row["value"] <= row["interval"][1]
    for name in CLASSES:
        values = [row["value"] for row in rows if row["class"] == name]
        assert values == sorted(values, reverse=True) and len(values) == 2
    assert [row["class"] for row in rows] == ["bad", "bad", "good", "good"]


def test_a_finding_names_the_first_word_of_each_class_above_zero():
    rows = [
        {"class": "bad", "word": "meh", "texts": 5, "value": 2.0, "interval": [-1.0, 3.0]},
        {"class": "bad", "word": "poor", "texts": 9, "value": 1.5, "interval": [1.0, 2.0]},
        {"class": "good", "word": "fine", "texts": 7, "value": 0.5, "interval": [0.1, 0.9]},
    ]
    said = describe_words({"words": {"rows": rows}})
    assert said.endswith("bad “poor” (+1.50, 9 texts), good “fine” (+0.50, 7 texts).")
    assert describe_words({"words": {"rows": rows[:1]}}) == "No word has an effect."
