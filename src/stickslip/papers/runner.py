"""Run the items of papers: in parallel processes, with a bar, from where an earlier run stopped, to one report."""

from __future__ import annotations

import datetime
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stickslip.errors import OptionError, ResultFileError, StickslipError, unknown_name
from stickslip.papers import store
from stickslip.papers.paper import Exhibit, Item, Verdict
from stickslip.papers.report import report_text
from stickslip.papers.store import Result
from stickslip.studies.pools import processes

Show = Callable[[Result | None], None]


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction gave: a result for every item, and the report that shows them."""

    results: tuple[Result, ...]
    report: Path

    @property
    def verdicts(self) -> list[Verdict]:
        """All verdicts, in the order of the report."""
        return [verdict for result in self.results for verdict in result.verdicts]


class InterruptedReproduction(KeyboardInterrupt):
    """Ctrl-C. Its message says what is done and how to continue."""


def reproduce(
    paper: str = "all",
    *,
    items: Sequence[str] = (),
    quick: bool = False,
    out: str | Path = "out",
    jobs: int | None = None,
    fresh: bool = False,
    progress: bool | None = None,
) -> Reproduction:
    """Compute the figures and tables of a paper and write `out/report.html`, with the paper's numbers beside ours.

    paper: its name, or "all". items: some of its figures and tables only, as in items=["fig8"]. quick: coarser and shorter
    runs, at most a minute a paper. jobs: number of processes, as many as there are processors if not given; 1 stays in this
    process. fresh: compute also what `out` already holds. progress: a bar on the terminal.

    The report shows everything of this size that `out` holds, so that several runs add up to one report.

    >>> import stickslip as ss
    >>> done = ss.papers.reproduce("moreau", items=["fig2"], quick=True, out="papers", jobs=1)
    >>> all(verdict.holds for verdict in done.verdicts)
    True
    """
    chosen, out = choose(paper, items), Path(out)
    if jobs is not None and jobs < 1:
        raise OptionError(f"jobs = {jobs} must be at least 1")
    _check_folder(out)
    kept = {} if fresh else {item: r for item in chosen if (r := store.load(out, item.paper, item.id, quick))}
    missing = [item for item in chosen if item not in kept]
    failures: dict[str, str] = {}
    bar = sys.stderr.isatty() if progress is None else progress
    with _progress(bar, len(chosen), len(kept)) as show:
        try:
            for item, outcome in _outcomes(missing, quick, min(jobs or os.cpu_count() or 1, max(len(missing), 1))):
                if isinstance(outcome, Result):
                    kept[item] = outcome
                    _save(outcome, out)
                else:
                    failures[f"{item.paper} {item.id}"] = outcome
                show(outcome if isinstance(outcome, Result) else None)
        except KeyboardInterrupt:
            _write_report(out, quick)
            raise InterruptedReproduction(
                f"interrupted: {len(kept)} of {len(chosen)} items are done and kept in {out}; the same command "
                "continues there"
            ) from None
    report = _write_report(out, quick)
    if failures:
        listing = "\n".join(f"{name}: {text}" for name, text in failures.items())
        raise StickslipError(f"{len(failures)} of {len(chosen)} items could not be computed.\n{listing}")
    return Reproduction(tuple(kept[item] for item in chosen), report)


def choose(paper: str, items: Sequence[str] = ()) -> list[Item]:
    """The items meant by a paper's name (or "all") and the names of items.

    >>> [item.id for item in choose("moreau", ["fig2", "fig7"])]
    ['fig2', 'fig7']
    """
    from stickslip.papers import PAPERS

    if paper != "all" and paper not in PAPERS:
        raise OptionError(unknown_name("paper", paper, [*PAPERS, "all"]))
    if paper == "all":
        if items:
            raise OptionError("items belong to one paper: name it instead of 'all'")
        return [item for each in PAPERS.values() for item in each.items.values()]
    known = PAPERS[paper].items
    for name in items:
        if name not in known:
            raise OptionError(unknown_name(f"item of {paper!r}", name, known))
    return [known[name] for name in items or known]


# -- computing ---------------------------------------------------------------------------------------------------------


def compute(paper: str, item: str, quick: bool) -> Result:
    """Run one item, in whatever process this is."""
    from stickslip.papers import PAPERS

    begin = time.perf_counter()
    parts: list[Exhibit] = PAPERS[paper].items[item].run(quick)
    seconds = time.perf_counter() - begin
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Result(paper, item, quick, tuple(parts), seconds, date, store.fingerprint())


def _outcomes(items: list[Item], quick: bool, jobs: int) -> Iterator[tuple[Item, Result | str]]:
    """Items with their results as they come, or with the text of an error: one item's failure is not that of the others."""
    if jobs == 1:
        for item in items:
            try:
                yield item, compute(item.paper, item.id, quick)
            except Exception as error:
                yield item, _in_words(error)
        return
    _warm_up()
    # A fresh interpreter each: a copy of this one (fork) would copy the locks of its threads too.
    with processes(jobs, "spawn") as pool:
        waiting: dict[Future[Result], Item] = {
            pool.submit(compute, item.paper, item.id, quick): item
            for item in sorted(items, key=lambda item: -item.data.get("minutes", 0.0))  # the long ones first
        }
        for future in as_completed(waiting):
            failure = future.exception()
            if isinstance(failure, BrokenProcessPool):
                raise StickslipError(
                    "a process of the reproduction ended without an answer (memory? a script without "
                    '`if __name__ == "__main__":`?). What was done is kept; jobs=1 stays in one process.'
                ) from failure
            if isinstance(failure, KeyboardInterrupt):
                raise failure
            yield waiting[future], future.result() if failure is None else _in_words(failure)


def _warm_up() -> None:
    """Compile the time loop before processes that would all compile it at the same time."""
    from stickslip.benchmarks import bouncing_ball
    from stickslip.papers.measure import simulate

    simulate(bouncing_ball(), t_end=1e-2, dt=1e-2)


def _in_words(error: BaseException) -> str:
    if isinstance(error, StickslipError):
        return str(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"


# -- files and terminal ------------------------------------------------------------------------------------------------


def _check_folder(out: Path) -> None:
    """Fail before the first item, not after it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / f".{os.getpid()}.probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OptionError(f"--out {out}: {error.strerror}. Name a folder that can be written.") from error


def _save(result: Result, out: Path) -> None:
    try:
        store.save(result, out)
    except OSError as error:
        raise ResultFileError(
            f"cannot write into {out}: {error.strerror}. Free some space; what was done is kept."
        ) from error


def _write_report(out: Path, quick: bool) -> Path:
    """The report of everything of this size that the folder holds."""
    from stickslip.papers import PAPERS

    results = {
        name: [r for item in paper.items.values() if (r := store.load(out, name, item.id, quick))]
        for name, paper in PAPERS.items()
    }
    path = out / "report.html"
    store.write_file(path, report_text({name: each for name, each in results.items() if each}, quick))
    return path


@contextmanager
def _progress(wanted: bool, total: int, done: int) -> Iterator[Show]:
    if not wanted:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("figures and tables", total=total, completed=done)
        if done:
            bar.console.print(f"{done} of {total} items are there from an earlier run", style="dim", highlight=False)

        def show(result: Result | None) -> None:
            bar.advance(task)
            if result is not None:
                bar.console.print(line_of(result), highlight=False)

        yield show


def line_of(result: Result) -> str:
    """One line about a result.

    >>> line_of(Result("rattle", "fig2", True, (), 1.23, "", ""))
    'rattle fig2: 0 of 0 claims hold, 1.2 s'
    """
    hold = sum(verdict.holds for verdict in result.verdicts)
    return f"{result.paper} {result.item}: {hold} of {len(result.verdicts)} claims hold, {result.seconds:.1f} s"
