"""Rooms import each other in one direction only, and modules that must load fast import nothing slow."""

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from fresh import modules_after

ROOT = Path(__file__).resolve().parents[2]
EVERYWHERE = {"core", "core.exceptions", "core.fingerprint", "core.atomic", "core.cache", "core.paths"}
EVERYWHERE |= {"core.lazy_imports", "core.metrics", "core.formatting", "core.settings", "core.json_store"}
EVERYWHERE |= {"core.paper_settings"}  # facts on the papers, from a file of core
CONFIGS = {"core.config", "core.recipes", *(f"core.{room}.config" for room in ("text", "data", "models", "training"))}
DOORS = {  # room → rooms it may import, in addition to itself and to those allowed everywhere
    "text": set(),
    "models": set(),
    "data": {"text"},
    "training": {"text", "data", "models"},
    "evaluation": {"text", "data", "models", "training"},
    "interpret": {"text", "data", "models", "training", "evaluation"},
    "runs": {"text", "data", "models", "training", "evaluation", "interpret"},
    "behavioral_tests": {"text", "data", "models", "training", "evaluation", "runs"},
    "error_analysis": {"text", "data", "models", "training", "evaluation", "interpret", "runs", "behavioral_tests"},
    "lessons": {"text", "data", "models", "training", "evaluation", "interpret", "runs", "papers"},
    "papers": {"text", "data", "models", "training", "evaluation", "interpret", "runs"},
}
ONLY_TORCH = {"torch", "core"}


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def nodes(text: str) -> list[ast.AST]:
    """The imports and calls of a source, parsed once; the other half million nodes are dropped."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


@cache
def imports(path: Path) -> set[str]:
    """Every module imported by a file, at any position."""
    found: set[str] = set()
    for node in nodes(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.add(node.module or "")
    return found


def dotted(path: Path) -> str:
    """The module of a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {dotted(path): path.read_text(encoding="utf-8") for path in (*modules("core"), *modules("dashboard"))}


def imported_files(text: str) -> set[str]:
    """The project's files that a source imports, also inside functions and for type checking."""
    found: set[str] = set()
    for node in nodes(text):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                inside = f"{node.module}.{name.name}"
                found.add(inside if inside in FILES else node.module or "")
    return found & FILES.keys()


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Files that form an import cycle, with the first one again at the end; empty without a cycle."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.slow
def test_imports_have_no_cycles():
    assert circle({name: imported_files(text) for name, text in FILES.items()}) == []


def test_import_cycle_through_a_function_is_detected():
    late = "def late():\n    from core.text import words\n"
    one, other = "core.text.words", "core.text.subword_tokenizers"
    arrows = {one: imported_files(f"import {other}"), other: imported_files(late)}
    assert set(circle(arrows)) == {"core.text.words", "core.text.subword_tokenizers"}


@pytest.mark.slow
def test_core_never_imports_the_dashboard_and_figures_no_streamlit():
    for path in modules("core"):
        assert not {name for name in imports(path) if name.split(".")[0] in ("dashboard", "streamlit", "pickle")}, path
    for path in (*modules("dashboard/figures"), *modules("dashboard/reader")):
        assert "streamlit" not in {name.split(".")[0] for name in imports(path)}, path


@pytest.mark.parametrize("room", DOORS)
def test_packages_import_only_the_packages_allowed_for_them(room):
    for path in modules(f"core/{room}"):
        for name in imports(path) - EVERYWHERE - CONFIGS:
            if name.startswith("core."):
                inside = name.removeprefix("core.")
                open_doors = {room, *DOORS[room]}
                assert any(inside == door or inside.startswith(f"{door}.") for door in open_doors), f"{path}: {name}"


def test_models_import_only_torch_and_the_standard_library():
    for path in modules("core/models"):
        outside = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names) - ONLY_TORCH
        assert not outside, f"{path}: {outside}"
        assert not imports(path) & {"pathlib", "os", "io"}, f"{path}: models know no files"


def test_only_one_package_caches_and_one_file_names_session_keys_and_leaves_pages():
    for path in modules("dashboard"):
        text = path.read_text(encoding="utf-8")
        assert "st.cache_" not in text or path.parent == ROOT / "dashboard" / "data", path
        assert "st.session_state[" not in text or path.name == "state.py", path
        # Streamlit's own method raises an error for widgets bound to the URL, such as the picker of runs.
        assert "st.switch_page(" not in text or path.name == "state.py", path


HEAVY = {"torch", "pandas", "sklearn", "scipy", "streamlit", "plotly", "tokenizers", "umap", "openTSNE", "transformers"}
SCIENCE = {"torch", "pandas", "sklearn", "numpy"}
FIRST_STEP = """
import core.runs.pipeline, torch
from core.training.training_stage import AdamW
p = torch.nn.Parameter(torch.ones(2))
p.grad = torch.ones(2)
AdamW([{"names": ["p"], "params": [p], "weight_decay": 0.1, "rate": 1}]).step(0.1)
"""
WITHOUT = {
    "the command line": ("import core.cli", HEAVY),
    "the verbs": ("import core.api as a; [a.load_verb(command) for command in a.VERBS]", HEAVY),
    "what is installed as sentiscope": ("import core.api.public", HEAVY),
    "configurations": ("import core.config", HEAVY),
    "lists of runs": ("import core.runs.store", HEAVY | SCIENCE),
    "starting a run": ("import core.runs.training_jobs", HEAVY | SCIENCE),
    "histories": ("import core.training.history", SCIENCE),
    "lists of data sets": ("import core.data.sources", SCIENCE),
    "lists of models": ("import core.preset_catalog as p; p.describe_preset('vanilla'); p.list_presets()", {"torch"}),
    "the head of the first page": (
        "import dashboard.widgets.runs, dashboard.screens.runs_table\n"
        "import dashboard.widgets.export, dashboard.figures.results",
        {"pandas"},
    ),
    "the server as it starts": ("from dashboard import launcher; launcher._import_modules()", {"torch", "sklearn"}),
    "a training run until its first step": (FIRST_STEP, {"sklearn", "torch._dynamo", "transformers"}),
}
"""What must be quick, the least demanding last: its code, and modules that it does not wait for."""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The modules loaded after each code."""
    return modules_after({name: code for name, (code, _) in WITHOUT.items()})


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT)
def test_quick_modules_import_nothing_heavy(loaded, name):
    _, heavy = WITHOUT[name]
    assert loaded[name] & heavy == set()


@pytest.mark.slow
def test_heavy_imports_are_detected():
    found = modules_after({"none": "", "one": "import fractions"})
    assert "fractions" in found["one"] - found["none"]
    with pytest.raises(AssertionError, match="no_such_module"):
        modules_after({"gone": "import no_such_module"})


def test_figure_modules_have_a_test_file_of_the_same_name():
    for path in modules("tests/dashboard/figures"):
        topic = f"{path.stem.removeprefix('test_')}.py"
        assert path.stem == "conftest" or (ROOT / "dashboard" / "figures" / topic).exists(), path


def test_private_names_stay_in_their_file():
    for node in (node for text in FILES.values() for node in nodes(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ("core", "dashboard"):
            assert not [name.name for name in node.names if name.name.startswith("_") and name.name != "__version__"]


def test_pages_draw_only_declared_figures():
    """Small pictures in tables and text are no figures; all Plotly figures are drawn by `show`."""
    for path in modules("dashboard"):
        called = (node.func for node in nodes(path.read_text(encoding="utf-8")) if isinstance(node, ast.Call))
        calls = {each.attr for each in called if isinstance(each, ast.Attribute)}
        assert "plotly_chart" not in calls or path.name == "figure.py", path
        assert "screens" not in path.parts or "plotly.graph_objects" not in imports(path), path


def test_widgets_are_shared_and_sections_belong_to_one_page():
    importers: dict[str, set[str]] = {}
    for name, text in FILES.items():
        for other in imported_files(text):
            importers.setdefault(other, set()).add(name)
    shared = [name for name in FILES if name.startswith("dashboard.widgets.")]
    assert [name for name in shared if len(importers[name]) < 2] == []
    pages = {f"dashboard.screens.{path.stem}" for path in modules("dashboard/screens") if "_" not in path.stem}
    for name in (name for name in FILES if name.startswith("dashboard.screens.") and name not in pages):
        page = name.rpartition("_")[0]
        assert page in pages and all(other == page or other.startswith(f"{page}_") for other in importers[name]), name


def test_only_loaded_runs_call_models_so_that_the_temperature_is_applied():
    allowed = {"core.runs.load", "core.evaluation.inference", "core.evaluation.baseline", "core.runs.pipeline"}
    allowed |= {"core.runs.distillation"}  # runs the models of folds, which have no temperature
    asking = {"predict_texts", "inspect_text"}
    assert {
        name
        for name, text in FILES.items()
        for node in nodes(text)
        if isinstance(node, ast.ImportFrom) and asking & {each.name for each in node.names}
    } <= allowed
