"""Branches of periodic orbits over a parameter, by pseudo-arclength continuation.

With w = (unknowns of the orbit, parameter), each in units of its own size, and the unit tangent v, the next point solves

    F(w) = 0,      v . (w - w_0 - ds v) = 0,

which passes folds, where the branch turns back. Between two points a bifurcation is found by what changes: the direction of the
parameter (fold), multipliers that leave the unit circle through 1 (branch point), -1 (flip) or as a pair (Neimark-Sacker), and
the sequence of events: another number of impacts (grazing), other phases of stick and slip (sliding).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import NoDerivativeError, OptionError, StudyError
from stickslip.notebook import ShownWithFigure
from stickslip.studies.inputs import require_acting
from stickslip.studies.orbit import PeriodicOrbit, made
from stickslip.studies.shooting import Shooting, ShootingEquations, signature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CORRECTIONS = 6  # of Newton's method per point; a smaller step otherwise
SMALLEST = 1e-3  # step, in units of the first one, at which a branch ends
REFINEMENTS = 12  # bisections of a step in which something changes


@dataclass(frozen=True)
class Bifurcation:
    """Where a branch changes: fold, branch point, flip, Neimark-Sacker, grazing, sliding."""

    kind: str
    value: float
    index: int  # of the orbit before it
    detail: str = ""


@dataclass(frozen=True)
class Branch(ShownWithFigure):
    """Orbits along a parameter, with the bifurcations on the way and the reason why it ends."""

    parameter: str
    orbits: list[PeriodicOrbit] = field(repr=False)
    bifurcations: list[Bifurcation]
    ended: str

    @property
    def values(self) -> np.ndarray:
        """The parameter along the branch."""
        return np.array([orbit.parameters[self.parameter] for orbit in self.orbits])

    @property
    def stable(self) -> np.ndarray:
        """Whether each orbit is stable."""
        return np.array([orbit.stability == "stable" for orbit in self.orbits])

    def __str__(self) -> str:
        values = self.values
        span = f" from {values[0]:.6g} to {values[-1]:.6g}" if len(values) else ""
        lines = [
            f"{len(self.orbits)} orbits along {self.parameter}{span}, {int(self.stable.sum())} stable; {self.ended}"
        ]
        lines += [f"  {b.kind} at {b.value:.9g}{f' ({b.detail})' if b.detail else ''}" for b in self.bifurcations]
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None, coordinate: str | None = None) -> Figure:
        """A coordinate at the start of each orbit, and the multipliers; unstable orbits are dashed."""
        from stickslip.plots import plot_branch, saved

        return saved(plot_branch(self, coordinate), path)


@dataclass(frozen=True)
class _Point:
    w: np.ndarray  # scaled unknowns and parameter
    v: np.ndarray  # unit tangent
    orbit: PeriodicOrbit
    events: tuple[tuple[str, str], ...]


def continuation(
    orbit: PeriodicOrbit,
    parameter: str,
    to: float,
    *,
    steps: int = 20,
    max_points: int = 200,
    period: Any = None,
    tol: float = 1e-9,
) -> Branch:
    """Follow a periodic orbit in a parameter until it reaches `to`, passing folds.

    steps: the first step is 1/steps of the way; it adapts. period: that of the forcing where it depends on the parameter, as
    an expression; otherwise that of the orbit. The branch ends at `to`, after `max_points`, or where no step is small enough;
    `ended` says which.

    >>> import stickslip as ss
    >>> s = ss.System("forced oscillator")
    >>> c = s.parameter("c", 0.4)
    >>> (x,), (v,) = s.coordinates("x", initial=[0], velocity=[0])
    >>> s.kinetic_energy(v**2 / 2)
    >>> s.potential_energy(2 * x**2)
    >>> s.force([ss.math.cos(s.time) - c * v])
    >>> orbit = ss.periodic_orbit(s, period=2 * ss.math.pi)
    >>> branch = ss.continuation(orbit, "c", to=1.0, steps=4)
    >>> print(f"{branch.orbits[-1].q0[0]:.6f} {branch.ended}")    # the amplitude is 3/(3^2 + c^2)
    0.300000 reached c = 1
    """
    system = orbit.system
    values = system.parameter_values(orbit.parameters)
    if parameter not in system.parameters:
        raise OptionError(
            f"{system.name} has no free parameter {parameter!r}; there are {', '.join(system.parameters)}"
        )
    require_acting(system, parameter, period)
    start = values[parameter]
    if not np.isfinite(to) or to == start:
        raise OptionError(f"to = {to!r} must be a number other than the present {parameter} = {start:g}")
    old = orbit.shooting
    names = system.q_names
    shooting = Shooting(
        system,
        period=None if old.autonomous else (orbit.period if period is None else period),
        drift=[names[i] for i in old.drift],
        segments=old.segments,
        parameter=parameter,
        options=old.options,
    )
    if not old.autonomous and period is not None and old.segments > 1:
        raise OptionError("a period that depends on the parameter needs segments=1")
    shooting.t_start = old.t_start
    shooting.fixed, shooting.section, shooting.plane, shooting.order = old.fixed, old.section, old.plane, old.order
    shooting.held = old.held
    follow = _Branch(shooting, orbit, parameter, abs(to - start), tol)
    return follow.branch(np.sign(to - start), to, 1.0 / steps, max_points)


class _Branch:
    """One continuation: scales, corrector, tangents and the search for bifurcations."""

    def __init__(self, shooting: Shooting, orbit: PeriodicOrbit, parameter: str, span: float, tol: float):
        self.shooting, self.parameter, self.tol = shooting, parameter, tol
        self.fixed = {n: v for n, v in orbit.parameters.items() if n != parameter}
        self.scale = np.append(np.maximum(np.abs(orbit.z), 0.1 * max(np.abs(orbit.z).max(), 1e-6)), span)
        value = shooting.system.parameter_values(orbit.parameters)[parameter]
        self.seen: list[list[str]] = []  # impacts of the iterates of one point
        self.first = np.append(orbit.z, value) / self.scale

    def equations(self, w: np.ndarray) -> tuple[ShootingEquations, np.ndarray]:
        full = w * self.scale
        e = self.shooting.equations(full[:-1], {**self.fixed, self.parameter: float(full[-1])})
        self.seen.append(_impacts(signature(e.flows)))
        return e, np.hstack([e.J, e.by_parameter[:, None]]) * self.scale

    def corrected(self, w: np.ndarray, v: np.ndarray) -> _Point:
        """The point of the branch in the plane through w across v."""
        anchor = w.copy()
        self.seen.clear()
        for _ in range(CORRECTIONS):
            e, J = self.equations(w)
            full = np.vstack([J, v])
            error = np.append(e.F, v @ (w - anchor))
            if np.abs(error).max() <= self.tol * max(1.0, np.abs(w * self.scale).max()):
                return self._point(w, v, e, J)
            w = w - np.linalg.lstsq(full, error, rcond=1e-11)[0]
        raise StudyError("the corrector does not converge")

    def _point(self, w: np.ndarray, v: np.ndarray, e: ShootingEquations, J: np.ndarray) -> _Point:
        tangent = np.linalg.lstsq(np.vstack([J, v]), np.append(np.zeros(len(J)), 1.0), rcond=1e-11)[0]
        full = w * self.scale
        parameters = {**self.fixed, self.parameter: float(full[-1])}
        orbit = made(self.shooting, full[:-1], e, 0, parameters)
        return _Point(w, tangent / np.linalg.norm(tangent), orbit, signature(e.flows))

    def branch(self, direction: float, to: float, step: float, most: int) -> Branch:
        v = np.zeros(len(self.first))
        v[-1] = direction
        point = self.corrected(self.first, v)
        points, found, smallest = [point], [], SMALLEST * step
        ended = f"stopped after {most} points"
        goal = to / self.scale[-1]
        while len(points) < most:
            try:
                following = self.corrected(point.w + step * point.v, point.v)
            except (StudyError, NoDerivativeError) as error:
                step /= 2
                if step < smallest:
                    ended = f"no step is small enough at {self.parameter} = {self.value(point):.6g}: {error}"
                    others = [names for names in self.seen if names != _impacts(point.events)]
                    if others or isinstance(error, NoDerivativeError):
                        found.append(Bifurcation("grazing", self.value(point), len(points) - 1, str(error)))
                        ended = f"a contact is grazed at {self.parameter} = {self.value(point):.6g}"
                    break
                continue
            if direction * (following.w[-1] - goal) > 0:
                share = (goal - point.w[-1]) / (following.w[-1] - point.w[-1])
                v = np.zeros(len(v))
                v[-1] = direction
                w = point.w + share * (following.w - point.w)
                w[-1] = goal
                following, ended = self.corrected(w, v), f"reached {self.parameter} = {to:g}"
            found += self._changes(point, following, len(points) - 1)
            points.append(following)
            if ended.startswith("reached"):
                break
            if following.v @ point.v > 0.98:
                step = min(1.6 * step, 8 * smallest / SMALLEST)
            point = following
        return Branch(self.parameter, [p.orbit for p in points], found, ended)

    def value(self, point: _Point) -> float:
        return float(point.w[-1] * self.scale[-1])

    def _changes(self, a: _Point, b: _Point, index: int) -> list[Bifurcation]:
        found = []
        tests: dict[str, Callable[[_Point], Any]] = {
            "fold": lambda p: bool(p.v[-1] * a.v[-1] > 0),
            "flip": lambda p: _outside(p.orbit.multipliers, "-1"),
            "branch point": lambda p: _outside(p.orbit.multipliers, "1"),
            "Neimark-Sacker": lambda p: _outside(p.orbit.multipliers, "pair"),
            "grazing": lambda p: _impacts(p.events),
            "sliding": lambda p: sorted((k, n) for k, n in p.events if k in ("stick", "slip", "reversal")),
        }
        kinds = [kind for kind, test in tests.items() if test(a) != test(b)]
        if "fold" in kinds and "branch point" in kinds:  # the multiplier 1 of a fold
            kinds.remove("branch point")
        if "grazing" in kinds:  # multipliers jump there
            kinds = ["grazing"]
        for kind in kinds:
            before, after = self._between(a, b, tests[kind])
            value = 0.5 * (self.value(before) + self.value(after))
            detail = f"{tests[kind](before)} -> {tests[kind](after)}" if kind in ("grazing", "sliding") else ""
            found.append(Bifurcation(kind, value, index, detail))
        return found

    def _between(self, a: _Point, b: _Point, test: Callable[[_Point], Any]) -> tuple[_Point, _Point]:
        """Bisect the step in which a test changes."""
        kept = test(a)
        for _ in range(REFINEMENTS):
            try:
                c = self.corrected(0.5 * (a.w + b.w), (b.w - a.w) / np.linalg.norm(b.w - a.w))
            except (StudyError, NoDerivativeError):
                break
            a, b = (c, b) if test(c) == kept else (a, c)
        return a, b


def _impacts(events: tuple[tuple[str, str], ...]) -> list[str]:
    return sorted(name for kind, name in events if kind in ("impact", "touch"))


def _outside(multipliers: np.ndarray, where: str) -> int:
    """How many multipliers are outside the unit circle beyond 1, beyond -1, or as complex pairs."""
    real = np.abs(multipliers.imag) < 1e-9
    outside = np.abs(multipliers) > 1
    if where == "pair":
        return int((outside & ~real).sum())
    return int((outside & real & ((multipliers.real > 0) == (where == "1"))).sum())
