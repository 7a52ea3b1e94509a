"""Behavioural tests of runs: failure rates by capability (negation, vocabulary …)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from core import behavioral_tests
from core.api.options import AnyRun, CliArgument, Store, get_names, get_store, make_map_option
from core.api.printing import say, tabulate, write_rate
from core.data.findings import plural


def behave(
    run: Annotated[AnyRun, CliArgument(metavar="RUN")],
    *others: AnyRun,
    suite: str | Path = "",
    rename: Annotated[
        Mapping[str, str] | None,
        make_map_option(
            "write CLASS=POLARITY, a class of a run and negative, neutral, positive or none", metavar="CLASS=POLARITY"
        ),
    ] = None,
    store: Store = None,
) -> dict[str, Any]:
    """Measure how often runs fail behavioural tests of each capability (negation, vocabulary …).

    The answers of a run are stored in the cache of the machine, so that no model answers the same tests twice.

    Args:
        run: Finished runs with one label per text.
        others: Runs that are compared with it.
        suite: Tests in YAML or as a table; default: those that come with Sentiscope.
        rename: The polarity of a class of the runs.

    Returns:
        `suite`: `name`, `about`, `file`, `digest`, numbers of `tests`, `capabilities`, `cases` and `texts`.
        `runs`: for each `run`, `polarities` (by class), `agreement` (of failures within a template,
        `core.behavioral_tests.report`) and its rate over all cases.
        `capabilities`: `capability`, `must` (the expectation), `rates` by run, and `tests`: `test`, `kind`, `must`,
        `about`, `tolerance`, `cases`, `rates` by run, and `failing` by run: the `texts` of a case, the `expected`
        answers, and `answers`, each with `label`, `polarity` and `probabilities` by polarity.
        A rate: `n` cases, of which `failed`; `rate` and its 95 % `interval` (None without tested cases); `verdict`
        (`passes` if the whole interval is below 0.3, `fails` if above, else `open`); `not_asked`, the cases that need a
        class that the run lacks; `consistency` of contrast sets (`groups`, `right`, `rate`, `interval`) or None.
        `differences`, for each `capability` and pair of runs: `difference` (failure rate of `first` minus `second`),
        `p`, `p_holm` (Holm over all tests), `interval` (at the level of its Holm step) and `differ`: whether `p_holm`
        is below 0.05, exactly if the interval excludes 0.
    """
    store, names = get_store((run, *others), store), list(dict.fromkeys(get_names((run, *others))))
    chosen = behavioral_tests.suite_reader.read_suite(str(suite))
    classes = [name for each in names for name in store.read(each).classes]
    behavioral_tests.suite_predictions.refuse_unknown_class(rename or {}, classes)
    asked = [behavioral_tests.suite_predictions.SuiteAnswers.from_suite(store, each, chosen, rename) for each in names]
    found = behavioral_tests.report.build_report([each.judge() for each in asked])
    return {**found, "suite": {"file": str(suite), **found["suite"]}}


def print_behave(result: dict[str, Any]) -> None:
    """Print the failure rate of each capability in behavioural tests, and on which capabilities the runs differ."""
    suite, names = result["suite"], [each["run"] for each in result["runs"]]
    of = "1 capability" if suite["capabilities"] == 1 else f"{suite['capabilities']} capabilities"
    said = f"{plural(suite['tests'], 'test')} of {of}, {plural(suite['cases'], 'case')}"
    say(f"{suite['name']}: {said}. Failure rate and 95 % interval:")
    rows = [
        {"capability": each["capability"], "the answer": " · ".join(each["must"])}
        | {name: _format_rate(each["rates"][name]) for name in names}
        for each in result["capabilities"]
    ]
    rows.append({"capability": "all", **{each["run"]: _format_rate(each) for each in result["runs"]}})
    tabulate(rows, ("capability", "the answer", *names))
    apart: dict[tuple[str, str], list[str]] = {}
    for each in result["differences"]:
        apart.setdefault((each["first"], each["second"]), []).extend([each["capability"]] * each["differ"])
    for (first, second), where in apart.items():
        say(f"{first} and {second} differ on {', '.join(where) or 'nothing beyond chance'}.")
    say("--json has every test and every failing sentence.")


def _format_rate(rate: dict[str, Any]) -> str:
    return "not asked" if rate["rate"] is None else write_rate(rate["rate"], rate["interval"])
