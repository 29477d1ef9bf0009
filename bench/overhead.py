"""What a call costs besides its steps: warm `solve`, the stepper, runs of an ensemble.

Differences of two runs that differ in their number of steps, best of several: `python bench/overhead.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import stickslip as ss


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


def main() -> None:
    """Print the table."""
    print(f"{'besides the steps':44} {'microseconds':>12}")
    for name in ("bouncing_ball", "slider_crank"):
        system = ss.benchmarks.REGISTRY[name].build()
        dt = 1e-5

        def run(steps: int, system: ss.System = system, dt: float = dt) -> ss.Solution:
            return ss.solve(system, steps * dt, dt, progress=False)

        few, many = (best(lambda n=n: run(n), 50) for n in (10, 110))
        print(f"{f'warm solve, {name}':44} {1e6 * (few - (many - few) / 10):12.1f}")
        with ss.stepper(system, dt) as sim:
            few, many = (best(lambda n=n: sim.step(n), 500) for n in (1, 11))
            print(f"{f'stepper, one call, {name}':44} {1e6 * (few - (many - few) / 10):12.1f}")
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
