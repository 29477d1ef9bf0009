"""`stickslip bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stickslip.cli.app import app
from stickslip.cli.common import Json, Out, complete_method, complete_target, make_directory, print_table, say, say_json
from stickslip.cli.target import find
from stickslip.errors import MethodError, OptionError

if TYPE_CHECKING:
    from stickslip.analysis.speed import Timed

MODELS = ["slider_crank", "rotating_bouncing_ball", "woodpecker_toy", "dominoes"]
HEADER = ("model", "method", "steps", "µs per step", "ratio", "before")


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE.py]...",
            help="Benchmarks, or Python files with a System; a few of each kind if not given.",
            autocompletion=complete_target,
        ),
    ] = None,
    methods: Annotated[
        str, typer.Option(help="Methods separated by commas.", autocompletion=complete_method)
    ] = "rattle,moreau,generalized-alpha,lobatto",
    steps: Annotated[int, typer.Option(help="Steps of a run, or fewer where the model ends before.")] = 2000,
    out: Out = Path("out"),
    json: Json = False,
) -> None:
    """Measure what a step costs on this machine, as ratios; keep a history of them in DIR/bench.csv."""
    from stickslip.analysis.runs import schemes_of
    from stickslip.analysis.speed import append_history, last_ratios, step_times, unit_of
    from stickslip.schemes.spec import split_methods

    if steps < 1:
        raise OptionError(f"--steps {steps}: give a positive number of steps")
    schemes = schemes_of(split_methods(methods))
    models = []
    for model in map(find, names or MODELS):
        dt, t_end = model.times(None, None)
        models.append((model.name, model.build(), dt, max(1, min(steps, round(t_end / dt))), model.tol))
    make_directory(out)
    file = out / "bench.csv"
    last_ratios(file, "")  # another file of that name is refused before anything runs
    rows = step_times(models, schemes)
    unit = unit_of(rows)
    failures = {f"{row.model} by {row.method}": row.failure for row in rows if row.failure is not None}
    if not unit:
        raise MethodError("nothing was timed. " + " ".join(f"{name}: {why}." for name, why in failures.items()))
    before = last_ratios(file, unit)
    append_history(file, rows)
    if json:
        keys = ("model", "method", "dt", "steps", "seconds", "ratio", "failure")
        data = [{k: getattr(row, k) for k in keys} | {"before": before.get((row.model, row.method))} for row in rows]
        say_json({"unit": unit, "rows": data, "files": [str(file)]})
        return
    table = [
        (row.model, row.method, str(row.steps), f"{1e6 * row.seconds:.3g}", f"{row.ratio:.2f}", _before(row, before))
        for row in rows
        if row.failure is None
    ]
    print_table(f"ratio: to {unit}, in this run; before: in the last run of {file}", HEADER, table)
    for name, reason in failures.items():
        say(f"{name}: {reason}")
    say(f"\nadded to {file}")


def _before(row: Timed, before: dict[tuple[str, str], float]) -> str:
    ratio = before.get((row.model, row.method))
    return "-" if ratio is None else f"{ratio:.2f}"
