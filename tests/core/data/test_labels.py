import shlex

import pytest
from refused import check_raises

from core.data.labels import UnmatchedLabels, guess_class, match_labels, suggest_classes
from core.exceptions import InputError

CLASSES = ("negative", "positive")


def command(rename):
    return " ".join(shlex.quote(f"--map={old}={new}") for old, new in rename.items())


def match_words(labels, rename=None, classes=CLASSES):
    rows = [each if isinstance(each, tuple) else (each,) for each in labels]
    return match_labels(rows, classes, rename or {}, whose="run 'first'", command=command)


def test_labels_match_classes_ignoring_case_and_are_renamed_merged_and_dropped():
    found = match_words(["positive", "NEGATIVE", " Positive "])
    assert found.numbers == [(1,), (0,), (1,)] and found.kept.all() and not found.dropped
    assert found.renamed == {"NEGATIVE": "negative", " Positive ": "positive"}
    assert match_words(["Us", "us"], classes=("US", "us", "Us")).numbers == [(2,), (1,)]
    check_raises(UnmatchedLabels, "'uS'", match_words, ["uS"], classes=("US", "us"))
    found = match_words(["1", "2", "3", "4", "1"], {"1": "negative", "2": "Negative", "3": "", "4": "positive"})
    assert found.numbers == [(0,), (0,), (1,), (0,)] and found.kept.tolist() == [True, True, False, True, True]
    assert found.dropped == {"3": 1} and found.renamed == {"1": "negative", "2": "negative", "4": "positive"}
    found = match_words([("negative", "noise"), ("noise",), (), ("positive", "negative")], {"noise": ""})
    assert found.numbers == [(0,), (), (0, 1)] and found.kept.tolist() == [True, False, True, True]
    assert found.dropped == {"noise": 2}


@pytest.mark.parametrize(
    ("word", "name"), {"neg": "negative", "Positives": "positive", "positivo": "positive", "4": "", "": ""}.items()
)
def test_abbreviated_labels_match_classes(word, name):
    assert guess_class(word, CLASSES) == name


@pytest.mark.parametrize(
    ("codes", "left", "meant"),
    [
        (["-1", "1"], "--map=-1= --map=1=positive", "--map=-1=negative --map=1=positive"),
        (["-1", "0", "1"], "--map=-1= --map=0=negative --map=1=positive", "--map=-1=negative"),
    ],
)
def test_minus_one_is_a_code_if_there_are_too_few_others(codes, left, meant):
    with pytest.raises(UnmatchedLabels) as raised:
        match_words(codes)
    assert f"leave them out: {left} or say what it means: {meant}" in str(raised.value)


def test_unknown_labels_are_reported_with_suggestions_or_left_to_the_user():
    with pytest.raises(UnmatchedLabels) as raised:
        match_words(["pos", "pos", "neutral", "positivo", "positive"], {"good": "positive"})
    assert raised.value.rows == {"neutral": 1, "pos": 2, "positivo": 1}
    message, labels = str(raised.value), "'neutral' (1 row), 'pos' (2 rows), 'positivo' (1 row)"
    assert f"{labels} are no classes of run 'first' (negative, positive)" in message
    assert message.endswith("--map=good=positive --map=neutral= --map=pos=positive --map=positivo=positive")
    with pytest.raises(UnmatchedLabels, match="-1 often marks rows without a label") as raised:
        match_words(["-1", "positive"])
    assert "--map=-1= or say" in str(raised.value) and str(raised.value).endswith("--map=-1=negative")
    assert match_words(["-1", "1"], classes=("-1", "1")).numbers == [(0,), (1,)], "a class of that name is one"
    with pytest.raises(UnmatchedLabels) as raised:
        match_words(["1", "2", "3", "4", "5"])
    assert str(raised.value).endswith("--map=1=CLASS --map=2=CLASS --map=3=CLASS --map=4=CLASS --map=5=CLASS")
    check_raises(InputError, "the classes of run 'first' are negative, positive", match_words, ["1"], {"1": "CLASS"})
    with pytest.raises(InputError, match="--map 0=bad: the classes of run 'first' are negative, positive"):
        match_words(["0"], {"0": "bad"})
    assert suggest_classes(["10", "2", "meh"], CLASSES) == {"2": "negative", "10": "positive", "meh": ""}
    assert suggest_classes(["1", "2", "3"], CLASSES) == {"1": None, "2": None, "3": None}
    assert suggest_classes(["-1", "0", "1"], ("bad", "so", "good")) == {"-1": "bad", "0": "so", "1": "good"}
    assert suggest_classes(["anger"], CLASSES) == {"anger": None}, "a guess at random would be taken for one"
    assert suggest_classes(["meh"], CLASSES, others=True) == {"meh": ""}
    assert suggest_classes(["pos", "1"], CLASSES) == {"pos": "positive", "1": ""}
