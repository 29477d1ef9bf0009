"""`stickslip run`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from stickslip.cli.app import app
from stickslip.cli.common import (
    EndTime,
    Json,
    MethodOption,
    Out,
    Overwrite,
    OwnTolerance,
    Settings,
    StepOption,
    Target,
    claim,
    say,
    say_json,
    summary_of,
)
from stickslip.cli.target import find
from stickslip.errors import ConvergenceError, Interrupted, OptionError
from stickslip.stream import part_of

if TYPE_CHECKING:
    from stickslip.solution import Solution


@app.command()
def run(
    name: Target,
    method: MethodOption = None,
    dt: StepOption = None,
    t_end: EndTime = None,
    tol: OwnTolerance = None,
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
    result = out / f"{model.name}.h5"
    claim_run(result, overwrite)
    system, parameters = model.made(set_)
    dt, t_end = model.times(dt, t_end)
    method, tol = method or model.method, model.tol if tol is None else tol
    try:
        solution = solve(
            system, t_end, dt, method=method, tol=tol, parameters=parameters, out=result, overwrite=overwrite
        )
    except (ConvergenceError, Interrupted) as stop:
        there = result if isinstance(stop, ConvergenceError) else part_of(result)
        _report(stop.solution, model.name, out, json, there)
        if isinstance(stop, ConvergenceError):
            raise
        reached = f"interrupted at t = {stop.solution.t[-1]:g}; what was done is saved"
        again = ["stickslip", "resume", str(result), name, *[word for s in set_ or [] for word in ("--set", s)]]
        say(f"{reached}. To continue: {shlex.join(again)}", stderr=True)
        raise typer.Exit(128 + stop.signal) from None
    _report(solution, model.name, out, json, result)
    if not json:
        _say_what_next(name, solution, method, dt, t_end, set_ or [], out, result)


def claim_run(result: Path, overwrite: bool) -> None:
    """Refuse to lose a result, or a run that was interrupted."""
    unfinished = part_of(result)
    if unfinished.exists() and not overwrite:
        raise OptionError(
            f"{unfinished} is a run that was interrupted. Continue it (stickslip resume {result}), add --overwrite to begin "
            "again, or choose another place with --out DIR"
        )
    claim([result], overwrite)
    unfinished.unlink(missing_ok=True)


def _report(solution: Solution, name: str, out: Path, json: bool, result: Path) -> None:
    """Write everything about a run and print what matters."""
    summary = solution.summary()
    if not json:
        say(summary)
    figure = out / f"{name}.png"
    solution.plot(figure)
    text = out / f"{name}_summary.txt"
    text.write_text(f"{summary}\n\n{solution.stats}\n", encoding="utf-8")
    files = [result, figure, text]
    if _can_be_seen(solution):
        from stickslip.plots import save, strip

        files.insert(2, save(strip(solution), out / f"{name}_motion.png"))
    if json:
        say_json(summary_of(solution) | {"files": [str(file) for file in files]})
    else:
        say(f"\nwrote {', '.join(map(str, files))}")


def _can_be_seen(solution: Solution) -> bool:
    """Whether there is a picture: a drawing, or parts that show themselves."""
    from stickslip.filming import drawing_of

    try:
        drawing_of(solution)
    except OptionError:
        return False
    return True


def _film_of(result: str, solution: Solution, same: list[str]) -> list[str]:
    """The command for the film. A file remembers the name of a user's drawing, not the function: that model is run again."""
    from stickslip.filming import drawing_of

    drawing = drawing_of(solution)
    if drawing is None or (drawing.shapes.__module__ or "").startswith("stickslip."):
        return ["stickslip", "view", result, "--open"]
    return ["stickslip", "view", *same, "--open"]


def _say_what_next(
    what: str, solution: Solution, method: str, dt: float, t_end: float, settings: list[str], out: Path, path: Path
) -> None:
    """Lines that can be pasted: they run as they are, and lose nothing."""
    other = "moreau" if method != "moreau" else "rattle"
    same = ["run", what, "--t-end", f"{t_end:g}", *[word for s in settings for word in ("--set", s)]]
    result, seen = str(path), _can_be_seen(solution)
    film = _film_of(result, solution, [*same[1:], "--method", method, "--dt", f"{dt:g}"]) if seen else []
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
        "the motion as a film in the browser": film,
        "longer": ["stickslip", "resume", result, what, *same[4:], "--t-end", f"{2 * t_end:g}"],
        "all benchmarks and methods": ["stickslip", "list"],
        "the numbers themselves": ["python", "-c", program],
    }
    if not seen:
        del lines["the motion as a film in the browser"]
    say("\nTry next:\n" + "\n".join(f"  {shlex.join(words)}    # {why}" for why, words in lines.items()))
