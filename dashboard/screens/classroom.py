"""Page Class: who is connected, which jobs wait and train, and the teacher's rules."""

import shutil
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from core.formatting import count, plural
from core.runs import training_jobs
from core.runs.classroom import NOBODY, Classroom
from core.runs.record import RunRecord
from core.runs.store import describe_place, name_sweep
from dashboard import state
from dashboard.classroom import find_classroom
from dashboard.data import data
from dashboard.screens import PAGES
from dashboard.widgets.figure import show_caption, show_heading, show_table
from dashboard.widgets.messages import show_finding, show_header, show_refusal, show_selection

WHAT = "Who is connected, and what is running?"
SECONDS = 5  # between two looks at people and jobs
WHOLE = "With it, only you start, upload, stop or delete. Everybody still looks, and codes and notes stay possible"


def show_page() -> None:
    """Draw the Class page: the visitor's name, the teacher's controls, people and jobs."""
    if (room := find_classroom()) is None:
        show_header("Class", WHAT)
        show_finding("This dashboard serves no class", "Start it with: sentiscope dashboard --classroom")
        return
    teacher = room.is_teacher(state.get_visitor())
    st.fragment(_show_head, run_every=SECONDS)(room)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.text_input("Your name", key=state.AUTHOR, max_chars=60, persist_state="session", width=240)
        if teacher:
            on = room.is_read_only()
            st.toggle("Read-only", on, key="read-only", on_change=room.set_read_only, args=(not on,), help=WHOLE)
        else:
            st.text_input("Teacher's key", key=state.KEY, type="password", width=240, on_change=_give_key, args=(room,))
    show_refusal(state.CLASS_PROBLEM, "You are not the teacher")
    st.fragment(_show_jobs, run_every=SECONDS)(room, teacher)


def _give_key(room: Classroom) -> None:
    with state.store_refusal(state.CLASS_PROBLEM):
        room.allow_teacher(state.get_visitor(), str(state.pop_value(state.KEY)))


def _list_live() -> list[RunRecord]:
    """List the runs that train, then those that wait, the oldest first."""
    live = (each for each in data.list_runs() if each.is_live)
    return sorted(live, key=lambda one: (one.status != "running", one.created))


def _show_head(room: Classroom) -> None:
    live = _list_live()
    running = sum(each.status == "running" for each in live)
    free = shutil.disk_usage(data.store().folder).free / 1e9
    facts = [(count(running), "training"), (count(len(live) - running), "waiting"), (f"{free:.0f} GB", "free")]
    show_header("Class", WHAT, [(count(len(room.list_people())), "connected"), *facts])
    if room.is_read_only():
        show_caption("Read-only: only the teacher starts and changes runs.")


def _show_jobs(room: Classroom, teacher: bool) -> None:
    live, people = _list_live(), room.list_people()
    show_refusal(state.PROBLEM, "The job was not stopped")
    show_heading("Jobs", "jobs", note=plural(len(live), "job") if live else "nothing waits or trains")
    for record in live:
        _show_job(record, room.name_owners(), teacher)
    if teacher:
        show_heading("People", "people", note=plural(sum(each.tabs for each in people), "open tab"))
        pages = {name: each.title for name, each in PAGES.items()}
        rows = [(each.name + " (teacher)" * each.teacher, pages.get(each.page, ""), each.tabs) for each in people]
        show_table(pd.DataFrame(rows, columns=["Name", "Page", "Tabs"]), "Connected people")


def _show_job(record: RunRecord, owners: Mapping[str, str], teacher: bool) -> None:
    run, label = record.run, data.label_run(record.run)
    known = {run, name_sweep(record.parent)} & owners.keys()
    who = next((owners[each] or NOBODY for each in known), "not from a page")
    with st.container(key=f"job-{run}", horizontal=True, vertical_alignment="center", gap="small"):
        now = "stopping" if data.store().is_cancel_requested(run) else record.status
        show_selection(label, " · ".join(filter(None, (now, describe_place(record.process), who))))
        if teacher:
            st.button(f"Stop *{label}*", key=f"stop-{run}", type="tertiary", on_click=_stop_job, args=(run,))


def _stop_job(run: str) -> None:
    with state.store_refusal(state.PROBLEM):
        training_jobs.cancel(data.store(), run, insist=True)


show_page()
