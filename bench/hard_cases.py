"""Mechanisms that are hard for a contact solver: redundant contacts, jams, loops, long chains of impacts.

`bench/robustness.py` runs them by every scheme; a short version of each is in tests/test_robustness.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

import stickslip as ss

G = 9.81


def stack(n: int, *, e: float, seed: int, space: bool) -> ss.System:
    """Boxes that fall on each other with random offsets: the corners of each on the top of the one below."""
    s, rng = ss.System(f"stack of {n}"), np.random.default_rng(seed)
    restitution = s.parameter("e", e)
    if not space:
        return _planar_stack(s, n, restitution, rng)
    s.add(ss.Gravity([0, 0, -G]))
    size = [0.2, 0.2, 0.1]
    m, J = ss.inertia.box(*size, mass=1.0)
    below: Any = ss.Plane([0, 0, 0], [0, 0, 1])
    for i in range(n):
        place = [*rng.uniform(-0.01, 0.01, 2), 0.05 + i * 0.1 + 1e-3 * (i + 1)]
        box = s.add(ss.RigidBody(f"box {i}", mass=m, inertia=J, position=place, velocity=0.05 * rng.normal(size=3)))
        s.add(ss.Contact(f"contact {i}", ss.Box(box, size), below, friction=0.5, restitution=restitution))
        below = ss.Plane([0, 0, 0.05], [0, 0, 1], box)
    return s


def _planar_stack(s: ss.System, n: int, e: Any, rng: np.random.Generator) -> ss.System:
    s.add(ss.Gravity([0, -G]))
    below: Any = ss.Line([0, 0], [0, 1])
    for i in range(n):
        place = [rng.uniform(-0.01, 0.01), 0.05 + i * 0.1 + 1e-3 * (i + 1)]
        motion = {"velocity": 0.05 * rng.normal(size=2), "angular_velocity": 0.1 * rng.normal()}
        box = s.add(ss.PlanarBody(f"box {i}", mass=1.0, inertia=0.05 / 12, position=place, **motion))
        s.add(ss.Contact(f"contact {i}", ss.Box(box, [0.2, 0.1]), below, friction=0.5, restitution=e))
        below = ss.Line([0, 0.05], [0, 1], box)
    return s


def heap(n: int, *, seed: int = 0) -> ss.System:
    """Spheres that fall into a box, all pairs declared."""
    s, rng, R = ss.System(f"heap of {n}"), np.random.default_rng(seed), 0.05
    s.add(ss.Gravity([0, 0, -G]))
    m, J = ss.inertia.sphere(R, mass=0.5)
    width, balls = 0.28, []
    walls = {
        "floor": ([0, 0, 0], [0, 0, 1]),
        "west": ([-width / 2, 0, 0], [1, 0, 0]),
        "east": ([width / 2, 0, 0], [-1, 0, 0]),
    }
    walls |= {"south": ([0, -width / 2, 0], [0, 1, 0]), "north": ([0, width / 2, 0], [0, -1, 0])}
    for k in range(n):
        layer, spot = divmod(k, 4)
        place = [0.06 * (2 * (spot % 2) - 1), 0.06 * (2 * (spot // 2) - 1), 0.06 + 0.11 * layer]
        place = np.array(place) + rng.uniform(-0.005, 0.005, 3)
        ball = s.add(ss.RigidBody(f"ball {k}", mass=m, inertia=J, position=place, velocity=0.2 * rng.normal(size=3)))
        balls.append(ss.Sphere(ball.point(), R))
        for name, (point, normal) in walls.items():
            s.add(ss.Contact(f"{name} {k}", balls[-1], ss.Plane(point, normal), friction=0.5, restitution=0.1))
        for j in range(k):
            s.add(ss.Contact(f"pair {j} {k}", balls[-1], balls[j], friction=0.4, restitution=0.1))
    return s


def walker(*, walking: bool = False, mu: float = 0.8, slope: float = 0.06) -> ss.System:
    """A compass walker with both feet on a slope: two legs joined at the hip, a mass on the joint.

    Walking: it turns about the front foot, and the rear foot leaves the floor.
    """
    s, half, spin = ss.System("compass walker"), 0.25, -1.2 if walking else 0.0
    s.add(ss.Gravity([G * np.sin(slope), -G * np.cos(slope)]))
    h, floor = np.cos(half), ss.Line([0, 0], [0, 1])
    at_hip = spin * np.array([-h, -np.sin(half)])  # velocity of the hip
    hip = s.add(ss.PointMass("hip", mass=10.0, position=[0, h], velocity=at_hip))
    for name, sign, rate in (("rear", -1.0, -0.5 * spin), ("front", 1.0, spin)):
        arm = 0.5 * np.array([np.sin(sign * half), -np.cos(half)])  # from the hip to the centre of the leg
        motion = {"velocity": at_hip + rate * np.array([-arm[1], arm[0]]), "angular_velocity": rate}
        place = [arm[0], h + arm[1]]
        leg = s.add(ss.PlanarBody(name, mass=5.0, inertia=0.4, position=place, angle=sign * half, **motion))
        s.add(ss.Revolute(f"hip.{name}", hip.point(), leg.point(0, 0.5)))
        s.add(ss.Contact(f"{name} foot", leg.point(0, -0.5), floor, friction=mu, restitution=0.0))
    return s


def escapement(*, pins: int = 12) -> ss.System:
    """A pin-wheel escapement: a driven wheel with pins, and an anchor on a spring whose two pallets stop and release them."""
    s, R, arm, distance = ss.System("escapement"), 0.05, 0.042, 0.075
    wheel = s.add(ss.PlanarBody("wheel", mass=0.02, inertia=2.5e-5))
    anchor = s.add(ss.PlanarBody("anchor", mass=0.03, inertia=3e-5, position=[0, distance], angle=0.05))
    arbor = s.add(ss.Revolute("arbor", ss.ground.point(0, 0), wheel.point(0, 0)))
    pivot = s.add(ss.Revolute("pivot", ss.ground.point(0, distance), anchor.point(0, 0)))
    s.add(ss.Motor("weight", arbor.angle, lambda t, x, v: 2e-3 - 1e-5 * v))
    s.add(ss.SpringDamper("balance", pivot.angle, stiffness=8e-3, damping=1e-6))
    for k in range(pins):
        a = 2 * np.pi * (k + 0.5) / pins
        pin = ss.Sphere(wheel.point(R * np.cos(a), R * np.sin(a)), 1.5e-3)
        for name, b in (("entry", -0.62), ("exit", 0.62)):
            pallet = ss.Sphere(anchor.point(arm * np.sin(b), -arm * np.cos(b)), 2.5e-3)
            s.add(ss.Contact(f"{name} {k}", pin, pallet, friction=0.15, restitution=0.1))
    return s


def dominoes(n: int = 10) -> ss.System:
    """Dominoes in a row, box against box; the first is pushed."""
    s, size, shapes = ss.System(f"{n} dominoes"), [0.01, 0.05], []
    s.add(ss.Gravity([0, -G]))
    for k in range(n):
        push = {"angular_velocity": -3.0, "velocity": [3.0 * 0.025, 0]} if k == 0 else {}
        J = 0.05 * (size[0] ** 2 + size[1] ** 2) / 12
        body = s.add(ss.PlanarBody(f"domino {k}", mass=0.05, inertia=J, position=[0.025 * k, 0.025], **push))
        shapes.append(ss.Box(body, size))
    s.add(ss.Collisions("contacts", [*shapes, ss.Line([0, 0], [0, 1])], friction=0.4, restitution=0.1))
    return s


def chain(n: int) -> ss.System:
    """A chain of capsules that falls on a rough floor and piles up there; neighbours share a spherical joint."""
    s, length, R = ss.System(f"chain of {n}"), 0.1, 0.02
    s.add(ss.Gravity([0, 0, -G]))
    m, J = ss.inertia.capsule(R, length, mass=0.2)
    floor, last, at, heading = ss.Plane([0, 0, 0], [0, 0, 1]), None, np.array([0.0, 0.0, 0.03]), 0.0
    for k in range(n):
        heading += 0.25 * np.sin(0.7 * k)
        direction = np.array([np.cos(heading), np.sin(heading), 0.0])
        turn = ss.math.quaternion([0, 0, 1], heading)
        motion = {"velocity": [0, 0, -0.2], "orientation": turn}
        link = s.add(
            ss.RigidBody(f"link {k}", mass=m, inertia=_along_x(J), position=at + 0.5 * length * direction, **motion)
        )
        skin = ss.Capsule(link.point(-length / 2, 0, 0), link.point(length / 2, 0, 0), R)
        s.add(ss.Contact(f"floor {k}", skin, floor, friction=0.9, restitution=0.0))
        if last is not None:
            s.add(ss.Spherical(f"joint {k}", last.point(length / 2, 0, 0), link.point(-length / 2, 0, 0)))
        last, at = link, at + length * direction
    return s


def _along_x(J: Any) -> list[float]:
    """Moments of inertia of a body about z, turned to x."""
    across, _, along = np.diag(J) if np.ndim(J) == 2 else J
    return [float(along), float(across), float(across)]


def boxes(n: int = 25, *, seed: int = 0) -> ss.System:
    """Boxes that tumble on a floor, each by itself."""
    s, rng, size = ss.System(f"{n} boxes"), np.random.default_rng(seed), [0.3, 0.2, 0.1]
    s.add(ss.Gravity([0, 0, -G]))
    m, J = ss.inertia.box(*size, mass=1.0)
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    for k in range(n):
        axis = rng.normal(size=3)
        motion = {"velocity": rng.normal(size=3), "angular_velocity": 5 * rng.normal(size=3)}
        motion["orientation"] = ss.math.quaternion(axis / np.linalg.norm(axis), rng.uniform(0, 3))
        box = s.add(ss.RigidBody(f"box {k}", mass=m, inertia=J, position=[k, 0, 0.4], **motion))
        mu, e = rng.uniform(0, 1.2), float(rng.choice([0.0, 0.3, 0.6]))
        s.add(ss.Contact(f"floor {k}", ss.Box(box, size), floor, friction=mu, restitution=e))
    return s


@dataclass(frozen=True)
class Case:
    """A mechanism, how long it runs, and until when with fine steps, if that is less.

    Cases that differ in `given` (parameters and initial values of a run) only share one system, which is compiled once.
    """

    build: Callable[[], ss.System]
    t_end: float
    fine: float | None = None
    given: Callable[[], dict[str, Any]] = field(default=dict)


def _built(build: Callable[..., ss.System], *numbers: Any, **values: Any) -> Callable[[], ss.System]:
    """The same system whenever it is asked for."""
    return cache(partial(build, *numbers, **values))


def _start(n: int, e: float, seed: int, space: bool) -> dict[str, Any]:
    """What a run of a stack is given to be the one with these numbers."""
    same = stack(n, e=e, seed=seed, space=space)
    return {"parameters": {"e": e}, "q0": same.q_initial, "u0": same.u_initial}


def impacts_of_stack(n: int, e: float) -> float:
    """When all boxes of a stack rest on each other.

    The last of n boxes falls by n mm, from 0.1 m/s upwards (two standard deviations of its random velocity), and jumps with
    e, e^2, ... of its velocity: for 0.23 s if n = 20 and e = 0.5.
    """
    fall = (0.1 + np.sqrt(0.1**2 + 2 * G * 1e-3 * n)) / G
    return float(fall * (1 + 2 * e / (1 - e)))


def cases() -> dict[str, Case]:
    """All of them, by name.

    Stacks run until their impacts are over, and with coarse steps for 50 ms of rest; the others for the same time with both.
    """
    found: dict[str, Case] = {}
    stacks = {
        (where, n): _built(stack, n, e=0.0, seed=0, space=where == "space")
        for where in ("plane", "space")
        for n in (6, 10, 20)
    }
    for seed in range(12):
        for (where, n), build in stacks.items():
            for e in (0.0, 0.2, 0.5):
                over = impacts_of_stack(n, e)
                given = partial(_start, n, e, seed, where == "space")
                found[f"stack {where} n={n} e={e} seed={seed}"] = Case(build, over + 0.05, over, given)
        if seed == 0:
            found |= {f"heap {n}": Case(_built(heap, n), 0.6) for n in (8, 12, 20, 30)}
            found |= {
                "walker at rest": Case(_built(walker), 1.0),
                "walker walking": Case(_built(walker, walking=True), 1.0),
            }
            found |= {"escapement": Case(_built(escapement), 1.0), "dominoes": Case(_built(dominoes), 0.6)}
            found |= {f"chain {n}": Case(_built(chain, n), 0.4) for n in (30, 50)}
            found["boxes"] = Case(_built(boxes), 1.0)
    return found
