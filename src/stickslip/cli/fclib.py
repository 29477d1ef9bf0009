"""`stickslip fclib`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.app import app
from stickslip.cli.common import Json, print_table, say, say_json
from stickslip.errors import OptionError, unknown_name


@app.command()
def fclib(
    files: Annotated[list[Path], typer.Argument(help="One-step problems: FCLIB's HDF5 files, or .dat of Siconos.")],
    solver: Annotated[
        str, typer.Option(help="auto, newton, gauss-seidel, robust or enumeration (few planar contacts).")
    ] = "auto",
    tol: Annotated[float, typer.Option(help="Relative natural map that counts as solved.")] = 1e-8,
    as_json: Json = False,
) -> None:
    """Solve one-step contact problems from files; exit code 1 if one is not solved."""
    from stickslip.nonsmooth import SOLVERS, load_fclib, solve

    if solver not in ("auto", *SOLVERS):
        raise OptionError(unknown_name("solver", solver, ["auto", *SOLVERS]))
    problems = [(path, load_fclib(path)) for path in files]
    solve(problems[0][1], solver, max(tol, 1e-2))  # loads the compiled solvers, which is not a time of a problem
    results = [(path, problem, solve(problem, solver, tol)) for path, problem in problems]
    if as_json:
        keys = ("solver", "iterations", "residual", "seconds", "converged")
        say_json([{"file": str(p), "contacts": q.n_contacts} | {k: getattr(s, k) for k in keys} for p, q, s in results])
    else:
        rows = [
            (
                path.name,
                str(problem.n_contacts),
                s.solver,
                str(s.iterations),
                f"{s.residual:.1e}",
                f"{1e3 * s.seconds:.1f} ms",
            )
            for path, problem, s in results
        ]
        print_table(f"tolerance {tol:g}", ("file", "contacts", "solved by", "iterations", "residual", "time"), rows)
    missed = [str(path) for path, _, s in results if not s.converged]
    if missed:
        say(f"not solved to {tol:g}: {', '.join(missed)}", stderr=True)
        raise typer.Exit(1)
