"""The index tables that the compiled loop reads: names of their columns, and nothing else.

All stages of a program share one set of tables, one below the other. A *problem* is a stage that is solved, an *evaluation*
one that only gives fields new values. Both call kernels in *groups*: one kernel, many instances of a part type. The outputs
of all kernels of a problem lie one after another in the array `raw`; every other table points into it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SOLVE, EVALUATE, COPY, JUMP, JUMP_UNLESS, AGAIN = range(6)  # instructions: (code, argument, argument, argument)

# problems: sizes and where the rows of this problem begin and end in the other tables
N, SLOT, GROUP_0, GROUP_1, ROW_0, ROW_1, ENTRY_0, ENTRY_1, DIAGONAL_0, DIAGONAL_1, BLOCK_0, LAW_0, BLOCK_1 = range(13)
BAND = 13  # half bandwidth of the matrix in the order of `order`, or -1 for a dense one
PROBLEM_WIDTH = 14

# evaluations
E_GROUP_0, E_GROUP_1, CLEAR_0, CLEAR_1, SCATTER_0, SCATTER_1 = range(6)
EVALUATION_WIDTH = 6

# groups
ADDRESS, COUNT, N_IN, N_OUT, GATHER, RAW = range(6)
GROUP_WIDTH = 6

# blocks: laws of SIZE rows, from ROW on. WHERE, STATUS, WHEN and UNLESS are places in memory or -1. Y, Z and RADIUS point
# to values in raw; the triplets of dy, dz and dradius are the rows FIRST to Y_LAST, to Z_LAST and to RADIUS_LAST of
# `parts`. OWN is 1 if z depends on its own unknown alone, so that z = 0 fixes it without a linear system. Those from
# BLOCK_0 to LAW_0 are bilateral: they have one branch only, so their values and triplets are among `rows` and `entries`,
# and here they only serve to find the scale of their multipliers, from the rows PAIR_0 to PAIR_1 of `pairs`.
KIND, SIZE, ROW, WHERE, STATUS, WHEN, UNLESS, Y, Z, RADIUS, FIRST, Y_LAST, Z_LAST, RADIUS_LAST, OWN = range(15)
PAIR_0, PAIR_1 = 15, 16
BLOCK_WIDTH = 17


class Tables(NamedTuple):
    """problems, evaluations, groups, blocks: as named above. The others:

    gather: places of a kernel's inputs in memory; slots: of the unknowns, `order` in which they are eliminated.
    rows (row, raw): summands of rows without branches; entries (row, col, raw): triplets of their Jacobian, sorted by column;
    diagonal (row, raw): those with row = col.
    parts (component, col, raw): triplets of laws; pairs (component, raw of dy/dx, raw of d row/dz or -1, row): products that
    make up dy/dz by way of x. clear, scatter (place, raw): what an evaluation sets to zero and adds to.
    """

    problems: np.ndarray
    evaluations: np.ndarray
    groups: np.ndarray
    gather: np.ndarray
    slots: np.ndarray
    order: np.ndarray
    rows: np.ndarray
    entries: np.ndarray
    diagonal: np.ndarray
    blocks: np.ndarray
    parts: np.ndarray
    pairs: np.ndarray
    clear: np.ndarray
    scatter: np.ndarray
