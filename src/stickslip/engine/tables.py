"""The tables that the compiled loop reads: patterns of part types, and one row of integers per instance.

A *kind* is a part type with its instances. Each instance has one row of `dofs`: where its coordinates, velocities, rows of
constraints and parameters begin. Everything else is a *pattern*, written once per stage and kind: a place is `start` plus the
integer in `column` of the instance's row. So adding an instance adds one row, and the number of instances and their rows may
change while the loop runs.

A *problem* is a stage that is solved, an *evaluation* one that only gives fields new values. Both call kernels in *groups*:
one kernel for all instances of a kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import records
from stickslip.pages import zeros

# Instructions: (code, argument, argument, argument). COPY_ROWS copies what there is of detected contacts: its last argument is
# MOST_ROWS times their kind, and how many numbers each of them has. COPY_OWN copies what belongs to the instances of a kind
# that are awake; MOST_ROWS times that argument, and the column that says where an instance's numbers begin.
SOLVE, EVALUATE, COPY, JUMP, JUMP_UNLESS, AGAIN, COPY_ROWS, COPY_OWN = range(8)
MOST_ROWS = 64


INDEX = np.int32  # in the tables that grow with the number of instances: places and unknowns


def _integers(*names: str) -> np.dtype:
    return np.dtype([(name, np.int64) for name in names])


# `count` of `capacity` instances are active; their rows of `width` integers begin at `first` in `dofs`.
KIND = _integers("count", "capacity", "first", "width")

# A place that depends on the instance: in the memory, or among the unknowns of a problem. `role`: outputs are added there
# (SUM), but once for all instances (ONCE), or it belongs to this instance alone (OWN). An input of
# bounds may be FIXED while a run lasts.
PLACE = _integers("start", "column", "role")
SUM, ONCE, OWN, FIXED = range(4)

# `n` unknowns, the first `n_smooth` of which are not determined by laws; where this problem's rows begin and end in the other
# tables (the segments of the smooth unknowns up to `segment`). `order` is where its order of elimination begins, and its nodes,
# `band` the half bandwidth in that order, or one of the two below. `dependent` is 1 where its bilateral constraints are known
# to depend on each other.
PROBLEM = _integers(
    *("n", "n_smooth", "group_0", "group_1", "segment_0", "segment", "segment_1", "order", "band", "dependent")
)
DENSE, SPARSE = -1, -2
SMALL = 48  # unknowns, below which dense loops are faster in any case
# Unknowns that are left of a sparse system, below which dense rows that skip zeros are faster.
FEW = 200

# A vector of unknowns: `length` of them from `first` on lie in the memory from `start` on.
SEGMENT = _integers("start", "first", "length")

EVALUATION = _integers("group_0", "group_1", "segment_0", "segment_1")  # segments are cleared before outputs are added

# A kernel (its address) for all instances of a kind. Its inputs are `n_in` places from `inputs` on, its outputs `n_out`
# numbers. In a problem `unknowns` begins the places of the local unknowns among all unknowns; rows, entries and diagonal are
# summands of the residual and its Jacobian (all of them `ENTRY`); `law_0` to `law` are bilateral constraints, `law` to `law_1`
# laws with branches. `instance` and `element` number the first instance and the first law. Where `gap_kernel` is not 0, an
# instance whose places `silent` hold zeros, and whose gaps this kernel finds open, contributes nothing and is left out.
# `wide`, `values` and `wide_values` are kernels that are there only where contacts are many (`crowd_kernels`), else 0: for
# several instances at once, and for values without derivatives, which are the first outputs. Of a contact that is swept `kept`
# outputs stay, else (0) all of them.
# `rough` is a kernel with the same outputs whose derivatives leave out terms of the order of dt, where the exact one is long.
# In an evaluation the outputs are added to the places from `unknowns` on; where `gap_kernel` is not 0, they vanish with what is
# silent.
GROUP = _integers(
    *("kind", "kernel", "n_in", "n_out", "inputs", "unknowns", "n_unknowns"),
    *("row_0", "row_1", "entry_0", "entry_1", "diagonal_0", "diagonal_1", "law_0", "law", "law_1"),
    *("instance", "element", "gap_kernel", "n_gap_in", "gap_inputs", "silent_0", "silent_1"),
    *("wide", "values", "wide_values", "kept", "rough"),
)

# An output that is added to the row of a local unknown, or its derivative by a local unknown; of laws the row is a component.
ENTRY = _integers("row", "unknown", "output")

# A law of so many `rows`, those of the local unknowns from `unknown` on, which lie in the memory from `home` on. Its MASKS are
# starts of places in `column`, or -1. y, z and radius are outputs; the derivatives of y are the entries from `y_0` to `y_end`,
# those of z from there to `z_end`, those of the radius from there to `radius_end`. `own` is 1 if z depends on its own unknown
# alone, so that z = 0 fixes it without a linear system. The pairs are products that make up dy/dz. Of the kind CONE `cone` is
# the address of a kernel; it takes the components, the radius, and `n_coefficients` outputs from `coefficients` on.
MASKS = ("open_where", "mark", "only_where", "except_where", "mark_also", "closed_within")
LAW = _integers(
    *("kind", "rows", "unknown", "home", "column", *MASKS, "y", "z", "radius"),
    *("y_0", "y_end", "z_end", "radius_end", "own", "pair_0", "pair_1", "cone", "coefficients", "n_coefficients"),
)
PAIR = _integers(
    "component", "y", "z", "row"
)  # outputs of dy/dx and of d row/dz, or -1 where x is z itself; the row of x

# A kind whose instances can be left out while they are far away: its places `silent` must be zero, its `mark`s positive, and
# the lower bounds from `bound_0` on too; the places `opened` are then positive. A bound is a kernel of the centres and radii
# of `n_in` places; those that are FIXED have no radius.
SLEEPER = _integers(*("kind", "silent_0", "silent_1", "mark_0", "mark_1", "opened_0", "opened_1", "bound_0", "bound_1"))
BOUND = _integers("kernel", "n_in", "inputs", "n_out")


class Tables(NamedTuple):
    """All tables of a program, each for all stages, one below the other."""

    kinds: np.ndarray
    dofs: np.ndarray
    problems: np.ndarray
    evaluations: np.ndarray
    segments: np.ndarray
    order: np.ndarray  # unknowns of a problem with a band in the order of elimination; of others nobody asks
    nodes: np.ndarray  # by unknown: those of one body, or of one law, share a node, which is negative for laws
    groups: np.ndarray
    places: np.ndarray
    entries: np.ndarray
    laws: np.ndarray
    pairs: np.ndarray
    sleepers: np.ndarray
    bounds: np.ndarray


TYPES: dict[str, Any] = {
    "kinds": KIND,
    "dofs": np.dtype(INDEX),
    "problems": PROBLEM,
    "evaluations": EVALUATION,
    "segments": SEGMENT,
    "order": np.dtype(INDEX),
    "nodes": np.dtype(INDEX),
    "groups": GROUP,
    "places": PLACE,
    "entries": ENTRY,
    "laws": LAW,
    "pairs": PAIR,
    "sleepers": SLEEPER,
    "bounds": BOUND,
}


def with_rough_kernels(tables: Tables) -> Tables:
    """The same with rough derivatives, where there are some."""
    if not tables.groups["rough"].any():
        return tables
    groups = tables.groups.copy()
    groups["kernel"] = np.where(groups["rough"] != 0, groups["rough"], groups["kernel"])
    return tables._replace(groups=groups)


class TableBuilder:
    """Tables in the making: rows are appended, and found again by their number."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[tuple[int, np.ndarray]]] = {name: [] for name in Tables._fields}
        self.length: dict[str, int] = dict.fromkeys(Tables._fields, 0)

    def append(self, name: str, rows: Sequence | np.ndarray | Iterable) -> tuple[int, int]:
        """Add rows (tuples in the order of the table's columns); the first number, and the one after the last."""
        piece, kind = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), np.int64), TYPES[name]
        number = kind[0] if kind.names else kind
        if np.abs(piece).max(initial=0) > np.iinfo(number).max:
            raise OverflowError(f"a model with more than {np.iinfo(number).max} numbers in its memory is too large")
        piece = piece.astype(number, copy=False)
        if kind.names:
            piece = np.ascontiguousarray(piece.reshape(-1, len(kind.names))).view(kind)[:, 0]
        first = self.length[name]
        self._pieces[name].append((first, piece))
        self.length[name] += len(piece)
        return first, self.length[name]

    def reserve(self, name: str, count: int) -> int:
        """Room for so many rows that are written later; the first number."""
        self.length[name] += count
        return self.length[name] - count

    def record(self, name: str, **values: int) -> int:
        """Add one row by the names of its columns; its number."""
        return self.append(name, [tuple(values[column] for column in TYPES[name].names)])[0]

    def tables(self) -> Tables:
        """All that was added."""
        out = {name: zeros(length, TYPES[name]) for name, length in self.length.items()}
        for name, pieces in self._pieces.items():
            for first, piece in pieces:
                out[name][first : first + len(piece)] = piece
        return Tables(**{name: records(table) for name, table in out.items()})
