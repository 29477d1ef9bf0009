"""Runs that write their results to a file while they run, and go on after they were killed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.engine.run import ROUNDING, Rows, Run
from stickslip.errors import OptionError, ResultFileError
from stickslip.model.system import System
from stickslip.solution import Solution, Stats, load, write_pieces
from stickslip.solve.prepared import Prepared, prepare
from stickslip.solve.record import Recorder, measured, observed, split
from stickslip.stream import FileFrame, PartFile, Writer, open_part, pack_state, part_of, unpack_state

FLUSH_SECONDS = 1.0  # what a killed run loses at most, besides the chunk that it is at
FLUSH_ROWS = 20_000


def fingerprint(ready: Prepared) -> str:
    """Equal for systems with the same equations, names and order of everything."""
    instances = [*ready.model.nodes, *ready.model.parts]
    text = "\n".join(f"{i.type.key} {i.blocks} {i.parameters}" for i in instances)
    return hashlib.sha256(f"{text}\n{ready.names}".encode()).hexdigest()


class FileRecorder(Recorder):
    """Like `Recorder`, with rows that go to a file as they come; memory does not grow with the run."""

    def __init__(self, run: Run, every: int, path: Path, about: dict[str, Any], continued: PartFile | None):
        super().__init__(run, every)
        self.path, self.about = path, about
        self._rows = []
        if continued is None:
            first = FileFrame(about, {"first_row": run.first_row})
            self._writer = Writer(part_of(path), first)
            fresh = True
        else:
            self._writer = Writer(part_of(path), None, continued.end)
            fresh = False
            if continued.last is not None:
                pending = [continued.last.arrays[f"pending.{name}"] for name in Rows._fields]
                self._rest, self._waiting = [Rows(*pending)], len(pending[0])
        self._last, self._seconds = time.monotonic(), 0.0
        if fresh:
            self.flush()  # the state at the start: all that is needed to begin again

    def take(self, rows: Rows) -> None:
        """Rows of a chunk; now and then they are written, with the state after them."""
        super().take(rows)
        if time.monotonic() - self._last > FLUSH_SECONDS or sum(map(len, self._rows)) > FLUSH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what has come since the last time."""
        width, stages = self.run.first_row.size, len(self.run.stages)
        empty = Rows(np.zeros((0, width)), np.zeros((0, stages), np.int64), np.zeros((0, stages)))
        rows = [np.concatenate([first, *parts]) for first, parts in zip(empty, self._kept(), strict=True)]
        pending = [np.concatenate([first, *parts]) for first, parts in zip(empty, self._pending(), strict=True)]
        clock, arrays = pack_state(self.run.state)
        arrays |= dict(zip(("rows", "iterations", "residuals"), rows, strict=True))
        arrays |= {f"pending.{name}": array for name, array in zip(Rows._fields, pending, strict=True)}
        about = {"state": clock, "seconds": self.run.seconds - self._seconds}
        self._seconds = self.run.seconds
        self._writer.write(FileFrame(about, arrays))
        self._rows, self._iterations, self._residuals = [], [], []
        self._last = time.monotonic()

    def _kept(self) -> tuple[list[np.ndarray], ...]:
        return self._rows, self._iterations, self._residuals

    def _pending(self) -> tuple[list[np.ndarray], ...]:
        return tuple([rows[k] for rows in self._rest] for k in range(3))

    def close(self, final: bool) -> None:
        """Write the rest; `final`: the last row belongs to the result, too."""
        if final and self._waiting:
            self._thin(last=True)
        self.flush()
        self._writer.close()


def finish(path: Path, run: Run, ready: Prepared, values: np.ndarray, provenance: dict[str, Any]) -> Solution:
    """Make the HDF5 file of all frames and delete them; the solution's arrays stay on the disk until they are used."""
    part = open_part(path)
    system = ready.model.system
    assert part.last is not None

    def pieces() -> Iterator[tuple[dict[str, Any], Rows]]:
        stages = len(run.stages)
        yield piece(Rows(part.first_row[None, :], np.zeros((0, stages), np.int64), np.zeros((0, stages))))
        for frame in part.chunks():
            if len(frame.arrays["rows"]):
                yield piece(Rows(*[frame.arrays[name] for name in ("rows", "iterations", "residuals")]))

    def piece(rows: Rows) -> tuple[dict[str, Any], Rows]:
        arrays = observed(ready, values, split(run, rows.results))
        arrays["extra"] |= measured(system, values, arrays)
        return arrays, rows

    seconds = sum(float(frame.about["seconds"]) for frame in part.chunks())
    taken = run.state.step if provenance.get("save_every", 1) > 1 else None
    stats = Stats(run.stages, np.zeros((part.rows, 0), np.int64), np.zeros((part.rows, 0)), seconds, taken)
    write_pieces(path, pieces(), part.rows + 1, stats, ready.names, provenance, run.state)
    part.path.unlink()
    return load(path, system=system, mapped=True)


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
    from stickslip.solve.door import is_number, run_call

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
        part_from(path, finished)
    part = open_part(path)
    about = part.about
    _require_same(path, about, ready)
    options = about["call"] | ({} if t_end is None else {"t_end": t_end})
    if part.last is None:
        raise ResultFileError(f"{part.path} holds no state yet: nothing was computed. Start the run again.")
    state = unpack_state(part.last.about["state"], part.last.arrays)
    if t_end is not None:
        _require_later(path, t_end, state.t)
    return run_call(system, **options, progress=progress, out=path, start=state, part=part)


def _require_later(path: Path, t_end: float, reached: float) -> None:
    if t_end < reached - ROUNDING * max(1.0, abs(reached)):
        raise OptionError(f"t_end = {t_end:g} is before t = {reached:g}, which {path} has reached; nothing was changed")


def _require_same(path: Path, about: Mapping[str, Any], ready: Prepared) -> None:
    if about.get("fingerprint", fingerprint(ready)) != fingerprint(ready):
        raise OptionError(
            f"{path} belongs to a system {about['system']!r} with other equations or names than this "
            f"{ready.model.system.name!r}"
        )


def part_from(path: Path, solution: Solution) -> None:
    """Frames of a finished result, so that it can be prolonged.

    If its last row stands for fewer steps than the others, they are still to be completed: the row becomes that many
    pending ones, whose sums, last state and largest residual are its own.
    """
    call = solution.provenance.get("call")
    if solution.state is None or call is None:
        raise ResultFileError(f"{path} cannot be continued: it was not written by ss.solve(..., out=)")
    own = [name for name in solution.extra if name not in solution.provenance.get("measures", {})]
    columns = [solution.t[:, None], solution.q, solution.u]
    columns += [solution.P_g, solution.P_gamma, solution.P_N, solution.P_F]
    rows = np.hstack([*columns, *[solution.extra[name].reshape(len(solution), -1) for name in own]])
    about = {"system": solution.provenance["system"], "fingerprint": solution.provenance["fingerprint"], "call": call}
    writer = Writer(part_of(path), FileFrame(about, {"first_row": rows[0]}))
    clock, arrays = pack_state(solution.state)
    stats = solution.stats
    kept = (rows[1:], stats.iterations, stats.residuals)
    left = stats.steps % call["save_every"]
    pending = tuple(np.repeat(array[-1:], left, axis=0) for array in kept)
    if left:
        first, width = (sum(array.shape[1] for array in some) for some in (columns[:3], columns[3:]))
        pending[0][:-1, first : first + width] = 0.0
        pending[1][:-1] = 0
        kept = (kept[0][:-1], kept[1][:-1], kept[2][:-1])
    arrays |= dict(zip(("rows", "iterations", "residuals"), kept, strict=True))
    arrays |= {f"pending.{name}": array for name, array in zip(Rows._fields, pending, strict=True)}
    writer.write(FileFrame({"state": clock, "seconds": stats.wall_time}, arrays))
    writer.close()
