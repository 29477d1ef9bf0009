"""Periodic orbits as zeros: the motion over a period returns to where it began.

Unknowns are the states x_0 .. x_{m-1} at the beginning of m segments, without coordinates that drift, and the period T of an
autonomous system:

    phi_{T/m}(x_k) - x_{k+1} = 0,   x_m = x_0,   and for an autonomous system  s(x_0) = 0.

A gait closes after a single step if left and right change places: then x_m is exchanged before it is compared.

s is the section, or the plane through the guess across the flow. The derivatives of phi are those of `studies.tape`, so that
Newton's method converges through impacts, stick and slip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.fields import Q_1, U_1
from stickslip.engine.runs import Start
from stickslip.errors import (
    ConvergenceError,
    InitialStateError,
    NoDerivativeError,
    OptionError,
    StudyError,
    unknown_name,
)
from stickslip.model.declaration import TIME
from stickslip.model.system import System
from stickslip.phases.history import Modes, Phase, Transition
from stickslip.phases.problems import Problems, Trouble
from stickslip.schemes import EventDriven
from stickslip.schemes.spec import scheme_of
from stickslip.solve.prepared import program_of, refuse_detected
from stickslip.studies.numeric import Numeric
from stickslip.studies.saltation import Affine, EventDerivative
from stickslip.studies.sensitivity import SOLVING, record_run, tape_of
from stickslip.studies.tape import parameter_directions

LOOSE = 1e-2  # what an iterate of Newton's method may violate constraints by; the run projects it


@dataclass(frozen=True)
class Flow:
    """The motion over one segment: its end, the derivatives of the end by start, parameter and duration, the events."""

    x: np.ndarray
    Phi: np.ndarray
    by_parameter: np.ndarray
    rate: np.ndarray
    events: tuple[EventDerivative, ...]

    def exchanged(self, order: np.ndarray) -> Flow:
        """With coordinates that changed places."""
        return Flow(self.x[order], self.Phi[order], self.by_parameter[order], self.rate[order], self.events)


@dataclass(frozen=True)
class ShootingEquations:
    """Residual and Jacobian of the shooting problem at one guess, and the flows that they come from."""

    F: np.ndarray
    J: np.ndarray
    by_parameter: np.ndarray
    flows: tuple[Flow, ...]


def is_autonomous(system: System) -> bool:
    """Whether nothing declared depends on time."""
    expressions = [x for e in system.equations() for x in e.expressions()] + [b.qdot for b in system.blocks]
    return not ca.depends_on(ca.veccat(*expressions), TIME)


def exchanged(system: System, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """The order of coordinates and velocities after those of each pair have changed places."""
    q = [n for b in system.blocks for n in b.q_names]
    u = [n for b in system.blocks for n in b.u_names]
    order = np.arange(len(q) + len(u))
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise OptionError(
                f"exchange = {pairs!r} must be a list of pairs of coordinates, such as [('left', 'right')]"
            )
        for name in pair:
            if name not in q:
                raise OptionError(f"{system.name}: {unknown_name('coordinate', name, q)}")
        if not all(block.canonical for block in system.blocks):
            raise OptionError(f"{system.name}: exchange needs qdot = u")
        for i, k in (tuple(q.index(name) for name in pair), tuple(len(q) + q.index(name) for name in pair)):
            order[[i, k]] = order[[k, i]]
    return order


class Shooting:
    """The equations of periodic orbits of a system; `parameter` is the one to continue in, if there is one."""

    def __init__(
        self,
        system: System,
        *,
        period: Any = None,
        section: Any = None,
        drift: Sequence[str] = (),
        exchange: Sequence[tuple[str, str]] = (),
        segments: int = 1,
        parameter: str | None = None,
        options: Mapping[str, Any] | None = None,
    ):
        refuse_detected(system)
        self.system, self.options, self.segments = system, dict(options or {}), segments
        own = {k: v for k, v in self.options.items() if k not in SOLVING}
        scheme = scheme_of("event-driven", own)
        assert isinstance(scheme, EventDriven)
        self.scheme = scheme
        self.solving = {k: v for k, v in self.options.items() if k in SOLVING}
        self.autonomous, self.parameter = is_autonomous(system), parameter
        names = system.q_names
        for name in drift:
            if name not in names:
                raise OptionError(f"{system.name}: {unknown_name('coordinate', name, names)}")
        self.drift = [names.index(name) for name in drift]
        self.n_x = system.n_q + system.n_u
        self.order = exchanged(system, exchange)
        self.free = [i for i in range(self.n_x) if i not in self.drift]
        self.period = None if self.autonomous else period_function(system, period)
        self.section = None if section is None else section_function(system, section)
        self.plane: tuple[np.ndarray, np.ndarray] | None = None  # across the flow of the guess: a point, a normal
        self.changing: list[int]
        self.directions: np.ndarray
        self.changing, self.directions = (
            ([], np.zeros((0, 0))) if parameter is None else parameter_directions(system, [parameter])
        )
        self.fixed = np.zeros(self.n_x)  # the drifting coordinates of the start
        self.t_start = 0.0
        self.held: dict[int, Modes] = {}  # what is closed and sticks where a segment begins

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.segments * len(self.free) + self.autonomous

    def duration(self, z: np.ndarray, parameters: Mapping[str, float]) -> float:
        """The period, an unknown or given."""
        if self.autonomous:
            return float(z[-1])
        assert self.period is not None
        values = np.array(list(self.system.parameter_values(parameters).values()))
        return positive_period(self.system, float(self.period(values)[0][0, 0]))

    def state(self, z: np.ndarray, k: int) -> np.ndarray:
        """The start of segment k; coordinates that drift begin each segment where the first one does."""
        x = self.fixed.copy()
        x[self.free] = z[k * len(self.free) : (k + 1) * len(self.free)]
        return x

    def flow(
        self, x: np.ndarray, t_start: float, duration: float, parameters: Mapping[str, float], segment: int = 0
    ) -> Flow:
        """Run one segment. Contacts that are closed at its start, or stick, are so for all iterates."""
        s, n_q = self.system, self.system.n_q
        if not duration > 0:
            raise StudyError(f"{s.name}: the period of an iterate is {duration:.3g}; give a better guess")
        try:
            x = self._held_together(x, t_start, parameters, segment)
            run = {"parameters": parameters, "q0": x[:n_q], "u0": x[n_q:], "t_start": t_start, "initial_tol": LOOSE}
            solution, history, p = record_run(s, t_start + duration, duration, self.scheme, {**run, **self.solving})
        except (ConvergenceError, InitialStateError) as error:
            raise StudyError(f"{s.name}: the motion of an iterate cannot be computed: {error}") from error
        begin = history[0]
        if segment not in self.held and isinstance(begin, Transition) and begin.after is not None:
            self.held[segment] = begin.after
        tape = tape_of(s, tuple(self.changing))
        n_p = len(self.changing)
        X = np.hstack([np.eye(self.n_x), np.zeros((self.n_x, 1 if n_p else 0))])
        P = np.hstack([np.zeros((n_p, self.n_x)), self.directions]) if n_p else np.zeros((0, self.n_x))
        events = []
        for _, operation in tape.operations(history, p, self.scheme, solution.names):
            X = operation.push(X, P)
            if isinstance(operation, Affine):
                events.append(operation.event)
                if not operation.event.exists:
                    raise NoDerivativeError(f"{s.name}: the orbit cannot be differentiated, {operation.event}")
        last = history[-1]
        modes = last.modes if isinstance(last, Phase) else last.after
        assert modes is not None
        rate = tape.mechanism.motion(t_start + duration, solution.q[-1], solution.u[-1], p, modes).rate
        end = np.concatenate([solution.q[-1], solution.u[-1]])
        by_parameter = X[:, self.n_x] if n_p else np.zeros(self.n_x)
        return Flow(end, X[:, : self.n_x], by_parameter, rate, tuple(events))

    def _held_together(self, x: np.ndarray, t: float, parameters: Mapping[str, float], segment: int) -> np.ndarray:
        """The state on the contacts that its segment begins with; without that an iterate would fall onto them first."""
        modes = self.held.get(segment)
        if modes is None or not (modes.closed.any() or modes.stick.any()):
            return x
        _, programs = program_of(self.system, self.scheme)
        p, n_q = np.array(list(self.system.parameter_values(parameters).values())), self.system.n_q
        start = Start(p, x[:n_q], x[n_q:], t, t, 1.0, 0, 1e-12, 30, 0.0, "")
        problems = Problems(programs, start)
        try:
            q = problems.project_q(t, x[:n_q], modes.closed)[Q_1]
            return np.concatenate([q, problems.project_u(t, q, x[n_q:], modes.closed, modes.stick)[U_1]])
        except Trouble as trouble:
            raise StudyError(f"{self.system.name}: the contacts of an iterate cannot be closed: {trouble}") from trouble

    def equations(self, z: np.ndarray, parameters: Mapping[str, float]) -> ShootingEquations:
        """Residual and Jacobian."""
        m, n, T = self.segments, len(self.free), self.duration(z, parameters)
        F, J, by = np.zeros(self.size), np.zeros((self.size, self.size)), np.zeros(self.size)
        flows, free = [], self.free
        for k in range(m):
            flow = self.flow(self.state(z, k), self.t_start + k * T / m, T / m, parameters, k)
            rows, following = slice(k * n, (k + 1) * n), (k + 1) % m
            if k == m - 1:
                flow = flow.exchanged(self.order)
            F[rows] = flow.x[free] - self.state(z, following)[free]
            J[rows, rows] += flow.Phi[np.ix_(free, free)]
            J[rows, following * n : (following + 1) * n] -= np.eye(n)
            by[rows] = flow.by_parameter[free]
            if self.autonomous:
                J[rows, -1] = flow.rate[free] / m
            elif self.parameter is not None:
                by[rows] += flow.rate[free] * self._period_slope(parameters)
            flows.append(flow)
        if self.autonomous:
            x = self.state(z, 0)
            F[-1], row = self._phase(x, parameters)
            J[-1, :n] = row[free]
        return ShootingEquations(F, J, by, tuple(flows))

    def _period_slope(self, parameters: Mapping[str, float]) -> float:
        assert self.period is not None
        slope = self.period(np.array(list(self.system.parameter_values(parameters).values())))[1]
        return float(slope[0, self.changing] @ self.directions[:, 0])

    def _phase(self, x: np.ndarray, parameters: Mapping[str, float]) -> tuple[float, np.ndarray]:
        if self.section is not None:
            p = np.array(list(self.system.parameter_values(parameters).values()))
            value, by_x = self.section(0.0, x[: self.system.n_q], x[self.system.n_q :], p)
            return float(value[0, 0]), by_x[0]
        assert self.plane is not None
        point, normal = self.plane
        return float(normal @ (x - point)), normal

    def monodromy(self, flows: Sequence[Flow]) -> np.ndarray:
        """The derivative over the whole period, without coordinates that drift."""
        total = np.eye(self.n_x)
        for flow in flows:
            total = flow.Phi @ total
        return total[np.ix_(self.free, self.free)]


def period_function(system: System, period: Any) -> Numeric:
    """The period of the forcing as a function of the parameters, with its derivative."""
    if period is None:
        raise OptionError(f"{system.name} depends on time: give the period of its forcing")
    p = ca.vertcat(ca.SX(0, 1), *system.parameter_symbols().values())
    try:
        value = ca.SX(period)
    except (NotImplementedError, TypeError):
        raise OptionError(f"period = {period!r} must be a number, or an expression of parameters") from None
    known = {s.__hash__() for s in ca.symvar(p)}
    foreign = [s.name() for s in ca.symvar(value) if s.__hash__() not in known]
    if value.numel() != 1 or foreign:
        named = f"; it depends on {', '.join(map(repr, foreign))}" if foreign else ""
        raise OptionError(
            f"period = {period} must be one number, or an expression of parameters of {system.name!r}{named}"
        )
    return Numeric([p], [value, ca.jacobian(value, p)])


def positive_period(system: System, period: float) -> float:
    """The period, if it can be one."""
    if not (np.isfinite(period) and period > 0):
        raise OptionError(f"{system.name}: the period is {period:g}; it must be a number > 0")
    return period


def section_function(system: System, section: Any) -> Numeric:
    """s(t, q, u, p) and its derivatives by (q, u)."""
    q, u = ca.vertcat(*[b.q for b in system.blocks]), ca.vertcat(*[b.u for b in system.blocks])
    p = ca.vertcat(ca.SX(0, 1), *system.parameter_symbols().values())
    try:
        value = ca.SX(section)
    except (NotImplementedError, TypeError):
        raise OptionError(f"section = {section!r} must be an expression that is zero on the section") from None
    known = {s.__hash__() for s in ca.symvar(ca.vertcat(TIME, q, u, p))}
    foreign = [s.name() for s in ca.symvar(value) if s.__hash__() not in known]
    if value.numel() != 1 or foreign or not ca.depends_on(value, ca.vertcat(q, u)):
        raise OptionError(
            f"section = {section} must be one expression of coordinates and velocities of {system.name!r}"
        )
    return Numeric([TIME, q, u, p], [value, ca.jacobian(value, ca.vertcat(q, u))])


def signature(flows: Sequence[Flow]) -> tuple[tuple[str, str], ...]:
    """The kinds of events of an orbit, in their order."""
    return tuple((e.kind, e.name) for flow in flows for e in flow.events if e.kind != "start")
