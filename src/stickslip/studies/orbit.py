"""Periodic orbits by Newton's method, with Floquet multipliers and a verdict about stability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.errors import OptionError, StudyError
from stickslip.model.system import System
from stickslip.notebook import ShownAsText
from stickslip.solution import Solution
from stickslip.solve import solve
from stickslip.solve.options import is_number
from stickslip.studies.saltation import EventDerivative
from stickslip.studies.shooting import Shooting, ShootingEquations, positive_period

BORDER = 1e-5  # distance of a multiplier to the unit circle that is not told from none
HALVINGS = 8  # of a step of Newton's method that makes the residual larger


@dataclass(frozen=True)
class PeriodicOrbit(ShownAsText):
    """An orbit: where it begins, how long it takes, and what happens to neighbours.

    q0, u0: its start. period: its duration. multipliers: the Floquet multipliers, largest first, without the trivial one of
    an autonomous system. stability: "stable", "unstable" or "marginal". events: what happens on it. residual: by how much
    it does not close. advance: of each coordinate that drifts, over a period.
    """

    system: System = field(repr=False)
    q0: np.ndarray
    u0: np.ndarray
    period: float
    multipliers: np.ndarray
    residual: float
    iterations: int
    events: tuple[EventDerivative, ...] = field(repr=False)
    advance: dict[str, float]
    parameters: dict[str, float]
    shooting: Shooting = field(repr=False)
    z: np.ndarray = field(repr=False)

    @property
    def stability(self) -> str:
        """What the largest multiplier says."""
        largest = float(np.abs(self.multipliers).max(initial=0.0))
        return "stable" if largest < 1 - BORDER else "unstable" if largest > 1 + BORDER else "marginal"

    @property
    def t_start(self) -> float:
        """The time at which it begins."""
        return self.shooting.t_start

    def solve(
        self, periods: float = 1, *, dt: float | None = None, method: Any = "event-driven", **options: Any
    ) -> Solution:
        """The motion along the orbit; dt is a 200th of the period if it is not given."""
        return solve(
            self.system,
            self.t_start + periods * self.period,
            self.period / 200 if dt is None else dt,
            method=method,
            q0=self.q0,
            u0=self.u0,
            t_start=self.t_start,
            parameters=self.parameters,
            **{"initial_tol": 1e-5, **options},
        )

    def __str__(self) -> str:
        kinds = [e.kind for e in self.events if e.kind != "start"]
        count = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds)) or "no events"
        largest = ", ".join(f"{m:.6g}" for m in self.multipliers[:4])
        return (
            f"{self.system.name}: {self.stability} orbit of period {self.period:.9g} ({count}); "
            f"multipliers {largest}; closes to {self.residual:.1e}"
        )


def periodic_orbit(
    system: System,
    guess: Solution | tuple[Any, Any] | None = None,
    *,
    period: Any = None,
    section: Any = None,
    drift: Sequence[str] = (),
    exchange: Sequence[tuple[str, str]] = (),
    parameters: Mapping[str, float] | None = None,
    t_start: float = 0.0,
    segments: int = 1,
    tol: float = 1e-9,
    max_iterations: int = 30,
    **options: Any,
) -> PeriodicOrbit:
    """Find a periodic orbit near a guess, by Newton's method through impacts, stick and slip.

    guess: a solution that comes close to the orbit, a state (q0, u0), or nothing for the system's own. period: that of the
    forcing, a number or an expression of parameters; a guess if nothing depends on time. section: an expression that is zero
    where the orbit begins, of a system that does not depend on time; without it the orbit begins across the flow of the guess.
    t_start: when a forced orbit begins; choose a time without impact. drift: coordinates that advance, such as the angle of a
    wheel. exchange: pairs of coordinates that change places in a period, such as the legs of a walker after a step.
    segments: of multiple shooting, for orbits so unstable that a whole period forgets where it
    began. options: of the method `event-driven`.

    >>> import stickslip as ss
    >>> s = ss.System("forced oscillator")
    >>> (x,), (v,) = s.coordinates("x", initial=[0], velocity=[0])
    >>> s.kinetic_energy(v**2 / 2)
    >>> s.potential_energy(2 * x**2)
    >>> s.force([ss.math.cos(s.time) - 0.4 * v])
    >>> orbit = ss.periodic_orbit(s, period=2 * ss.math.pi)
    >>> print(f"{orbit.q0[0]:.6f} {orbit.stability}")    # the amplitude is 3/(3^2 + 0.4^2)
    0.327511 stable
    """
    if not isinstance(system, System):
        raise OptionError(f"periodic_orbit needs a System, got {system!r}")
    for name, value in (("segments", segments), ("max_iterations", max_iterations)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise OptionError(f"{name} = {value!r} must be a whole number, at least 1")
    if not (is_number(tol) and tol > 0) or not is_number(t_start):
        raise OptionError(f"tol = {tol!r} must be a number > 0, t_start = {t_start!r} a finite number")
    if isinstance(drift, str):
        raise OptionError(f"drift = {drift!r} must be a list of coordinates, such as [{drift!r}]")
    if is_number(period):
        positive_period(system, float(period))
    shooting = Shooting(
        system, period=period, section=section, drift=drift, exchange=exchange, segments=segments, options=options
    )
    shooting.t_start = float(t_start)
    x, T = _first(system, guess, shooting, period, dict(parameters or {}))
    shooting.fixed = np.where(np.isin(np.arange(shooting.n_x), shooting.drift), x, 0.0)
    z = _unknowns(shooting, x, T, dict(parameters or {}))
    z, e, count = newton(shooting, z, dict(parameters or {}), tol, max_iterations)
    if shooting.autonomous:
        moved = max(np.abs(f.rate[shooting.free]).max() for f in e.flows) * z[-1]
        if not z[-1] > 1e-6 * T or moved < 1e-6 * max(1.0, np.abs(z[:-1]).max()):
            raise StudyError(
                f"{system.name}: the search for a periodic orbit ends in rest (period {z[-1]:.3g}); give another guess"
            )
    return made(shooting, z, e, count, dict(parameters or {}))


def made(
    shooting: Shooting, z: np.ndarray, e: ShootingEquations, count: int, parameters: dict[str, float]
) -> PeriodicOrbit:
    """The orbit that a solution of the shooting equations is."""
    x, n_q = shooting.state(z, 0), shooting.system.n_q
    multipliers = np.linalg.eigvals(shooting.monodromy(e.flows))
    if shooting.autonomous:
        multipliers = np.delete(multipliers, np.argmin(np.abs(multipliers - 1.0)))
    multipliers = multipliers[np.argsort(-np.abs(multipliers), kind="stable")]
    if np.abs(multipliers.imag).max(initial=0.0) < 1e-12:
        multipliers = multipliers.real
    names = shooting.system.q_names
    advance = {names[i]: float(sum(flow.x[i] - x[i] for flow in e.flows)) for i in shooting.drift}
    return PeriodicOrbit(
        system=shooting.system,
        q0=x[:n_q],
        u0=x[n_q:],
        period=shooting.duration(z, parameters),
        multipliers=multipliers,
        residual=float(np.abs(e.F).max()),
        iterations=count,
        events=tuple(event for flow in e.flows for event in flow.events),
        advance=advance,
        parameters=parameters,
        shooting=shooting,
        z=z,
    )


def newton(
    shooting: Shooting, z: np.ndarray, parameters: dict[str, float], tol: float, most: int
) -> tuple[np.ndarray, ShootingEquations, int]:
    """Newton's method with halved steps. Families of orbits (sliding along a floor) take the nearest one."""
    e = shooting.equations(z, parameters)
    for count in range(most):
        size = np.abs(e.F).max()
        if size <= tol * max(1.0, np.abs(z).max()):
            return z, e, count
        step = -np.linalg.lstsq(e.J, e.F, rcond=1e-10)[0]
        share, last = 1.0, None
        for _ in range(HALVINGS):
            try:
                trial = shooting.equations(z + share * step, parameters)
                if np.abs(trial.F).max() < (1 - 0.1 * share) * size:
                    break
            except StudyError as error:
                last = error
            share /= 2
        else:
            raise StudyError(
                f"{shooting.system.name}: the search for a periodic orbit stops at a residual of {size:.1e} after {count} "
                "iterations. Begin from a longer run, a better state, or more segments" + (f" ({last})" if last else "")
            )
        z, e = z + share * step, trial
    raise StudyError(
        f"{shooting.system.name}: no periodic orbit after {most} iterations, residual {np.abs(e.F).max():.1e}; begin from a "
        "longer run, or a better state"
    )


# -- guesses --------------------------------------------------------------------------------------------------------------


def _first(
    system: System, guess: Any, shooting: Shooting, period: Any, parameters: dict[str, float]
) -> tuple[np.ndarray, float]:
    """A state, and a duration."""
    if isinstance(guess, Solution):
        if guess.q.shape[1] != system.n_q or guess.u.shape[1] != system.n_u:
            raise OptionError(f"the guess is no solution of {system.name!r}: it has other coordinates")
        return _from_solution(system, guess, shooting, period, parameters)
    try:
        q, u = (system.q_initial, system.u_initial) if guess is None else guess
        q, u = np.asarray(q, float), np.asarray(u, float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"guess = {guess!r} must be a solution, or (q0, u0)") from None
    if q.shape != (system.n_q,) or u.shape != (system.n_u,) or not np.isfinite([*q, *u]).all():
        raise OptionError(f"guess must be a solution, or (q0, u0) with {system.n_q} and {system.n_u} finite numbers")
    if not shooting.autonomous:
        return np.concatenate([q, u]), 0.0
    if not is_number(period) and period is not None:
        raise OptionError(
            f"{system.name} does not depend on time: its period is sought, and period = {period} must be a number"
        )
    if period is None:
        raise OptionError(
            f"{system.name} does not depend on time: give a guess of the period, or a solution and a section"
        )
    return np.concatenate([q, u]), float(period)


def _from_solution(
    system: System, guess: Solution, shooting: Shooting, period: Any, parameters: dict[str, float]
) -> tuple[np.ndarray, float]:
    t, x = guess.t, np.hstack([guess.q, guess.u])

    def at(time: float) -> np.ndarray:
        return np.array([np.interp(time, t, column) for column in x.T])

    if not shooting.autonomous:
        T = shooting.duration(np.zeros(1), parameters)
        last = np.floor((t[-1] - shooting.t_start) / T * (1 + 1e-12))
        if last < 0 or shooting.t_start + last * T < t[0]:
            raise StudyError(f"{system.name}: the guess is shorter than a period; solve for longer")
        return at(shooting.t_start + last * T), T
    if shooting.section is None:
        if period is None:
            raise OptionError("give a section, or a guess of the period")
        return x[-1], float(period)
    p = np.array(list(system.parameter_values(parameters).values()))
    values = np.array(
        [float(shooting.section(a, b, c, p)[0][0, 0]) for a, b, c in zip(t, guess.q, guess.u, strict=True)]
    )
    for up in (True, False):
        sign = values if up else -values
        crossings = np.flatnonzero((sign[:-1] < 0) & (sign[1:] >= 0))
        if crossings.size > 1:
            times = [t[k] - values[k] * (t[k + 1] - t[k]) / (values[k + 1] - values[k]) for k in crossings[-2:]]
            k = crossings[-1]
            nearer = k if abs(values[k]) < abs(values[k + 1]) else k + 1  # between rows there may be an impact
            return x[nearer], float(period) if period is not None else times[1] - times[0]
    raise StudyError(
        f"{system.name}: the section is crossed less than twice in the same direction until t = {t[-1]:g}; values on the guess "
        f"are {values.min():.3g} to {values.max():.3g}"
    )


def _unknowns(shooting: Shooting, x: np.ndarray, T: float, parameters: dict[str, float]) -> np.ndarray:
    """The guess for all segments, by one run."""
    z = np.zeros(shooting.size)
    n, m = len(shooting.free), shooting.segments
    z[:n] = x[shooting.free]
    if shooting.autonomous:
        z[-1] = T
    duration = shooting.duration(z, parameters)
    at = x
    for k in range(m):
        z[k * n : (k + 1) * n] = at[shooting.free]
        if k == 0 and shooting.autonomous and shooting.section is None:
            flow = shooting.flow(at, shooting.t_start, duration * 1e-6, parameters)
            shooting.plane = (x, flow.rate / np.linalg.norm(flow.rate[shooting.free]))
        if k < m - 1:
            at = shooting.flow(at, shooting.t_start + k * duration / m, duration / m, parameters, k).x
    return z
