"""Arrays of zeros whose memory comes when it is written: room for what may come costs nothing until it does."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np

# Bytes. `np.zeros` writes up to 32 MB of zeros, once a process has freed as much; but pages that come one by one, 4 kB each,
# take ten times as long where all of them are written, so arrays of small models, which every run has anew, do without.
LARGE = 2**18
# Of this process alone: the default of mmap would share scratch arrays with processes that are forked from it.
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


def zeros(shape: int | tuple[int, ...], dtype: Any = float) -> np.ndarray:
    """Like `np.zeros`.

    >>> zeros((2, 3)).shape, float(zeros(10**6).sum())
    ((2, 3), 0.0)
    """
    kind, count = np.dtype(dtype), math.prod(shape) if isinstance(shape, tuple) else shape
    if count * kind.itemsize < LARGE:
        return np.zeros(shape, kind)
    return np.frombuffer(mmap.mmap(-1, count * kind.itemsize, **PRIVATE), kind, count).reshape(shape)
