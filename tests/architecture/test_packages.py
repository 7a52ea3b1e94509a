"""The installation contains every package and every data file."""

import ast
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

PUBLIC = {"core.api.public": "sentiscope"}
ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
PACKAGES = {str(path.parent.relative_to(ROOT)).replace("/", ".") for path in ROOT.glob("[cd]*/**/__init__.py")}


def test_packages_are_listed_under_their_installed_names():
    assert {"core.runs", "dashboard.screens"} <= PACKAGES
    installed = {PUBLIC.get(name, name) for name in PACKAGES}
    assert sorted(SETUPTOOLS["packages"]) == sorted({*installed, "core.starters"}), "list it in pyproject.toml"
    assert SETUPTOOLS["package-dir"] == {"core.starters": "trained", "sentiscope": "core/api/public"}


def test_notebook_package_only_reexports_core():
    [file] = (ROOT / "core" / "api" / "public").glob("*.py")
    docstring, *imports = ast.parse(file.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr) and {type(node) for node in imports} == {ast.ImportFrom}
    assert all(name.asname == name.name for node in imports for name in node.names)


@pytest.mark.parametrize("package", ["core", "dashboard"])
def test_data_files_are_listed_in_the_package(package):
    patterns = SETUPTOOLS["package-data"][package]
    if package == "core":
        patterns = [*patterns, *(f"api/public/{pattern}" for pattern in SETUPTOOLS["package-data"]["sentiscope"])]
    for path in (ROOT / package).rglob("*"):
        inside = path.relative_to(ROOT / package).as_posix()
        if path.is_file() and path.suffix not in (".py", ".pyc") and path.name != "README.md":  # not packaged
            assert any(fnmatch(inside, pattern) for pattern in patterns), f"name {package}/{inside} in pyproject.toml"
