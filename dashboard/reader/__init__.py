"""A class that loads and caches all data that figures and pages show; it does not need Streamlit.

A `Reader` has a store and a cache. The command line uses no cache; the dashboard (`dashboard.data`) caches results for
all visitors until a file that they depend on changes.
"""

from dashboard.reader.errors import ErrorReader


class Reader(ErrorReader):
    """A class that reads runs, models and data sets for figures and pages, with caching."""
