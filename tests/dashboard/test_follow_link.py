"""An unbound widget and the link: whichever is newer wins."""

from streamlit.testing.v1 import AppTest


def script() -> None:
    """Draw a menu and a list whose options have labels, as run pickers have."""
    import streamlit as st

    from dashboard import state

    if st.session_state.get("drawn", True):
        state.follow_link("one")
        st.selectbox("one", ["a", "b"], index=None, key="one", format_func=str.upper)
        state.follow_link("many", several=True)
        st.multiselect("many", ["a", "b", "c"], key="many", format_func=str.upper)


def shown(app: AppTest) -> tuple[str | None, list[str], dict[str, list[str]]]:
    """Return both values and the link."""
    link = {name: [given] if isinstance(given, str) else given for name, given in app.query_params.items()}
    return app.selectbox[0].value, app.multiselect[0].value, link


def test_the_link_is_taken_and_has_values_in_place_of_labels():
    app = AppTest.from_function(script)
    app.query_params["one"], app.query_params["many"] = "b", ["c", "a"]
    app.run()
    assert shown(app) == ("b", ["c", "a"], {"one": ["b"], "many": ["c", "a"]})
    app.selectbox[0].set_value("a").run()
    app.multiselect[0].set_value(["b"]).run()
    assert shown(app) == ("a", ["b"], {"one": ["a"], "many": ["b"]})


def test_an_older_link_comes_back_and_what_is_cleared_stays_cleared():
    app = AppTest.from_function(script)
    app.query_params["one"] = "b"
    app.run()
    app.selectbox[0].set_value("a").run()
    app.query_params["one"] = "b"  # *Back*
    assert shown(app.run())[0] == "b"
    app.selectbox[0].set_value(None).run()
    app.multiselect[0].set_value([]).run()
    assert shown(app.run()) == (None, [], {})


def test_another_page_that_draws_neither_does_not_lose_them():
    app = AppTest.from_function(script)
    app.query_params["one"], app.query_params["many"] = "b", ["c"]
    app.run()
    app.session_state["drawn"] = False
    app.query_params.clear()
    app.run()
    app.session_state["drawn"] = True
    assert shown(app.run()) == ("b", ["c"], {"one": ["b"], "many": ["c"]})
