"""In which order selected sentences are read."""

from __future__ import annotations

import numpy as np

from core.data.findings import shown
from core.exceptions import InputError
from core.failures.table import Table

ORDERS = {
    "sure": "surest first",
    "wrong": "surest wrong first",
    "margin": "lowest margin first",
    "unsure": "least sure first",
    "file": "as in the file",
}
"""By name, in words."""


def refuse_unknown(order: str) -> None:
    """Every order has a name; none at all is that in which sentences were chosen, else the surest first.

    Raises:
        InputError: there is none of this name; the message has them all.
    """
    if order and order not in ORDERS:
        raise InputError(f"no order {shown(order)}; there are {', '.join(ORDERS)}")


def ordered(table: Table, places: np.ndarray, order: str) -> np.ndarray:
    """(k,) rows of a table in an order, ties as in the file; none: as they are given.

    Raises:
        InputError: there is no such order.
    """
    refuse_unknown(order)
    if not order:
        return places
    places = np.sort(places)
    sure = table.frame["p_said"].to_numpy()[places]
    by = {
        "sure": (-sure,),
        "wrong": (-sure, ~table.wrong[places]),
        "margin": (table.frame["margin"].to_numpy()[places],),
        "unsure": (sure,),
        "file": (places,),
    }
    found: np.ndarray = places[np.lexsort(by[order])]
    return found
