"""Claims of the papers, checked against the numbers that the papers report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from core.api.options import CliArgument
from core.api.printing import say, tabulate
from core.exceptions import InputError
from core.models.presets import PAPERS
from core.papers.claims import FINDERS, VERDICTS, list_claims
from core.preset_catalog import find_paper


def claims(
    paper: Annotated[str, CliArgument(f"{', '.join(FINDERS)}, or a title; default: all.", metavar="[PAPER]")] = "",
) -> dict[str, Any]:
    """Check what a paper says about its results against the numbers in its own tables. Nothing is trained.

    Returns:
        `paper`, the key, empty for all; `claims`: `paper`, `claim` in our words, `source` (section and table),
        `reported` and `recomputed` (a number or several in the paper's units; None: the claim has none), `verdict`
        (holds, in part or does not follow), `count`, `sentence` (what the numbers give).
    """
    key = find_paper(paper) if paper else ""
    if key and key not in FINDERS:
        raise InputError(f"'{paper}' is not a paper; there are {', '.join(FINDERS)}")
    return {
        "paper": key,
        "claims": [{"paper": each} | row for each in FINDERS if key in ("", each) for row in list_claims(each)],
    }


def count_verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many claims hold, follow in part, and do not follow, as a sentence."""
    counts = Counter(row["verdict"] for row in rows)
    holds, part, wrong = (counts[each] for each in VERDICTS)
    verbs = "claim holds" if len(rows) == 1 else "claims hold"
    return f"{holds} of {len(rows)} {verbs}, {part} in part, {wrong} {'does' if wrong == 1 else 'do'} not follow."


def print_claims(result: dict[str, Any]) -> None:
    """Print the claims of each paper with their verdicts, and a line that counts these."""
    for paper in dict.fromkeys(row["paper"] for row in result["claims"]):
        rows = [row for row in result["claims"] if row["paper"] == paper]
        say(f" {count_verdicts(rows)}", head=f"{PAPERS[paper]}:")
        tabulate(rows, ("verdict", "claim", "sentence", "source"), whole="verdict")
        say("")
