"""`stickslip plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stickslip.cli.app import app
from stickslip.cli.common import Quantities, listed, say, written


@app.command()
def plot(
    file: Annotated[Path, typer.Argument(help="A result that `stickslip run` or `Solution.save` wrote.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the figure goes; next to the file.")] = None,
    quantities: Quantities = None,
) -> None:
    """Draw the overview figure of a saved result, or chosen quantities of it."""
    from stickslip.solution import load

    solution = load(file)
    path = (file.parent if out is None else out) / f"{file.stem}.png"
    replaced = [path] if path.exists() else []
    solution.plot(path, quantities=listed(quantities))
    say(written(path, replaced=replaced))
