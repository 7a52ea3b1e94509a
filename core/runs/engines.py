"""Engines that run jobs: this machine, Slurm (by submitit) or Ray. Each gets a command, never data or functions.

SENTISCOPE_ENGINE names the engine. `local`, the default, starts processes that wait for a slot of `core.runs.queue`.
`slurm` and `ray` get all jobs at once and decide how many run at a time and where; slots and their tickets do not
apply, and a job has SENTISCOPE_CPUS cores. All machines need the same Python environment, folder of runs and cache
under the same paths. Imports nothing heavy; see README.md in this folder.
"""

import functools
import os
import shlex
import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import psutil

from core import limits
from core.cache import get_cache_folder
from core.exceptions import InputError
from core.runs.queue import JOB
from core.runs.record import Process

VARIABLE, LOCAL = "SENTISCOPE_ENGINE", "local"
FOLDER = ".engine"  # files of submitit in the folder of runs: commands and output, no data
MINUTES = 7 * 24 * 60  # time limit of a Slurm job; SBATCH_TIMELIMIT and other variables of sbatch override it
FRESH_SECONDS = 2.0  # age of an answer of Ray up to which it is not asked again
FORWARDED = ("PYTHONPATH", *(f"SENTISCOPE_{each}" for each in ("DATA", "BACKBONES", "STARTERS", "LIMITS", "CPUS")))
OUTPUT = 'log=$1; shift; exec "$@" </dev/null >>"$log" 2>&1'


class Engine(Protocol):
    """A system that runs commands on one or several machines."""

    def submit(self, command: Sequence[str], runs: Path, job: str) -> str:
        """Submit a command, if possible under the ID `job`; return the ID."""

    def is_alive(self, job: str) -> bool:
        """Return whether a job waits or runs, also if that cannot be known."""

    def stop(self, process: Process, job: str) -> None:
        """Stop a job, which waits or runs."""


class Slurm:
    """Slurm, or its stand-in on this machine (SENTISCOPE_SLURM=local), by submitit's AutoExecutor."""

    def __init__(self) -> None:
        try:
            import submitit
        except ImportError:
            raise InputError(f"{VARIABLE}=slurm needs submitit: `pip install 'sentiscope[cluster]'`") from None
        self.submitit, self.here = submitit, os.environ.get("SENTISCOPE_SLURM") == "local"

    def submit(self, command: Sequence[str], runs: Path, job: str) -> str:
        """Submit a command, as a text of a pickled `CommandFunction`; return Slurm's ID; InputError: no Slurm here."""
        if not self.here and shutil.which("sbatch") is None:
            raise InputError(f"{VARIABLE}=slurm: no Slurm here (sbatch); SENTISCOPE_SLURM=local replaces it")
        executor = self.submitit.AutoExecutor(folder=runs / FOLDER, cluster="local" if self.here else "slurm")
        executor.update_parameters(timeout_min=MINUTES, cpus_per_task=limits.CPUS(), name="sentiscope")
        run = self.submitit.helpers.CommandFunction(list(command), verbose=False)
        return f"{'local-' * self.here}{executor.submit(run).job_id}"

    def is_alive(self, job: str) -> bool:
        """Ask Slurm, for all jobs together, at most every two seconds; True for a job on another machine alone."""
        return job.startswith("local-") or not self.submitit.SlurmJob.watcher.is_done(job)

    def stop(self, process: Process, job: str) -> None:
        """Cancel a job of Slurm, or end the processes of its stand-in."""
        if not job.startswith("local-"):
            self.submitit.SlurmJob(folder=FOLDER, job_id=job).cancel(check=False)
        elif process.host == socket.gethostname():
            try:
                first = psutil.Process(process.pid)
                for each in (*first.children(recursive=True), first):
                    each.terminate()
            except psutil.NoSuchProcess:
                pass


class Ray:
    """The Ray cluster at RAY_ADDRESS, by its job API, which starts a command on one of the machines."""

    def __init__(self) -> None:
        address = os.environ.get("RAY_ADDRESS")
        if not address:
            raise InputError(f"{VARIABLE}=ray needs RAY_ADDRESS, such as http://HEAD:8265")
        try:
            from ray.job_submission import JobSubmissionClient
        except ImportError:
            raise InputError(f"{VARIABLE}=ray needs Ray: `pip install 'sentiscope[cluster]'`") from None
        try:
            self.client = JobSubmissionClient(address)
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(f"no Ray cluster answers at RAY_ADDRESS={address} ({str(error)[:200]})") from None
        self.alive, self.ended, self.asked = set[str](), set[str](), 0.0

    def submit(self, command: Sequence[str], runs: Path, job: str) -> str:
        """Submit a command, which waits until a machine has free cores; return its ID."""
        quoted, cores = shlex.join(command), limits.CPUS()
        return str(self.client.submit_job(entrypoint=quoted, submission_id=job, entrypoint_num_cpus=cores))

    def is_alive(self, job: str) -> bool:
        """Ask Ray for all jobs at once, unless it has just answered or the job has ended."""
        if job in self.ended:
            return False
        if job not in self.alive or time.monotonic() - self.asked > FRESH_SECONDS:
            found = self.client.list_jobs()
            self.alive = {each.submission_id for each in found if not each.status.is_terminal()}
            self.asked = time.monotonic()
        if job not in self.alive:
            self.ended.add(job)
        return job in self.alive

    def stop(self, process: Process, job: str) -> None:
        """Ask Ray to stop a job: SIGTERM, and SIGKILL after three seconds."""
        self.client.stop_job(job)


ENGINES: dict[str, type[Slurm] | type[Ray]] = {"slurm": Slurm, "ray": Ray}


def get_name() -> str:
    """Return the name of the engine that jobs are submitted to; InputError: there is no such engine."""
    name = os.environ.get(VARIABLE) or LOCAL
    if name != LOCAL and name not in ENGINES:
        raise InputError(f"{VARIABLE}={name[:60]!r}: one of {', '.join((LOCAL, *ENGINES))}")
    return LOCAL if JOB in os.environ else name  # what a job starts is part of the job


def find_engine() -> str:
    """Return the name of the chosen engine if it can be used, empty if it is this machine; InputError: it cannot."""
    name = get_name()
    if name == LOCAL:
        return ""
    _open_engine(name, *_read_address())
    return name


def _read_address() -> tuple[str, str]:
    return os.environ.get("RAY_ADDRESS", ""), os.environ.get("SENTISCOPE_SLURM", "")


@functools.lru_cache(maxsize=4)
def _open_engine(name: str, *address: str) -> Engine:
    return ENGINES[name]()


def submit(name: str, command: Sequence[str], runs: Path, log: Path, **variables: str) -> Process:
    """Submit a command to an engine; its output goes to a log file. The process has no ID before it begins."""
    job = f"sentiscope-{os.urandom(8).hex()}"
    given = {"SENTISCOPE_RUNS": str(runs.absolute()), "SENTISCOPE_CACHE": str(get_cache_folder().absolute())}
    given |= {key: os.environ[key] for key in FORWARDED if key in os.environ}
    given |= {"OMP_NUM_THREADS": str(limits.CPUS()), JOB: f"{name}:{job}", **variables}
    pairs = [f"{key}={value}" for key, value in given.items()]
    whole = ["env", *pairs, "sh", "-c", OUTPUT, "sentiscope", str(log.absolute()), *command]
    try:
        job = _open_engine(name, *_read_address()).submit(whole, runs.absolute(), job)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{VARIABLE}={name} did not take the job: {str(error)[:300]}") from error
    if job.startswith("local-"):
        number = int(job.removeprefix("local-"))
        return Process(number, psutil.Process(number).create_time(), socket.gethostname(), job=f"{name}:{job}")
    return Process(0, time.time(), "", job=f"{name}:{job}")


def get_own_job() -> str:
    """Return the engine and ID of the job that this process runs as, `ray:ID`; empty: of none."""
    name, _, job = os.environ.get(JOB, "").partition(":")
    if name == "slurm":  # only the job itself knows the ID that Slurm gave it
        here = os.environ.get("SUBMITIT_LOCAL_JOB_ID")
        job = f"local-{here}" if here else os.environ.get("SLURM_JOB_ID", "")
    return f"{name}:{job}" if job else ""


def is_alive(process: Process) -> bool:
    """Return whether a job waits or runs on any machine; True if its engine cannot be asked from here."""
    return bool(_ask(process, lambda engine, job: engine.is_alive(job), True))


def stop(process: Process) -> None:
    """Stop a job on any machine, as far as its engine can be asked from here."""
    _ask(process, lambda engine, job: engine.stop(process, job), None)


def _ask(process: Process, call: Any, otherwise: Any) -> Any:
    name, _, job = process.job.partition(":")
    try:
        return call(_open_engine(name, *_read_address()), job)
    except (InputError, KeyError, OSError, RuntimeError):
        return otherwise
