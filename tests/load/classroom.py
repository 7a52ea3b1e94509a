"""A class at the dashboard: websocket sessions that click, measured against a bare Streamlit app in the same run.

    python tests/load/classroom.py --cost                              CPU of one click on each page, one session
    python tests/load/classroom.py --sessions 30 --minutes 3 --workers 2 --trainings 2

A session opens a page, and two seconds after each answer clicks: another threshold, colour or text, with the fragment
that the browser would ask for; on Errors, each session has its own selection and reruns the page. Ratios hold on any
machine; seconds and the load average are printed to judge them.
"""

import argparse
import asyncio
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from browsing import ROOT, dashboard, find_server, served

PAUSE = 2.0  # seconds from an answer to the next click
WORDS = ("film", "not", "never", "good", "service", "would", "food", "story", "room", "bad")
RUNS = ("vanilla", "ndt-01-n3", "differential")
CLICKED = {"performance": "-threshold", "embeddings": "-colour", "sentence": "-text", "bare": "Number 0"}
ROOM = ("performance", "embeddings", "errors", "sentence")


def make_query(page: str, number: int) -> str:
    """Return the link of a page for one of several people."""
    run = f"run=starter-{RUNS[number % len(RUNS)]}"
    word = WORDS[number % len(WORDS)]
    more = {"sentence": f"&text=The {word} was not bad at all.", "errors": f"&select=all;word={word}"}
    return "" if page == "bare" else run + more.get(page, "")


class Session:
    """One browser at a page, as far as the server can tell."""

    def __init__(self, address: str, page: str, number: int) -> None:
        self.address, self.page = address, page
        self.script, self.query = "", make_query(page, number)
        self.found: dict[str, tuple[str, Any, str]] = {}  # widget ID → kind, element, fragment
        self.values: dict[str, WidgetState] = {}
        self.known: set[str] = set()  # large messages that a browser keeps, and that are not sent again
        self.size = 0

    async def __aenter__(self) -> "Session":
        url = f"{self.address.replace('http', 'ws', 1)}/_stcore/stream"
        self.socket = await websockets.connect(
            url, subprotocols=["streamlit"], max_size=None, origin=self.address, open_timeout=120, ping_timeout=None
        )
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.socket.close()

    async def rerun(self, fragment: str = "") -> float:
        """Run the page or one of its fragments; return the seconds until it is complete."""
        begun, asked = time.monotonic(), BackMsg()
        asked.rerun_script.query_string = self.query
        asked.rerun_script.fragment_id = fragment
        asked.rerun_script.cached_message_hashes.extend(self.known)
        asked.rerun_script.widget_states.widgets.extend(self.values.values())
        if self.script:
            asked.rerun_script.page_script_hash = self.script
        elif self.page != "bare":
            asked.rerun_script.page_name = self.page
        await self.socket.send(asked.SerializeToString())
        while True:
            sent = await asyncio.wait_for(self.socket.recv(), 120)
            self.size += len(sent)
            message = ForwardMsg.FromString(sent)
            self.note(message)
            if message.WhichOneof("type") == "script_finished":
                return time.monotonic() - begun

    def note(self, message: ForwardMsg) -> None:
        """Note what a browser would keep of a message: its link, its widgets and large messages."""
        kind = message.WhichOneof("type")
        if message.metadata.cacheable:
            self.known.add(message.hash)
        if kind == "navigation":
            self.script = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            name = element.WhichOneof("type")
            one = getattr(element, name)
            if name == "exception":
                raise RuntimeError(f"{self.page}: {one.type} {one.message}")
            if getattr(one, "id", ""):
                self.found[one.id] = name, one, message.delta.fragment_id

    async def click(self) -> float:
        """Change the page's widget as a visitor would; return the seconds until the answer is complete."""
        mark = CLICKED.get(self.page, "")
        for name, (kind, one, fragment) in list(self.found.items()):
            if mark and (name.endswith(mark) or getattr(one, "label", "") == mark):
                state = WidgetState(id=name)
                if kind == "slider":
                    state.double_array_value.data.append(round(random.uniform(0.2, 0.8), 2))
                elif kind == "selectbox":
                    state.string_value = random.choice(one.options[:4])
                else:
                    state.string_value = f"The {random.choice(WORDS)} was {random.choice(WORDS)} at {time.time():.0f}."
                self.values[name] = state
                return await self.rerun(fragment)
        return await self.rerun()


def list_servers(address: str) -> list[psutil.Process]:
    """Return a server's processes, without what they compute in processes of their own."""
    found = [server := find_server(address), *server.children(recursive=True)]
    return [each for each in found if "run" in (line := each.cmdline()) and "-m" in line]


def measure_cpu(address: str) -> float:
    """Return the CPU seconds that a server has used."""
    return sum(sum(each.cpu_times()[:2]) for each in list_servers(address))


async def measure_cost(address: str, page: str, times: int) -> dict[str, float]:
    """Return CPU seconds of a warm rerun and of a click of one session, and of the first rerun of other selections."""
    found = {}
    async with Session(address, page, 0) as session:
        for _ in range(4):
            await session.rerun()
            await session.click()
        await asyncio.sleep(1)
        for name, act in (("rerun", session.rerun), ("click", session.click)):
            before = measure_cpu(address)
            for _ in range(times):
                await act()
            found[name] = (measure_cpu(address) - before) / times
        session.size = 0
        await session.rerun()
        found["kB"] = session.size / 1000
    if page == "errors":
        costs = []
        for number in range(3, 12, 3):  # selections of the same run that nobody has asked for
            async with Session(address, page, number) as session:
                before = measure_cpu(address)
                await session.rerun()
                costs.append(measure_cpu(address) - before)
        found["first of another selection"] = statistics.mean(costs)
    return found


def print_costs(scratch: str, times: int) -> None:
    """Print the CPU of reruns and clicks of each page, as multiples of a rerun of the bare app."""
    with served("tests/load/bare.py") as bare:
        base = asyncio.run(measure_cost(bare, "bare", times))
        with dashboard(Path(scratch, "runs"), ROOT / "trained") as address:
            for page in ("runs", "performance", "sentence", "errors", "embeddings"):
                found = asyncio.run(measure_cost(address, page, times))
                again = asyncio.run(measure_cost(bare, "bare", max(times // 2, 5)))
                unit = (base["rerun"] + again["rerun"]) / 2
                words = [f"{name} {value:.0f}" if name == "kB" else f"{name} {value:.3f} s × {value / unit:.2f}"
                         for name, value in found.items()]  # fmt: skip
                print(f"{page:<12} {', '.join(words)}   (bare {unit:.3f} s, load {os.getloadavg()[0]:.1f})", flush=True)


async def attend(address: str, page: str, number: int, until: float, heard: dict[str, list[float]]) -> None:
    """Take part in a class with one session until a moment; note the seconds of each answer, and errors."""
    try:
        async with Session(address, page, number) as session:
            heard["first"].append(await session.rerun())
            while time.monotonic() < until:
                await asyncio.sleep(PAUSE)
                seconds = await session.click()
                heard[page].append(seconds)
                heard["all"].append(seconds)
    except Exception as error:  # counted, whatever it is
        heard["failures"].append(0)
        print(f"    {page}: {type(error).__name__} {error}", flush=True)


async def hold_class(address: str, pages: tuple[str, ...], sessions: int, minutes: float) -> dict[str, list[float]]:
    """Let people click for some minutes; return the seconds of all answers, and megabytes every ten seconds."""
    heard: dict[str, list[float]] = defaultdict(list)
    until = time.monotonic() + 60 * minutes
    before, shown = measure_cpu(address), islice(cycle(pages), sessions)
    people = [asyncio.create_task(attend(address, page, each, until, heard)) for each, page in enumerate(shown)]
    while any(not each.done() for each in people):
        heard["MB"].append(round(sum(each.memory_info().rss for each in list_servers(address)) / 2**20))
        await asyncio.wait(people, timeout=10)
    heard["CPU"].append((measure_cpu(address) - before) / max(len(heard["all"]), 1))
    return heard


def print_class(name: str, heard: dict[str, list[float]], base: dict[str, list[float]]) -> None:
    """Print the latencies of a class, as multiples of those of the bare app."""
    for page in ("all", *ROOM):
        if heard[page]:
            late, other = (np.percentile(each, [50, 95]) for each in (heard[page], base["all"]))
            print(f"{name:<10} {page:<12} n {len(heard[page]):<5} p50 {late[0]:.2f} s × {late[0] / other[0]:.2f}   "
                  f"p95 {late[1]:.2f} s × {late[1] / other[1]:.2f}")  # fmt: skip
    print(f"{name:<10} errors {len(heard['failures'])}, CPU {heard['CPU'][0]:.3f} s an answer, first page "
          f"{statistics.median(heard['first'] or [0]):.1f} s, MB {[round(each) for each in heard['MB']]}, "
          f"load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip


@contextlib.contextmanager
def train(count: int, scratch: str) -> Iterator[None]:
    """Keep so many trainings at work."""
    options = ["train", "--model", "vanilla", "--set", "training.epochs=5000", "--set", "training.patience=0"]
    with open(f"{scratch}/trainings", "ab") as log:
        commands = [[sys.executable, "-m", "core.cli", *options, "--name", f"load-{each}"] for each in range(count)]
        started = [subprocess.Popen(each, cwd=ROOT, stdout=log, stderr=log) for each in commands]
        try:
            yield
            for each in started:
                print(f"training {each.pid}: {'at work' if each.poll() is None else f'ended ({each.returncode})'}")
        finally:
            for each in started:
                each.terminate()
                each.wait(60)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost", action="store_true", help="CPU of one click on each page")
    parser.add_argument("--times", type=int, default=10, help="clicks of --cost")
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--trainings", type=int, default=0)
    args = parser.parse_args()
    random.seed(1)
    module = "dashboard.launcher" if args.workers == 1 else f"dashboard.workers {args.workers}"
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"SENTISCOPE_RUNS": f"{scratch}/runs", "SENTISCOPE_CACHE": f"{scratch}/cache"}
        os.environ |= {"OMP_NUM_THREADS": "1", "STREAMLIT_SERVER_HEADLESS": "true"}
        Path(scratch, "runs").mkdir()
        if args.cost:
            print_costs(scratch, args.times)
            return
        with train(args.trainings, scratch):
            with served("tests/load/bare.py") as bare:
                base = asyncio.run(hold_class(bare, ("bare",), args.sessions, min(args.minutes, 3.0)))
            print_class("bare", base, base)
            with dashboard(Path(scratch, "runs"), ROOT / "trained", module) as address:
                print_class("dashboard", asyncio.run(hold_class(address, ROOM, args.sessions, args.minutes)), base)


if __name__ == "__main__":
    main()
