"""CPU seconds of one rerun of a page with few runs and with many: no page should cost what all runs together do.

    python tests/benchmarks/many_runs.py [--many 600] [--repeats 5]

The runs are copies of the starters (weights and tables are links to theirs). CPU seconds of the whole process, the
median of several reruns after two that warm the caches: other work on the machine hardly changes them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from streamlit import config
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("overview", "performance", "compare", "sentence", "embeddings", "lambdas", "train", "sweeps")


COMPILED = ScriptCache()


def as_a_server() -> None:
    """Scripts are compiled once, as in a server; `AppTest` does it in every run, which takes 25 ms."""
    config.set_option("browser.gatherUsageStats", False)
    for module in (app_test, local_script_runner):
        module.ScriptCache = lambda: COMPILED


def fill(folder: Path, count: int) -> None:
    """Copies of the starter runs, `count` in all."""
    starters = sorted((ROOT / "trained").glob("starter-*"))
    for number in range(count):
        source = starters[number % len(starters)]
        copy = folder / f"copy-{number:04d}"
        shutil.copytree(source, copy, copy_function=os.link)
        (copy / "run.json").unlink()
        shutil.copy(source / "run.json", copy / "run.json")


def seconds(page: str, repeats: int) -> float:
    """CPU seconds of a rerun of a page."""
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    app.run()
    app.switch_page(f"screens/{page}.py")
    for _ in range(2):
        app.run()
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        app.run()
        taken.append(time.process_time() - start)
    assert not app.exception, app.exception[0].value
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--many", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    as_a_server()
    found: dict[int, dict[str, float]] = {}
    for count in (8, arguments.many):
        with tempfile.TemporaryDirectory(dir=ROOT / "trained" / "..") as folder:
            fill(Path(folder), count)
            os.environ["SENTISCOPE_RUNS"] = folder
            found[count] = {page: seconds(page, arguments.repeats) for page in PAGES}
    few, many = found.values()
    print(f"{'page':<14}{'8 runs':>10}{f'{arguments.many} runs':>12}{'ratio':>8}   CPU s a rerun")
    for page in PAGES:
        print(f"{page:<14}{few[page]:>10.3f}{many[page]:>12.3f}{many[page] / few[page]:>8.1f}")


if __name__ == "__main__":
    main()
