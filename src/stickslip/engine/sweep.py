"""Gauss-Seidel over contacts: the step that is taken where Newton's method cycles between branches.

The linearised stage is reduced to its laws by eliminating everything else, y = c - S d with d the steps of the
multipliers; then one law after another is satisfied exactly for the present values of all others (a normal contact) or
moves towards it by its prox equation (friction). That converges slowly but does not cycle, and what it finds is a good
start for Newton's method.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stickslip.engine import tables as tb
from stickslip.engine.tables import Tables
from stickslip.jit import jit
from stickslip.nonsmooth.laws import NORMAL, OFF

if TYPE_CHECKING:
    from stickslip.engine.advance import Work


@jit
def number_laws_last(t: Tables, p: np.ndarray, w: Work) -> int:
    """Number the unknowns that are kept anew, those of laws last; how many others there are."""
    column, kept, blocks = w.column, w.kept, t.blocks
    for b in range(p[tb.LAW_0], p[tb.BLOCK_1]):
        row = blocks[b, tb.ROW]
        if w.branch[b] != OFF and column[row] >= 0:
            for i in range(row, row + blocks[b, tb.SIZE]):
                column[i] = -2
    m = 0
    for i in range(p[tb.N]):
        if column[i] >= 0:
            column[i] = m
            kept[m] = i
            m += 1
    others = m
    for b in range(p[tb.LAW_0], p[tb.BLOCK_1]):
        row = blocks[b, tb.ROW]
        if w.branch[b] != OFF and column[row] == -2:
            for i in range(row, row + blocks[b, tb.SIZE]):
                column[i] = m
                kept[m] = i
                m += 1
    return others


@jit
def sweep(t: Tables, p: np.ndarray, w: Work, first: int, m: int, sweeps: int, enough: float) -> None:
    """Steps d of the multipliers, in w.sweep[first:m], for the reduced system in the last rows of w.matrix.

    It ends after `sweeps` sweeps, or as soon as one changes no d by more than `enough`.
    """
    a, c, d, raw, blocks = w.matrix, w.right, w.sweep, w.raw, t.blocks
    for i in range(first, m):
        d[i] = 0.0
    for _ in range(sweeps):
        change = 0.0
        for b in range(p[tb.LAW_0], p[tb.BLOCK_1]):
            row, size, z = blocks[b, tb.ROW], blocks[b, tb.SIZE], blocks[b, tb.Z]
            i = w.column[row]
            if w.branch[b] == OFF or i < 0:
                continue
            slope = raw[t.parts[blocks[b, tb.Y_LAST], 2]] * w.unit[row]  # z changes by -slope d
            stiffness = 0.0
            for k in range(size):
                total = 0.0
                for j in range(size):
                    total += abs(a[(i + k) * m + i + j])
                stiffness = max(stiffness, total)
                y = c[i + k]
                for j in range(first, m):
                    y -= a[(i + k) * m + j] * d[j]
                w.weight[0, 0, k] = y
            square = 0.0
            for k in range(size):  # z for which y would be zero, were it alone
                w.weight[0, 1, k] = raw[z + k] - slope * (d[i + k] + w.weight[0, 0, k] / stiffness)
                square += w.weight[0, 1, k] * w.weight[0, 1, k]
            share = 1.0
            if blocks[b, tb.KIND] == NORMAL:
                share = 1.0 if w.weight[0, 1, 0] > 0.0 else 0.0
            else:
                radius = raw[blocks[b, tb.RADIUS]]
                for e in range(blocks[b, tb.Z_LAST], blocks[b, tb.RADIUS_LAST]):
                    j = t.parts[e, 1]
                    if w.column[j] >= first:
                        radius -= raw[t.parts[e, 2]] * w.unit[j] * d[w.column[j]]
                    elif w.column[j] < 0:
                        radius -= raw[t.parts[e, 2]] * w.step[j]
                if square > radius * radius:
                    share = max(radius, 0.0) / math.sqrt(square)
            for k in range(size):
                new = (raw[z + k] - share * w.weight[0, 1, k]) / slope
                change = max(change, abs(new - d[i + k]))
                d[i + k] = new
        if change < enough:
            break
