"""`stickslip view`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stickslip.cli.app import app
from stickslip.cli.common import (
    MethodOption,
    Quantities,
    Settings,
    StepOption,
    complete_target,
    listed,
    make_directory,
    say,
    written,
)
from stickslip.cli.target import TargetModel, find
from stickslip.errors import OptionError

if TYPE_CHECKING:
    from stickslip.solution import Solution


@app.command()
def view(
    what: Annotated[
        str,
        typer.Argument(
            metavar="FILE|NAME|FILE.py",
            help="A saved result, or a benchmark or a Python file to run now.",
            autocompletion=complete_target,
        ),
    ],
    method: MethodOption = None,
    dt: StepOption = None,
    t_end: Annotated[float | None, typer.Option(help="Where the film ends.")] = None,
    t_start: Annotated[float | None, typer.Option(help="Where the film begins.")] = None,
    set_: Settings = None,
    overlay: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|METHOD",
            help="A second run in the same picture: a saved result, or another method for the model that is run now.",
        ),
    ] = None,
    quantities: Quantities = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the page goes; next to a file, or into out.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write a page with the film of a result or a model: one HTML file that needs no network."""
    from stickslip import benchmarks  # also enters the drawings that results refer to by name
    from stickslip.solution import load

    if what not in benchmarks.REGISTRY and ".py" not in what and (Path(what).suffix or Path(what).exists()):
        if given := [k for k, v in {"--method": method, "--dt": dt, "--set": set_}.items() if v is not None]:
            raise OptionError(f"{', '.join(given)}: {what} is a finished result; only a benchmark can be run otherwise")
        solution, name, folder = load(what), Path(what).stem, Path(what).parent
        other = None if overlay is None else load(overlay)
    else:
        model, folder = find(what), Path("out")
        name = model.name
        make_directory(out or folder)
        solution = _shown(model, method, dt, t_start or 0.0, t_end, set_)
        if overlay is None or Path(overlay).suffix:
            other = None if overlay is None else load(overlay)
        else:
            other = _shown(model, overlay, dt, t_start or 0.0, t_end, set_)
    page = (out or folder) / f"{name}.html"
    replaced = [page] if page.exists() else []
    chosen = listed(quantities)
    page = solution.view(path=page, t_start=t_start, t_end=t_end, overlay=other, quantities=chosen, open_browser=open_)
    said = written(page, replaced=replaced)
    say(said if open_ else f"{said}; open it in a browser, or use --open")


def _shown(
    model: TargetModel,
    method: str | None,
    dt: float | None,
    t_start: float,
    t_end: float | None,
    settings: list[str] | None,
) -> Solution:
    """As much of a run as its film shows."""
    from stickslip.solve import solve

    system, parameters = model.made(settings)
    if t_end is None and model.t_end is not None:
        span = system.drawing.span if system.drawing else None
        t_end = model.t_end if span is None else min(t_start + span, model.t_end)
    dt, t_end = model.times(dt, t_end)
    return solve(system, t_end, dt, method=method or model.method, tol=model.tol, parameters=parameters)
