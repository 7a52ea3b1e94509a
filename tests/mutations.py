"""Break one expression at a time and see whether a test notices: `python tests/mutations.py --help`.

Draws mutations of statistics, explanations, error analysis, attention and the levers' script with a fixed seed. For
each, a copy of the tree runs the tests that import the module, quick ones first, up to the first failure. A mutation is
known by module, function and the text of its line, so a later tree can be compared:

    python tests/mutations.py --to before.csv
    python tests/mutations.py --against before.csv --to tests/mutations.csv   # fails if one killed before survives now
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARES = {
    "core/evaluation": 18,
    "core/interpret": 17,
    "core/error_analysis": 17,
    "core/models/attention_kernels.py": 4,
    "dashboard/assets/levers.js": 4,
}
"""Number of mutations per folder."""
SEED = 24
BUDGET = 60
"""CPU seconds after which no further test of a mutation starts: it survived the tests so far."""
CPU_LIMIT = 240
"""CPU seconds after which the tests of a mutation are stopped: it made a test run endlessly."""
COPIED = ("core", "dashboard", "tests", "trained", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml")
OPERATORS = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),  # codespell:ignore notin
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
"""The text of an operator and its possible replacements."""
NAMES = {"argmax": "argmin", "max": "min", "maximum": "minimum", "any": "all"}
NAMES |= {after: before for before, after in NAMES.items()}
SCRIPT = {
    r"(?<=[\w)\]] )\+(?= )": "-",
    r"(?<=[\w)\]] )-(?= )": "+",
    r"(?<= )\*(?= )": "/",
    r"(?<= )<(?= )": ">=",
    r"(?<= )>(?= )": "<=",
    r"(?<= )<=(?= )": "<",
    r"(?<= )>=(?= )": ">",
    r"===": "!==",
    r"!==": "===",
    r"&&": "||",
    r"\|\|": "&&",
    r"\bmax(?=\()": "min",
    r"\bmin(?=\()": "max",
    r"(?<=[(, ])!(?=[\w(])": "",
}
"""Operators of a script, which is not parsed, as regular expressions."""


@dataclass(frozen=True)
class Mutation:
    """One change of one line, independent of its line number."""

    module: str
    function: str
    """Qualified name; empty at module level."""
    text: str
    """The line without its indentation."""
    column: int
    """Start of the changed part in `text`."""
    before: str
    after: str
    nth: int = 0
    """Index among equal lines of the function."""


@dataclass(frozen=True)
class Result(Mutation):
    """A mutation and whether a test noticed it."""

    line: int = 0
    outcome: str = ""
    """Begins with `killed`, or is `survived`, `no test`, `line gone` or `unproven` (the test fails without it too)."""
    files: int = 0
    """Test files that import the module."""
    ran: int = 0
    """Tests that ran."""
    killer: str = ""
    """The test that failed, or that ran when time was up."""
    seconds: float = 0.0

    @property
    def mutation(self) -> Mutation:
        return Mutation(**{field.name: getattr(self, field.name) for field in fields(Mutation)})

    @property
    def killed(self) -> bool:
        return self.outcome.startswith("killed")


Change = tuple[str, int, int, str, str]
"""Function, line (from 1), column (from 0), text before and after."""


def find_mutations(root: Path, place: str) -> dict[Mutation, int]:
    """Return all mutations of a file or folder with their lines, in order."""
    path = root / place
    files = [path] if path.suffix else sorted(path.glob("*.py"))
    return {mutation: line for file in files if file.is_file() for mutation, line in _find_in_file(root, file)}


def _find_in_file(root: Path, file: Path) -> Iterator[tuple[Mutation, int]]:
    source, module = file.read_text(encoding="utf-8"), file.relative_to(root).as_posix()
    lines = source.split("\n")
    changes = _changes_of_python(source) if file.suffix == ".py" else _changes_of_script(lines)
    equal = defaultdict[tuple[str, str], list[int]](list)
    for function, line, column, before, after in sorted(set(changes), key=lambda change: change[1:]):
        text = lines[line - 1].strip()
        same = equal[function, text]
        if line not in same:
            same.append(line)
        indentation = len(lines[line - 1]) - len(lines[line - 1].lstrip())
        yield Mutation(module, function, text, column - indentation, before, after, same.index(line)), line


def _changes_of_script(lines: Sequence[str]) -> Iterator[Change]:
    for number, line in enumerate(lines, start=1):
        code = re.sub(r'"[^"]*"|`[^`]*`', lambda found: " " * len(found[0]), line.split("// ")[0])
        for pattern, after in SCRIPT.items():
            yield from (("", number, found.start(), found[0], after) for found in re.finditer(pattern, code))


def _changes_of_python(source: str) -> list[Change]:
    visitor = _Visitor(source)
    visitor.visit(ast.parse(source))
    return visitor.changes


class _Visitor(ast.NodeVisitor):
    """Collects changes of expressions; leaves annotations, decorators and f-strings alone."""

    def __init__(self, source: str) -> None:
        self.lines = source.encode().split(b"\n")  # the syntax tree counts columns in bytes
        self.names: list[str] = []
        self.changes: list[Change] = []

    def _add(self, line: int, column: int, before: str, *after: str) -> None:
        column = len(self.lines[line - 1][:column].decode())
        self.changes += [(".".join(self.names), line, column, before, each) for each in after]

    def _add_operator(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        """Add changes of an operator between its operands and their parentheses."""
        before, *after = OPERATORS[type(operator)]
        for line in range(left.end_lineno, right.lineno + 1):
            start = left.end_col_offset if line == left.end_lineno else 0
            end = right.col_offset if line == right.lineno else None
            between = self.lines[line - 1][start:end].split(b"#")[0].decode()
            if found := re.search(rf"(?<!\S){re.escape(before)}(?!\S)", between):
                return self._add(line, start + found.start(), before, *after)

    def _visit_named(self, node: Any) -> None:
        self.names.append(node.name)
        arguments = getattr(node, "args", None)
        defaults = [] if arguments is None else [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        for each in (*defaults, *node.body):
            self.visit(each)
        self.names.pop()

    visit_FunctionDef = visit_ClassDef = _visit_named  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass  # columns in f-strings are wrong before Python 3.12

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self._add_operator(left, right, operator)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._add_operator(left, right, node.op)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OPERATORS and not (_is_sequence(node.left) or _is_sequence(node.right)):
            self._add_operator(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if before := {ast.Not: "not ", ast.USub: "-"}.get(type(node.op)):
            self._add(node.lineno, node.col_offset, before, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool | int | float):
            before = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            after = [str(not node.value)] if isinstance(node.value, bool) else [f"({before} + 1)", f"({before} - 1)"]
            self._add(node.lineno, node.col_offset, before, *after)

    def visit_Slice(self, node: ast.Slice) -> None:
        if node.lower and not node.upper and node.lineno == node.end_lineno:
            before = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            if before.endswith(":"):
                self._add(node.lineno, node.col_offset, before, f":{before[:-1]}")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in NAMES:
            self._add(node.func.end_lineno, node.func.end_col_offset - len(name), name, NAMES[name])
        self.generic_visit(node)


def _is_sequence(node: ast.expr) -> bool:
    """Whether minus would only raise a TypeError."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def draw_mutations(root: Path) -> list[Mutation]:
    """Draw the mutations of a tree with a fixed seed."""
    drawn: list[Mutation] = []
    for place, share in SHARES.items():
        found = list(find_mutations(root, place))
        drawn += random.Random(SEED).sample(found, min(share, len(found)))
    return drawn


def locate_mutation(root: Path, mutation: Mutation) -> tuple[str, int] | None:
    """Return the module and line of a mutation: in its module, else in the one other module that has the line."""
    place = next(place for place in SHARES if mutation.module.startswith(place))
    known = find_mutations(root, place)
    if mutation in known:
        return mutation.module, known[mutation]
    moved = [(each.module, line) for each, line in known.items() if replace(each, module=mutation.module) == mutation]
    return moved[0] if len(moved) == 1 else None


def find_tests(root: Path, module: str) -> list[str]:
    """Return the test files that import a module, else those that import what imports it; its own and small ones first.

    Of a script they are the browser tests that name it.
    """
    stem, seen = Path(module).stem, set[str]()
    tests = _read_sources(root, "tests/**/test_*.py")
    code = _read_sources(root, "core/**/*.py") | _read_sources(root, "dashboard/**/*.py")
    wanted, found = {module}, list[str]()
    while wanted and not found:
        if module.endswith(".py"):
            pattern = "|".join(map(_import_pattern, sorted(wanted)))
            found = [name for name, text in tests.items() if re.search(pattern, text)]
        else:
            pattern = rf"\b{stem}\b"
            found = [name for name, text in tests.items() if "/test_browser" in name and re.search(pattern, text)]
        seen |= wanted
        wanted = {name for name, text in code.items() if re.search(pattern, text)} - seen
    return sorted(found, key=lambda name: (not re.search(rf"test_(browser_)?{stem}\.py", name), len(tests[name])))


def _read_sources(root: Path, pattern: str) -> dict[str, str]:
    return {each.relative_to(root).as_posix(): each.read_text(encoding="utf-8") for each in sorted(root.glob(pattern))}


def _import_pattern(module: str) -> str:
    room, _, name = module.removesuffix(".py").replace("/", ".").rpartition(".")
    names = rf"(?:\([^)]*|[^(\n]*)\b{name}\b"
    return rf"\b{re.escape(room)}\.{name}\b|from {re.escape(room)} import {names}"


def copy_tree(root: Path, target: Path) -> Path:
    """Copy the files that tests read."""
    for each in (root / name for name in COPIED):
        if each.is_dir():
            shutil.copytree(each, target / each.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif each.is_file():
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(each, target / each.name)
    return target


def write_mutated(tree: Path, module: str, line: int, mutation: Mutation) -> str:
    """Change one line of a module; return the text of the module before."""
    source = (tree / module).read_text(encoding="utf-8")
    lines = source.split("\n")
    whole = lines[line - 1]
    start = len(whole) - len(whole.lstrip()) + mutation.column
    assert whole.startswith(mutation.before, start), (mutation, line)
    lines[line - 1] = whole[:start] + mutation.after + whole[start + len(mutation.before) :]
    write_source(tree / module, "\n".join(lines))
    return source


def write_source(path: Path, source: str) -> None:
    """Write a module and remove its compiled copy, which may have the same size and second."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
    path.write_text(source, encoding="utf-8")


def run_tests(tree: Path, tests: Sequence[str], limit: float, *options: str) -> tuple[int, dict[str, Any]]:
    """Run tests in a tree, in a process group of their own; return its exit code and what `Watch` wrote."""
    report = tree / "report.json"
    report.write_text(json.dumps({"ran": 0, "running": "", "failed": []}))
    command = [sys.executable, "-P", __file__, "--watch", str(report), *options, "--tests", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen(command, cwd=tree, env=environment, start_new_session=True, **quiet)
    try:
        child.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.wait()
    return child.returncode, json.loads(report.read_text())


class Watch:
    """A plugin of pytest that runs quick tests first, starts none after the budget, and reports as it goes."""

    def __init__(self, path: Path, budget: float) -> None:
        self.path, self.budget = path, budget
        self.known: dict[str, Any] = {"ran": 0, "running": "", "failed": []}

    def _write(self, **changes: Any) -> None:
        self.known |= changes
        self.path.with_suffix(".part").write_text(json.dumps(self.known))
        self.path.with_suffix(".part").replace(self.path)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(failed=[*self.known["failed"], report.nodeid])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: item.get_closest_marker("slow") is not None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if sum(os.times()[:4]) > self.budget:
            return True  # counts as run
        self._write(running=item.nodeid, ran=self.known["ran"] + 1)
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.known["failed"]:
            self._write(failed=[*self.known["failed"], report.nodeid])


def watch_tests(given: argparse.Namespace) -> int:
    """Run pytest in this process, with the code of the working directory only."""
    import core

    assert Path(core.__file__).is_relative_to(Path.cwd()), core.__file__
    resource.setrlimit(resource.RLIMIT_CPU, (given.cpu_limit, given.cpu_limit))
    options = ["-q", "-n0", "-p", "no:cacheprovider", "-m", given.marked, *(["-x"] if given.first else [])]
    return pytest.main([*options, *given.tests], plugins=[Watch(given.watch, given.budget)])


def measure_mutation(tree: Path, mutation: Mutation, limit: float) -> Result:
    """Break one line of a copied tree, run its tests and repair it."""
    if (found := locate_mutation(tree, mutation)) is None:
        return Result(**vars(mutation), outcome="line gone")
    module, line = found
    started, tests = time.monotonic(), find_tests(tree, module)
    known = Result(**vars(mutation), line=line, files=len(tests), outcome="no test")
    if not tests:
        return known
    source = write_mutated(tree, module, line, mutation)
    try:
        code, report = run_tests(tree, tests, limit, "--first", "--marked", _choose_marks(module))
    finally:
        write_source(tree / module, source)
    outcome = {0: "survived", 1: "killed", 2: "killed", 5: "no test"}.get(code, f"pytest ended with {code}")
    if code < 0:
        outcome = f"killed (ended by signal {-code}: time-out)" if -code in (9, 24) else f"killed (signal {-code})"
    killer = (report["failed"] or [report["running"] if code < 0 else ""])[0]
    seconds = round(time.monotonic() - started, 1)
    return replace(known, outcome=outcome, ran=report["ran"], killer=killer, seconds=seconds)


def _choose_marks(name: str) -> str:
    return "not fuzz" if name.endswith(".js") or "/test_browser" in name else "not fuzz and not browser"


def check_killers(tree: Path, results: Sequence[Result], limit: float) -> list[Result]:
    """Run the tests that killed a mutation once without one; a kill by a test that fails then is unproven."""
    failed = set[str]()
    for marked in ("not fuzz", "not fuzz and not browser"):
        tests = {each.killer for each in results if "::" in each.killer and each.killed and each.outcome == "killed"}
        if chosen := sorted(test for test in tests if _choose_marks(test) == marked):
            options = ("--marked", marked, "--budget", "inf", "--cpu-limit", "3600")
            code, report = run_tests(tree, chosen, 10 * limit, *options)
            failed |= set(report["failed"]) if code in (0, 1) else set(chosen)
    return [replace(each, outcome="unproven") if each.killer in failed else each for each in results]


def read_results(path: Path) -> list[Result]:
    """Read the results of an earlier run."""
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    kinds = {"int": int, "float": float, "str": str}
    return [Result(**{field.name: kinds[str(field.type)](row[field.name]) for field in fields(Result)}) for row in rows]


def write_results(path: Path, results: Sequence[Result]) -> None:
    """Write results as CSV."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Result)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(vars, results))


def describe(result: Result) -> str:
    """Write a row of the table."""
    place = f"{result.module}:{result.line}"
    change = f"{result.before} → {result.after or 'nothing'}"
    ran = f"{result.ran} tests of {result.files} files"
    line = f"{place:42} {change:24} {ran:24} {result.seconds:6.1f} s  {result.outcome}  {result.killer}"
    return f"{line}\n    {result.text}"


def main() -> int:
    """Measure all mutations; with `--against`, fail if one that was killed before survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, help="CSV file of results; what it has is not run again")
    parser.add_argument("--against", type=Path, help="results before: the same mutations are made again")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one mutation")
    parser.add_argument("--most", type=int, help="measure the first so many only")
    for hidden, kind in (("--watch", Path), ("--marked", str), ("--budget", float), ("--cpu-limit", int)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    parser.set_defaults(budget=BUDGET, cpu_limit=CPU_LIMIT)
    parser.add_argument("--first", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tests", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.watch:
        return watch_tests(given)
    before = {each.mutation: each for each in read_results(given.against)} if given.against else {}
    wanted = (list(before) or draw_mutations(ROOT))[: given.most]
    known = {each.mutation: each for each in read_results(given.to)} if given.to and given.to.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        trees = Queue[Path]()
        for number in range(given.jobs):
            trees.put(copy_tree(ROOT, Path(folder) / str(number)))

        def measure(mutation: Mutation) -> None:
            tree = trees.get()
            known[mutation] = measure_mutation(tree, mutation, given.limit)
            trees.put(tree)
            print(describe(known[mutation]), flush=True)
            if given.to:
                write_results(given.to, [known[each] for each in wanted if each in known])

        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(measure, [each for each in wanted if each not in known]))
        results = check_killers(trees.get(), [known[each] for each in wanted], given.limit)
    if given.to:
        write_results(given.to, results)
    print(*map(describe, results), sep="\n")
    print(", ".join(f"{number} {outcome}" for outcome, number in Counter(each.outcome for each in results).items()))
    lost = [each for each in results if each.mutation in before and before[each.mutation].killed and not each.killed]
    lost = [each for each in lost if each.outcome != "line gone"]
    if lost:
        print("Killed before and not now:", *map(describe, lost), sep="\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
