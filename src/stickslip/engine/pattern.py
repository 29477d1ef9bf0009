"""A stage for one part type: one function of numbers, and the pattern that says what its outputs are.

The function gives the values (smooth rows, then y, z and radius of each law) and the nonzeros of their Jacobian. All indices
here are local; an instance turns them into places with its row of integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from stickslip.cone import Projection
from stickslip.engine.fields import SPACES, Field
from stickslip.engine.stage import BALL, CONE, NORMAL, ZERO, Stage


class Triplets(NamedTuple):
    """Nonzeros of a Jacobian: rows, columns (local unknowns) and the outputs that hold the values."""

    row: np.ndarray
    unknown: np.ndarray
    output: np.ndarray


@dataclass(frozen=True)
class LawPattern:
    """A law of one part: its unknowns from `unknown` on, the outputs y, z and radius (or -1), and their derivatives.

    A law of the kind CONE has a `cone`, and outputs from `coefficients` on.
    """

    number: int  # of the law on the sheet: laws are applied in this order
    kind: int
    by: Field
    first: int  # component of `by` that it begins with
    size: int
    unknown: int
    masks: tuple[Field | None, ...]
    y: int
    z: int
    radius: int
    dy: Triplets
    dz: Triplets
    dradius: Triplets
    cone: Projection | None = None
    coefficients: int = 0

    @property
    def own(self) -> bool:
        """Whether z depends on its own unknowns alone, each on one."""
        return len(self.dz.row) == self.size and bool((self.dz.unknown == self.unknown + self.dz.row).all())

    def pairs(self, entries: Triplets) -> list[tuple[int, int, int, int]]:
        """Products that make up the diagonal of dy/dz: (component, dy/dx, d row/dz or -1 where x is z itself, row)."""
        by_unknown = [
            dict(zip(entries.row[mine].tolist(), entries.output[mine].tolist(), strict=True))
            for mine in (entries.unknown == self.unknown + a for a in range(self.size))
        ]
        out = []
        for a, x, y in zip(*(column.tolist() for column in self.dy), strict=True):
            if x == self.unknown + a:
                out.append((a, y, -1, x))
            elif x in by_unknown[a]:
                out.append((a, y, by_unknown[a][x], x))
        return sorted(out, key=lambda pair: pair[0])


class StagePattern:
    """A sheet as one function; see the module's docstring."""

    def __init__(self, sheet: Stage):
        self.sheet = sheet
        self.x = ca.vertcat(ca.SX(0, 1), *sheet.unknowns.values())
        at, self.column = 0, {}
        for unknown, symbol in sheet.unknowns.items():
            self.column[unknown] = at
            at += symbol.numel()
        smooth = {n: e for n, e in sheet.equations.items() if not ca.SX(e).is_zero()}
        values = list(smooth.values())
        rows = [self.column[n] + np.arange(e.numel()) for n, e in smooth.items()]
        at = sum(map(len, rows))
        places = [np.arange(at)]
        self._smooth = ca.vertcat(ca.SX(0, 1), *values)
        self._place = []
        for law in sheet.laws:
            sizes = (law.y.numel(), law.z.numel(), law.radius.numel())
            self._place.append((at, at + sizes[0], at + sizes[0] + sizes[1]))
            if law.kind == ZERO:
                rows.append(self.column[law.by] + np.arange(sizes[0]))
                places.append(at + np.arange(sizes[0]))
            values += [law.y, law.z, law.radius]
            at += sum(sizes)
        self._coefficients = at
        if any(law.kind == BALL for law in sheet.laws):
            values.append(sheet.part.expressions.coefficients)
        self.rows = np.concatenate([np.zeros(0, np.int64), *rows])  # without branches: local unknown ...
        self.at = np.concatenate(places)  # ... and output
        self.outputs = ca.densify(ca.vertcat(ca.SX(0, 1), *values))
        self.jacobian = ca.jacobian(self.outputs, self.x)
        self._row = np.array(self.jacobian.sparsity().row(), dtype=np.int64)
        self._col = np.array(self.jacobian.sparsity().get_col(), dtype=np.int64)
        self._symbols = {**sheet.inputs, **sheet.unknowns}
        self.fields = self._used(self.outputs)

    def _used(self, expression: ca.SX) -> list[Field]:
        return [n for n, s in self._symbols.items() if s.numel() and ca.depends_on(expression, s)]

    def function(self, name: str) -> ca.Function:
        """Values and Jacobian, of the fields and the part's parameters."""
        inputs = [*[self._symbols[n] for n in self.fields], self.sheet.part.parameters]
        return ca.Function(name, inputs, [self.outputs, self.jacobian])

    def rough(self, name: str) -> ca.Function | None:
        """The same with derivatives that leave out what the motion of a step changes in a mechanism's matrices.

        Positions are taken as they are but in laws of nothing else, gaps. What is left out is of the order of dt, and more than
        half of the operations. None if there are no positions.
        """
        sheet = self.sheet.again() if self.sheet.again is not None else None
        if sheet is None or not sheet.positions_apart:
            return None
        q, values = (ca.vertcat(*each) for each in zip(*sheet.positions_apart, strict=True))
        pattern = StagePattern(sheet)
        rows = np.setdiff1d(np.arange(self.outputs.numel()), np.unique(pattern._row)).tolist()
        if pattern.outputs.numel() != self.outputs.numel() or ca.depends_on(values, q):
            return None
        J = pattern.jacobian
        if rows:
            J[rows, :] = ca.jacobian(pattern.outputs[rows], q) @ ca.jacobian(values, pattern.x)
        outputs, J = ca.substitute([pattern.outputs, J], [q], [values])
        inputs = [*[pattern._symbols[n] for n in self.fields], sheet.part.parameters]
        return ca.Function(name, inputs, [outputs, ca.project(ca.sparsify(J), self.jacobian.sparsity())])

    def values(self, name: str) -> ca.Function:
        """Values alone, of the same inputs."""
        return ca.Function(name, [*[self._symbols[n] for n in self.fields], self.sheet.part.parameters], [self.outputs])

    def entries(self) -> Triplets:
        """The Jacobian of the rows without branches, rows as local unknowns."""
        row_of = np.full(self.outputs.numel(), -1)
        row_of[self.at] = self.rows
        mine = np.flatnonzero(row_of[self._row] >= 0)
        return Triplets(row_of[self._row[mine]], self._col[mine], self.outputs.numel() + mine)

    def laws(self) -> Iterator[LawPattern]:
        """Bilateral and normal rows one by one, friction element by element."""
        for k, (law, (y, z, radius)) in enumerate(zip(self.sheet.laws, self._place, strict=True)):
            pieces: list[tuple[int, int, int, Projection | None, int]]
            if law.kind == BALL:
                elements = enumerate(self.sheet.part.frictions)
                pieces = [
                    (f.first, f.size, radius + i, f.cone, self._coefficients + f.coefficient) for i, f in elements
                ]
            else:
                pieces = [(i, 1, -1, None, 0) for i in range(law.y.numel())]
            for first, size, r, cone, coefficients in pieces:
                kind = law.kind if cone is None else CONE
                yield LawPattern(
                    *(k, kind, law.by, first, size, self.column[law.by] + first),
                    law.masks,
                    *(y + first, z + first, r),
                    *(self._derivatives(y + first, size), self._derivatives(z + first, size)),
                    self._derivatives(r, 1) if r >= 0 else self._derivatives(0, 0),
                    *(cone, coefficients),
                )

    def _derivatives(self, first: int, count: int) -> Triplets:
        mine = np.flatnonzero((self._row >= first) & (self._row < first + count))
        return Triplets(self._row[mine] - first, self._col[mine], self.outputs.numel() + mine)

    # -- parts that may be left out ----------------------------------------------------------------------------------

    def gaps(self, name: str) -> tuple[ca.Function, list[Field], list[Field]] | None:
        """What decides whether an instance can be left out, or None if it never can.

        A part that has contacts and nothing else contributes nothing while they are open and its multipliers are zero. So
        where all smooth rows, all z and all radii vanish with the multipliers, an instance is left out if these (`silent`) are
        zeros and the normal laws are open: their y, which the function gives from the fields `used`, are positive. That is the
        very test of the law, so leaving it out changes no result. Returns function, used, silent.
        """
        sheet = self.sheet
        normal = [law for law in sheet.laws if law.kind == NORMAL]
        if not normal or any(law.kind == ZERO and law.y.numel() for law in sheet.laws):
            return None
        decisive = ca.vertcat(self._smooth, *[e for law in sheet.laws for e in (law.z, law.radius)])
        silent = [each for each in self._used(decisive) if each.space in SPACES]
        symbols = ca.vertcat(ca.SX(0, 1), *[self._symbols[n] for n in silent])
        if not ca.substitute(decisive, symbols, ca.SX.zeros(symbols.numel())).is_zero():
            return None
        y = ca.densify(ca.vertcat(*[law.y for law in normal]))
        used = self._used(y)
        return ca.Function(name, [*[self._symbols[n] for n in used], sheet.part.parameters], [y]), used, silent


def function_of(sheet: Stage, name: str, expression: ca.SX) -> tuple[ca.Function, list[Field]]:
    """An expression on a sheet as a function of the fields it uses and of the part's parameters; returns both."""
    symbols = {**sheet.inputs, **sheet.unknowns}
    used = [each for each, s in symbols.items() if s.numel() and ca.depends_on(expression, s)]
    inputs = [*[symbols[n] for n in used], sheet.part.parameters]
    return ca.Function(name, inputs, [ca.densify(expression)]), used


def updates_function(sheet: Stage, name: str, fields: Sequence[Field]) -> tuple[ca.Function, list[Field], list[Field]]:
    """The new values of fields one below the other, as a function of the fields `used`; returns function, used, silent.

    All values are zero where the fields `silent` are (percussions of an open contact); it is empty where that is not so.
    """
    symbols = {**sheet.inputs, **sheet.unknowns}
    outputs = ca.vertcat(*[ca.densify(sheet.updates[each]) for each in fields])
    used = [each for each, s in symbols.items() if s.numel() and ca.depends_on(outputs, s)]
    silent = [each for each in used if each.space in SPACES]
    multipliers = ca.vertcat(ca.SX(0, 1), *[symbols[each] for each in silent])
    if not silent or not ca.substitute(outputs, multipliers, ca.SX.zeros(multipliers.numel())).is_zero():
        silent = []
    function = ca.Function(f"{name}_update", [*[symbols[n] for n in used], sheet.part.parameters], [outputs])
    return function, used, silent
