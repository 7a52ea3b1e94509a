"""The queue of trainings and short jobs, made of locked files, which the system unlocks if a process dies.

`<runs>/.queue/` contains one file per waiting process, named so that the oldest run sorts first, and one file per slot.
A process trains while it has the lock of a slot. Short jobs (maps, baselines) have separate slots.

A waiting process is a bare interpreter that loads only this module (`wrap_command`, 5 MB). By exec it becomes the
program that it waited for, with the same process ID and the locks, whose handles the new program inherits. Tested on
POSIX systems. Windows uses msvcrt's locks and has no exec, so there trainings wait in their worker, and short jobs
start at once.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from core import limits
from core.atomic import convert_os_errors, make_folder
from core.exceptions import Cancelled, ConfigError, InputError, SentiscopeError

POLL_SECONDS = 0.3
PRIORITY = 10  # niceness of jobs, so that pages answer while models train
SLOWEST_SECONDS = 2.0  # polling interval at the end of the queue: hundreds of waiting processes must not load a core
START_SECONDS = 10.0  # how long a new process waits until its parent has written the record
FOLDER = ".queue"
TRAINING, SHORT = "", "short-"  # kinds of work with separate tickets and slots: maps do not wait for trainings
JOB = "SENTISCOPE_JOB"  # environment variable of a job of another engine (`core.runs.engines`): no slot, its own cores
HELD = "SENTISCOPE_HELD"  # environment variable: numbers of locked file handles that are inherited over exec


def count_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_limit() -> int:
    """Return how many runs may train at once: SENTISCOPE_JOBS, else half of the cores; ConfigError: not a number."""
    chosen = os.environ.get("SENTISCOPE_JOBS", "")
    if not chosen:
        return max(1, count_cores() // 2)
    if not chosen.isdecimal() or int(chosen) < 1:
        raise ConfigError(f"SENTISCOPE_JOBS={chosen!r}: a whole number, at least 1")
    return int(chosen)


def count_threads() -> int:
    """Return the CPU threads for one training run, an equal share of the cores among runs that may train at once."""
    return limits.CPUS() if JOB in os.environ else max(1, count_cores() // get_limit())


@contextlib.contextmanager
def lock_run(run: Path, wait: float = 0.0) -> Iterator[int]:
    """Lock a run's directory, waiting at most `wait` seconds; yield the handle. InputError: another has it."""
    with open_lock(run / ".lock") as handle:
        until = time.monotonic() + wait
        while not try_lock(handle):
            if time.monotonic() >= until:
                raise InputError(f"run '{run.name}' is already used by another process")
            time.sleep(0.05)
        yield handle


@contextlib.contextmanager
def wait_for_slot(
    runs: Path, run: str, created: str, stopped: Callable[[], bool] = lambda: False, kind: str = TRAINING
) -> Iterator[int]:
    """Wait, oldest first, until a job may start; yield its slot's file handle. Cancelled if `stopped()` is true.

    A job of another engine has waited there: it starts at once, without a slot (-1).
    """
    if JOB in os.environ:
        if stopped():
            raise Cancelled("cancelled before it began")
        yield -1
        return
    folder = runs / FOLDER
    make_folder(folder)
    ticket = _get_ticket(folder, run, created, kind)
    with contextlib.ExitStack() as held:
        mine = _find_inherited_slot(folder, kind, held)
        if mine is None:
            with _hold_ticket(ticket):
                mine = _wait_turn(ticket, kind, stopped, held)
        yield mine


def _get_ticket(folder: Path, run: str, created: str, kind: str) -> Path:
    return folder / f"{kind}ticket-{''.join(filter(str.isdigit, created))}-{run}"


@contextlib.contextmanager
def reserve_ticket(runs: Path, run: str, created: str) -> Iterator[tuple[int, ...]]:
    """Lock the ticket of a training before its process starts and inherits it (`HELD`): nothing later overtakes it."""
    make_folder(runs / FOLDER)
    with open_lock(_get_ticket(runs / FOLDER, run, created, TRAINING)) as handle:
        yield (handle,) if os.name != "nt" and try_lock(handle) else ()


def check_room(runs: Path, kind: str = TRAINING) -> None:
    """Raise InputError if as many processes wait in the queue as this server allows."""
    allowed = limits.WAITING if kind == TRAINING else limits.SHORT_WAITING
    if (waiting := len(_list_tickets(runs / FOLDER, kind))) < allowed():
        return
    clear_tickets(runs)
    if (waiting := len(_list_tickets(runs / FOLDER, kind))) >= allowed():
        raise InputError(
            f"{waiting} {allowed.what}, and this server allows {allowed()} ({allowed.variable}); "
            "try again when some have begun, or cancel some"
        )


def clear_tickets(runs: Path) -> None:
    """Delete queue tickets of dead processes, and slots beyond the current limit of parallel runs."""
    folder = runs / FOLDER
    for kind in (TRAINING, SHORT):
        most = {f"{kind}slot-{number}" for number in range(get_limit())}
        slots = (path for path in folder.glob(f"{kind}slot-*") if path.name not in most)
        for path in [*_list_tickets(folder, kind), *slots]:
            _clear_away(path)


def wrap_command(
    command: Sequence[str], runs: Path, name: str, created: str, kind: str, run: Path | None = None, request: str = ""
) -> list[str]:
    """Return the command of a small process that waits for its turn in the queue and then becomes `command`.

    It locks the directory `run` from the beginning (`lock_run`). When the file `request`, which SIGTERM creates, is
    there, `command` starts at once and without a slot, to record that it was cancelled.
    """
    if os.name == "nt":
        return list(command)
    code = f"import sys; sys.path += {[str(Path(__file__).parents[2])]!r}; import core.runs.queue as q; q.run_in_turn()"
    return [sys.executable, "-I", "-S", "-c", code, str(runs), name, created, kind, str(run or ""), request, *command]


def run_in_turn() -> None:
    """Wait in the queue as the process that `wrap_command` starts, then become the wrapped command."""
    runs, name, created, kind, run, request, *command = sys.argv[1:]
    os.nice(PRIORITY)
    cancel = Path(run) / request if request else None
    if cancel:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: cancel.touch())
    held: list[int] = []
    with contextlib.ExitStack() as kept:
        try:
            if run:
                held.append(kept.enter_context(lock_run(Path(run), START_SECONDS)))
            with contextlib.suppress(Cancelled):
                stopped = cancel.exists if cancel else lambda: False
                held.append(kept.enter_context(wait_for_slot(Path(runs), name, created, stopped, kind)))
        except SentiscopeError as error:
            sys.exit(f"sentiscope: {error}")
        for handle in held:
            os.set_inheritable(handle, True)
        os.environ[HELD] = " ".join(map(str, held))
        os.execv(command[0], command)


def _wait_turn(ticket: Path, kind: str, stopped: Callable[[], bool], held: contextlib.ExitStack) -> int:
    while True:
        if stopped():
            raise Cancelled("cancelled while waiting in the queue")
        older = [other for other in _list_tickets(ticket.parent, kind) if other.name < ticket.name]
        place = 0 if all(map(_clear_away, older)) else len(older)  # tickets of dead processes are deleted
        if place == 0 and (mine := _take_slot(ticket.parent, kind, held)) is not None:
            return mine
        time.sleep(min(SLOWEST_SECONDS, POLL_SECONDS * (1 + place / 8)))


@contextlib.contextmanager
def _hold_ticket(path: Path) -> Iterator[None]:
    """Hold a locked ticket file that shows this waiting process to others; create it again if it was removed."""
    while True:
        with open_lock(path) as handle:
            while not try_lock(handle):
                time.sleep(0.01)
            if not _is_there(handle, path):
                continue
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    path.unlink()
            return


def _list_tickets(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.glob(f"{kind}ticket-*"))


def _clear_away(path: Path) -> bool:
    """Delete a lock file that no process holds; return whether it is gone."""
    with contextlib.suppress(OSError), open_lock(path) as handle:
        if not try_lock(handle):
            return False
        path.unlink()
    return True


def _is_there(handle: int, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _take_slot(folder: Path, kind: str, held: contextlib.ExitStack) -> int | None:
    for number in range(get_limit()):
        own, path = contextlib.ExitStack(), folder / f"{kind}slot-{number}"
        handle = own.enter_context(open_lock(path))
        if try_lock(handle) and _is_there(handle, path):
            held.push(own)
            return handle
        own.close()
    return None


def _find_inherited_slot(folder: Path, kind: str, held: contextlib.ExitStack) -> int | None:
    """Return the file handle of the queue slot that this process got before exec; None if it has none."""
    for path in folder.glob(f"{kind}slot-*"):
        if (handle := _get_inherited(path)) is not None:
            held.callback(os.close, handle)
            return handle
    return None


def _get_inherited(path: Path) -> int | None:
    """Return the inherited file handle of a lock file, if there is one, and stop children from inheriting it."""
    left = os.environ.get(HELD, "").split()
    for number in left:
        if number.isdecimal() and _is_there(int(number), path):
            os.environ[HELD] = " ".join(other for other in left if other != number)
            os.set_inheritable(int(number), False)
            return int(number)
    return None


@contextlib.contextmanager
def open_lock(path: Path) -> Iterator[int]:
    """Open a lock file, or reuse the handle that this process inherited; yield the handle, then close it."""
    with convert_os_errors(path):
        left = _get_inherited(path)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644) if left is None else left
    try:
        yield handle
    finally:
        os.close(handle)


def try_lock(handle: int) -> bool:
    """Lock an open file for this process; return False if another process has the lock."""
    # The filelock library hides its handle, which must survive exec here, and makes a waiting process larger (18 MB in
    # place of 10) and slower (62 ms in place of 3).
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
