"""What has to stay in its range while a run goes on: the mass matrix positive, the coefficients of laws where laws are defined.

Numbers and parameters are checked before the first step. What depends on the state is looked at while the run goes on, in
every scheme: masses and friction at the end of steps, restitution for the velocities before them where a contact closes. A
model in which nothing depends on the state pays nothing, nor does a law whose bounds (`engine.bounds`) prove that it is in
range for all states. The others are looked at by compiled code (`engine.watch`); only where that finds something are they
evaluated here, to say what it is: a mass matrix in every STRIDE-th step, and between two of them where its least pivot changes
by more than a quarter, again and again down to single steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np

from stickslip.engine.bounds import bounds
from stickslip.engine.check import coupled, name_of_law
from stickslip.engine.expressions import T
from stickslip.engine.failure import Failure
from stickslip.engine.layout import slices
from stickslip.engine.mechanics import PartType
from stickslip.engine.numbering import Kind, Numbering
from stickslip.engine.tables import INDEX
from stickslip.engine.watch import STRIDE, TOUCH, MassGroup, RowLayout, Watch, law_function, row_layout
from stickslip.errors import ModelError
from stickslip.model.collisions import collisions_of
from stickslip.model.declaration import check_law_value

INDEFINITE = 1e-12  # of the largest eigenvalue: a smaller negative one may be due to rounding
AHEAD = 3  # steps that are guessed where one failed
ANY = 1e9  # size of states for which bounds of laws must hold
LAWS = {"mu": "friction", "radius": "radius", "e_N": "restitution", "e_F": "tangential_restitution"}
MASS_REMEDY = "what follows is not mechanics: correct the mass matrix, or end the run before"
REMEDY = "what follows is not mechanics: give an expression that stays in its range, such as maximum(x, 0)"


class Breach(NamedTuple):
    """The first row in which something is out of its range, and what it is."""

    row: int
    t: float
    message: str
    remedy: str = REMEDY


class RangeRows(NamedTuple):
    """Rows of a run: time, coordinates, velocities, velocities a step before if known, normal percussions of the step."""

    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    u_before: np.ndarray | None
    P_N: np.ndarray


class Ranges:
    """The expressions of a model that could leave their range."""

    def __init__(self, numbering: Numbering):
        self.numbering = numbering
        laws = [(kind, name) for kind in numbering.part_kinds for name in LAWS if _varies(kind.type, name)]
        self._laws = [(kind, name, _function(kind.type, name)) for kind, name in laws]
        self._bounds = {(id(kind), name): bounds(_with_roots(f)) for kind, name, f in self._laws}
        self._masses = _varying_groups(numbering)
        self._places: dict[int, dict[str, np.ndarray]] = {}  # where the instances of a kind find their values
        self._seen: bytes | None = None
        self._open = self._laws
        self._watches: dict[RowLayout, Watch] = {}

    def _at(self, kind: Kind) -> dict[str, np.ndarray]:
        if id(kind) not in self._places:
            rows = {x: self.numbering.rows(kind, x).astype(INDEX) for x in ("q", "u", "N")}
            self._places[id(kind)] = rows
        return self._places[id(kind)]

    @property
    def empty(self) -> bool:
        """Whether everything was checked before the first step."""
        return not self._laws and not self._masses

    def holds(
        self, rows: np.ndarray, at: RowLayout, parameters: np.ndarray, masses: bool = True, first: int = 1
    ) -> bool:
        """Whether all is surely in range in these rows, from `first` on. Compiled; `breach` says what is not."""
        laws = [(kind, name, _highest(name)) for kind, name, _ in self.open(parameters)]
        groups = self._masses if masses else []
        if not laws and not groups:
            return True
        if at not in self._watches:
            self._watches[at] = Watch(self.numbering, at)
        watch = self._watches[at]
        return watch.laws_hold(laws, rows, first, parameters) and watch.masses_are_positive(
            groups, rows, max(first - 1, 0), parameters
        )

    def breach(
        self, motion: RangeRows, parameters: np.ndarray, everywhere: bool = False, masses: bool = True
    ) -> Breach | None:
        """The first one in these rows; `everywhere`: also of laws of contacts that do not act; `masses`: of these, too."""
        found = [self._law(*law, motion, parameters, everywhere) for law in self.open(parameters)]
        found += [self._mass(group, motion, parameters) for group in self._masses if masses]
        return min((each for each in found if each is not None), default=None)

    def open(self, parameters: np.ndarray) -> list[tuple[Kind, str, ca.Function]]:
        """The laws whose bounds do not prove that they are in range for all states, for these parameters."""
        if parameters.tobytes() != self._seen:
            size = self.numbering.size
            everything = tuple(np.full(n, sign * ANY) for sign in (-1, 1) for n in (1, size["q"], size["u"]))
            self._open = [law for law in self._laws if not self._holds(*law[:2], parameters, *everything)]
            self._seen = parameters.tobytes()
        return self._open

    def _values(
        self, kind: Kind, f: ca.Function, t: np.ndarray, q: np.ndarray, u: np.ndarray, parameters: np.ndarray
    ) -> np.ndarray:
        """A function of a type, for all rows and instances: (rows, members, ...)."""
        n, m = len(t), len(kind.members)
        at = self._at(kind)
        local = [x[:, at[space]].reshape(n * m, -1).T for x, space in ((q, "q"), (u, "u"))]
        own = np.broadcast_to(parameters[kind.parameters], (n, *kind.parameters.shape)).reshape(n * m, -1).T
        values = np.array(f(np.repeat(t, m)[None, :], *local, own))
        return np.moveaxis(values.reshape(len(values), n, m, -1), 0, 2)

    def _holds(
        self,
        kind: Kind,
        name: str,
        parameters: np.ndarray,
        t_0: np.ndarray,
        q_0: np.ndarray,
        u_0: np.ndarray,
        t_1: np.ndarray,
        q_1: np.ndarray,
        u_1: np.ndarray,
    ) -> bool:
        """Whether a law is in its range everywhere in a box of states, by its bounds."""
        f, m = self._bounds[id(kind), name], len(kind.members)
        at = self._at(kind)
        low, high = (
            np.vstack([np.repeat(t, m)[None, :], q[at["q"]].T, u[at["u"]].T, parameters[kind.parameters].T])
            for t, q, u in ((t_0, q_0, u_0), (t_1, q_1, u_1))
        )
        lower, upper = (np.array(x) for x in f((low + high) / 2, (high - low) / 2))
        n = len(kind.type.frictions) if name != "e_N" else kind.type.n["N"]
        return bool((lower >= 0.0).all() and (upper[:n] <= _highest(name)).all())

    # -- laws --------------------------------------------------------------------------------------------------------

    def _law(
        self, kind: Kind, name: str, f: ca.Function, motion: RangeRows, parameters: np.ndarray, everywhere: bool
    ) -> Breach | None:
        u = motion.u_before if name == "e_N" else motion.u
        if u is None:
            return None
        values = self._values(kind, f, motion.t, motion.q, u, parameters)[..., 0]
        wrong = ~((values >= 0.0) & (values <= _highest(name)))
        if not everywhere:
            normal = motion.P_N[:, self._at(kind)["N"]] > 0.0
            if name == "e_N":  # a negative one has no percussion
                state = motion.t, motion.q, u, parameters
                gap, rate = (self._values(kind, _function(kind.type, x), *state)[..., 0] for x in ("g_N", "g_N_dot"))
                wrong &= (normal | (gap <= TOUCH * max(1.0, np.abs(motion.q).max(initial=0.0)))) & (rate < 0.0)
            for k, element in enumerate(kind.type.frictions if name != "e_N" else ()):
                if element.normals:
                    wrong[:, :, k] &= normal[:, :, list(element.normals)].any(axis=2)
        if not wrong.any():
            return None
        row, member, k = (int(x) for x in np.argwhere(wrong)[0])
        contact = name_of_law(self.numbering, int(kind.members[member]), name, k)
        try:
            check_law_value(f"contact {contact!r}", LAWS[name], float(values[row, member, k]))
        except ModelError as error:
            t = float(motion.t[row])
            return Breach(row, t, f"{error} (at t = {t:.6g})")
        return None

    # -- masses ------------------------------------------------------------------------------------------------------

    def _mass(self, group: MassGroup, motion: RangeRows, parameters: np.ndarray) -> Breach | None:
        last = len(motion.t) - 1
        stops = list(dict.fromkeys([*range(0, last, STRIDE), last]))
        found = dict(zip(stops, self._pivots(group, motion, stops, parameters), strict=True))

        def pivot(row: int) -> float:
            if row not in found:
                (found[row],) = self._pivots(group, motion, [row], parameters)
            return found[row]

        def search(a: int, b: int) -> int | None:
            """The first row after a, up to b, in which the matrix is not positive; that of a is."""
            if b - a > 1 and not min(pivot(a), pivot(b)) > 4 * abs(pivot(a) - pivot(b)):
                middle = (a + b) // 2
                first = search(a, middle)
                return search(middle, b) if first is None else first
            return None if pivot(b) > -INDEFINITE else b

        rows = (search(a, b) for a, b in pairwise(stops)) if pivot(0) > -INDEFINITE else iter([0])
        row = next((row for row in rows if row is not None), None)
        if row is None:
            return None
        M, t = self._matrices(group, motion, [row], parameters)[0], float(motion.t[row])
        what = "is not finite"
        if np.isfinite(M).all():
            values, vectors = np.linalg.eigh(M)
            name = self.numbering.model.system.u_names[int(group.rows[int(np.abs(vectors[:, 0]).argmax())])]
            what = f"has the eigenvalue {values[0]:.3g} in the direction of {name!r}"
        return Breach(row, t, f"a mass has passed zero by t = {t:.6g}: the mass matrix {what}", MASS_REMEDY)

    def _matrices(self, group: MassGroup, motion: RangeRows, rows: list[int], parameters: np.ndarray) -> np.ndarray:
        n = group.rows.size
        M, t, q, u = np.zeros((len(rows), n, n)), motion.t[rows], motion.q[rows], motion.u[rows]
        for kind, f, chosen, place in group.parts:
            values = self._values(kind, f, t, q, u, parameters)
            for member, at in zip(chosen, place, strict=True):
                M[:, at[:, None], at[None, :]] += values[:, member]
        return M

    def _pivots(self, group: MassGroup, motion: RangeRows, rows: list[int], parameters: np.ndarray) -> list[float]:
        """The least pivot of the mass matrix in these rows, brought to a unit diagonal, or eigenvalue if one is negative."""
        M = self._matrices(group, motion, rows, parameters)
        d = np.sqrt(np.abs(np.diagonal(M, axis1=1, axis2=2)))
        d[d == 0.0] = 1.0
        M /= d[:, :, None] * d[:, None, :]
        finite = np.isfinite(M).all(axis=(1, 2))
        try:
            L = np.linalg.cholesky(M[finite])
            least = np.diagonal(L, axis1=1, axis2=2).min(axis=1) ** 2
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh(M[finite])[:, 0]
        out = np.full(len(rows), np.nan)
        out[finite] = least
        return list(map(float, out))


def limits_of(numbering: Numbering) -> Ranges | None:
    """The limits of a model, or None if nothing in it can leave its range; they are freed with the model."""
    if "limits" not in numbering.derived:
        numbering.derived["limits"] = Ranges(numbering)
    found: Ranges = numbering.derived["limits"]
    return None if found.empty else found


def _highest(name: str) -> float:
    return 1.0 if name.startswith("e") else float(np.finfo(float).max)


def _varies(part: PartType, name: str) -> bool:
    """Whether an expression depends on the state."""
    e = part.expressions
    return _depends(getattr(e, name), e.q, e.u)


def _depends(x: ca.SX, q: ca.SX, u: ca.SX) -> bool:
    return x.numel() > 0 and bool(ca.depends_on(x, ca.vertcat(T, q, u)))


def _function(part: PartType, name: str) -> ca.Function:
    e = part.expressions
    derived = {"M": lambda: part.M(T, e.q), "g_N_dot": lambda: part.g_N_dot(T, e.q, e.u)}
    return law_function(part, name, derived[name]() if name in derived else getattr(e, name))


def _varying_groups(numbering: Numbering) -> list[MassGroup]:
    """Groups of coupled blocks in which a mass depends on time or coordinates."""
    massive = [kind for kind in numbering.part_kinds if kind.type.has_mass]
    varying = {id(kind) for kind in massive if _depends(kind.type.M(T, e := kind.type.expressions.q), e, ca.SX(0, 1))}
    if not varying:
        return []
    first = numbering.model.system.starts["u"]
    blocks = len(numbering.model.system.blocks)
    functions = {id(kind): _function(kind.type, "M") for kind in massive}
    out = []
    for group in coupled(blocks, [kind.blocks for kind in massive]):
        rows = np.concatenate([np.arange(first[b], first[b + 1]) for b in group])
        place = {int(row): k for k, row in enumerate(rows)}
        parts, varies = [], False
        for kind in massive:
            own = numbering.rows(kind, "u")
            chosen = [k for k, row in enumerate(own) if int(row[0]) in place]
            if chosen:
                varies = varies or id(kind) in varying
                at = [np.array([place[int(row)] for row in own[k]]) for k in chosen]
                parts.append((kind, functions[id(kind)], chosen, at))
        if varies:
            out.append(MassGroup(rows, tuple(parts)))
    return out


def _with_roots(f: ca.Function) -> ca.Function:
    """The same with the arguments of all square roots as further outputs: they, too, must not be negative."""
    inputs = f.sx_in()
    (value,) = f.call(inputs)
    roots, seen, stack = [], set(), [value[k] for k in range(value.numel())]
    while stack:
        node = stack.pop()
        if node.__hash__() not in seen and not node.is_leaf():
            seen.add(node.__hash__())
            inner = [node.dep(k) for k in range(node.n_dep())]
            roots += inner if node.op() == ca.OP_SQRT else []
            stack += inner
    return ca.Function(f.name(), inputs, [ca.densify(ca.vertcat(value, *roots))])


def motion_of(rows: np.ndarray, columns: Sequence[slice]) -> RangeRows:
    """The rows after the first, each with the velocities of the one before; columns: of t, q, u and P_N."""
    t, q, u, P_N = (rows[:, at] for at in columns)
    return RangeRows(t[1:, 0], q[1:], u[1:], u[:-1], P_N[1:])


def ahead(rows: np.ndarray, columns: Sequence[slice], dt: float) -> RangeRows:
    """Where the last step leads if it is repeated a few times: guesses of the state at which the next one failed."""
    t, q, u, P_N = (rows[:, at] for at in columns)
    k = np.arange(1, AHEAD + 1)[:, None]
    here = [np.repeat(x[-1:], AHEAD, axis=0) for x in (u, u, P_N)]
    return RangeRows(t[-1, 0] + dt * k[:, 0], q[-1] + k * (q[-1] - q[max(len(q) - 2, 0)]), *here)


def judge(
    limits: Ranges,
    rows: np.ndarray,
    columns: Mapping[str, int],
    parameters: np.ndarray,
    failure: Failure | None,
    dt: float,
    masses: bool = True,
) -> tuple[Failure | None, int]:
    """The failure of steps that lead to these rows, the first of which is the start, and how many of them are in range.

    Where a further step failed for another reason, it may have led out of range: then the remedy says so.
    """
    if failure is None and (len(rows) < 2 or limits.holds(rows, row_layout(columns), parameters, masses)):
        return None, len(rows) - 1
    at = slices(columns)
    places = [at[name] for name in ("t", "q_1", "u_1", "P.N")]
    motion = motion_of(rows, places)
    breach = limits.breach(motion, parameters, masses=masses) if len(motion.t) else None
    if breach is not None:
        return Failure(breach.t, "limits", math.nan, breach.message, breach.remedy, final=True), breach.row
    if failure is not None:
        guess = limits.breach(ahead(rows, places, dt), parameters, everywhere=True)
        if guess is not None:
            failure = failure._replace(remedy=f"If it goes on like this, {guess.message}: {guess.remedy}", final=True)
    return failure, len(motion.t)


def may_bounce(numbering: Numbering, t: float, q: np.ndarray, parameters: np.ndarray) -> bool:
    """Whether a contact has restitution: one of those that are declared, or all that are detected."""
    for kind in numbering.part_kinds:
        e_N = kind.type.expressions.e_N
        if e_N.numel() and (
            ca.depends_on(e_N, kind.type.expressions.u) or numbering.evaluate(kind, "e_N", t, q, parameters).any()
        ):
            return True
    detects = collisions_of(system := numbering.model.system)
    if detects is None:
        return False
    return bool(
        detects.law_values(dict(zip(system.parameter_symbols(), parameters.tolist(), strict=False)))[:, :, 1].any()
    )
