from core.config import compose
from core.data.sources import SOURCES


def test_every_source_says_what_it_is_and_whether_it_was_checked():
    for source in SOURCES.values():
        assert source.title and source.licence and source.citation and source.language
        assert source.checked
        if source.hub:
            assert source.labels and "train" in source.hub.files
            assert all(file.endswith(".parquet") for files in source.hub.files.values() for file in files)


def test_class_names_stand_in_label_order():
    assert SOURCES["sst5"].classes == ("very negative", "negative", "neutral", "positive", "very positive")
    assert SOURCES["sentiment140"].classes == ("negative", "neutral", "positive")
    assert len(SOURCES["tweeteval_emoji"].classes) == 20


def test_suggested_settings_exist_and_are_valid():
    for source in SOURCES.values():
        compose("vanilla", source.settings)
