"""The derivative of one step of a scheme: its stages are differentiated as they are written, by implicit differentiation.

A stage determines its unknowns x by R(x; k, p) = 0, where k are fields that are known before it, p parameters, and laws stand
in R as the branch that they took: a closed contact as y = 0, an open one as z = 0, friction as y = 0 or z = -radius y/|y|. Then

    dx = -R_x^-1 (R_k dk + R_p dp),

and what a stage updates follows from dk, dx and dp. One stage follows the other, and `carry` leads to the next step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.derive import require_balls
from stickslip.engine.fields import DT, Q_0, T_0, T_1, U_0, Field, Space, expand
from stickslip.engine.flow import If, StageFunction, stages_of
from stickslip.engine.program import Program
from stickslip.engine.sheets import sheets_of
from stickslip.engine.stage import BALL, NORMAL, Stage
from stickslip.schemes import Scheme
from stickslip.studies.numeric import Factor, Numeric

CLOSED = 1e-12  # of the largest multiplier: what counts as a force of a contact
BOUND = 1e-7  # relative distance of a friction force to its bound that counts as none

Values = Mapping[Field, np.ndarray]


@dataclass(frozen=True)
class LinearMap:
    """X_1 = S X_0 + s P."""

    S: np.ndarray
    s: np.ndarray

    def push(self, X: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Columns after the map."""
        return np.asarray(self.S @ X + self.s @ P)

    def pull(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S^T row and s^T row."""
        return self.S.T @ row, self.s.T @ row


class StageDerivative:
    """One stage for the whole system."""

    def __init__(self, stage: StageFunction, program: Program, wrt: Sequence[int]):
        numbering = program.numbering
        self.kinds, self.size, self._rows = numbering.kinds, numbering.size, numbering.rows
        sheets = sheets_of(stage, self.kinds, program.held)
        self.known = list(dict.fromkeys(f for sheet in sheets for f in sheet.inputs))
        self.unknowns = list(dict.fromkeys(f for sheet in sheets for f in sheet.unknowns))
        self.updated = list(dict.fromkeys(f for sheet in sheets for f in sheet.updates))
        self.laws = max((sheet.laws for sheet in sheets), key=len)
        self.marked = [law.mark for law in self.laws if law.mark is not None]
        self.elements = numbering.frictions
        p = ca.SX.sym("p", numbering.n_parameters)
        k, x = ({f: ca.SX.sym(f.name, self.size[f.space]) for f in fields} for fields in (self.known, self.unknowns))
        equations, laws, updates = self._assembled(sheets, {**k, **x}, p)
        masks = [[ca.SX.sym(name, self.size[law.by.space]) for name in ("on", "stick", "slide")] for law in self.laws]
        for law, of, mask in zip(self.laws, laws, masks, strict=True):
            equations[law.by] += self._row(law.kind, of, mask)
        given = [*k.values(), *x.values(), p]
        self._values = Numeric(given, [of[name] for of in laws for name in ("y", "z", "radius")] or [ca.SX(0, 1)])
        R, U = (_stack(list(part.values())) for part in (equations, updates))
        by = [_stack(list(x.values())), _stack(list(k.values())), p[list(wrt)] if len(wrt) else ca.SX(0, 1)]
        slopes = [ca.jacobian(f, v) for f in (R, U) for v in by]
        self._slopes = Numeric([*given, *[m for mask in masks for m in mask]], slopes)

    def _assembled(
        self, sheets: Sequence[Stage], at: Mapping[Field, ca.SX], p: ca.SX
    ) -> tuple[dict[Field, ca.SX], list[dict[str, ca.SX]], dict[Field, ca.SX]]:
        """Equations by unknown, laws and updates of the whole system."""
        equations = {f: ca.SX.zeros(self.size[f.space]) for f in self.unknowns}
        updates = {f: ca.SX.zeros(self.size[f.space]) for f in self.updated}
        laws = [{n: ca.SX.zeros(self.size[law.by.space]) for n in ("y", "z", "radius")} for law in self.laws]
        agreed: set[Field] = set()  # single numbers that all parts agree on count once
        for kind, sheet in zip(self.kinds, sheets, strict=True):
            fields = [*sheet.inputs, *sheet.unknowns]
            symbols = [*sheet.inputs.values(), *sheet.unknowns.values(), sheet.part.parameters]
            out: list[tuple[dict[Any, ca.SX], Any, Space, ca.SX]] = []
            out += [(equations, f, f.space, value) for f, value in sheet.equations.items()]
            for law, of in zip(sheet.laws, laws, strict=False):
                out += [(of, name, law.by.space, ca.SX(getattr(law, name))) for name in ("y", "z")]
                if law.kind == BALL:
                    out.append((of, "radius", law.by.space, _per_component(sheet, law.radius)))
            out += [(updates, f, f.space, value) for f, value in sheet.updates.items() if f not in agreed]
            once = {f for f in sheet.updates if f.space == Space.ONE and f in sheet.claims}
            if not out:
                continue
            local = ca.Function("sheet", symbols, [ca.SX(value) for *_, value in out])
            for n in range(len(kind.members)):
                rows = {
                    space: self._rows(kind, space)[n].tolist()
                    for space in {f.space for f in fields} | {o[2] for o in out}
                }
                slices = [at[f][rows[f.space]] if rows[f.space] else ca.SX(0, 1) for f in fields]
                mine = p[kind.parameters[n].tolist()] if kind.parameters.shape[1] else ca.SX(0, 1)
                for (target, key, space, _), value in zip(out, local.call([*slices, mine]), strict=True):
                    if rows[space] and not (key in once and n > 0):
                        target[key][rows[space]] += value
            agreed |= once
        return equations, laws, updates

    def _row(self, kind: int, of: Mapping[str, ca.SX], mask: Sequence[ca.SX]) -> ca.SX:
        """A law as the branch that it took: `on` where it applies and acts, `stick`, and `slide`, the direction of slip."""
        on, stick, slide = mask
        y, z = of["y"], of["z"]
        if kind == NORMAL:
            return on * y + (1 - on) * z
        if kind != BALL:
            return y
        direction = []
        for rows, _ in self.elements:
            d, v = slide[rows], y[rows]
            direction.append(d if d.numel() == 1 else ca.dot(d, d) * v / ca.sqrt(ca.dot(v, v) + 1e-300))
        return on * (stick * y + (1 - stick) * (z + of["radius"] * ca.vertcat(ca.SX(0, 1), *direction)))

    def _branches(self, given: Sequence[np.ndarray], values: Values) -> list[np.ndarray]:
        """The masks of all laws, from what the solution is."""
        found, masks = self._values(*given), []
        for k, law in enumerate(self.laws):
            y, z, radius = (v[:, 0] for v in found[3 * k : 3 * k + 3])
            on, stick, slide = np.ones(y.size), np.ones(y.size), np.zeros(y.size)
            if law.kind == NORMAL:
                on = (z > CLOSED * max(np.abs(z).max(initial=0.0), 1e-300)).astype(float)
                if law.open_where is not None:
                    on[values[law.open_where] > 0] = 0.0
            elif law.kind == BALL:
                for field, sign in ((law.only_where, 1), (law.except_where, -1)):
                    if field is not None:
                        on[sign * np.where(values[field] > 0, 1, -1) < 0] = 0.0
                for rows, _ in self.elements:
                    bound, speed, force = radius[rows.start], np.linalg.norm(y[rows]), np.linalg.norm(z[rows])
                    if bound - force <= BOUND * bound:
                        stick[rows] = 0.0
                        slide[rows] = -z[rows] / force if force > 0 else y[rows] / speed if speed > 0 else 0.0
            masks += [on, stick, slide]
        return masks

    def push(self, values: Values, p: np.ndarray, D: dict[Field, np.ndarray], P: np.ndarray) -> None:
        """Add the derivatives of the unknowns and updates of this stage to those that are known, D."""
        given = [*[values[f] for f in self.known], *[values[f] for f in self.unknowns], p]
        R_x, R_k, R_p, U_x, U_k, U_p = self._slopes(*given, *self._branches(given, values))
        columns = P.shape[1]
        dk = np.vstack(
            [np.zeros((0, columns)), *[D.get(f, np.zeros((self.size[f.space], columns))) for f in self.known]]
        )
        dx = -Factor(R_x).solve(R_k @ dk + R_p @ P) if self.unknowns else np.zeros((0, columns))
        _distribute(D, self.unknowns, self.size, dx)
        _distribute(D, self.updated, self.size, U_k @ dk + U_x @ dx + U_p @ P)
        for mask in self.marked:
            D.pop(mask, None)


class StepDerivative:
    """The stages of a scheme for a system, and what is carried from step to step: `memory`, with (q, u) first."""

    def __init__(self, program: Program, scheme: Scheme, wrt: Sequence[int]):
        require_balls(program.model, "this study")
        self.program, self.n_p = program, len(wrt)
        self._begin = [StageDerivative(stage, program, wrt) for stage in stages_of(scheme.begin())]
        self._step: list[StageDerivative] = []
        self._instead: list[tuple[Field, list[StageDerivative]]] = []
        for item in scheme.step():
            if isinstance(item, If):
                self._instead.append(
                    (item.test, [StageDerivative(each, program, wrt) for each in stages_of(item.then)])
                )
            smooth = item.otherwise if isinstance(item, If) else (item,)
            self._step += [StageDerivative(each, program, wrt) for each in stages_of(smooth)]
        self.carry = dict(zip(expand(scheme.carry), expand(scheme.carry.values()), strict=True))
        self.memory = [Q_0, U_0, *[f for f in self.carry if f not in (Q_0, U_0)]]
        self.size = {f: program.layout.size[f] for f in self.memory}
        self.n = sum(self.size.values())
        self.n_x = self.size[Q_0] + self.size[U_0]

    def rows(self, field: Field) -> slice:
        """Where a field stands in the memory."""
        before = self.memory[: self.memory.index(field)]
        first = sum(self.size[f] for f in before)
        return slice(first, first + self.size[field])

    def start(self, memory: np.ndarray, t: float, dt: float, p: np.ndarray) -> LinearMap:
        """What the stages before the first step make of the initial state: the whole memory from (q, u)."""
        values = self._values_of(memory, memory, set(), t, t, dt)
        D, P = self._seeds([Q_0, U_0], self.n_x)
        for stage in self._begin:
            stage.push(values, p, D, P)
        return self._map(D, self.memory, self.n_x)

    def step(
        self, before: np.ndarray, after: np.ndarray, t_0: float, t_1: float, dt: float, p: np.ndarray
    ) -> LinearMap:
        """One step, from the memory before it and after it."""
        D, P = self._seeds(self.memory, self.n)
        written: set[Field] = set()
        for stage in self._taken(after):
            written |= {*stage.unknowns, *stage.updated, *stage.marked}
            stage.push(self._values_of(before, after, written, t_0, t_1, dt), p, D, P)
        return self._map(D, [self.carry.get(f, f) for f in self.memory], self.n)

    def _taken(self, after: np.ndarray) -> Sequence[StageDerivative]:
        """The stages of a step. A branch that is taken at an impact begins the step anew, as that of lobatto does."""
        for test, stages in self._instead:
            if (after[self.program.layout.places(test)] > 0).any():
                return stages
        return self._step

    def _seeds(self, fields: Sequence[Field], n: int) -> tuple[dict[Field, np.ndarray], np.ndarray]:
        eye, D, at = np.eye(n, n + self.n_p), {}, 0
        for f in fields:
            D[f] = eye[at : at + self.size[f]]
            at += self.size[f]
        return D, np.eye(self.n_p, n + self.n_p, n)

    def _map(self, D: Mapping[Field, np.ndarray], fields: Sequence[Field], n: int) -> LinearMap:
        size = self.program.layout.size
        rows = np.vstack([D.get(f, np.zeros((size[f], n + self.n_p))) for f in fields])
        return LinearMap(rows[:, :n], rows[:, n:])

    def _values_of(
        self, before: np.ndarray, after: np.ndarray, written: set[Field], t_0: float, t_1: float, dt: float
    ) -> dict[Field, np.ndarray]:
        layout, out = self.program.layout, {}
        for f in layout.start:
            first = layout.start[f]
            out[f] = (after if f in written else before)[first : first + layout.size[f]]
        for f, number in ((T_0, t_0), (T_1, t_1), (DT, dt)):
            out[f] = np.array([number])
        return out


def _per_component(sheet: Stage, radius: ca.SX) -> ca.SX:
    rows = [radius[k] for k, f in enumerate(sheet.part.frictions) for _ in range(f.size)]
    return ca.vertcat(ca.SX(0, 1), *rows)


def _stack(rows: Sequence[ca.SX]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *rows)


def _distribute(D: dict[Field, np.ndarray], fields: Sequence[Field], size: Mapping[Any, int], rows: np.ndarray) -> None:
    at = 0
    for f in fields:
        D[f] = rows[at : at + size[f.space]]
        at += size[f.space]
