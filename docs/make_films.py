"""Make the films of docs/mechanisms: python docs/make_films.py writes docs/images/mechanisms/*.gif."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import stickslip as ss

FOLDER = Path(__file__).parent / "images" / "mechanisms"
LOOK = {"fps": 10, "width": 280}


def impact_oscillator() -> ss.Solution:
    """Chaos."""
    return ss.solve(ss.benchmarks.impact_oscillator(zeta=0.05), 20.0, 1e-2, progress=False)


def block_on_belt() -> ss.Solution:
    """Two cycles of stick and slip."""
    return ss.solve(ss.benchmarks.block_on_belt(), 15.0, 1e-2, progress=False)


def woodpecker() -> ss.Solution:
    """Three cycles."""
    return ss.solve(ss.benchmarks.woodpecker_toy(), 0.45, 1e-4, progress=False)


def compass_walker() -> ss.Solution:
    """Three steps."""
    return ss.solve(ss.benchmarks.compass_walker(), 11.6, 2e-3, progress=False)


def ball_on_shaker() -> ss.Solution:
    """The orbit with one impact per period."""
    ball = ss.benchmarks.ball_on_shaker(A=0.0137)
    T = 2 * ss.math.pi / 30
    orbit = ss.periodic_orbit(ball, ([0.06], [0.2]), period=T, t_start=T / 2)
    return orbit.solve(3)


def gear_rattle() -> ss.Solution:
    """Impacts on both flanks."""
    return ss.solve(ss.benchmarks.gear_rattle(), 0.25, 5e-5, progress=False)


def tippedisk() -> ss.Solution:
    """It turns upside down."""
    return ss.solve(ss.benchmarks.tippedisk(), 1.5, 1e-3, progress=False)


def rocking_block() -> ss.Solution:
    """It rocks to rest."""
    return ss.solve(ss.benchmarks.rocking_block(), 3.0, 1e-3, progress=False)


FILMS: dict[str, tuple[Callable[[], ss.Solution], float]] = {
    "impact_oscillator": (impact_oscillator, 5.0),
    "block_on_belt": (block_on_belt, 5.0),
    "woodpecker": (woodpecker, 5.0),
    "compass_walker": (compass_walker, 5.0),
    "ball_on_shaker": (ball_on_shaker, 3.0),
    "gear_rattle": (gear_rattle, 5.0),
    "tippedisk": (tippedisk, 4.0),
    "rocking_block": (rocking_block, 4.0),
}


def main(names: list[str]) -> None:
    """All films, or those that are named."""
    for name in names or FILMS:
        make, seconds = FILMS[name]
        path = ss.plots.animate(make(), FOLDER / f"{name}.gif", seconds=seconds, **LOOK)
        print(path, path.stat().st_size // 1000, "kB", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
