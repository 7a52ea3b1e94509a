from collections import Counter

import pytest
from refused import check_raises

from core.behavioral_tests.suite import EDITS, LONGEST, POLARITIES
from core.behavioral_tests.suite_reader import (
    choose_words,
    count_combinations,
    draw_numbers,
    load_builtin_suite,
    parse_suite,
    read_suite,
)
from core.data import yaml_tree
from core.data.yaml_tree import LARGEST
from core.exceptions import DataError

ONE = "  - {name: one, capability: c, kind: minimum, expected: positive, texts: [x]}\n"
SLOTS = f"{{a: [{'x' * 600}, {'y' * 600}], b: [{', '.join(f'{n}' + 'z' * 600 for n in range(200))}]}}"
HEAD = "name: mine\ntests:\n  - name: one\n    capability: c\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a suite has a name and tests"),
        (b"- a\n- b\n", "a suite has a name and tests"),
        (b"tests: [{}]", "the field name is missing"),
        (b"name: a\ntests: []", "tests is []: it must not be empty"),
        (b"name: a\nname: b\ntests: []", "line 2: name stands here twice"),
        (b"name: a\n\ttests: []", "line 2:"),
        (b"name: [a\n", "line 2:"),
        (b"name: &x a\ntests: [*x, *x]", "line 2: aliases (*x) are not read"),
        (b"name: !!python/object/apply:os.getcwd []\ntests: []", "the tag tag:yaml.org,2002:python/object"),
        (b"name: \xff\n", "it is not UTF-8"),
        (f"name: a\ntests:\n{ONE}{ONE}".encode(), "two tests are called 'one'"),
        (b"name: a\ntests:\n  - {capability: c}\n", "test 1: the field name is missing"),
        (b"name: a\nother: b\ntests:\n  - {}\n", "there is no field other; there are name, tests, about, slots"),
        (b"? [a, b]\n: c", "line 1: a name is a text, and this is a group or a list"),
        (b"{[a]: b}", "line 1: a name is a text, and this is a group or a list"),
        (b"name: !!bool maybe\ntests: []", "line 1: the tag tag:yaml.org,2002:bool is not read; take it out"),
        (b"name: !!timestamp foo\ntests: []", "the tag tag:yaml.org,2002:timestamp is not read"),
        (b"name: !!int ''\ntests: []", "the tag tag:yaml.org,2002:int is not read"),
        (b"name: !!float ''\ntests: []", "the tag tag:yaml.org,2002:float is not read"),
        (b"name: !!set [1]\ntests: []", "the tag tag:yaml.org,2002:set is not read"),
        (b"name: 0x" + b"f" * 10**6 + b"\ntests: []", "name is '0xfff"),
        (b"name: 1" + b":59" * 10**5 + b"\ntests: []", "name is '1:59:59"),
        (b"name: " + b"9" * 10**6 + b"\ntests: []", "name is '9999"),
        (b"name: a\ntests: []\n---\nname: b", "line 3: a second document begins here; a file holds one"),
        (b"name: " + b"[" * 2000 + b"]" * 2000, "nested more than 64 deep"),
    ],
)
def test_files_that_are_no_suite_are_refused_with_the_place(content, said):
    with pytest.raises(DataError) as told:
        parse_suite(content, "my.yaml")
    assert str(told.value).startswith("my.yaml: ") and said in str(told.value)


def test_suites_with_too_many_cases_are_refused_before_prediction(monkeypatch):
    monkeypatch.setattr("core.behavioral_tests.suite.MOST_CASES", 1)
    two = f"{ONE}\n{ONE.replace('one', 'two')}"
    with pytest.raises(DataError, match="it comes to more than 1 cases; take some tests out, or lower their `most`"):
        parse_suite(f"name: a\ntests:\n{two}".encode(), "my.yaml")


@pytest.mark.slow
def test_suites_of_millions_of_sentences_are_refused_early(monkeypatch):
    """At most `most` × texts are built for each test, and no test after the one that exceeds the limit."""
    made = []
    monkeypatch.setattr(
        "core.behavioral_tests.suite_reader.fill_template", lambda text, chosen: made.append(1) or f"{text} {chosen}"
    )
    words = f"[{', '.join(map(str, [f'w{n}' for n in range(200)]))}]"
    one = "{name: t%d, capability: c, kind: minimum, expected: positive, most: 1000, texts: ['{a} {b} {c}', '{c} {b}']}"
    many = "\n".join(f"  - {one % number}" for number in range(500))
    with pytest.raises(DataError, match=r"it comes to more than 20\s000 cases"):
        parse_suite(f"name: a\nslots: {{a: {words}, b: {words}, c: {words}}}\ntests:\n{many}".encode(), "my.yaml")
    assert len(made) < 23_000
    texts = ", ".join(f"'{n} {{a}}'" for n in range(300))
    alone = f"  - {{name: t, capability: c, kind: minimum, expected: positive, most: 1000, texts: [{texts}]}}"
    with pytest.raises(DataError, match=r"test 't': most is 1000: lower it: the test comes to more than 20\s000 cases"):
        parse_suite(f"name: a\nslots: {{a: {words}}}\ntests:\n{alone}".encode(), "my.yaml")


def test_yaml_words_follow_the_core_schema():
    """`yes`, `12:30` and dates stay texts, and quoted words too."""
    written = "{a: [yes, no, on, 2026-11-26, 12:30, 0x1f, 1_000, '7', \"null\", !!str 5, << , =]}"
    assert parse_suite(f"name: 'true'\nslots: {written}\ntests:\n{ONE}".encode(), "my.yaml").name == "true"
    plain = yaml_tree.parse_yaml(f"a: {written}\nb: [1, -2, .5, 1e3, true, NULL, ~, '']".encode(), "my.yaml")
    words = ["yes", "no", "on", "2026-11-26", "12:30", "0x1f", "1_000", "7", "null", "5", "<<", "="]
    assert plain == {"a": {"a": words}, "b": [1, -2, 0.5, 1000.0, True, None, None, ""]}


@pytest.mark.parametrize(
    ("slots", "texts", "said"),
    [
        (SLOTS, f"'{'{a}' * 9}'", rf"test 't': with its slots filled '{'{a}' * 9}…' has more than 5\s000 characters"),
        (SLOTS, "'{b}{a}'", r"test 't': most is 1000: lower it: the suite comes to more than 90\s000 characters"),
        ("{a: [x, xx], b: [x, xx], c: [x, xx], d: [x, xx]}", "'{a}{b}{c}{d}'", r"comes to more than 12 fillings"),
    ],
)
def test_suites_that_exceed_the_memory_are_refused_early(monkeypatch, slots, texts, said):
    monkeypatch.setattr("core.behavioral_tests.suite.MOST_CHARACTERS", 90_000)
    monkeypatch.setattr("core.behavioral_tests.suite_reader.MOST_FILLINGS", 1_000 if slots is SLOTS else 12)
    one = f"{{name: t, capability: c, kind: minimum, expected: positive, most: 1000, texts: [{texts}]}}"
    check_raises(DataError, said, parse_suite, f"name: a\nslots: {slots}\ntests: [{one}]".encode(), "my.yaml")
    assert len("{a}" * 9) < LONGEST


def test_user_suites_are_read_in_the_sandbox(tmp_path, monkeypatch):
    monkeypatch.setattr("core.data.yaml_tree.yaml.parse", lambda *_, **__: pytest.fail("read in this process"))
    path = tmp_path / "my.yml"
    path.write_text(f"name: a\ntests:\n{ONE}")
    assert read_suite(str(path)).texts == ("x",)
    path.write_text("? [a, b]\n: c")
    check_raises(DataError, r"^my\.yml: line 1: a name is a text", read_suite, str(path))
    path = tmp_path / "my.yaml"
    path.write_bytes(b"#" * (LARGEST + 1))
    check_raises(DataError, r"my.yaml: it has 2 MB, and at most 2 MB are read", read_suite, str(path))
    check_raises(DataError, "no such file", read_suite, str(tmp_path / "none.yaml"))


def table(tmp_path, rows, head="text,test,capability,expected,group"):
    path = tmp_path / "my.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return read_suite(str(path))


def test_tables_are_read_as_suites_with_contrast_sets_and_invariance_tests(tmp_path):
    rows = ["It is fine,not,negation,Positive,1", "It is not fine,not,negation,negative|neutral,1"]
    suite = table(tmp_path, [*rows, "Ok,plain,words,positive,"])
    assert [(test.name, test.capability) for test in suite.tests] == [("not", "negation"), ("plain", "words")]
    assert {test.kind for test in suite.tests} == {"minimum"}
    first, second = suite.tests[0].cases
    assert first.group == second.group == "not 1" and second.expected == ("negative", "neutral")
    assert suite.tests[1].cases[0].group == ""
    groups = {"It is fine": "a", "IT IS FINE": "a", "it is fine": "a", "b1": "b", "b2": "b"}
    rows = [f"{text},case,robust,{group}" for text, group in groups.items()]
    [test] = table(tmp_path, rows, "text,test,capability,group").tests
    assert test.kind == "invariance"
    assert [case.texts for case in test.cases] == [("It is fine", "IT IS FINE", "it is fine"), ("b1", "b2")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["x,,c,positive,", "y,t,c,positive,"], "my.csv, row 1, field 'test': the cell is empty"),
        (["x,t,c,happy,", "y,t,c,positive,"], "my.csv, row 1, field 'expected': 'happy' is no answer"),
        (["x,t,c,positive,", "y,t,d,positive,"], "row 2, field 'capability': test 't' is of 'c' in an earlier row"),
        (["x,t,c,positive,", "y,t,c,,g"], "row 2, field 'expected': test 't' expects an answer in other rows"),
        (["x,t,c,,g", "y,t,c,,h"], "row 1, field 'group': group 'g' of test 't' needs two different texts"),
        (["x,t,c,,g", "y,t,c,,"], "row 2: test 't' has neither expected nor group here"),
    ],
)
def test_rows_without_a_usable_answer_are_named(tmp_path, rows, said):
    with pytest.raises(DataError) as told:
        table(tmp_path, rows)
    assert said in str(told.value)


def test_other_tables_are_refused_with_the_columns_of_a_suite(tmp_path):
    names = r"below the column names text, test, capability and expected or group; found"
    check_raises(DataError, f"{names} text, label", table, tmp_path, ["x,1", "y,0"], "text,label")
    check_raises(DataError, f"{names} no row that names its columns", table, tmp_path, [])


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


def test_variations_have_the_first_word_and_direction_tests_pairs_a_polarity_and_a_tolerance():
    made = parse_test('kind: invariance\nvary: a\ntexts: ["{a} and {b}."]\nslots: {a: [Ann, Bo, Cy], b: [I]}')
    assert texts(made) == [("Ann and I.", "Bo and I."), ("Ann and I.", "Cy and I.")] and made.words == "must not change"
    made = parse_test("kind: invariance\nedits: [lower case, upper case]\ntexts: [all lower.]")
    assert texts(made) == [("all lower.", "ALL LOWER.")]
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


@pytest.fixture(scope="module")
def suite():
    return load_builtin_suite()


def test_the_built_in_suite_has_enough_tests_and_sentences_of_one_line_without_slots(suite):
    assert len(suite.tests) >= 40 and len(suite.capabilities) >= 10
    assert {test.kind for test in suite.tests} == {"minimum", "invariance", "direction"}
    assert {test.must for test in suite.tests if test.kind == "direction"} == {"not weaken", "rise"}
    sizes = {test.name: len({text for case in test.cases for text in case.texts}) for test in suite.tests}
    assert {name: size for name, size in sizes.items() if not 10 <= size <= 90} == {}
    templates = {
        name: {case.template for test in suite.select_tests(name) for case in test.cases} for name in suite.capabilities
    }
    assert {name: len(found) for name, found in templates.items() if len(found) < 15} == {}
    assert [text for text in suite.texts if set("{}\n\t") & set(text) or text != text.strip() or "  " in text] == []
    wrong = [" a a", " a e", " a i", " an b", " an d", " an g", " an l", " an m", " an s", " an t", " an w"]
    assert [text for text in suite.texts if any(each in text.lower() for each in wrong)] == []


def test_the_suite_has_no_repeated_cases_and_balanced_polarities(suite):
    asked = Counter(case.texts for test in suite.tests if test.kind == "minimum" for case in test.cases)
    assert [texts for texts, times in asked.items() if times > 1] == []
    pairs = Counter(case.texts for test in suite.tests if test.kind != "minimum" for case in test.cases)
    assert [texts for texts, times in pairs.items() if times > 1 or len(set(texts)) < len(texts)] == []
    for test in suite.tests:
        for case in test.cases:
            assert set(case.expected) < set(POLARITIES) and bool(case.expected) == (test.kind != "invariance")
    sides = Counter(case.expected for test in suite.tests if test.kind == "minimum" for case in test.cases)
    positive = sum(times for expected, times in sides.items() if "positive" in expected)
    negative = sum(times for expected, times in sides.items() if "negative" in expected)
    assert 0.45 < positive / (positive + negative) < 0.55
