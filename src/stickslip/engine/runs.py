"""What a run is: what it is given, the rows that it gives, and what every kind of run can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from stickslip.engine.failure import Failure
from stickslip.engine.fields import RESULTS, T_1, Field
from stickslip.engine.layout import slices
from stickslip.engine.program import Program
from stickslip.engine.state import State

ROUNDING = 1e-9  # of a step, that the last time may miss t_end by
CHUNK_ROWS = 4096  # that one chunk has at most


class Start(NamedTuple):
    """Where a run begins, and the options of `solve`; `state` is where it continues, if it does.

    `subdivide`: a step that cannot be solved is repeated in shorter ones.
    """

    parameters: np.ndarray
    q: np.ndarray
    u: np.ndarray
    t: float
    t_end: float
    dt: float
    steps: int
    tol: float
    max_iterations: int
    prox: float
    method: str
    state: State | None = None
    subdivide: bool = False
    sizes: Mapping[tuple[str, bool], np.ndarray] | None = None  # that residuals are relative to, see `engine.levels`
    solver: str = "auto"  # of stages with contacts: all in turn, or one alone


class Rows(NamedTuple):
    """Steps that are done: a row of results each, iterations and residuals of their stages.

    After those of its stages a step has the residual of its bilateral rows and its natural map (`Program.n_residuals`).
    """

    results: np.ndarray
    iterations: np.ndarray
    residuals: np.ndarray


class Keep(Protocol):
    """The rule for what is kept: takes the rows of every chunk, in their order; `chunk` is the most that it wants at once.

    `columns`: those that the rows have, in rising order, where others are zero (`engine.narrow`); None: all.
    """

    chunk: int | None

    def take(self, rows: Rows, columns: np.ndarray | None = None) -> None: ...


class Run(Protocol):
    """One trajectory in the making: `done` steps are there, `complete` says whether that is all, `failure` why not.

    A row of results consists of the columns that `columns` names, with their widths: t, the fields of RESULTS and whatever
    else the scheme records. `first_row` is the one of the start.
    """

    done: int
    failure: Failure | None
    seconds: float
    stages: tuple[str, ...]
    n_residuals: int  # of a step
    columns: dict[str, int]
    first_row: np.ndarray

    @property
    def complete(self) -> bool: ...

    @property
    def state(self) -> State: ...

    def advance(self, keep: Keep, interrupted: Callable[[], bool], show: Callable[[int], None]) -> None: ...


def row_plan(program: Program, extra: Sequence[Field]) -> tuple[dict[str, int], np.ndarray, dict[Field, slice]]:
    """Widths of the columns of a row, the places that make it up, and those that a state remembers."""
    layout, declared, fields = program.layout, program.numbering.declared, [*RESULTS, *extra]
    columns = {"t": 1} | {each.name: declared[each.space] for each in fields}
    places = [layout.places(each)[: declared[each.space]] for each in fields]
    remembered = {each: layout.slice(each) for each in [*program.memory, *extra]}
    return columns, np.concatenate([layout.places(T_1), *places]), remembered


def percussions(columns: Mapping[str, int]) -> np.ndarray:
    """Where percussions lie in a row with these columns: they are summed up over steps, other columns are not."""
    at = slices(columns)
    return np.concatenate([np.arange(at[each.name].start, at[each.name].stop) for each in RESULTS[2:]])
