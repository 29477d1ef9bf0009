"""The derivative of a run of a scheme that captures events: exact steps between events, saltations at them.

Steps of such a scheme know no times of events, so that differentiating them is wrong through events, at any dt. Here every step
is compared with the modes of the motion (contacts closed or open, friction sticking or sliding). As long as its percussions say
the same, the derivative is the exact one of the step (`studies.stages`). Where they say something else there is an event: the
motion is followed from the start of the step by the laws of the scheme, the event is located, and the derivative is that of
the phases before and after it with the saltation between them. The states are always those of the scheme, so that everything
converges with dt to what event-driven integration gives.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from stickslip.engine.derive import PartType
from stickslip.engine.fields import PERCUSSIONS, Q_1, U_1
from stickslip.engine.numbering import PartRows
from stickslip.engine.run import ProgramRun
from stickslip.engine.runs import Start
from stickslip.model.system import System
from stickslip.phases.history import History, Modes, Phase, Transition
from stickslip.phases.problems import GAP, Trouble
from stickslip.phases.run import EventOptions, EventRun
from stickslip.phases.settle import START
from stickslip.schemes import EventDriven, GeneralizedAlpha, Lobatto, Rattle, Scheme
from stickslip.schemes.alpha_motion import A_0, A_BAR_0, LA_0, LA_BAR_0
from stickslip.solution import Names
from stickslip.solve.prepared import program_of
from stickslip.studies.linearised import Mechanism
from stickslip.studies.numeric import Numeric
from stickslip.studies.saltation import Affine, EventDerivative, saltation
from stickslip.studies.stages import BOUND, CLOSED, LinearMap, StepDerivative
from stickslip.studies.tape import Operation, RungeKuttaStep

CLASSICAL = np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0.0]]), np.array([1, 2, 2, 1]) / 6
LATE = 1.0  # of a step: how much later than in the scheme an event may be
AT_ODDS = 10  # steps in a row that may differ from the motion without an event, before that is said
SETTLED = 1e-6  # of what a free motion reaches in a step: flights and speeds below it end a sequence of bounces


def can_correct(scheme: Scheme) -> bool:
    """Whether the derivative of a scheme can be corrected at events."""
    if isinstance(scheme, Rattle):
        return scheme.restitution == "step"
    if isinstance(scheme, GeneralizedAlpha):
        return scheme.nonsmooth and scheme.solver == "newton" and scheme.release == "total"
    return isinstance(scheme, Lobatto)


class Passage(EventRun):
    """The motion through one step, by the modes that it begins in."""

    def through(self, t_0: float, q: np.ndarray, u: np.ndarray, modes: Modes, t_1: float, late: float) -> History:
        """What happens from t_0 to t_1: phases and events; the first event may also come until `late`."""
        c, self.history = self.course, []
        self._place(t_0, q, u, modes)
        c.floor = np.minimum(c.see(t_0, c.y)[GAP], 0.0)
        self._step, bound = t_1 - t_0, late
        while c.t < t_1:
            begin = c.t, *c.copy()
            event = self._integrate(bound)
            self.history.append(Phase(*begin, c.t if event is not None else t_1, c.modes, 0))
            if event is None:
                return self.history
            if len(self.history) > 2 * self.options.max_events:
                raise Trouble("motion", f"more than {self.options.max_events} events in the step to t = {t_1:.9g}")
            self._settle(event)
            bound = t_1
        if c.t > t_1:
            self.history.append(Phase(c.t, *c.copy(), t_1, c.modes, 0))
        return self.history

    def settled(self, t: float, q: np.ndarray, u: np.ndarray, modes: Modes) -> Transition:
        """The modes of a state whose contacts in `modes` touch: the start of a run, or the end of a sequence of bounces."""
        self.history = []
        self._place(t, q, u, modes)
        self._settle(START)
        now = self.history[0]
        assert isinstance(now, Transition)
        return now

    def _place(self, t: float, q: np.ndarray, u: np.ndarray, modes: Modes) -> None:
        c = self.course
        c.t, c.modes, c.y = t, modes, np.concatenate([q, u, np.zeros(c.P.size)])


class CapturedTape:
    """The linear maps of a run of a scheme that captures events. They act on what the scheme carries from step to step."""

    def __init__(self, system: System, scheme: Scheme, mechanism: Mechanism):
        self.system, self.scheme, self.mechanism = system, scheme, mechanism
        self.program = program_of(system, scheme)
        self.steps = StepDerivative(self.program, scheme, mechanism.wrt)

    def operations(self, start: Start, names: Names) -> Iterator[tuple[int, Operation]]:
        """Each map, and the output row that it leads to, along the run from `start`."""
        m, p, dt, layout = self.mechanism, start.parameters, start.dt, self.program.layout
        event = EventDriven()
        options = EventOptions(event.rtol, event.atol, event.integrator, event.rest_velocity, event.max_events)
        model, programs = program_of(self.system, event)
        passage = Passage(model, programs, start, options)
        run = self.scheme.start(self.program, start)
        assert isinstance(run, ProgramRun)
        places = [layout.places(f) for f in (Q_1, U_1, PERCUSSIONS.N, PERCUSSIONS.F)]
        q, u = start.q, start.u
        none = Modes(*[np.zeros(m.n[s]) for s in ("N", "F", "F")])
        now = passage.settled(start.t, q, u, none)
        height = np.zeros(m.n["N"])
        yield 0, saltation(m, p, now, height, names)
        yield 0, self.steps.start(run.memory.copy(), start.t, dt, p)
        modes, odd, largest = _after(now), 0, 0.0
        for n in range(1, start.steps + 1):
            t_0, t_1 = start.t + (n - 1) * dt, start.t + n * dt
            before = run.memory.copy()
            run.step(1)
            q_1, u_1, P_N, P_F = (run.memory[place].copy() for place in places)
            largest = max(largest, np.abs(P_N).max(initial=0.0))
            seen = self._seen(t_1, q_1, u_1, P_N, P_F, dt, p, largest)
            if _agree(modes, seen, m):
                yield from (
                    (n, missed) for missed in self._missed(t_0, (q, u), (q_1, u_1), p, modes, height, dt, names)
                )
                yield n, self.steps.step(before, run.memory, t_0, t_1, dt, p)
                odd = 0
            else:
                yield n, self._narrow()
                modes, found = yield from self._event_step(
                    passage, n, (t_0, t_1), (q, u), modes, seen, p, height, dt, names
                )
                odd = 0 if found else odd + 1
                if odd > AT_ODDS:
                    said = "no derivative: the steps change modes where the motion has no event; take a smaller dt"
                    yield n, _nothing(m, EventDerivative(t_0, "mismatch", "all", said, exists=False))
                yield n, self._wide(t_1, q_1, u_1, p, modes)
            gap = self._gaps(t_1, q_1, u_1, p)[0]
            height = np.where(modes.closed > 0, 0.0, np.maximum(height, gap))
            modes = _turned(modes, seen, m)
            q, u = q_1, u_1

    def _event_step(
        self,
        passage: Passage,
        n: int,
        t: tuple[float, float],
        x: tuple[np.ndarray, np.ndarray],
        modes: Modes,
        seen: Modes,
        p: np.ndarray,
        height: np.ndarray,
        dt: float,
        names: Names,
    ) -> Generator[tuple[int, Operation], None, tuple[Modes, bool]]:
        """A step with an event: its maps, and the modes that follow."""
        m = self.mechanism
        low = (modes.closed == 0) & (seen.closed > 0) & self._settles(t[0], *x, p, height, dt)
        found = False
        if low.any():
            closed = np.where(low, 1.0, modes.closed)
            now = passage.settled(t[0], *x, Modes(closed, modes.stick, modes.direction))
            said = saltation(m, p, now, height, names)
            event = EventDerivative(
                t[0], "rest", _named(names.contacts, low), "the contact stays closed", said.event.exists
            )
            yield n, Affine(said.S, said.s, event, said.shift, said.tied)
            modes, found = _after(now), True
            x = now.q_1, now.u_1
            if _agree(modes, seen, m):
                yield from ((n, step) for step in self._phase(Phase(t[0], *x, t[1], modes, n), p, height))
                return modes, found
        for item in passage.through(t[0], *x, modes, t[1], t[1] + LATE * dt):
            if isinstance(item, Phase):
                yield from ((n, step) for step in self._phase(item, p, height))
            else:
                yield n, saltation(m, p, item, height, names, blur=dt)
                modes, found = _after(item), True
                height[(item.touching > 0) | (modes.closed > 0)] = 0.0
        return modes, found

    # -- what a step shows ---------------------------------------------------------------------------------------------

    @cached_property
    def _look(self) -> Numeric:
        """Gaps, their velocities and accelerations without contact, bounds of friction and slip."""
        m = self.mechanism
        P_N, dt = ca.SX.sym("P_N", m.n["N"]), ca.SX.sym("dt")

        def local(part: PartType, r: PartRows) -> dict[str, ca.SX]:
            q, u = m._q[r.q], m._u[r.u]
            mine = P_N[r.N] if r.N else ca.SX(0, 1)
            return {"radius": part.radius(m._t, q, u, mine, dt), "slip": part.gamma_F(m._t, q, u)}

        e = m._assemble(local, radius="element", slip="F")
        return Numeric([m._t, m._q, m._u, m._p, P_N, dt], [e["radius"], e["slip"]])

    @cached_property
    def _gap(self) -> Numeric:
        m, e = self.mechanism, self.mechanism._motion_equations
        return Numeric([m._t, m._q, m._u, m._p], [e["gap"], e["gap_dot"]])

    def _gaps(self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gap, gap_dot = self._gap(t, q, u, p)
        return gap[:, 0], gap_dot[:, 0]

    def _seen(
        self,
        t: float,
        q: np.ndarray,
        u: np.ndarray,
        P_N: np.ndarray,
        P_F: np.ndarray,
        dt: float,
        p: np.ndarray,
        largest: float,
    ) -> Modes:
        """The modes that the percussions of a step show."""
        radius, slip = (r[:, 0] for r in self._look(t, q, u, p, np.maximum(P_N, 0.0), dt))
        closed = (CLOSED * max(largest, 1e-300) < P_N).astype(float)
        stick, direction = np.zeros(P_F.size), np.zeros(P_F.size)
        for k, (rows, normal) in enumerate(self.mechanism.elements):
            if normal >= 0 and not closed[normal]:
                continue
            force, speed = np.linalg.norm(P_F[rows]), np.linalg.norm(slip[rows])
            if radius[k] - force > BOUND * radius[k]:
                stick[rows] = 1.0
            elif force > 0:
                direction[rows] = -P_F[rows] / force
            elif speed > 0:
                direction[rows] = slip[rows] / speed
        return Modes(closed, stick, direction)

    def _settles(
        self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, height: np.ndarray, dt: float
    ) -> np.ndarray:
        """Contacts that close without a flight worth the name: the end of a sequence of bounces."""
        m = self.mechanism
        free = Modes(np.zeros(m.n["N"]), np.zeros(m.n["F"]), np.zeros(m.n["F"]))
        _, _, more = m.watch(t, q, u, p, free)
        gap, gap_dot = self._gaps(t, q, u, p)
        size = np.abs(more["gap_ddot"]) * dt
        return np.asarray(
            (np.maximum(height, gap) < SETTLED * size * dt + 1e-12) & (np.abs(gap_dot) < SETTLED * size + 1e-12)
        )

    def _missed(
        self,
        t_0: float,
        x_0: tuple[np.ndarray, np.ndarray],
        x_1: tuple[np.ndarray, np.ndarray],
        p: np.ndarray,
        modes: Modes,
        height: np.ndarray,
        dt: float,
        names: Names,
    ) -> Iterator[Affine]:
        """Touches that are missed by less than a step can tell."""
        (g_0, v_0), (_, v_1) = self._gaps(t_0, *x_0, p), self._gaps(t_0 + dt, *x_1, p)
        for i in np.flatnonzero((modes.closed == 0) & (v_0 < 0) & (v_1 > 0) & (g_0 > 1e-4 * height)):
            a = (v_1[i] - v_0[i]) / dt
            lowest = g_0[i] - v_0[i] ** 2 / (2 * a)
            if lowest < a * dt**2 / 8 and lowest < 1e-3 * height[i]:
                said = f"no derivative: the contact is missed by {lowest:.1e}, less than steps of {dt:g} can tell"
                yield _nothing(
                    self.mechanism, EventDerivative(t_0 - v_0[i] / a, "grazing", names.contacts[i], said, exists=False)
                )

    # -- maps ----------------------------------------------------------------------------------------------------------

    def _phase(self, phase: Phase, p: np.ndarray, height: np.ndarray) -> Iterator[RungeKuttaStep]:
        """One step of the classical method, forwards or back."""
        m, n_q, h = self.mechanism, self.mechanism.n_q, phase.t_1 - phase.t_0
        if h == 0:
            return
        x, (a, b) = np.concatenate([phase.q_0, phase.u_0]), CLASSICAL
        slopes: list[np.ndarray] = []
        stages = []
        for i in range(4):
            y = x + h * sum((c * k for c, k in zip(a[i, :i], slopes, strict=True)), start=np.zeros_like(x))
            t = phase.t_0 + h * float(a[i].sum())
            motion, tangent = m.tangent(t, y[:n_q], y[n_q:], p, phase.modes)
            slopes.append(motion.rate)
            stages.append(tangent)
        middle = x + h / 2 * slopes[1]
        np.maximum(height, self._gaps(phase.t_0 + h / 2, middle[:n_q], middle[n_q:], p)[0], out=height)
        yield RungeKuttaStep(h, a, b, stages)

    def _narrow(self) -> LinearMap:
        """Coordinates and velocities of what the scheme carries."""
        s = self.steps
        return LinearMap(np.eye(s.n_x, s.n), np.zeros((s.n_x, s.n_p)))

    def _wide(self, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray, modes: Modes) -> LinearMap:
        """All that the scheme carries: accelerations and forces of generalized-alpha are those of the motion."""
        s, m = self.steps, self.mechanism
        S, by_p = np.eye(s.n, s.n_x), np.zeros((s.n, s.n_p))
        if A_0 in s.memory:
            motion, tangent = m.tangent(t, q, u, p, modes)
            y_x, y_p = -motion.factor.solve(tangent.R_x), -motion.factor.solve(tangent.R_p)
            ends = np.cumsum([0, m.n_u, *[m.n[x] for x in ("g", "gamma", "N", "F")]])
            for fields in ((A_0, *LA_0.fields), (A_BAR_0, *LA_BAR_0.fields)):
                for k, f in enumerate(fields):
                    rows, of = s.rows(f), slice(ends[k], ends[k + 1])
                    S[rows], by_p[rows] = y_x[of], y_p[of]
        return LinearMap(S, by_p)


def _after(now: Transition) -> Modes:
    assert now.after is not None
    return now.after


def _nothing(m: Mechanism, event: EventDerivative) -> Affine:
    return Affine(np.full((m.n_x, m.n_x), np.nan), np.full((m.n_x, len(m.wrt)), np.nan), event)


def _named(names: Sequence[str], which: np.ndarray) -> str:
    return ", ".join(names[i] for i in np.flatnonzero(which).tolist())


def _agree(modes: Modes, seen: Modes, m: Mechanism) -> bool:
    """Whether a step shows the modes of the motion."""
    if (modes.closed != seen.closed).any():
        return False
    for rows, normal in m.elements:
        if normal >= 0 and not modes.closed[normal]:
            continue
        if modes.stick[rows][0] != seen.stick[rows][0] or modes.direction[rows] @ seen.direction[rows] < 0:
            return False
    return True


def _turned(modes: Modes, seen: Modes, m: Mechanism) -> Modes:
    """Directions of slip in the plane follow those of the steps."""
    direction = modes.direction.copy()
    for rows, _ in m.elements:
        if rows.stop - rows.start > 1 and direction[rows].any() and seen.direction[rows].any():
            direction[rows] = seen.direction[rows]
    return Modes(modes.closed, modes.stick, direction)
