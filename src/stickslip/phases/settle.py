"""At an event: impacts if there are any, then the modes of the motion that follows."""

from __future__ import annotations

import numpy as np

from stickslip.engine.fields import Field
from stickslip.phases.course import Course
from stickslip.phases.history import Jump, Modes, Transition
from stickslip.phases.problems import FORCE_F, GAP, GAP_DDOT, GAP_DOT, LA, LIFTS, RADIUS, SLIP, Trouble
from stickslip.phases.search import MARGIN, TOUCHING

# Contacts that close at once in exact arithmetic (a flat face) do so to the accuracy of the positions only. One impact of
# both differs from two impacts in a row, so approaching contacts within this distance (of the size of the coordinates) are
# taken together.
TOGETHER = 1e-10
START = -1  # the event that is the start of the run
JAM = -2  # the event that is the end of all motion in the present modes
SHOCKS = 1e-9, 1e-7, 1e-5, 1e-3  # of the velocities: speeds at which contacts separate in an impact without collision
PARADOX = (
    "no motion exists here: a contact slides so that every normal force would press it into its obstacle (Painlevé's "
    "paradox), and an impact without collision does not resolve it. Less friction does; event-capturing methods such as rattle "
    "may pass such points"
)


def transition(course: Course, event: int, rest_velocity: float, most: int, row: int) -> Transition:
    """New modes after an event, which counts contacts, then friction elements, or is START or JAM.

    rest_velocity: contacts that leave an impact slower stay closed. So do those whose bounce would be lower than what the
    search for events sees. most: impacts in a row. row: the output that this leads to.
    """
    rest = rest_velocity * course.units.gap_dot
    now = _begin(course, event, rest, row)
    contact = event if 0 <= event < course.n_N else None
    leaving = contact is not None and now.before.closed[contact] > 0
    begins, direction = _begins_to_slip(course, event)
    stops = event - course.n_N if event >= course.n_N and direction is None else -1
    course.modes = Modes(now.touching.astype(float), course.modes.stick, course.modes.direction)
    course.project(velocities=False)
    shocks = 0
    if event == JAM:
        _shock(course, now)
    while True:
        v = _impacts(course, now, rest, most)
        lowest = np.sqrt(2 * np.maximum(-v[GAP_DDOT], 0.0) * TOUCHING * course.sizes)
        now.resting = now.touching & (v[GAP_DOT] <= np.maximum(rest, lowest))
        if leaving:
            now.resting[contact] = False
        now.slip = v[SLIP]
        try:
            _choose(course, now.resting, v[SLIP], begins, direction, stops)
            break
        except Trouble as trouble:
            shocks += 1
            if shocks > 1 + int(now.touching.sum()):
                raise Trouble("choice", PARADOX, trouble.residual) from trouble
            _shock(course, now)
    now.q_1, now.u_1 = course.copy()
    now.after = course.modes
    return now


def _begin(course: Course, event: int, rest: np.ndarray, row: int) -> Transition:
    v = course.see(course.t, course.y) if event != JAM else None
    touching = course.modes.closed > 0
    if v is not None:
        near = np.where(v[GAP_DOT] < -rest, TOGETHER, 2 * TOUCHING) * course.sizes
        touching = touching | (v[GAP] <= near)
    if 0 <= event < course.n_N and not course.modes.closed[event] > 0:
        touching[event] = True
    return Transition(course.t, event, *course.copy(), course.modes, touching, row)


def _begins_to_slip(course: Course, event: int) -> tuple[int, np.ndarray | None]:
    """The element whose friction force has come to its bound, and the direction in which it begins to slide."""
    k = event - course.n_N
    if k < 0 or not course.modes.stick[course.elements[k].rows][0] > 0:
        return -1, None
    force = course.see(course.t, course.y)[FORCE_F][course.elements[k].rows]
    return k, -force / np.linalg.norm(force)


def _impacts(course: Course, now: Transition, rest: np.ndarray, most: int) -> dict[Field, np.ndarray]:
    """All impacts (2) of contacts that touch and approach; what is seen after them."""
    for _ in range(most):
        v = _free(course, course.u)
        if not (now.touching & (v[GAP_DOT] < -rest)).any():
            return v
        jump = course.jump(now.touching)
        course.take(jump)
        now.impacts.append(jump)
    raise Trouble("impact", f"impacts at t = {course.t:.9g} follow one another without end")


def _shock(course: Course, now: Transition) -> None:
    """An impact without collision: percussions that stop the slip for which no motion exists.

    With g_N_dot = 0 before, (2) is solved by no percussion at all, and by one that ends in stick. The latter is the only
    one that is left if contacts are made to separate; from there the iterations go on to its limit. Just before a point where
    la_N grows without bound that limit does not exist yet: there the contacts separate as slowly as they can.
    """
    _, u = course.copy()
    speed = course.units.velocities(u) * course.units.speed
    for push in (0.0, *SHOCKS):
        try:
            start = course.jump(now.touching, push=(push or SHOCKS[-1]) * speed)
            jump: Jump = course.jump(now.touching, guess=start.u_1) if push == 0 else start
        except Trouble:
            continue
        if _stops(course, u, jump.u_1):
            course.take(jump)
            now.impacts.append(jump)
            return
    raise Trouble("impact", PARADOX)


def _stops(course: Course, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether an element that slides with the velocities before sticks, or nearly so, with those after."""
    slips = [_free(course, u)[SLIP] for u in (before, after)]
    speeds = [[float(np.linalg.norm(slip[e.rows])) for e in course.elements] for slip in slips]
    least = [10 * course.no_slip(course.y, e) for e in course.elements]
    return any(old > none and new < max(1e-4 * old, none) for old, new, none in zip(*speeds, least, strict=True))


def _free(course: Course, u: np.ndarray) -> dict[Field, np.ndarray]:
    """What is seen if nothing touches: gaps and slips, where no motion with contact needs to exist."""
    modes, y = course.modes, course.y.copy()
    y[course.n_q : course.n_q + course.n_u] = u
    course.modes = Modes(np.zeros_like(modes.closed), np.zeros_like(modes.stick), np.zeros_like(modes.direction))
    try:
        return course.see(course.t, y)
    finally:
        course.modes = modes


def _choose(
    course: Course, resting: np.ndarray, slip: np.ndarray, begins: int, direction: np.ndarray | None, stops: int
) -> None:
    """Modes on acceleration level (3), for contacts at rest.

    begins: the element that begins to slide, in `direction`; stops: the one whose slip has come to zero.
    """
    still, given = np.zeros_like(slip), np.zeros_like(slip)
    for k, e in enumerate(course.elements):
        if e.is_off(resting):
            continue
        speed = np.linalg.norm(slip[e.rows])
        if k == begins:
            given[e.rows] = direction
        elif k == stops or speed <= 2 * course.no_slip(course.y, e):
            still[e.rows] = 1.0
        else:
            given[e.rows] = slip[e.rows] / speed
    # Not yet onto no slip: at a dead centre slip reverses, and to stick there would stop the whole mechanism.
    course.modes = Modes(resting.astype(float), np.zeros_like(still), given)
    course.project(recorded=True)
    v = course.problems.choice(
        course.t, course.q, course.u, np.where(resting, -1.0, 1.0), 1.0 - still, given, scale=course.scale
    )
    closed = resting & (v[LIFTS] < 0)
    for e in course.elements:
        if not still[e.rows].any():
            continue
        force, radius = v[LA.F][e.rows], v[RADIUS][e.rows][0]
        size = np.linalg.norm(force)
        if e.is_off(closed):
            still[e.rows] = 0.0
        elif size > 0 and size >= radius * (1 - MARGIN):
            still[e.rows], given[e.rows] = 0.0, -force / size
    for e in course.elements:
        if e.is_off(closed):
            given[e.rows] = 0.0
    course.modes = Modes(closed.astype(float), still, given)
    course.project(recorded=True)
    course.floor = np.minimum(course.see(course.t, course.y)[GAP], 0.0)
