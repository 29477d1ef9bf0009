"""Broad phase: pairs of shapes whose bounding balls are close, from a uniform grid, in time linear in the shapes."""

from __future__ import annotations

import numpy as np

from stickslip.collide.scene import FIXED
from stickslip.collide.solids import HALF_SPACE
from stickslip.collide.world import BODY, KIND
from stickslip.jit import jit

LARGE = 4.0  # times the median: shapes that are larger are compared with all others instead of filling many cells


@jit
def candidates(
    shapes: np.ndarray,
    bodies: np.ndarray,
    reach: np.ndarray,
    apart: np.ndarray,
    middles: np.ndarray,
    margin: float,
    dimension: int,
) -> np.ndarray:
    """Codes first * count + second of the pairs that may touch, sorted."""
    count = shapes.shape[0]
    codes, found = np.empty(64 + 8 * count, np.int64), 0
    small = np.zeros(count, np.bool_)
    limit, radius = _limit(reach), 0.0
    for i in range(count):
        if reach[i] <= limit:
            small[i] = True
            radius = max(radius, reach[i])
    for i in range(count):
        if not small[i]:
            for j in range(count):
                if j != i and (small[j] or j > i) and _near(shapes, bodies, reach, apart, middles, i, j, margin):
                    codes, found = _keep(codes, found, count, i, j)
    size = 2.0 * radius + margin
    buckets = 1
    while buckets < 2 * count:
        buckets *= 2
    head, following = np.full(buckets, -1, np.int64), np.full(count, -1, np.int64)
    cells = np.zeros((count, 3), np.int64)
    depth = 1 if dimension == 3 else 0
    for i in range(count):
        if not small[i]:
            continue
        for k in range(3):
            cells[i, k] = int(np.floor(middles[i, k] / size))
        for a in range(-1, 2):
            for b in range(-1, 2):
                for c in range(-depth, depth + 1):
                    x, y, z = cells[i, 0] + a, cells[i, 1] + b, cells[i, 2] + c
                    j = head[_bucket(x, y, z, buckets)]
                    while j >= 0:
                        if (
                            cells[j, 0] == x
                            and cells[j, 1] == y
                            and cells[j, 2] == z
                            and _near(shapes, bodies, reach, apart, middles, i, j, margin)
                        ):
                            codes, found = _keep(codes, found, count, i, j)
                        j = following[j]
        place = _bucket(cells[i, 0], cells[i, 1], cells[i, 2], buckets)
        following[i], head[place] = head[place], i
    out = codes[:found].copy()
    out.sort()
    return out


@jit
def _limit(reach: np.ndarray) -> float:
    """The radius from which on a shape is large; half-spaces always are."""
    radii = reach.copy()
    radii.sort()
    last = 0
    while last < radii.size and radii[last] < np.inf:
        last += 1
    return LARGE * radii[last // 2] if last > 0 else 0.0


@jit
def _bucket(x: int, y: int, z: int, buckets: int) -> int:
    return (x * 73856093 ^ y * 19349663 ^ z * 83492791) & (buckets - 1)


@jit
def _keep(codes: np.ndarray, found: int, count: int, i: int, j: int) -> tuple[np.ndarray, int]:
    if found == codes.size:
        more = np.empty(2 * codes.size, np.int64)
        more[:found] = codes
        codes = more
    codes[found] = min(i, j) * count + max(i, j)
    return codes, found + 1


@jit
def _near(
    shapes: np.ndarray,
    bodies: np.ndarray,
    reach: np.ndarray,
    apart: np.ndarray,
    middles: np.ndarray,
    i: int,
    j: int,
    margin: float,
) -> bool:
    """Whether two shapes of two bodies, not both fixed, are close and not left out."""
    a, b = shapes[i, BODY], shapes[j, BODY]
    if a == b or (bodies[a, 0] == FIXED and bodies[b, 0] == FIXED):
        return False
    close = reach[i] + reach[j] + margin
    if close < np.inf:
        square = 0.0
        for k in range(3):
            square += (middles[i, k] - middles[j, k]) ** 2
        if square >= close * close:
            return False
    if apart.size > 0:
        code = min(i, j) * shapes.shape[0] + max(i, j)
        place = np.searchsorted(apart, code)
        if place < apart.size and apart[place] == code:
            return False
    return shapes[i, KIND] < HALF_SPACE or shapes[j, KIND] < HALF_SPACE  # half-spaces and holes do not meet each other
