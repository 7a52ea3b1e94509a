import json
import math

import numpy as np
import pytest
from refused import check_raises

from core.exceptions import ConfigError, DataError, RunDamaged
from core.text.config import TextConfig
from core.text.lexicon import NEUTRAL, Lexicon, convert_valence, read_lexicon
from core.text.token_table import build_token_table, to_batch
from core.text.tokenizer_factory import fit_tokenizer, restore_tokenizer

THIRD = float(np.float32(1 / 3))
NOTHING = (THIRD, THIRD, THIRD)
SMALL = "word\tpolarity\ngood\t1\nbad\t-1\nnot good\t-0.5\n:)\t0.5\n!\t1\nnaïve\t-1\nchair\t0\n"


@pytest.fixture
def lexicon(tmp_path):
    def write(content, name="lexicon.tsv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    return write


def polarity(positive, neutral, negative):
    """lambda = (c + 1) / (sum c + 3)."""
    total = positive + neutral + negative + 3
    return pytest.approx([(positive + 1) / total, (neutral + 1) / total, (negative + 1) / total], abs=1e-6)


@pytest.mark.parametrize(
    ("content", "word", "counts"),
    [
        ("term\tscore\tkind\nawful\t-3\tword\n", "awful", (0, 0, 1.6)),
        ("word\tpolarity\nfine\t1\n", "fine", (2, 0, 0)),
        ("term\tmean\tsd\nfine\t1.6\t0.8\n", "fine", (1.4, 0, 0)),
        ("word\tword_root\tpolarity\n좋다\t좋\t2\n", "좋다", (2, 0, 0)),
        ("word\tword_root\tpolarity\n나쁘다\t나\t-1\n", "나쁘다", (0, 0, 1.5)),
        ("word,polarity\nso-so,0.04\n", "so-so", (0, 1.04, 0)),
        ("\ufeffPhrase;Polarity\n\nnot bad;0,5\n".replace("0,5", "0.5"), "not bad", (1.5, 0, 0)),
        ('word,polarity\n"well, well",-0.5\n', "well, well", (0, 0, 1.5)),
        ("word\tpolarity\taspect_polarity\tintensity\nlong\t-1\t1\t0.5\n", "long", (0.5, 0, 1)),
        ("word\tpolarity\taspect_polarity\tintensity\nlong\t0\t\t2\n", "long", (0, 3, 0)),
        ("word\tpolarity\taspect_polarity\nlong\t-1\t0\n", "long", (0, 0, 1)),
        ("; made for a course\n;\n\nword\tpolarity\nfine\t1\n", "fine", (2, 0, 0)),
        ("term\tscore\nawful\t\u22123\n", "awful", (0, 0, 1.6)),
        ("word;polarity\nfine;0,8\n", "fine", (1.8, 0, 0)),
        ("sad\t-1.9\t1.1\t[-2, -1, -3]\n", "sad", (0, 0, 1.475)),
        ("no joy\t-3\n", "no joy", (0, 0, 1.6)),
        ('[{"word": "나쁘다", "word_root": "나", "polarity": "-1"}]', "나쁘다", (0, 0, 1.5)),
        ('[{"Term": "fine", "score": 5}]', "fine", (2, 0, 0)),
    ],
)
def test_each_lexicon_format_gives_counts(lexicon, content, word, counts):
    (entry,) = read_lexicon(lexicon(content))
    assert entry.word == word and entry.counts == pytest.approx(counts)


@pytest.mark.parametrize("valence", [-1, -0.5, -0.05, -0.049, 0, 0.049, 0.05, 0.7, 1])
def test_counts_are_one_plus_the_strength_for_the_sign(valence):
    place = 1 if abs(valence) < 0.05 else (0 if valence > 0 else 2)
    assert convert_valence(valence)[place] == pytest.approx(1 + abs(valence))
    assert sum(convert_valence(valence)) == pytest.approx(1 + abs(valence))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "begins with a line that names its columns"),
        ("good\t1\nbad\t-1\n", "names its columns"),
        ("emoji\tdescription\n:)\tsmile\n", "names its columns"),
        ("word\tpolarity\n", "no rows"),
        ("fine\ngrand\nsuperb\n", "a list of 3 words without polarities"),
        ("fine\t9\nbad\t-9\n", "names its columns"),
        ("fine\t0.8\nbad\t-3\n", "names its columns"),
        ("fine,0,8\n", "names its columns"),
        ('{"fine": 1}', "is JSON of an object of 1; a lexicon is a list of objects"),
        ('[{"word": "fine", "polarity": null}]', "row 1, field 'polarity': a number from -1 to 1"),
        ('[{"text": "fine"}]', "names its columns"),
        ("[" * 99_999, "is no valid JSON"),
        ('[{"word": "fine", "polarity": 1, "Polarity": -1}]', "is no valid JSON: an object has a key twice"),
        ("word\tpolarity\ngood\t1\nbad\n", "row 2: 1 columns where the header names 2"),
        ("word\tpolarity\ngood\tyes\n", "row 1, field 'polarity': a number from -1 to 1 was expected, not 'yes'"),
        ("word\tpolarity\ngood\t2\n", "row 1, field 'polarity': a number from -1 to 1"),
        ("term\tscore\ngood\tnan\n", "row 1, field 'score': a number from -5 to 5"),
        ("word\tpolarity\n \t1\n", "row 1, field 'word': the word is missing"),
        ("word\tpolarity\taspect_polarity\ngood\t0.5\t1\n", "row 1, field 'polarity': -1, 0 or 1 was expected"),
        ("word\tpolarity\taspect_polarity\tintensity\ngood\t1\t1\t-2\n", "field 'intensity': a number from 0 up"),
        ("word\tpolarity\taspect_polarity\tintensity\ngood\t1\t1\tinf\n", "field 'intensity': a number from 0 up"),
    ],
)
def test_unusable_entries_are_reported_with_file_row_and_field(lexicon, content, message):
    with pytest.raises(DataError, match=r"lexicon\.tsv") as error:
        read_lexicon(lexicon(content))
    assert message in str(error.value)


def test_vader_is_read_from_its_package_and_unreadable_lexicons_are_explained(tmp_path):
    entries = {entry.word: entry.counts for entry in read_lexicon("vader")}
    assert len(entries) > 7400 and entries["good"] == pytest.approx((1 + 1.9 / 4, 0, 0))
    assert entries["horrible"] == pytest.approx((0, 0, 1 + 2.5 / 4))
    check_raises(DataError, r"none\.tsv: the lexicon cannot be read: .*vader", read_lexicon, str(tmp_path / "none.tsv"))
    (tmp_path / "latin.tsv").write_bytes("word\tpolarity\nschön\t1\n".encode("latin-1"))
    check_raises(DataError, "no UTF-8 text", read_lexicon, str(tmp_path / "latin.tsv"))


def fitted(write, *texts, **settings):
    config = TextConfig(min_freq=1, **{"lexicon": settings.get("lexicon") or write(SMALL), **settings})
    return fit_tokenizer(texts or ("good bad not chair naïve film : ) !",), config)


def test_all_pieces_of_a_word_get_its_polarity_or_that_of_every_entry_with_the_token(lexicon):
    tokenizer = fitted(lexicon, "good film", tokenizer="bpe", max_vocab=262)
    found = tokenizer.encode("naïve film")
    pieces = [each for each, (start, _) in zip(found.polarity, found.offsets, strict=True) if start < 5]
    assert len(pieces) > 2 and all(each == polarity(0, 0, 2) for each in pieces)
    assert set(found.polarity[len(pieces) :]) == {NOTHING}
    tokenizer = fitted(lexicon, lexicon_match="contains")
    assert tokenizer.encode("not good bad ! )").polarity == [
        polarity(0, 0, 1.5), polarity(2, 0, 1.5), polarity(0, 0, 2), NOTHING, NOTHING,
    ]  # fmt: skip
    entries = lexicon("word\tpolarity\nabx\t1\naby\t-1\nabab\t-1\nxab\t1\n")
    settings = {"tokenizer": "bpe", "max_vocab": 260, "lexicon": entries, "lexicon_match": "contains"}
    tokenizer = fitted(lexicon, "ab ab ab", **settings)  # two merges: a blank with a, and those with b
    assert tokenizer.encode("abx").tokens == ["ab", "x"]
    assert tokenizer.encode("ab").polarity == [polarity(2, 0, 4)]  # all entries except xab begin with this piece
    assert tokenizer.encode("film").polarity[0] == NOTHING


def test_entries_are_normalized_like_texts_and_equal_ones_are_summed(lexicon):
    entries = "word\tpolarity\ncan't stand\t-1\n:D\t1\n"
    tokenizer = fitted(lexicon, "can't stand d", normaliser="tweet-clean", lexicon=lexicon(entries))
    assert set(tokenizer.lexicon.entries) == {"cant stand"}
    assert tokenizer.encode("I can't stand :D").polarity[1:] == [polarity(0, 0, 2), polarity(0, 0, 2), NOTHING]
    entries = "word\tpolarity\tintensity\taspect_polarity\nGood\t1\t0\t\ngood\t1\t0.5\t-1\n"
    tokenizer = fitted(lexicon, "good", lexicon=lexicon(entries))
    assert tokenizer.encode("good").polarity == [polarity(2, 0, 0.5)]
    with pytest.raises(DataError, match="nothing of the lexicon is left"):
        fitted(lexicon, normaliser="tweet-clean", lexicon=lexicon("word\tpolarity\n:)\t1\n"))


@pytest.mark.parametrize("match", ["word", "contains"])
@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_polarity_is_restored_without_the_lexicon_file(lexicon, tmp_path, kind, match):
    tokenizer = fitted(lexicon, tokenizer=kind, max_vocab=300, lexicon_match=match)
    (tmp_path / "lexicon.tsv").unlink()
    again = restore_tokenizer(tokenizer.to_json())
    text = "not good :) naïve film"
    assert again.encode(text) == tokenizer.encode(text) and again.to_json() == tokenizer.to_json()


@pytest.mark.parametrize("match", ["word", "contains"])
def test_batch_polarity_equals_that_of_single_texts_with_neutral_padding(lexicon, match):
    tokenizer = fitted(lexicon, lexicon_match=match, max_length=4)
    texts = ["not good", "", "bad film bad film bad bad", "?"]
    batch = build_token_table(tokenizer, texts).pad_rows(np.arange(4), width=6)
    for row, text in enumerate(texts):
        expected = tokenizer.encode(text).polarity
        assert batch.polarity[row].tolist() == [list(each) for each in expected + [NOTHING] * (6 - len(expected))]
        assert to_batch(tokenizer.encode(text)).polarity[0].tolist() == [list(each) for each in expected or [NOTHING]]
    assert np.abs(batch.polarity.sum(-1) - 1).max() < 1e-6 and batch.tags is None


@pytest.mark.parametrize("match", ["word", "contains"])
def test_several_lexicons_give_the_same_polarity_as_each_alone(lexicon, match):
    names = (
        lexicon("word,polarity\ngood,1\nbad film,-1\n", "a.csv"),
        lexicon("word,polarity\nbad,0.5\nfilm,0\n", "b.csv"),
    )
    texts = ["good bad film chair", "", "GOOD"]
    config = {"min_freq": 1, "lexicon_match": match}
    both, *alone = (fit_tokenizer(texts, TextConfig(lexicon=each, **config)) for each in (",".join(names), *names))
    again = restore_tokenizer(both.to_json())
    for text in texts:
        apart = [each.encode(text).polarity for each in alone]
        assert both.encode(text).polarity == [one + other for one, other in zip(*apart, strict=True)]
        assert again.encode(text) == both.encode(text) and both.encode(text).lexicons == 2
        assert to_batch(both.encode(text)).polarity.shape[2] == 6
    table = build_token_table(both, texts)
    assert table.polarity.shape[1] == 6 and table.pad_rows(np.arange(3)).polarity.shape[2] == 6
    parts = np.concatenate([build_token_table(each, texts).polarity for each in alone], 1)
    np.testing.assert_array_equal(table.polarity, parts)
    assert table.neutral_share == pytest.approx((parts == np.float32(NEUTRAL)).all(1).mean())


def test_listed_words_phrases_and_emoticons_get_counts_and_other_texts_are_neutral(lexicon):
    tokenizer = fitted(lexicon)
    for text, expected in (
        ("GOOD film bad chair", [polarity(2, 0, 0), NOTHING, polarity(0, 0, 2), polarity(0, 1, 0)]),
        ("not good", [polarity(0, 0, 1.5), polarity(2, 0, 1.5)]),
        ("not film", [NOTHING, NOTHING]),
        ("film :)", [NOTHING, *[polarity(1.5, 0, 0)] * 2]),
        ("film : )", [NOTHING] * 3),
        ("film !", [NOTHING] * 2),
    ):
        assert tokenizer.encode(text).polarity == expected
    assert fitted(lexicon, "film bad").encode("good bad").polarity == [NOTHING, polarity(0, 0, 2)]
    names = lexicon("word,polarity\ngood,1\n", "a.csv"), lexicon("word,polarity\nbad,-1\n", "b.csv")
    tokenizer = fit_tokenizer(["chair table"], TextConfig(lexicon=",".join(names), min_freq=1))
    for each in (tokenizer, restore_tokenizer(tokenizer.to_json())):
        assert build_token_table(each, ["chair", ""]).pad_rows(np.arange(2)).polarity.shape == (2, 1, 6)
        assert to_batch(each.encode("")).polarity.shape == (1, 1, 6)
    assert build_token_table(fitted(lexicon), ["good film chair", "film"]).neutral_share == 0.5
    assert math.isnan(build_token_table(fitted(lexicon), [""]).neutral_share)


@pytest.mark.parametrize("name", ["vader,", ",vader", "vader, vader", "a.csv,,b.csv"])
def test_several_lexicons_must_be_different_and_separated_by_commas(name):
    check_raises(ConfigError, "different ones with a comma between two", TextConfig, lexicon=name)


@pytest.mark.parametrize(
    "entries",
    [
        [],
        {"a": [1, 2]},
        {"a": [1, 2, 0], "b": [1, 2, 0, 1, 2, 0]},
        {"a": [1, 2, -1]},
        {"a": ["x", 0, 0]},
        {"a": [float("nan"), 0, 0]},
    ],
)
def test_damaged_saved_lexicons_are_refused(lexicon, entries):
    state = json.loads(fitted(lexicon).to_json())
    check_raises(RunDamaged, None, restore_tokenizer, json.dumps({**state, "lexicon": entries}))


def test_tokenizers_saved_without_newer_settings_still_load():
    state = json.loads(fit_tokenizer(["a b"], TextConfig(min_freq=1)).to_json())
    old = {"normaliser", "tokenizer", "max_vocab", "min_freq", "max_length"}
    state["config"] = {name: value for name, value in state["config"].items() if name in old}
    assert restore_tokenizer(json.dumps(state)).config == TextConfig(min_freq=1)


@pytest.mark.slow
def test_unused_lexicon_entries_are_dropped_without_changing_the_polarity(monkeypatch):
    texts = ["A GREAT film", "not bad at all :)", "the end"] * 3
    config = TextConfig(normaliser="none", min_freq=1, lexicon="vader")
    kept = fit_tokenizer(texts, config)
    monkeypatch.setattr(Lexicon, "keep_words", lambda self, words: self)
    whole = fit_tokenizer(texts, config)
    assert {"great", "bad", ":)"} <= kept.lexicon.entries.keys()
    assert len(kept.lexicon.entries) < 0.1 * len(whole.lexicon.entries)
    for text in [*texts, "Great! awful and bad :( :) the GREAT unknown", ""]:
        assert kept.encode(text).polarity == whole.encode(text).polarity
