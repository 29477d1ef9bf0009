"""Where an event-driven run is: time, state and modes, and what can be done with them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip.engine.derive import Model, PartType
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_1, Field
from stickslip.engine.numbering import FrictionRows
from stickslip.engine.program import Program
from stickslip.engine.runs import Start
from stickslip.phases.history import Jump, Modes
from stickslip.phases.problems import FORCE_F, GAP_DOT, LA, QDOT, SLIP, A, Problems, Trouble, percussions_of
from stickslip.phases.units import Masses, Units

NO_SLIP = 1e-10  # speed, relative to the velocities, that counts as none
QUATERNION = 4


class Course:
    """The state y = (q, u, percussions since the last output) at the time t, in modes that last until the next event."""

    def __init__(self, model: Model, programs: Mapping[str, Program], start: Start):
        size = programs["motion"].layout.size
        self._dependent = programs["motion"].dependent
        self.n_q, self.n_u, self.n_N, self.n_F = start.q.size, start.u.size, size[LA.N], size[LA.F]
        self.units = Units.of(start, self.n_N, self.n_F)
        self.problems = Problems(programs, start, self.units.rate)
        self.elements = programs["motion"].numbering.frictions
        self.percussions = [size[each] for each in LA.fields]
        self.t, self.y = start.t, np.concatenate([start.q, start.u, np.zeros(sum(self.percussions))])
        self.modes = Modes(np.zeros(self.n_N), np.zeros(self.n_F), np.zeros(self.n_F))
        self.floor = np.zeros(self.n_N)  # gaps at the last event where they are negative by rounding errors
        self.scale = 1.0  # of accelerations, in their units
        self._units = [(rows, float(np.linalg.norm(start.q[rows]))) for rows in quaternions(model)]
        self.masses = self._masses()

    @property
    def q(self) -> np.ndarray:
        """Coordinates, a view."""
        return self.y[: self.n_q]

    @property
    def u(self) -> np.ndarray:
        """Velocities, a view."""
        return self.y[self.n_q : self.n_q + self.n_u]

    @property
    def P(self) -> np.ndarray:
        """Percussions since the last output, a view."""
        return self.y[self.n_q + self.n_u :]

    @property
    def sizes(self) -> np.ndarray:
        """How large the coordinates are, for every gap in its unit."""
        return self.units.positions(self.q) * self.units.gap

    def copy(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities."""
        return self.q.copy(), self.u.copy()

    def no_slip(self, y: np.ndarray, element: FrictionRows) -> float:
        """The speed that counts as no slip."""
        speed = self.units.velocities(y[self.n_q : self.n_q + self.n_u])
        return NO_SLIP * speed * float(self.units.slip[element.rows][0])

    def is_off(self, element: FrictionRows) -> bool:
        """Whether a friction element has normal contacts, and none of them is closed."""
        return element.is_off(self.modes.closed)

    def see(self, t: float, y: np.ndarray) -> dict[Field, np.ndarray]:
        """The motion (1) at any state in the present modes.

        Constraints that depend on each other contradict each other off g = 0, so that trial states of an integrator are moved
        onto them first.
        """
        q, u, m = y[: self.n_q], y[self.n_q : self.n_q + self.n_u], self.modes
        if self._dependent:
            q = self._nearest(t, q)
            u = self.problems.project_u(t, q, u, m.closed, m.stick, scale=self.units.velocities(u))[U_1]
        v = self.problems.motion(t, q, u, m.closed, m.stick, m.direction, scale=self.scale)
        self.scale = self.units.accelerations(v[A])
        return v

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """The right-hand side of the differential equation of y."""
        v = self.see(t, y)
        return np.concatenate([v[QDOT], v[A], v[LA.g], v[LA.gamma], v[LA.N], v[FORCE_F]])

    def jump(self, touching: np.ndarray, push: float = 0.0, guess: np.ndarray | None = None) -> Jump:
        """An impact (2) of the contacts that touch; with `push` they are made to separate at that speed.

        guess: where the iterations for the velocities start, if not from those before.
        """
        (q, u), open_ = self.copy(), np.where(touching, -1.0, 1.0)
        start, speed = u if guess is None else guess, np.where(touching, push, 0.0)
        v = self.problems.impact(
            self.t, q, u, open_, speed, start, scale=self.units.velocities(u) + push / self.units.speed
        )
        return Jump(u, v[U_1].copy(), percussions_of(v))

    def take(self, jump: Jump) -> None:
        """Go on with the velocities after an impact."""
        self.u[:] = jump.u_1
        self.P[:] += jump.P

    def project(self, *, velocities: bool = True, recorded: bool = False) -> float:
        """q (and u) onto the constraints of the modes (4, 5); how far that was.

        recorded: the jump of the velocities belongs to the motion, as at the end of a sequence of bounces, and its percussion
        counts; else it takes back an error of the integration.
        """
        m, (q_0, u_0) = self.modes, self.copy()
        self.q[:] = self._nearest(self.t, self.q)
        if velocities:
            v = self.problems.project_u(self.t, self.q, u_0, m.closed, m.stick, scale=self.units.velocities(u_0))
            self.u[:] = v[U_1]
            if recorded:
                self.P[:] += percussions_of(v)
        return max(np.abs(self.q - q_0).max(initial=0.0), np.abs(self.u - u_0).max(initial=0.0))

    def _masses(self) -> Masses:
        """Found by a random velocity, which each contact and each element stops, one at a time."""
        p, none = self.problems, (np.zeros(self.n_N), np.zeros(self.n_F))
        contacts, elements = np.full(self.n_N, np.nan), np.full(len(self.elements), np.nan)
        kept = p.motion.start.copy(), p.project_u.start.copy()
        try:
            u = self.units.u * np.random.default_rng(0).standard_normal(self.n_u)
            u = p.project_u(self.t, self.q, u, *none, scale=self.units.velocities(u))[U_1].copy()
            v = p.motion(self.t, self.q, u, *none, np.zeros(self.n_F))
            for i in range(self.n_N):
                closed = np.eye(1, self.n_N, i)[0]
                contacts[i] = _over(p.project_u(self.t, self.q, u, closed, none[1])[PERCUSSIONS.N][i], v[GAP_DOT][i])
            for k, e in enumerate(self.elements):
                stick = none[1].copy()
                stick[e.rows] = 1.0
                P = p.project_u(self.t, self.q, u, none[0], stick)[PERCUSSIONS.F][e.rows]
                elements[k] = _over(float(np.linalg.norm(P)), float(np.linalg.norm(v[SLIP][e.rows])))
        except Trouble:
            pass
        p.motion.start, p.project_u.start = kept
        return Masses.of(contacts, elements)

    def _nearest(self, t: float, q: np.ndarray) -> np.ndarray:
        """Coordinates on the constraints of the modes (4), quaternions on their length."""
        return self._of_unit_length(self.problems.project_q(t, self._of_unit_length(q), self.modes.closed)[Q_1])

    def _of_unit_length(self, q: np.ndarray) -> np.ndarray:
        q = q.copy()
        for rows, length in self._units:
            q[rows] *= length / np.linalg.norm(q[rows])
        return q


def _over(percussion: float, velocity: float) -> float:
    return abs(percussion / velocity) if velocity else np.nan


def quaternions(model: Model) -> list[slice]:
    """Four coordinates in a row whose length no velocity changes, found for random numbers.

    Rotations of a quaternion keep its length in exact arithmetic; an integrator keeps it to its tolerance only.
    """
    random, out = np.random.default_rng(0), []
    for node, first in zip(model.nodes, model.system.starts["q"].tolist(), strict=False):
        part = node.type
        if part.n_q > part.n_u:
            out += [slice(first + k, first + k + QUATERNION) for k in _invariant(part, random)]
    return out


def _invariant(part: PartType, random: np.random.Generator) -> list[int]:
    import casadi as ca

    from stickslip.engine.expressions import T

    e = part.expressions
    f = ca.Function("qdot", [T, e.q, e.u, e.p], [e.qdot])
    draws = [[random.uniform(0.5, 1.5, n) for n in (1, part.n_q, part.n_u, e.p.numel())] for _ in range(3)]
    rates = [(q, np.array(f(t, q, u, p)).ravel()) for t, q, u, p in draws]
    found: list[int] = []
    for k in range(part.n_q - QUATERNION + 1):
        rows = slice(k, k + QUATERNION)
        still = all(abs(q[rows] @ rate[rows]) <= 1e-12 for q, rate in rates)
        moves = any(np.abs(rate[rows]).max() > 1e-6 for _, rate in rates)
        if still and moves and (not found or k >= found[-1] + QUATERNION):
            found.append(k)
    return found
