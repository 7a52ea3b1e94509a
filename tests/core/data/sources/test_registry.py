from core.config import compose
from core.data.sources import SOURCES


def test_the_built_in_corpus_comes_first_and_names_are_keys():
    assert next(iter(SOURCES)) == "built-in"
    assert all(name == source.name for name, source in SOURCES.items())


def test_every_source_says_what_it_is_and_whether_it_was_checked():
    for source in SOURCES.values():
        assert source.title and source.licence and source.citation and source.language
        assert source.checked
        if source.hub:
            assert source.labels and "train" in source.hub.files
            assert all(file.endswith(".parquet") for files in source.hub.files.values() for file in files)


def test_nothing_claims_a_check_that_was_not_made():
    assert {source.checked.split(";")[0] for source in SOURCES.values()} == {
        "part of the program",
        "no repository known",
        "not checked against the hub",
        "columns as in a stored copy of others",
        "file names and columns as in a stored copy of the repository",
    }


def test_file_names_that_nobody_saw_listed_say_so():
    guessed = {name for name, source in SOURCES.items() if "by analogy" in source.checked}
    assert guessed == {"tweeteval_irony", "tweeteval_emoji", "sentiment140"}


def test_class_names_stand_in_label_order():
    assert SOURCES["sst5"].classes == ("very negative", "negative", "neutral", "positive", "very positive")
    assert SOURCES["sentiment140"].classes == ("negative", "neutral", "positive")
    assert len(SOURCES["tweeteval_emoji"].classes) == 20


def test_suggested_settings_exist_and_are_valid():
    for source in SOURCES.values():
        compose("vanilla", source.settings)
