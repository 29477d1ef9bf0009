"""Where a step that takes seconds looks whether somebody asks to stop.

Runs are asked between steps. The solvers for hard steps also ask here, between their own iterations; the run then goes back to
the step before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Abandoned(BaseException):
    """The present step is given up."""


_here = threading.local()


@contextmanager
def patient_until(asked: Callable[[], bool]) -> Iterator[None]:
    """Inside, in this thread, `look` gives up as soon as `asked` says so."""
    before = getattr(_here, "asked", None)
    _here.asked = asked
    try:
        yield
    finally:
        _here.asked = before


def look() -> None:
    """Give up if somebody asks for it.

    >>> look()
    >>> with patient_until(lambda: True):
    ...     look()
    Traceback (most recent call last):
    stickslip.patience.Abandoned
    """
    asked = getattr(_here, "asked", None)
    if asked is not None and asked():
        raise Abandoned
