"""Granular matter: how fast a silo runs out through slots of several widths, and from several heights; poured
heaps.

    python bench/granular.py [silo] [filling] [height] [heap]

Beverloo's law in the plane is rate = C sqrt(g/d) (D/d - k)^(3/2). The slope of a heap is
that of lines fitted to its surface, see `repose`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import stickslip as ss
from stickslip.benchmarks.heap import radii, repose

G, D = 9.81, 0.01
SEEDS = (1, 2, 3, 4, 5)


def outflow(count: int, first: int, last: int, t_end: float, **given: Any) -> float:
    """Grains per second below the plates of a silo, from the `first` one to the `last` one."""
    system = ss.benchmarks.silo(count=count, **given)
    q = ss.solve(system, t_end, 1e-3, tol=1e-6, progress=False).q
    out = (q[:, 1::3] < -D).sum(axis=1)
    if out[-1] < last:
        return float("nan")  # an arch stopped it
    return (last - first) / (1e-3 * float(np.argmax(out >= last) - np.argmax(out >= first)))


def power(widths: np.ndarray, rates: np.ndarray, k: float) -> float:
    """The exponent of (width - k) that meets the rates best."""
    return float(np.polyfit(np.log(widths - k), np.log(rates), 1)[0])


def silo() -> None:
    """Rates for slots of several widths, Beverloo's law fitted to their means, and the exponent for given k."""
    begin, widths, ends = time.process_time(), np.array([7.0, 9.0, 12.0]), (0.6, 0.42, 0.3)
    rates = np.array(
        [[outflow(360, 40, 180, end, width=24.0, outlet=w, seed=n) for w, end in zip(widths, ends, strict=True)]
         for n in SEEDS]
    )  # fmt: skip
    print(f"{'slot':>6} {'grains/s':>9}  of {len(SEEDS)} seeds")
    for j, w in enumerate(widths):
        print(f"{w:6.1f} {rates[:, j].mean():9.0f}  {np.round(rates[:, j]).astype(int)}")
    a, b = np.polyfit(widths, rates.mean(axis=0) ** (2 / 3), 1)  # rate^(2/3) is a straight line of the width
    line = np.polyval([a, b], widths) ** 1.5
    print(f"Beverloo: C = {a**1.5 / np.sqrt(G / D):.2f}, k = {-b / a:.2f}; "
          f"largest deviation {100 * np.abs(line / rates.mean(axis=0) - 1).max():.0f} %")  # fmt: skip
    for k in (0.0, 1.4, 1.7, 2.0):
        each = [power(widths, row, k) for row in rates]
        print(f"k = {k}: exponent {power(widths, rates.mean(axis=0), k):.2f}, each seed {np.round(each, 2)}")
    print(f"CPU {time.process_time() - begin:.0f} s")


def filling() -> None:
    """Rates of silos that are filled to several heights: unlike a liquid's they do not depend on it."""
    begin, counts = time.process_time(), (150, 300, 450)
    print(f"{'filling':>8} {'grains/s':>9}")
    means = [np.array([outflow(n, 30, 90, 0.3, outlet=7.0, seed=seed) for seed in SEEDS[:3]]) for n in counts]
    for n, found in zip(counts, means, strict=True):
        liquid = np.sqrt((n - 60) / (counts[0] - 60))
        ratio = found.mean() / means[0].mean()
        print(f"{n:8d} {found.mean():9.0f} {np.round(found).astype(int)}, ratio {ratio:.2f}, of a liquid {liquid:.2f}")
    print(f"CPU {time.process_time() - begin:.0f} s")


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
    """Slopes of heaps for several mu, poured from a high column and from one that is half as high and twice as wide."""
    for abreast, mus, seeds in ((6, (0.5, 0.3, 0.1, 0.0), SEEDS), (12, (0.5, 0.0), SEEDS[:3])):
        for mu in mus:
            begin = time.process_time()
            left, slope = [], []
            for seed in seeds:
                system = ss.benchmarks.heap(mu=mu, seed=seed, abreast=abreast)
                q = ss.solve(system, 1.2, 2e-3, tol=1e-6, progress=False).q[-1]
                on, sides = repose(q, radii(seed=seed))
                left.append(on), slope.append(sides.mean())
            print(
                f"{abreast:2d} abreast, mu = {mu}: {np.mean(left):.0f} grains stay, {np.mean(slope):.1f} +- "
                f"{np.std(slope, ddof=1):.1f} degrees, {np.round(slope, 1)}, CPU {time.process_time() - begin:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ["silo", "filling", "height", "heap"]:
        {"silo": silo, "filling": filling, "height": height, "heap": heap}[chosen]()
