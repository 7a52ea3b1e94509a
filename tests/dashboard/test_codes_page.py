"""Codes on Errors: data and messages of the reader, filter, samples, codebook."""

import re
from functools import partial

import pages
import pytest
from answering import code_rows
from pages import drawn, named, press, words

from core.error_analysis.annotation_files import format_annotations, format_codebook
from core.error_analysis.codebook import Codes, draw_sample, get_data_name
from core.error_analysis.predictions_table import read_table
from core.exceptions import NotAvailable, StorageError
from core.runs.predictions import list_evaluated_splits
from core.runs.store import RunStore
from dashboard import state
from dashboard.figures.row_selection import apply_query, make_facts
from dashboard.screens import errors_codes, errors_reader


@pytest.fixture
def page(app, runs):
    return partial(pages.opened, app, "errors", run="finished")


@pytest.fixture
def codes(runs):
    found = Codes(runs, get_data_name(RunStore(runs).read("finished")))
    found.add_code("irony", "says the opposite")
    found.add_code("label")
    return found


@pytest.fixture
def keys(runs):
    return read_table(RunStore(runs), "finished").frame["key"].tolist()


@pytest.mark.slow
def test_reader_gets_the_codebook_and_own_codes_separate_from_others(app, page, codes, keys):
    code_rows(codes, [keys[0]], ["irony"], author="ann")
    code_rows(codes, [keys[0]], ["label"], author="ben")
    code_rows(codes, [keys[1]], ["label"], author="ben")
    codes.write_note(keys[0], "<b>hm</b>", author="ann")
    app.session_state[state.AUTHOR] = "ann"
    (reader,) = drawn(page(select="all"), "reader")
    coding = reader["coding"]
    assert [(each["name"], each["key"]) for each in coding["book"]] == [("irony", 1), ("label", 2)]
    assert coding["own"][keys[0]] == {"codes": ["irony"], "note": "<b>hm</b>"}
    assert coding["others"][keys[0]] == [{"author": "ben", "codes": ["label"], "note": ""}]
    assert keys[1] not in coding["others"] and coding["author"] == "ann"
    assert "says the opposite" in coding["book"][0]["about"]


@pytest.mark.slow
def test_filter_has_a_menu_for_codes(page, codes, keys):
    code_rows(codes, keys[:3], ["irony"])
    app = page(select="all;code=irony")
    said, reader = drawn(app, "filter")[0], drawn(app, "reader")[0]
    word = next(each for each in said["words"] if each["name"] == "code")
    assert word["shown"] == "coded irony" and {row["key"] for row in reader["rows"]} == set(keys[:3])
    assert {each["label"]: each["n"] for each in word["options"]}["not coded"] == len(keys) - 3


@pytest.mark.slow
def test_shares_are_of_the_whole_selection_and_the_chosen_code_is_marked(page, codes, keys):
    code_rows(codes, keys, ["label"])
    code_rows(codes, keys[:4], ["irony"])
    (table,) = [each for each in drawn(page(select="all;code=irony"), "marks") if each["picked"] == "irony"]
    drawing, share = str(table["table"]), 4 / len(keys)
    assert f"{share:.2f}" in drawing and f"{1 - share:.2f}" in drawing and "1.00" not in drawing


@pytest.mark.slow
def test_random_sample_becomes_the_selection_of_its_split(page, codes, runs):
    split = next(each for each in list_evaluated_splits(runs / "finished") if each != "test")
    app = page(select=f"split={split};all")
    n = min(75, len(drawn(app, "reader")[0]["rows"]))
    press(app, "codes-draw")
    (reader,) = drawn(app, "reader")
    assert len(reader["rows"]) == n > 0 and reader["orders"][0] == ["", "in the chosen order"]
    assert f"{n} of {n} coded" not in words(app) and "random sample: " in words(app)
    assert str(app.query_params[state.SELECT]).startswith(f"split={split};ids:")


@pytest.fixture
def send_report(monkeypatch, codes, runs):
    """send_report(report): the page after a report of the reader."""
    held = {}
    monkeypatch.setattr(state, "get_value", lambda key, default: held.get(key, default))
    monkeypatch.setattr(state, "set_value", held.__setitem__)
    monkeypatch.setattr(state, "set_param", held.__setitem__)
    monkeypatch.setattr("dashboard.data.data.open_codebook", lambda record: codes)
    store = RunStore(runs)
    shown = apply_query(make_facts(store, store.read("finished"), "test"), "all", store)
    held[state.SESSION] = "now"

    def hear(author="ann", undo=0, session="now", **parts):
        reports = {name: {**each, "session": session} for name, each in parts.items()}
        held[state.AUTHOR], held["reader"] = author, {**reports, "undo": {"count": undo, "session": session}}
        errors_codes.store_reports("reader", shown)
        return held

    hear.held, hear.shown = held, shown
    return hear


def make_report(count, rows):
    """A report: for each row its codes (set or removed, number of the change) and its note."""
    return {"count": count, "rows": rows}


def row(note=None, **codes):
    return {"codes": codes, **({"note": note} if note else {})}


def test_report_is_stored_once_and_a_lost_one_comes_with_the_next(send_report, codes, keys):
    send_report(coded=make_report(2, {keys[0]: row(irony=[True, 1]), keys[1]: row(note=["so", 2, False])}))
    assert codes.read_annotations().given == {keys[0]: {"ann": ("irony",)}}
    assert codes.read_annotations().notes == {keys[1]: {"ann": "so"}}
    code_rows(codes, [keys[0]], [], author="ann")
    held = send_report(coded=make_report(2, {keys[0]: row(irony=[True, 1])}))
    assert codes.read_annotations().given == {} and held[state.HANDLED] == 2, "a report that is repeated is an old one"


def test_changes_from_another_browser_of_the_same_author_are_kept(send_report, codes, keys):
    send_report(coded=make_report(1, {keys[0]: row(irony=[True, 1])}))
    codes.give_codes([keys[0]], ["label"], author="ann")
    codes.write_note(keys[0], "theirs", author="ann")
    send_report(coded=make_report(2, {keys[0]: row(irony=[False, 2])}))
    assert codes.read_annotations().given == {keys[0]: {"ann": ("label",)}}
    assert codes.read_annotations().notes == {keys[0]: {"ann": "theirs"}}
    send_report(coded=make_report(3, {keys[0]: row(note=["mine", 3, False])}))
    assert codes.read_annotations().given == {keys[0]: {"ann": ("label",)}}
    assert codes.read_annotations().notes == {keys[0]: {"ann": "mine"}}


def test_undo_follows_the_changes_in_its_report_and_shows_the_row(send_report, codes, keys):
    send_report(coded=make_report(1, {keys[3]: row(label=[True, 1])}))
    held = send_report(coded=make_report(2, {keys[3]: row(label=[False, 2])}), undo=3)
    assert codes.read_annotations().given == {keys[3]: {"ann": ("label",)}} and held[state.AT] == keys[3]
    text = send_report.shown.table.frame["text"].iloc[3]
    assert held[state.SAID_OF_CODES].startswith(f"Undone: label taken off: “{text[:40]}")
    send_report(undo=4)
    assert "nothing to undo" in send_report(undo=5)[state.NOT_WRITTEN]


def test_move_reported_before_an_undo_keeps_the_undone_row(send_report, codes, keys, monkeypatch):
    monkeypatch.setattr(errors_reader, "_rerun_parts", lambda: None)
    code_rows(codes, [keys[3]], ["label"], author="ann")
    held = send_report(undo=4)
    for known, at in ((0, keys[3]), (4, keys[2])):  # number of the last undo known to the reader
        held["reader"] = {"rest": {"at": keys[2], "want": [], "undone": known}}
        errors_reader._carry_place("reader")
        assert held[state.AT] == at


def test_changes_confirmed_by_an_earlier_session_are_not_repeated(send_report, codes, keys):
    code_rows(codes, [keys[0]], ["irony"], author="ann")
    held = send_report(coded=make_report(2, {keys[1]: row(irony=[True, 2])}), undo=3, session="before")
    assert codes.read_annotations().given == {keys[0]: {"ann": ("irony",)}} and not held.get(state.HANDLED)


def test_undo_before_the_next_code_is_applied_first(send_report, codes, keys):
    send_report(coded=make_report(1, {keys[0]: row(irony=[True, 1])}))
    held = send_report(coded=make_report(3, {keys[1]: row(label=[True, 3])}), undo=2)
    assert codes.read_annotations().given == {keys[1]: {"ann": ("label",)}} and held[state.HANDLED] == 3


def test_unknown_rows_and_codes_are_not_stored(send_report, codes, keys):
    send_report(coded=make_report(2, {"no row": row(irony=[True, 1], note=["x", 2, False])}))
    assert codes.read_annotations().given == {} and codes.read_annotations().notes == {}
    held = send_report(coded=make_report(3, {keys[0]: row(gone=[True, 3])}))
    assert "no code 'gone'" in held[state.NOT_WRITTEN] and held[state.HANDLED] == 3


def test_refused_code_does_not_lose_other_rows_or_notes(send_report, codes, keys):
    changes = {keys[0]: row(gone=[True, 1], note=["kept", 2, False]), keys[1]: row(irony=[True, 3])}
    held = send_report(coded=make_report(3, changes))
    assert codes.read_annotations().given == {keys[1]: {"ann": ("irony",)}}
    assert codes.read_annotations().notes == {keys[0]: {"ann": "kept"}}
    assert "no code 'gone'" in held[state.NOT_WRITTEN]


def test_failed_changes_are_kept_and_stored_later(send_report, codes, keys, monkeypatch):
    changes = {keys[0]: row(irony=[True, 1]), keys[1]: row(label=[True, 2], note=["so", 3, False])}
    report = {"coded": make_report(3, changes)}
    with monkeypatch.context() as full:

        def give(rows, names, **more):
            if names == ["label"]:
                raise StorageError("the disk is full")
            Codes.give_codes(codes, rows, names, **more)

        full.setattr(codes, "give_codes", give)
        held = send_report(**report)
        assert held[state.HANDLED] == 1 and held[state.AGAIN] == 1 and codes.read_annotations().notes == {}
        assert "the disk is full. This browser keeps it and tries again" in held[state.NOT_WRITTEN]
        assert send_report(**report)[state.AGAIN] == 2
    held = send_report(**report)
    assert held[state.HANDLED] == 3 and held[state.AGAIN] == 0
    assert codes.read_annotations().given == {keys[0]: {"ann": ("irony",)}, keys[1]: {"ann": ("label",)}}
    assert codes.read_annotations().notes == {keys[1]: {"ann": "so"}}


def test_note_written_in_several_steps_is_undone_at_once(send_report, codes, keys):
    codes.write_note(keys[0], "before", author="ann")
    for number, (text, goes_on) in enumerate([("so", False), ("so it", True), ("so it is", True)], 1):
        send_report(coded=make_report(number, {keys[0]: row(note=[text, number, goes_on])}))
    assert codes.read_annotations().notes == {keys[0]: {"ann": "so it is"}}
    send_report(undo=4)
    assert codes.read_annotations().notes == {keys[0]: {"ann": "before"}}
    send_report(coded=make_report(5, {keys[1]: row(note=["x", 5, False])}))
    send_report(coded=make_report(6, {keys[1]: row(note=["", 6, True])}))
    assert codes.ledger.read_history(codes.data, 1)[0]["undone"]
    assert codes.read_annotations().notes == {keys[0]: {"ann": "before"}}


def test_nameless_codes_move_to_the_name_when_it_is_given(send_report, codes, keys):
    send_report.held[state.VISITOR] = "?" + "a" * 12
    code_rows(codes, [keys[2]], ["label"], author="?" + "b" * 12)
    send_report(author=" ", coded=make_report(1, {keys[0]: row(irony=[True, 1])}))
    assert codes.read_annotations().given[keys[0]] == {"?" + "a" * 12: ("irony",)}
    assert not errors_codes.move_annotations(codes, codes.read_annotations())
    send_report.held[state.AUTHOR] = "ann"
    moved = [errors_codes.move_annotations(codes, codes.read_annotations()) for _ in range(2)]
    assert moved[0] and not moved[1]
    assert codes.read_annotations().given == {keys[0]: {"ann": ("irony",)}, keys[2]: {"?" + "b" * 12: ("label",)}}


def test_all_selected_rows_get_a_code_and_one_undo_removes_it(send_report, codes, keys):
    code_rows(codes, [keys[0]], ["irony"], author="ann")
    send_report.held[state.AUTHOR] = "ann"
    errors_codes.code_selected(codes, send_report.shown, keys, "irony", off=False)
    assert len(codes.read_annotations("ann").given) == len(keys)
    assert f"irony added to {len(keys)} sentences" in send_report.held[state.SAID_OF_CODES]
    send_report(undo=1)
    assert set(codes.read_annotations("ann").given) == {keys[0]}


@pytest.mark.slow
def test_unreadable_code_file_still_shows_the_sentences(page, codes, keys):
    codes.ledger.path.write_bytes(b"no database, long enough to be taken for one " * 40)
    for suffix in ("-wal", "-shm"):
        codes.ledger.path.with_name(codes.ledger.path.name + suffix).unlink(missing_ok=True)
    app = page(select="all")
    (reader,) = drawn(app, "reader")
    assert len(reader["rows"]) == len(keys) and reader["coding"] is None
    assert "Codes cannot be read" in words(app) or any("Codes cannot be read" in str(each.proto) for each in app.main)


@pytest.mark.slow
def test_codes_and_codebooks_are_imported_from_files(page, codes, keys, runs):
    table = read_table(RunStore(runs), "finished")
    code_rows(codes, keys[:3], ["irony"])
    codings = format_annotations(table, [True] * len(keys), codes, codes.read_annotations()).decode()
    book = format_codebook(codes)
    code_rows(codes, keys[:3], [])
    codes.merge_codes(["irony"], "label")
    app = page(select="all")
    for content in (book, codings):
        data = content if isinstance(content, bytes) else content.encode()
        named(app.file_uploader, "Import codes").set_value(("codes.csv", data, "text/csv")).run()
    assert [each.name for each in codes.list_codes()] == ["irony", "label"]
    assert set(codes.read_annotations().given) == set(keys[:3]) and codes.read_annotations().get_codes(keys[0]) == (
        "irony",
    )
    named(app.file_uploader, "Import codes").set_value(("x.csv", b"key,codes\nnobody,irony\n", "text/csv")).run()
    assert "This change was not stored" in words(app)


@pytest.mark.slow
def test_disagreements_of_two_authors_become_the_selection(page, codes, keys):
    code_rows(codes, keys[:3], ["irony"], author="ben")
    code_rows(codes, keys[:1], ["label"], author="ann")
    app = page(select="all")
    named(app.text_input, "Author").set_value("ann").run()
    assert "Others coded 2 sentences that you have not" in words(app), "ann has not coded them all"
    code_rows(codes, keys[1:3], ["irony"], author="ann")
    app.run()
    named(app.button, "Show 1 disagreement").click().run()
    (reader,) = drawn(app, "reader")
    assert [row["key"] for row in reader["rows"]] == [keys[0]] and "coded differently by ann and ben" in words(app)


@pytest.mark.slow
def test_author_change_updates_the_codes_of_all_known_rows(page, codes, keys):
    code_rows(codes, keys[:2], ["irony"], author="ben")
    app = page(select="all")
    first = drawn(app, "reader")[0]["coding"]
    named(app.text_input, "Author").set_value("ann").run()
    second = drawn(app, "reader")[0]["coding"]
    assert set(first["others"]) == set(keys[:2]) and second["others"] == {}
    assert (first["author"], second["author"]) == ("", "ann")
    assert re.fullmatch("[0-9a-f]{32}", first["secret"]) and first["secret"] == second["secret"], "of one session"


def test_history_names_changes_but_hides_rows_that_are_still_to_code(send_report, codes, keys):
    code_rows(codes, [keys[0]], ["irony"], author="ben")
    code_rows(codes, keys[1:3], ["label"], author="ben")
    code_rows(codes, [keys[0]], ["label"], author="ann")
    send_report.held[state.AUTHOR] = "ann"
    seen = codes.read_annotations().filter_visible("ann")
    own, two, one, *_ = codes.ledger.read_history(codes.data)
    text = send_report.shown.table.frame["text"]
    assert errors_codes.describe_change(own, send_report.shown, seen, reads=False) == f"label: “{text[0][:40]}”"
    assert errors_codes.describe_change(one, send_report.shown, seen, reads=False) == f"irony: “{text[0][:40]}”"
    assert errors_codes.describe_change(two, send_report.shown, seen, reads=False) == "a hidden change to 2 sentences"
    assert errors_codes.describe_change(two, send_report.shown, seen, reads=True) == "label: 2 rows"


def test_sample_continues_at_the_first_uncoded_sentence(send_report, codes, keys, monkeypatch):
    made = draw_sample(codes, keys, 5, 0, "all", author="ben")
    code_rows(codes, made.keys[:2], ["irony"], author="ann")
    send_report.held[state.AUTHOR] = "ann"
    chosen = []
    choose = "dashboard.selection.choose_keys"
    monkeypatch.setattr(choose, lambda *given, **more: chosen.append((given[1:3], more["at"])))
    errors_codes.resume_draw(send_report.shown, codes.read_annotations().filter_visible("ann"), made, "test")
    assert chosen == [(("test", made.keys), 2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["performance", "errors"])
def test_report_of_any_page_shows_only_codes_visible_to_its_author(app, page, codes, monkeypatch, name):
    asked = []

    def build(runs, **more):
        asked.append(more["author"])
        raise NotAvailable("enough")

    monkeypatch.setattr("dashboard.reports.build.build_report", build)
    app.session_state[state.AUTHOR] = "ann"
    pages.opened(app, name, run="finished")
    press(app, "make-report")
    assert asked == ["ann"]
