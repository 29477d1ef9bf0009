"""The sheet on which a scheme writes the equations of one stage, for one type of part.

A scheme's stage is a method `stage(part, s)`. It reads known fields from the sheet `s`, asks for unknowns, and writes
equations and laws. It is called once for every type of part, with that part's functions of mechanics; a row of the whole
system is the sum over its parts.

Fields are vectors over the whole system that live in one of the spaces

    q    coordinates              u    velocities             one   a single number
    g    bilateral, position      gamma  bilateral, velocity  N     normal contacts      F   slip components

and are seen by a part through its local slice. Every field keeps its value from stage to stage and from step to step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from stickslip.engine.derive import PartType, Percussions

SPACES = ("g", "gamma", "N", "F")
ZERO, NORMAL, BALL = 0, 1, 2  # kinds of laws, as the solver knows them


@dataclass(frozen=True)
class Law:
    """Rows y paired with the multipliers z of the unknown `by`.

    ZERO: y = 0. NORMAL: 0 <= y, 0 <= z, y z = 0. BALL: -z in the ball of `radius`, y in its normal cone. Rows whose field
    `where` is positive are switched off (z = 0); the branch that was taken is kept in the field `status`, -1 for
    closed. A law applies only to elements whose field `when` is positive and whose field `unless` is not.
    """

    kind: int
    by: str
    y: ca.SX
    z: ca.SX
    radius: ca.SX
    where: str | None = None
    status: str | None = None
    when: str | None = None
    unless: str | None = None


@dataclass
class Stage:
    """One stage for one part type; see the module's docstring."""

    part: PartType
    is_node: bool
    affine: dict[str, bool]  # positions by name: whether they could be eliminated for all blocks; found on the nodes
    inputs: dict[str, tuple[str, ca.SX]] = field(default_factory=dict)
    unknowns: dict[str, tuple[str, ca.SX]] = field(default_factory=dict)
    guesses: dict[str, str | None] = field(default_factory=dict)
    equations: dict[str, ca.SX] = field(default_factory=dict)
    laws: list[Law] = field(default_factory=list)
    updates: dict[str, tuple[str, ca.SX]] = field(default_factory=dict)
    single: set[str] = field(default_factory=set)  # updates that are taken once, not summed over parts
    statuses: dict[str, str] = field(default_factory=dict)

    # -- what is known ---------------------------------------------------------------------------------------------

    def known(self, name: str, space: str) -> ca.SX:
        """The local slice of a field that has a value before this stage."""
        if name not in self.inputs:
            self.inputs[name] = (space, ca.SX.sym(name, self.part.n[space]))
        return self.inputs[name][1]

    def known_percussions(self, name: str) -> Percussions:
        """Percussions that an earlier stage determined."""
        return Percussions(*[self.known(f"{name}.{space}", space) for space in SPACES])

    @property
    def t_0(self) -> ca.SX:
        """Time at the start of the step."""
        return self.known("t_0", "one")

    @property
    def t_1(self) -> ca.SX:
        """Time at its end."""
        return self.known("t_1", "one")

    @property
    def dt(self) -> ca.SX:
        """Length of the step."""
        return self.known("dt", "one")

    @property
    def q_0(self) -> ca.SX:
        """Coordinates at the start of the step."""
        return self.known("q_0", "q")

    @property
    def u_0(self) -> ca.SX:
        """Velocities at the start of the step."""
        return self.known("u_0", "u")

    # -- what is sought --------------------------------------------------------------------------------------------

    def unknown(self, name: str, space: str, guess: str | None = None) -> ca.SX:
        """An unknown of this stage. Iterations start from the field `guess`, or from its own last value."""
        self.unknowns[name] = (space, ca.SX.sym(name, self.part.n[space]))
        self.guesses[name] = guess
        return self.unknowns[name][1]

    def percussions(self, name: str, *, guess: str | None = None, cold: bool = False) -> Percussions:
        """Unknown percussions of all constraints.

        Iterations start from the percussions `guess`, from those of the last step if there is none, or from zero if `cold`.
        A cold start gives dependent constraints percussions of minimum norm (each in units of its Delassus diagonal).
        """
        if cold:
            for space in SPACES:
                self.known(f"nothing.{space}", space)  # a field that no stage writes stays zero
            guess = "nothing"
        return Percussions(*[self.unknown(f"{name}.{x}", x, guess and f"{guess}.{x}") for x in SPACES])

    def position(self, name: str, residual: Callable[[ca.SX], ca.SX], guess: str = "q_0") -> ca.SX:
        """The coordinates that solve residual(q) = 0, the kinematic equation of the scheme.

        It is solved symbolically where it is affine in q (all built-in bodies), so that q is no unknown of the stage; else q
        becomes one. The field `name` holds the result after the stage.
        """
        return self.positions([name], lambda q: [residual(q)], guess)[0]

    def positions(
        self, names: Sequence[str], residuals: Callable[..., Sequence[ca.SX]], guess: str = "q_0"
    ) -> list[ca.SX]:
        """Like `position`, for several coordinate vectors that solve residuals(q_a, q_b, ...) = 0 together."""
        n, count = self.part.n_q, len(names)
        q = ca.SX.sym(" ".join(names), count * n)
        r = ca.vertcat(*residuals(*ca.vertsplit(q, n))) if n else ca.SX(0, 1)
        slope, key = ca.jacobian(r, q), " ".join(names)
        if self.is_node:
            self.affine[key] = self.affine.get(key, True) and not ca.depends_on(slope, q)
        if self.affine[key]:
            solved = _solve_blocks(slope, -ca.substitute(r, q, ca.SX.zeros(count * n)))
            out = ca.vertsplit(solved, n)
            for name, value in zip(names, out, strict=True):
                self.update(name, "q", value)
            return out
        x = [self.unknown(name, "q", guess) for name in names]
        rows = ca.vertsplit(ca.substitute(r, q, ca.vertcat(*x)) if self.is_node else ca.SX.zeros(count * n), n)
        for unknown, row in zip(x, rows, strict=True):
            self.equation(row, for_=unknown)
        return x

    # -- equations and laws ----------------------------------------------------------------------------------------

    def equation(self, residual: ca.SX, *, for_: ca.SX) -> None:
        """The part's share of the rows that determine the unknown `for_`."""
        name = self._name_of(for_)
        self.equations[name] = self.equations.get(name, 0) + residual

    def zero(self, y: ca.SX, *, by: ca.SX) -> None:
        """Bilateral rows y = 0, enforced by the unknown multipliers `by`."""
        self.laws.append(Law(ZERO, self._name_of(by), y, by, ca.SX(0, 1)))

    def normal(self, y: ca.SX, P: ca.SX, *, by: ca.SX, where: str | None = None, status: str | None = None) -> None:
        """0 <= y, 0 <= P, y P = 0, enforced by the unknowns `by` (a summand of P).

        `where`: a field over contacts; those with a positive value are open whatever y is. `status`: field that keeps the
        branch, -1 closed and 1 open, for the `where` of a later law.
        """
        for name in (n for n in (where, status) if n):
            self.statuses[name] = "N"
        self.laws.append(Law(NORMAL, self._name_of(by), y, P, ca.SX(0, 1), where, status))

    def friction(
        self,
        y: ca.SX,
        P: ca.SX,
        *,
        radius: ca.SX,
        by: ca.SX,
        status: str | None = None,
        when: str | None = None,
        unless: str | None = None,
    ) -> None:
        """y in the normal cone of the ball of `radius` at -P, enforced by `by`: stick, or slip with P = -radius y/|y|.

        `status`: field over slip components that keeps the branch, -1 stick and 1 slip. With `when` and `unless`, such
        fields of an earlier law, two laws share the unknowns `by`: one for elements that slip, one for those that stick.
        """
        for name in (n for n in (status, when, unless) if n):
            self.statuses[name] = "F"
        self.laws.append(Law(BALL, self._name_of(by), y, P, radius, None, status, when, unless))

    def update(self, name: str, space: str, value: ca.SX) -> None:
        """Give a field a new value once the stage is solved.

        In the spaces q, u and one the value must not depend on the part (it is taken once, or once per block of
        coordinates); use `total` for a sum over parts. A stage may give dt and t_1 new values: then the scheme decides
        the length of its steps, time is summed up, and a run ends with the first step that reaches its end time.
        """
        if space == "one":
            self.single.add(name)
        if self.is_node if space in ("q", "u") else not self.is_node:
            self.updates[name] = (space, value)

    def total(self, name: str, space: str, value: ca.SX) -> None:
        """Like `update`, for the sum of `value` over all parts."""
        if not self.is_node:
            self.updates[name] = (space, value)

    def update_percussions(self, name: str, P: Percussions) -> None:
        """Keep percussions under a name."""
        for space in SPACES:
            self.update(f"{name}.{space}", space, getattr(P, space))

    def _name_of(self, unknown: ca.SX) -> str:
        for name, (_, symbol) in self.unknowns.items():
            if symbol is unknown:
                return name
        raise TypeError(f"{unknown} is no unknown of this stage; pass the very object that unknown() returned")


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
