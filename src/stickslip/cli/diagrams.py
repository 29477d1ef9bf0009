"""`stickslip bifurcation` and `stickslip basins`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.app import app
from stickslip.cli.common import (
    JournalFile,
    Json,
    Out,
    Overwrite,
    Settings,
    StudyMethod,
    Target,
    numbers,
    say,
    say_json,
)
from stickslip.cli.target import begin
from stickslip.errors import OptionError, unknown_name

if TYPE_CHECKING:
    from stickslip.model.system import System

Period = Annotated[float | None, typer.Option(help="Period at whose multiples the motion is looked at.")]
Frequency = Annotated[
    str | None, typer.Option(help="Parameter that is the angular frequency of the forcing, instead of --period.")
]
Transient = Annotated[int, typer.Option(help="Periods that are left out.")]
Steps = Annotated[int, typer.Option(help="Steps per period.")]
Range = Annotated[str, typer.Option(metavar="FIRST,LAST,COUNT", help="Values: first, last, how many.")]


@app.command()
def bifurcation(
    name: Target,
    parameter: Annotated[str, typer.Argument(help="The parameter that is varied.")],
    values: Range,
    period: Period = None,
    frequency: Frequency = None,
    count: Annotated[int, typer.Option(help="Periods that are shown.")] = 100,
    transient: Transient = 400,
    steps: Steps = 100,
    direction: Annotated[str, typer.Option(help="up, down, both, or none: each value from the initial state.")] = "up",
    show: Annotated[
        str | None, typer.Option(help="Coordinate or velocity of the figure; the first if not given.")
    ] = None,
    method: StudyMethod = "auto",
    set_: Settings = None,
    journal: JournalFile = None,
    out: Out = Path("out"),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """A bifurcation diagram: where the motion returns every period, over a parameter."""
    from stickslip.studies import bifurcation as study

    given = begin(name, set_, out, ["bifurcation.csv"], overwrite, drawn=["bifurcation.png"])
    figure, table = given.files
    diagram = study(
        given.system,
        parameter,
        _range("--values", values),
        period=_period(given.system, period, frequency),
        count=count,
        transient=transient,
        steps=steps,
        direction=direction,
        method=method,
        parameters=given.parameters,
        journal=journal,
        progress=False if json else None,
    )
    diagram.plot(figure, show)
    diagram.save(table)
    periods = {way: diagram.periods(way) for way in diagram.points}
    if json:
        data = {way: dict(zip(diagram.values.tolist(), p.tolist(), strict=True)) for way, p in periods.items()}
        say_json(
            {"system": diagram.system, "parameter": parameter, "periods": data, "files": [str(figure), str(table)]}
        )
        return
    for way, p in periods.items():
        kinds = {int(k): int((p == k).sum()) for k in sorted(set(p.tolist()))}
        text = ", ".join(f"{n} of period {k}" if k else f"{n} that do not repeat" for k, n in kinds.items())
        say(f"{diagram.system}, {parameter} {way}: {text}")
    for way, failed in diagram.failed.items():
        if failed:
            say(f"{way}: not solved at {parameter} = {', '.join(f'{v:g}' for v in failed)}", stderr=True)
    say(f"wrote {figure}, {table}")


@app.command()
def basins(
    name: Target,
    x: Annotated[str, typer.Option(metavar="NAME,FIRST,LAST,COUNT", help="Coordinate or velocity along the abscissa.")],
    y: Annotated[str, typer.Option(metavar="NAME,FIRST,LAST,COUNT", help="Coordinate or velocity along the ordinate.")],
    period: Period = None,
    frequency: Frequency = None,
    transient: Transient = 40,
    steps: Steps = 50,
    method: StudyMethod = "auto",
    set_: Settings = None,
    journal: JournalFile = None,
    out: Out = Path("out"),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Basins of attraction: where motions from a grid of initial states end."""
    from stickslip.studies import basins as study

    given = begin(name, set_, out, ["basins.npz"], overwrite, drawn=["basins.png"])
    figure, table = given.files
    grid = dict(_axis(option, text) for option, text in (("--x", x), ("--y", y)))
    result = study(
        given.system,
        grid,
        period=_period(given.system, period, frequency),
        transient=transient,
        steps=steps,
        method=method,
        parameters=given.parameters,
        journal=journal,
        progress=False if json else None,
    )
    result.plot(figure)
    result.save(table)
    names = {-1: "does not repeat", -3: "not solved"}
    if json:
        attractors = [a.tolist() for a in result.attractors]
        about = {"system": result.system, "shares": result.shares, "attractors": attractors}
        say_json(about | {"files": [str(figure), str(table)]})
        return
    for k, share in result.shares.items():
        kind = f"attractor {k}, period {len(result.attractors[k])}" if k >= 0 else names[k]
        say(f"{100 * share:6.2f} %  {kind}")
    say(f"wrote {figure}, {table}")


def _period(system: System, period: float | None, frequency: str | None) -> Any:
    from math import pi

    if (period is None) == (frequency is None):
        raise OptionError("give one of --period and --frequency")
    if frequency is None:
        return period
    symbols = system.parameter_symbols()
    if frequency not in symbols:
        raise OptionError(unknown_name("parameter", frequency, symbols))
    return 2 * pi / symbols[frequency]


def _range(option: str, text: str) -> list[float]:
    """FIRST,LAST,COUNT as numbers.

    >>> _range("--values", "1,2,3")
    [1.0, 1.5, 2.0]
    """
    given = numbers(option, text)
    if len(given) != 3 or given[2] != int(given[2]) or given[2] < 1:
        raise OptionError(f"{option} {text}: write FIRST,LAST,COUNT, for example 2.5,3.5,200")
    first, last, count = given
    return [first + (last - first) * k / max(count - 1, 1) for k in range(int(count))]


def _axis(option: str, text: str) -> tuple[str, list[float]]:
    name, _, rest = text.partition(",")
    return name, _range(option, rest)
