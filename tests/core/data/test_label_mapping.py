import shlex

import pytest

from core.data.label_mapping import UnmatchedLabels, guess_class, match_labels, suggest_classes
from core.exceptions import InputError

CLASSES = ("negative", "positive")


def command(rename):
    return " ".join(shlex.quote(f"--map={old}={new}") for old, new in rename.items())


def matched(labels, rename=None, classes=CLASSES):
    rows = [each if isinstance(each, tuple) else (each,) for each in labels]
    return match_labels(rows, classes, rename or {}, whose="run 'first'", command=command)


def test_labels_are_classes_by_name_also_in_other_case_unless_two_differ_in_it():
    found = matched(["positive", "NEGATIVE", " Positive "])
    assert found.numbers == [(1,), (0,), (1,)] and found.kept.all() and not found.dropped
    assert found.renamed == {"NEGATIVE": "negative", " Positive ": "positive"}
    assert matched(["Us", "us"], classes=("US", "us", "Us")).numbers == [(2,), (1,)]
    with pytest.raises(UnmatchedLabels, match="'uS'"):
        matched(["uS"], classes=("US", "us"))


def test_labels_are_renamed_merged_and_left_out_and_a_row_goes_with_the_last_of_several():
    found = matched(["1", "2", "3", "4", "1"], {"1": "negative", "2": "Negative", "3": "", "4": "positive"})
    assert found.numbers == [(0,), (0,), (1,), (0,)]
    assert found.kept.tolist() == [True, True, False, True, True]
    assert found.dropped == {"3": 1} and found.renamed == {"1": "negative", "2": "negative", "4": "positive"}
    found = matched([("negative", "noise"), ("noise",), (), ("positive", "negative")], {"noise": ""})
    assert found.numbers == [(0,), (), (0, 1)] and found.kept.tolist() == [True, False, True, True]
    assert found.dropped == {"noise": 2}


def test_all_unknown_labels_are_told_at_once_with_a_command_and_minus_one_with_both_answers():
    with pytest.raises(UnmatchedLabels) as raised:
        matched(["pos", "pos", "neutral", "positivo", "positive"], {"good": "positive"})
    assert raised.value.rows == {"neutral": 1, "pos": 2, "positivo": 1}
    message, labels = str(raised.value), "'neutral' (1 row), 'pos' (2 rows), 'positivo' (1 row)"
    assert f"{labels} are no classes of run 'first' (negative, positive)" in message
    assert message.endswith("--map=good=positive --map=neutral= --map=pos=positive --map=positivo=positive")
    with pytest.raises(UnmatchedLabels, match="-1 often marks rows without a label") as raised:
        matched(["-1", "positive"])
    assert "--map=-1= or say" in str(raised.value) and str(raised.value).endswith("--map=-1=negative")
    assert matched(["-1", "1"], classes=("-1", "1")).numbers == [(0,), (1,)], "a class of that name is one"


@pytest.mark.parametrize(
    ("word", "name"), {"neg": "negative", "Positives": "positive", "positivo": "positive", "4": "", "": ""}.items()
)
def test_what_a_label_is_likely_short_for(word, name):
    assert guess_class(word, CLASSES) == name


def test_what_nobody_can_guess_is_left_to_the_person_and_cannot_become_what_is_no_class():
    with pytest.raises(UnmatchedLabels) as raised:
        matched(["1", "2", "3", "4", "5"])
    assert str(raised.value).endswith("--map=1=CLASS --map=2=CLASS --map=3=CLASS --map=4=CLASS --map=5=CLASS")
    with pytest.raises(InputError, match="the classes of run 'first' are negative, positive"):
        matched(["1"], {"1": "CLASS"})
    with pytest.raises(InputError, match="--map 0=bad: the classes of run 'first' are negative, positive"):
        matched(["0"], {"0": "bad"})


@pytest.mark.parametrize(
    ("codes", "left", "meant"),
    [
        (["-1", "1"], "--map=-1= --map=1=positive", "--map=-1=negative --map=1=positive"),
        (["-1", "0", "1"], "--map=-1= --map=0=negative --map=1=positive", "--map=-1=negative"),
    ],
)
def test_minus_one_counts_as_a_code_where_the_others_are_too_few(codes, left, meant):
    with pytest.raises(UnmatchedLabels) as raised:
        matched(codes)
    assert f"leave them out: {left} or say what it means: {meant}" in str(raised.value)


def test_suggestions_take_codes_in_their_order_and_guess_nothing_of_other_numbers():
    assert suggest_classes(["10", "2", "meh"], CLASSES) == {"2": "negative", "10": "positive", "meh": ""}
    assert suggest_classes(["1", "2", "3"], CLASSES) == {"1": None, "2": None, "3": None}
    assert suggest_classes(["-1", "0", "1"], ("bad", "so", "good")) == {"-1": "bad", "0": "so", "1": "good"}
    assert suggest_classes(["anger"], CLASSES) == {"anger": None}, "a guess at random would be taken for one"
    assert suggest_classes(["meh"], CLASSES, others=True) == {"meh": ""}
    assert suggest_classes(["pos", "1"], CLASSES) == {"pos": "positive", "1": ""}
