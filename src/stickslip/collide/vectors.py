"""Vectors of three numbers as tuples, which compiled code keeps in registers."""

from __future__ import annotations

from math import sqrt
from typing import Any, TypeAlias

from stickslip.jit import jit_bare

Triple: TypeAlias = tuple[float, float, float]


@jit_bare
def row(a: Any, i: int) -> Triple:
    """A row of an array."""
    return a[i, 0], a[i, 1], a[i, 2]


@jit_bare
def dot(a: Triple, b: Triple) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit_bare
def cross(a: Triple, b: Triple) -> Triple:
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@jit_bare
def minus(a: Triple, b: Triple) -> Triple:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@jit_bare
def along(a: Triple, s: float, b: Triple) -> Triple:
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@jit_bare
def times(s: float, a: Triple) -> Triple:
    """s a."""
    return s * a[0], s * a[1], s * a[2]


@jit_bare
def length(a: Triple) -> float:
    """Euclidean norm."""
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@jit_bare
def across(n: Triple, e: Triple) -> Triple:
    """The unit vector across n that is closest to e; an arbitrary one where e is parallel to n."""
    t = along(e, -dot(e, n), n)
    size = length(t)
    if size < 1e-3:
        e = (1.0, 0.0, 0.0) if abs(n[0]) < 0.7 else (0.0, 1.0, 0.0)
        t = along(e, -dot(e, n), n)
        size = length(t)
    return times(1.0 / size, t)


@jit_bare
def closest_on_segments(p: Triple, d: Triple, q: Triple, e: Triple) -> tuple[float, float]:
    """The parameters s, t in [0, 1] of the closest points p + s d and q + t e of two segments.

    For parallel segments the points at the beginning or the end of the first one are taken, whichever are closer.
    """
    w = minus(p, q)
    a, b, c, f, g = dot(d, d), dot(d, e), dot(e, e), dot(d, w), dot(e, w)
    det = a * c - b * b
    if det > 1e-12 * a * c:
        return _to_segment(min(max((b * g - c * f) / det, 0.0), 1.0), a, b, c, f, g)
    s, t = _to_segment(0.0, a, b, c, f, g)
    s_1, t_1 = _to_segment(1.0, a, b, c, f, g)
    first, last = along(along(w, s, d), -t, e), along(along(w, s_1, d), -t_1, e)
    return (s_1, t_1) if dot(last, last) < dot(first, first) else (s, t)


@jit_bare
def _to_segment(s: float, a: float, b: float, c: float, f: float, g: float) -> tuple[float, float]:
    """The closest point of the second segment to p + s d, and if it is an end, the closest one of the first to that."""
    t = (b * s + g) / c
    if t < 0.0:
        return min(max(-f / a, 0.0), 1.0), 0.0
    if t > 1.0:
        return min(max((b - f) / a, 0.0), 1.0), 1.0
    return s, t
