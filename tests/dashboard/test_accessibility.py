"""Every page as axe, the rules of WCAG, sees it: in both themes, with a finished run and with none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import dashboard, settle, visit
from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GRAVE = ("serious", "critical")
SCREENS = Path(__file__).resolve().parents[2] / "dashboard" / "screens"


@pytest.fixture(scope="module")
def bare_server(tmp_path_factory) -> Iterator[str]:
    """The app on a free port without a run, which these tests do not change."""
    with dashboard(tmp_path_factory.mktemp("bare") / "none") as address:
        yield address


def violations(page: Page) -> list[str]:
    """What axe finds grave: the rule, and the elements that break it."""
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html']}" for rule in found if rule["impact"] in GRAVE for node in rule["nodes"]]


def seen(browser, address: str, theme: str, links: list[str]) -> dict[str, list[str]]:
    """What is wrong with each of these pages; pages without fault are left out."""
    page, complaints = visit(browser, address, theme)
    faults = {}
    for link in links:
        page.goto(f"{address}/{link}")
        page.get_by_role("heading", level=1).first.wait_for()
        settle(page)
        faults[link] = [*violations(page), *complaints]
        complaints.clear()
    page.context.close()
    return {link: found for link, found in faults.items() if found}


def pages(browser, address: str) -> list[str]:
    """The paths of all pages, read from the navigation, so that a new page is looked at as well."""
    page, _ = visit(browser, address)
    page.goto(address)
    entries = page.get_by_test_id("stSidebarNavLink")
    entries.first.wait_for()
    found = [entry.get_attribute("href") or "" for entry in entries.all()]
    page.context.close()
    screens = [path for path in SCREENS.glob("*.py") if "_" not in path.stem]
    assert len(found) == len(screens), "every page stands in the navigation, none behind a button"
    return [path.rsplit("/", 1)[-1] for path in found]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_of_a_finished_run_has_a_grave_fault(browser, server, theme):
    links = [f"{path}?run=finished" for path in pages(browser, server)]
    links.append("sentence?run=finished&beside=baseline&edit=h1.1,l1c1:0.9&text=good+film+unheard+of")
    assert seen(browser, server, theme, links) == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_without_a_run_has_a_grave_fault(browser, bare_server, theme):
    assert seen(browser, bare_server, theme, pages(browser, bare_server)) == {}
