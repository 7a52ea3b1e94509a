"""A page of the dashboard, opened directly, as a link opens it."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest


def opened(app: AppTest, page: str, **parameters: str) -> AppTest:
    """The page as a link with these parameters shows it; no exception may be on it."""
    for name, value in parameters.items():
        app.query_params[name] = value
    if page != "overview":
        app.switch_page(f"screens/{page}.py")  # each page's path is its file's name, so nothing need run before
    app.run()
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    """All words that the page shows in markup of its own."""
    return " ".join(element.proto.body for element in app.get("html"))


def text_of(app: AppTest) -> str:
    """All words on the page, markup included."""
    parts = [
        getattr(element, "body", "") or getattr(element, "value", "") for element in app.main if element is not None
    ]
    html = [element.proto.body for element in app.get("html")]
    return " ".join(str(part) for part in [*parts, *html])


def drawn(app: AppTest, name: str) -> list[Any]:
    """What the page gives each of our components of this name to draw, from the top."""
    found = (each.proto for each in app.get("bidi_component"))
    return [json.loads(each.json) for each in found if each.component_name.endswith(f"sentiscope_{name}")]
