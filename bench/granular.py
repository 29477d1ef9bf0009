"""Granular matter: how fast a silo runs out through slots of several widths, and while its height falls; poured heaps.

    python bench/granular.py [silo] [height] [heap]

The slope of a heap is that of a cone of its volume. Rates of silos are those between the first tenth and 60 % of the grains;
Beverloo's law in the plane is rate = C sqrt(g/d) (D/d - k)^(3/2).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import stickslip as ss
from stickslip.benchmarks.heap import repose

G, D = 9.81, 0.01


def outflow(solution: ss.Solution) -> tuple[float, float]:
    """Grains per second below the plates: between 10 % and 35 %, and between 35 % and 60 %."""
    out = (solution.q[:, 1::3] < -D).sum(axis=1)
    total = solution.q.shape[1] // 3
    if out[-1] < 0.6 * total:
        return float("nan"), float("nan")  # an arch stopped it
    t_0, t_1, t_2 = (solution.t[np.argmax(out >= share * total)] for share in (0.1, 0.35, 0.6))
    return 0.25 * total / (t_1 - t_0), 0.25 * total / (t_2 - t_1)


def silo() -> None:
    """Rates for slots of several widths, and Beverloo's law fitted to them."""
    print(f"{'slot':>6} {'grains/s':>9} {'first':>7} {'later':>7} {'CPU s':>7}")
    widths: list[float] = []
    rates: list[float] = []
    for outlet in (5.0, 6.0, 7.0, 8.0):
        begin = time.process_time()
        solution = ss.solve(
            ss.benchmarks.silo(outlet=outlet), 0.9 if outlet < 6 else 0.55, 1e-3, tol=1e-6, progress=False
        )
        first, later = outflow(solution)
        rate = 2 / (1 / first + 1 / later)
        widths.append(outlet), rates.append(rate)
        print(f"{outlet:6.1f} {rate:9.0f} {first:7.0f} {later:7.0f} {time.process_time() - begin:7.1f}", flush=True)
    # rate^(2/3) is a straight line of the width
    a, b = np.polyfit(widths, np.array(rates) ** (2 / 3), 1)
    line = np.polyval([a, b], widths) ** 1.5
    print(f"Beverloo: C = {a**1.5 / np.sqrt(G / D):.2f}, k = {-b / a:.2f}; "
          f"largest deviation {100 * np.abs(line / rates - 1).max():.0f} %")  # fmt: skip


def height() -> None:
    """Rates of one silo while it runs out: unlike a liquid's they do not fall with the height."""
    begin, count = time.process_time(), 400
    system = ss.benchmarks.silo(outlet=7.0, count=count)
    solution = ss.solve(system, 0.9, 1e-3, tol=1e-6, on_failure="subdivide", progress=False)
    out = (solution.q[:, 1::3] < -D).sum(axis=1)
    print(f"{'grains inside':>13} {'grains/s':>9}")
    for n in range(50, int(out[-1]) - 49, 50):
        t_0, t_1 = (solution.t[np.argmax(out >= m)] for m in (n, n + 50))
        print(f"{count - n:6d} to {count - n - 50:3d} {50 / (t_1 - t_0):9.0f}")
    print(
        f"steps subdivided: {solution.stats.solved_by.get('subdivision', 0)}, CPU {time.process_time() - begin:.0f} s"
    )


def heap() -> None:
    """Slopes of heaps of rough and of smooth spheres."""
    for mu in (0.5, 0.1, 0.0):
        begin = time.process_time()
        given: dict[str, Any] = {"tol": 1e-6, "progress": False}
        solution = ss.solve(ss.benchmarks.heap(mu=mu), 1.4, 2e-3, **given)
        left, angle = repose(solution.q[-1])
        print(
            f"mu = {mu}: {left} spheres stay, {angle:.1f} degrees, CPU {time.process_time() - begin:.0f} s", flush=True
        )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ["silo", "height", "heap"]:
        {"silo": silo, "height": height, "heap": heap}[chosen]()
