"""Old option names, hidden aliases of the one name that each option has on all commands."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

OLD_NAMES = {
    "evaluate": {"--limit-test": "--limit"},
    "project": {"--rows": "--limit"},
    "predict": {"--file": "--data"},
    "report": {"--output": "--to"},
    "edit": {"--to": "--name"},
}
"""Command → old name of an option → its name now. No help shows the old ones."""


class Command(TyperCommand):
    """A command that also understands the old names of its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace old names, up to a `--` behind which everything is an argument."""
        names = OLD_NAMES.get(self.name or "", {})
        end = args.index("--") if "--" in args else len(args)
        cut = [each.partition("=") for each in args[:end]]
        renamed = [names.get(name, name) + equals + value for name, equals, value in cut]
        return super().parse_args(ctx, renamed + args[end:])
