"""What lies outside the checkout changes nothing: every test has a machine of its own, wherever it runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import streamlit as st

from core.cache import get_cache_folder
from core.config import compose
from core.runs.store import RunStore, get_runs_dir
from core.text.pos_tags import Tagger, tag_texts

WORDS = ["a", "good", "film", "!"]
WRONG = [7] * len(WORDS)


def test_home_caches_and_runs_are_in_a_folder_of_the_test_and_no_hub_is_called(machine):
    assert Path.home() == Path.cwd() == machine
    assert get_cache_folder().is_relative_to(machine) and get_runs_dir().is_relative_to(machine)
    ours = {name: value for name, value in os.environ.items() if name.startswith(("SENTISCOPE_", "STREAMLIT_", "HF_"))}
    folders = {"SENTISCOPE_RUNS": f"{machine}/runs", "SENTISCOPE_STARTERS": f"{machine}/no-starters"}
    assert ours == folders | {"HF_HUB_OFFLINE": "1"}


@pytest.mark.parametrize("turn", ["one", "another"])
def test_tests_find_no_data_of_other_tests(machine, turn):
    assert list(machine.iterdir()) == []
    get_cache_folder().mkdir(parents=True)
    RunStore().create(compose("vanilla"), "vanilla", turn)
    assert [record.run for record in RunStore().list()] == [turn]


@pytest.fixture(scope="module")
def of_the_module() -> tuple[Path, Path]:
    return get_cache_folder(), get_runs_dir()


def test_shared_fixtures_use_a_folder_of_the_session_and_the_settings_of_the_project(machine, of_the_module):
    for folder in of_the_module:
        assert folder.is_relative_to(machine.parent) and not folder.is_relative_to(machine)
    assert tag_texts(Tagger("en"), [WORDS]) == [bytes(Tagger("en").tag(WORDS))] != [bytes(WRONG)]
    assert st.get_option("server.port") == 8501


@pytest.mark.slow
def test_subprocess_of_a_test_uses_the_test_folders(machine):
    code = "import core.cache, core.runs.store; print(core.cache.get_cache_folder(), core.runs.store.get_runs_dir())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(Path(folder).is_relative_to(machine) for folder in done.stdout.split())


@pytest.fixture
def poisoned(tmp_path, monkeypatch) -> dict[str, str]:
    """Environment variables of a machine with wrong content in every searched folder."""
    home = tmp_path / "home"
    for cache in (home / ".cache" / "sentiscope", tmp_path / "cache"):
        with monkeypatch.context() as patch:
            patch.setenv("SENTISCOPE_CACHE", str(cache))
            patch.setattr(Tagger, "tag", lambda self, words: WRONG)
            assert tag_texts(Tagger("en"), [WORDS]) == [bytes(WRONG)]
    RunStore(tmp_path / "runs").create(compose("vanilla"), "vanilla", "foreign")
    (home / ".streamlit").mkdir()
    (home / ".streamlit" / "config.toml").write_text("[server]\nport = 1234\n")
    folders = {f"SENTISCOPE_{name}": str(tmp_path / name.lower()) for name in ("CACHE", "RUNS", "DATA")}
    return {**os.environ, **folders, "HOME": str(home), "SENTISCOPE_JOBS": "none", "STREAMLIT_SERVER_PORT": "4321"}


@pytest.mark.slow
def test_polluted_environment_changes_nothing(poisoned):
    """Run all tests above in a new pytest session on that machine."""
    options = ["-q", "-m", "", "-p", "no:cacheprovider", "-k", "not polluted_environment"]
    command = [sys.executable, "-m", "pytest", *options, __file__]
    done = subprocess.run(command, env=poisoned, cwd=poisoned["HOME"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "5 passed, 1 deselected" in done.stdout, done.stdout + done.stderr
