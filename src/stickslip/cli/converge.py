"""`stickslip converge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.app import app
from stickslip.cli.common import (
    EndTime,
    Json,
    Methods,
    Out,
    Overwrite,
    Settings,
    Target,
    Tolerance,
    numbers,
    print_table,
    rows_as_json,
    say,
    say_json,
)
from stickslip.cli.target import begin
from stickslip.errors import OptionError, StickslipError, unknown_name


@app.command()
def converge(
    name: Target,
    methods: Methods,
    dts: Annotated[str, typer.Option(help="Step sizes separated by commas, multiples of each other: 1e-2,5e-3.")],
    reference: Annotated[
        str,
        typer.Option(help="finest: each method's own run at a smaller step; or a method that all are held against."),
    ] = "finest",
    dt_reference: Annotated[
        float | None, typer.Option(help="Step of the reference; a sixteenth of the smallest step if not given.")
    ] = None,
    norm: Annotated[str, typer.Option(help="Norm of the errors: rattle, lobatto, moreau, dg, max, end.")] = "rattle",
    quantity: Annotated[str, typer.Option(help="What the figure shows: q, u, P_N, P_F, P_g, P_gamma.")] = "q",
    t_end: EndTime = None,
    tol: Tolerance = 1e-11,
    set_: Settings = None,
    out: Out = Path("out"),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Errors and observed orders of methods for several steps, and what accuracy costs."""
    from stickslip.analysis import convergence
    from stickslip.schemes.spec import split_methods

    given = begin(name, set_, out, ["convergence.png", "convergence.csv"], overwrite)
    figure, table = given.files
    steps = numbers("--dts", dts)
    study = convergence(
        given.system,
        split_methods(methods),
        steps,
        given.model.times(steps[0], t_end)[1],
        reference=reference,
        dt_reference=dt_reference,
        norm=norm,
        tol=tol,
        parameters=given.parameters,
    )
    orders = {k: study.orders(k) for k in study.quantities}  # nan where the errors are those of rounding
    if not json:
        print_table(f"{study.system}, reference: {study.reference}, norm: {study.norm}", *study.table())
        if study.quantities:
            rows = [(m, *[f"{o[m]:.2f}".replace("nan", "-") for o in orders.values()]) for m in study.methods]
            say("")
            print_table("observed orders", ("method", *study.quantities), rows)
        for run in study.failures:
            say(f"\n{run.method}, dt = {run.dt:g}: {run.failure}")
    if not study.quantities:
        raise StickslipError("no run of this study succeeded; smaller steps may help")
    if quantity not in study.quantities:
        raise OptionError(unknown_name("quantity", quantity, study.quantities))
    study.plot(figure, quantity)
    table.write_text(study.csv(), encoding="utf-8")
    if json:
        about = {"system": study.system, "reference": study.reference, "norm": study.norm, "orders": orders}
        failures = [{"method": run.method, "dt": run.dt, "reason": run.failure} for run in study.failures]
        say_json(
            about | {"runs": rows_as_json(*study.table()), "failures": failures, "files": [str(figure), str(table)]}
        )
    else:
        say(f"\nwrote {figure}, {table}")
