"""Small cases of compiled code, for compiled and for plain Python: numbers that do not depend on which of them it was.

`python tests/plain.py case` writes the numbers of a case. With STICKSLIP_JIT=0 it is plain Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

import stickslip as ss


def of_a_run(system: ss.System, t_end: float, dt: float, method: str, **options: Any) -> np.ndarray:
    """Coordinates, velocities and percussions."""
    solution = ss.solve(system, t_end, dt, method=method, progress=False, energy_alarm=False, **options)
    numbers = [solution.q, solution.u, solution.P_N, solution.P_F]
    if solution.contacts is not None:
        numbers += [solution.contacts.gap, solution.contacts.P_N]
    return np.concatenate([np.ravel(each) for each in numbers])


def linkage() -> np.ndarray:
    """Joints, and a clearance with friction."""
    return of_a_run(ss.benchmarks.slider_crank(), 2e-3, 4e-4, "rattle")


def rebound() -> np.ndarray:
    """A scheme that solves its problems one by one, through an impact."""
    return of_a_run(ss.benchmarks.bouncing_ball(), 0.6, 0.03, "generalized-alpha:solver=subproblems")


def stack(count: int, *, e: float = 0.0) -> ss.System:
    """Boxes on each other in the plane, pushed to the side: more contacts than decide their forces."""
    s = ss.System("stack")
    boxes = [
        s.add(ss.PlanarBody(f"box {k}", mass=1, inertia=0.1, position=[0.1 * k, 0.5 + k], velocity=[1.0 + k, 0]))
        for k in range(count)
    ]
    s.add(ss.Gravity([0, -9.81]))
    shapes = [ss.Box(box, [1, 1]) for box in boxes]
    s.add(ss.Collisions("touch", [*shapes, ss.Line([0, 0], [0, 1])], friction=0.4, restitution=e))
    return s


def boxes() -> np.ndarray:
    """A stack that slides, by a scheme of velocities."""
    return of_a_run(stack(2), 0.02, 5e-3, "moreau")


def stages() -> np.ndarray:
    """The same by a scheme of several stages."""
    return of_a_run(stack(1), 0.01, 5e-3, "lobatto")


def heap() -> np.ndarray:
    """Balls in space, solved by sweeps as if they were many."""
    s = ss.System("heap")
    mass, inertia = ss.inertia.sphere(0.5, mass=1.0)
    places = [(0, 0, 0.5), (1, 0, 0.5), (0.5, 0.87, 0.5), (0.5, 0.29, 1.32)]
    balls = [
        s.add(ss.RigidBody(f"ball {k}", mass=mass, inertia=inertia, position=place, velocity=[0.1 * k, 0.2, -0.1]))
        for k, place in enumerate(places)
    ]
    s.add(ss.Gravity([0, 0, -9.81]))
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    s.add(ss.Collisions("touch", [*[ss.Sphere(ball.point(), 0.5) for ball in balls], floor], friction=0.3))
    with patch("stickslip.engine.crowd.FEW", 4):
        return of_a_run(s, 8e-3, 2e-3, "rattle", tol=1e-6)


def shapes(dimension: int) -> np.ndarray:
    """Contacts of one shape of each kind with one of each other kind, at a pose each."""
    import test_collide
    from stickslip.collide import contacts_for, scene_of

    rng, found = np.random.default_rng(5), []
    group = test_collide.IN_SPACE if dimension == 3 else test_collide.IN_PLANE
    for first, second in test_collide.PAIRS:
        if first in group:
            scene, way = scene_of(*test_collide.pair(first, second, 1.0)), rng.normal(size=dimension)
            turn, position = test_collide.random_pose(rng, first)[0], 1.3 * way / np.linalg.norm(way)
            pose = np.concatenate([position, np.atleast_1d(turn), test_collide.AT_REST[dimension]])
            contacts = contacts_for(scene, pose)
            found += [contacts.gap, contacts.normal.ravel(), contacts.key[:, 1:].ravel().astype(float)]
    return np.concatenate(found)


def table(far: int = 0) -> ss.System:
    """A disc with four legs on a floor and a ball on it, all contacts declared, and so many planes that nothing meets."""
    s = ss.System("table")
    top = s.add(ss.RigidBody("disc", mass=2, inertia=[1, 1, 1], position=[0, 0, 0.6], velocity=[0.5, 0.1, -0.2]))
    ball = s.add(ss.RigidBody("ball", mass=0.5, inertia=[0.1, 0.1, 0.1], position=[0.2, 0.1, 1.2]))
    round_, floor = ss.Sphere(ball.point(), 0.5), ss.Plane([0, 0, 0], [0, 0, 1])
    for k, (x, y) in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
        s.add(ss.Contact(f"leg {k}", ss.Sphere(top.point(x, y, -0.5), 0.1), floor, friction=0.3, restitution=0.2))
    s.add(ss.Contact("ball on disc", round_, ss.Plane([0, 0, 0.1], [0, 0, 1], top), friction=0.3))
    for k in range(far):
        s.add(ss.Contact(f"far {k}", round_, ss.Plane([0, 0, -100 - k], [0, 0, 1]), friction=0.3))
    s.add(ss.Gravity([0, 0, -9.81]))
    return s


def redundant() -> np.ndarray:
    """Four legs, whose forces three would determine."""
    return of_a_run(table(), 6e-3, 2e-3, "rattle")


def far_away() -> np.ndarray:
    """Contacts that sleep."""
    return of_a_run(table(70), 6e-3, 2e-3, "moreau")


def solvers() -> np.ndarray:
    """Every solver of a step alone."""
    return np.concatenate(
        [of_a_run(table(), 4e-3, 2e-3, "moreau", solver=each) for each in ("newton", "gauss-seidel", "robust")]
    )


def events() -> np.ndarray:
    """A run from event to event."""
    return of_a_run(ss.benchmarks.bouncing_ball(), 0.5, 0.05, "event-driven")


CASES: dict[str, Callable[[], np.ndarray]] = {
    "linkage": linkage,
    "rebound": rebound,
    "boxes": boxes,
    "stages": stages,
    "heap": heap,
    "shapes in space": lambda: shapes(3),
    "shapes in the plane": lambda: shapes(2),
    "redundant": redundant,
    "far away": far_away,
    "solvers": solvers,
    "events": events,
}

if __name__ == "__main__":
    from stickslip.engine.advance import advance

    assert type(advance).__name__ == "function"
    sys.stdout.buffer.write(CASES[sys.argv[1]]().tobytes())
