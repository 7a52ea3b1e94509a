"""The process that starts the runs of a sweep one by one, reports progress and stops. Imports nothing heavy.

The runs of a sweep are ordinary runs in the ordinary queue. The driver has the lock of the sweep, which the operating
system frees when the driver dies; the runs continue, and the next driver finds them.
"""

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core import limits
from core.atomic import convert_os_errors
from core.exceptions import InputError, RunDamaged, try_call
from core.runs import background_jobs, cost_estimate, engines, queue, sweep, training_jobs
from core.runs.record import RunRecord
from core.runs.store import RunStore, name_sweep
from core.runs.sweep import STATES, Member, Plan, State

POLL_SECONDS = 1.0
LOOK_SECONDS = 1.0  # waiting time for the lock, which `is_driven` of another process holds for a moment
LOST_STARTS = 3  # how often a run is started at most while Slurm or Ray loses its machines
ENDED: tuple[State, ...] = ("done", "failed", "cancelled")

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class SweepState:
    """The progress of a sweep: number of runs in each state, finished share, time left and failures."""

    name: str
    counts: dict[State, int]
    running: tuple[tuple[str, float], ...]
    seconds_left: float
    unknown: int
    failures: tuple[tuple[str, str], ...]

    @property
    def total(self) -> int:
        """Return the number of runs of the sweep."""
        return sum(self.counts.values())

    @property
    def share(self) -> float:
        """Return the finished share of the sweep, 0 to 1; running trainings count by their steps."""
        ended = sum(self.counts[each] for each in ENDED)
        return (ended + sum(share for _, share in self.running)) / self.total

    def to_event(self) -> dict[str, Any]:
        """Return the progress of the sweep as a JSON object for event output."""
        return {
            "kind": "sweep",
            "sweep": self.name,
            "runs": self.total,
            **{str(state): count for state, count in self.counts.items()},
            "training": [{"run": run, "share": round(share, 3)} for run, share in self.running],
            "seconds_left": round(self.seconds_left),
            "unknown": self.unknown,
            "failures": [{"run": run, "reason": reason} for run, reason in self.failures],
        }


def compute_progress(
    plan: Plan, runs: Sequence[Member], records: Sequence[RunRecord | None], measured: Sequence[RunRecord] = ()
) -> SweepState:
    """Compute the progress of a sweep from its runs' records; other runs (`measured`) help to estimate the time."""
    states = [sweep.get_state(record) for record in records]
    found = [record for record in records if record is not None]
    training = tuple((record.run, _compute_share(record)) for record in found if record.status == "running")
    failed = tuple((record.run, record.reason) for record in found if sweep.get_state(record) == "failed")
    seconds, unknown = _estimate_left(runs, records, [*found, *measured])
    counts = {each: states.count(each) for each in STATES}
    # Slurm and Ray decide how many train: take as many as do now.
    elsewhere = any(record.is_live and record.process and record.process.job for record in found)
    at_once = max(1, len(training)) if elsewhere else queue.get_limit()
    return SweepState(plan.name, counts, training, seconds / at_once, unknown, failed)


def _compute_share(record: RunRecord) -> float:
    return record.progress.get("step", 0) / max(1, record.progress.get("steps", 0))


def _estimate_left(
    runs: Sequence[Member], records: Sequence[RunRecord | None], measured: Sequence[RunRecord]
) -> tuple[float, int]:
    """Estimate the remaining seconds of training in a sweep, and count the runs without an estimate."""
    times: dict[str, list[float]] = {}
    for member, record in zip(runs, records, strict=True):
        if record is not None and record.status == "done":
            times.setdefault(member.cell.label, []).append(record.seconds + cost_estimate.START_SECONDS)
    each = {label: sum(found) / len(found) for label, found in times.items()}
    left, unknown = 0.0, 0
    for member, record in zip(runs, records, strict=True):
        state = sweep.get_state(record)
        if state in ENDED:
            continue
        if member.cell.label not in each:
            found = cost_estimate.estimate_time(member.config, measured)
            each[member.cell.label] = math.nan if found is None else found.seconds
        seconds = each[member.cell.label]
        if math.isnan(seconds):
            unknown += 1
        else:
            left += seconds * (1 - _compute_share(record) if record is not None and state == "running" else 1)
    return left, unknown


@contextlib.contextmanager
def hold_sweep(store: RunStore, name: str, wait: float = 0.0) -> Iterator[bool]:
    """Lock a sweep for this process; yield False if another process holds the lock longer than `wait` seconds."""
    with queue.open_lock(sweep.get_path(store, name, "lock")) as handle:
        until = time.monotonic() + wait
        while not (mine := queue.try_lock(handle)) and time.monotonic() < until:
            time.sleep(0.05)
        yield mine


def is_driven(store: RunStore, name: str) -> bool:
    """Return whether a living process is running this sweep."""
    if not sweep.get_path(store, name, "lock").exists():
        return False
    with hold_sweep(store, name) as free:
        return not free


def run_sweep(
    store: RunStore, plan: Plan, *, tell: Tell = lambda event: None, stopped: Callable[[], bool] = lambda: False
) -> SweepState:
    """Start a sweep's unfinished runs, once each, and wait until all end or `stopped()`; InputError: it is driven."""
    with hold_sweep(store, plan.name, LOOK_SECONDS) as mine:
        if not mine:
            raise InputError(f"sweep '{plan.name}' is already driven by another process")
        request = sweep.get_path(store, plan.name, "cancel")
        request.unlink(missing_ok=True)
        return _Driver(store, plan, tell).run(lambda: stopped() or request.exists())


class _Driver:
    def __init__(self, store: RunStore, plan: Plan, tell: Tell) -> None:
        self.store, self.plan, self.tell = store, plan, tell
        self.runs = sweep.list_members(plan)
        self.measured = _list_finished(store)
        self.begun = Counter[str]()
        self.most = limits.WAITING() - 1 if engines.find_engine() else queue.get_limit()
        self.known: dict[str, RunRecord] = {}
        self.last: dict[str, Any] = {}

    def run(self, stopped: Callable[[], bool]) -> SweepState:
        """Start the runs of a sweep and report progress until all have ended, or until `stopped()` is true."""
        while True:
            stopping = stopped()
            records = self._read_records()
            if stopping:
                _cancel_runs(self.store, _list_alive(records))
            elif self._start_next(records):
                continue
            found = compute_progress(self.plan, self.runs, records, self.measured)
            if (event := found.to_event()) != self.last:
                self.last = event
                self.tell(event)
            if _list_alive(records) or (self._list_waiting(records) and not stopping):
                time.sleep(POLL_SECONDS)
            elif self._read_records() == records:  # else a run finished between the two reads
                return found

    def _read_records(self) -> list[RunRecord | None]:
        records = sweep.read_records(self.store, self.runs, self.known)
        self.known = {record.run: record for record in records if record is not None and record.status == "done"}
        return records

    def _list_waiting(self, records: Sequence[RunRecord | None]) -> list[tuple[Member, RunRecord | None]]:
        pairs = zip(self.runs, records, strict=True)
        left = [pair for pair in pairs if self.begun[pair[0].run] < (LOST_STARTS if _is_lost(pair[1]) else 1)]
        left = [pair for pair in left if sweep.get_state(pair[1]) in ("waiting", "failed", "cancelled")]
        return sorted(left, key=lambda pair: pair[1] is not None)

    def _start_next(self, records: Sequence[RunRecord | None]) -> bool:
        """Start the next waiting run of the sweep if there is room, and keep one more run ready in the queue."""
        waiting = self._list_waiting(records)
        if not waiting or len(_list_alive(records)) > self.most:
            return False
        if try_call(InputError, "full", queue.check_room, self.store.folder):
            return False
        member, record = waiting[0]
        self.begun[member.run] += 1
        if record is None:
            about = member.config, member.cell.model, member.run
            self.store.create(*about, parent=self.plan.name, recipe=member.recipe)
        with contextlib.suppress(InputError, RunDamaged):  # another process has just started it, or it is damaged
            training_jobs.start(self.store, member.run)
        return True


def _is_lost(record: RunRecord | None) -> bool:
    """Return whether Slurm or Ray lost the run: its process could not record an end."""
    process = record.process if record and sweep.get_state(record) in ("waiting", "failed") else None
    return process is not None and bool(process.job)


def _list_alive(records: Sequence[RunRecord | None]) -> list[str]:
    return [record.run for record in records if record and sweep.get_state(record) in ("queued", "running")]


def _cancel_runs(store: RunStore, runs: Sequence[str]) -> None:
    for run in runs:
        with contextlib.suppress(InputError):  # it has just ended
            training_jobs.cancel(store, run)


def read_progress(store: RunStore, plan: Plan) -> SweepState:
    """Return the current progress of a sweep, stored or only planned."""
    runs = sweep.list_members(plan)
    return compute_progress(plan, runs, sweep.read_records(store, runs), _list_finished(store))


def _list_finished(store: RunStore) -> list[RunRecord]:
    return [record for record in store.list() if record.status == "done"]


def watch(
    store: RunStore, plan: Plan, *, tell: Tell = lambda event: None, stopped: Callable[[], bool] = lambda: False
) -> SweepState:
    """Report the progress of a sweep that another process runs, until the sweep ends or `stopped()` is true."""
    while True:
        going = is_driven(store, plan.name) and not stopped()
        found = read_progress(store, plan)
        tell(found.to_event())
        if not going:
            return found
        time.sleep(POLL_SECONDS)


def start_driver(store: RunStore, name: str) -> None:
    """Start a process that runs a stored sweep, and wait until it has begun; InputError: it runs, or ended at once."""
    if is_driven(store, name):
        raise InputError(f"sweep '{name}' is already driven by another process")
    going = sum(is_driven(store, lock.stem) for lock in (store.folder / sweep.FOLDER).glob("*.lock"))
    if going >= limits.SWEEPS():
        raise InputError(
            f"{going} {limits.SWEEPS.what}, as many as this server allows ({limits.SWEEPS.variable}); "
            "start this one when another has ended"
        )
    if any(sweep.read_records(store, sweep.list_members(sweep.read(store, name)))):
        store.guard.check_change(name_sweep(name))
    else:
        store.guard.check_start()
        store.guard.take_run(name_sweep(name))
    log = sweep.get_path(store, name, "log")
    with convert_os_errors(log), log.open("ab") as stream:
        process = background_jobs.spawn_process(store, build_command(name), stream)
    while not is_driven(store, name):
        if process.poll() is not None:
            if process.returncode:
                raise InputError(f"the sweep did not start; the reason is in {log}")
            return
        time.sleep(0.05)


def build_command(name: str) -> list[str]:
    """Return the command line of the background process that runs a sweep."""
    return background_jobs.build_command("sweep", name, "--json")


def cancel(store: RunStore, name: str) -> int:
    """Ask a sweep and its runs to stop, and count the runs; InputError: no such sweep, or none waits or trains."""
    plan = sweep.read(store, name)
    going = is_driven(store, name)
    records = sweep.read_records(store, sweep.list_members(plan))
    busy = _list_alive(records)
    if not going and not busy:
        raise InputError(f"sweep '{name}': no run of it waits or trains, so there is nothing to cancel")
    store.guard.check_change(name_sweep(name))
    if going:
        request = sweep.get_path(store, name, "cancel")
        with convert_os_errors(request):
            request.touch()
    _cancel_runs(store, busy)
    return len(busy)
