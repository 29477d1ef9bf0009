"""The program `stickslip`: its options, its exit codes, and how an error is shown."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from stickslip._version import __version__
from stickslip.errors import Interrupted, StickslipError

FAILED, INTERRUPTED = 1, 130  # 130 is the exit code that shells use for Ctrl-C; click uses 2 for wrong usage

app = typer.Typer(
    name="stickslip",
    help="Dynamics of mechanical systems with frictional contact and impacts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line and exit: 0 on success, 1 on an error, 2 on wrong usage, 130 when interrupted."""
    try:
        app(prog_name="stickslip")
    except StickslipError as error:
        Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), (str(error), "red")))
        sys.exit(FAILED)
    except KeyboardInterrupt as stop:
        Console(stderr=True, soft_wrap=True).print(Text(str(stop) or "interrupted", "red"))
        sys.exit(128 + stop.signal if isinstance(stop, Interrupted) else INTERRUPTED)


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
