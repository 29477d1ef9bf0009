"""The problems of event-driven integration for a whole system, with their derivatives.

Each is a set of equations R(y; t, q, u, p) = 0 for given modes, with the numbers (1), (2), (4), (5) of
`schemes.event_driven`. Implicit differentiation gives

    dy = -K^-1 (R_t dt + R_q dq + R_u du + R_p dp),     K = dR/dy.

Systems here are small, so that everything is dense. Redundant constraints make K singular but the accelerations and velocities
unique; the least-squares solution of smallest norm is taken then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np

from stickslip.engine.derive import Model, PartType, Percussions, require_balls
from stickslip.engine.numbering import Numbering, PartRows
from stickslip.errors import ModelError
from stickslip.phases.history import Modes
from stickslip.phases.problems import START_OF_SLIP
from stickslip.studies.numeric import Factor, Numeric

SPACES = ("g", "gamma", "N", "F")


class Rates(NamedTuple):
    """Accelerations and forces of a state in given modes, and how they change with (t, q, u) and parameters."""

    rate: np.ndarray  # (qdot, a)
    y: np.ndarray  # (a, la_g, la_gamma, la_N, la_F)
    factor: Factor


class Watched(NamedTuple):
    """What events are zeros of: value, and derivatives by t, x = (q, u) and parameters."""

    value: np.ndarray
    by_t: np.ndarray
    by_x: np.ndarray
    by_p: np.ndarray


class Mechanism:
    """All problems of a system; derivatives by the parameters `wrt` (indices into all parameters)."""

    def __init__(self, model: Model, wrt: Sequence[int]):
        require_balls(model, "this study")
        self.model, system = model, model.system
        self.n_q, self.n_u = system.n_q, system.n_u
        self.n_x = self.n_q + self.n_u
        self.wrt = list(wrt)
        numbering = Numbering(model)
        self._rows = numbering.parts
        self.n = {s: numbering.size[s] for s in SPACES}
        self.elements = [(f.rows, f.normals[0] if f.normals else -1) for f in numbering.frictions]
        if any(len(f.normals) > 1 for f in numbering.frictions):
            raise ModelError(f"{system.name}: this study takes friction of one normal contact, not of several together")
        self.n_y = self.n_u + sum(self.n.values())
        self._t = ca.SX.sym("t")
        self._q, self._u = ca.SX.sym("q", self.n_q), ca.SX.sym("u", self.n_u)
        self._p = ca.SX.sym("p", len(system.parameter_symbols()))
        self._y = ca.SX.sym("y", self.n_y)
        self._chosen = self._p[self.wrt] if self.wrt else ca.SX(0, 1)
        self._modes = [ca.SX.sym(name, self.n[s]) for name, s in (("closed", "N"), ("stick", "F"), ("direction", "F"))]

    # -- assembly ------------------------------------------------------------------------------------------------------

    def _split(self, y: ca.SX) -> tuple[ca.SX, Percussions]:
        ends = np.cumsum([self.n_u, *[self.n[s] for s in SPACES]]).tolist()
        return y[: self.n_u], Percussions(*[y[a:b] for a, b in pairwise(ends)])

    def _assemble(self, local: Callable[[PartType, PartRows], dict[str, ca.SX]], **sizes: str) -> dict[str, ca.SX]:
        """Sum or stack what `local` says about each part; `sizes` names the space of each result."""
        count = {**self.n, "u": self.n_u, "q": self.n_q, "element": len(self.elements)}
        out = {name: ca.SX.zeros(count[space]) for name, space in sizes.items()}
        for part, rows in zip(self.model.parts, self._rows, strict=True):
            for name, value in local(part.type, rows).items():
                place = getattr(rows, sizes[name])
                if place:
                    value = ca.substitute(value, part.type.parameters, self._p[rows.p]) if rows.p else value
                    out[name][place] += value
        return out

    @cached_property
    def _qdot(self) -> ca.SX:
        return self._kinematics(self._q, self._u)

    def _kinematics(self, q: ca.SX, u: ca.SX) -> ca.SX:
        out, at = [], self.model.system.starts
        for k, node in enumerate(self.model.nodes):
            mine = (x[int(at[name][k]) : int(at[name][k + 1])] for name, x in (("q", q), ("u", u)))
            value = node.type.qdot(self._t, *mine)
            p = list(node.parameters)
            out.append(ca.substitute(value, node.type.parameters, self._p[p]) if p else value)
        return ca.vertcat(ca.SX(0, 1), *out)

    # -- (1) motion ----------------------------------------------------------------------------------------------------

    @cached_property
    def _motion_equations(self) -> dict[str, ca.SX]:
        t, (a, la) = self._t, self._split(self._y)
        closed, stick, direction = self._modes

        def local(part: PartType, r: PartRows) -> dict[str, ca.SX]:
            q, u = self._q[r.q], self._u[r.u]
            mine = Percussions(_pick(la.g, r.g), _pick(la.gamma, r.gamma), _pick(la.N, r.N), _pick(la.F, r.F))
            radius, slip = part.radius(t, q, u, mine.N, 1), part.gamma_F(t, q, u)
            sliding, margin, along = [ca.SX(0, 1)], [ca.SX(0, 1)], [ca.SX(0, 1)]
            for k, f in enumerate(part.frictions):
                d = direction[r.F[f.first : f.first + f.size]]
                v, force = slip[f.first : f.first + f.size], mine.F[f.first : f.first + f.size]
                margin.append(radius[k] - (ca.norm_2(force) if f.size > 1 else ca.fabs(force)))
                along.append(ca.dot(d, v))
                if f.size > 1:
                    w = v + START_OF_SLIP * d
                    d = ca.dot(d, d) * w / ca.sqrt(ca.dot(w, w) + 1e-300)
                sliding.append(-radius[k] * d)
            forces = Percussions(mine.g, mine.gamma, mine.N, mine.F + ca.vertcat(*sliding))
            acceleration = a[r.u]
            c, s = _pick(closed, r.N), _pick(stick, r.F)
            return {
                "motion": part.M(t, q) @ acceleration - part.h(t, q, u) - part.W(t, q) @ forces,
                "g": part.g_ddot(t, q, u, acceleration),
                "gamma": part.gamma_dot(t, q, u, acceleration),
                "N": c * part.g_N_ddot(t, q, u, acceleration) + (1 - c) * mine.N,
                "F": s * part.gamma_F_dot(t, q, u, acceleration) + (1 - s) * mine.F,
                "gap": part.g_N(t, q),
                "gap_dot": part.g_N_dot(t, q, u),
                "slip": slip,
                "margin": ca.vertcat(*margin),
                "along": ca.vertcat(*along),
                "gap_ddot": part.g_N_ddot(t, q, u, acceleration),
            }

        sizes = {"motion": "u", "g": "g", "gamma": "gamma", "N": "N", "F": "F", "gap": "N", "gap_dot": "N"}
        return self._assemble(local, **sizes, slip="F", margin="element", along="element", gap_ddot="N")

    @cached_property
    def _motion(self) -> tuple[Numeric, Numeric, Numeric]:
        e = self._motion_equations
        R = ca.vertcat(*[e[name] for name in ("motion", *SPACES)])
        state = [self._t, self._q, self._u, self._p, *self._modes]
        x = ca.vertcat(self._q, self._u)
        zero = ca.substitute(R, self._y, ca.SX.zeros(self.n_y))
        first = Numeric(state, [ca.jacobian(R, self._y), zero, self._qdot])
        by = [ca.jacobian(f, v) for f in (R, self._qdot) for v in (x, self._chosen, self._t)]
        second = Numeric([*state, self._y], by)
        watched = ca.vertcat(e["gap"], self._split(self._y)[1].N, e["margin"], e["along"])
        by = [ca.jacobian(watched, v) for v in (self._t, x, self._chosen, self._y)]
        third = Numeric([*state, self._y], [watched, *by, e["gap_dot"], e["slip"], e["gap_ddot"]])
        return first, second, third

    def motion(self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, m: Modes) -> Rates:
        """(1): rates and forces."""
        K, r, qdot = self._motion[0](t, q, u, p, m.closed, m.stick, m.direction)
        factor = Factor(K)
        y = -factor.solve(r[:, 0])
        return Rates(np.concatenate([qdot[:, 0], y[: self.n_u]]), y, factor)

    def tangent(self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, m: Modes) -> tuple[Rates, Tangent]:
        """The motion and its derivative."""
        motion = self.motion(t, q, u, p, m)
        return motion, Tangent(
            self.n_u, motion.factor, *self._motion[1](t, q, u, p, m.closed, m.stick, m.direction, motion.y)
        )

    def watch(
        self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, m: Modes
    ) -> tuple[Rates, Watched, dict[str, np.ndarray]]:
        """What events are zeros of, in the order gap, la_N, margin to the friction cone, slip along its direction."""
        motion, tangent = self.tangent(t, q, u, p, m)
        value, by_t, by_x, by_p, by_y, gap_dot, slip, gap_ddot = self._motion[2](
            t, q, u, p, m.closed, m.stick, m.direction, motion.y
        )
        y_t, y_x, y_p = (-motion.factor.solve(r) for r in (tangent.R_t, tangent.R_x, tangent.R_p))
        seen = {"gap_dot": gap_dot[:, 0], "slip": slip[:, 0], "gap_ddot": gap_ddot[:, 0]}
        return motion, Watched(value[:, 0], (by_t + by_y @ y_t)[:, 0], by_x + by_y @ y_x, by_p + by_y @ y_p), seen

    # -- (2) impact ----------------------------------------------------------------------------------------------------

    @cached_property
    def _impact(self) -> tuple[Numeric, Numeric]:
        t, q, u_0, (u_1, P) = self._t, self._q, self._u, self._split(self._y)
        names = (("active", "N"), ("stick", "F"), ("slide", "F"))
        active, stick, slide = (ca.SX.sym(name, self.n[s]) for name, s in names)

        def local(part: PartType, r: PartRows) -> dict[str, ca.SX]:
            mine = Percussions(_pick(P.g, r.g), _pick(P.gamma, r.gamma), _pick(P.N, r.N), _pick(P.F, r.F))
            before, after = (t, q[r.q], u_0[r.u]), (t, q[r.q], u_1[r.u])
            xi_N, xi_F, radius = part.xi_N(after, before), part.xi_F(after, before), part.radius(*after, mine.N, 0)
            sliding, spread = [ca.SX(0, 1)], [ca.SX(0, 1)]
            for k, f in enumerate(part.frictions):
                d = slide[r.F[f.first : f.first + f.size]]
                xi = xi_F[f.first : f.first + f.size]
                if f.size > 1:
                    d = ca.dot(d, d) * xi / ca.sqrt(ca.dot(xi, xi) + 1e-300)
                sliding.append(radius[k] * d)
                spread.append(radius[k] * ca.SX.ones(f.size))
            c, s = _pick(active, r.N), _pick(stick, r.F)
            W = part.W(t, q[r.q])
            return {
                "motion": part.M(t, q[r.q]) @ (u_1[r.u] - u_0[r.u]) - W @ mine,
                "g": part.g_dot(*after),
                "gamma": part.gamma(*after),
                "N": c * xi_N + (1 - c) * mine.N,
                "F": s * xi_F + (1 - s) * (mine.F + ca.vertcat(*sliding)),
                "xi_N": xi_N,
                "xi_F": xi_F,
                "radius": ca.vertcat(*spread),
            }

        e = self._assemble(local, motion="u", g="g", gamma="gamma", N="N", F="F", xi_N="N", xi_F="F", radius="F")
        R = ca.vertcat(*[e[name] for name in ("motion", *SPACES)])
        given = [t, q, u_0, self._p, self._y]
        by = [ca.jacobian(R, v) for v in (self._y, t, q, u_0, self._chosen)]
        return Numeric([*given, active, stick, slide], by), Numeric(given, [e["xi_N"], e["xi_F"], e["radius"]])

    def impact_laws(
        self, t: float, q: np.ndarray, u_0: np.ndarray, p: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """xi_N, xi_F and the radius of friction (per component) of an impact."""
        xi_N, xi_F, radius = self._impact[1](t, q, u_0, p, y)
        return xi_N[:, 0], xi_F[:, 0], radius[:, 0]

    def impact(
        self, t: float, q: np.ndarray, u_0: np.ndarray, p: np.ndarray, y: np.ndarray, *status: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """(2): derivatives of u_1 by t, q, u_0 and parameters; status: active contacts, sticking and sliding components."""
        K, *by = self._impact[0](t, q, u_0, p, y, *status)
        factor = Factor(K)
        return tuple(-factor.solve(r)[: self.n_u] for r in by)

    # -- (4, 5) projections --------------------------------------------------------------------------------------------

    @cached_property
    def _project_q(self) -> Numeric:
        t, q, (shift, la), closed = self._t, self._q, self._split(self._y), self._modes[0]
        rest = ca.SX.zeros(self.n_u)
        moved = q + self._kinematics(q, shift) - self._kinematics(q, rest)

        def local(part: PartType, r: PartRows) -> dict[str, ca.SX]:
            mine = Percussions(_pick(la.g, r.g), _pick(la.gamma, r.gamma), _pick(la.N, r.N), _pick(la.F, r.F))
            c, q_0, q_1 = _pick(closed, r.N), q[r.q], moved[r.q]
            return {
                "motion": part.M(t, q_0) @ shift[r.u] - part.W(t, q_0) @ mine,
                "g": part.g(t, q_1),
                "gamma": mine.gamma,
                "N": c * part.g_N(t, q_1) + (1 - c) * mine.N,
                "F": mine.F,
            }

        e = self._assemble(local, motion="u", g="g", gamma="gamma", N="N", F="F")
        R = ca.vertcat(*[e[name] for name in ("motion", *SPACES)])
        by = [ca.jacobian(f, v) for f in (R, moved) for v in (self._y, t, q, self._chosen)]
        by = [ca.substitute(f, self._y, ca.SX.zeros(self.n_y)) for f in by]
        return Numeric([t, q, self._p, closed], by)

    def project_positions(
        self, t: float, q: np.ndarray, p: np.ndarray, closed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(4), for q on the constraints: derivatives of the projected q by t, q and parameters."""
        K, R_t, R_q, R_p, S_y, S_t, S_q, S_p = self._project_q(t, q, p, closed)
        factor = Factor(K)
        return S_t - S_y @ factor.solve(R_t), S_q - S_y @ factor.solve(R_q), S_p - S_y @ factor.solve(R_p)

    @cached_property
    def _project_u(self) -> Numeric:
        t, q, u_0, (u_1, P) = self._t, self._q, self._u, self._split(self._y)
        closed, stick, _ = self._modes

        def local(part: PartType, r: PartRows) -> dict[str, ca.SX]:
            mine = Percussions(_pick(P.g, r.g), _pick(P.gamma, r.gamma), _pick(P.N, r.N), _pick(P.F, r.F))
            c, s, at = _pick(closed, r.N), _pick(stick, r.F), (t, q[r.q], u_1[r.u])
            return {
                "motion": part.M(t, q[r.q]) @ (u_1[r.u] - u_0[r.u]) - part.W(t, q[r.q]) @ mine,
                "g": part.g_dot(*at),
                "gamma": part.gamma(*at),
                "N": c * part.g_N_dot(*at) + (1 - c) * mine.N,
                "F": s * part.gamma_F(*at) + (1 - s) * mine.F,
            }

        e = self._assemble(local, motion="u", g="g", gamma="gamma", N="N", F="F")
        R = ca.vertcat(*[e[name] for name in ("motion", *SPACES)])
        by = [ca.jacobian(R, v) for v in (self._y, t, q, u_0, self._chosen)]
        return Numeric([t, q, u_0, self._p, closed, stick, self._y], [R, *by])

    def project_velocities(
        self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, closed: np.ndarray, stick: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """(5): derivatives of the projected u by t, q, u and parameters."""
        y = np.concatenate([u, np.zeros(self.n_y - self.n_u)])
        R, K, *_ = self._project_u(t, q, u, p, closed, stick, y)
        factor = Factor(K)
        y -= factor.solve(R)[:, 0]  # the problem is linear
        _, _, *by = self._project_u(t, q, u, p, closed, stick, y)
        return tuple(-factor.solve(r)[: self.n_u] for r in by)


@dataclass(frozen=True)
class Tangent:
    """The derivative of x' = (qdot, a), kept so that it can be applied to columns and, transposed, to rows."""

    n_u: int
    factor: Factor
    R_x: np.ndarray
    R_p: np.ndarray
    R_t: np.ndarray
    qdot_x: np.ndarray
    qdot_p: np.ndarray
    qdot_t: np.ndarray

    def push(self, X: np.ndarray, P: np.ndarray) -> np.ndarray:
        """(df/dx) X + (df/dp) P."""
        a = -self.factor.solve(self.R_x @ X + self.R_p @ P)[: self.n_u]
        return np.vstack([self.qdot_x @ X + self.qdot_p @ P, a])

    def pull(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(df/dx)^T row and (df/dp)^T row."""
        n_q = len(self.qdot_x)
        b = np.zeros(len(self.R_x))
        b[: self.n_u] = row[n_q:]
        v = self.factor.solve_transposed(b)
        return self.qdot_x.T @ row[:n_q] - self.R_x.T @ v, self.qdot_p.T @ row[:n_q] - self.R_p.T @ v


def _pick(x: ca.SX, rows: list[int]) -> ca.SX:
    return x[rows] if rows else ca.SX(0, 1)
