"""`stickslip list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from stickslip.cli.app import app
from stickslip.cli.common import Json, say_json, table

if TYPE_CHECKING:
    from stickslip.schemes import Facts


@app.command("list")
def list_(json: Json = False) -> None:
    """List the benchmarks and the methods, with what is known about each."""
    from stickslip.benchmarks import REGISTRY
    from stickslip.schemes import METHODS

    if json:
        keys = ("summary", "source", "dt", "t_end", "method")
        say_json(
            {
                "benchmarks": {name: {key: getattr(b, key) for key in keys} for name, b in REGISTRY.items()},
                "methods": {name: vars(scheme().facts) for name, scheme in METHODS.items()},
            }
        )
        return
    console = Console()
    benchmarks = table("benchmark", "what it is", "source", "dt", "t_end")
    for name, benchmark in REGISTRY.items():
        benchmarks.add_row(name, benchmark.summary, benchmark.source, f"{benchmark.dt:g}", f"{benchmark.t_end:g}")
    console.print(benchmarks)
    console.print()
    methods = table("method", "what it is", "facts", "source")
    for name, scheme in METHODS.items():
        facts = scheme().facts
        methods.add_row(name, facts.summary, _in_words(facts), facts.source)
    console.print(methods)
    first = next(iter(REGISTRY))
    console.print(
        f"\nLook closer: [bold]stickslip info {first}[/bold]\nRun one: [bold]stickslip run {first}[/bold]",
        highlight=False,
    )


def _in_words(facts: Facts) -> str:
    """What a scheme promises, in words."""
    words = [] if facts.order is None else [f"order {facts.order}"]
    words.append(f"constraints on {' and '.join(facts.levels)} level" if facts.levels else "constraints drift")
    words.append(f"contacts on {facts.contact_level} level" if facts.contacts else "no contacts")
    words += [word for word in ("symmetric", "variational") if getattr(facts, word)]
    words += [] if facts.friction else ["no friction"]
    words += [] if facts.general_kinematics else ["only qdot = u"]
    return "; ".join(words)
