"""Scratch arrays and options of the compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.engine.tables import INDEX
from stickslip.jit import COMPILED, jit_inline, records
from stickslip.native.lanes import LANES
from stickslip.nonsmooth.cones import VALUES
from stickslip.nonsmooth.sparse import ENTRY
from stickslip.pages import zeros

if TYPE_CHECKING:
    from stickslip.engine.program import Program


class Options(NamedTuple):
    """Of the solver: tolerance of the residual, iterations of one attempt (below 0: the loop stops at every stage), prox
    parameter (0: scaled automatically).

    attempt_0, attempt_1: the range of attempts that are made (`newton.ATTEMPTS`); with none, the loop stops at every stage with
    contacts or friction. many: where the linear system has so many unknowns, the first attempt is the only one, and a short
    one.
    """

    tolerance: float
    iterations: int
    prox: float
    attempt_0: int = 0
    attempt_1: int = 1000
    many: int = 2**62


# What belongs to an unknown and to its row: residual, step, pivot (diagonal of the Jacobian); scale of the row (1/diagonal, or
# the Delassus diagonal of a law), size of what it measures (1, unless the model is very small or large) and 1/size, unit of
# the unknown (the size, or that over the Delassus diagonal), prox parameter, factor of the row (given the branch of its law);
# `column` in the linear system, or -1, and the unknown that is `kept` as this column.
STATE = np.dtype(
    [
        (name, np.float64)
        for name in ("residual", "step", "pivot", "scale", "size", "per_size", "unit", "prox", "factor")
    ]
    + [("column", INDEX), ("kept", INDEX)]
)


class Work(NamedTuple):
    """Scratch arrays, so that nothing is allocated in the loop."""

    inputs: np.ndarray  # of one kernel
    lanes: np.ndarray  # of a kernel for several instances
    filled: np.ndarray  # outputs up to here are in use
    outputs: np.ndarray  # of all kernels
    gaps: np.ndarray
    near: np.ndarray  # gaps, or velocities, below this one are not idle: 0, or more where many contacts may join
    offset: np.ndarray  # by instance: where its outputs begin, or IDLE
    x: np.ndarray  # by unknown: STATE
    start: np.ndarray  # of the iterations, by unknown
    predicted: np.ndarray  # change of the unknowns in the linearised stage, where it was solved (`far_roots`)
    branch: np.ndarray  # by law
    direction: np.ndarray
    weight: np.ndarray
    cones: np.ndarray  # by law, and once more: projection and derivatives of the kind CONE
    local: np.ndarray  # unknowns of one instance
    matrix: np.ndarray
    entries: np.ndarray  # of a sparse matrix
    right: np.ndarray
    errors: np.ndarray  # the largest row of constraints, and the natural map of laws
    sizes: np.ndarray  # of the rows of all stages, one below the other, where it is not 1; else 0, see `size_of_row`
    sweep: np.ndarray
    rows: np.ndarray  # scratch of the elimination
    columns: np.ndarray
    signals: np.ndarray  # named below
    solved_by: np.ndarray  # how often each attempt succeeded
    solved_before: np.ndarray  # the same before a stage that may have to be repeated
    apart: np.ndarray  # addresses of functions, named below, or 0, or NOT_YET
    nap: np.ndarray  # of contacts that are far away, see `naps`
    watch: np.ndarray  # places that decide whether they may sleep
    box: np.ndarray  # of each place in the memory, see `naps`
    all_rows: np.ndarray  # of integers, where those of sleepers are left out
    near_rows: np.ndarray  # those that the outer box does not leave out
    near_count: np.ndarray  # of them, by kind that can sleep
    hidden: np.ndarray  # places in the memory that belong to sleepers
    left_out: np.ndarray  # places of percussions that rows of results leave out (`narrow`): all, those that are awake


# Signals between the loop and those who call it again after a stage could not be solved: the instruction to go on with, its
# cycles and changes; RESUMED is STOPPED where the loop stopped at a stage, GO_ON where it is to go on there, SOLVED_ELSEWHERE
# where it is to go on after it. DEPENDENT: the last linear system was singular. WIDER: the last step has a percussion that
# rows of results leave out. KEPT: unknowns of the last linear system. REDUNDANT: the stage with which the loop goes on was
# solved elsewhere, and its percussions are not those of minimum norm. CONTRADICTED: constraints of the last linear system
# contradict each other. PREDICTED: work.predicted belongs to the present stage. FAR: a solution was found, and is too far away.
# WANTED: the stage needs a function that is NOT_YET loaded; it is back at its start, and ONCE_MORE repeats it from there.
INSTRUCTION, IN_CYCLES, IN_CHANGES, RESUMED, DEPENDENT, WIDER, KEPT, REDUNDANT, CONTRADICTED, PREDICTED, FAR, WANTED = (
    range(12)
)
GO_ON, STOPPED, SOLVED_ELSEWHERE, ONCE_MORE = 1, 2, 3, 4

SOLVE_STAGE, CONTACT_STEP, SOLVE_ISLANDS, LEAST_FORCES, IS_FAR_ROOT = range(5)
NOT_YET = -1  # address of a function that few models need: it is loaded, or compiled, when one does

IDLE = -1  # offset of an instance that contributes nothing


@jit_inline
def size_of_row(work: Work, i: int) -> float:
    """What the row measures, as a length or velocity, i among the rows of all stages."""
    size = work.sizes[i]
    return size if size != 0.0 else 1.0


@jit_inline
def set_size(work: Work, first: int, i: int) -> None:
    """The same for row i of a stage whose rows begin at `first`, and its inverse, which is multiplied by many times."""
    work.x[i].size = work.x[i].per_size = 1.0
    size = work.sizes[first + i]
    if size != 0.0 and size != 1.0:
        work.x[i].size, work.x[i].per_size = size, 1.0 / size


def scratch(program: Program) -> Work:
    """Scratch arrays for a program; functions that stand apart are not in it yet."""
    size = program.sizes
    return Work(
        inputs=np.zeros(size.inputs),
        lanes=np.zeros(LANES * size.inputs),
        filled=np.zeros(1, np.int64),
        outputs=zeros(size.outputs),
        gaps=np.zeros(size.gaps),
        near=np.zeros(1),
        offset=zeros(size.instances, np.int64),
        x=records(zeros(size.unknowns, STATE)),
        start=zeros(size.unknowns),
        predicted=zeros(size.unknowns),
        branch=zeros(size.elements, np.int64),
        direction=zeros((size.elements, 4)),
        weight=np.zeros((2, 3, 3)),
        cones=np.zeros(VALUES * (size.elements + 1) if size.cones else 0),
        local=np.zeros(size.local, np.int64),
        matrix=zeros(size.matrix),
        entries=records(zeros(size.entries, ENTRY)),
        right=zeros(size.unknowns),
        errors=np.zeros(2),
        sizes=zeros(len(program.tables.order)),
        sweep=zeros(size.unknowns),
        rows=zeros(size.unknowns, np.int64),
        columns=zeros(size.unknowns, np.int64),
        signals=np.zeros(12, np.int64),
        solved_by=np.zeros(32, np.int64),
        solved_before=np.zeros(32, np.int64),
        apart=np.zeros(5, np.int64 if COMPILED else object),
        nap=np.zeros(12, np.int64),
        watch=program.watch,
        box=np.zeros((8, program.layout.total if program.watch.size else 0)),
        all_rows=np.zeros(program.tables.dofs.size if program.watch.size else 0, INDEX),
        near_rows=np.zeros(program.tables.dofs.size if program.watch.size else 0, INDEX),
        near_count=np.zeros(program.tables.sleepers.size, np.int64),
        hidden=np.zeros(program.layout.total if program.watch.size else 0, np.bool_),
        left_out=np.zeros((2, program.layout.total if program.watch.size else 0), np.int64),
    )
