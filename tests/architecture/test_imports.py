"""Doors between the rooms open one way, and what must be quick imports nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EVERYWHERE = {"core", "core.exceptions", "core.fingerprint", "core.atomic", "core.cache"}
CONFIGS = {"core.config", *(f"core.{room}.config" for room in ("text", "data", "models", "training"))}
DOORS = {  # room → rooms it may import, beside itself and what may stand everywhere
    "text": set(),
    "models": set(),
    "data": {"text", "evaluation.yardstick"},
    "training": {"text", "data", "models"},
    "evaluation": {"text", "data", "models", "training"},
    "interpret": {"text", "data", "models", "training", "evaluation"},
    "runs": {"text", "data", "models", "training", "evaluation"},
    "papers": {"text", "data", "models", "training", "evaluation", "interpret", "runs"},
}
ONLY_TORCH = {"torch", "core"}


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Every module that a file names in an import, wherever it stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", modules("core"), ids=lambda p: str(p.relative_to(ROOT)))
def test_core_never_imports_the_dashboard_or_streamlit(path):
    assert not {name for name in imports(path) if name.split(".")[0] in ("dashboard", "streamlit", "pickle")}


@pytest.mark.parametrize("room", DOORS)
def test_rooms_import_only_through_their_doors(room):
    for path in modules(f"core/{room}"):
        for name in imports(path) - EVERYWHERE - CONFIGS:
            if name.startswith("core."):
                inside = name.removeprefix("core.")
                open_doors = {room, *DOORS[room]}
                assert any(inside == door or inside.startswith(f"{door}.") for door in open_doors), f"{path}: {name}"


def test_models_know_only_torch_and_the_standard_library():
    for path in modules("core/models"):
        outside = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names) - ONLY_TORCH
        assert not outside, f"{path}: {outside}"
        assert not imports(path) & {"pathlib", "os", "io"}, f"{path}: models know no files"


def test_charts_import_no_streamlit():
    for path in modules("dashboard/charts"):
        assert "streamlit" not in {name.split(".")[0] for name in imports(path)}, path


def test_two_files_of_the_dashboard_cache_and_one_names_session_keys():
    for path in modules("dashboard"):
        text = path.read_text(encoding="utf-8")
        assert "st.cache_" not in text or path.name in ("data.py", "datasets.py"), path
        assert "st.session_state[" not in text or path.name == "state.py", path


def test_pages_are_left_by_one_door_only():
    """Streamlit's own raises where a widget of the page is bound to the URL, which the run's picker always is."""
    for path in modules("dashboard"):
        assert "st.switch_page(" not in path.read_text(encoding="utf-8") or path.name == "state.py", path


HEAVY = ("torch", "pandas", "sklearn", "scipy", "streamlit", "plotly", "tokenizers", "umap", "openTSNE")


@pytest.mark.parametrize(
    "module", ["core.cli", "core.verbs", "core.config", "core.runs.store", "core.runs.jobs", "core.runs.worker"]
)
def test_the_command_line_and_lists_of_runs_import_nothing_heavy(module):
    code = f"import sys, {module}; print(*(name for name in {HEAVY} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_a_training_begins_without_scikit_learn_and_torchs_compiler():
    code = "import sys, core.runs.experiment; print({'sklearn', 'torch._dynamo'} & sys.modules.keys())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_the_first_page_shows_its_head_before_pandas_comes():
    code = "import sys, dashboard.widgets.runs, dashboard.widgets.run_table, dashboard.widgets.run_files; "
    code += "import dashboard.widgets.export, dashboard.views.results; print('pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]
