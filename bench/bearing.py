"""How fast the cage of a ball bearing turns, for starts with several speeds: `python bench/bearing.py [t_end]`.

Speeds of the cage over that of the shaft: the mean of the first 20 ms, and of the second half of the run (of 0.8 s by default).
The theory with clearance is (D - d - c)/2/(D + c). Balls and cage start with 1, 0.5, 1.3 and 0 times the speed of rolling.
"""

from __future__ import annotations

import sys

import stickslip as ss

D, d, OMEGA, DT = 0.039, 0.0095, 50.0, 1e-4


def main(t_end: float) -> None:
    """Print the table."""
    print(
        f"{'clearance':>9} {'play':>6} {'weights':>8} {'start':>6} {'early':>7} {'late':>7} {'theory':>7} {'ratio':>7}"
    )
    for clearance, play, g, starts in (
        (5e-5, 3e-5, 0.0, (1.0, 0.5, 1.3, 0.0)),
        (5e-5, 3e-5, 9.81, (1.0, 0.5, 1.3, 0.0)),
        (2e-5, 1.2e-5, 9.81, (1.0,)),
    ):
        theory = (D - d - clearance) / 2 / (D + clearance)
        for start in starts:
            bearing = ss.benchmarks.ball_bearing(clearance=clearance, play=play, g=g, start=start)
            phi = ss.solve(bearing, t_end, DT, progress=False)["cage.phi"]
            early, half = round(0.02 / DT), len(phi) // 2
            speeds = phi[early] / (OMEGA * 0.02), (phi[-1] - phi[half]) / (OMEGA * DT * (len(phi) - 1 - half))
            print(
                f"{1e6 * clearance:6.0f} um {1e6 * play:3.0f} um {'with' if g else 'without':>8} {start:6.1f} "
                f"{speeds[0]:7.4f} {speeds[1]:7.4f} {theory:7.4f} {speeds[1] / theory:7.4f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 0.8)
