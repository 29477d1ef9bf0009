"""What a stage must be made of to be swept, and where the numbers of its contacts lie: once per program, before any contact.

Kernels of contacts have the same outputs for all instances of a kind. So which output is which entry of G, B and A
(`contact_rows`) is written down once: for each entry of the rows of G and B its output, or -1, and for the few others moves
(output, target).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.engine.program import Program
from stickslip.engine.tables import INDEX, Tables
from stickslip.native.wide import WIDTH, place
from stickslip.nonsmooth.cones import BALL, NORMAL

SIZE = 6  # velocities of a body
# Columns of Plan.groups: in the integers of an instance, where those of its bodies and of its multipliers are; outputs that are
# derivatives of multipliers by their unknowns; where its moves begin: derivatives of the radius by the normal multiplier, of
# smooth rows by velocities of the same body; and where they end.
COLUMN_A, COLUMN_B, HOME_OF_N, HOME_OF_F, SLOPE_OF_N, SLOPE_OF_F, MU_0, BLOCK_0, END = range(9)


class Bodies(NamedTuple):
    """For a stage: the body of each smooth unknown and its place among SIZE places for each body, the first unknown and the
    number of unknowns of each body, and where the first unknown of all lies in the memory.
    """

    of: np.ndarray
    slot: np.ndarray
    first: np.ndarray
    size: np.ndarray
    home: int


class Plan(NamedTuple):
    """For all groups of a program: outputs that are rows of G and B, and moves."""

    groups: np.ndarray
    along: np.ndarray  # (groups, 3 WIDTH): derivatives of y by velocities
    across: np.ndarray  # derivatives of smooth rows by multipliers
    moves: np.ndarray


def bodies_of(program: Program, k: int) -> Bodies | None:
    """The bodies of a stage, if all of it can be swept: free bodies, and contacts with a normal row and friction."""
    tables = program.tables
    problem = tables.problems[k]
    n, smooth = int(problem["n_smooth"]), tables.segments[problem["segment_0"] : problem["segment"]]
    if n == 0 or problem["band"] >= 0 or len(smooth) != 1:
        return None
    node = tables.nodes[problem["order"] : problem["order"] + n]
    first = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]]))
    size = np.diff(np.append(first, n))
    if len(np.unique(node)) != len(first) or size.max() > SIZE:
        return None
    of = np.repeat(np.arange(len(first)), size)
    for group in tables.groups[problem["group_0"] : problem["group_1"]]:
        if group["law_0"] == group["law_1"]:
            if not _uncoupled(tables, group, of):
                return None
        elif _moves(tables, group, n) is None:
            return None
    slot = SIZE * of + np.arange(n) - first[of]
    home = int(smooth["start"][0])
    return Bodies(of.astype(INDEX), slot.astype(INDEX), first.astype(INDEX), size.astype(INDEX), home)


def bodies_of_stages(program: Program) -> list[Bodies | None]:
    """Those of all stages, which are the same for most of them."""
    out: list[Bodies | None] = []
    for k in range(len(program.tables.problems)):
        new = bodies_of(program, k)
        same = next((b for b in out if b is not None and new is not None and np.array_equal(b.of, new.of)), None)
        out.append(new if same is None or new is None else same._replace(home=new.home))
    return out


def plan_of(program: Program) -> Plan:
    """The outputs and moves of all groups that can be swept."""
    tables, moves = program.tables, [np.zeros((0, 2), np.int64)]
    groups, length = np.zeros((len(tables.groups), END + 1), np.int64), 0
    rows = np.full((2, len(tables.groups), 3 * WIDTH), -1, np.int32)
    for problem in tables.problems:
        for g in range(problem["group_0"], problem["group_1"]):
            found = _moves(tables, tables.groups[g], int(problem["n_smooth"]))
            if found is not None:
                own, filled, lists = found
                for side, outputs in zip(rows, filled, strict=True):
                    side[g, list(outputs)] = list(outputs.values())
                ends = length + np.cumsum([0, *map(len, lists)])
                groups[g] = *own, *ends
                moves += [np.array(each, np.int64).reshape(-1, 2) for each in lists]
                length = int(ends[-1])
    along, across = rows
    return Plan(groups, along, across, np.concatenate(moves))


def only_directions(program: Program, g: int) -> bool:
    """Whether a group has contacts that can be swept and whose forces do not depend on the velocities of their bodies."""
    tables = program.tables
    for problem in tables.problems:
        if problem["group_0"] <= g < problem["group_1"] and tables.groups["law_0"][g] < tables.groups["law_1"][g]:
            found = _moves(tables, tables.groups[g], int(problem["n_smooth"]))
            return found is not None and not found[2][1]
    return False


def _moves(
    tables: Tables, group: Any, n: int
) -> tuple[list[int], tuple[dict[int, int], dict[int, int]], list[list[tuple[int, int]]]] | None:
    """Columns, outputs of rows and moves of a kind of contacts; None if it has another form."""
    laws = tables.laws[group["law_0"] : group["law_1"]]
    kinds = laws["kind"].tolist()
    if kinds not in ([NORMAL], [NORMAL, BALL]) or (laws["rows"] > 2).any() or (laws["own"] != 1).any():
        return None
    places = tables.places[group["unknowns"] : group["unknowns"] + group["n_unknowns"]]
    start, column = places["start"], places["column"]
    smooth = start < n
    columns = list(dict.fromkeys(column[smooth].tolist()))
    if not 1 <= len(columns) <= 2 or (start[smooth] >= SIZE).any():
        return None
    slot = {i: (columns.index(int(column[i])), int(start[i])) for i in np.flatnonzero(smooth).tolist()}
    row_of = {int(laws[0]["unknown"]): 0}
    for law in laws[1:]:
        row_of |= {int(law["unknown"]) + a: 1 + a for a in range(int(law["rows"]))}
    along: dict[int, int] = {}
    across: dict[int, int] = {}
    mu, block = [], []
    for first, law in zip((0, 1), laws, strict=False):
        for e in tables.entries[law["y_0"] : law["y_end"]]:
            at = WIDTH * (first + int(e["row"])) + place(*slot[int(e["unknown"])]) if int(e["unknown"]) in slot else -1
            if at < 0 or at in along:
                return None
            along[at] = int(e["output"])
    for e in tables.entries[group["entry_0"] : group["entry_1"]]:
        i, j, output = int(e["row"]), int(e["unknown"]), int(e["output"])
        if i in slot and j in row_of:
            across[WIDTH * row_of[j] + place(*slot[i])] = output
        elif i in slot and j in slot and slot[i][0] == slot[j][0]:
            block.append((output, SIZE**2 * slot[i][0] + SIZE * slot[i][1] + slot[j][1]))
        elif i in slot and j not in slot:
            return None
    if len(laws) == 2:
        for e in tables.entries[laws[1]["z_end"] : laws[1]["radius_end"]]:
            if row_of.get(int(e["unknown"])) == 0:
                mu.append((int(e["output"]), 0))
    homes = [int(column[int(law["unknown"])]) for law in (laws[0], laws[-1])]
    slopes = [int(tables.entries[int(law["y_end"])]["output"]) for law in (laws[0], laws[-1])]
    own = [columns[0], columns[1] if len(columns) == 2 else -1, *homes, *slopes]
    return own, (along, across), [mu, block]


def _uncoupled(tables: Tables, group: Any, of: np.ndarray) -> bool:
    """Whether a part that is not a contact couples the velocities of one body only."""
    kind = tables.kinds[group["kind"]]
    first, width = int(kind["first"]), int(kind["width"])
    dofs = tables.dofs[first : first + int(kind["count"]) * width].reshape(-1, width)
    places = tables.places[group["unknowns"] : group["unknowns"] + group["n_unknowns"]]
    unknowns = dofs[:, places["column"]] + places["start"]
    entries = tables.entries[group["entry_0"] : group["entry_1"]]
    rows, columns = unknowns[:, entries["row"]], unknowns[:, entries["unknown"]]
    return not max(rows.max(initial=0), columns.max(initial=0)) >= of.size and bool((of[rows] == of[columns]).all())
