"""`stickslip sweep`."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from stickslip.cli.app import app
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
from stickslip.cli.target import begin
from stickslip.errors import OptionError

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
        typer.Option(help="KEY=FIRST:LAST:COUNT or KEY=A,B,C; may be repeated, then all combinations are taken."),
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
    """Run a model for many values of its parameters, and write a table of what is measured."""
    from stickslip.studies.sweep import sweep as run

    given = begin(name, set_, out, ["sweep.csv"], overwrite)
    (table,) = given.files
    step, end = given.model.times(dt, t_end)
    axes = dict(_axis(text) for text in over) | {key: [value] for key, value in given.parameters.items()}
    chosen = [_measure(text) for text in measure]

    def measured(solution: Any) -> dict[str, float]:
        return {text: f(np.asarray(solution[quantity])) for text, quantity, f in chosen}

    measured.__qualname__ = f"measured {', '.join(measure)}"  # a journal belongs to what was measured
    result = run(
        given.system,
        end,
        step,
        parameters=axes,
        measure=measured,
        method=method or given.model.method,
        tol=tol,
        workers=workers,
        journal=journal,
        progress=False if json else None,
    )
    if result.errors and len(result.errors) == len(result):
        raise OptionError(f"all {len(result)} runs failed; the first: {next(iter(result.errors.values()))}")
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*axes, *result.values])
        for k, point in enumerate(result.points):
            writer.writerow([*point.values(), *[repr(float(column[k])) for column in result.values.values()]])
    failed = [{"point": result.points[k], "error": text} for k, text in result.errors.items()]
    if json:
        say_json({"runs": len(result), "failed": failed, "file": str(table)})
        return
    for entry in failed[:5]:
        say(f"failed: {entry['point']}: {entry['error']}", stderr=True)
    say(f"{len(result)} runs, {len(failed)} failed; wrote {table}")


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


def _measure(text: str) -> tuple[str, str, Callable[[np.ndarray], float]]:
    kind, colon, quantity = text.partition(":")
    if not colon or kind not in OF_A_COLUMN:
        raise OptionError(f"--measure {text}: write final:NAME, max:NAME, min:NAME or mean:NAME")
    return text, quantity, OF_A_COLUMN[kind]
