"""What the wording of a text shows, case by case and by language."""

import numpy as np
import pytest

from core.error_analysis import linguistic_tags

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


def test_word_lists_cover_every_tag_and_language():
    for name in linguistic_tags.NAMED:
        for language in linguistic_tags.LANGUAGES:
            found = linguistic_tags.match_words(name, linguistic_tags.collect_words(["", "und", "the"]), language)
            np.testing.assert_array_equal(found, [False, False, False])
    for listed in (linguistic_tags.NEGATION, linguistic_tags.CONTRAST, linguistic_tags.INTENSIFIER):
        assert set(listed) == set(linguistic_tags.LANGUAGES)
        for words in listed.values():
            assert all(linguistic_tags.collect_words([word]) == [{word}] for word in words.split())


def test_the_language_is_known_for_named_data_or_detected():
    assert linguistic_tags.guess_language("nsmc", ["the film is not what I have seen"]) == "ko"
    assert linguistic_tags.guess_language("my.csv", ["das ist nicht der Film, den ich für euch auch sah"]) == "de"
    assert linguistic_tags.guess_language("my.csv", ["영화가 좋았다"]) == ""
    assert "English, German, Dutch" in linguistic_tags.explain_language(
        "ko"
    ) and "(ko)" in linguistic_tags.explain_language("ko")
