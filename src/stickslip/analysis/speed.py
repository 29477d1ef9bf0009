"""How long a step takes, for several models and methods in one run: as ratios, since machines differ and are busy.

Repetitions are interleaved and the best of each counts, so that a noisy machine disturbs all alike. Ratios of earlier runs are
kept in a history file, a line for each row of each run.
"""

from __future__ import annotations

import csv
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stickslip._version import __version__
from stickslip.analysis.runs import attempt
from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.schemes import Scheme
from stickslip.schemes.spec import label

REPETITIONS = 5
COLUMNS = ("date", "version", "machine", "unit", "model", "method", "dt", "steps", "microseconds", "ratio")


@dataclass(frozen=True)
class Timed:
    """A row: seconds per step, and as a ratio to the first row that ran; or why the method did not run."""

    model: str
    method: str
    dt: float
    steps: int
    seconds: float = float("nan")
    ratio: float = float("nan")
    failure: str | None = None


def best_of(runs: Mapping[str, Callable[[], float]], repetitions: int = REPETITIONS) -> dict[str, float]:
    """The least of what each run returns, its seconds per step; the first call of each compiles and does not count.

    >>> best_of({"a": iter([9.0, 2.0, 1.0]).__next__}, repetitions=2)
    {'a': 1.0}
    """
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repetitions):
        for name, run in runs.items():
            times[name].append(run())
    return {name: min(values) for name, values in times.items()}


def step_times(
    models: Sequence[tuple[str, System, float, int, float]],
    schemes: Sequence[Scheme],
    *,
    repetitions: int = REPETITIONS,
) -> list[Timed]:
    """Time every scheme on every model (name, system, dt, number of steps, tol). One that cannot run says why.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.rotating_bouncing_ball()
    >>> rows = step_times([("ball", ball, 1e-2, 10, 1e-8)], [ss.Rattle(), ss.SchatzmanPaoli()], repetitions=1)
    >>> [(row.method, row.ratio, row.failure is None) for row in rows]
    [('rattle', 1.0, True), ('schatzman-paoli', nan, False)]
    """
    rows: dict[str, Timed] = {}
    runs: dict[str, Callable[[], float]] = {}
    for name, system, dt, steps, tol in models:
        for scheme in schemes:
            key = f"{name} {label(scheme)}"
            first = attempt(system, scheme, steps * dt, dt, tol=tol)
            rows[key] = Timed(name, label(scheme), dt, steps, failure=first.failure)
            if first.failure is None:

                def run(
                    system: System = system,
                    scheme: Scheme = scheme,
                    end: float = steps * dt,
                    dt: float = dt,
                    tol: float = tol,
                ) -> float:
                    done = attempt(system, scheme, end, dt, tol=tol).solution
                    assert done is not None
                    return done.stats.time_per_step

                runs[key] = run
    times = best_of(runs, repetitions)
    unit = next(iter(times.values()), float("nan"))
    return [
        row if key not in times else Timed(row.model, row.method, row.dt, row.steps, times[key], times[key] / unit)
        for key, row in rows.items()
    ]


def unit_of(rows: Sequence[Timed]) -> str:
    """What ratios are relative to: the first row that ran."""
    return next((f"{row.model} by {row.method}" for row in rows if row.failure is None), "")


def append_history(path: Path, rows: Sequence[Timed]) -> None:
    """Add a run to the history, a table of comma-separated values."""
    new = not path.exists()
    date, machine = datetime.now(UTC).isoformat(timespec="seconds"), f"{platform.system()} {platform.machine()}"
    with path.open("a", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        if new:
            write.writerow(COLUMNS)
        for row in rows:
            if row.failure is None:
                numbers = f"{row.dt:g}", row.steps, f"{1e6 * row.seconds:.4g}", f"{row.ratio:.4g}"
                write.writerow([date, __version__, machine, unit_of(rows), row.model, row.method, *numbers])


def last_ratios(path: Path, unit: str) -> dict[tuple[str, str], float]:
    """Ratios by model and method as the history had them last, of runs with the same unit; none without a history."""
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            read = csv.DictReader(file)
            if tuple(read.fieldnames or ()) != COLUMNS:
                raise OptionError(
                    f"{path} is not a history of `stickslip bench`. Move it away, or choose another --out DIR."
                )
            return {(row["model"], row["method"]): float(row["ratio"]) for row in read if row["unit"] == unit}
    except (ValueError, TypeError, UnicodeDecodeError, OSError) as error:
        raise OptionError(f"{path} cannot be read as a history of `stickslip bench`: {error}") from error
