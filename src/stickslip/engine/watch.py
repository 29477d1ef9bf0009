"""The quick look at a chunk of rows: whether everything that depends on the state is surely in its range (`engine.limits`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from stickslip.engine.expressions import T
from stickslip.engine.mechanics import PartType
from stickslip.engine.numbering import Kind, Numbering
from stickslip.native.kernel import Kernel, compile_kernel

TOUCH = 1e-9  # of coordinates: gaps up to this size are closed
STRIDE = 32  # steps between two looks at a mass matrix that changes little
SAFE = 1e-6  # pivots above it are positive beyond doubt


class MassGroup(NamedTuple):
    """Velocities whose masses are coupled, and the parts that contribute: their members, and where each has its rows."""

    rows: np.ndarray
    parts: tuple[tuple[Kind, ca.Function, list[int], list[np.ndarray]], ...]


class RowLayout(NamedTuple):
    """Where a row has time, coordinates, velocities and normal percussions, and how wide it is."""

    t: int
    q: int
    u: int
    P_N: int
    width: int


def row_layout(columns: Mapping[str, int]) -> RowLayout:
    """The layout of rows whose columns have these widths, one after another."""
    at, width = {}, 0
    for name, size in columns.items():
        at[name], width = width, width + size
    return RowLayout(at["t"], at["q_1"], at["u_1"], at["P.N"], width)


class WatchedLaw(NamedTuple):
    """A law as a kernel, where its inputs come from, and which percussions make it act."""

    kernel: Kernel
    values: int
    impact: bool
    highest: float
    sources: np.ndarray
    acts: np.ndarray


class WatchedMass(NamedTuple):
    """A mass matrix as the sum of kernels: their sizes, their first members, and for each member its inputs and its rows."""

    kernels: tuple[Kernel, ...]
    addresses: np.ndarray
    n_in: np.ndarray
    sizes: np.ndarray
    starts: np.ndarray
    sources: np.ndarray
    places: np.ndarray
    n: int


class Watch:
    """Kernels of laws and masses, for rows of one layout."""

    def __init__(self, numbering: Numbering, at: RowLayout):
        self.numbering, self.at = numbering, at
        self._laws: dict[tuple[int, str], WatchedLaw] = {}
        self._masses: dict[int, WatchedMass] = {}

    def laws_hold(
        self, laws: Sequence[tuple[Kind, str, float]], rows: np.ndarray, first: int, parameters: np.ndarray
    ) -> bool:
        """Whether no law that acts leaves its range; those of impacts need the row before."""
        from stickslip.engine.scan import first_outside

        flat = rows.ravel()
        for kind, name, highest in laws:
            law = self._law(kind, name, highest)
            if law.impact and first == 0:
                continue
            q = rows[:, self.at.q : self.at.u] if law.impact else rows[:0]
            touch = TOUCH * max(1.0, float(q.max(initial=0.0)), -float(q.min(initial=0.0)))
            x, y = np.empty(law.kernel.n_in), np.empty(law.kernel.n_out)
            outside = first_outside(
                law.kernel.address, law.kernel.n_in, law.values, law.impact, law.highest, touch, law.sources, law.acts,
                flat, self.at.width, first, parameters, x, y,
            )  # fmt: skip
            if outside >= 0:
                return False
        return True

    def masses_are_positive(
        self, groups: Sequence[MassGroup], rows: np.ndarray, first: int, parameters: np.ndarray
    ) -> bool:
        """Whether no mass matrix comes near an indefinite one."""
        from stickslip.engine.scan import surely_positive

        flat = rows.ravel()
        for k, group in enumerate(groups):
            mass = self._mass(k, group)
            x, y = np.empty(int(mass.n_in.max())), np.empty(int(mass.sizes.max()) ** 2)
            if not surely_positive(
                *mass[1:7], flat, self.at.width, first, STRIDE, SAFE, parameters, np.empty((mass.n, mass.n)), x, y
            ):
                return False
        return True

    # -- tables ------------------------------------------------------------------------------------------------------

    def _sources(self, kind: Kind, members: Sequence[int], before: bool = False) -> np.ndarray:
        """Where each member finds (t, q, u, parameters); `before`: the velocities of the row before."""
        from stickslip.engine.scan import PARAMETER

        at, rows, chosen = self.at, self.numbering.rows, list(members)
        u = at.u - (at.width if before else 0)
        columns = [np.full((len(chosen), 1), at.t), at.q + rows(kind, "q")[chosen], u + rows(kind, "u")[chosen]]
        return np.ascontiguousarray(np.hstack([*columns, PARAMETER + kind.parameters[chosen]]), dtype=np.int64)

    def _law(self, kind: Kind, name: str, highest: float) -> WatchedLaw:
        key = id(kind), name
        if key not in self._laws:
            impact, part = name == "e_N", kind.type
            e, normals = part.expressions, self.at.P_N + self.numbering.rows(kind, "N")
            value = getattr(e, name)
            outputs = [value, e.g_N, part.g_N_dot(T, e.q, e.u)] if impact else [value]
            refers = [(k,) for k in range(part.n["N"])] if impact else [f.normals for f in part.frictions]
            acts = np.full((len(kind.members), value.numel(), max(1, *map(len, refers))), -1, np.int64)
            for k, columns in enumerate(refers):
                acts[:, k, : len(columns)] = normals[:, list(columns)]
            everyone = range(len(kind.members))
            kernel = compile_kernel(law_function(part, name, ca.vertcat(*outputs)))
            sources = self._sources(kind, everyone, before=impact)
            self._laws[key] = WatchedLaw(kernel, value.numel(), impact, highest, sources, acts)
        return self._laws[key]

    def _mass(self, k: int, group: MassGroup) -> WatchedMass:
        if k not in self._masses:
            kernels = tuple(compile_kernel(f) for _, f, _, _ in group.parts)
            tables = [self._sources(kind, chosen) for kind, _, chosen, _ in group.parts]
            starts = np.cumsum([0, *[len(chosen) for _, _, chosen, _ in group.parts]])
            places = [at for _, _, _, each in group.parts for at in each]
            sizes = np.array([each[0].size for *_, each in group.parts], np.int64)
            wide, high = max(table.shape[1] for table in tables), int(sizes.max())
            self._masses[k] = WatchedMass(
                kernels,
                np.array([kernel.address for kernel in kernels], np.int64),
                np.array([kernel.n_in for kernel in kernels], np.int64),
                sizes,
                starts.astype(np.int64),
                np.vstack([np.pad(table, ((0, 0), (0, wide - table.shape[1]))) for table in tables]),
                np.vstack([np.pad(at, (0, high - at.size)) for at in places]).astype(np.int64),
                group.rows.size,
            )
        return self._masses[k]


def law_function(part: PartType, name: str, value: ca.SX) -> ca.Function:
    """A value of a part as a function of (t, q, u, p)."""
    e = part.expressions
    return ca.Function(name, [T, e.q, e.u, e.p], [ca.densify(value)])
