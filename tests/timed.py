"""CPU time of what is tested for its cost."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager


@contextmanager
def undisturbed():
    """Without coverage, and without a collector that looks at what all tests before have left."""
    tracer = sys.gettrace()
    sys.settrace(None)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        sys.settrace(tracer)


def least_time(call: Callable[[], object], count: int = 20) -> float:
    """Seconds of CPU time of the fastest of so many calls."""
    times = []
    with undisturbed():
        for _ in range(count):
            begin = time.process_time()
            call()
            times.append(time.process_time() - begin)
    return min(times)
