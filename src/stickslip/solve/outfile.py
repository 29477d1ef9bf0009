"""Runs that write their results to a file while they run, and go on after they were killed."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.engine.narrow import widened
from stickslip.engine.runs import ROUNDING, Rows, Run
from stickslip.errors import OptionError, ResultFileError
from stickslip.model.system import System
from stickslip.solution import ARRAYS, Names, Solution, Stats, is_result, load, write_streamed
from stickslip.solve.detecting import DetectingRun
from stickslip.solve.found import as_contacts, as_rows
from stickslip.solve.keeping import Selection, selection
from stickslip.solve.prepared import Prepared, compiled, prepare
from stickslip.solve.record import COUNTS, ERRORS, Pieces, Recorder, measured, observed, recorded, split
from stickslip.stream import FileFrame, PartFile, Writer, open_part, pack_state, part_of, unpack_state

FLUSH_SECONDS = 1.0  # what a killed run loses at most, besides the chunk that it is at
FLUSH_ROWS = 8192  # a few MB, which stay in the cache of the processor from the step to the file


def fingerprint(ready: Prepared) -> str:
    """Equal for systems with the same equations, names and order of everything."""
    return compiled(ready.model.system, "fingerprint", lambda: _fingerprint(ready))


def _fingerprint(ready: Prepared) -> str:
    instances = [*ready.model.nodes, *ready.model.parts]
    text = "\n".join(f"{i.type.key} {i.blocks} {i.parameters}" for i in instances)
    return hashlib.sha256(f"{text}\n{ready.names}".encode()).hexdigest()


class FileRecorder(Recorder):
    """Like `Recorder`, with rows that go to a file as they come; memory does not grow with the run."""

    def __init__(
        self,
        run: Run,
        every: int,
        path: Path,
        about: dict[str, Any],
        continued: PartFile | None,
        ready: Prepared,
        values: np.ndarray,
        save: Any = None,
    ):
        super().__init__(run, every)
        self.path, self.about = path, about
        self._rows, self._ready, self._values, self._before = [], ready, values, run.first_row
        self._solved_before: dict[str, int] = {}
        self._thread: threading.Thread | None = None
        self._trouble: BaseException | None = None
        self._selection: Selection | None = None
        first = self._solution(run.first_row[None, :])
        self._selection = selection(save, first)
        if continued is None:
            labels = {f.name: getattr(ready.names, f.name) for f in fields(Names)}
            text = about | {"names": labels, "stages": run.stages}
            if self._selection is not None:
                first = self._selection.of(first)
                text["provenance"] = first.provenance
            self.part = PartFile(part_of(path), text, 0, 0, columns_of(first), None, 0.0, 0.0)
            self._writer = Writer(part_of(path), FileFrame(text, self.part.first))
            self._last, self._seconds = time.monotonic(), 0.0
            self.flush()  # the state at the start: all that is needed to begin again
            return
        self.part = continued
        self._writer = Writer(part_of(path), None, continued.end)
        if continued.last is not None:
            self._solved_before = continued.last.about.get("solved_by", {})
            pending = [continued.last.arrays[f"pending.{name}"] for name in Rows._fields]
            if len(pending[0]):
                self._rest, self._waiting = [(Rows(*pending), None)], len(pending[0])
            if self.contacts is not None:
                done = continued.rows * every + self._waiting
                self.contacts = self.run.table(every, self.run.state.step - done)
                self.contacts.resume(continued.last.arrays["pending.contacts"])
        self._before = run.first_row.copy()  # only its time is read, by forces: percussions over the time since then
        self._before[0] = continued.t
        self._last, self._seconds = time.monotonic(), 0.0

    def take(self, rows: Rows, columns: np.ndarray | None = None) -> None:
        """Rows of a chunk; now and then they are written, with the state after them."""
        super().take(rows, columns)
        if time.monotonic() - self._last > FLUSH_SECONDS or sum(len(kept) for kept, _ in self._rows) > FLUSH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what has come since the last time, in a thread, while the loop runs without the interpreter lock.

        Expressions of measures are evaluated by CasADi, which two threads must not use at once.
        """
        self._wait()
        width, stages = self.width, len(self.run.stages)
        empty = Rows(np.zeros((0, width)), np.zeros((0, stages), np.int64), np.zeros((0, self.run.n_residuals)))
        iterations = np.concatenate([np.zeros((0, stages), COUNTS), *self._iterations])
        residuals = np.concatenate([np.zeros((0, self.run.n_residuals), ERRORS), *self._residuals])
        pending, columns = self._pending() if self._rest else (empty, None)
        pending = pending._replace(results=widened(pending.results, columns, width))
        clock, arrays = pack_state(self.run.state)
        arrays |= {"iterations": iterations, "residuals": residuals}
        arrays |= {f"pending.{name}": array for name, array in zip(Rows._fields, pending, strict=True)}
        if self.contacts is not None:
            arrays["contacts"], arrays["pending.contacts"] = self.contacts.flush()
        seconds = self.run.seconds - self._seconds
        about = {"state": clock, "seconds": seconds, "solved_by": self.solved_by}
        self._seconds = self.run.seconds
        job = partial(self._write, about, arrays, [(empty.results, None), *self._rows])
        if self._selection is None and not self._ready.model.system.measures:
            self._thread = threading.Thread(target=job, name="results to the disk")
            self._thread.start()
        else:
            job()
            self._wait()
        part = self.part
        self.part = replace(part, end=0, rows=part.rows + len(iterations), seconds=part.seconds + seconds)
        self._rows, self._iterations, self._residuals = [], [], []
        self._last = time.monotonic()

    def _write(self, about: dict[str, Any], arrays: dict[str, np.ndarray], rows: Pieces) -> None:
        try:
            columns = self._columns([widened(kept, columns, self.width) for kept, columns in rows])
            self._writer.write(FileFrame(about, arrays | columns))
        except BaseException as error:  # for the thread that computes
            self._trouble = error

    def _wait(self) -> None:
        """Until everything is written; what went wrong is raised."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._trouble is not None:
            error, self._trouble = self._trouble, None
            raise error

    @property
    def solved_by(self) -> dict[str, int]:
        """How many stages each solver has solved, by this run and by the one that it continues; "newton" comes first."""
        own, before = getattr(self.run, "solved_by", {}), self._solved_before
        names = sorted({*own, *before}, key=lambda name: (name != "newton", name))
        return {name: own.get(name, 0) + before.get(name, 0) for name in names}

    def _columns(self, chunks: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Rows of the run as arrays of its solution."""
        if self._selection is None:
            return columns_of(self._solution(*chunks))
        both = self._solution(self._before[None, :], *chunks)
        self._before = chunks[-1][-1] if len(chunks[-1]) else self._before
        return {name: array[1:] for name, array in columns_of(self._selection.of(both)).items()}

    def _solution(self, *chunks: np.ndarray) -> Solution:
        system = self._ready.model.system
        arrays = recorded(split(self.run, chunks))
        arrays |= observed(self._ready, self._values, arrays)
        arrays["extra"] |= measured(system, self._values, arrays)
        stats = Stats(self.run.stages, np.zeros((0, 0), np.int64), np.zeros((0, 0)), 0.0)
        about = self.about["provenance"]
        return Solution(**arrays, stats=stats, names=self._ready.names, provenance=about, system=system)

    def abandon(self) -> None:
        """Leave the file as it is, for whoever resumes the run."""
        with suppress(Exception):  # there is trouble already
            self._wait()
        self._writer.close()

    def close(self, final: bool) -> None:
        """Write the rest; `final`: the last row belongs to the result, too."""
        if final and self._waiting:
            self._thin(last=True)
        if final and self.contacts is not None:
            self.contacts.close()
        try:
            self.flush()
            self._wait()
        finally:
            self._writer.close()


def columns_of(solution: Solution) -> dict[str, np.ndarray]:
    """All arrays that a solution holds, by the names that they have in a stream."""
    out = {f"array.{name}": getattr(solution, name) for name in ARRAYS if solution.holds(name)}
    return out | {f"extra.{name}": array for name, array in solution.extra.items()}


def finish(record: FileRecorder, ready: Prepared, provenance: dict[str, Any]) -> Solution:
    """Make the HDF5 file of all frames and delete them; the solution's arrays stay on the disk until they are used."""
    path, part, run = record.path, record.part, record.run
    if "kept" in part.about["provenance"]:
        provenance["kept"] = part.about["provenance"]["kept"]
    taken = run.state.step if provenance.get("save_every", 1) > 1 else None
    nothing = np.zeros((part.rows, 0), np.int64), np.zeros((part.rows, 0))
    stats = Stats(run.stages, *nothing, part.seconds, taken, record.solved_by)
    found = None
    if isinstance(run, DetectingRun):
        labels, n = run.labels, run.collisions.dimension
        found = (as_contacts(labels, n, frame.arrays["contacts"]) for frame in part.chunks())
    write_streamed(path, part, stats, ready.names, provenance, run.state, found)
    part.path.unlink(missing_ok=True)
    return load(path, system=ready.model.system, mapped=True, trusted=True)


def resume(file: str | Path, system: System, t_end: float | None = None, *, progress: bool | None = None) -> Solution:
    """Go on with a run that was written with `out=` and interrupted, or prolong a finished one to `t_end`.

    The result is bit for bit what one uninterrupted run gives. The system must be the same; it is compared.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> half = ss.solve(ball, t_end=0.5, dt=1e-2, out="ball.h5")
    >>> whole = ss.resume("ball.h5", ball, t_end=1.0)
    >>> bool((whole.q == ss.solve(ball, t_end=1.0, dt=1e-2).q).all())
    True
    """
    from stickslip.solve.case import split_call
    from stickslip.solve.options import is_number

    path = Path(str(file).removesuffix(".part"))
    if not isinstance(system, System):
        raise OptionError(f"resume needs the System of the run, got {system!r}")
    if t_end is not None and not is_number(t_end):
        raise OptionError(f"t_end = {t_end!r} must be a finite number")
    ready = prepare(system)
    if not part_of(path).exists():
        finished = load(path)
        if t_end is None:
            return load(path, system=system)
        _require_later(path, t_end, finished.t[-1])
        _require_same(path, finished.provenance, ready)
        try:
            part_from(path, finished)
        except ResultFileError:
            part_of(path).unlink(missing_ok=True)
            raise
    part = open_part(path)
    about = part.about
    _require_same(path, about, ready)
    options = about["call"] | ({} if t_end is None else {"t_end": t_end})
    if part.last is None:
        raise ResultFileError(f"{part.path} holds no state yet: nothing was computed. Start the run again.")
    state = unpack_state(part.last.about["state"], part.last.arrays)
    if t_end is not None:
        _require_later(path, t_end, state.t)
    case, one = split_call(system, options)
    return case.run(**one, progress=progress, out=path, start=state, part=part)


def _require_later(path: Path, t_end: float, reached: float) -> None:
    if t_end < reached - ROUNDING * max(1.0, abs(reached)):
        raise OptionError(f"t_end = {t_end:g} is before t = {reached:g}, which {path} has reached; nothing was changed")


def claim_file(path: Path, overwrite: bool) -> None:
    """Refuse to lose what lies where a run is going to write: a result, a run that was interrupted, or something else.

    overwrite: results may be replaced. A file that is not a result never is: it was named by mistake.
    """
    if path.exists() and path.stat().st_size and not is_result(path):
        raise OptionError(
            f"out = {str(path)!r} exists and is not a stickslip result; choose another name, or delete it"
        )
    if overwrite:
        return
    if path.exists() and path.stat().st_size:
        raise OptionError(
            f"out = {str(path)!r} is a result that exists already: ss.resume({str(path)!r}, system, t_end=...) prolongs it, "
            "overwrite=True replaces it, another name keeps both"
        )
    file = part_of(path)
    if not file.exists():
        return
    try:
        part = open_part(file)
    except ResultFileError:
        return  # there is nothing to lose
    if part.rows:
        raise OptionError(
            f"{file} is a run that was interrupted at t = {part.t:g}; ss.resume({str(path)!r}, system) continues it, "
            "overwrite=True begins again"
        )


def _require_same(path: Path, about: Mapping[str, Any], ready: Prepared) -> None:
    if about.get("fingerprint") not in (None, fingerprint(ready)):
        raise OptionError(
            f"{path} belongs to a system {about['system']!r} with other equations or names than this "
            f"{ready.model.system.name!r}"
        )
    system = ready.model.system
    now = system.parameter_values(about.get("call", {}).get("parameters"))
    before = zip(now, about.get("values", now.values()), strict=False)  # older files do not have them
    for name, value in before:
        if value != now[name] and name not in system.switches:
            raise OptionError(
                f"{path} was computed with {name} = {value!r}, and this {system.name!r} has {now[name]!r}; resume continues "
                "with the same values. For others, start a run from its end: ss.solve(..., start=ss.load(file))"
            )


def part_from(path: Path, solution: Solution) -> None:
    """Frames of a finished result, so that it can be prolonged.

    If its last row stands for fewer steps than the others, they are still to be completed: the row becomes that many
    pending ones, whose sums, last state and largest residual are its own.
    """
    about, stats = solution.provenance, solution.stats
    if solution.state is None or "call" not in about:
        raise ResultFileError(
            f"{path} cannot be continued: it comes from an older version or from a stepper. Its state can be: ss.solve(..., "
            "start=ss.load(file))"
        )
    left = stats.steps % about["call"]["save_every"]
    if left and "kept" in about:
        raise ResultFileError(
            f"{path} cannot be continued: its last row stands for {left} of {about['call']['save_every']} steps, and save= "
            "left out the percussions of these"
        )
    arrays = columns_of(solution)
    names = {f.name: getattr(solution.names, f.name) for f in fields(Names)}
    text = {key: about[key] for key in ("system", "fingerprint", "call")}
    text |= {"provenance": about, "names": names, "stages": stats.stages}
    writer = Writer(part_of(path), FileFrame(text, {name: array[:1] for name, array in arrays.items()}))
    rows = len(solution) - (1 if left else 0)
    clock, state = pack_state(solution.state)
    kept = {name: array[1:rows] for name, array in arrays.items()}
    kept |= {"iterations": stats.iterations[: rows - 1], "residuals": stats.residuals[: rows - 1]}
    pending = _pending(solution, left)
    kept |= {f"pending.{name}": array for name, array in zip(Rows._fields, pending, strict=True)}
    if solution.contacts is not None:
        table = as_rows(solution.contacts)
        whole = table[:, 1] < rows
        kept |= {"contacts": table[whole], "pending.contacts": table[~whole]}
    about_steps = {"state": clock, "seconds": stats.wall_time, "solved_by": stats.solved_by}
    writer.write(FileFrame(about_steps, state | kept))
    writer.close()


def _pending(solution: Solution, left: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`left` steps that add up to the last row of a solution."""
    stats = solution.stats
    if not left:
        return np.zeros((0, 0)), stats.iterations[:0], stats.residuals[:0]
    own = [name for name in solution.extra if name not in solution.provenance.get("measures", {})]
    state = [solution.t[-1:], solution.q[-1], solution.u[-1]]
    percussions = [solution.P_g[-1], solution.P_gamma[-1], solution.P_N[-1], solution.P_F[-1]]
    row = np.concatenate([*state, *percussions, *[solution.extra[name][-1].ravel() for name in own]])
    rows, iterations, residuals = (
        np.repeat(x[None, :], left, axis=0) for x in (row, stats.iterations[-1], stats.residuals[-1])
    )
    first, width = (sum(len(x) for x in some) for some in (state, percussions))
    rows[:-1, first : first + width], iterations[:-1] = 0.0, 0
    return rows, iterations, residuals
