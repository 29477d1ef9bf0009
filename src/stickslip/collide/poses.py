"""Poses and speeds of bodies, from coordinates and velocities."""

from __future__ import annotations

import numpy as np

from stickslip.collide.room import Room
from stickslip.collide.scene import FIXED, PLANAR, RIGID, TRANSLATING, Scene
from stickslip.collide.vectors import Triple, along, cross, minus, row
from stickslip.jit import jit, jit_bare, jit_inline


@jit_bare
def place_bodies(bodies: np.ndarray, dimension: int, q: np.ndarray, room: Room) -> None:
    """Poses of bodies."""
    A, x = room.A, room.x
    for b in range(bodies.shape[0]):
        kind, first = bodies[b, 0], bodies[b, 2]
        if kind == FIXED:
            continue
        for k in range(dimension):
            x[b, k] = q[first + k]
        if kind == PLANAR:
            c, s = np.cos(q[first + 2]), np.sin(q[first + 2])
            A[b, 0, 0], A[b, 0, 1], A[b, 1, 0], A[b, 1, 1] = c, -s, s, c
        elif kind == RIGID:
            p0, p1, p2, p3 = q[first + 3], q[first + 4], q[first + 5], q[first + 6]
            z = 2.0 / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
            A[b, 0, 0], A[b, 1, 1] = 1 - z * (p2 * p2 + p3 * p3), 1 - z * (p1 * p1 + p3 * p3)
            A[b, 2, 2] = 1 - z * (p1 * p1 + p2 * p2)
            A[b, 0, 1], A[b, 1, 0] = z * (p1 * p2 - p0 * p3), z * (p1 * p2 + p0 * p3)
            A[b, 0, 2], A[b, 2, 0] = z * (p1 * p3 + p0 * p2), z * (p1 * p3 - p0 * p2)
            A[b, 1, 2], A[b, 2, 1] = z * (p2 * p3 - p0 * p1), z * (p2 * p3 + p0 * p1)


@jit_bare
def place_all(
    bodies: np.ndarray, points: np.ndarray, fixed_to: np.ndarray, first_normal: int, first_middle: int, dimension: int,
    q: np.ndarray, room: Room,
) -> None:  # fmt: skip
    """Poses of bodies, and of what is fixed to them."""
    place_bodies(bodies, dimension, q, room)
    A, x = room.A, room.x
    for i in range(points.shape[0]):
        b = fixed_to[i]
        if bodies[b, 0] == FIXED:
            continue
        direction = first_normal <= i < first_middle
        for k in range(3):
            value = 0.0 if direction else x[b, k]
            for m in range(3):
                value += A[b, k, m] * points[i, m]
            room.points[i, k] = value
        room.points[i, 3] = points[i, 3]


@jit
def speeds(bodies: np.ndarray, arms: np.ndarray, dimension: int, u: np.ndarray) -> np.ndarray:
    """The largest speed of a point of each body."""
    speed = np.zeros(bodies.shape[0])
    for b in range(bodies.shape[0]):
        kind, first = bodies[b, 0], bodies[b, 3]
        if kind == FIXED:
            continue
        square, spin = 0.0, 0.0
        for k in range(dimension):
            square += u[first + k] ** 2
        if kind != TRANSLATING:
            for k in range(1 if kind == PLANAR else 3):
                spin += u[first + dimension + k] ** 2
        speed[b] = np.sqrt(square) + np.sqrt(spin) * arms[b]
    return speed


@jit_inline
def turned(A: np.ndarray, v: np.ndarray, at: int) -> Triple:
    """A vector in the frame of a body, whose components begin there, in space."""
    x, y, z = v[at], v[at + 1], v[at + 2]
    return (
        A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
        A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
        A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
    )


@jit_bare
def velocity(scene: Scene, A: np.ndarray, places: np.ndarray, b: int, u: np.ndarray, x: Triple) -> Triple:
    """The velocity of the point of body b that is at x, where bodies are at these poses."""
    kind, first = scene.bodies[b, 0], scene.bodies[b, 3]
    if kind == FIXED:
        return (0.0, 0.0, 0.0)
    v = (u[first], u[first + 1], 0.0 if scene.dimension == 2 else u[first + 2])
    arm = minus(x, row(places, b))
    if kind == PLANAR:
        return v[0] - u[first + 2] * arm[1], v[1] + u[first + 2] * arm[0], 0.0
    if kind == RIGID:
        return along(v, 1.0, cross(turned(A[b], u, first + 3), arm))
    return v
