"""Engines that run jobs: this machine, Slurm (by submitit) or Ray. Each gets a command, never data or functions.

SENTISCOPE_ENGINE names the engine. `local`, the default, starts processes that wait for a slot of `core.runs.queue`.
`slurm` and `ray` get all jobs at once and decide how many run at a time and where: slots and tickets do not apply, and
a job has SENTISCOPE_CPUS cores. README.md in this folder says what the machines must share. Imports nothing heavy.
"""

import contextlib
import logging
import math
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from core import limits
from core.cache import get_cache_folder
from core.exceptions import InputError
from core.runs.queue import JOB
from core.runs.record import Process

VARIABLE, LOCAL, HERE = "SENTISCOPE_ENGINE", "local", "local-"  # HERE: begins an ID of Slurm's stand-in
FOLDER = ".engine"  # files of submitit in the folder of runs: commands and output, no data
MINUTES = 7 * 24 * 60  # time limit of a Slurm job; SBATCH_TIMELIMIT and other variables of sbatch override it
FRESH_SECONDS, SACCT_SECONDS = 2.0, 30  # age of an answer of Ray, and of sacct, up to which it is not asked again
DOWN_SECONDS, CONNECT_SECONDS = 15.0, 3.0  # how long an engine that failed is left alone, and is tried
FORWARDED = ("PYTHONPATH", *(f"SENTISCOPE_{each}" for each in ("DATA", "BACKBONES", "STARTERS", "LIMITS", "CPUS")))
OUTPUT = 'cd "$1" 2>/dev/null; log=$2; shift 2; exec "$@" </dev/null >>"$log" 2>&1'
INSTALL = "`pip install 'sentiscope[cluster]'`"
ENDED = "COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL OUT_OF_MEMORY BOOT_FAIL DEADLINE".split()  # states of sacct


class Slurm:
    """Slurm, or its stand-in on this machine (SENTISCOPE_SLURM=local), by submitit's AutoExecutor."""

    def __init__(self) -> None:
        try:
            import submitit
        except ImportError:
            raise InputError(f"{VARIABLE}=slurm needs submitit: {INSTALL}") from None
        self.submitit, self.here = submitit, os.environ.get("SENTISCOPE_SLURM") == "local"
        if not self.here and shutil.which("sbatch") is None:
            raise InputError(f"{VARIABLE}=slurm: no Slurm here (sbatch); SENTISCOPE_SLURM=local replaces it")
        logging.getLogger("submitit").setLevel(logging.ERROR)  # it would write to stdout, amid JSON
        self.watcher = submitit.slurm.slurm.SlurmInfoWatcher(SACCT_SECONDS)

    def submit(self, command: Sequence[str], runs: Path, job: str) -> str:
        """Submit a command as a `CommandFunction`, which submitit pickles; return the ID that Slurm gives the job."""
        executor = self.submitit.AutoExecutor(folder=runs / FOLDER, cluster="local" if self.here else "slurm")
        executor.update_parameters(timeout_min=MINUTES, cpus_per_task=limits.CPUS(), name="sentiscope")
        run = self.submitit.helpers.CommandFunction(list(command), verbose=False)
        return f"{HERE * self.here}{executor.submit(run).job_id}"

    def is_alive(self, job: str) -> bool:
        """Ask sacct for all jobs together, now and then; True for the stand-in on another machine."""
        if job.startswith(HERE):
            return True
        state = self.watcher.get_state(job)
        if state in ("PENDING", "RUNNING") or state.split()[0] in ENDED:
            return state in ("PENDING", "RUNNING")
        # Too new for sacct, purged, suspended or preempted, or there is no accounting: the controller knows.
        asked = subprocess.run(("squeue", "--noheader", "--jobs", job), capture_output=True, text=True, check=False)
        return bool(asked.stdout.strip()) or bool(asked.returncode and "Invalid job id" not in asked.stderr)

    def stop(self, process: Process, job: str) -> None:
        """Cancel a job of Slurm, or end the processes of its stand-in; OSError: it goes on."""
        if not job.startswith(HERE):
            asked = subprocess.run(("scancel", job), capture_output=True, text=True, check=False)
            if asked.returncode and self.is_alive(job):
                raise OSError(asked.stderr.strip())
        elif process.host != socket.gethostname():
            raise OSError("it runs on another machine")
        else:
            first = psutil.Process(process.pid)
            for each in (*first.children(recursive=True), first):
                each.terminate()


class Ray:
    """The Ray cluster at RAY_ADDRESS, by its job API, which starts a command on one of the machines."""

    def __init__(self) -> None:
        address = os.environ.get("RAY_ADDRESS", "")
        if not address.startswith(("http://", "https://")):
            said = f"; it is {address[:60]!r}" if address else ""
            raise InputError(f"{VARIABLE}=ray needs RAY_ADDRESS, such as http://HEAD:8265{said}")
        try:
            from ray.job_submission import JobSubmissionClient
        except ImportError:
            raise InputError(f"{VARIABLE}=ray needs Ray: {INSTALL}") from None
        try:
            self.place = urlsplit(address).hostname, urlsplit(address).port or urlsplit(address).scheme
            self.check_connection()
            self.client = JobSubmissionClient(address)
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(f"no Ray cluster answers at RAY_ADDRESS={address} ({str(error)[:200]})") from None
        self.alive, self.ended, self.asked = set[str](), set[str](), -math.inf

    def check_connection(self) -> None:
        """Raise OSError if the head does not answer soon; Ray's client would wait for minutes, or for ever."""
        with contextlib.closing(socket.create_connection(self.place, CONNECT_SECONDS)) as connection:
            connection.sendall(b"GET /api/version HTTP/1.0\r\n\r\n")
            connection.recv(1)

    def submit(self, command: Sequence[str], runs: Path, job: str) -> str:
        """Submit a command, which waits until a machine has free cores, under the ID `job`."""
        self.check_connection()
        quoted, cores = shlex.join(command), limits.CPUS()
        return str(self.client.submit_job(entrypoint=quoted, submission_id=job, entrypoint_num_cpus=cores))

    def is_alive(self, job: str) -> bool:
        """Ask Ray for all jobs at once, unless it was just asked or the job has ended; True if it does not answer."""
        if job not in self.ended and (job not in self.alive or time.monotonic() > self.asked):
            self.alive.add(job)
            self.asked = time.monotonic() + DOWN_SECONDS
            self.check_connection()
            found = {each.submission_id for each in self.client.list_jobs() if not each.status.is_terminal()}
            self.ended |= self.alive - found
            self.alive, self.asked = found, time.monotonic() + FRESH_SECONDS
        return job not in self.ended

    def stop(self, process: Process, job: str) -> None:
        """Ask Ray to stop a job: SIGTERM, and SIGKILL after three seconds."""
        self.check_connection()
        if self.is_alive(job):  # Ray refuses to stop a job that it does not know
            self.client.stop_job(job)


ENGINES: dict[str, type[Slurm] | type[Ray]] = {"slurm": Slurm, "ray": Ray}


def find_engine() -> str:
    """Return the name of the chosen engine, empty for this machine; InputError: there is none, or it cannot be used."""
    name = os.environ.get(VARIABLE) or LOCAL
    if name == LOCAL or JOB in os.environ:  # what a job starts is part of the job
        return ""
    if name not in ENGINES:
        raise InputError(f"{VARIABLE}={name[:60]!r}: one of {', '.join((LOCAL, *ENGINES))}")
    _open_engine(name)
    limits.CPUS()  # raises for an odd one before a run is created
    return name


_OPENED: dict[tuple[str, ...], tuple[float, Slurm | Ray | InputError]] = {}  # with the time; errors are tried again


def _open_engine(name: str) -> Slurm | Ray:
    key = name, *(os.environ.get(each, "") for each in ("RAY_ADDRESS", "SENTISCOPE_SLURM"))
    then, found = _OPENED.get(key, (-math.inf, InputError()))
    if isinstance(found, InputError) and time.monotonic() - then > DOWN_SECONDS:
        try:
            found = ENGINES[name]()
        except InputError as error:
            found = error
        _OPENED[key] = time.monotonic(), found
    if isinstance(found, InputError):
        raise InputError(str(found))
    return found


def submit(name: str, command: Sequence[str], runs: Path, log: Path, **variables: str) -> Process:
    """Submit a command to an engine; its output goes to a log file. The process has no number before it begins."""
    job = f"sentiscope-{os.urandom(5).hex()}"
    given = {key: os.environ[key] for key in FORWARDED if key in os.environ}
    given |= {"SENTISCOPE_RUNS": str(runs.absolute()), "SENTISCOPE_CACHE": str(get_cache_folder().absolute())}
    given |= {"OMP_NUM_THREADS": str(limits.CPUS()), JOB: f"{name}:{job}", **variables}
    pairs = (f"{key}={value}" for key, value in given.items())
    whole = ["env", *pairs, "sh", "-c", OUTPUT, "sentiscope", str(Path.cwd()), str(log.absolute()), *command]
    try:
        job = _open_engine(name).submit(whole, runs.absolute(), job)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{VARIABLE}={name} did not take the job: {str(error)[:300]}") from error
    if not job.startswith(HERE):
        return Process(0, time.time(), "", job=f"{name}:{job}")
    number = int(job.removeprefix(HERE))
    return Process(number, psutil.Process(number).create_time(), socket.gethostname(), job=f"{name}:{job}")


def get_own_job() -> str:
    """Return the engine and ID of the job that this process runs as, such as `ray:ID`; empty: none."""
    name, _, job = os.environ.get(JOB, "").partition(":")
    if name == "slurm":  # only the job itself knows the ID that Slurm gave it
        here = os.environ.get("SUBMITIT_LOCAL_JOB_ID")
        job = f"{HERE}{here}" if here else os.environ.get("SLURM_JOB_ID", "")
    return f"{name}:{job}" if job else ""


def is_alive(process: Process) -> bool:
    """Return whether a job waits or runs on any machine; True if its engine cannot be asked from here."""
    name, _, job = process.job.partition(":")
    try:
        return _open_engine(name).is_alive(job)
    except (InputError, KeyError, OSError, RuntimeError):
        return True


def stop(process: Process) -> None:
    """Stop a job on any machine; InputError: its engine cannot be asked from here."""
    name, _, job = process.job.partition(":")
    try:
        _open_engine(name).stop(process, job)
    except psutil.NoSuchProcess:
        pass  # it has just ended
    except (InputError, KeyError, OSError, RuntimeError) as error:
        raise InputError(f"{process.title} cannot be stopped from here: {str(error)[:300]}") from None
