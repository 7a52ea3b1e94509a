"""Background jobs of the page Papers."""

from dataclasses import dataclass
from typing import Any, ClassVar

from core.api.papers import FOLDER, name_job, reproduce
from core.runs import background_jobs, queue
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.store import RunStore


@dataclass(frozen=True)
class MissingResults(Analysis[int]):
    """The trainings that a table of a paper still needs, run by the command `reproduce`."""

    paper: str
    table: str
    scale: str
    name: ClassVar[str] = "reproduce"
    offer = Offer("Run what is missing", "Training what is missing", "Training what is missing failed", "")

    @classmethod
    def from_table(cls, store: RunStore, paper: str, table: str, scale: str) -> "MissingResults":
        """Return the trainings of a table, whose progress is next to their results in the folder of runs."""
        return cls(store.folder / FOLDER, name_job(paper, table), store, paper, table, scale)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the command that trains what is missing."""
        return ("reproduce", self.paper, self.table, "--run", "--resume", "--scale", self.scale)

    def find(self, tell: Tell) -> int:
        """Train what is missing; return the number of failed trainings."""
        asked: dict[str, Any] = {"run": True, "resume": True, "scale": self.scale, "on_progress": tell}
        return int(reproduce(self.paper, self.table, store=self.store, **asked)["failed"])

    def start(self) -> None:
        """Start the trainings in the background when it is their turn; InputError: this server's queue is full."""
        command = background_jobs.build_command(*self.words)
        background_jobs.start_job(self.store, self, command, self.name, lane=queue.TRAINING)
