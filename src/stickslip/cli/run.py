"""`stickslip run`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from stickslip.cli.app import INTERRUPTED, app
from stickslip.cli.common import (
    EndTime,
    Json,
    Method,
    Out,
    Overwrite,
    Settings,
    Step,
    Target,
    Tolerance,
    claim,
    say,
    say_json,
    summary_of,
)
from stickslip.cli.target import find
from stickslip.errors import ConvergenceError

if TYPE_CHECKING:
    from stickslip.solution import Solution


@app.command()
def run(
    name: Target,
    method: Method = None,
    dt: Step = None,
    t_end: EndTime = None,
    tol: Tolerance = 1e-8,
    set_: Settings = None,
    out: Out = Path("out"),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Simulate a benchmark or a model of your own; write its result, an overview figure and a summary.

    A file may define `dt`, `t_end` and `method` next to its system; the options have the last word.
    """
    from stickslip.solve import solve

    model = find(name)
    claim([out / f"{model.name}.h5"], overwrite)
    system, parameters = model.made(set_)
    dt, t_end = model.times(dt, t_end)
    method = method or model.method
    try:
        solution = solve(system, t_end, dt, method=method, tol=tol, parameters=parameters)
    except ConvergenceError as error:
        _report(error.solution, model.name, out, json)
        raise
    _report(solution, model.name, out, json)
    if not solution.complete:
        say(f"interrupted at t = {solution.t[-1]:g}; what was done is saved", stderr=True)
        raise typer.Exit(INTERRUPTED)
    if not json:
        _say_what_next(name, model.name, method, dt, t_end, set_ or [], out)


def _report(solution: Solution, name: str, out: Path, json: bool) -> None:
    """Write everything about a run and print what matters."""
    summary = solution.summary()
    if not json:
        say(summary)
    result = solution.save(out / f"{name}.h5")
    figure = out / f"{name}.png"
    solution.plot(figure)
    text = out / f"{name}_summary.txt"
    text.write_text(f"{summary}\n\n{solution.stats}\n", encoding="utf-8")
    files = [result, figure, text]
    if "drawing" in solution.provenance:
        from stickslip.plots import save, strip

        files.insert(2, save(strip(solution), out / f"{name}_motion.png"))
    if json:
        say_json(summary_of(solution) | {"files": [str(file) for file in files]})
    else:
        say(f"\nwrote {', '.join(map(str, files))}")


def _say_what_next(what: str, name: str, method: str, dt: float, t_end: float, settings: list[str], out: Path) -> None:
    """Lines that can be pasted: they run as they are, and replace nothing."""
    other = "moreau" if method != "moreau" else "rattle"
    same = ["run", what, "--t-end", f"{t_end:g}", *[word for s in settings for word in ("--set", s)]]
    result = str(out / f"{name}.h5")
    program = f"import stickslip as ss; print(ss.load({result!r}).summary())"
    lines = {
        "the same by another method": [
            "stickslip",
            *same,
            "--method",
            other,
            "--dt",
            f"{dt:g}",
            "--out",
            f"{out}_{other}",
        ],
        "with smaller steps": ["stickslip", *same, "--method", method, "--dt", f"{dt / 10:g}", "--out", f"{out}_fine"],
        "the motion as a film in the browser": ["stickslip", "view", result, "--open"],
        "all benchmarks and methods": ["stickslip", "list"],
        "the numbers themselves": ["python", "-c", program],
    }
    say("\nTry next:\n" + "\n".join(f"  {shlex.join(words)}    # {why}" for why, words in lines.items()))
