"""`stickslip compare`."""

from __future__ import annotations

from pathlib import Path

from stickslip.cli.app import app
from stickslip.cli.common import (
    EndTime,
    Json,
    Methods,
    Out,
    Overwrite,
    OwnTolerance,
    Settings,
    StepOption,
    Target,
    print_table,
    rows_as_json,
    say,
    say_json,
)
from stickslip.cli.target import begin
from stickslip.errors import MethodError


@app.command()
def compare(
    name: Target,
    methods: Methods,
    dt: StepOption = None,
    t_end: EndTime = None,
    tol: OwnTolerance = None,
    set_: Settings = None,
    out: Out = Path("out"),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Run several methods on one model: motion, penetration, residuals, energy and cost side by side."""
    from stickslip.analysis import compare as run_all
    from stickslip.analysis.compare import HEADER
    from stickslip.schemes.spec import split_methods

    given = begin(name, set_, out, ["comparison.png"], overwrite)
    (figure,) = given.files
    dt, t_end = given.model.times(dt, t_end)
    tol = given.model.tol if tol is None else tol
    result = run_all(given.system, split_methods(methods), t_end, dt, tol=tol, parameters=given.parameters)
    if not json:
        print_table(f"{result.system}, dt = {dt:g}, t_end = {t_end:g}", HEADER, result.table())
        for method, reason in result.failures.items():
            say(f"\n{method}: {reason}")
    if not result.solutions:
        raise MethodError(f"none of the methods can treat {result.system!r}")
    result.plot(figure)
    if json:
        data = {"system": result.system, "dt": dt, "t_end": t_end, "methods": rows_as_json(HEADER, result.table())}
        say_json(data | {"failures": result.failures, "files": [str(figure)]})
    else:
        say(f"\nwrote {figure}")
