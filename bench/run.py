"""Speed, as ratios measured in one run: `make bench`.

Times are the best of several interleaved repetitions, so that a noisy machine disturbs both sides alike. Where the prototype
of nonsmooth RATTLE for the slider-crank is at hand (the environment variable STICKSLIP_PROTOTYPE names its folder), it is timed
in the same run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import stickslip as ss
from stickslip.analysis.speed import best_of

sys.path.insert(0, str(Path(__file__).parent))
from piles import main as piles

REPETITIONS = 7
best = partial(best_of, repetitions=REPETITIONS)


def step_of(name: str, method: str, dt: float, steps: int, **arguments: object) -> Callable[[], float]:
    """A run of a benchmark that returns the seconds of one step, as a user sees them in `solution.stats`."""
    system = ss.benchmarks.REGISTRY[name].build(**arguments)
    return lambda: ss.solve(system, t_end=dt * steps, dt=dt, method=method).stats.time_per_step


def prototype(folder: Path) -> Callable[[], float]:
    """The prototype's loop, 10000 steps."""
    sys.path.insert(0, str(folder))
    import slider_crank_prototype as p

    (keep_1, first), (keep_2, second) = p.stage_kernels()

    def run() -> float:
        begin = time.perf_counter()
        p.run(first, second, p.Q0, p.U0, 1e-4, 10_000, 1e-8)
        return (time.perf_counter() - begin) / 10_000

    run.kernels = (keep_1, keep_2)  # type: ignore[attr-defined]  # kept alive with the function
    return run


def main() -> None:
    """Print the table."""
    runs = {
        "slider_crank, rattle": step_of("slider_crank", "rattle", 1e-4, 10_000),
        "slider_crank from parts, rattle": step_of("slider_crank", "rattle", 1e-4, 10_000, parts=True),
        "slider_crank, moreau": step_of("slider_crank", "moreau", 1e-4, 10_000),
        "rotating_bouncing_ball, rattle": step_of("rotating_bouncing_ball", "rattle", 1e-3, 10_000, case=1),
        "point_mass_on_slope, rattle": step_of("point_mass_on_slope", "rattle", 3e-4, 10_000, case=1),
    }
    folder = Path(os.environ.get("STICKSLIP_PROTOTYPE", "../shared/prototype"))
    if (folder / "slider_crank_prototype.py").exists():
        runs["prototype of the slider-crank"] = prototype(folder)
    times = best(runs)
    reference = times.get("prototype of the slider-crank", times["slider_crank, rattle"])
    against = "prototype" if "prototype of the slider-crank" in times else "slider_crank"
    print(f"{'one step of':34} {'microseconds':>12}   ratio to {against}")
    for name, seconds in times.items():
        print(f"{name:34} {1e6 * seconds:12.2f}   {seconds / reference:.2f}")
    print()
    schemes()
    print()
    piles([(100, 1500), (1000, 600), (10000, 300)])


def schemes() -> None:
    """Cost of a step of every scheme, relative to Moreau's on the same mechanism."""
    rough = ss.benchmarks.slider_crank()
    smooth = ss.benchmarks.slider_crank_minimal(friction=False)  # for schemes without friction
    dt, steps = 1e-4, 2000
    runs, partner = {}, {}
    for name, scheme in ss.METHODS.items():
        if scheme.compile is not ss.Scheme.compile:
            continue  # no program of stages: event-driven, which has no steps
        system = rough if scheme().facts.friction else smooth
        runs[name] = lambda system=system, name=name: ss.solve(system, dt * steps, dt, method=name).stats.time_per_step
        partner[name] = "moreau" if scheme().facts.friction else "moreau, frictionless"
    runs["moreau, frictionless"] = lambda: ss.solve(smooth, dt * steps, dt, method="moreau").stats.time_per_step
    partner["moreau, frictionless"] = "moreau, frictionless"
    times = best(runs)
    print(f"{'one step of the slider-crank by':34} {'microseconds':>12}   ratio to moreau")
    for name, seconds in sorted(times.items(), key=lambda item: item[1]):
        print(f"{name:34} {1e6 * seconds:12.2f}   {seconds / times[partner[name]]:.2f}")


if __name__ == "__main__":
    main()
