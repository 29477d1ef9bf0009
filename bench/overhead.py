"""What a call costs besides its steps: warm `solve`, the stepper, runs of an ensemble.

Differences of two runs that differ in their number of steps, best of several: `python bench/overhead.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import stickslip as ss

DECLARED, DETECTED = ("bouncing_ball", "slider_crank"), ("ball_bearing", "dominoes", "heap", "silo")  # contacts


def best(f: Callable[[], object], count: int, repetitions: int = 7) -> float:
    """Seconds of one call: the best of several rounds of `count` calls."""
    f()
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        for _ in range(count):
            f()
        times.append((time.perf_counter() - begin) / count)
    return min(times)


def heap(far: int) -> ss.System:
    """Six balls on a floor, all pairs declared, and so many planes far below."""
    mass, inertia = ss.inertia.sphere(0.05, density=1000)
    s, shapes = ss.System("heap"), []
    for k in range(6):
        place = [0.101 * (k % 3), 0.03 * k, 0.052 + 0.11 * (k // 3)]
        ball = s.add(ss.RigidBody(f"ball {k}", mass=mass, inertia=inertia, position=place))
        shapes.append(ss.Sphere(ball.point(), 0.05))
        s.add(ss.Contact(f"floor {k}", shapes[-1], ss.Plane([0, 0, 0], [0, 0, 1]), friction=0.3))
        for i in range(k):
            s.add(ss.Contact(f"pair {i} {k}", shapes[i], shapes[k], friction=0.3))
    for i in range(far):
        s.add(ss.Contact(f"far {i}", shapes[i % 6], ss.Plane([0, 0, -100 - i], [0, 0, 1]), friction=0.3))
    s.add(ss.Gravity([0, 0, -9.81]))
    return s


def in_flight() -> ss.System:
    """Two balls above a floor, whose contacts are detected, and that meet nothing for a while."""
    mass, inertia = ss.inertia.sphere(0.05, density=1000)
    s, shapes = ss.System("two balls"), [ss.Plane([0, 0, 0], [0, 0, 1])]
    for k in range(2):
        ball = s.add(ss.RigidBody(f"ball {k}", mass=mass, inertia=inertia, position=[0, 0, 1000.0 + k]))
        shapes.append(ss.Sphere(ball.point(), 0.05))
    s.add(ss.Gravity([0, 0, -9.81]))
    s.add(ss.Collisions("touch", shapes, friction=0.3))
    return s


def far_contacts(method: str, planes: int) -> float:
    """CPU time of a step with planes 100 m away, in units of one without."""
    sims, times = [ss.stepper(heap(n), 2e-3, method=method) for n in (0, planes)], [float("inf"), float("inf")]
    for sim in sims:
        sim.step(200)
    starts = [sim.state for sim in sims]
    for _ in range(20):
        for k, (sim, start) in enumerate(zip(sims, starts, strict=True)):
            sim.state = start
            begin = time.process_time()
            sim.step(500)
            times[k] = min(times[k], time.process_time() - begin)
    return times[1] / times[0]


def warm_with_far_contacts(planes: int) -> float:
    """CPU time of a warm run of 100 steps with planes 100 m away, in units of one without."""
    systems, times = (heap(0), heap(planes)), [float("inf"), float("inf")]
    for round_ in range(60):
        for k, system in enumerate(systems):
            begin = time.process_time()
            for _ in range(3):
                ss.solve(system, 0.2, 2e-3, progress=False)
            times[k] = min(times[k], time.process_time() - begin) if round_ else float("inf")
    return times[1] / times[0]


def main() -> None:
    """Print the table."""
    print("a step of six balls with 240 planes far away, by one without")
    for method, scheme in ss.METHODS.items():
        facts = scheme().facts
        if facts.friction and facts.general_kinematics and method != "event-driven":
            print(f"{method:44} {far_contacts(method, 240):12.2f}")
    print(f"{'warm run of 100 steps by rattle, the same way':44} {warm_with_far_contacts(240):12.2f}")
    print(f"{'besides the steps':44} {'microseconds':>12}")
    for name in (*DECLARED, *DETECTED):
        system = ss.benchmarks.REGISTRY[name].build()
        dt = 1e-5

        def run(steps: int, system: ss.System = system, dt: float = dt) -> ss.Solution:
            return ss.solve(system, steps * dt, dt, progress=False)

        rounds = 50 if name in DECLARED else 5
        few, many = (best(lambda n=n: run(n), rounds) for n in (10, 110))
        print(f"{f'warm solve, {name}':44} {1e6 * (few - (many - few) / 10):12.1f}")
        with ss.stepper(system, dt) as sim:
            few, many = (best(lambda n=n: sim.step(n), 500) for n in (1, 11))
            print(f"{f'stepper, one call, {name}':44} {1e6 * (few - (many - few) / 10):12.1f}")
    with ss.stepper(in_flight(), 1e-3) as sim:
        print(f"{'a step of two detected balls in flight':44} {1e6 * best(lambda: sim.step(100), 5) / 100:12.1f}")
    ball, n = ss.benchmarks.bouncing_ball(), 100_000
    heights = np.linspace(0.5, 1.5, n)[:, None]
    times = {}
    for workers in (1, 2):
        ss.ensemble(ball, 1.0, 1e-2, q0=heights[:100], workers=workers)
        begin = time.perf_counter()
        ss.ensemble(ball, 1.0, 1e-2, q0=heights, workers=workers)
        times[workers] = (time.perf_counter() - begin) / n
        print(f"{f'ensemble, run of 100 steps, {workers} thread(s)':44} {1e6 * times[workers]:12.1f}")


if __name__ == "__main__":
    main()
