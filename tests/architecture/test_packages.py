"""What is installed is what is here: every package, and every file that one reads."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
PACKAGES = {str(path.parent.relative_to(ROOT)).replace("/", ".") for path in ROOT.glob("[cd]*/**/__init__.py")}


def test_every_package_is_listed_and_the_starters_are_one():
    assert {"core.runs", "dashboard.screens"} <= PACKAGES
    assert sorted(SETUPTOOLS["packages"]) == sorted({*PACKAGES, "core.starters"}), "list it in pyproject.toml"
    assert SETUPTOOLS["package-dir"] == {"core.starters": "trained"}


@pytest.mark.parametrize("package", ["core", "dashboard"])
def test_every_file_beside_the_code_is_named(package):
    patterns = SETUPTOOLS["package-data"][package]
    for path in (ROOT / package).rglob("*"):
        inside = path.relative_to(ROOT / package).as_posix()
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            assert any(fnmatch(inside, pattern) for pattern in patterns), f"name {package}/{inside} in pyproject.toml"
