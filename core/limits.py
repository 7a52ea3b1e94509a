"""Quotas of a server, each with its environment variable and purpose. Imports only the standard library."""

import os

from core.exceptions import ConfigError


class Quota:
    """A limit (a whole number) with a default, which an environment variable can override."""

    def __init__(self, variable: str, default: int, what: str) -> None:
        """Store the environment variable, the default value, and words for what is limited."""
        self.variable, self.default, self.what = variable, default, what

    def __call__(self) -> int:
        """Return the limit that is in force now; ConfigError: the environment variable is no positive whole number."""
        chosen = os.environ.get(self.variable, "")
        if not chosen:
            return self.default
        if not (chosen.isascii() and chosen.isdecimal() and len(chosen) <= 12 and int(chosen) > 0):
            raise ConfigError(f"{self.variable}={chosen[:60]!r}: a whole number, at least 1")
        return int(chosen)


# Thirty students with twenty runs each stay below every limit.
OWN = Quota("SENTISCOPE_MOST_OWN", 20, "runs of yours wait or train")
WAITING = Quota("SENTISCOPE_MOST_WAITING", 600, "training runs that wait in the queue")
SHORT_WAITING = Quota("SENTISCOPE_MOST_SHORT", 60, "maps and TF-IDF yardsticks that wait")
SWEEPS = Quota("SENTISCOPE_MOST_SWEEPS", 40, "sweeps that run at once")
UPLOADS = Quota("SENTISCOPE_MOST_UPLOADS", 2_000, "uploaded files")
UPLOADS_MB = Quota("SENTISCOPE_UPLOADS_MB", 10_000, "MB of uploaded files")
IMPORTED_MB = Quota("SENTISCOPE_IMPORTED_MB", 10_000, "MB of imported runs")
CODES_MB = Quota("SENTISCOPE_CODES_MB", 1_000, "MB of codes, notes, draws and counter-examples")
SELECTED_MB = Quota("SENTISCOPE_SELECTED_MB", 1_000, "MB of sentences that were selected one by one")
CPUS = Quota("SENTISCOPE_CPUS", 1, "CPU cores of a job of Slurm or Ray")
ALL = (OWN, WAITING, SHORT_WAITING, SWEEPS, UPLOADS, UPLOADS_MB, IMPORTED_MB, CODES_MB, SELECTED_MB)
