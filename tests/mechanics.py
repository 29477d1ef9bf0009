"""The functions of mechanics of a whole system for numbers, and the identities that link them."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

import stickslip as ss
from stickslip.engine.derive import derive
from stickslip.math import quaternion_rotation
from stickslip.model.bodies import PlanarBody, PointMass, RigidBody
from stickslip.model.system import System

STEP = 1e-6  # of central differences: truncation 1e-12, rounding 1e-10


class Mechanics:
    """M, h, W, g, g_dot, ... of a system at a state; sums and stacks over its parts."""

    def __init__(self, system: System):
        self.system, self.model = system, derive(system)
        self.p = np.array(list(system.parameter_values().values()))
        self._functions: dict[str, tuple] = {}

    @cached_property
    def at(self) -> dict[str, np.ndarray]:
        return {x: np.cumsum([0, *[getattr(b, x).numel() for b in self.system.blocks]]) for x in "qu"}

    def _rows(self, part, x: str) -> np.ndarray:
        return np.concatenate([np.arange(self.at[x][b], self.at[x][b + 1]) for b in part.blocks])

    def _values(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> list[np.ndarray]:
        out = []
        for k, part in enumerate(self.model.parts):
            kind = part.type
            if (name, k) not in self._functions:
                T, Q, U = ca.SX.sym("t"), ca.SX.sym("q", kind.n_q), ca.SX.sym("u", kind.n_u)
                whole = {"g", "g_N", "M", "potential", "W"}
                value = getattr(kind, name)(T, Q) if name in whole else getattr(kind, name)(T, Q, U)
                parts = [getattr(value, s) for s in ("g", "gamma", "N", "F")] if name == "W" else [value]
                self._functions[name, k] = ca.Function("f", [T, Q, U, kind.parameters], [ca.densify(v) for v in parts])
            f = self._functions[name, k]
            value = f.call([t, q[self._rows(part, "q")], u[self._rows(part, "u")], self.p[list(part.parameters)]])
            out.append([np.array(v) for v in value])
        return out

    def scalar(self, name: str, q, u, t=0.0) -> float:
        return float(sum(v[0].sum() for v in self._values(name, t, q, u)))

    def stack(self, name: str, q, u, t=0.0) -> np.ndarray:
        """Rows of constraints or contacts, in the order of the system."""
        return np.concatenate([np.zeros(0), *[v[0][:, 0] for v in self._values(name, t, q, u)]])

    def h(self, q, u, t=0.0) -> np.ndarray:
        out = np.zeros(self.system.n_u)
        for part, value in zip(self.model.parts, self._values("h", t, q, u), strict=True):
            np.add.at(out, self._rows(part, "u"), value[0][:, 0])
        return out

    def M(self, q, t=0.0) -> np.ndarray:
        n = self.system.n_u
        out = np.zeros((n, n))
        for part, value in zip(self.model.parts, self._values("M", t, q, np.zeros(n)), strict=True):
            rows = self._rows(part, "u")
            out[np.ix_(rows, rows)] += value[0]
        return out

    def W(self, which: str, q, t=0.0) -> np.ndarray:
        """Columns of force directions: which = g, gamma, N, F."""
        n, k = self.system.n_u, ("g", "gamma", "N", "F").index(which)
        columns = [np.zeros((n, 0))]
        for part, value in zip(self.model.parts, self._values("W", t, q, np.zeros(n)), strict=True):
            column = np.zeros((n, value[k].shape[1]))
            column[self._rows(part, "u")] = value[k]
            columns.append(column)
        return np.hstack(columns)

    @cached_property
    def _qdot(self) -> ca.Function:
        blocks = self.system.blocks
        return ca.Function(
            "qdot",
            [ca.vertcat(*[b.q for b in blocks]), ca.vertcat(*[b.u for b in blocks])],
            [ca.vertcat(*[b.qdot for b in blocks])],
        )

    def qdot(self, q, u) -> np.ndarray:
        return np.array(self._qdot(q, u))[:, 0]

    def along(self, f, q, u, t=0.0) -> np.ndarray:
        """Central difference of f(t, q) along the motion qdot = B u."""
        v = self.qdot(q, u)
        return (f(q + STEP * v, t + STEP) - f(q - STEP * v, t - STEP)) / (2 * STEP)


def random_state(system: System, random: np.random.Generator, spread: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Near the initial one, with any velocity; quaternions have length one."""
    q = system.q_initial + spread * random.normal(size=system.n_q)
    at = 0
    for block in system.blocks:
        if not block.canonical:
            p = slice(at + 3, at + 7)
            q[p] /= np.linalg.norm(q[p])
        at += block.q.numel()
    return q, random.normal(size=system.n_u)


def rigid_motion(system: System, q, u, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The whole system turned and shifted."""
    q, u = q.copy(), u.copy()
    at_q = at_u = 0
    p = random.normal(size=4)
    p /= np.linalg.norm(p)
    alpha, d = random.uniform(-3, 3), random.normal(size=3)
    A = quaternion_rotation(p)
    turn = np.array([[np.cos(alpha), -np.sin(alpha)], [np.sin(alpha), np.cos(alpha)]])
    for part in system.parts:
        if not isinstance(part, (PointMass, PlanarBody, RigidBody)):
            continue
        n = part.dimension
        R = A if n == 3 else turn
        q[at_q : at_q + n] = R @ q[at_q : at_q + n] + d[:n]
        u[at_u : at_u + n] = R @ u[at_u : at_u + n]
        if isinstance(part, PlanarBody):
            q[at_q + 2] += alpha
        if isinstance(part, RigidBody):
            a, b = p, q[at_q + 3 : at_q + 7].copy()
            q[at_q + 3] = a[0] * b[0] - a[1:] @ b[1:]
            q[at_q + 4 : at_q + 7] = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
        at_q, at_u = at_q + len(part.q), at_u + len(part.u)
    return q, u


def parting_guides() -> ss.System:
    """A slider in two guides, one of which moves away at t = 0.05: from then on no step has a solution."""
    s = ss.System("parting guides")
    (x,), (v,) = s.coordinates("x", initial=[0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.constraint(x, name="fixed guide")
    s.constraint(x - ss.math.maximum(s.time - 0.05, 0), name="moving guide")
    return s
