"""How often the true parameters lie in their 95 % intervals: `python bench/identify.py [seeds] [processes]`.

Friction, restitution and the rate of a return spring of the slider-crank, from its own crank angle, slider position and tilt
with noise of 1 % of their ranges, and the times of the first three impacts with noise of 1 % of the intervals between them. The
search begins at values that are wrong by 12 to 33 %.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np

import stickslip as ss

TRUTH = {"mu": 0.3, "e_N": 0.4, "k": 500.0}
START = {"mu": 0.2, "e_N": 0.35, "k": 400.0}
BOUNDS = {"mu": (0.0, 1.0), "e_N": (0.0, 1.0), "k": (0.0, 5000.0)}
COLUMNS = ("phi1", "x3", "phi3")
OPTIONS = {"rest_velocity": 1e-2, "rtol": 1e-9, "atol": 1e-11}


def sprung_crank() -> ss.System:
    """The slider-crank with a spring between the slider and the ground."""
    system = ss.benchmarks.slider_crank()
    x3 = system.blocks[0].q[6]
    system.potential_energy(system.parameter("k", START["k"]) / 2 * (x3 - 0.3) ** 2)
    return system


@cache
def measured() -> tuple[ss.System, ss.Solution, np.ndarray]:
    """The system, its true motion and its true times of impact."""
    system = sprung_crank()
    truth = ss.sensitivity(system, 6e-3, 1e-4, wrt=["mu"], parameters=TRUTH, **OPTIONS)
    times = np.array([e.t for e in truth.events if e.kind == "impact" and e.name == "upper right"])[:3]
    return system, truth.solution, times


def fitted(seed: int) -> tuple[int, ss.Identification]:
    """One fit."""
    system, truth, times = measured()
    random = np.random.default_rng(seed)
    sigma = {name: 0.01 * float(np.ptp(truth[name])) for name in COLUMNS}
    sigma["upper right"] = 0.01 * float(np.diff([0, *times]).min())
    data = {"t": truth.t, **{name: truth[name] + sigma[name] * random.normal(size=len(truth)) for name in COLUMNS}}
    data["impacts"] = {"upper right": times + sigma["upper right"] * random.normal(size=times.size)}
    return seed, ss.identify(system, data, list(TRUTH), start=START, bounds=BOUNDS, sigma=sigma, **OPTIONS)


def main(seeds: int, processes: int) -> None:
    """Print the counts."""
    begin, inside, all_three = time.perf_counter(), dict.fromkeys(TRUTH, 0), 0
    with ProcessPoolExecutor(processes) as pool:
        for seed, fit in pool.map(fitted, range(seeds)):
            hit = {name: fit.intervals[name][0] <= value <= fit.intervals[name][1] for name, value in TRUTH.items()}
            for name in TRUTH:
                inside[name] += hit[name]
            all_three += all(hit.values())
            found = ", ".join(f"{name} {fit.values[name]:.4g} +- {fit.errors[name]:.2g}" for name in TRUTH)
            print(f"seed {seed}: {found}; {fit.evaluations} evaluations, {fit.rms:.2f} sigma", flush=True)
    counts = ", ".join(f"{name} {n}" for name, n in inside.items())
    print(f"true value inside its 95 % interval, of {seeds} seeds: {counts}; all three {all_three}")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    numbers = [int(x) for x in sys.argv[1:]]
    main(numbers[0] if numbers else 100, numbers[1] if len(numbers) > 1 else 2)
