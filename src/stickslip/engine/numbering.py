"""One numbering of everything: coordinates, velocities, constraints, contacts, friction and parameters.

The loop, the checks, the names of the columns of a solution and the event-driven scheme all read it here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stickslip.engine.derive import Instance, Model
from stickslip.engine.mechanics import PartType

MULTIPLIERS = ("g", "gamma", "N", "F")  # spaces of constraints; each row belongs to one part
DECLARED = "declared"  # what a model keeps


@dataclass(frozen=True)
class Detected:
    """Contacts of one type that come and go while a program runs, with room for `capacity` of them.

    Each has `numbers` numbers of its own in the memory; `columns` says which of them are the parameters of the type.
    """

    type: PartType
    numbers: int
    columns: tuple[int, ...]
    capacity: int


@dataclass(frozen=True)
class Kind:
    """All instances of one part type. `members` are their numbers among nodes and parts; detected ones have none."""

    type: PartType
    is_node: bool
    members: np.ndarray
    blocks: np.ndarray  # (members, blocks)
    parameters: np.ndarray  # (members, parameters)
    detected: Detected | None = None
    own: Mapping[str, int] = field(default_factory=dict)  # of detected ones: first row in each space, first number

    @property
    def capacity(self) -> int:
        """How many instances there can be."""
        return len(self.members) if self.detected is None else self.detected.capacity

    def first(self) -> Kind:
        """The first instance alone."""
        return replace(self, members=self.members[:1], blocks=self.blocks[:1], parameters=self.parameters[:1])


class PartRows(NamedTuple):
    """Where the quantities of one part stand among those of the system; lists, as CasADi wants them."""

    q: list[int]
    u: list[int]
    p: list[int]
    g: list[int]
    gamma: list[int]
    N: list[int]
    F: list[int]
    element: list[int]  # friction elements


class FrictionRows(NamedTuple):
    """A friction element of the system: its components, and its normal contacts."""

    rows: slice
    normals: tuple[int, ...]

    def is_off(self, closed: np.ndarray) -> bool:
        """Whether it has normal contacts, and none of them is closed."""
        return bool(self.normals) and not closed[list(self.normals)].any()


class Numbering:
    """Size of each space, and the rows of it that each instance owns or touches.

    A row of integers of an instance (`dofs`) holds, in this order: a zero; the first coordinate and the first velocity of
    every block that it touches; its first row in each of the spaces g, gamma, N and F; its parameters.
    """

    def __init__(self, model: Model, detected: Sequence[Detected] = ()):
        self.model = model
        if DECLARED not in model.kept:  # rooms may grow while a program runs: nothing else changes
            model.kept[DECLARED] = _declared(model)
        self._first, self._own, sizes, kinds = model.kept[DECLARED]
        self.size = {"q": int(self._first["q"][-1]), "u": int(self._first["u"][-1]), "one": 1}
        self.size |= sizes
        self.n_parameters, self.n_numbers = len(model.system.parameter_symbols()), 0
        self.declared = dict(self.size)  # without the room for what is detected
        self.kinds = (*kinds, *map(self._room, detected))

    @property
    def derived(self) -> dict[Any, Any]:
        """What other modules make of what is declared, to be freed with the model."""
        return self.model.kept

    @property
    def instances(self) -> tuple[Instance, ...]:
        """Nodes, then parts."""
        return self.model.nodes + self.model.parts

    def _room(self, detected: Detected) -> Kind:
        """A kind for contacts that are detected: their rows come after those that are declared."""
        own = {x: self.size[x] for x in MULTIPLIERS} | {"numbers": self.n_parameters + self.n_numbers}
        for x in MULTIPLIERS:
            self.size[x] += detected.capacity * detected.type.n[x]
        self.n_numbers += detected.capacity * detected.numbers
        blocks, parameters = (
            np.zeros((0, n), np.int64) for n in (len(detected.type.expressions.n_q), len(detected.columns))
        )
        return Kind(detected.type, False, np.zeros(0, np.int64), blocks, parameters, detected, own)

    @property
    def part_kinds(self) -> tuple[Kind, ...]:
        """The kinds of parts that are declared: neither nodes nor detected contacts."""
        return tuple(kind for kind in self.kinds if not kind.is_node and kind.detected is None)

    # -- part by part -------------------------------------------------------------------------------------------------

    def own(self, part: int, space: str) -> slice:
        """The rows of g, gamma, N or F that belong to a part, by its number in `model.parts`."""
        first = int(self._own[space][len(self.model.nodes) + part])
        return slice(first, first + self.model.parts[part].type.n[space])

    @cached_property
    def parts(self) -> tuple[PartRows, ...]:
        """The rows of every part, in the order of `model.parts`."""
        out, element = [], 0
        for k, part in enumerate(self.model.parts):
            own = {x: list(range(size)[self.own(k, x)]) for x, size in self.size.items() if x in MULTIPLIERS}
            q, u = ([i for b in part.blocks for i in range(at[b], at[b + 1])] for at in self._first.values())
            elements = list(range(element, element := element + len(part.type.frictions)))
            out.append(PartRows(q, u, list(part.parameters), **own, element=elements))
        return tuple(out)

    @cached_property
    def frictions(self) -> tuple[FrictionRows, ...]:
        """All friction elements, in the order of their components."""
        return tuple(
            FrictionRows(slice(rows.F[f.first], rows.F[f.first] + f.size), tuple(rows.N[i] for i in f.normals))
            for part, rows in zip(self.model.parts, self.parts, strict=True)
            for f in part.type.frictions
        )

    # -- rows of integers --------------------------------------------------------------------------------------------

    def width(self, kind: Kind) -> int:
        """Integers in the row of an instance; the numbers of a detected one lie side by side."""
        own = kind.parameters.shape[1] if kind.detected is None else 1
        return 1 + 2 * kind.blocks.shape[1] + len(MULTIPLIERS) + own

    def dofs(self, kind: Kind) -> np.ndarray:
        """The rows of all instances; those of detected ones know their blocks later."""
        out = np.zeros((kind.capacity, self.width(kind)), np.int64)
        n = kind.blocks.shape[1]
        if kind.detected is not None:
            place = np.arange(kind.capacity)
            for j, x in enumerate(MULTIPLIERS):
                out[:, 1 + 2 * n + j] = kind.own[x] + place * kind.type.n[x]
            out[:, -1] = kind.own["numbers"] + kind.detected.numbers * place
            return out
        for k in range(n):
            for j, x in enumerate(("q", "u")):
                out[:, 1 + 2 * k + j] = self._first[x][kind.blocks[:, k]]
        for j, x in enumerate(MULTIPLIERS):
            out[:, 1 + 2 * n + j] = self._own[x][kind.members]
        out[:, 1 + 2 * n + len(MULTIPLIERS) :] = kind.parameters
        return out

    def places(self, kind: Kind, space: str) -> np.ndarray:
        """Where a part finds its local slice of a field: (offset, column of its row of integers) of each component."""
        n = kind.blocks.shape[1]
        if space in ("q", "u"):
            sizes = getattr(kind.type.expressions, f"n_{space}")
            column = 1 + (space == "u")
            pairs = [(i, column + 2 * k) for k, size in enumerate(sizes) for i in range(size)]
        elif space == "one":
            pairs = [(0, 0)]
        elif space == "parameters" and kind.detected is not None:
            pairs = [(k, 1 + 2 * n + len(MULTIPLIERS)) for k in kind.detected.columns]
        elif space == "parameters":
            pairs = [(0, 1 + 2 * n + len(MULTIPLIERS) + k) for k in range(kind.parameters.shape[1])]
        else:
            column = 1 + 2 * n + MULTIPLIERS.index(space)
            pairs = [(i, column) for i in range(kind.type.n[space])]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def places_of(self, kind: Kind, vectors: Sequence[tuple[str, int]]) -> np.ndarray:
        """The places of several vectors, one below the other, each given by its space and by where it begins."""
        out = [np.zeros((0, 2), np.int64)]
        for space, start in vectors:
            places = self.places(kind, space)
            places[:, 0] += start
            out.append(places)
        return np.vstack(out)

    def column(self, kind: Kind, space: str) -> int:
        """The column in which an instance's first row of g, gamma, N or F stands."""
        return 1 + 2 * kind.blocks.shape[1] + MULTIPLIERS.index(space)

    def starts(self, blocks: np.ndarray) -> np.ndarray:
        """First coordinate and first velocity of blocks, as they stand in a row of integers: (rows, 2 blocks)."""
        return np.stack([self._first["q"][blocks], self._first["u"][blocks]], axis=2).reshape(len(blocks), -1)

    def rows(self, kind: Kind, space: str) -> np.ndarray:
        """The same for all instances as numbers in the space: (members, components)."""
        pairs = self.places(kind, space)
        return self.dofs(kind)[:, pairs[:, 1]] + pairs[:, 0]

    # -- matrices ------------------------------------------------------------------------------------------------------

    def evaluate(self, kind: Kind, name: str, t: float, q: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """A function of (t, q) of a type for all of its instances: (members, ...) as `PartType.evaluate` returns it."""
        count = len(kind.members)
        columns = q[self.rows(kind, "q")].T, parameters[kind.parameters].T.reshape(-1, count)
        values = kind.type.evaluate(name, t, *columns)
        return np.moveaxis(values.reshape(len(values), count, values.shape[1] // max(1, count)), 1, 0)

    def plain_parameters(self, name: str) -> np.ndarray | None:
        """The parameters that the values of a function of all parts are, if they are nothing but parameters and constants."""
        out = [np.zeros(0, np.int64)]
        for kind in self.part_kinds:
            own = kind.type.plain_parameters(name)
            if own is None:
                return None
            out.append(kind.parameters[:, own].ravel())
        return np.unique(np.concatenate(out))

    def inputs_of(self, names: Sequence[str]) -> tuple[bool, bool, np.ndarray]:
        """What these functions of all parts depend on: whether on time, on coordinates, and on which parameters."""
        time, positions, parameters = False, False, [np.zeros(0, np.int64)]
        for kind in self.part_kinds:
            for own in map(kind.type.inputs_of, names):
                time, positions = time or own[0], positions or own[1]
                parameters.append(kind.parameters[:, own[2]].ravel())
        return time, positions, np.unique(np.concatenate(parameters))

    def matrix(self, name: str, t: float, q: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The sum over parts of a square matrix in the space of velocities ("M", "stiffness"), dense; for checks."""
        total = np.zeros((self.size["u"], self.size["u"]))
        for kind in self.part_kinds:
            if kind.type.n_u:
                rows = self.rows(kind, "u")
                values = self.evaluate(kind, name, t, q, parameters)
                np.add.at(total, (rows[:, :, None], rows[:, None, :]), values)
        return total


def _declared(
    model: Model,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, int], tuple[Kind, ...]]:
    """Of what a model declares: where blocks begin; the first row of each instance in g, gamma, N and F, and how many there
    are in all; its kinds.
    """
    own, size, instances = {}, {}, model.nodes + model.parts
    for x in MULTIPLIERS:
        at = np.cumsum([0, *[instance.type.n[x] for instance in instances]])
        own[x], size[x] = at[:-1], int(at[-1])
    return model.system.starts, own, size, _sorted(instances, len(model.nodes))


def _sorted(instances: Sequence[Instance], nodes: int) -> tuple[Kind, ...]:
    """Nodes first: on them it is found whether positions can be eliminated."""
    found: dict[tuple[bool, str], list[int]] = {}
    for i, instance in enumerate(instances):
        found.setdefault((i >= nodes, instance.type.key), []).append(i)
    return tuple(
        Kind(
            instances[members[0]].type,
            not is_part,
            np.array(members, np.int64),
            _table([instances[i].blocks for i in members]),
            _table([instances[i].parameters for i in members]),
        )
        for (is_part, _), members in sorted(found.items(), key=lambda item: item[0][0])
    )


def _table(rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(len(rows), -1)
