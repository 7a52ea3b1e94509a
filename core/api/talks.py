"""Talks: lists of links that the presenter of the dashboard shows one after the other."""

from __future__ import annotations

from typing import Annotated, Any

from core import runs
from core.api.options import CliArgument, Store
from core.api.printing import make_printer, say, tabulate
from core.exceptions import RunNotFound
from core.runs.store import RunStore

TalkName = Annotated[str, CliArgument("Name of the talk.", metavar="NAME")]


def talks_list(*, store: Store = None) -> dict[str, Any]:
    """List all stored talks.

    Returns:
        `talks`: of each `name` and `links`, their number.
    """
    folder = (store or RunStore()).folder
    names = runs.talks.list_talks(folder)
    return {"talks": [{"name": name, "links": len(runs.talks.read_talk(folder, name))} for name in names]}


def talks_show(name: TalkName, *, store: Store = None) -> dict[str, Any]:
    """Show the links of a talk, in order, and whether the run of each still exists.

    Returns:
        `name`; `links`: of each `page`, `run` (empty: none), `missing` (whether that run is gone) and `link`.
    """
    store = store or RunStore()
    rows = []
    for link in runs.talks.read_talk(store.folder, name):
        page, values = runs.talks.split_link(link)
        run = values.get("run", "")
        rows.append({"page": page, "run": run, "missing": bool(run) and not _has_run(store, str(run)), "link": link})
    return {"name": name, "links": rows}


def _has_run(store: RunStore, run: str) -> bool:
    try:
        store.get_path(run)
    except RunNotFound:
        return False
    return True


def talks_add(
    name: TalkName, link: Annotated[str, CliArgument("Of a page, as its address bar has it.")], *, store: Store = None
) -> dict[str, Any]:
    """Add a link to the end of a talk; a talk that does not exist is created."""
    return {"name": name, "links": list(runs.talks.add_link((store or RunStore()).folder, name, link))}


def talks_remove(name: TalkName, *, store: Store = None) -> dict[str, Any]:
    """Delete a talk; the runs that it shows stay."""
    runs.talks.remove_talk((store or RunStore()).folder, name)
    return {"name": name, "removed": True}


def print_talks_list(result: dict[str, Any]) -> None:
    """Print a row for each talk."""
    if not result["talks"]:
        say("There are no talks yet: `sentiscope talks add NAME LINK`, or *Add to talk* on a page.")
        return
    tabulate(result["talks"], ("name", "links"), "name")


def print_talks_show(result: dict[str, Any]) -> None:
    """Print a row for each link of a talk."""
    rows = [{**row, "state": "run is gone" if row["missing"] else ""} for row in result["links"]]
    tabulate(rows, ("page", "run", "state", "link"), "link")


print_talks_add = make_printer(lambda r: f"{r['name']}: {len(r['links'])} links. Open /?talk={r['name']}&present=1")
print_talks_remove = make_printer(lambda r: f"{r['name']} is gone.")
