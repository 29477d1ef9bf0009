"""Gaps of detected contacts at another state than the one where they were found."""

from __future__ import annotations

import numpy as np

from stickslip.collide.detect import Room, place_bodies
from stickslip.collide.narrow import BALL_CAVITY, BALL_LINE, BALL_PLANE, LINE_LINE
from stickslip.collide.scene import Contacts, Scene
from stickslip.collide.vectors import Triple, along, cross, dot, length, minus
from stickslip.jit import jit


@jit
def _turned(A: np.ndarray, v: np.ndarray, at: int) -> Triple:
    x, y, z = v[at], v[at + 1], v[at + 2]
    return (
        A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
        A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
        A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
    )


@jit
def gaps_at(scene: Scene, room: Room, contacts: Contacts, q: np.ndarray) -> np.ndarray:
    """The gaps of the features that were found, where the bodies are now."""
    place_bodies(scene.bodies, scene.dimension, q, room)
    out = np.empty(contacts.found[0])
    for c in range(contacts.found[0]):
        first, second, kind, numbers = contacts.body[c, 0], contacts.body[c, 1], contacts.kind[c], contacts.numbers[c]
        A, B = room.A[first], room.A[second]
        a, b = _turned(A, numbers, 0), _turned(B, numbers, 4)
        w = minus(
            (room.x[first, 0] + a[0], room.x[first, 1] + a[1], room.x[first, 2] + a[2]),
            (room.x[second, 0] + b[0], room.x[second, 1] + b[1], room.x[second, 2] + b[2]),
        )
        d_a, d_b = _turned(A, numbers, 8), _turned(B, numbers, 11)
        r = numbers[3] + numbers[7]
        if kind == BALL_PLANE:
            out[c] = dot(d_b, w) - r
        elif kind == LINE_LINE:
            n = cross(d_a, d_b)
            out[c] = numbers[20] * dot(n, w) / length(n) - r
        elif kind == BALL_LINE:
            out[c] = length(along(w, -dot(w, d_b), d_b)) - r
        elif kind == BALL_CAVITY:
            out[c] = numbers[7] - numbers[3] - length(w)
        else:
            out[c] = length(w) - r
    return out
