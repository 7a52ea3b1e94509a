"""The dashboard on a free port, and a browser that records all errors of a page."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--process-per-site"]
MISSING = "Chromium is missing: install it, or name the program in the environment variable CHROMIUM"
HEALTH = "/_stcore/health"
PATIENCE = 90_000.0
"""Milliseconds until what a test waits for is given up: on two cores with five at work, a button takes thirty seconds.

Said here once; what is there sooner is waited for no longer.
"""
QUIET = 250
"""Milliseconds without running, loading or fading before a page counts as settled; clicks have arrived by then."""
SETTLED = """quiet => {
  const moves = (each) => each.playState === "running" && each.effect?.getComputedTiming().endTime !== Infinity;
  const still = document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
    && !document.querySelector("[data-testid=stSkeleton]") && !document.getAnimations().some(moves);
  window.stillSince = still ? (window.stillSince ?? performance.now()) : undefined;
  return still && performance.now() - window.stillSince >= quiet;
}"""
STILL = """const sheet = new CSSStyleSheet();
sheet.replaceSync("*, ::before, ::after { animation: none !important; }");
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];"""
"""Without a graphics card, animations of a loading page take longer than the page itself."""
DRAWN_IN = """theme => [...document.querySelectorAll("style")].some((each) =>
  each.textContent.includes(`stPopoverBody]{color-scheme:${theme}}`))"""
"""The style that the server sends has its theme."""
GRAVE = ("serious", "critical")
LOOKS = ("light", 1440), ("dark", 1024)  # theme and width
OF_A_LOOK = ("color-contrast", "link-in-text-block", "scrollable-region-focusable")
"""The rules of axe that depend on colours and widths."""
CHARTS = [[".main-svg"]]
"""What Plotly draws: one picture with a name of its own, in colours that axe does not read from SVG."""


def chromium() -> str | None:
    """The program, if there is one."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def opened_browser(program: str | None = None) -> Iterator[Browser]:
    """Open the named browser or an installed one; without a browser, end this process with a message."""
    program = program or chromium() or sys.exit(MISSING)
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


def find_free_port() -> int:
    """Return a port of this machine at which nobody serves."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def served(script: str | Path, module: str = "streamlit", **environment: str) -> Iterator[str]:
    """Serve a script by a module and its first arguments on a free port; yield its address once it responds."""
    port = find_free_port()
    command = [sys.executable, "-m", *module.split(), "run", str(script), f"--server.port={port}"]
    with tempfile.TemporaryFile() as log:  # an unread pipe fills up and blocks the server
        environment = {**os.environ, **environment}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def dashboard(runs: Path, starters: Path | None = None, module: str = "dashboard.launcher") -> Iterator[str]:
    """Serve the dashboard on these runs, and on these starter runs."""
    folders = {"SENTISCOPE_RUNS": str(runs), "SENTISCOPE_CACHE": str(runs.parent / "cache")}
    folders["SENTISCOPE_STARTERS"] = str(starters or runs.parent / "no-starters")
    with served("dashboard/server.py", module, **folders) as address:
        yield address


def find_server(address: str) -> psutil.Process:
    """Return the process that `served` started at an address."""
    option = f"--server.port={address.rpartition(':')[2]}"
    alive = (each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE)
    return next(each for each in alive if option in each.cmdline())


def wait_for(address: str, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    """Return when the server responds; raise an error with its output if it ends instead."""
    until = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < until:
        if process.poll() is not None:
            log.seek(0)
            raise RuntimeError(f"the server ended: {log.read().decode()}")
        try:
            if urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).read() == b"ok":
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not answer")


def visit(browser: Browser, base: str, theme: str = "light", width: int = 1440) -> tuple[Page, list[str]]:
    """Open a page of a new visitor; return it and the list of its console errors and external requests.

    Cached scripts are kept from test to test, cookies and storage are not. One page of the site stays open with its
    compiled scripts, which saves a third of the time. A second page in a test is another visitor's.
    """
    complaints: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    free = (each for each in browser.contexts if all(page.url.endswith(HEALTH) for page in each.pages))
    context = next(free, None) or browser.new_context()
    if base.startswith("http") and not context.pages:
        context.new_page().goto(f"{base}{HEALTH}")
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    if base.startswith("http"):
        kept = {"origin": base, "storageTypes": "cookies,local_storage"}
        page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
    page.set_default_timeout(PATIENCE)
    page.add_init_script(STILL)
    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    known = (base, "data:", "blob:")
    page.on("request", lambda sent: None if sent.url.startswith(known) else complaints.append(sent.url))
    return page, complaints


def settle(page: Page) -> None:
    """Wait until the script has run, all its output has arrived, and nothing moves."""
    page.wait_for_function(SETTLED, arg=QUIET, polling=50)  # polling at each frame would force drawing


def see(what: Locator) -> None:
    """Wait until an element is visible and its page settled."""
    expect(what).to_be_visible()
    settle(what.page)


def arrive(page: Page, title: str) -> None:
    """Wait until the page with this title is settled."""
    see(page.get_by_role("heading", level=1, name=title, exact=True))


def find_bar(page: Page) -> Locator:
    """Return the text of the selection in its bar."""
    return page.locator(".st-key-selected .s-now")


def enter(field: Locator, text: str) -> None:
    """Replace what a field holds and press Enter."""
    field.fill(text)
    field.press("Enter")


def open_page(page: Page, address: str) -> None:
    """Go to a link, and wait until its page is complete."""
    page.goto(address)
    page.get_by_role("heading", level=1).first.wait_for()
    settle(page)


def open_export(page: Page) -> None:
    """Open the menu of files at the end of a page."""
    page.get_by_role("button", name="Export", exact=True).click()


def switch_theme(page: Page, theme: str) -> None:
    """Switch the theme, and wait until the page is settled and its figures use the theme."""
    page.emulate_media(color_scheme=theme)
    page.wait_for_function(DRAWN_IN, arg=theme)
    settle(page)


def show(page: Page, theme: str, width: int) -> None:
    """Show an open page in a theme and a width; both change together, so that a figure is drawn only once."""
    page.set_viewport_size({"width": width, "height": 900})
    switch_theme(page, theme)


def looks(page: Page) -> Iterator[tuple[str, ...]]:
    """Show an open page light and wide, and dark and narrow; its current look comes first.

    Yields the rules for `violations`: all in the first look, those that a look decides in the second.
    """
    wide = page.viewport_size["width"] == LOOKS[0][1]
    for number, (theme, width) in enumerate(LOOKS if wide else reversed(LOOKS)):
        show(page, theme, width)
        yield OF_A_LOOK if number else ()


def until(page: Page, true: Callable[[], bool]) -> None:
    """Wait until a condition on files, or on a list filled by page events, is true."""
    end = time.monotonic() + PATIENCE / 1000
    while not true():
        assert time.monotonic() < end, "it never became true"
        page.wait_for_timeout(50)


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """List serious violations of WCAG found by axe: each rule with the element; all rules if none are given."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": [*rules]} if rules else {})
    broken = Axe().run(page, {"exclude": CHARTS}, options).response["violations"]
    grave = [rule for rule in broken if rule["impact"] in GRAVE]
    return [f"{rule['id']}: {node['html'][:200]}" for rule in grave for node in rule["nodes"]]


def is_too_wide(page: Page, what: str = "html") -> bool:
    """Tell whether an element (by default the document) extends beyond the right edge of the window."""
    return bool(page.evaluate("what => document.querySelector(what).scrollWidth > innerWidth", what))


def is_in_window(page: Page, selector: str) -> bool:
    """Tell whether the top of an element is inside the window."""
    box = page.locator(selector).bounding_box()
    return box is not None and 0 <= box["y"] <= page.evaluate("innerHeight") - 60
