"""The command line: it parses, calls the library and prints. What takes long to import is imported when it is used.

One module per command or group of commands. A new command is a module with functions under `@app.command()`, and its
name in `COMMANDS`; what commands share (arguments, tables, files, settings) is in `common` and `target`.
"""

from importlib import import_module

from stickslip.cli.app import app, main

COMMANDS = (
    "listing",
    "info",
    "run",
    "resume",
    "view",
    "plot",
    "compare",
    "converge",
    "diagrams",
    "reproduce",
    "sweep",
    "fclib",
    "bench",
)
"""Modules of this package, in the order in which `stickslip --help` shows their commands."""

for name in COMMANDS:
    import_module(f"stickslip.cli.{name}")

__all__ = ["COMMANDS", "app", "main"]
