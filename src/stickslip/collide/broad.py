"""Broad phase: pairs of shapes whose bounding balls are close, from a uniform grid, in time linear in the shapes.

Pairs that are a little farther apart are kept too, and serve as long as no shape has moved far. Which pairs are close at a
moment does not depend on when that was done, so a run that continues repeats the rest bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.collide.scene import FIXED
from stickslip.collide.solids import HALF_SPACE
from stickslip.collide.world import BODY, FACE_0, KIND, VERTEX_0
from stickslip.jit import jit

LARGE = 4.0  # times the median: shapes that are larger are compared with all others instead of filling many cells
SLACK = 0.25  # of the median radius, by which more pairs are kept than are close, so that they serve several steps


class Neighbours(NamedTuple):
    """Pairs of shapes that were closer than a distance when their middles were there."""

    first: np.ndarray  # of each pair; pairs are sorted
    second: np.ndarray
    middles: np.ndarray
    distance: float


def nobody(shapes: int) -> Neighbours:
    """Neighbours that are not known yet."""
    return Neighbours(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((shapes, 3)), -np.inf)


@jit
def serve(known: Neighbours, middles: np.ndarray, margin: float) -> bool:
    """Whether all pairs that are closer than the margin now are among those that are known."""
    square = 0.0
    for i in range(middles.shape[0]):
        way = 0.0
        for k in range(3):
            way += (middles[i, k] - known.middles[i, k]) ** 2
        square = max(square, way)
    return margin + 2.0 * np.sqrt(square) < known.distance


@jit
def close_ones(
    known: Neighbours, shapes: np.ndarray, bodies: np.ndarray, reach: np.ndarray, parts: np.ndarray, points: np.ndarray,
    middles: np.ndarray, margin: float,
) -> np.ndarray:  # fmt: skip
    """Which neighbours are closer than the margin now: the same pairs whenever the neighbours were found."""
    found, out = 0, np.empty(known.first.size, np.int64)
    for c in range(known.first.size):
        if _close(shapes, bodies, reach, parts, points, middles, known.first[c], known.second[c], margin):
            out[found] = c
            found += 1
    return out[:found]


@jit
def neighbours(
    shapes: np.ndarray, bodies: np.ndarray, reach: np.ndarray, apart: np.ndarray, parts: np.ndarray, points: np.ndarray,
    middles: np.ndarray, margin: float, dimension: int,
) -> tuple[np.ndarray, np.ndarray, float]:  # fmt: skip
    """Both shapes of all pairs that may touch, sorted, and up to which distance they are complete."""
    count = shapes.shape[0]
    codes, found = np.empty(64 + 8 * count, np.int64), 0
    small = np.zeros(count, np.bool_)
    limit, radius = _limit(reach), 0.0
    margin += SLACK * limit / LARGE
    for i in range(count):
        if reach[i] <= limit:
            small[i] = True
            radius = max(radius, reach[i])
    for i in range(count):
        if not small[i]:
            for j in range(count):
                if (
                    j != i
                    and (small[j] or j > i)
                    and _may_touch(shapes, bodies, apart, i, j)
                    and _close(shapes, bodies, reach, parts, points, middles, i, j, margin)
                ):
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
                            and _close(shapes, bodies, reach, parts, points, middles, i, j, margin)
                            and _may_touch(shapes, bodies, apart, i, j)
                        ):
                            codes, found = _keep(codes, found, count, i, j)
                        j = following[j]
        place = _bucket(cells[i, 0], cells[i, 1], cells[i, 2], buckets)
        following[i], head[place] = head[place], i
    out = codes[:found].copy()
    out.sort()
    return out // count, out % count, margin


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
def _may_touch(shapes: np.ndarray, bodies: np.ndarray, apart: np.ndarray, i: int, j: int) -> bool:
    """Whether two shapes belong to two bodies, not both fixed, and are not left out."""
    a, b = shapes[i, BODY], shapes[j, BODY]
    if a == b or (bodies[a, 0] == FIXED and bodies[b, 0] == FIXED):
        return False
    if apart.size > 0:
        code = min(i, j) * shapes.shape[0] + max(i, j)
        place = np.searchsorted(apart, code)
        if place < apart.size and apart[place] == code:
            return False
    return shapes[i, KIND] < HALF_SPACE or shapes[j, KIND] < HALF_SPACE  # half-spaces and holes do not meet each other


@jit
def _close(
    shapes: np.ndarray, bodies: np.ndarray, reach: np.ndarray, parts: np.ndarray, points: np.ndarray, middles: np.ndarray,
    i: int, j: int, margin: float,
) -> bool:  # fmt: skip
    """Whether the bounding balls of two shapes, or that of one and a fixed half-space, are closer than the margin.

    Half-spaces that turn, and holes, count as close.
    """
    if reach[i] + reach[j] < np.inf:
        square, limit = 0.0, reach[i] + reach[j] + margin
        for k in range(3):
            square += (middles[i, k] - middles[j, k]) ** 2
        return square < limit * limit
    if shapes[i, KIND] == HALF_SPACE:
        i, j = j, i
    if shapes[j, KIND] != HALF_SPACE or bodies[shapes[j, BODY], 0] != FIXED or not reach[i] < np.inf:
        return True
    f, v, height = parts[shapes[j, FACE_0], 0], shapes[j, VERTEX_0], 0.0
    for k in range(3):
        height += points[f, k] * (middles[i, k] - points[v, k])
    return height - points[v, 3] - reach[i] < margin
