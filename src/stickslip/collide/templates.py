"""The few kinds of detected contacts as equations of two bodies, whose parameters are the numbers that detection writes.

With the feature points x_A, x_B, the directions d_A, d_B (lines; of a plane, d_B is its normal) and the roundings r_A, r_B,
all fixed to their bodies, the gaps are those of `narrow`. They depend on nothing but the relative pose, so the directions of
force are a self-equilibrated pair at every pose: action equals reaction, linear and angular momentum are conserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np

from stickslip.collide.scene import CARRIERS, FIXED, PLANAR, RIGID, TRANSLATING
from stickslip.collide.world import (
    BALL_BALL,
    BALL_CAVITY,
    BALL_LINE,
    BALL_PLANE,
    EGG_BALL,
    EGG_EGG,
    EGG_LINE,
    EGG_PLANE,
    LINE_LINE,
)
from stickslip.math import Scalar, array, cross, dot, norm, sqrt
from stickslip.model.bodies import PlanarBody, PointMass, RigidBody
from stickslip.model.declaration import Equations
from stickslip.model.frames import Carrier, ground
from stickslip.model.system import System

# The columns of Contacts.numbers.
COLUMNS = (
    *[f"{name}.{x}" for name in ("a",) for x in "xyz"], "r_a",
    *[f"b.{x}" for x in "xyz"], "r_b",
    *[f"{name}.{x}" for name in ("d_a", "d_b", "e", "e_1") for x in "xyz"],
    "sign", "mu", "e_N", "e_F",
    *[f"{name}.{x}" for name in ("S_a", "S_b") for x in ("xx", "yy", "zz", "yz", "xz", "xy")],
)  # fmt: skip
KINDS = {
    2: (BALL_BALL, BALL_PLANE, BALL_LINE, BALL_CAVITY, EGG_PLANE, EGG_BALL, EGG_EGG),
    3: (BALL_BALL, BALL_PLANE, BALL_LINE, LINE_LINE, BALL_CAVITY, EGG_PLANE, EGG_BALL, EGG_LINE, EGG_EGG),
}
EGG_STEPS = 3  # of Newton's method for the normal of an ellipsoid: errors 0.1, 1e-2, 1e-4, 1e-8, and of the gap 1e-16


def columns_of(kind: int) -> tuple[str, ...]:
    """The columns that a kind of contact reads; those of one ellipsoid or of two come last."""
    return COLUMNS[: 24 if kind < EGG_PLANE else 36 if kind == EGG_EGG else 30]


@dataclass(frozen=True)
class Template:
    """A kind of contact between two kinds of bodies: equations of placeholder blocks in `system`.

    parameters: the symbols of its columns, in their order; which of them occur depends on the kind.
    """

    kind: int
    bodies: tuple[int, int]
    system: System
    equations: Equations
    parameters: tuple[ca.SX, ...]


def declare_contact(
    equations: Equations,
    kind: int,
    first: Carrier,
    second: Carrier,
    number: Mapping[str, ca.SX],
    frictional: bool,
    name: str,
) -> None:
    """The contact of features of two bodies; `number` has the symbols of its columns."""
    dimension = 2 if 2 in (getattr(first, "dimension", 0), getattr(second, "dimension", 0)) else 3

    def vector(name: str) -> np.ndarray:
        return array([number[f"{name}.{x}"] for x in "xyz"[:dimension]])

    x_a, x_b = first.position(vector("a")), second.position(vector("b"))
    if kind >= EGG_PLANE:
        gap, n, place = _ellipsoid(kind, x_a, x_b, number, first, second, vector("d_a"), vector("d_b"))
    else:
        d_a, d_b = first.direction(vector("d_a")), second.direction(vector("d_b"))
        gap, n, place = _geometry(kind, x_a, x_b, number, d_a, d_b)
    if not frictional:
        equations.contact(gap=gap, restitution=number["e_N"], name=name)
        return
    v = first.velocity_at(place) - second.velocity_at(place)
    if dimension == 2:
        slip = [dot(array([n[1], -n[0]]), v)]
    elif kind == BALL_PLANE:
        t = second.direction(vector("e_1"))
        slip = [dot(t, v), dot(cross(n, t), v)]
    else:
        slip = [dot(t, v) for t in _turned(n, vector("e"), vector("e_1"))]
    law = {"friction": number["mu"], "restitution": number["e_N"], "tangential_restitution": number["e_F"]}
    equations.contact(gap=gap, slip=slip, name=name, **law)


@cache
def template(kind: int, bodies: tuple[int, int], dimension: int, frictional: bool) -> Template:
    """The template of a kind of contact between two kinds of bodies."""
    s = System(f"contact {kind} of {CARRIERS[bodies[0]].__name__} and {CARRIERS[bodies[1]].__name__}")
    first, second = (_placeholder(s, name, k, dimension) for name, k in zip("AB", bodies, strict=True))
    number = {name: s.parameter(name, 1.0) for name in columns_of(kind)}
    equations = Equations("contact")
    declare_contact(equations, kind, first, second, number, frictional, "contact")
    return Template(kind, bodies, s, equations, tuple(number.values()))


def _turned(n: np.ndarray, e: np.ndarray, e_1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tangent e_1 of the detected normal e, turned on the shortest way to n, which a step changes but little."""
    share = array((e + n) / (1 + dot(e, n)))
    t = array(e_1 - dot(e_1, n) * share)
    return t, cross(n, t)


def _geometry(
    kind: int, x_a: np.ndarray, x_b: np.ndarray, number: Mapping[str, ca.SX], d_a: np.ndarray, d_b: np.ndarray
) -> tuple[Scalar, np.ndarray, np.ndarray]:
    """Gap, normal from the second to the first body, and the one place where the force acts on both."""
    r_a, r_b, w = number["r_a"], number["r_b"], array(x_a - x_b)
    if kind == BALL_CAVITY:
        size = norm(w)
        n = array(-w / size)
        return r_b - r_a - size, n, array(x_a - r_a * n)
    if kind == BALL_PLANE:
        return dot(d_b, w) - r_a - r_b, d_b, array(x_a - r_a * d_b)
    if kind == LINE_LINE:
        c = cross(d_a, d_b)
        n = array(number["sign"] * c / norm(c))
        b = dot(d_a, d_b)
        s = (b * dot(d_b, w) - dot(d_a, w)) / (1 - b * b)
        return dot(n, w) - r_a - r_b, n, array(x_a + s * d_a - r_a * n)
    if kind == BALL_LINE:
        w = array(w - dot(w, d_b) * d_b)
    size = norm(w)
    n = array(w / size)
    return size - r_a - r_b, n, array(x_a - r_a * n)


def _ellipsoid(
    kind: int, x_a: np.ndarray, x_b: np.ndarray, number: Mapping[str, ca.SX], first: Carrier, second: Carrier,
    d_a: np.ndarray, d_b: np.ndarray,
) -> tuple[Scalar, np.ndarray, np.ndarray]:  # fmt: skip
    """The same for an ellipsoid, in the frame of its body, where its matrix is constant; see `ellipsoids`.

    The normal is found by Newton's method from the one at detection, which is fixed to the first body: so the gap depends on
    nothing but the relative pose.
    """
    size = len(x_a)
    axes = [first.direction(e) for e in np.eye(size)]

    def local(v: np.ndarray) -> np.ndarray:
        return array([dot(axis, v) for axis in axes])

    S, R = _spread(number, "S_a", size), None
    w, line = local(array(x_a - x_b)), local(second.direction(d_b))
    n, across = line, None
    if kind == EGG_EGG:
        B = np.array([local(second.direction(e)) for e in np.eye(size)]).T
        R = array(B @ _spread(number, "S_b", size) @ B.T)
    if kind == EGG_LINE:
        across = line
        n = array(d_a - dot(d_a, line) * line)
        n = array(n / norm(n))
    elif kind != EGG_PLANE:
        n = d_a
    if kind != EGG_PLANE:
        for _ in range(EGG_STEPS):
            n = array(n + _newton(S, R, w, across, n))
            n = array(n / norm(n))
    foot, other = _far(S, n), _far(R, n)
    gap = dot(n, array(w - foot - other)) - number["r_b"]
    turned = [sum(x * axis[k] for x, axis in zip(n, axes, strict=True)) for k in range(size)]
    place = [x_a[k] - sum(x * axis[k] for x, axis in zip(foot, axes, strict=True)) for k in range(size)]
    return gap, array(turned), array(place)


def _spread(number: Mapping[str, ca.SX], name: str, size: int) -> np.ndarray:
    """The symmetric matrix of an ellipsoid."""
    return array([[number[f"{name}.{min(x, y)}{max(x, y)}"] for x in "xyz"[:size]] for y in "xyz"[:size]])


def _far(S: np.ndarray | None, n: np.ndarray) -> np.ndarray:
    """The point of an ellipsoid about the origin where n is the normal."""
    if S is None:
        return np.zeros(len(n))
    y = array(S @ n)
    return array(y / sqrt(dot(y, n)))


def _newton(S: np.ndarray, R: np.ndarray | None, w: np.ndarray, line: np.ndarray | None, n: np.ndarray) -> np.ndarray:
    """Newton's step across n, as `ellipsoids.newton_step`."""
    g = array(w - _far(S, n) - _far(R, n))
    F = dot(n, g)
    H = array(sum(_bent(each, n) for each in (S, R) if each is not None))
    if len(n) == 2 or line is not None:
        m = array([-n[1], n[0]]) if len(n) == 2 else cross(line, n)
        return array(dot(m, g) / (dot(m, array(H @ m)) + F) * m)
    # H n = 0, so adding a multiple of n n^T changes nothing across n, and the matrix can be inverted.
    M = array(H + F * np.eye(3) + (norm(w) - F) * np.outer(n, n))
    across = array(g - F * n)
    a, b, c = M
    bc = cross(b, c)
    return array([dot(across, bc), dot(across, cross(c, a)), dot(across, cross(a, b))]) / dot(a, bc)


def _bent(S: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The derivative of `_far`: in tangents, radii of curvature."""
    y = array(S @ n)
    s = dot(y, n)
    return array((S - np.outer(y, y) / s) / sqrt(s))


def _placeholder(system: System, name: str, kind: int, dimension: int) -> Carrier:
    zero = np.zeros(dimension)
    if kind == FIXED:
        return ground
    if kind == TRANSLATING:
        return system.add(PointMass(name, mass=1, position=zero))
    if kind == PLANAR:
        return system.add(PlanarBody(name, mass=1, inertia=1))
    return system.add(RigidBody(name, mass=1, inertia=[1, 1, 1]))


def templates(dimension: int, bodies: set[int], frictional: bool) -> list[Template]:
    """All templates of contacts between these kinds of bodies; the place of (kind, first, second) is `template_index`."""
    moving = sorted(bodies - {FIXED})
    pairs = [(a, b) for a in (FIXED, *moving) for b in (FIXED, *moving) if (a, b) != (FIXED, FIXED)]
    return [template(kind, pair, dimension, frictional) for kind in KINDS[dimension] for pair in pairs]


__all__ = ["COLUMNS", "KINDS", "RIGID", "Template", "columns_of", "template", "templates"]
