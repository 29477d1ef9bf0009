"""What is kept of a run in memory, and the solution that is made of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.engine.evaluate import evaluate
from stickslip.engine.fields import RESULTS, SPACES
from stickslip.engine.layout import slices
from stickslip.engine.narrow import widened, with_equal_columns, without_zeros
from stickslip.engine.observe import OBSERVED, observe
from stickslip.engine.runs import Rows, Run, percussions
from stickslip.engine.state import State
from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.solution import COMPUTED, Later, Solution, Stats
from stickslip.solve.detecting import DetectingRun
from stickslip.solve.found import ContactTable
from stickslip.solve.prepared import Prepared
from stickslip.solve.switching import switch_columns
from stickslip.solve.varying import Change, by_index, columns_of_changes

COUNTS = np.int32  # iterations of a stage
ERRORS = np.float32  # residuals: nobody needs more than seven digits of them, and they are 6 % of a file
INTEGERS = ("events",)  # counts among the columns of a run; the others are floats
SMALL = 2**28  # bytes of results that are not worth a look at the memory
VECTORS = ("events", "last_event")  # columns with one number per row, and without a second axis

Pieces = list[tuple[np.ndarray, np.ndarray | None]]  # rows, and the columns that they have


class Recorder:
    """Keeps every `every`-th row and the last one; percussions are summed up in between.

    `states`: keep the state at every row, too, so that every step is looked at by itself.
    """

    def __init__(self, run: Run, every: int = 1, states: bool = False):
        self.run: Any = run
        self.every = every
        self.chunk = 1 if states else None
        self._rows: Pieces = [(run.first_row[None, :], None)]
        self._iterations: list[np.ndarray] = []
        self._residuals: list[np.ndarray] = []
        self._rest: list[tuple[Rows, np.ndarray | None]] = []  # steps since the last row that was kept
        self._waiting = 0
        self.taken = 0
        self.states: list[State] | None = [run.state] if states else None
        self.contacts: ContactTable | None = run.table(every) if isinstance(run, DetectingRun) else None

    def take(self, rows: Rows, columns: np.ndarray | None = None) -> None:
        """Rows of a chunk, and the columns that they have, see `engine.narrow`."""
        self.taken += len(rows.results)
        if self.contacts is not None:
            self.contacts.take(self.run.found)
        if self.states is not None and len(rows.results) and (self.run.done % self.every == 0 or self.run.complete):
            self.states.append(self.run.state)
        if self.every == 1:
            self._keep(*rows, columns)
            return
        self._rest.append((rows, columns))
        self._waiting += len(rows.results)
        if self._waiting >= self.every:
            self._thin(last=False)

    def _thin(self, last: bool) -> None:
        """Rows of whole intervals, and with `last` what is left over."""
        (results, iterations, residuals), columns = self._pending()
        n = len(results) if last else len(results) // self.every * self.every
        first = np.arange(0, n, self.every)
        kept = results[np.minimum(first + self.every, n) - 1].copy()
        summed = percussions(self.run.columns)
        if columns is not None:
            summed = np.flatnonzero(np.isin(columns, summed))
        kept[:, summed] = np.add.reduceat(results[:n, summed], first, axis=0)
        taken = np.add.reduceat(iterations[:n], first, axis=0), np.maximum.reduceat(residuals[:n], first, axis=0)
        self._keep(kept, *taken, columns)
        self._rest = [(Rows(results[n:], iterations[n:], residuals[n:]), columns)]
        self._waiting = len(results) - n

    def _pending(self) -> tuple[Rows, np.ndarray | None]:
        """Steps since the last row that was kept, one below the other."""
        pieces, columns = with_equal_columns([(rows.results, which) for rows, which in self._rest], self.width)
        iterations, residuals = (np.concatenate([rows[k] for rows, _ in self._rest]) for k in (1, 2))
        return Rows(np.concatenate(pieces), iterations, residuals), columns

    @property
    def width(self) -> int:
        """Columns of a whole row."""
        return len(self.run.first_row)

    def _keep(
        self, results: np.ndarray, iterations: np.ndarray, residuals: np.ndarray, columns: np.ndarray | None
    ) -> None:
        self._rows.append((results, columns))
        self._iterations.append(iterations.astype(COUNTS))
        self._residuals.append(residuals.astype(ERRORS))

    def solution(
        self, ready: Prepared, values: np.ndarray, provenance: dict[str, Any], changes: Sequence[Change] = ()
    ) -> Solution:
        """Everything so far; `values` are the parameters at the start, `changes` what became of them."""
        run = self.run
        if self._waiting:
            self._thin(last=True)
        rows = self._rows
        if rows[-1][1] is not None:
            rows[0] = without_zeros(rows[0][0][0], rows[-1][1])
        pieces, columns = with_equal_columns(rows, self.width)
        arrays = recorded(split(run, pieces, columns))
        stages = len(run.stages)
        iterations = np.concatenate([np.zeros((0, stages), COUNTS), *self._iterations])
        residuals = np.concatenate([np.zeros((0, run.n_residuals), ERRORS), *self._residuals])
        taken, solved_by = run.done if self.every > 1 else None, getattr(run, "solved_by", {})
        stats = Stats(run.stages, iterations, residuals, run.seconds, taken, solved_by)
        system, n = ready.model.system, len(arrays["t"])
        values, varying = values.copy(), dict[str, np.ndarray]()
        if changes:
            steps = np.clip(self.every * np.arange(n), 1, max(self.taken, 1))
            changed, names = columns_of_changes(values, changes, steps), list(system.parameter_symbols())
            for k, column in changed.items():
                values[k] = column[-1]
            varying = {names[k]: column for k, column in changed.items() if (column != column[0]).any()}
        moved = {name: arrays[name].copy() for name in ("t", "q", "u")}  # the user may have changed the arrays by then
        moved["extra"] = {name: arrays["extra"][name].copy() for name in system.switches}
        later = Later(lambda: observed(ready, values, moved, varying))
        arrays |= dict.fromkeys(COMPUTED, later)
        arrays["extra"] |= measured(system, values, arrays, varying)
        if varying:
            own = {n: (f"parameter {n}" if n in arrays["extra"] else n).replace("/", "|") for n in varying}
            arrays["extra"] |= {own[name]: column for name, column in varying.items()}
            provenance["varying"] = own | {name: name for name in system.switches}
        arrays["extra"] = _all_or_later(arrays["extra"])
        states = tuple(self.states) if self.states is not None else ()
        return Solution(
            **arrays,
            stats=stats,
            names=ready.names,
            provenance=provenance,
            system=system,
            state=run.state,
            states=states,
            contacts=None if self.contacts is None else self.contacts.table(),
        )


def split(run: Run, chunks: Sequence[np.ndarray], columns: np.ndarray | None = None) -> dict[str, Any]:
    """Rows of a run as arrays by name; `columns`: those that they have, if not all.

    Then what lacks some is left as a function that gives it with all of them.
    """
    out: dict[str, Any] = {}
    for name, at in slices(run.columns).items():
        first, last = (at.start, at.stop) if columns is None else np.searchsorted(columns, (at.start, at.stop))
        there = np.concatenate([chunk[:, first:last] for chunk in chunks])
        if columns is None or last - first == at.stop - at.start:
            out[name] = there
        else:
            out[name] = partial(widened, there, columns[first:last] - at.start, at.stop - at.start)
    for name in VECTORS:
        if name in out:
            out[name] = out[name][:, 0].astype(np.int64 if name in INTEGERS else float)
    return out


def _or_later(name: str, array: Any) -> Any:
    """An array of a solution, or what gives it when somebody reads it."""
    return Later(lambda: {name: array()}) if callable(array) else array


def _all_or_later(extra: dict[str, Any]) -> Any:
    """Further results, or what gives all of them when somebody reads one."""
    if not any(map(callable, extra.values())):
        return extra
    return Later(lambda: {"extra": {name: x() if callable(x) else x for name, x in extra.items()}})


def observed(
    ready: Prepared, values: np.ndarray, arrays: dict[str, Any], varying: Mapping[str, np.ndarray] | None = None
) -> dict[str, np.ndarray]:
    """Gaps, slips, constraints and energies, the `COMPUTED` arrays of a solution, from those that were recorded."""
    system = ready.model.system
    of_rows = by_index(system, {**{name: arrays["extra"][name] for name in system.switches}, **(varying or {})})
    out = observe(ready.observing, values, arrays["t"], arrays["q"], arrays["u"], OBSERVED, of_rows)
    return out | {name: out[name][:, 0].copy() for name in ("kinetic", "potential")}


def recorded(columns: dict[str, np.ndarray]) -> dict[str, Any]:
    """The arrays that a run itself recorded."""
    arrays: dict[str, Any] = {f"P_{x}": _or_later(f"P_{x}", columns[f"P.{x}"]) for x in SPACES}
    switches = switch_columns(columns)
    further = {name: column for name, column in columns.items() if name not in ("t", *[each.name for each in RESULTS])}
    further |= switches
    return arrays | {"t": columns["t"][:, 0].copy(), "q": columns["q_1"], "u": columns["u_1"], "extra": further}


def measured(
    system: System, values: np.ndarray, arrays: dict[str, Any], varying: Mapping[str, np.ndarray] | None = None
) -> dict[str, np.ndarray]:
    """What the system declares as its measures."""
    out: dict[str, np.ndarray] = {}
    if not system.measures:
        return out
    parameters: dict[str, Any] = dict(zip(system.parameter_symbols(), values.tolist(), strict=True))
    parameters |= {**{name: arrays["extra"][name] for name in system.switches}, **(varying or {})}
    for name, sensor in system.measures.items():
        column = evaluate(system, sensor.value, parameters, arrays["t"], arrays["q"], arrays["u"])
        out[name] = column[:, 0] if column.shape[1] == 1 else column
    return out


def check_memory(run: Run, ready: Prepared, rows: int) -> None:
    """A run whose results do not fit into memory is refused before it begins."""
    width = sum(run.columns.values()) + 2 * len(run.stages)
    width += sum(ready.observing.layout.size[each] for each in OBSERVED)
    needed = 3 * 8 * width * rows  # rows, the arrays that are made of them, and what the energy alarm makes of these
    if needed < SMALL:
        return
    there = _free()
    if needed > 0.9 * there:
        every = -(-needed // int(0.1 * there))
        raise OptionError(
            f"{rows:.3g} rows of results need {needed / 2**30:.3g} GB of memory, of which {there / 2**30:.3g} are free; keep "
            f"fewer of them, for example save_every={every}, write them to a file with out=, or take a larger dt"
        )


def _free() -> int:
    """Bytes of memory that a process can have now: those of the machine, or fewer in a container that has a limit."""
    free = re.search(r"^MemAvailable: *(\d+) kB", _told("/proc/meminfo"), re.MULTILINE)
    try:
        there = 1024 * int(free[1]) if free else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on this platform
        there = 8 * 2**30
    most, used = (_told(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    return max(min(there, int(most) - int(used)), 2**20) if most.isdigit() and used.isdigit() else there


def _told(path: str) -> str:
    """What a file of the operating system says, if there is such a file."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""
