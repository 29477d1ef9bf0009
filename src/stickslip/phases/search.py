"""The next event: the first of many functions of time to become negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stickslip.phases.course import Course
from stickslip.phases.problems import FORCE_F, GAP, GAP_DOT, LA, RADIUS, SLIP

TOUCHING = 16 * np.finfo(float).eps  # of the size of the coordinates: what counts as touching
MARGIN = 1e-10  # forces: relative distance to zero, or to the friction cone, that counts as none
JUMPED = 1e-6  # of the velocities: what a closed contact, or one that sticks, cannot have moved by itself
BROKEN = -3  # the event that a surface changes its velocity at once: it stops, or a belt is switched
SAMPLES = 4  # of every step of the integrator, in search of events; gaps are followed to their minima in between


class Sample(NamedTuple):
    """A look at a step: numbers that are positive as long as the modes last, and velocities of open gaps (1 for closed)."""

    t: float
    lasting: np.ndarray
    gap_dot: np.ndarray


def first_event(
    course: Course, dense: Callable[[float], np.ndarray], t_a: float, t_b: float
) -> tuple[float, int] | None:
    """The first event in a step, if there is one: its time and its number (contacts, then friction elements; or BROKEN)."""
    if not course.n_N and not course.elements:
        return None

    def look(t: float) -> Sample:
        return _watch(course, t, dense(t))

    def root(what: str, j: int, a: float, b: float) -> float:
        return _root(lambda t: float(getattr(look(t), what)[j]), a, b)

    before = look(t_a)
    for t in np.linspace(t_a, t_b, SAMPLES + 1)[1:]:
        now = look(t)
        turned = np.flatnonzero((before.gap_dot < 0) & (now.gap_dot > 0))  # a gap had its minimum in between
        minima = sorted(root("gap_dot", int(j), before.t, t) for j in turned)
        for sample in [*map(look, minima), now]:
            below = np.flatnonzero(sample.lasting < 0)
            if below.size:
                t_event, j = min((root("lasting", int(j), before.t, sample.t), int(j)) for j in below)
                if j < sample.lasting.size - 1:
                    return t_event, j
                return _after(lambda t: bool(look(t).lasting[-1] < 0), before.t, sample.t), BROKEN
            before = sample
    return None


def _watch(course: Course, t: float, y: np.ndarray) -> Sample:
    """Contacts first, then friction elements, then whether all that is closed or sticks still does."""
    v, m = course.see(t, y), course.modes
    units, masses, (q, u) = course.units, course.masses, (y[: course.n_q], y[course.n_q : course.n_q + course.n_u])
    closed, usual = m.closed > 0, units.gap_dot * units.rate
    # Accelerations that forces stand for, whatever the mass, in their units and at least 1.
    force = MARGIN * float(np.abs(v[LA.N] / (masses.contacts * usual)).max(initial=1.0))
    reach = TOUCHING * units.positions(q) * units.gap
    out = [np.where(closed, v[LA.N] + force * masses.contacts * usual, v[GAP] - course.floor + reach)]
    moves = float(np.abs(np.where(closed, v[GAP_DOT] / units.gap_dot, 0.0)).max(initial=0.0))
    for k, e in enumerate(course.elements):
        d, stick = m.direction[e.rows], m.stick[e.rows][0] > 0
        if stick:
            margin = force * masses.elements[k] * units.slip[e.rows][0] * units.rate
            out.append(np.array([v[RADIUS][e.rows][0] - np.linalg.norm(v[FORCE_F][e.rows]) + margin]))
            moves = max(moves, float(np.linalg.norm(v[SLIP][e.rows] / units.slip[e.rows])))
        else:
            out.append(np.array([d @ v[SLIP][e.rows] + course.no_slip(y, e) if d.any() else 1.0]))
    out.append(np.array([JUMPED * units.velocities(u) - moves]))
    return Sample(t, np.concatenate(out), np.where(closed, 1.0, v[GAP_DOT]))


def _after(has: Callable[[float], bool], a: float, b: float) -> float:
    """The first time at which something has happened that has not at a, but at b; beyond the jump itself, by rounding."""
    while (middle := (a + b) / 2) not in (a, b):
        a, b = (a, middle) if has(middle) else (middle, b)
    return b + TOUCHING * max(1.0, abs(b))


def _root(f: Callable[[float], float], a: float, b: float) -> float:
    """The zero of f in [a, b], to round-off; a if f has its last sign there already."""
    if (f(a) <= 0) == (f(b) < 0):
        return a
    from scipy.optimize import brentq  # here, because it takes as long to import as all of stickslip

    root, _ = brentq(f, a, b, xtol=1e-16, rtol=4 * np.finfo(float).eps, maxiter=200, full_output=True, disp=False)
    return float(root)
