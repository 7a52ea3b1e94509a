import random

import pytest
from legacy_texts import ENCODINGS, reviews

from core.data.decoding import decode_bytes, decode_line, find_garbled, replace_surrogates
from core.data.reading_decisions import describe_encoding
from core.exceptions import DataError

KOREAN = "이 영화 정말 재미있어요 강추\n돈이 아깝다 최악\n" * 5


@pytest.mark.parametrize(
    ("text", "codec", "found"),
    [
        *(("plain words\n", "ascii", "utf-8"), (KOREAN, "utf-8", "utf-8"), (KOREAN, "utf-8-sig", "utf-8-sig")),
        (KOREAN, "utf-16", "utf-16"),
        ("mostly latin letters, é too\n", "utf-16-le", "utf-16-le"),
        ("mostly latin letters, é too\n", "utf-16-be", "utf-16-be"),
        (KOREAN, "cp949", "cp949"),
        ("Café très agréable, déjà vu à Nîmes\n" * 5, "latin-1", "latin-1"),
        ("It’s “fine” – really…\n", "cp1252", "cp1252"),
    ],
)
def test_encodings_are_detected_and_texts_restored(text, codec, found):
    decoded = decode_bytes(text.encode(codec))
    assert (decoded.text, decoded.encoding, decoded.damaged) == (text, found, 0)


def test_damaged_utf8_stays_utf8_and_lines_in_two_encodings_are_decoded_separately():
    decoded = decode_bytes(("déjà vu " * 60).encode() + b"\xff")
    assert decoded.encoding == "utf-8" and decoded.damaged == 1 and decoded.text == "déjà vu " * 60 + "\ufffd"
    decoded = decode_bytes(b"text,label\nso\0 good,1\n" + b"so bad,0\n" * 40)
    assert decoded.text.startswith("text,label\nso good,1\n") and decoded.nuls == 1
    lines = [f"Le café numéro {n} était très agréable" for n in range(30)]
    data = b"\n".join(line.encode("cp1252" if n % 3 == 0 else "utf-8") for n, line in enumerate(lines))
    decoded = decode_bytes(data)
    assert (decoded.text.split("\n"), decoded.encoding, decoded.second) == (lines, "utf-8+cp1252", 10)
    assert decode_bytes(data, "utf-8+cp1250").encoding == "utf-8+cp1250"
    assert decode_line(lines[0].encode("cp1252"), "utf-8+cp1252") == lines[0]


@pytest.mark.slow
def test_implausible_bytes_are_refused_with_candidates():
    noise = random.Random(4)
    lines = [bytes(noise.choices(range(160, 256), k=30)) for _ in range(30)]
    with pytest.raises(DataError, match=r"its encoding is unknown: .* name it with data.encoding, such as"):
        decode_bytes(b"\n".join(lines))


def test_wrong_encodings_are_refused_and_surrogates_joined_or_replaced():
    assert decode_bytes("\ufeffa".encode(), "utf-8").text == "a"
    assert decode_bytes(KOREAN.encode("cp949"), "euc-kr").text == KOREAN
    with pytest.raises(DataError, match=r"a\.csv: cannot be read as utf-8; it seems to be cp949"):
        decode_bytes(KOREAN.encode("cp949"), "utf-8", file="a.csv")
    with pytest.raises(DataError, match="not a text file"):
        decode_bytes(bytes(range(256)) * 20, file="junk.csv")
    assert replace_surrogates("\ud83d\ude00") == "😀" and replace_surrogates("a\ud83db") == "a\ufffdb"
    assert replace_surrogates("plain") == "plain"


def test_offered_encodings_can_read_the_file_and_leave_out_the_named_one():
    lines = "скучный фильм номер\nхороший день\n" * 30
    found, named = decode_bytes(lines.encode("cp1251")), decode_bytes(lines.encode("cp1251"), "koi8-r")
    assert named.named and not found.named and named.others[0] == found.encoding == "cp1251"
    assert "koi8-r" not in named.others
    assert decode_bytes("schön\n".encode(), "cp1252").others == ("utf-8",)
    assert not decode_bytes(b"plain", "cp1252").others
    for encoding, words in {
        "cp1251": "Ужасно долго ждали",
        "gbk": "服务太差了不会再来",
        "koi8-r": "Очень вкусно",
        "big5": "服務太差了不會再來",
    }.items():
        data = "".join(f"{words} {n},{n % 2}\n" for n in range(8)).encode(encoding)
        found = decode_bytes(data)
        assert found.others and all(decode_bytes(data, each).text for each in found.others)


@pytest.mark.parametrize("words", ["€€€ for nothing", "well €, or so", "only €€ here", "Only £5 for it"])
def test_a_single_euro_or_pound_sign_means_a_western_encoding(words):
    decoded = decode_bytes(f"text,label\n{words},1\n".encode("cp1252"))
    assert decoded.encoding == ("cp1252" if "€" in words else "latin-1") and decoded.others
    assert decoded.text == f"text,label\n{words},1\n"


@pytest.mark.parametrize("rows", [pytest.param(60, marks=pytest.mark.slow), 20])
@pytest.mark.parametrize("language", ENCODINGS)
def test_detected_legacy_encodings_are_reported_as_guesses(language, rows):
    for encoding in ENCODINGS[language]:
        data = reviews(language, rows).encode(encoding, "replace")
        decoded = decode_bytes(data)
        assert decoded.text == data.decode(encoding)
        (decision,), findings = describe_encoding(decoded)
        assert [(each.kind, each.level) for each in findings] == [("encoding-guessed", "warning")]
        assert decision.guessed and decision.chosen not in decision.alternatives and len(decision.alternatives) == 3
        assert decision.setting == "data.encoding" and decision.proof in decoded.text


@pytest.mark.parametrize("language", ["ko", "ja", "zh-Hans", "ru", "he", "pl"])
def test_a_damaged_byte_changes_no_guess(language):
    data = reviews(language, 60).encode(ENCODINGS[language][0], "replace")
    damaged = decode_bytes(data[: len(data) // 2] + b"\xff" + data[len(data) // 2 :])
    assert damaged.text[:400] == decode_bytes(data).text[:400]


@pytest.mark.parametrize("language", ENCODINGS)
def test_utf8_is_certain(language):
    decisions, findings = describe_encoding(decode_bytes(reviews(language, 60).encode()))
    assert (decisions[0].chosen, decisions[0].guessed, findings) == ("utf-8", False, [])


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
    assert find_garbled(GOOD[language].replace("|", "\n") if language in GOOD else reviews(language, 9)) is None


@pytest.mark.parametrize("codec", ["cp1252", "cp1251", "mac-roman"])
def test_misread_utf8_is_reported(codec):
    found = find_garbled("a café on the corner\n".encode().decode(codec) * 3)
    assert (found.places, found.encoding, found.read_as) == (3, "utf-8", codec) and found.meant.endswith("é")
    assert find_garbled("it\x92s good").meant == "’"
