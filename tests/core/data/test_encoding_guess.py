import pytest
from legacy_texts import ENCODINGS, reviews

from core.data.decoding import decode_bytes
from core.data.reading_decisions import describe_encoding


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


@pytest.mark.parametrize("language", ENCODINGS)
def test_utf8_is_certain(language):
    decisions, findings = describe_encoding(decode_bytes(reviews(language, 60).encode()))
    assert (decisions[0].chosen, decisions[0].guessed, findings) == ("utf-8", False, [])


def test_a_single_pound_sign_means_a_western_encoding():
    decoded = decode_bytes("text,label\nOnly £5 for it,1\n".encode("cp1252"))
    assert (decoded.text, decoded.encoding) == ("text,label\nOnly £5 for it,1\n", "latin-1")
