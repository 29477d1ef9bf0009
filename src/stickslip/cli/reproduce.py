"""`stickslip reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from stickslip.cli.app import INTERRUPTED, app
from stickslip.cli.common import say, table


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="rattle, lobatto, half-explicit, generalized-alpha, moreau or all.")],
    item: Annotated[
        list[str] | None, typer.Option("--item", metavar="ID", help="One figure or table, as fig8; may be repeated.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Coarser and shorter runs: at most a minute per paper.")
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results and report.html go.")] = Path("out"),
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as there are processors if not given.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute also what DIR already holds.")] = False,
) -> None:
    """Recompute the figures and tables of a paper and write one report, with the paper's numbers beside ours."""
    from stickslip.papers import InterruptedReproduction
    from stickslip.papers import reproduce as run_papers

    try:
        done = run_papers(paper, items=item or (), quick=quick, out=out, jobs=jobs, fresh=fresh)
    except InterruptedReproduction as interrupted:
        Console(stderr=True, soft_wrap=True).print(str(interrupted), style="red", highlight=False)
        raise typer.Exit(INTERRUPTED) from None
    from stickslip.papers.report import count_claims

    rows = table("item", "claims that hold", "run time")
    for result in done.results:
        hold = sum(verdict.holds for verdict in result.verdicts)
        rows.add_row(f"{result.paper} {result.item}", f"{hold} of {len(result.verdicts)}", f"{result.seconds:.1f} s")
    Console().print(rows)
    rest = "" if all(verdict.holds for verdict in done.verdicts) else "; the report says why the others differ"
    say(f"\n{count_claims(done.verdicts)}{rest}\nwrote {done.report}")
