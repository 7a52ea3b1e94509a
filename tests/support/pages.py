"""Open a page of the dashboard directly, like a link does."""

import json
import time
from collections.abc import Callable, Iterable
from typing import Any

from streamlit.testing.v1 import AppTest

from dashboard.data import data
from dashboard.figures.figure import Source
from dashboard.state import TEXT as TYPED

TEXT = "good film, dull and slow"


def opened(app: AppTest, page: str, **parameters: str) -> AppTest:
    """The page that a link with these parameters opens."""
    for name, value in parameters.items():
        app.query_params[name] = value
    if page:  # otherwise the start page
        app.switch_page(f"screens/{page}.py")  # a page's path is its file name
    app.run()
    return app


def source_of_test() -> Source:
    """Return the data of figures of `finished` on its test split, inside a script of an `AppTest`."""
    return Source(data.store().read("finished"), data, split="test")


def sentence(app: AppTest, **parameters: str) -> AppTest:
    """Open the page Sentence with a text and, unless a parameter differs, with the run `finished`."""
    return opened(app, "sentence", **{"run": "finished", "text": TEXT, "more": "all", **parameters})


def press(app: AppTest, key: str) -> AppTest:
    """Click a button and run the page."""
    app.button(key=key).click().run()
    return app


def type_text(app: AppTest, text: str) -> AppTest:
    """Type the sentence of the page."""
    app.text_input(key=TYPED).set_value(text).run()
    return app


def rerun_while(app: AppTest, waits: Callable[[], bool]) -> AppTest:
    """Run the page again until it no longer waits, at most 20 seconds."""
    for _ in range(200):
        if not waits():
            return app
        time.sleep(0.1)
        app.run()
    raise AssertionError("the page still waits")


def charts(app: AppTest) -> list[dict[str, Any]]:
    """List the specifications of the charts, from the top."""
    return [json.loads(each.proto.spec) for each in app.get("plotly_chart")]


def named(elements: Iterable[Any], label: str) -> Any:
    """Return the element with this label."""
    return next(each for each in elements if each.label == label)


def words(app: AppTest) -> str:
    """All words in the page's own markup."""
    return " ".join(element.proto.body for element in app.get("html"))


def text_of(app: AppTest) -> str:
    """All words on the page, markup included."""
    elements = [each for each in app.main if each is not None]
    parts = [getattr(element, "body", "") or getattr(element, "value", "") for element in elements]
    html = [element.proto.body for element in app.get("html")]
    return " ".join(str(part) for part in [*parts, *html])


def drawn(app: AppTest, name: str) -> list[Any]:
    """The data that the page sends to each component of this name, from the top."""
    found = (each.proto for each in app.get("bidi_component"))
    return [json.loads(each.json) for each in found if each.component_name.endswith(f"sentiscope_{name}")]
