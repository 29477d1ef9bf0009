"""The sheet on which a scheme writes the equations of one stage, for one type of part.

A scheme's stage is a method `stage(part, s)`. It reads known fields from the sheet `s`, asks for unknowns, and writes
equations and laws. It is called once for every type of part, with that part's functions of mechanics; a row of the whole
system is the sum over its parts. Fields are objects, see `engine.fields`.

A *mask* is a field that means yes where it is positive: a gap is a mask of open contacts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

import casadi as ca
import numpy as np

from stickslip.engine import fields as f
from stickslip.engine.derive import PartType, Percussions
from stickslip.engine.fields import SPACES, Field, Multipliers, Space
from stickslip.errors import MethodError

ZERO, NORMAL, BALL, CONE = 0, 1, 2, 3  # kinds of laws, as the solver knows them
Made = TypeVar("Made")


def once(kept: dict[Any, Any], key: Any, make: Callable[[], Made]) -> Made:
    """What is kept under this key, or what `make` makes."""
    if key not in kept:
        kept[key] = make()
    made: Made = kept[key]
    return made


@dataclass(frozen=True)
class StageLaw:
    """Rows y paired with the multipliers z of the unknown `by`.

    ZERO: y = 0. NORMAL: 0 <= y, 0 <= z, y z = 0. BALL: -z in the ball of `radius`, y in its normal cone; elements whose part
    declares a cone of its own take it in place of the ball, and become laws of the kind CONE. Rows in the mask
    `open_where` are switched off (z = 0). The branch that was taken is kept in the mask `mark`: of open contacts, or of
    elements that slip; those in `mark_also` are marked in any case, and contacts with y up to `closed_within` never. A law
    applies only to elements in the mask `only_where` and outside of `except_where`.
    """

    kind: int
    by: Field
    y: ca.SX
    z: ca.SX
    radius: ca.SX
    open_where: Field | None = None
    mark: Field | None = None
    only_where: Field | None = None
    except_where: Field | None = None
    mark_also: Field | None = None
    closed_within: Field | None = None

    @property
    def masks(self) -> tuple[Field | None, ...]:
        """The fields that it reads and writes, in the order in which the solver knows them."""
        shared = self.only_where, self.except_where
        return self.open_where, self.mark, *shared, self.mark_also, self.closed_within


@dataclass
class Stage:
    """One stage for one part type; see the module's docstring."""

    part: PartType
    is_node: bool
    affine: dict[tuple[Field, ...], bool]  # whether positions could be eliminated for all blocks; found on the nodes
    held: bool = False  # whether positions are moved onto the constraints
    inputs: dict[Field, ca.SX] = field(default_factory=dict)
    unknowns: dict[Field, ca.SX] = field(default_factory=dict)
    guesses: dict[Field, Field | None] = field(default_factory=dict)
    equations: dict[Field, ca.SX] = field(default_factory=dict)
    laws: list[StageLaw] = field(default_factory=list)
    updates: dict[Field, ca.SX] = field(default_factory=dict)  # what this part contributes
    claims: dict[Field, ca.SX] = field(default_factory=dict)  # values that all who know them must agree on
    kept: dict[str, Any] = field(default_factory=dict, repr=False)  # what the builder makes of it, once
    # Where positions are to stand as symbols in what is written: these, and what they are.
    positions_apart: list[tuple[ca.SX, ca.SX]] | None = None
    again: Callable[[], Stage] | None = None  # writes the same once more, with positions apart

    def once(self, key: str, make: Callable[[], Made]) -> Made:
        """What `make` makes of this sheet: patterns, functions, kernels. A program for more instances makes nothing anew."""
        return once(self.kept, key, make)

    # -- what is known ---------------------------------------------------------------------------------------------

    @overload
    def known(self, field: Field) -> ca.SX: ...

    @overload
    def known(self, field: Multipliers) -> Percussions: ...

    def known(self, field: Field | Multipliers) -> ca.SX | Percussions:
        """The local slice of a field, or of four, that has a value before this stage."""
        if isinstance(field, Multipliers):
            return Percussions(*[self.known(x) for x in field.fields])
        if field not in self.inputs:
            self.inputs[field] = ca.SX.sym(field.name, self.part.n[field.space])
        return self.inputs[field]

    @property
    def t_0(self) -> ca.SX:
        """Time at the start of the step."""
        return self.known(f.T_0)

    @property
    def t_1(self) -> ca.SX:
        """Time at its end."""
        return self.known(f.T_1)

    @property
    def dt(self) -> ca.SX:
        """Length of the step."""
        return self.known(f.DT)

    @property
    def q_0(self) -> ca.SX:
        """Coordinates at the start of the step."""
        return self.known(f.Q_0)

    @property
    def u_0(self) -> ca.SX:
        """Velocities at the start of the step."""
        return self.known(f.U_0)

    def xi_N(self, after: tuple, before: tuple) -> ca.SX:
        """Newton's impact law, g_N_dot(after) + e_N g_N_dot(before), as all contacts obey it that do not jam."""
        return self.part.g_N_dot(*after) + self.e_N(after[0], after[1], before[2]) * self.part.g_N_dot(*before)

    def e_N(self, t: ca.SX, q: ca.SX, u: ca.SX) -> ca.SX:
        """Restitution, for the velocities u before an impact; zero for contacts that jam in this step (`engine.jams`)."""
        return (1 - self.known(f.PLASTIC)) * self.part.e_N(t, q, u)

    # -- what is sought --------------------------------------------------------------------------------------------

    @overload
    def unknown(self, field: Field, guess: Field | None = None) -> ca.SX: ...

    @overload
    def unknown(self, field: Multipliers, guess: Multipliers | None = None) -> Percussions: ...

    def unknown(self, field, guess=None):
        """An unknown of this stage, or four. Iterations start from `guess`, or from its own last value (at first zero).

        Multipliers with the guess COLD start from zero in every step: dependent constraints then get those of minimum norm
        (each in units of its Delassus diagonal).
        """
        if isinstance(field, Multipliers):
            return Percussions(*[self.unknown(field.of(x), guess and guess.of(x)) for x in SPACES])
        if guess is not None and guess.space != field.space:
            raise TypeError(f"{guess} cannot be the guess of {field}: it lives in another space")
        self.unknowns[field] = ca.SX.sym(field.name, self.part.n[field.space])
        self.guesses[field] = guess
        return self.unknowns[field]

    def position(
        self, field: Field, residual: Callable[[ca.SX], ca.SX], guess: Field = f.Q_0, *, at: ca.SX | None = None
    ) -> ca.SX:
        """The coordinates that solve residual(q) = 0, the kinematic equation of the scheme.

        It is solved symbolically where it is affine in q (all built-in bodies), so that q is not an unknown of the stage;
        else q becomes one. The field holds the result after the stage.

        at: the time at which constraints are evaluated there. Where the program asks for it (`held`), the result is then the
        nearest position that holds them, in the metric of M: moved by dt v with M_0 v = W_0 P and g(at, q) = 0. These are
        further unknowns of the stage. The row g/dt is a velocity: positions are as exact as the velocities that constraints
        allow there need.
        """
        if not self.held or at is None:
            return self.positions([field], lambda q: [residual(q)], guess)[0]
        q_free = self.positions([Field(f"{field.name}_free", f.Q)], lambda q: [residual(q)], guess)[0]
        return self.onto_constraints(field, q_free, at)

    def onto_constraints(self, field: Field, q_free: ca.SX, at: ca.SX) -> ca.SX:
        """The nearest position to `q_free` that holds the constraints, if that is asked for; else `q_free` itself."""
        if not self.held:
            return q_free
        part, t_0, q_0, dt = self.part, self.t_0, self.q_0, self.dt
        v = self.unknown(Field(f"{field.name}_shift", f.U))
        P = self.unknown(Field(f"{field.name}_shift.g", f.G))
        still = ca.SX.zeros(part.n_u)

        def rate(q: ca.SX) -> ca.SX:
            return part.qdot(at, q, v) - part.qdot(at, q, still)

        q = self.positions([field], lambda q: [q - q_free - dt / 2 * (rate(q_free) + rate(q))])[0]
        self.equation(part.M(t_0, q_0) @ v - part.W(t_0, q_0).g @ P, for_=v)
        self.zero(part.g(at, q) / dt, by=P)
        return q

    def positions(
        self, fields: Sequence[Field], residuals: Callable[..., Sequence[ca.SX]], guess: Field = f.Q_0
    ) -> list[ca.SX]:
        """Like `position`, for several coordinate vectors that solve residuals(q_a, q_b, ...) = 0 together."""
        n, count, key = self.part.n_q, len(fields), tuple(fields)
        q = ca.SX.sym("q", count * n)
        r = ca.vertcat(*residuals(*ca.vertsplit(q, n))) if n else ca.SX(0, 1)
        slope = ca.jacobian(r, q)
        if self.is_node:
            self.affine[key] = self.affine.get(key, True) and not ca.depends_on(slope, q)
        if self.affine[key]:
            solved = _solve_blocks(slope, -ca.substitute(r, q, ca.SX.zeros(count * n)))
            out = ca.vertsplit(solved, n)
            for each, value in zip(fields, out, strict=True):
                self.update(each, value)
            if self.positions_apart is None:
                return out
            symbols = [ca.SX.sym(each.name, n) for each in fields]
            self.positions_apart += zip(symbols, out, strict=True)
            return symbols
        x = [self.unknown(each, guess) for each in fields]
        rows = ca.vertsplit(ca.substitute(r, q, ca.vertcat(*x)) if self.is_node else ca.SX.zeros(count * n), n)
        for unknown, row in zip(x, rows, strict=True):
            self.equation(row, for_=unknown)
        return x

    # -- equations and laws ----------------------------------------------------------------------------------------

    def equation(self, residual: ca.SX, *, for_: ca.SX) -> None:
        """The part's share of the rows that determine the unknown `for_`."""
        unknown = self._field_of(for_)
        self.equations[unknown] = self.equations.get(unknown, 0) + residual

    def zero(self, y: ca.SX, *, by: ca.SX) -> None:
        """Bilateral rows y = 0, enforced by the unknown multipliers `by`."""
        self.laws.append(StageLaw(ZERO, self._field_of(by), y, by, ca.SX(0, 1)))

    def normal(
        self,
        y: ca.SX,
        P: ca.SX,
        *,
        by: ca.SX,
        open_where: Field | None = None,
        mark_open: Field | None = None,
        mark_also: Field | None = None,
        closed_within: Field | None = None,
    ) -> None:
        """0 <= y, 0 <= P, y P = 0, enforced by the unknowns `by` (a summand of P).

        open_where: a mask; contacts in it are open whatever y is, so P = 0. mark_open: the mask of contacts that this law
        finds open, for a later law: 1 where it is open, -1 where it is closed. mark_also: contacts in this mask are marked as
        if they were open. closed_within: up to this y, if it is positive, contacts are marked as if they were closed.
        """
        _require(Space.N, open_where, mark_open, mark_also, closed_within)
        masks = (open_where, mark_open, None, None, mark_also, closed_within)
        self.laws.append(StageLaw(NORMAL, self._field_of(by), y, P, ca.SX(0, 1), *masks))

    def friction(
        self,
        y: ca.SX,
        P: ca.SX,
        *,
        radius: ca.SX,
        by: ca.SX,
        mark_slip: Field | None = None,
        only_where: Field | None = None,
        except_where: Field | None = None,
    ) -> None:
        """y in the normal cone of the ball of `radius` at -P, enforced by `by`: stick, or slip with P = -radius y/|y|.

        mark_slip: the mask of components that this law finds slipping, 1 for slip and -1 for stick. With such a mask of an
        earlier law two laws share the unknowns `by`: one for elements that slip (only_where), one for those that stick
        (except_where).
        """
        _require(Space.F, mark_slip, only_where, except_where)
        shared = only_where is not None or except_where is not None
        wide = next((e.cone for e in self.part.frictions if e.cone is not None and e.size > 1), None)
        if shared and wide is not None:
            raise MethodError(
                f"this method lets an element of friction stick or slip as a whole; one with the cone {wide.name} may stick "
                "in one direction and slip in another; rattle, moreau and theta can treat it"
            )
        self.laws.append(StageLaw(BALL, self._field_of(by), y, P, radius, None, mark_slip, only_where, except_where))

    # -- what is kept ----------------------------------------------------------------------------------------------

    @overload
    def update(self, field: Field, value: ca.SX) -> None: ...

    @overload
    def update(self, field: Multipliers, value: Percussions) -> None: ...

    def update(self, field, value):
        """Give a field a new value once the stage is solved: each entry the value of whom it belongs to.

        Entries of G, GAMMA, N and F belong to one part. Those of Q, U and ONE are seen by many parts, so their value must be
        the same for all of them (it is checked); a sum over parts is a `total`. A stage may give dt and t_1 new values: then
        the scheme decides the length of its steps, time is summed up, and a run ends with the first step that reaches its
        end time.
        """
        if isinstance(field, Multipliers):
            for space in SPACES:
                self.update(field.of(space), getattr(value, space))
            return
        value = ca.SX(value)
        if value.numel() != self.part.n[field.space]:
            raise TypeError(f"{field} has {self.part.n[field.space]} entries here, its update {value.numel()}")
        if field.space in SPACES:
            if not self.is_node:
                self.updates[field] = value
            return
        self.claims[field] = value
        if self.is_node == (field.space != Space.ONE):
            self.updates[field] = value

    def total(self, field: Field, value: ca.SX) -> None:
        """Like `update`, for the sum of `value` over all parts."""
        if not self.is_node:
            self.updates[field] = value

    def _field_of(self, unknown: ca.SX) -> Field:
        for each, symbol in self.unknowns.items():
            if symbol is unknown:
                return each
        raise TypeError(f"{unknown} is not an unknown of this stage; pass the very object that unknown() returned")


def _require(space: Space, *masks: Field | None) -> None:
    for mask in masks:
        if mask is not None and mask.space != space:
            raise TypeError(f"{mask} cannot be a mask here: it does not live in the space {space.name}")


def _solve_blocks(A: ca.SX, b: ca.SX) -> ca.SX:
    """Solve A x = b symbolically, one connected block of A after the other.

    Two kinds of blocks have a closed form: identity rows (qdot = u), which cost nothing, and multiples of orthogonal
    matrices, x = A^T b/|row|^2, such as I - dt/4 Omega(u) of a quaternion. The others are eliminated.
    """
    _, order, ends = (A.sparsity() + A.sparsity().T).scc()  # of a symmetric pattern: connected rows
    x = ca.SX.zeros(A.shape[0])
    for first, last in itertools.pairwise(ends):
        rows = sorted(order[first:last])
        block, right = ca.densify(A[rows, rows]), b[rows]
        if block.is_constant() and ca.DM(block).is_eye():
            x[rows] = right
        elif _is_scaled_orthogonal(block):
            x[rows] = block.T @ right / ca.sumsqr(block[0, :])
        else:
            x[rows] = _eliminate(block, right)
    return x


def _is_scaled_orthogonal(A: ca.SX) -> bool:
    """Whether A A^T is a multiple of the identity for all values of its symbols.

    Tested for random ones, which decides for rational expressions with probability one.
    """
    symbols = ca.symvar(A)
    product = ca.Function("product", symbols, [A @ A.T])
    random = np.random.default_rng(0)
    for _ in range(3):
        value = np.array(product(*random.uniform(-1.0, 1.0, len(symbols))))
        if not np.allclose(value, value[0, 0] * np.eye(len(value)), rtol=0, atol=1e-12 * np.abs(value).max()):
            return False
    return True


def _eliminate(A: ca.SX, b: ca.SX) -> ca.SX:
    """Gaussian elimination without pivots, which matrices I + O(dt) of kinematic equations do not need.

    It takes 0.4 of the operations of `ca.solve` (QR) for two coupled quaternions, and these are evaluated and differentiated in
    every kernel that touches the body.
    """
    n = A.shape[0]
    rows = [{j: A[i, j] for j in range(n) if not A[i, j].is_zero()} for i in range(n)]
    x = [b[i] for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            if k in rows[i]:
                factor = rows[i].pop(k) / rows[k][k]
                for j, value in rows[k].items():
                    if j > k:
                        rows[i][j] = rows[i].get(j, 0) - factor * value
                x[i] -= factor * x[k]
    for k in reversed(range(n)):
        x[k] = (x[k] - sum((value * x[j] for j, value in rows[k].items() if j > k), ca.SX(0))) / rows[k][k]
    return ca.vertcat(*x)
