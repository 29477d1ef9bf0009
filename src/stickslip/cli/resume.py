"""`stickslip resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.app import app
from stickslip.cli.common import EndTime, Json, Settings, Target, say, say_json, summary_of
from stickslip.cli.target import find


@app.command()
def resume(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The result that was being written, such as out/run.h5.")
    ],
    name: Target,
    t_end: EndTime = None,
    set_: Settings = None,
    json: Json = False,
) -> None:
    """Go on with an interrupted run that was written with out=, or prolong a finished one to --t-end."""
    from stickslip.solve import resume as go_on

    system, _ = find(name).made(set_)
    solution = go_on(file, system, t_end=t_end)
    if json:
        say_json(summary_of(solution) | {"file": str(file)})
    else:
        say(solution.summary())
        say(f"wrote {file}")
