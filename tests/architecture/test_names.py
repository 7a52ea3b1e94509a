"""Function names are verb and noun, docstrings start with a verb, and class names are unique."""

import ast
import re
from collections import Counter
from pathlib import Path

from core import api

ROOT = Path(__file__).resolve().parents[2]
VERBS = set(
    """activate add adjust advance align allow annotate answer append apply arrange ask assemble assign attend
    attribute average balance begin behave believe bind blend bootstrap build cache call cancel carry center change
    check choose classify clean clear clip clone close cluster code collect color colour combine compare compile
    complete compose compute concatenate configure confirm connect continue convert copy count cover create cross cut
    decide decode define delete describe detect divide download draw drop dump edit embed enable encode end escape
    estimate evaluate examine exclude execute expand explain export extend extract fetch fill filter find finish fit
    flatten flip flush fold follow forbid force forget format forward freeze generate get give group grow guard guess
    handle hash hide hold ignore import index infer initialise initialize insert inspect integrate interpolate invert
    iterate join judge keep label lay leave let limit link list listen load locate lock log look make map mark mask
    match measure merge mirror mix model mount move multiply name normalise normalize number offer open order pack pad
    pair parse pass patch perform permute pick pin place plan pool pop predict prepare pretrain print project publish
    put quantize query queue quote raise randomize rank read receive record recover reduce refine refuse relabel
    relocate remember remove rename render renumber reorder repeat replace report reproduce request require rerun
    resample reserve reset reshape resolve restore resume return rotate round run sample save say scale scan score
    search seed
    select send separate serialise serialize serve set shade shift shorten show shuffle silence skip smooth sort spawn
    split spread stack start step stop store stream strip submit suggest sum summarise summarize swap sweep switch
    tabulate tag take tell test toggle tokenise trace train transfer transform translate trim truncate try tune turn
    undo unpack update use validate visit wait warn watch weigh wrap write yield""".split()
)
OTHER = {"is", "has", "to", "from", "as", "on", "can", "main"}  # first words of questions, conversions and handlers
FIXED = {
    "core/formatting.py": {"percent", "plural", "whole_percent", "signed"},  # used inside sentences
    "core/settings.py": {"setting"},
    "dashboard/figures/interval_table.py": {"text", "interval"},  # columns, like `name` and `count`
    "dashboard/export.py": {"figure", "figures"},  # entry points with the names of their commands
    # A page requests these by name (`request_all`); users see the name while they wait.
    "dashboard/reader/models.py": {"pushed", "parts", "lambdas", "patches", "each_method", "reach"},
    "core/api/public_classes.py": {"figure", "sentence", "runs"},  # for notebooks
}
LIBRARIES = {"backward", "zero_grad", "_repr_html_", "_should_skip_dynamo"}  # names of methods called by libraries
API = {function for _, _, function in (each.partition(":") for each in api.VERBS.values())}
API |= {function for functions in api.PYTHON.values() for function in functions}
"""Commands and what is for Python alone: words that people type."""


def find_faults(file: str, source: str) -> list[str]:
    """Return the functions of a file whose name or docstring does not begin with a verb."""
    known = LIBRARIES | FIXED.get(file, set()) | (API if file.startswith("core/api/") else set())
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("__"):
            continue
        if any("property" in ast.unparse(each) for each in node.decorator_list):
            continue
        if node.name not in known and node.name.strip("_").split("_")[0] not in VERBS | OTHER:
            found.append(f"{file}: `{node.name}` is not verb and noun")
        first = re.match(r"\W*([A-Za-z]*)", ast.get_docstring(node) or "")[1].lower()
        if first and first not in VERBS:
            found.append(f"{file}: the docstring of `{node.name}` does not start with a verb")
    return found


def read_sources() -> dict[str, str]:
    files = (path for room in ("core", "dashboard") for path in (ROOT / room).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_functions_are_verb_and_noun_and_docstrings_are_sentences():
    assert [fault for file, source in read_sources().items() for fault in find_faults(file, source)] == []
    nouns = 'def found():\n    """Those without a row."""\ndef read_row():\n    """Return it."""\n'
    assert len(find_faults("a.py", nouns)) == 2


def test_class_names_are_unique():
    nodes = [node for source in read_sources().values() for node in ast.walk(ast.parse(source))]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert len(classes) > 400 and [name for name, count in classes.items() if count > 1] == []
