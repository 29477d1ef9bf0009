"""Energy alarms of all benchmarks by all schemes: false ones, and silence where energy rises.

python bench/energy_alarm.py [steps] [--only BENCHMARK] [--coarse FACTOR] [--rows N] [methods ...]

Each benchmark is run with its own dt, times FACTOR, by every scheme that can treat it. Without forces from outside T + V
can only fall; `rise` is the largest rise of T + V, less the work that was done from outside, above its lowest value
before and below its lowest value after, so that oscillations do not count, as a share of the energy that moves. An alarm
should stand where it is large, and nowhere else. `--rows N` runs N random rows of balls that nearly touch instead:
restitution there only takes energy, so that every rise is the scheme's.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import stickslip as ss
from stickslip.solve.flows import OUTSIDE, work_of_steps

VARIANTS = (
    *sorted(ss.METHODS),
    "rattle:variant=printed",
    "rattle:variant=midpoint",
    "rattle:restitution=touch",
    "lobatto:stages=2",
    "lobatto:variant=midpoint",
    "generalized-alpha:constraints=PVV",
    "generalized-alpha:friction=smooth",
    "theta:theta=1",
)
FEW = 25  # steps of benchmarks with many detected contacts
MANY = {"silo", "heap", "arch", "dice", "cannonballs", "ball_bearing", "tower", "card_house", "dominoes", "gripper"}
NARROW = 4  # rows: shorter dips are means over impacts


class Looked(NamedTuple):
    """One run: what was said, and the rise as a share of the energy that moves."""

    benchmark: str
    method: str
    alarm: str
    rise: float
    seconds: float
    failure: str = ""


def rise_of(solution: ss.Solution, system: ss.System) -> float:
    """The largest lasting rise of T + V less the work from outside, over the energy that moves."""
    work = work_of_steps(solution, system)
    outside = sum((work[name] for name in OUTSIDE), np.zeros(len(solution) - 1))
    left = solution.kinetic + solution.potential - np.concatenate([[0.0], np.cumsum(outside)])
    wide = np.lib.stride_tricks.sliding_window_view(np.pad(left, NARROW, mode="edge"), 2 * NARROW + 1)
    before, after = np.minimum.accumulate(wide.max(axis=1)), np.minimum.accumulate(left[::-1])[::-1]
    moves = max(float(solution.kinetic.max()), float(np.ptp(solution.potential)), float(np.abs(outside).sum()))
    return max(float((after - before).max()), float(left[-1] - left[0])) / moves if moves > 0 else 0.0


def rise_between_impacts(solution: ss.Solution, system: ss.System) -> float:
    """The largest rise from one flight to a later one, or from the start; nothing but impacts changes the energy."""
    acts = np.pad((solution.P_N > 0).any(axis=1), 2)
    flies = ~np.lib.stride_tricks.sliding_window_view(acts, 5).any(axis=1)
    flies[0] = True
    energy = (solution.kinetic + solution.potential)[flies]
    return float((energy - np.minimum.accumulate(energy)).max() / solution.kinetic.max())


def look(
    name: str,
    method: str,
    system: ss.System,
    t_end: float,
    dt: float,
    tol: float = 1e-8,
    measure: Callable[[ss.Solution, ss.System], float] = rise_of,
) -> Looked:
    """Run it and compare alarm and rise."""
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            solution = ss.solve(system, t_end=t_end, dt=dt, method=method, tol=tol, progress=False)
            failure = ""
        except ss.ConvergenceError as error:
            return Looked(name, method, "", np.nan, time.process_time() - begin, str(error)[:80])
    alarm = next((str(w.message) for w in caught if issubclass(w.category, ss.EnergyWarning)), "")
    return Looked(name, method, alarm, measure(solution, system), time.process_time() - begin, failure)


def benchmarks(steps: int, methods: tuple[str, ...], only: str | None, coarse: float) -> Iterator[Looked]:
    """All benchmarks by all methods that can treat them."""
    for name, benchmark in ss.benchmarks.REGISTRY.items():
        if only is not None and name != only:
            continue
        system, dt = benchmark.build(), coarse * benchmark.dt
        n = min(FEW if name in MANY else steps, steps, round(benchmark.t_end / dt))
        for method in methods:
            try:
                yield look(name, method, system, n * dt, dt, benchmark.tol)
            except ss.StickslipError as error:
                yield Looked(name, method, "", np.nan, 0.0, f"{type(error).__name__}: {error}"[:80])


class RowOfBalls(NamedTuple):
    """Places of balls of unit mass and diameter, their velocities, and a restitution for each neighbouring pair."""

    x: np.ndarray
    u: np.ndarray
    e: np.ndarray


def rows(count: int, seed: int = 0, dt: float = 1e-3) -> list[RowOfBalls]:
    """Three to six balls; neighbours touch, are up to two steps apart, or farther."""
    random, out = np.random.default_rng(seed), []
    for _ in range(count):
        n = int(random.integers(3, 7))
        apart = random.choice([0.0, 1.0, 10.0], size=n - 1) * random.uniform(0, 2 * dt, n - 1)
        u = np.zeros(n)
        u[0] = 1.0
        if random.uniform() < 0.5:
            u[-1] = -random.uniform(0, 1)
        out.append(RowOfBalls(np.concatenate([[0.0], np.cumsum(1 + apart)]), u, random.uniform(0, 1, n - 1)))
    return out


def row_of_balls(row: RowOfBalls) -> ss.System:
    """The balls on a line, frictionless."""
    s = ss.System("row of balls")
    x, u = s.coordinates(" ".join(f"x{k}" for k in range(len(row.x))), initial=row.x, velocity=row.u)
    s.kinetic_energy(u @ u / 2)
    for k, e in enumerate(row.e):
        s.contact(gap=x[k + 1] - x[k] - 1, restitution=s.parameter(f"e{k}", e), name=f"pair {k}")
    return s


def random_rows(count: int, methods: tuple[str, ...], seed: int = 0) -> Iterator[Looked]:
    """Rows of balls by all methods."""
    for k, row in enumerate(rows(count, seed)):
        system = row_of_balls(row)
        for method in methods:
            yield look(f"row {k}", method, system, 0.2, 1e-3, measure=rise_between_impacts)


def main() -> None:
    """One line for each run that alarmed, rose by more than 2 %, or failed; then the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", nargs="?", type=int, default=1000)
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--only")
    parser.add_argument("--coarse", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=0)
    given = parser.parse_intermixed_args()
    methods = tuple(given.methods) or VARIANTS
    runs = (
        random_rows(given.rows, methods) if given.rows else benchmarks(given.steps, methods, given.only, given.coarse)
    )
    print("| benchmark | method | rise | alarm |\n| --- | --- | --- | --- |")
    done = []
    for each in runs:
        done.append(each)
        if each.alarm or each.failure or not each.rise < 0.02:
            said = each.failure or each.alarm[:110] or "silent"
            print(f"| {each.benchmark} | {each.method} | {each.rise:.1%} | {said} |", flush=True)
    treated = [each for each in done if not each.failure]
    print(
        f"\n{len(done)} runs, {len(treated)} ended, {sum(bool(each.alarm) for each in treated)} alarms, "
        f"{sum(not each.alarm and each.rise > 0.1 for each in treated)} silent rises above 10 %, "
        f"{sum(not each.alarm and each.rise > 0.02 for each in treated)} above 2 %, "
        f"{sum(bool(each.alarm) and each.rise < 0.02 for each in treated)} alarms at rises below 2 %, "
        f"{sum(each.seconds for each in done):.0f} s"
    )


if __name__ == "__main__":
    main()
