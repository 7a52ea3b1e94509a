"""Cases of a written test: how many, which, and what is refused."""

import pytest

from core.behavioral_tests.suite import EDITS
from core.behavioral_tests.suite_reader import choose_words, count_combinations, draw_numbers, parse_suite
from core.exceptions import DataError

HEAD = "name: mine\ntests:\n  - name: one\n    capability: c\n"


def parse_test(body: str, *, shared: str = ""):
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return parse_suite(f"{shared}{HEAD}{lines}".encode(), "my.yaml").tests[0]


def texts(test):
    return [case.texts for case in test.cases]


def test_every_filling_is_used_once_and_contrast_fillings_are_groups():
    made = parse_test(
        'kind: minimum\nexpected: positive\nmost: 9\ntexts: ["A {a} {b}."]\nslots: {a: [x, y], b: [u, v, w]}'
    )
    assert texts(made) == [(f"A {a} {b}.",) for a in "xy" for b in "uvw"]
    assert {case.template for case in made.cases} == {"one 0"}
    assert {case.expected for case in made.cases} == {("positive",)}
    body = 'kind: minimum\nexpected: positive\ntexts: ["{a} {b}"]\nslots: {b: [own]}'
    assert texts(parse_test(body, shared="slots: {a: [shared], b: [hidden]}\n")) == [("shared own",)]
    made = parse_test(
        'kind: minimum\ncontrast: [{positive: "I like {a}.", negative: "I hate {a}."}]\nslots: {a: [tea, rain]}'
    )
    assert [(case.texts[0], case.expected, case.group) for case in made.cases] == [
        ("I like tea.", ("positive",), "one 0 tea"),
        ("I hate tea.", ("negative",), "one 0 tea"),
        ("I like rain.", ("positive",), "one 0 rain"),
        ("I hate rain.", ("negative",), "one 0 rain"),
    ]


def test_samples_of_fillings_are_seeded_and_cheap():
    body = 'kind: minimum\nexpected: negative\nmost: 3\nseed: {}\ntexts: ["A {{a}}.", "B {{a}}."]\nslots: {{a: [{}]}}'
    words = ", ".join(f"w{number}" for number in range(20))
    one, again, other = (parse_test(body.format(seed, words)) for seed in (1, 1, 2))
    assert len(one.cases) == 6 and one == again and texts(one) != texts(other)
    assert [text[0] for (text,) in texts(one)] == list("AAABBB")
    words = {f"s{number}": [str(each) for each in range(1000)] for number in range(30)}
    size = count_combinations(tuple(words), words)
    drawn = draw_numbers(size, 5, "0")
    assert size == 1000**30 and len(set(drawn)) == 5 and drawn == sorted(drawn)
    assert choose_words(("a", "b"), {"a": "xy", "b": "uvw"}, 4) == {"b": "v", "a": "y"}


def test_variations_are_compared_with_the_first_word():
    made = parse_test('kind: invariance\nvary: a\ntexts: ["{a} and {b}."]\nslots: {a: [Ann, Bo, Cy], b: [I]}')
    assert texts(made) == [("Ann and I.", "Bo and I."), ("Ann and I.", "Cy and I.")]
    assert made.words == "must not change"
    made = parse_test("kind: invariance\nedits: [lower case, upper case]\ntexts: [all lower.]")
    assert texts(made) == [("all lower.", "ALL LOWER.")]


def test_direction_tests_have_pairs_a_polarity_and_a_tolerance():
    made = parse_test(
        'kind: direction\nexpected: positive\nmust: rise\ntolerance: 0.2\npairs: [["Good.", "Very good."]]'
    )
    assert (texts(made), made.tolerance, made.words) == ([("Good.", "Very good.")], 0.2, "must rise")
    made = parse_test("kind: minimum\nexpected: [positive, neutral]\ntexts: [Not bad.]")
    assert made.cases[0].expected == ("positive", "neutral") and made.words == "must be"


@pytest.mark.parametrize(
    ("edit", "text", "edited"),
    [
        ("lower case", "It Is SO.", "it is so."),
        ("upper case", "It is so.", "IT IS SO."),
        ("no punctuation", "Well, it isn't so-so!", "Well it isn't so-so"),
        ("exclamation", "It is so.", "It is so!"),
        ("typo", "A b c.", "A b c."),
    ],
)
def test_edits_change_texts_as_named(edit, text, edited):
    assert EDITS[edit](text) == edited


@pytest.mark.parametrize("edit", ["typo", "doubled letter"])
def test_typos_change_the_inside_of_one_word_deterministically(edit):
    text = "The concert was wonderful."
    slipped = EDITS[edit](text)
    assert slipped == EDITS[edit](text) != text
    [(word, changed)] = [(a, b) for a, b in zip(text.split(), slipped.split(), strict=True) if a != b]
    assert (word[0], word[-2:]) == (changed[0], changed[-2:])
    assert sorted(word) == sorted(changed) if edit == "typo" else len(changed) == len(word) + 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("kind: odd\nexpected: positive\ntexts: [x]", "kind is 'odd': one of minimum, invariance, direction"),
        ("kind: minimum\ntexts: [x]", "the field expected is missing"),
        ("kind: minimum\nexpected: positive", "kind minimum takes texts or contrast, one of them; given is nothing"),
        ("kind: minimum\nexpected: positive\npairs: [[a, b]]", "given is pairs"),
        ("kind: minimum\nexpected: positive\nmost: 0\ntexts: [x]", "most is 0: at least 1"),
        ('kind: minimum\nexpected: positive\ntexts: ["a {b}"]', "{b} stands in a text, so give it words"),
        ("kind: minimum\nexpected: positive\ntexts: [x]\nslots: {b: [c]}", "slots is 'b': a slot that a text uses"),
        ('kind: minimum\nexpected: positive\ntexts: ["{b}"]\nslots: {b: []}', "slots.b is []"),
        ('kind: minimum\nexpected: positive\ntexts: ["{b}"]\nslots: {b: [c, c]}', "is ['c', 'c']: every word once"),
        ("kind: minimum\nexpected: positive\ncontrast: [{positive: a, negative: b}]", "each text of a contrast says"),
        ("kind: minimum\ncontrast: [{positive: a}]", "two texts or more that expect different answers"),
        ("kind: invariance\ntexts: [x]", "either vary (a slot) or edits"),
        ("kind: invariance\nexpected: positive\npairs: [[a, b]]", "kind invariance expects no answer"),
        ("kind: invariance\nedits: [shout]\ntexts: [x]", "edits[0] is 'shout'"),
        ("kind: invariance\nedits: [upper case]\ntexts: [X]", "an edit that changes at least one of the texts"),
        ('kind: invariance\nvary: a\ntexts: ["{a}", b]\nslots: {a: [c, d]}', "a slot of every text"),
        ("kind: direction\nexpected: neutral\npairs: [[a, b]]", "negative or positive, the side"),
        ("kind: direction\nexpected: positive\npairs: [[a, b, c]]", "pairs[0]"),
        ("kind: direction\nexpected: positive\ntolerance: 2\npairs: [[a, b]]", "tolerance is 2: at most 1"),
    ],
)
def test_suite_errors_name_file_test_and_field(body, said):
    with pytest.raises(DataError) as told:
        parse_test(body)
    assert str(told.value).startswith("my.yaml: test 'one': ") and said in str(told.value)
