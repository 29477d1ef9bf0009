"""The command line: it parses, calls the library and prints. What takes long to import is imported when it is used."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stickslip._version import __version__
from stickslip.errors import ConvergenceError, MethodError, OptionError, StickslipError, unknown_name

if TYPE_CHECKING:
    from stickslip.benchmarks.registry import Benchmark
    from stickslip.model.system import System
    from stickslip.schemes import Facts
    from stickslip.solution import Solution

INTERRUPTED = 130  # the exit code that shells use for Ctrl-C

# Options that several commands share.
Name = Annotated[str, typer.Argument(help="A benchmark; `stickslip list` shows all.")]
Methods = Annotated[
    str, typer.Option(help="Methods separated by commas, options behind colons: rattle,theta:theta=1,moreau.")
]
Step = Annotated[float | None, typer.Option(help="Step size; the benchmark's own if not given.")]
EndTime = Annotated[float | None, typer.Option(help="End time; the benchmark's own if not given.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a parameter; may be repeated.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where the results go.")]

app = typer.Typer(
    name="stickslip",
    help="Dynamics of mechanical systems with frictional contact and impacts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line and exit: 0 on success, 1 on an error, 2 on wrong usage, 130 when interrupted."""
    try:
        app(prog_name="stickslip")
    except StickslipError as error:
        Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), (str(error), "red")))
        sys.exit(1)
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted", style="red")
        sys.exit(INTERRUPTED)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stickslip {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command("list")
def list_() -> None:
    """List the benchmarks and the methods, with what is known about each."""
    from stickslip.benchmarks import REGISTRY
    from stickslip.schemes import METHODS

    console = Console()
    benchmarks = _table("benchmark", "what it is", "source", "dt", "t_end")
    for name, benchmark in REGISTRY.items():
        benchmarks.add_row(name, benchmark.summary, benchmark.source, f"{benchmark.dt:g}", f"{benchmark.t_end:g}")
    console.print(benchmarks)
    console.print()
    methods = _table("method", "what it is", "facts", "source")
    for name, scheme in METHODS.items():
        methods.add_row(name, scheme.facts.summary, _in_words(scheme.facts), scheme.facts.source)
    console.print(methods)
    console.print("\nRun one: [bold]stickslip run BENCHMARK --method METHOD[/bold]", highlight=False)


@app.command()
def run(
    name: Name,
    method: Annotated[
        str | None,
        typer.Option(help="A method, with options as in theta:theta=1; the benchmark's own if not given."),
    ] = None,
    dt: Step = None,
    t_end: EndTime = None,
    tol: Annotated[float, typer.Option(help="Residual tolerance of a step.")] = 1e-8,
    set_: Settings = None,
    out: Out = Path("out"),
) -> None:
    """Simulate a benchmark; write its result, an overview figure and a summary, and print the summary."""
    from stickslip.solve import solve

    benchmark = _benchmark(name)
    _make_directory(out)
    system, parameters = _built(benchmark, set_)
    t_end, dt = benchmark.t_end if t_end is None else t_end, benchmark.dt if dt is None else dt
    method = method or benchmark.method
    try:
        solution = solve(system, t_end, dt, method=method, tol=tol, parameters=parameters)
    except ConvergenceError as error:
        _report(error.solution, name, out)
        raise
    _report(solution, name, out)
    if not solution.complete:
        Console(stderr=True).print(f"interrupted at t = {solution.t[-1]:g}; what was done is saved", style="red")
        raise typer.Exit(INTERRUPTED)
    _say_what_next(name, method, dt, out)


@app.command()
def compare(
    name: Name,
    methods: Methods,
    dt: Step = None,
    t_end: EndTime = None,
    tol: Annotated[float, typer.Option(help="Residual tolerance of a step.")] = 1e-8,
    set_: Settings = None,
    out: Out = Path("out"),
) -> None:
    """Run several methods on one benchmark: motion, penetration, residuals, energy and cost side by side."""
    from stickslip.analysis import compare as run_all
    from stickslip.analysis.compare import HEADER
    from stickslip.schemes.spec import split_methods

    benchmark = _benchmark(name)
    _make_directory(out)
    system, parameters = _built(benchmark, set_)
    t_end, dt = benchmark.t_end if t_end is None else t_end, benchmark.dt if dt is None else dt
    result = run_all(system, split_methods(methods), t_end, dt, tol=tol, parameters=parameters)
    _print_table(f"{result.system}, dt = {dt:g}, t_end = {t_end:g}", HEADER, result.table())
    for method, reason in result.failures.items():
        _say(f"\n{method}: {reason}")
    if not result.solutions:
        raise MethodError(f"none of the methods can treat {result.system!r}")
    figure = out / f"{name}_comparison.png"
    result.plot(figure)
    _say(f"\nwrote {figure}")


@app.command()
def converge(
    name: Name,
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
    tol: Annotated[float, typer.Option(help="Residual tolerance of a step.")] = 1e-11,
    set_: Settings = None,
    out: Out = Path("out"),
) -> None:
    """Errors and observed orders of methods for several steps, and what accuracy costs."""
    from stickslip.analysis import convergence
    from stickslip.schemes.spec import split_methods

    benchmark = _benchmark(name)
    _make_directory(out)
    system, parameters = _built(benchmark, set_)
    study = convergence(
        system,
        split_methods(methods),
        _numbers("--dts", dts),
        benchmark.t_end if t_end is None else t_end,
        reference=reference,
        dt_reference=dt_reference,
        norm=norm,
        tol=tol,
        parameters=parameters,
    )
    _print_table(f"{study.system}, reference: {study.reference}, norm: {study.norm}", *study.table())
    if study.quantities:
        orders = {k: study.orders(k) for k in study.quantities}  # nan where the errors are those of rounding
        rows = [(m, *[f"{o[m]:.2f}".replace("nan", "-") for o in orders.values()]) for m in study.methods]
        _say("")
        _print_table("observed orders", ("method", *study.quantities), rows)
    for run in study.failures:
        _say(f"\n{run.method}, dt = {run.dt:g}: {run.failure}")
    if not study.quantities:
        raise StickslipError("no run of this study succeeded; smaller steps may help")
    if quantity not in study.quantities:
        raise OptionError(unknown_name("quantity", quantity, study.quantities))
    figure, numbers = out / f"{name}_convergence.png", out / f"{name}_convergence.csv"
    study.plot(figure, quantity)
    numbers.write_text(study.csv(), encoding="utf-8")
    _say(f"\nwrote {figure}, {numbers}")


@app.command()
def plot(
    file: Annotated[Path, typer.Argument(help="A result that `stickslip run` or `Solution.save` wrote.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the figure goes; next to the file.")] = None,
) -> None:
    """Draw the overview figure of a saved result."""
    from stickslip.solution import load

    solution = load(file)
    path = (file.parent if out is None else out) / f"{file.stem}.png"
    solution.plot(path)
    _say(f"wrote {path}")


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="rattle, lobatto, half-explicit, generalized-alpha, moreau or all.")],
    item: Annotated[
        list[str] | None, typer.Option("--item", metavar="ID", help="One figure or table, as fig8; may be repeated.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Coarser and shorter runs: at most a minute a paper.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results and report.html go.")] = Path("out"),
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as there are processors if not given.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute also what DIR already holds.")] = False,
) -> None:
    """Compute the figures and tables of a paper again and write one report, with the paper's numbers beside ours."""
    from stickslip.papers import InterruptedReproduction
    from stickslip.papers import reproduce as run_papers

    try:
        done = run_papers(paper, items=item or (), quick=quick, out=out, jobs=jobs, fresh=fresh)
    except InterruptedReproduction as interrupted:
        Console(stderr=True, soft_wrap=True).print(str(interrupted), style="red", highlight=False)
        raise typer.Exit(INTERRUPTED) from None
    table = _table("item", "claims that hold", "run time")
    for result in done.results:
        hold = sum(verdict.holds for verdict in result.verdicts)
        table.add_row(f"{result.paper} {result.item}", f"{hold} of {len(result.verdicts)}", f"{result.seconds:.1f} s")
    Console().print(table)
    hold, count = sum(verdict.holds for verdict in done.verdicts), len(done.verdicts)
    rest = "" if hold == count else "; why the others differ is said in the report"
    _say(f"\n{hold} of {count} claims hold{rest}\nwrote {done.report}")


@app.command()
def view(
    what: Annotated[str, typer.Argument(metavar="FILE|BENCHMARK", help="A saved result, or a benchmark to run now.")],
    method: Annotated[
        str | None, typer.Option(help="Of a benchmark: a method, with options as in theta:theta=1.")
    ] = None,
    dt: Step = None,
    t_end: Annotated[float | None, typer.Option(help="Where the film ends.")] = None,
    t_start: Annotated[float | None, typer.Option(help="Where the film begins.")] = None,
    set_: Settings = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the page goes; next to a file, or into out.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write a page with the film of a result or a benchmark: one HTML file that needs no network."""
    from stickslip import benchmarks  # also enters the drawings that results refer to by name
    from stickslip.solution import load

    if what not in benchmarks.REGISTRY and (Path(what).suffix or Path(what).exists()):
        if given := [k for k, v in {"--method": method, "--dt": dt, "--set": set_}.items() if v is not None]:
            raise OptionError(f"{', '.join(given)}: {what} is a finished result; only a benchmark can be run otherwise")
        solution, name, folder = load(what), Path(what).stem, Path(what).parent
    else:
        benchmark, name, folder = _benchmark(what), what, Path("out")
        _make_directory(out or folder)
        solution = _shown(benchmark, method, dt, t_start or 0.0, t_end, set_)
    path = solution.view(path=(out or folder) / f"{name}.html", t_start=t_start, t_end=t_end, open_browser=open_)
    _say(f"wrote {path}" if open_ else f"wrote {path}; open it in a browser, or use --open")


def _shown(
    benchmark: Benchmark,
    method: str | None,
    dt: float | None,
    t_start: float,
    t_end: float | None,
    settings: list[str] | None,
) -> Solution:
    """As much of a run as its film shows."""
    from stickslip.solve import solve

    system, parameters = _built(benchmark, settings)
    if t_end is None:
        span = system.drawing.span if system.drawing else None
        t_end = benchmark.t_end if span is None else min(t_start + span, benchmark.t_end)
    dt = benchmark.dt if dt is None else dt
    return solve(system, t_end, dt, method=method or benchmark.method, parameters=parameters)


def _benchmark(name: str) -> Benchmark:
    from stickslip.benchmarks import REGISTRY

    if name not in REGISTRY:
        raise OptionError(unknown_name("benchmark", name, REGISTRY))
    return REGISTRY[name]


def _built(benchmark: Benchmark, settings: list[str] | None) -> tuple[System, dict[str, float]]:
    """The system with its settings, and the parameters to solve it with, which the provenance keeps."""
    arguments, parameters = _split_settings(settings or [], benchmark.build)
    system = benchmark.build(**arguments)
    return system, parameters | {key: arguments[key] for key in arguments.keys() & system.parameters}


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise OptionError(f"{option} {text}: write numbers separated by commas, for example 1e-2,5e-3") from None


def _print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Numbers in columns, whole however narrow the terminal is; a column without any is left out."""
    kept = [k for k in range(len(header)) if k == 0 or any(row[k] != "-" for row in rows)]
    table = _table(*[header[k] for k in kept])
    for column in table.columns:
        column.no_wrap, column.justify = True, "right"
    table.columns[0].justify = "left"
    for row in rows:
        table.add_row(*[row[k] for k in kept])
    _say(title)
    console = Console()
    width = max(console.width, console.measure(table, options=console.options.update(max_width=1000)).maximum)
    Console(width=width).print(table, crop=False)


def _report(solution: Solution, name: str, out: Path) -> None:
    """Write everything about a run and print what matters."""
    summary = solution.summary()
    _say(summary)
    result = solution.save(out / f"{name}.h5")
    figure = out / f"{name}.png"
    solution.plot(figure)
    text = out / f"{name}_summary.txt"
    text.write_text(f"{summary}\n\n{solution.stats}\n", encoding="utf-8")
    written = [result, figure, text]
    if "drawing" in solution.provenance:
        from stickslip.plots import save, strip

        written.insert(2, save(strip(solution), out / f"{name}_motion.png"))
    _say(f"\nwrote {', '.join(map(str, written))}")


def _say_what_next(name: str, method: str, dt: float, out: Path) -> None:
    other = "moreau" if method != "moreau" else "rattle"
    _say(
        "\nTry next:\n"
        f"  stickslip run {name} --method {other} --out {out}_{other}    the same by another method\n"
        f"  stickslip run {name} --dt {dt / 10:g}    with smaller steps\n"
        f"  stickslip view {out / name}.h5 --open    the motion as a film in the browser\n"
        "  stickslip list    all benchmarks and methods\n"
        f"  python -c \"import stickslip as ss; print(ss.load('{out / name}.h5'))\"    the numbers themselves"
    )


def _say(text: str) -> None:
    Console(soft_wrap=True, highlight=False).print(text, markup=False)


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for k, column in enumerate(columns):
        table.add_column(column, no_wrap=k == 0, style="cyan" if k == 0 else "")
    return table


def _in_words(facts: Facts) -> str:
    """What a scheme promises, in words."""
    words = [] if facts.order is None else [f"order {facts.order}"]
    words.append(f"constraints on {' and '.join(facts.levels)} level" if facts.levels else "constraints drift")
    words.append(f"contacts on {facts.contact_level} level" if facts.contacts else "no contacts")
    words += [word for word in ("symmetric", "variational") if getattr(facts, word)]
    words += [] if facts.friction else ["no friction"]
    words += [] if facts.general_kinematics else ["only qdot = u"]
    return "; ".join(words)


def _make_directory(path: Path) -> None:
    """Fail before the simulation, not after it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"--out {path}: {error.strerror}. Name a directory that can be written.") from error


def _split_settings(settings: list[str], build: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """`--set` values that a benchmark's function takes, and the others, which are parameters of its system.

    >>> def ball(mass=1.0, case=1): ...
    >>> _split_settings(["case=2", "mu=0.1"], ball)
    ({'case': 2}, {'mu': 0.1})
    """
    known = inspect.signature(build).parameters
    arguments: dict[str, Any] = {}
    parameters: dict[str, float] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not (key and equals and text):
            raise OptionError(f"--set {setting}: write it as KEY=VALUE, for example --set mu=0.1")
        if key in known:
            arguments[key] = _value(setting, text, known[key].default)
        else:
            parameters[key] = float(_value(setting, text, 0.0))
    return arguments, parameters


def _value(setting: str, text: str, default: Any) -> Any:
    """A setting's text as the type that the default has."""
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise OptionError(f"--set {setting}: the value must be true or false")
        return text.lower() == "true"
    try:
        if isinstance(default, tuple | list):
            return [float(part) for part in text.split(",")]
        return int(text) if isinstance(default, int) else float(text)
    except ValueError:
        expected = {int: "an integer", float: "a number"}.get(type(default), "numbers separated by commas")
        raise OptionError(f"--set {setting}: the value must be {expected}") from None


if __name__ == "__main__":
    main()
