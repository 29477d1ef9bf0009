"""Linear algebra of small matrices on one thread of BLAS.

OpenBLAS gives matrices of thirty rows to all cores, whose threads then wait for each other: a heap of 30 spheres by `moreau`
took twice the CPU time on two cores. Sums are also taken in another order, so that bits of a run would depend on the machine.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS has one thread; it takes 0.03 ms. Afterwards there are as many as before.

    >>> with one_thread():
    ...     pass
    """
    out: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return out


@cache
def _libraries() -> Any:
    """Those of NumPy and SciPy, once both are loaded."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
