import hashlib

import numpy as np
import pytest
from HanTa import HanoverTagger

from core.text import pos_tags
from core.text.config import TextConfig
from core.text.pos_tags import (
    MODELS,
    TAGS,
    UNIVERSAL,
    Tagger,
    detect_language,
    detect_script,
    find_content_words,
    tag_texts,
)
from core.text.token_table import build_token_table, to_batch
from core.text.tokenizer_factory import fit_tokenizer, restore_tokenizer

ENGLISH = ["The film was great and it made me happy.", "I do not know what they wanted from this.", "Loooong!! 😀"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))


def named(words, language="en"):
    return [TAGS[each - 1] for each in Tagger(language).tag(words.split())]


FIXED = {
    "en": "I didn't think she'd say it's fine , but they've won and we'll leave . Don’t ! Isn't that the dogs' ? "
    "YOU'RE so 2nd - rate … not bad at all <user> 😀 $ unputdownable pseudo-intellectual x",
    "de": "Ich hab's nicht gewußt , aber das war Omas bester Film . Geht's Dir gut ? 3 Sterne ! „ Nein “ zum Anschauen",
    "nl": "'t Was niet slecht , maar z'n baby's huilden . Da's jammer ! 2 sterren … zo'n mooie dag heb ik nooit gezien",
}
DIGESTS = {2: "75c6ffa0bbad557b"}
"""`SCHEME` → digest of the tags of `FIXED`. Add a line; never change one."""


@pytest.mark.slow
def test_tags_of_a_scheme_version_never_change():
    found = {language: named(words, language) for language, words in FIXED.items()}
    digest = hashlib.sha256(repr(found).encode()).hexdigest()[:16]
    assert digest == DIGESTS.get(pos_tags.SCHEME), (
        "the same words get other tags than before. Raise SCHEME in core/text/pos_tags.py, so that tags kept before "
        f"are not taken for these, add a line with {digest} to DIGESTS here, and make trained/starter-sentiformer anew "
        f"with its command in trained/README.md. The tags: {found}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("language", MODELS)
def test_every_tag_of_a_model_maps_to_a_universal_tag(language):
    model = pos_tags._load_hanta(language)
    own = {name.removeprefix("END_").partition("(")[0] for name in model.tag2int if name.startswith("END_")}
    assert own <= set(UNIVERSAL[language]) and set(UNIVERSAL[language].values()) <= set(range(1, 13))


@pytest.mark.slow
def test_files_in_the_working_directory_are_not_loaded_as_models(tmp_path, monkeypatch):
    (tmp_path / MODELS["en"]).write_bytes(b"no model")
    monkeypatch.chdir(tmp_path)
    pos_tags._load_hanta.cache_clear()
    assert named("good") == ["ADJ"]
    with pytest.raises(OSError):
        HanoverTagger.HanoverTagger(MODELS["en"])  # the file would be loaded


def test_subwords_get_the_tag_of_their_word_as_it_was_written():
    config = TextConfig(tokenizer="bpe", max_vocab=300, max_length=64, tagger="en")
    found = fit_tokenizer(["unbelievable films"], config).encode("I didn't see unbelievable films")
    by_word = {}
    for (start, _), tag in zip(found.offsets, found.tags, strict=True):
        if found.text[start] == " ":
            assert tag == 0
        else:
            by_word.setdefault(found.text[:start].count(" "), set()).add(tag)
    assert len(found.ids) > 2 * len(by_word)
    assert {word: [TAGS[each - 1] for each in tags] for word, tags in by_word.items()} == {
        0: ["PRON"], 1: ["VERB"], 2: ["VERB"], 3: ["ADJ"], 4: ["NOUN"],
    }  # fmt: skip
    tokenizer = fit_tokenizer(ENGLISH, TextConfig(tagger="en", min_freq=1))
    seen = []

    class Spy(Tagger):
        def tag(self, words):
            seen.append(list(words))
            return super().tag(words)

    tokenizer.tagger = Spy("en")
    assert tokenizer.encode("We saw Will Smith").tokens == ["we", "saw", "will", "smith"]
    assert seen == [["We", "saw", "Will", "Smith"]]


def test_words_get_universal_tags_alone_and_in_batches():
    assert named("The film was really great , and 2 of us did not leave !") == [
        "DET", "NOUN", "VERB", "ADV", "ADJ", "PUNCT", "CONJ", "NUM", "ADP", "PRON", "VERB", "ADV", "VERB", "PUNCT",
    ]  # fmt: skip
    assert Tagger("en").tag(["x" * 20_000 + "ly"]) == Tagger("en").tag(["x" * 38 + "ly"])
    tokenizer = fit_tokenizer(ENGLISH, TextConfig(tagger="en", min_freq=1))
    texts = [*ENGLISH, "", "!"]
    batch = build_token_table(tokenizer, texts).pad_rows(np.arange(5), width=20)
    for row, text in enumerate(texts):
        expected = tokenizer.encode(text).tags
        assert batch.tags[row].tolist() == expected + [0] * (20 - len(expected))
        assert to_batch(tokenizer.encode(text)).tags[0, : len(expected)].tolist() == expected
    assert batch.polarity is None


def test_tags_are_computed_once_and_cached_by_version(monkeypatch):
    words = [text.split() for text in ENGLISH]
    first = tag_texts(Tagger("en"), words)
    assert [list(each) for each in first] == [Tagger("en").tag(each) for each in words]
    monkeypatch.setattr(Tagger, "tag", lambda self, words: pytest.fail("tagged again"))
    assert tag_texts(Tagger("en"), words) == first
    monkeypatch.setattr(pos_tags, "SCHEME", 99)
    monkeypatch.setattr(Tagger, "tag", lambda self, words: [7] * len(words))
    assert tag_texts(Tagger("en"), words) == [bytes([7] * len(each)) for each in words]


@pytest.mark.parametrize(
    ("texts", "language", "script"),
    [
        (ENGLISH, "en", "Latin"),
        (["Der Film ist nicht schlecht, und ich mag die Musik."], "de", "Latin"),
        (["Dat is een mooie film van het jaar, maar ik vond hem niet spannend."], "nl", "Latin"),
        (["Le film est très beau et les acteurs sont bons, mais la fin est longue."], "", "Latin"),
        (["La película es muy buena y los actores también, pero el final no me gusta."], "", "Latin"),
        *((["영화가 정말 재미있어요"], "", "Hangul"), (["সিনেমাটি খুব ভালো"], "", "Bengali")),
        *((["映画はとてもおもしろい"], "", "Hiragana"), (["42 !!"], "", ""), ([], "", "")),
    ],
)
def test_languages_with_a_tagger_are_detected_by_function_words(texts, language, script):
    assert detect_language(texts) == language and detect_script(texts) == script


def test_other_languages_have_no_tagger_and_content_words_leave_out_stop_words():
    tokenizer = fit_tokenizer(["영화가 정말 재미있어요", "별로예요"], TextConfig(tagger="auto", min_freq=1))
    assert tokenizer.tagger is None and tokenizer.encode("별로예요").tags is None
    assert "parts of speech are off" in tokenizer.notes[0] and "Hangul" in tokenizer.notes[0]
    assert restore_tokenizer(tokenizer.to_json()).notes == tokenizer.notes

    def kept(text):
        return [word for word, is_it in zip(text.split(), find_content_words(text.split()), strict=True) if is_it]

    assert kept("The plot was not good , but it never bored me !") == ["plot", "not", "good", "but", "never", "bored"]
    assert kept("der Film war nicht gut und ist doch schön .") == ["Film", "nicht", "gut", "doch", "schön"]
    assert kept("a plot , a") == ["a", "plot", "a"]  # of so few words the language is not known
    assert kept("! ?") == ["!", "?"] and kept("the") == ["the"]
