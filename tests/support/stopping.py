"""A training that is asked to stop."""

from core.training.stage import Events


class StopAfter(Events):
    """Wishes to stop before update `updates` + 1."""

    def __init__(self, updates: int) -> None:
        self.left = updates

    def stopped(self) -> bool:
        self.left -= 1
        return self.left < 0
