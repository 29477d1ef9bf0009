"""`stickslip sweep`."""

from __future__ import annotations

import csv
import inspect
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from stickslip.cli.app import FAILED, app
from stickslip.cli.common import (
    EndTime,
    JournalFile,
    Json,
    MethodOption,
    Out,
    Overwrite,
    Settings,
    StepOption,
    Target,
    Tolerance,
    say,
    say_json,
)
from stickslip.cli.target import begin, find
from stickslip.errors import InitialStateError, ModelError, OptionError

if TYPE_CHECKING:
    from stickslip.model.system import System

OF_A_COLUMN: dict[str, Callable[[np.ndarray], float]] = {
    "final": lambda values: float(values[-1]),
    "max": lambda values: float(np.max(values)),
    "min": lambda values: float(np.min(values)),
    "mean": lambda values: float(np.mean(values)),
}


@app.command()
def sweep(
    name: Target,
    over: Annotated[
        list[str],
        typer.Option(
            help="KEY=FIRST:LAST:COUNT or KEY=A,B,C of a setting or a parameter (`stickslip info` lists both); may be "
            "repeated, then all combinations are taken."
        ),
    ],
    measure: Annotated[
        list[str],
        typer.Option(help="final:NAME, max:NAME, min:NAME or mean:NAME of a quantity, such as max:y; may be repeated."),
    ],
    method: MethodOption = None,
    dt: StepOption = None,
    t_end: EndTime = None,
    tol: Tolerance = 1e-8,
    set_: Settings = None,
    workers: Annotated[int | None, typer.Option(help="Threads; all cores if not given.")] = None,
    journal: JournalFile = None,
    out: Out = Path("out"),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Run a model for many values of its settings and parameters, and write a table of what is measured.

    Runs that fail have `nan` in the table and are listed; then the exit code is 1.
    """
    from stickslip.studies.sweep import sweep as run

    asked = dict(_axis(text) for text in over)
    if twice := [text for text in set_ or [] if text.partition("=")[0] in asked]:
        raise OptionError(f"--set {twice[0]} has the same name as an --over; leave one of them out")
    settings, axes = _split(asked, find(name).build)
    given = begin(name, [*(set_ or []), *_settings(settings)], out, ["sweep.csv"], overwrite)
    (table,) = given.files
    step, end = given.model.times(dt, t_end)
    chosen = [_measure(text) for text in measure]

    def measured(solution: Any) -> dict[str, float]:
        return {text: f(np.asarray(solution[quantity])) for text, quantity, f in chosen}

    measured.__qualname__ = f"measured {', '.join(measure)}"  # a journal belongs to what was measured
    # A setting is an argument of the function that makes the system: each value has a system of its own. All are made before
    # the first run, so that a value which the function refuses costs no time.
    places = [dict(zip(settings, values, strict=True)) for values in itertools.product(*settings.values())]
    made = [given.model.made([*(set_ or []), *_settings({k: [v] for k, v in p.items()})]) for p in places]
    _require_known(made[0][0], [quantity for _, quantity, _ in chosen], step, method or given.model.method)
    rows: list[tuple[dict[str, Any], dict[str, float], str | None]] = []
    for k, (place, (system, parameters)) in enumerate(zip(places, made, strict=True)):
        result = run(
            system,
            end,
            step,
            parameters=axes | {key: [value] for key, value in parameters.items()},
            measure=measured,
            method=method or given.model.method,
            tol=tol,
            workers=workers,
            journal=journal if journal is None or not settings else journal.with_name(f"{journal.name}.{k}"),
            progress=False if json else None,
        )
        for i, point in enumerate(result.points):
            values = {key: float(column[i]) for key, column in result.values.items()}
            rows.append((place | point, values, result.errors.get(i)))
    failed = [{"point": point, "error": error} for point, _, error in rows if error is not None]
    if rows and len(failed) == len(rows):
        raise OptionError(f"all {len(rows)} runs failed; the first: {failed[0]['error']}")
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*rows[0][0], *measure])
        for point, values, _ in rows:
            writer.writerow([*point.values(), *[repr(values.get(text, math.nan)) for text in measure]])
    if json:
        say_json({"runs": len(rows), "failed": failed, "file": str(table)})
    else:
        for entry in failed[:5]:
            say(f"failed: {entry['point']}: {entry['error']}", stderr=True)
        say(f"{len(rows)} runs, {len(failed)} failed; wrote {table}")
    if failed:
        raise typer.Exit(FAILED)


def _split(
    axes: dict[str, list[float]], build: Callable[..., Any]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Axes of settings, which the function that makes the model takes, and axes of parameters of the system.

    >>> def ball(height=1.0): ...
    >>> _split({"height": [1.0, 2.0], "e": [0.5]}, ball)
    ({'height': [1.0, 2.0]}, {'e': [0.5]})
    """
    known = inspect.signature(build).parameters
    return {k: v for k, v in axes.items() if k in known}, {k: v for k, v in axes.items() if k not in known}


def _settings(axes: dict[str, list[float]]) -> list[str]:
    """The first value of each axis as --set has it; whole numbers without a point, because an argument may count something."""
    return [f"{k}={int(v[0]) if v[0].is_integer() else repr(v[0])}" for k, v in axes.items()]


def _axis(text: str) -> tuple[str, list[float]]:
    """A parameter and its values.

    >>> _axis("omega=0:10:3")
    ('omega', [0.0, 5.0, 10.0])
    """
    key, equals, values = text.partition("=")
    try:
        if not (key and equals):
            raise ValueError
        if values.count(":") == 2:
            first, last, count = values.split(":")
            return key, np.linspace(float(first), float(last), int(count)).tolist()
        return key, [float(word) for word in values.split(",")]
    except ValueError:
        raise OptionError(f"--over {text}: write KEY=FIRST:LAST:COUNT or KEY=A,B,C") from None


def _require_known(system: System, quantities: list[str], dt: float, method: str) -> None:
    """Names of quantities are asked of a run without steps, before all others are made."""
    from stickslip.solve import solve

    try:
        start = solve(system, 0.0, dt, method=method, progress=False)
    except (ModelError, InitialStateError):  # of values that the runs replace
        return
    for quantity in quantities:
        start[quantity]


def _measure(text: str) -> tuple[str, str, Callable[[np.ndarray], float]]:
    kind, colon, quantity = text.partition(":")
    if not colon or kind not in OF_A_COLUMN:
        raise OptionError(f"--measure {text}: write final:NAME, max:NAME, min:NAME or mean:NAME")
    return text, quantity, OF_A_COLUMN[kind]
