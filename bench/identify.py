"""How often the true parameters lie in their 95 % intervals: `python bench/identify.py [seeds]`, a few seconds per seed.

Friction and restitution of the slider-crank from its own crank and slider angles, with 1 % noise.
"""

from __future__ import annotations

import sys

import numpy as np

import stickslip as ss

TRUTH = {"mu": 0.05, "e_N": 0.45}


def main(seeds: int) -> None:
    """Print the counts."""
    system = ss.benchmarks.slider_crank()
    options = {"rest_velocity": 1e-3, "rtol": 1e-8, "atol": 1e-10}
    truth = ss.solve(system, 0.01, 2e-4, method="event-driven", parameters=TRUTH, progress=False, **options)
    inside = dict.fromkeys(TRUTH, 0)
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        data = {"t": truth.t}
        for name in ("phi1", "phi3"):
            x = truth.q[:, truth.names.q.index(name)]
            data[name] = x + 0.01 * np.ptp(x) * random.normal(size=x.size)
        sigma = {name: 0.01 * float(np.ptp(truth.q[:, truth.names.q.index(name)])) for name in ("phi1", "phi3")}
        fit = ss.identify(system, data, list(TRUTH), sigma=sigma, bounds={"mu": (0, 1), "e_N": (0, 1)}, **options)
        for name, value in TRUTH.items():
            low, high = fit.intervals[name]
            inside[name] += low <= value <= high
        print(seed, {name: round(value, 4) for name, value in fit.values.items()}, inside, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
