"""Indices of compiled loops are never negative, so nothing is compiled that would count them from the end.

Numba tests each index and adds the length of the array to a negative one, because Python does: three instructions for each
of the loads that a step of a small mechanism mostly consists of, and loops that LLVM does not turn into vectors. Without them
a slider-crank takes 0.7 of the time (`bench/run.py`). Numba has no option for it, but one function that makes the test; here it
is replaced for functions of this package alone. If a later Numba has no such function, its test stays, and only time is lost.

What makes this safe: with STICKSLIP_BOUNDS=1 every index is compared with both ends of its array, for 1.3 times the time of a
slider-crank, and one that is negative or too large is an IndexError. A test runs mechanisms so, and the whole suite can be.
"""

from __future__ import annotations

import logging
import os
from typing import Any

CHECKED = os.environ.get("STICKSLIP_BOUNDS", "0") == "1"
OURS = "stickslip"  # part of the names of compiled functions, which contain those of their modules


def leave_out_wrapping() -> None:
    """From now on; loads Numba's compiler."""
    from numba.core import types
    from numba.np import arrayobj

    usual = getattr(arrayobj, "fix_integer_index", None)
    if usual is None:
        logging.getLogger(__name__).warning("this version of Numba compiles slower loops than others")
        return
    if usual.__module__ == __name__:
        return

    def fix_integer_index(context: Any, builder: Any, kind: Any, index: Any, *others: Any) -> Any:
        if kind.signed and OURS in builder.function.name:
            return context.cast(builder, index, kind, types.intp)
        return usual(context, builder, kind, index, *others)

    arrayobj.fix_integer_index = fix_integer_index
