"""What the wording of a text shows, case by case and by language."""

import numpy as np
import pytest

from core.failures import wording

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
def test_a_sign_is_found_where_it_is_and_not_in_links(name):
    assert wording.signs(HAS[name])[name].all()
    assert not wording.signs(HAS_NOT[name])[name].any()


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
def test_a_word_is_found_as_a_whole_in_its_language(language, name, has, has_not):
    assert wording.of_words(name, wording.words(has), language).all()
    assert not wording.of_words(name, wording.words(has_not), language).any()


def test_every_language_has_words_of_every_tag_and_each_is_one_word():
    for name in wording.NAMED:
        for language in wording.LANGUAGES:
            found = wording.of_words(name, wording.words(["", "und", "the"]), language)
            np.testing.assert_array_equal(found, [False, False, False])
    for listed in (wording.NEGATION, wording.CONTRAST, wording.INTENSIFIER):
        assert set(listed) == set(wording.LANGUAGES)
        for words in listed.values():
            assert all(wording.words([word]) == [{word}] for word in words.split())


def test_the_language_is_known_of_named_data_and_else_read_from_the_texts():
    assert wording.language("nsmc", ["the film is not what I have seen"]) == "ko"
    assert wording.language("my.csv", ["das ist nicht der Film, den ich für euch auch sah"]) == "de"
    assert wording.language("my.csv", ["영화가 좋았다"]) == ""
    assert "English, German, Dutch" in wording.unknown_language("ko") and "(ko)" in wording.unknown_language("ko")
