"""Sentence and Steps of models that no starter is, in a browser: no attention, no network, three ordered classes."""

import re

import pytest
from browsing import LOOKS, is_too_wide, open_page, settle, show, violations, visit
from playwright.sync_api import expect

from core import api

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WORDS = {"bad": ("bad", "dull", "slow"), "fair": ("fine", "usual", "plain"), "good": ("good", "warm", "wise")}
PRESETS = {"ordered": "ndt-01-n2", "bilstm": "bilstm", "cnn": "cnn", "bayes": "tfidf-nb", "words": "lexicon"}


@pytest.fixture(scope="module")
def families(library, server, tmp_path_factory, tiny) -> str:
    """The app with a run of each preset, with three ordered classes."""
    folder = tmp_path_factory.mktemp("families")
    lines = [f"{word} film number {n},{label}" for label, words in WORDS.items() for word in words for n in range(12)]
    (folder / "grades.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    plain = {name: value for name, value in tiny.items() if not name.startswith("model.")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(folder / "cache"))
        for name, preset in PRESETS.items():
            settings = {**(tiny if preset.startswith("ndt") else plain), "data.order": "bad,fair,good"}
            api.train(str(folder / "grades.csv"), preset, settings, name=name, store=library)
    return server


@pytest.mark.parametrize("name", PRESETS)
def test_pages_of_each_family_fit_and_have_no_serious_accessibility_faults(browser, families, name):
    """Test Sentence light and wide and Steps dark and narrow for one family, the reverse for the next."""
    first, second = LOOKS if list(PRESETS).index(name) % 2 else reversed(LOOKS)
    page, complaints = visit(browser, families, *first)
    open_page(page, f"{families}/sentence?run={name}&text=fine+film,+dull+and+slow")
    for link in ("Sentence", "Steps"):
        if link == "Steps":
            page.get_by_role("link", name=link, exact=True).click()
            page.wait_for_url(re.compile(rf"/steps\?.*run={name}"))
            show(page, *second)
        expect(page.get_by_role("heading", level=1, name=link, exact=True)).to_be_visible()
        page.locator(".s-bar").first.wait_for()
        settle(page)
        assert violations(page) == [] and not is_too_wide(page, "[data-testid=stMain]"), link
        assert page.get_by_test_id("stException").count() == 0 and complaints == [], link
