"""What commands share: arguments, tables, messages, and files that are not overwritten in silence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from stickslip.errors import OptionError

if TYPE_CHECKING:
    from stickslip.solution import Solution


def complete_target(incomplete: str) -> list[str]:
    """Benchmarks that begin with the text so far, and the Python files and folders that do."""
    from stickslip.benchmarks import REGISTRY

    folder = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    files = [f"{p}/" if p.is_dir() else str(p) for p in folder.glob("*") if p.is_dir() or p.suffix == ".py"]
    return [name for name in [*REGISTRY, *sorted(files)] if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """Methods that begin with the text so far; in a list, with what stands behind its last comma.

    >>> complete_method("rattle,lob")
    ['rattle,lobatto']
    """
    from stickslip.schemes import METHODS

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in METHODS if name.startswith(last)]


# Arguments and options that several commands have.
Target = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.py",
        help="A benchmark (`stickslip list` shows all), or a Python file with a System or a function that returns one; "
        "FILE.py:NAME where it has several.",
        autocompletion=complete_target,
    ),
]
Methods = Annotated[
    str,
    typer.Option(
        help="Methods separated by commas, options behind colons: rattle,theta:theta=1,moreau.",
        autocompletion=complete_method,
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        help="A method, with options as in theta:theta=1; the model's own if not given.", autocompletion=complete_method
    ),
]
StepOption = Annotated[float | None, typer.Option(help="Step size; the model's own if not given.")]
EndTime = Annotated[float | None, typer.Option(help="End time; the model's own if not given.")]
Tolerance = Annotated[float, typer.Option(help="Residual tolerance of a step.")]
OwnTolerance = Annotated[
    float | None, typer.Option(help="Residual tolerance of a step; 1e-8, or what suits the benchmark.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a parameter; may be repeated.")
]
Quantities = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Quantities to show, such as slider.x,pin.force; may be repeated."),
]
JournalFile = Annotated[
    Path | None,
    typer.Option("--journal", help="File that keeps what is done: the same command continues after a kill."),
]
StudyMethod = Annotated[str, typer.Option(help="auto, or a method such as rattle.", autocompletion=complete_method)]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where the results go.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace results that are already there.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, and nothing else, on stdout.")]


# --- messages ------------------------------------------------------------------------------------------------------


def listed(names: list[str] | None) -> list[str] | None:
    """Names that were given one by one, or separated by commas; None if there are none.

    >>> listed(["slider.x, pin.force", "energy.total"])
    ['slider.x', 'pin.force', 'energy.total']
    """
    found = [name.strip() for text in names or () for name in text.split(",")]
    return [name for name in found if name] or None


def say(text: str, *, stderr: bool = False) -> None:
    """Print text as it is, however narrow the terminal is."""
    Console(soft_wrap=True, highlight=False, stderr=stderr).print(text, markup=False)


def say_json(data: Any) -> None:
    """Print data as JSON; what JSON has no number for (nan, inf) is null."""
    typer.echo(json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(data: Any) -> Any:
    """Data in JSON's types.

    >>> _plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if hasattr(data, "tolist"):  # NumPy's numbers and arrays
        return _plain(data.tolist())
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    return data if isinstance(data, str | int | bool | None) else str(data)


def table(*columns: str) -> Table:
    """An empty table whose first column stands out."""
    made = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for k, column in enumerate(columns):
        made.add_column(column, no_wrap=k == 0, style="cyan" if k == 0 else "")
    return made


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Numbers in columns, whole however narrow the terminal is; a column without any is left out."""
    kept = [k for k in range(len(header)) if k == 0 or any(row[k] != "-" for row in rows)]
    made = table(*[header[k] for k in kept])
    for column in made.columns:
        column.no_wrap, column.justify = True, "right"
    made.columns[0].justify = "left"
    for row in rows:
        made.add_row(*[row[k] for k in kept])
    say(title)
    console = Console()
    width = max(console.width, console.measure(made, options=console.options.update(max_width=1000)).maximum)
    Console(width=width).print(made, crop=False)


def rows_as_json(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[dict[str, str]]:
    """The rows of a table, each as a dictionary."""
    return [dict(zip(header, row, strict=True)) for row in rows]


# --- files ---------------------------------------------------------------------------------------------------------


def make_directory(path: Path) -> None:
    """Fail before the simulation, not after it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"--out {path}: {error.strerror}. Name a directory that can be written.") from error


def claim(paths: Sequence[Path], overwrite: bool) -> None:
    """Make the folder of files that are going to be written, and refuse to lose what is there.

    Results take long to compute, so they are not replaced unless that is wanted. Figures and pages that a command
    draws from a result can be drawn again, so those are replaced, and the command says so (`written`).
    """
    for folder in {path.parent for path in paths}:
        make_directory(folder)
    there = [str(path) for path in paths if path.exists()]
    if there and not overwrite:
        raise OptionError(
            f"{' and '.join(there)} exist{'s' if len(there) == 1 else ''} already. "
            "Add --overwrite to replace, or choose another place with --out DIR"
        )


def written(*paths: Path, replaced: Sequence[Path] = ()) -> str:
    """What to say about files: wrote a.png, replaced b.png."""
    texts = []
    for verb, chosen in (("wrote", [p for p in paths if p not in replaced]), ("replaced", list(replaced))):
        texts += [f"{verb} {', '.join(map(str, chosen))}"] if chosen else []
    return "; ".join(texts)


def numbers(option: str, text: str) -> list[float]:
    """Numbers separated by commas.

    >>> numbers("--dts", "1e-2,5e-3")
    [0.01, 0.005]
    """
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise OptionError(f"{option} {text}: write numbers separated by commas, for example 1e-2,5e-3") from None


def summary_of(solution: Solution) -> dict[str, Any]:
    """What matters about a run, as data."""
    stats, about = solution.stats, solution.provenance
    total = solution.energy().total
    keys = ("system", "method", "options", "dt", "tol", "t_start", "t_end", "parameters", "complete", "interrupted")
    data: dict[str, Any] = {key: about[key] for key in keys if key in about}
    data |= {"steps": stats.steps, "wall_time": stats.wall_time, "time_per_step": stats.time_per_step}
    data |= {"iterations": {name: float(mean) for name, mean in zip(stats.stages, stats.mean_iterations, strict=True)}}
    data["largest_residual"] = float(stats.residuals.max()) if stats.residuals.size else None
    data["smallest_gap"] = float(solution.gap.min()) if solution.gap.size else None
    for name in ("g", "g_dot", "gamma"):
        array = getattr(solution, name)
        data[f"largest_{name}"] = float(abs(array).max()) if array.size else None
    if len(solution):
        data |= {"t": float(solution.t[-1]), "energy_start": float(total[0]), "energy_end": float(total[-1])}
        data["q_end"] = dict(zip(solution.names.q, solution.q[-1].tolist(), strict=True))
        data["u_end"] = dict(zip(solution.names.u, solution.u[-1].tolist(), strict=True))
    return data
