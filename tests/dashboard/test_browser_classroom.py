"""A teacher and a pupil in two browsers at one dashboard that serves a class."""

import re

import pytest
from browsing import served, settle
from playwright.sync_api import Browser, Page, expect

from core.runs.classroom import KEY, Classroom
from core.runs.store import RunStore

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def enter(browser: Browser, address: str, width: int) -> Page:
    """Open the page Class with cookies of its own."""
    page = browser.new_context(viewport={"width": width, "height": 720}).new_page()
    page.goto(f"{address}/classroom")
    page.get_by_label("Teacher's key").wait_for()
    settle(page)
    return page


def fill(page: Page, label: str, text: str) -> None:
    page.get_by_label(label).fill(text)
    page.get_by_label(label).press("Enter")
    settle(page)


def start_training(pupil: Page, address: str) -> None:
    pupil.goto(f"{address}/train?model=vanilla")
    pupil.get_by_role("button", name="Start training").click()
    settle(pupil)


def test_teacher_sees_people_sets_the_rules_and_stops_a_job(browser, tmp_path):
    runs, key = tmp_path / "runs", "a key"
    folders = {"SENTISCOPE_RUNS": str(runs), "SENTISCOPE_CACHE": str(tmp_path / "cache"), KEY: key}
    Classroom(runs, key).set_read_only(True)
    with served("dashboard/server.py", "dashboard.launcher", **folders) as address:
        teacher, pupil = enter(browser, address, 1440), enter(browser, address, 1280)
        fill(teacher, "Teacher's key", "a kex")
        expect(teacher.get_by_text("this is not the teacher's key")).to_be_visible()
        fill(teacher, "Teacher's key", key)
        expect(teacher.get_by_role("heading", name="People")).to_be_visible()
        fill(pupil, "Your name", "Ada")
        start_training(pupil, address)
        expect(pupil.get_by_text("the teacher has made this class read-only")).to_be_visible()
        assert RunStore(runs).list() == []
        teacher.get_by_text("Read-only", exact=True).first.click()
        settle(teacher)
        start_training(pupil, address)
        expect(pupil.get_by_role("button", name=re.compile("Pause|Cancel")).first).to_be_visible()
        expect(teacher.get_by_text(re.compile(r"(running|queued) · Ada"))).to_be_visible()
        assert [(each.name, each.tabs) for each in Classroom(runs, key).list_people()] == [("(no name)", 1), ("Ada", 1)]
        Classroom(runs, key).assign_job("somebody else", RunStore(runs).list()[0].run)
        pupil.get_by_role("button", name="Cancel").click()
        pupil.get_by_role("button", name="Cancel it").click()
        expect(pupil.get_by_text("is not yours: only who started it")).to_be_visible()
        teacher.get_by_role("button", name="Stop").click()
        expect(teacher.get_by_text("nothing waits or trains")).to_be_visible()
        [record] = RunStore(runs).list()
        assert record.status == "cancelled"
        pupil.close()
        expect(teacher.get_by_text(re.compile("^1 open tab$"))).to_be_visible()
