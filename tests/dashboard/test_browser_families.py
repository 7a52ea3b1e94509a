"""Sentence and Steps of models that no starter is, in a browser: no attention, no network, three ordered classes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import dashboard, settle, visit

from core import verbs
from core.runs.store import RunStore

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WORDS = {"bad": ("bad", "dull", "slow"), "fair": ("fine", "usual", "plain"), "good": ("good", "warm", "wise")}
PRESETS = {"ordered": "ndt-01-n2", "bilstm": "bilstm", "cnn": "cnn", "bayes": "tfidf-nb", "words": "lexicon"}
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def families(tmp_path_factory, tiny) -> Iterator[str]:
    """The app on a run of each preset, whose three classes are a scale."""
    folder = tmp_path_factory.mktemp("families")
    lines = [f"{word} film number {n},{label}" for label, words in WORDS.items() for word in words for n in range(12)]
    (folder / "grades.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    store = RunStore(folder / "runs")
    plain = {name: value for name, value in tiny.items() if not name.startswith("model.")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(folder / "cache"))
        for name, preset in PRESETS.items():
            settings = {**(tiny if preset.startswith("ndt") else plain), "data.order": "bad,fair,good"}
            verbs.train(str(folder / "grades.csv"), preset, settings, name=name, store=store)
    with dashboard(folder / "runs") as address:
        yield address


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 1024)])
@pytest.mark.parametrize("name", PRESETS)
def test_sentence_and_steps_fit_and_axe_finds_nothing_grave(browser, families, name, theme, width):
    page, complaints = visit(browser, families, theme, width)
    for link in ("sentence", "steps"):
        page.goto(f"{families}/{link}?run={name}&text=fine+film,+dull+and+slow")
        page.locator(".s-bar").first.wait_for()
        settle(page)
        found = Axe().run(page).response["violations"]
        assert [f"{r['id']}: {node['html']}" for r in found if r["impact"] in GRAVE for node in r["nodes"]] == []
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
        assert page.get_by_test_id("stException").count() == 0 and complaints == []
