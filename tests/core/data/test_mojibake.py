import pytest
from legacy_texts import ENCODINGS, reviews

from core.data.encoding_guess import find_garbled

GOOD = {
    "French, Russian, Korean": "a café, naïve – “fine” · l’été, “été”, CAFÉ» · —él · рай, сад · Привет · 너무 좋아",
    "Icelandic": "þetta var ágætt en þjónninn dónalegur|Þórður fór í bæinn|ömurlegt veður|mér líður ágætlega",
    "Vietnamese": "Tôi không thích món này, phục vụ chậm|không có gì|quá tệ|mình thì thấy bình thường|cô bé xinh",
    "Faroese": "Maturin var kaldur|Tað var ringt|Føroyar eru vakrar|sera gott|ræðuligt veður|ólukkiligt",
    "capitals": "TRÈS DÉÇU|À ÉVITER|ÇA NE MARCHE PAS|ÜBERHAUPT NICHT SCHÖN|NÃO GOSTEI|PÉSSIMO|ÅÄÖ|OBSŁUGA ZŁA",
    "Serbian, Kazakh": "Храна је била хладна|ћевапи су добри|љубазно особље|Тамақ суық болды|өте жақсы|маған ұнамады",
    "signs": "5°C ± 2|£££|½ cup|§ 5|100 µg|«so»|©|×××|¯\\_(°)_/¯|°º¤ø,¸¸,ø¤º°`|»»»»|xÐ :Þ|ßüçk|¤¤¤|ööööö|¿¡",
}


@pytest.mark.parametrize("language", [*GOOD, *ENCODINGS])
def test_correct_text_is_not_reported_as_garbled(language):
    text = GOOD[language].replace("|", "\n") if language in GOOD else reviews(language, 9)
    assert find_garbled(text) is None


@pytest.mark.parametrize("codec", ["cp1252", "cp1251", "mac-roman", "cp437", "cp850", "cp866", "koi8-r", "gbk"])
def test_misread_utf8_is_reported(codec):
    found = find_garbled("a café on the corner\n".encode().decode(codec) * 3)
    assert (found.places, found.encoding, found.read_as) == (3, "utf-8", codec) and found.meant.endswith("é")
    assert find_garbled("it\x92s good").meant == "’"


@pytest.mark.parametrize("language", ["zh-Hans", "ja", "ru", "fr"])
@pytest.mark.parametrize("codec", ["gbk", "cp932"])
def test_utf8_misread_as_chinese_or_japanese_is_reported(language, codec):
    found = find_garbled(reviews(language, 6).encode().decode(codec, "replace"))
    assert (found.encoding, found.read_as) == ("utf-8", codec)


@pytest.mark.parametrize(
    ("language", "encoding", "codec"),
    [
        *(("ru", "cp1251", "latin-1"), ("ru", "koi8-r", "latin-1"), ("uk", "cp1251", "latin-1")),
        *(("ru", "cp1251", "koi8-r"), ("el", "cp1253", "latin-1"), ("zh-Hans", "gb18030", "latin-1")),
        *(("pl", "cp1250", "latin-1"), ("de", "cp1252", "cp1251"), ("fr", "mac-roman", "latin-1")),
    ],
)
def test_misread_legacy_encodings_are_named(language, encoding, codec):
    data = reviews(language, 8).encode(encoding)
    found = find_garbled(data.decode(codec))
    assert (found.encoding, found.read_as.replace("cp1252", "latin-1")) == (encoding, codec)
    assert found.meant in data.decode(encoding) and found.run in data.decode(codec)
