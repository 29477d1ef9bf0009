"""What detected contacts did in a step: gaps at its end, percussions as vectors, relative velocities before and after."""

from __future__ import annotations

import numpy as np

from stickslip.collide.ellipsoids import POINT as NO_SPREAD
from stickslip.collide.ellipsoids import UP, Spread, far, moved, newton_step
from stickslip.collide.poses import place_bodies, turned, velocity
from stickslip.collide.room import Room
from stickslip.collide.rows import P_F_0, P_N_0, SLIPS, numbers_at
from stickslip.collide.scene import Contacts, Scene
from stickslip.collide.vectors import Triple, along, cross, dot, length, minus, row, times
from stickslip.collide.world import (
    BALL_CAVITY,
    BALL_LINE,
    BALL_PLANE,
    BODY,
    EGG_EGG,
    EGG_LINE,
    EGG_PLANE,
    LINE_LINE,
    ZERO,
)
from stickslip.jit import jit

# Columns of a report: two shapes, two features, point, normal, gap, percussion, velocity before and after.
EGG_STEPS = 6  # of Newton's method for the normal of an ellipsoid, which a step turns but little
SHAPES, FEATURES, POINT, NORMAL, GAP, PERCUSSION, BEFORE, AFTER, WIDTH = 0, 2, 4, 7, 10, 11, 14, 17, 20


@jit
def report(
    scene: Scene,
    room: Room,
    contacts: Contacts,
    homes: np.ndarray,
    memory: np.ndarray,
    u_0: np.ndarray,
    q_1: np.ndarray,
    u_1: np.ndarray,
    out: np.ndarray,
) -> None:
    """One row per contact, from the poses at the start of the step (in `room`) and the state at its end.

    homes: by code of a type, see `rows.P_N_0`.
    """
    count = scene.shapes.shape[0]
    for c in range(contacts.found[0]):
        first, second = contacts.key[c, 0] // count, contacts.key[c, 0] % count
        f, g = contacts.key[c, 1], contacts.key[c, 2]
        if scene.shapes[first, BODY] != contacts.body[c, 0]:  # the ball belongs to the second of the two shapes
            first, second, f, g = second, first, g, f
        to, n, t = out[c], row(contacts.normal, c), row(contacts.tangent, c)
        to[0], to[1], to[2], to[3] = first, second, f, g
        home, at = homes[contacts.place[c, 0]], contacts.place[c, 1]
        P = times(memory[home[P_N_0] + at], n)
        if home[SLIPS] == 1:
            P = along(P, memory[home[P_F_0] + at], (n[1], -n[0], 0.0))
        elif home[SLIPS] == 2:
            P = along(P, memory[home[P_F_0] + 2 * at], t)
            P = along(P, memory[home[P_F_0] + 2 * at + 1], cross(n, t))
        x = row(contacts.point, c)
        v = minus(
            velocity(scene, room.A, room.x, contacts.body[c, 0], u_0, x),
            velocity(scene, room.A, room.x, contacts.body[c, 1], u_0, x),
        )
        for k in range(3):
            to[POINT + k], to[NORMAL + k], to[PERCUSSION + k], to[BEFORE + k] = x[k], n[k], P[k], v[k]
    place_bodies(scene.bodies, scene.dimension, q_1, room)
    for c in range(contacts.found[0]):
        gap, x = gap_and_foot(room, contacts, c, memory, numbers_at(contacts, homes, c))
        v = minus(
            velocity(scene, room.A, room.x, contacts.body[c, 0], u_1, x),
            velocity(scene, room.A, room.x, contacts.body[c, 1], u_1, x),
        )
        out[c, GAP] = gap
        for k in range(3):
            out[c, AFTER + k] = v[k]


@jit
def gap_and_foot(room: Room, contacts: Contacts, c: int, memory: np.ndarray, at: int) -> tuple[float, Triple]:
    """Gap of the features that were found, where the bodies are now, and the place where the first body touches; its numbers
    begin at a place in the memory.
    """
    first, second, kind, numbers = contacts.body[c, 0], contacts.body[c, 1], contacts.kind[c], memory[at:]
    A, B = room.A[first], room.A[second]
    a, b = turned(A, numbers, 0), turned(B, numbers, 4)
    x = (room.x[first, 0] + a[0], room.x[first, 1] + a[1], room.x[first, 2] + a[2])
    w = minus(x, (room.x[second, 0] + b[0], room.x[second, 1] + b[1], room.x[second, 2] + b[2]))
    d_a, d_b = turned(A, numbers, 8), turned(B, numbers, 11)
    r = numbers[3] + numbers[7]
    if kind >= EGG_PLANE:
        S = _turned_spread(A, numbers, 24)
        R = _turned_spread(B, numbers, 30) if kind == EGG_EGG else NO_SPREAD
        n = d_b
        if kind != EGG_PLANE:
            d = d_b if kind == EGG_LINE else UP if A[2, 2] == 1.0 and S[2] == 0.0 else ZERO
            n = along(d_a, -dot(d_a, d), d)
            n = times(1.0 / length(n), n)
            for _ in range(EGG_STEPS):
                n = moved(n, newton_step(S, R, w, d, n, False))
        return dot(n, minus(minus(w, far(S, n)), far(R, n))) - r, minus(x, far(S, n))
    if kind == BALL_PLANE:
        return dot(d_b, w) - r, along(x, -numbers[3], d_b)
    if kind == LINE_LINE:
        n = cross(d_a, d_b)
        n = times(numbers[20] / length(n), n)
        e = dot(d_a, d_b)
        x = along(x, (e * dot(d_b, w) - dot(d_a, w)) / (1.0 - e * e), d_a)
        return dot(n, w) - r, along(x, -numbers[3], n)
    if kind == BALL_LINE:
        w = along(w, -dot(w, d_b), d_b)
    size = length(w)
    if kind == BALL_CAVITY:
        return numbers[7] - numbers[3] - size, along(x, numbers[3] / size, w)
    return size - r, along(x, -numbers[3] / size, w)


@jit
def _turned_spread(A: np.ndarray, v: np.ndarray, at: int) -> Spread:
    """The matrix of an ellipsoid in the frame of a body, in space: A S A^T."""
    S = np.empty((3, 3))
    S[0, 0], S[1, 1], S[2, 2] = v[at], v[at + 1], v[at + 2]
    S[1, 2] = S[2, 1] = v[at + 3]
    S[0, 2] = S[2, 0] = v[at + 4]
    S[0, 1] = S[1, 0] = v[at + 5]
    out = np.zeros(6)
    for k in range(6):
        i, j = (k, k) if k < 3 else (1, 2) if k == 3 else (0, 2) if k == 4 else (0, 1)
        for m in range(3):
            for n in range(3):
                out[k] += A[i, m] * S[m, n] * A[j, n]
    return out[0], out[1], out[2], out[3], out[4], out[5]
