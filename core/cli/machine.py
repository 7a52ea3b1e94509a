"""`sentiscope dashboard` and `doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import core
from core import verbs
from core.cli.printing import Json, emit, say
from core.cli.serving import serve, streamlit_command
from core.exceptions import InputError

LARGEST_PORT = 65_535


def dashboard(
    port: Annotated[int, typer.Option(help="Port to serve on.")] = 8501,
    address: Annotated[
        str, typer.Option(help="Address to serve on; other machines need more than loopback.")
    ] = "127.0.0.1",
    host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A further name in the link of others, e.g. of a proxy.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Open the dashboard in the browser."""
    if not 1 <= port <= LARGEST_PORT:
        raise InputError(f"--port {port}: a whole number from 1 to {LARGEST_PORT}")
    script = Path(core.__file__).resolve().parent.parent / "dashboard" / "server.py"
    raise typer.Exit(serve(streamlit_command(script, port, address, host or [], browser=browser)))


def doctor(as_json: Json = False) -> None:
    """What this machine offers, what is damaged or missing, and what to do about it."""
    result = verbs.doctor()
    emit(result, as_json, _show_examination)
    if result["problems"]:
        raise typer.Exit(1)


def _show_examination(result: dict[str, Any]) -> None:
    for name, value in result.items():
        if name != "problems":
            say(_in_line(value), head=f"{name.replace('_', ' ')}: ")
    for problem in result["problems"]:
        say(problem, head="problem: ")
    if not result["problems"]:
        say("nothing needs attention")


def _in_line(value: Any) -> str:
    """Plain data as words."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_line(each)}" for name, each in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
