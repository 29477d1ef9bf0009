"""Derivatives of a motion by parameters and initial states, right through impacts, stick and slip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from stickslip.engine.runs import Start
from stickslip.errors import MethodError, NoDerivativeError, OptionError, unknown_name
from stickslip.model.declaration import TIME
from stickslip.model.system import System
from stickslip.notebook import ShownAsText
from stickslip.phases.history import History, recorded
from stickslip.schemes import EventDriven, Scheme
from stickslip.schemes.spec import label, scheme_of
from stickslip.solution import Solution
from stickslip.solve import solve
from stickslip.solve.prepared import refuse_detected
from stickslip.studies.captured import CapturedTape, can_correct
from stickslip.studies.numeric import Numeric
from stickslip.studies.saltation import Affine, EventDerivative
from stickslip.studies.stages import LinearMap
from stickslip.studies.tape import Operation, Tape, parameter_directions

TAPES: WeakKeyDictionary[System, dict[tuple[int, ...], tuple[tuple[int, ...], Tape]]] = WeakKeyDictionary()
AT_OUTPUT = 1e-11  # of the time: an impact this close to an output time belongs to neither side
SOLVING = (
    "parameters", "q0", "u0", "t_start", "tol", "max_iterations", "prox", "initial_tol", "energy_alarm", "progress",
)  # fmt: skip
REFUSED = ("save_every", "states", "out", "start", "on_failure")


@dataclass(frozen=True)
class Sensitivity(ShownAsText):
    """A motion and its derivatives. It unpacks as `solution, dq, du`.

    dq[name] and du[name] have the shape (n+1, n_q or n_u, size of the input); they hold NaN from the first point without
    derivative on. `events` says for every event how it was treated; `exists` is False if one of them has no derivative.
    dt[name] are the derivatives of the times of the events, of shape (events, size of the input).
    """

    solution: Solution
    dq: dict[str, np.ndarray]
    du: dict[str, np.ndarray]
    dt: dict[str, np.ndarray]
    events: tuple[EventDerivative, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.solution, self.dq, self.du))

    @property
    def exists(self) -> bool:
        """Whether every event has a derivative."""
        return all(event.exists for event in self.events)

    def __str__(self) -> str:
        size = {name: value.shape[2] for name, value in self.dq.items()}
        lines = [f"derivatives by {', '.join(f'{n} ({k})' for n, k in size.items())}; {len(self.events)} events"]
        return "\n".join(lines + [f"  {event}" for event in self.events])


@dataclass(frozen=True)
class Gradient(ShownAsText):
    """A number that depends on the end of a motion, and its derivatives by name."""

    solution: Solution
    value: float
    by: dict[str, np.ndarray]
    events: tuple[EventDerivative, ...]

    def __str__(self) -> str:
        lines = [f"value {self.value:.9g}; {len(self.events)} events"]
        lines += [
            f"  by {name}: {np.array2string(np.asarray(d), precision=6, threshold=12)}" for name, d in self.by.items()
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Inputs:
    """What is varied: names with their columns, the start's columns, parameters that change and how fast."""

    columns: dict[str, slice]
    X: np.ndarray
    changing: tuple[int, ...]
    P: np.ndarray


def sensitivity(
    system: System, t_end: float, dt: float, *, wrt: Sequence[str], method: str | Scheme = "event-driven", **run: Any
) -> Sensitivity:
    """Solve, and differentiate the motion by parameters and initial states.

    wrt: names of parameters, "q0" and "u0" for all initial coordinates and velocities, or the name of one of these.
    method: "event-driven", "rattle", "lobatto" or "generalized-alpha". run: arguments of `solve`, such as parameters, q0, u0,
    t_start, tol and options of the method.

    Events shift in time when an input changes, and that counts: differentiating the steps of a scheme that captures
    events is wrong at any dt. Between events this is the derivative of the integrator's steps, at events the saltation
    matrix of the impact and friction laws. In schemes that capture events these are located inside the step, and the result
    converges with dt to that of event-driven integration.

    A contact that is closed at the start stays closed: initial states vary along it. At grazing and at other points
    without derivative dq and du become NaN, and `events` says why.

    >>> import stickslip as ss
    >>> ball = ss.System("ball against a wall")
    >>> (x,), (v,) = ball.coordinates("x", initial=[1], velocity=[-2])
    >>> ball.kinetic_energy(v**2 / 2)
    >>> ball.contact(gap=x, restitution=ball.parameter("e", 0.8), name="wall")
    >>> solution, dq, du = ss.sensitivity(ball, t_end=1.0, dt=0.1, wrt=["e", "q0", "u0"])
    >>> print(f"{dq['q0'][-1, 0, 0]:.6f} {dq['u0'][-1, 0, 0]:.6f} {du['e'][-1, 0, 0]:.6f}")
    -0.800000 -0.800000 2.000000
    >>> print(f"{ss.sensitivity(ball, t_end=1.0, dt=0.01, wrt=['x'], method='rattle').dq['x'][-1, 0, 0]:.6f}")
    -0.800000
    """
    inputs = _inputs(system, wrt, run.get("parameters"))
    solution, operations, _ = differentiated(system, t_end, dt, method, inputs.changing, run)
    X, P, n, n_x = inputs.X.copy(), inputs.P, system.n_q, system.n_q + system.n_u
    rows = np.full((len(solution), *X.shape), np.nan)
    events, shifts = [], [np.zeros((0, X.shape[1]))]
    for row, operation in operations:
        if isinstance(operation, Affine):
            events.append(operation.event)
            shifts.append(_shift(operation, X, P)[None, :])
        X = _pushed(operation, X, P)
        rows[row] = X[:n_x]
    rows[0] = inputs.X
    _no_side(rows, solution, events)
    dq = {name: rows[:, :n, c] for name, c in inputs.columns.items()}
    du = {name: rows[:, n:, c] for name, c in inputs.columns.items()}
    dt_event = {name: np.vstack(shifts)[:, c] for name, c in inputs.columns.items()}
    return Sensitivity(solution, dq, du, dt_event, tuple(events))


def gradient(
    system: System,
    t_end: float,
    dt: float,
    *,
    of: Any,
    wrt: Sequence[str],
    method: str | Scheme = "event-driven",
    **run: Any,
) -> Gradient:
    """The derivatives of one number by many inputs, by the adjoint: one sweep back, however many inputs there are.

    of: an expression of the system's coordinates, velocities and parameters, taken at the end of the motion. Everything
    else as in `sensitivity`. A point without derivative on the way raises `NoDerivativeError`.

    >>> import stickslip as ss
    >>> ball = ss.System("ball against a wall")
    >>> (x,), (v,) = ball.coordinates("x", initial=[1], velocity=[-2])
    >>> ball.kinetic_energy(v**2 / 2)
    >>> ball.contact(gap=x, restitution=ball.parameter("e", 0.8), name="wall")
    >>> result = ss.gradient(ball, t_end=1.0, dt=0.1, of=x**2, wrt=["e", "q0", "u0"])
    >>> print(f"{result.value:.6f} {result.by['q0'][0]:.6f}")
    0.640000 -1.280000
    """
    inputs = _inputs(system, wrt, run.get("parameters"))
    value = _scalar_function(system, of, inputs.changing)
    solution, sequence, p = differentiated(system, t_end, dt, method, inputs.changing, run)
    operations = [operation for _, operation in sequence]
    events = tuple(o.event for o in operations if isinstance(o, Affine))
    number, row, by_p = (r.ravel() for r in value(solution.t[-1], solution.q[-1], solution.u[-1], p))
    for operation in operations:
        if isinstance(operation, Affine) and not operation.event.exists:
            raise NoDerivativeError(f"{system.name}: {operation.event}", float(number[0]))
        if isinstance(operation, Affine) and len(operation.tied):
            raise NoDerivativeError(
                f"{system.name}: several contacts close at t = {operation.event.t:.9g}; the derivative exists in some "
                "directions only, use sensitivity()",
                float(number[0]),
            )
    if operations and isinstance(operations[-1], LinearMap):  # the scheme carries more than coordinates and velocities
        row = np.concatenate([row, np.zeros(len(operations[-1].S) - row.size)])
    for operation in reversed(operations):
        row, more = operation.pull(row)
        by_p = by_p + more
    total = row @ inputs.X + by_p @ inputs.P
    by = {name: total[c] for name, c in inputs.columns.items()}
    return Gradient(solution, float(number[0]), by, events)


def tape_of(system: System, changing: tuple[int, ...]) -> Tape:
    """The tape of a system, compiled once for the same parameters."""
    if system.switches:
        raise MethodError(f"{system.name}: it has switches, and derivatives do not know yet how their times shift")
    kept = TAPES.setdefault(system, {})
    if changing not in kept or kept[changing][0] != system.size:
        kept[changing] = system.size, Tape(system, changing)
    return kept[changing][1]


def differentiated(
    system: System, t_end: float, dt: float, method: str | Scheme, changing: tuple[int, ...], run: Mapping[str, Any]
) -> tuple[Solution, Iterator[tuple[int, Operation]], np.ndarray]:
    """The motion, its linear maps with the rows that they lead to, and all parameters."""
    refuse_detected(system)
    tape = tape_of(system, changing)
    for name in run:
        if name in REFUSED:
            raise OptionError(f"{name}= cannot be combined with derivatives: they are of all steps from the start")
    own = {k: v for k, v in run.items() if k not in SOLVING}
    scheme = scheme_of(method, own)
    rest = {k: v for k, v in run.items() if k in SOLVING}
    if isinstance(scheme, EventDriven):
        solution, history, p = record_run(system, t_end, dt, scheme, rest)
        return solution, tape.operations(history, p, scheme, solution.names), p
    if not can_correct(scheme):
        raise MethodError(
            "derivatives through events need method='event-driven', 'rattle', 'lobatto' or 'generalized-alpha' (PVA or PVV), "
            f"not {label(scheme)!r}: its steps do not know the times of events, and their derivatives are wrong at any dt"
        )
    solution = solve(system, t_end, dt, method=scheme, **{"progress": False, **rest})
    p = np.array(list(system.parameter_values(rest.get("parameters")).values()))
    limits = rest.get("tol", 1e-8), rest.get("max_iterations", 30), rest.get("prox") or 0.0
    ends = solution.t[0], solution.t[-1]
    start = Start(p, solution.q[0], solution.u[0], *ends, float(dt), len(solution) - 1, *limits, label(scheme))
    captured = CapturedTape(system, scheme, tape.mechanism)
    return solution, captured.operations(start, solution.names), p


def record_run(
    system: System, t_end: float, dt: float, scheme: EventDriven, run: Mapping[str, Any]
) -> tuple[Solution, History, np.ndarray]:
    """Solve by event-driven integration and keep what happened; all parameters."""
    with recorded() as history:
        solution = solve(system, t_end, dt, method=scheme, **{"progress": False, **run})
    return solution, history, np.array(list(system.parameter_values(run.get("parameters")).values()))


def _pushed(operation: Operation, X: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Columns after a map; NaN in those for which contacts that closed together no longer would."""
    if not isinstance(operation, Affine):
        return operation.push(X, P)
    moved = operation.push(X, P)
    if len(operation.tied):
        both = np.vstack([X, P])
        apart, size = np.abs(operation.tied @ both), np.abs(operation.tied) @ np.abs(both)
        moved[:, (apart > 1e-7 * np.maximum(size, 1e-300)).any(axis=0)] = np.nan
    return moved


def _shift(operation: Affine, X: np.ndarray, P: np.ndarray) -> np.ndarray:
    """How the time of an event changes with each input; zero at the start, NaN where there is no derivative."""
    if not operation.event.exists:
        return np.full(X.shape[1], np.nan)
    return np.asarray(operation.shift @ np.vstack([X, P]))


def _no_side(rows: np.ndarray, solution: Solution, events: Sequence[EventDerivative]) -> None:
    """Velocities have no derivative at an output time at which an impact happens."""
    n_q = solution.q.shape[1]
    for event in events:
        if event.kind == "impact":
            near = np.abs(solution.t - event.t) <= AT_OUTPUT * max(1.0, abs(event.t))
            rows[near, n_q:] = np.nan


def _inputs(system: System, wrt: Sequence[str], parameters: Mapping[str, float] | None) -> Inputs:
    if not isinstance(system, System):
        raise OptionError(f"derivatives need a System, got {system!r}")
    if isinstance(wrt, str) or not all(isinstance(name, str) for name in wrt):
        raise OptionError(f"wrt = {wrt!r} must be a list of names, such as ['mu', 'q0']")
    if not len(wrt):
        raise OptionError("wrt is empty: name parameters, coordinates, 'q0' or 'u0'")
    n_q, n_u = system.n_q, system.n_u
    state = [*system.q_names, *system.u_names]
    sizes, rows = {"q0": n_q, "u0": n_u}, {"q0": list(range(n_q)), "u0": list(range(n_q, n_q + n_u))}
    free, everything = system.parameters, system.parameter_symbols()
    columns, at, chosen = {}, 0, []
    for name in wrt:
        if name in columns:
            raise OptionError(f"wrt names {name!r} twice")
        if name in free:
            chosen.append(name)
        elif name in everything:
            raise OptionError(f"parameter {name!r} follows from others; name those")
        elif name in state:
            rows[name], sizes[name] = [state.index(name)], 1
        elif name not in rows:
            known = [*free, "q0", "u0", *state]
            raise OptionError(f"{system.name}: {unknown_name('parameter or coordinate', name, known)}")
        size = 1 if name in free else sizes[name]
        columns[name] = slice(at, at + size)
        at += size
    X = np.zeros((n_q + n_u, at))
    for name, c in columns.items():
        if name not in free:
            X[rows[name], np.arange(c.start, c.stop)] = 1.0
    changing, directions = parameter_directions(system, chosen, parameters)
    P = np.zeros((len(changing), at))
    for k, name in enumerate(chosen):
        P[:, columns[name].start] = directions[:, k]
    return Inputs(columns, X, tuple(changing), P)


def _scalar_function(system: System, of: Any, changing: Sequence[int]) -> Numeric:
    """The number `of` and its derivatives by (q, u) and the changing parameters."""
    q = ca.vertcat(*[b.q for b in system.blocks])
    u = ca.vertcat(*[b.u for b in system.blocks])
    p = ca.vertcat(ca.SX(0, 1), *system.parameter_symbols().values())
    try:
        expression = ca.SX(of)
    except (NotImplementedError, TypeError):
        raise OptionError(f"of = {of!r} must be an expression of the system's coordinates and velocities") from None
    if expression.numel() != 1:
        raise OptionError(f"of must be one number, got {expression.numel()}")
    known = {s.__hash__() for s in ca.symvar(ca.vertcat(TIME, q, u, p))}
    foreign = [s.name() for s in ca.symvar(expression) if s.__hash__() not in known]
    if foreign:
        raise OptionError(f"of depends on {', '.join(map(repr, foreign))}, which {system.name!r} does not declare")
    chosen = p[list(changing)] if len(changing) else ca.SX(0, 1)
    return Numeric(
        [TIME, q, u, p], [expression, ca.jacobian(expression, ca.vertcat(q, u)), ca.jacobian(expression, chosen)]
    )
