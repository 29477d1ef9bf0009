"""`stickslip resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.app import app
from stickslip.cli.common import EndTime, Json, Settings, complete_target, say, say_json, summary_of
from stickslip.cli.target import find
from stickslip.errors import OptionError


@app.command()
def resume(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The result that was being written, such as out/run.h5.")
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE.py]",
            help="The model of the run; a benchmark is found by itself.",
            autocompletion=complete_target,
        ),
    ] = None,
    t_end: EndTime = None,
    set_: Settings = None,
    json: Json = False,
) -> None:
    """Go on with an interrupted run of `stickslip run` or `ss.solve(..., out=)`, or prolong a finished one to --t-end."""
    from stickslip.solve.outfile import resume as go_on

    system, _ = find(name or _benchmark_of(file)).made(set_)
    solution = go_on(file, system, t_end=t_end)
    if json:
        say_json(summary_of(solution) | {"file": str(file)})
    else:
        say(solution.summary())
        say(f"wrote {file}")


def _benchmark_of(file: Path) -> str:
    """The benchmark that a result belongs to. A file never says which Python file is to be run."""
    from stickslip.benchmarks import REGISTRY
    from stickslip.solution import load
    from stickslip.stream import part_of

    about = load(part_of(file) if part_of(file).exists() else file, mapped=True).provenance
    system = str(about.get("system"))
    named = [name for name, benchmark in REGISTRY.items() if benchmark.build().name == system]
    if not named:
        raise OptionError(f"{file} is a run of {system!r}, which is not a benchmark: name its model, as in\n"
                          f"  stickslip resume {file} MODEL.py")  # fmt: skip
    return named[0]
