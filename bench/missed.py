"""Pairs of shapes that fly at each other so fast that other features come first than those that were closest at the start of a
step: how deep they are in each other after any step, with and without the look at their way (`solve.missed`).

    python bench/missed.py [pairs]
"""

from __future__ import annotations

import importlib
import sys
import warnings

import numpy as np

import stickslip as ss
from stickslip.collide import scene_of
from stickslip.collide.detect import _room_and_contacts
from stickslip.collide.inside import swallowed
from stickslip.model.collisions import collisions_of

SPEED, SPIN, DT, T_END = 5.0, 20.0, 5e-3, 0.04
DEEP = 1e-5
AROUND = np.linspace(0, 2 * np.pi, 40, endpoint=False)
PEANUT = (0.045 * (1 + 0.35 * np.cos(2 * AROUND)) * [np.cos(AROUND), np.sin(AROUND)]).T
ANGLE = [(-0.05, -0.05), (0.05, -0.05), (0.05, -0.02), (-0.02, -0.02), (-0.02, 0.05), (-0.05, 0.05)]


def in_space(kind: int, at: np.ndarray):
    """One of four shapes."""
    frame, along = ss.ground.frame(at), np.array([0.05, 0, 0])
    return [
        lambda: ss.Box(frame, [0.12, 0.08, 0.06]),
        lambda: ss.Sphere(ss.ground.point(*at), 0.04),
        lambda: ss.Capsule(ss.ground.point(*(at - along)), ss.ground.point(*(at + along)), 0.025),
        lambda: ss.Ellipsoid(frame, [0.06, 0.04, 0.03]),
    ][kind]()


def in_the_plane(kind: int, at: np.ndarray):
    """The same, with outlines."""
    frame = ss.ground.frame(at)
    return [
        lambda: ss.Box(frame, [0.1, 0.06]),
        lambda: ss.Sphere(ss.ground.point(*at), 0.04),
        lambda: ss.SimplePolygon(frame, ANGLE),
        lambda: ss.ClosedCurve(frame, PEANUT, pieces=40),
    ][kind]()


def pair(seed: int, shape) -> ss.System:
    """Two bodies that fly at each other, a little beside their middles."""
    s, rng, n = ss.System("pair"), np.random.default_rng(seed), 3 if shape is in_space else 2
    d, off, bodies = rng.normal(size=n), 0.03 * rng.normal(size=n), []
    d /= np.linalg.norm(d)
    for sign in (-1, 1):
        spin = SPIN * rng.normal(size=3 if n == 3 else None)
        made = shape(int(rng.integers(4)), sign * (0.13 * d + off / 2))
        motion = {"velocity": -sign * SPEED * d, "angular_velocity": spin}
        bodies.append(s.add(ss.solid(f"body {sign}", made, density=1000, **motion)))
    s.add(ss.Collisions("contacts", bodies, friction=0.3, restitution=0.3))
    return s


def deepest(system: ss.System, solution: ss.Solution) -> float:
    """Of all states, by gaps and by what is inside."""
    scene, worst = scene_of(system, collisions_of(system)), 0.0
    for q in solution.q:
        room, found = _room_and_contacts(scene, q.copy(), None, 0.0, None)[:2]
        inner = swallowed(scene, room, DEEP)
        worst = max(worst, 0.0 if inner is None else inner.depth, *-found.gap[: int(found.found[0])], 0.0)
    return worst


def main(count: int) -> None:
    """Two lines for space and two for the plane."""
    missed = importlib.import_module("stickslip.solve.missed")
    may = missed.Missed.may
    for shape in (in_space, in_the_plane):
        for looks in (True, False):
            missed.Missed.may = may if looks else lambda *_: False
            depths, failed, told = [], 0, 0
            for seed in range(count):
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    try:
                        system = pair(seed, shape)
                        depths.append(deepest(system, ss.solve(system, t_end=T_END, dt=DT, progress=False)))
                    except ss.ConvergenceError:
                        failed += 1
                told += depths[-1:] > [DEEP] and any(each.category is ss.TunnellingWarning for each in warned)
            deep = [depth for depth in depths if depth > DEEP]
            where = f"{shape.__name__.replace('_', ' '):13} {'with' if looks else 'without'} the look"
            how = f"{len(deep)} deeper than {DEEP:g}, {told} of them named, at most {max(depths):.1e}"
            print(f"{where}: {len(depths)} pairs, {how}; {failed} without a solution", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
