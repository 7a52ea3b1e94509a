"""Pages that only read files do not import torch: the imports of each page in a new server."""

from pathlib import Path

import pytest
from fresh import modules_after

APP = Path(__file__).resolve().parents[2] / "dashboard" / "app.py"
SERVER = """
from streamlit.testing.v1 import AppTest

def opened(page, **parameters):
    app = AppTest.from_file(%r, default_timeout=60)
    app.query_params.update(parameters)
    app.switch_page(f"screens/{page}.py")
    app.run()
    assert not app.exception, app.exception
    return app
"""
DATA = """
app = opened("data", data=%r)
app.button(key="use-data").click().run()
assert not app.exception, app.exception
assert any(button.label == "Train on this" for button in app.button)
"""
MAP = """
app = opened("embeddings", run="finished")
assert any("PCA, 2-D" in each.proto.body for each in app.get("html"))
"""
PAGES = ("runs", "train", "performance", "data", "embeddings")


@pytest.fixture(scope="module")
def loaded(trained, table) -> dict[str, set[str]]:
    """The loaded modules after each page was shown; trained models are chosen, no sentence is typed."""
    pieces = {page: f"opened({page!r}, run='finished')" for page in PAGES}
    pieces = {"": SERVER % str(APP), **pieces, "data": DATA % str(table), "embeddings": MAP}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_RUNS", str(trained))
        patch.setenv("SENTISCOPE_DATA", str(table.parent))
        return modules_after(pieces)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_pages_load_neither_torch_nor_a_projection_library(loaded, page):
    assert loaded[page] & {"torch", "umap", "openTSNE"} == set()
