import pytest

from core.text.config import TextConfig
from core.text.normalization import NORMALIZERS, make_text_keys, prepare
from core.text.special_ids import FIRST
from core.text.text_pairs import MARK, SIGN, divide_tokens, is_mostly_pairs, join_pair, split_pair
from core.text.tokenizer_factory import fit_tokenizer, restore_tokenizer

PAIRS = [join_pair("a good film", "a bad film"), join_pair("good good", "bad bad"), join_pair("a film", "good")] * 2
KINDS = [TextConfig(min_freq=1), TextConfig(tokenizer="bpe", max_vocab=290)]


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_both_texts_of_a_pair_are_normalized_separately(kind):
    first, second = "A LOVELY #DayOut, see http://x.y/z", "not so @you 2 &amp; <b>"
    config = TextConfig(normaliser=kind)
    assert prepare(join_pair(first, second), config) == MARK.join([prepare(first, config), prepare(second, config)])


@pytest.mark.parametrize("config", KINDS)
def test_one_token_separates_the_texts_and_occurs_nowhere_else(config):
    tokenizer = fit_tokenizer(PAIRS, config)
    found = tokenizer.encode(join_pair(f"a good {SIGN} film", f"{SIGN}bad film"))
    assert found.ids.count(FIRST) == 1 and found.tokens[found.ids.index(FIRST)] == SIGN == tokenizer.name(FIRST)
    assert [found.text[start:end] for start, end in found.offsets] == found.tokens
    assert FIRST not in tokenizer.encode(f"a good{SIGN}film").ids  # typed in a single text, without blanks
    assert tokenizer.encode_batch(PAIRS) == [tokenizer.encode(text).ids for text in PAIRS]
    assert tokenizer.split_batch(PAIRS) == [tokenizer.encode(text).tokens for text in PAIRS]


@pytest.mark.parametrize("config", KINDS)
def test_saved_tokenizers_read_pairs_only_if_fitted_on_pairs(config):
    tokenizer = fit_tokenizer(PAIRS, config)
    again = restore_tokenizer(tokenizer.to_json())
    assert again.pairs and again.to_json() == tokenizer.to_json()
    assert again.encode_batch(PAIRS) == tokenizer.encode_batch(PAIRS)
    state = fit_tokenizer((["a good film", "a bad film"] * 2), config).to_json()
    assert '"pairs"' not in state and SIGN not in state and not restore_tokenizer(state).pairs


@pytest.mark.parametrize(
    ("first", "second", "most", "left"),
    [(3, 4, 9, (3, 4)), (2, 9, 6, (2, 4)), (9, 2, 6, (4, 2)), (9, 9, 6, (3, 3)), (9, 9, 7, (4, 3)), (9, 3, 7, (4, 3))],
)
def test_the_longer_text_is_truncated_first(first, second, most, left):
    assert divide_tokens(first, second, most) == left
    a, b = first, second
    while a + b > most:  # token by token, by definition
        a, b = (a - 1, b) if a > b else (a, b - 1)
    assert left == (a, b)


def test_both_texts_of_a_truncated_pair_remain_and_the_vocabulary_includes_the_mark():
    tokenizer = fit_tokenizer(PAIRS, TextConfig(min_freq=1, max_length=5))
    found = tokenizer.encode(join_pair("good " * 9, "bad film " * 9))
    assert found.tokens == ["good", "good", SIGN, "bad", "film"] and found.truncated == 9 + 1 + 18 - 5
    assert tokenizer.encode_batch([join_pair("good " * 9, "bad film " * 9)]) == [found.ids]
    for config in (TextConfig(min_freq=1, max_vocab=8), TextConfig(tokenizer="bpe", max_vocab=270, min_freq=1)):
        assert fit_tokenizer([*PAIRS, join_pair("one two three", "four five six")] * 3, config).size <= config.max_vocab


def test_joined_pairs_split_back_and_are_recognized_by_majority():
    assert split_pair(join_pair("one", "two")) == ("one", "two")
    assert split_pair(join_pair(f"one {SIGN} two", f"{SIGN} three")) == ("one | two", "| three")
    assert split_pair("no‖mark") is None
    assert split_pair(f"{SIGN} all of the first deleted") == ("", "all of the first deleted")
    assert is_mostly_pairs([*PAIRS, "one that was added by hand"])
    assert not is_mostly_pairs(["a", "b", join_pair("a", "b")]) and not is_mostly_pairs([])
    one, same, other, turned = make_text_keys(
        [
            join_pair("A film!", "bad"),
            join_pair("a  film !", "Bad"),
            join_pair("a film!", "good"),
            join_pair("bad", "a film!"),
        ],
        TextConfig(),
    )
    assert one == same and len({one, other, turned}) == 3


@pytest.mark.slow
def test_tokens_of_both_texts_have_polarity_and_tags():
    tokenizer = fit_tokenizer(PAIRS, TextConfig(min_freq=1, lexicon="vader"))
    found = tokenizer.encode(PAIRS[0])
    single = [tokenizer.encode(part) for part in split_pair(PAIRS[0])]
    assert found.polarity == [*single[0].polarity, found.polarity[3], *single[1].polarity]
    assert found.polarity[3] == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert tokenizer.annotate_batch([PAIRS[0]]).polarity.tolist() == [pytest.approx(each) for each in found.polarity]
