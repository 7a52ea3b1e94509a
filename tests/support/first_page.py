"""Open the first page of an installed dashboard in Chromium: `python first_page.py SENTISCOPE RUN…`, as in .ci/run.

Its page of runs must list them, ask no other host for anything, and leave nothing but its address at the terminal.
"""

import re
import subprocess
import sys
import tempfile

from browsing import MISSING, chromium, find_free_port, opened_browser, settle, visit, wait_for


def main(command: str, runs: list[str]) -> None:
    """Start the command, check the page, end it; an AssertionError describes any problem."""
    program = chromium()
    assert program, MISSING
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen([command, "dashboard", "--no-browser", f"--port={port}"], stdout=log, stderr=log)
        try:
            wait_for(address, server, log)
            with opened_browser(program) as browser:
                page, complaints = visit(browser, address)
                page.goto(f"{address}/runs")
                page.get_by_role("heading", name="Runs", exact=True).wait_for(timeout=60_000)
                settle(page)
                picker = page.get_by_role("combobox").first  # the table of runs is a canvas without text
                for run in runs:
                    name = run.removeprefix("starter-")
                    picker.click()
                    picker.fill(name)
                    shown = re.compile(rf"^{re.escape(name)}( · .+)?$")  # with its data set, where there are several
                    page.get_by_role("option", name=shown).wait_for(timeout=20_000)
                    page.keyboard.press("Escape")
                assert not complaints, complaints
        finally:
            server.terminate()
            server.wait(20)
        log.seek(0)
        printed = log.read().decode()
    assert printed == f"Sentiscope is at {address} (Ctrl-C ends it)\n", f"the terminal shows:\n{printed}"
    print(f"the first page lists {', '.join(runs)}; the terminal shows its address only")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
