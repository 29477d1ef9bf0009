"""What studies cost: `python bench/studies.py [share]`; a share below 1 takes fewer values and points.

A bifurcation diagram of the impact oscillator (400 values, 500 periods of 100 steps), basins on a grid of 500 x 500 (52 periods
of 50 steps), and the tangent of the slider-crank with ten inputs, relative to the run alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import stickslip as ss


def seconds(run: Callable[[], object]) -> float:
    """Wall time."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def main(share: float) -> None:
    """Print the table."""
    s = ss.benchmarks.impact_oscillator(zeta=0.05)
    period = 2 * ss.math.pi / s.parameter_symbols()["omega"]
    ss.bifurcation(s, "omega", [2.5], period=period, count=1, transient=1, progress=False)  # compiles
    values = np.linspace(2.4, 4.2, max(2, round(400 * share)))
    took = seconds(lambda: ss.bifurcation(s, "omega", values, period=period, direction="none", progress=False))
    print(f"bifurcation diagram, {len(values)} values x 500 periods: {took:.1f} s")
    side = max(2, round(500 * np.sqrt(share)))
    grid = {"x": np.linspace(-3, 0, side), "x_dot": np.linspace(-3, 3, side)}
    given = {"period": period, "parameters": {"omega": 3.9}, "progress": False}
    took = seconds(lambda: ss.basins(s, grid, **given))
    print(f"basins, {side} x {side}: {took:.1f} s")
    crank = ss.benchmarks.slider_crank()
    wrt = list(crank.parameters)[:10]
    given = {"t_end": 0.01, "dt": 1e-3}
    ss.sensitivity(crank, **given, wrt=wrt)
    plain = min(seconds(lambda: ss.solve(crank, **given, method="event-driven", progress=False)) for _ in range(3))
    tangent = min(seconds(lambda: ss.sensitivity(crank, **given, wrt=wrt)) for _ in range(3))
    print(f"slider-crank, tangent with {len(wrt)} inputs: {tangent / plain:.1f} times the run alone ({plain:.2f} s)")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
