"""The history of a sentence: steps to undo, grouped changes, unique sentences, clearing."""

from dashboard.screens.sentence_history import MOST, PAUSE, EditHistory, TriedSentence


def tried(text="good", edit="", run="first", **more) -> TriedSentence:
    return TriedSentence(run, text, edit, **more)


def walked(*steps: TriedSentence, apart: float = 10 * PAUSE) -> EditHistory:
    past = EditHistory()
    for place, step in enumerate(steps):
        past = past.add_state(step, place * apart)
    return past


def test_undo_and_redo_cover_texts_levers_and_runs():
    steps = [tried("good"), tried("bad"), tried("bad", "h1.1"), tried("bad", "h1.1", "second")]
    past = walked(*steps)
    assert past.steps == tuple(steps) and past.can_undo and not past.can_redo
    for place in (2, 1, 0):
        past = past.move_by(-1)
        assert past.steps[past.at] == steps[place] and past.can_redo
        assert past.add_state(steps[place], 1e6) == past, "what undo brought back is no new step"
    assert not past.can_undo and past.move_by(-1).at == 0
    assert past.move_by(1).steps[past.move_by(1).at] == steps[1] and past.move_by(9).at == 3


def test_change_after_undo_is_the_last_step_and_no_sentence_is_lost():
    past = walked(tried("one"), tried("two"), tried("three")).move_by(-1).add_state(tried("four"), 1e6)
    assert [step.text for step in past.steps] == ["one", "two", "four"] and not past.can_redo
    assert [each.text for each in past.tried] == ["four", "three", "two", "one"]


def test_continuous_typing_is_one_step():
    typed = [tried("a film"), *(tried("a film" + " so good"[:end]) for end in range(1, 9))]
    past = walked(*typed, apart=PAUSE / 4)
    assert [step.text for step in past.steps] == ["a film", "a film so good"]
    assert [each.text for each in past.tried] == ["a film so good", "a film"]
    assert [step.text for step in walked(*typed[:3]).steps] == ["a film", "a film ", "a film s"], "with a pause"


def test_continued_slider_move_is_one_step_and_another_slider_is_a_new_step():
    edits = ["", "l1c1:0.1", "l1c1:0.2", "l1c1:0.3", "h1.1,l1c1:0.3", "h1.1,h1.2,l1c1:0.3", "h1.2,l1c1:0.3"]
    past = walked(*(tried(edit=edit) for edit in edits), apart=PAUSE / 4)
    assert [step.edit for step in past.steps] == ["", *edits[3:]]


def test_text_and_lever_changed_in_sequence_are_two_steps():
    past = walked(tried("a"), tried("b"), tried("b", "h1.1"), tried("c", "h1.1"), apart=PAUSE / 4)
    assert len(past.steps) == 4


def test_each_sentence_with_words_is_listed_once_last_one_first():
    past = walked(tried("one"), tried("two"), tried(" "), tried("one"), tried("one", "h1.1"))
    assert [(each.text, each.edit) for each in past.tried] == [("one", "h1.1"), ("one", ""), ("two", "")]
    assert [step.text for step in past.steps] == ["one", "two", " ", "one", "one"], "an empty text can be undone"


def test_number_of_stored_steps_is_limited():
    past = walked(*(tried(f"text {number}") for number in range(3 * MOST)))
    assert len(past.steps) == len(past.tried) == MOST and past.at == MOST - 1
    assert past.tried[0] == past.steps[-1] == tried(f"text {3 * MOST - 1}")


def test_clearing_keeps_only_the_current_state():
    past = walked(tried("one"), tried("two"), tried("three")).move_by(-1).clear_steps()
    assert past.steps == (tried("two"),) and not past.tried and not past.can_undo and not past.can_redo
    assert EditHistory().clear_steps() == EditHistory()
