"""The visitor of a page as a member of the class, if the dashboard was started with `--classroom`."""

import os

from core.runs.classroom import KEY, Classroom
from core.runs.store import AccessRules, RunStore, name_sweep
from dashboard import state


def find_classroom() -> Classroom | None:
    """Return the class of this server; None: it was started without `--classroom`."""
    return Classroom(RunStore().folder, key) if (key := os.environ.get(KEY, "")) else None


def record_visit(page: str) -> None:
    """Tell the class who looks at which page, if that is new; a visitor known by name gets the name back."""
    now = (state.get_author(), page)
    if (room := find_classroom()) and state.get_value(state.GREETED, None) != now:
        name = room.record_person(state.get_visitor(), str(state.get_value(state.AUTHOR, "") or ""), page)
        if name and not state.get_value(state.AUTHOR, ""):
            state.set_value(state.AUTHOR, name)
        state.set_value(state.GREETED, now)


class VisitorGuard(AccessRules):
    """The rules of the class, if there is one, for the visitor of the running page."""

    def check_start(self) -> None:
        """Refuse a visitor who has too many runs waiting, or a class that is read-only."""
        if room := find_classroom():
            live = (each for each in RunStore().list() if each.is_live)
            busy = [name_sweep(each.parent) if each.parent else each.run for each in live]
            room.check_start(state.get_visitor(), busy)

    def check_change(self, run: str, parent: str = "") -> None:
        """Refuse a visitor who neither owns a run or its sweep nor is the teacher."""
        if room := find_classroom():
            room.check_change(state.get_visitor(), run, name_sweep(parent))

    def take_run(self, run: str) -> None:
        """Record the visitor as the owner of a run or sweep."""
        if room := find_classroom():
            room.assign_job(state.get_visitor(), run)

    def drop_run(self, run: str) -> None:
        """Remove the owner of a deleted run."""
        if room := find_classroom():
            room.drop_job(run)
