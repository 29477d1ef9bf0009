"""Many equal contacts, joints or springs: one is declared, the others are the same between other bodies.

A repeated part has no symbols and no expressions: its type is that of the first, its row names other blocks of coordinates.
So it is cheap, and right for bodies that are copies of each other (`System.add_many`), which share their parameters. What a
declaration reads off the initial state (the angle at which a joint is free of stress) must be the same for all of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import array, column, is_symbolic
from stickslip.model.declaration import Coordinates
from stickslip.model.many import Copy

if TYPE_CHECKING:
    from stickslip.model.system import System

EQUAL = 1e-9  # values at the initial state that may differ by so much, relative to their size


def add_repeated(system: System, part: Any, bodies: Any) -> list[Any]:
    """See `System.add_many`."""
    where = f"{system.name}: many of {getattr(part, 'name', part)!r}"
    rows = _rows(where, bodies)
    numbers = _blocks(where, system, rows)
    names = [f"{part.name}[{k}]" for k in range(len(rows))]
    for name in names:
        if name in system._part_names:
            raise ModelError(f"{where}: there is another part named {name!r}; names must differ")
    with system._all_or_nothing():
        known = len(system.blocks)
        first = copy.copy(part)
        first.name = names[0]
        with system.reading() as reads:
            system.add(first)
        if len(system.blocks) > known:
            raise ModelError(f"{where}: a part with coordinates of its own cannot be repeated; add them one by one")
        _require_touched(where, system, rows[0], numbers[0])
        _require_equal(where, system, reads, rows, numbers)
        parts = [first]
        for k, name in enumerate(names[1:], 1):
            made = Copy(names[0], tuple(zip(numbers[0], numbers[k], strict=True)))
            each = _moved(first, {id(old): new for old, new in zip(rows[0], rows[k], strict=True)}, made, system, name)
            object.__setattr__(each, "name", name)
            system.copies[name] = made
            system._add_copy(each)
            parts.append(each)
    return parts


def _rows(where: str, bodies: Any) -> list[tuple[Any, ...]]:
    if isinstance(bodies, str) or not hasattr(bodies, "__iter__"):
        raise ModelError(f"{where}: bodies must be a list of bodies, or of tuples of bodies, got {bodies!r}")
    rows = [tuple(row) if isinstance(row, list | tuple) else (row,) for row in bodies]
    if not rows or not rows[0]:
        raise ModelError(f"{where}: bodies is empty; it has one row for each part")
    for k, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ModelError(f"{where}: row {k} of bodies has {len(row)} bodies, the first has {len(rows[0])}")
        if len({id(body) for body in row}) < len(row):
            raise ModelError(f"{where}: row {k} of bodies names a body twice")
    return rows


def _blocks(where: str, system: System, rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, ...]]:
    """Numbers of the blocks of all bodies; those of a column are copies of one body."""
    number = {block.name: k for k, block in enumerate(system.blocks)}
    like = [k if block.like is None else block.like for k, block in enumerate(system.blocks)]
    out = []
    for k, row in enumerate(rows):
        for body in row:
            if getattr(body, "_owner", None) is not system or getattr(body, "name", None) not in number:
                raise ModelError(f"{where}: row {k} of bodies has {body!r}, which is not a body of this system")
        out.append(tuple(number[body.name] for body in row))
        for body, own, first in zip(row, out[-1], out[0], strict=True):
            if like[own] != like[first]:
                raise ModelError(
                    f"{where}: {body.name!r} is not a copy of {system.blocks[first].name!r}; parts are repeated for bodies "
                    "that were added together, with add_many. Add the others one by one"
                )
    return out


def _symbols(block: Coordinates) -> ca.SX:
    return ca.vertcat(block.q, block.u)


def _require_touched(where: str, system: System, row: tuple[Any, ...], numbers: tuple[int, ...]) -> None:
    """The first part is made of the bodies of the first row."""
    used = ca.veccat(*system._declared[-1].expressions())
    for body, k in zip(row, numbers, strict=True):
        if not ca.depends_on(used, _symbols(system.blocks[k])):
            raise ModelError(
                f"{where}: it does not act on {body.name!r}; the first row of bodies names the bodies that it is made of"
            )


def _require_equal(
    where: str,
    system: System,
    reads: Sequence[ca.SX],
    rows: Sequence[tuple[Any, ...]],
    numbers: Sequence[tuple[int, ...]],
) -> None:
    """What was read off the initial state has the same value for all rows."""
    own = ca.vertcat(*[_symbols(system.blocks[k]) for k in numbers[0]])
    states = [
        np.concatenate([system.blocks[k].q_initial, system.blocks[k].u_initial]) for k in range(len(system.blocks))
    ]
    columns = np.array([np.concatenate([states[k] for k in row]) for row in numbers]).T
    for f in reads:
        if not ca.depends_on(f, own):
            continue
        mine = {own[k].__hash__() for k in range(own.numel())}
        others = [s for s in ca.symvar(f) if s.__hash__() not in mine]
        fixed = [float(system.initial_value(s)) for s in others]
        values = np.array(ca.Function("read", [own, *others], [ca.densify(f)]).call([ca.DM(columns), *fixed])[0])
        values = values.reshape(f.numel(), len(rows), order="F") if values.shape[1] != len(rows) else values
        off = np.abs(values - values[:, :1]).max(axis=0) > EQUAL * (1 + np.abs(values[:, :1]).max())
        if off.any() or not np.isfinite(values).all():
            k = int(np.argmax(off))
            names = ", ".join(repr(body.name) for body in rows[k])
            raise ModelError(
                f"{where}: its declaration reads the initial state, which is another for row {k} of bodies ({names}) than for "
                "the first. Give what it reads (length=, axis_2=, ...), or add the parts one by one"
            )


@dataclass(frozen=True)
class MovedSpots:
    """Where a repeated contact is, in the symbols of its own bodies, which are made when a picture asks for them."""

    spots: Sequence[Any]
    made: Copy
    system: System
    name: str

    def __iter__(self) -> Iterator[Any]:
        for spot in self.spots:
            out = copy.copy(spot)
            moved: dict[str, Any] = {"name": self.made.renamed(spot.name, self.name)}
            for key in ("place", "normal"):
                moved[key] = self._move(getattr(spot, key))
            moved["tangents"] = tuple(map(self._move, spot.tangents))
            for key, value in moved.items():
                object.__setattr__(out, key, value)
            yield out

    def _move(self, values: Any) -> np.ndarray:
        return np.atleast_1d(array(self.made.moved([column(values)], self.system.blocks)[0]))


def _moved(value: Any, bodies: Mapping[int, Any], made: Copy, system: System, name: str) -> Any:
    """A part, or something in it, with other bodies instead of its own."""
    if id(value) in bodies:
        return bodies[id(value)]
    if isinstance(value, list | tuple):
        return type(value)(_moved(x, bodies, made, system, name) for x in value)
    if is_symbolic(value):
        old = ca.vertcat(*[_symbols(system.blocks[k]) for k, _ in made.blocks])
        if ca.depends_on(column(value), old):
            raise ModelError(f"{made.like}: it keeps an expression of its bodies, and cannot be repeated")
        return value
    if is_dataclass(value) and not isinstance(value, type):
        out = copy.copy(value)
        for f in fields(value):
            object.__setattr__(out, f.name, _moved(getattr(value, f.name), bodies, made, system, name))
        return out
    if value.__class__.__module__.startswith("stickslip.model.") and hasattr(value, "declare"):
        out = copy.copy(value)
        for key, each in vars(value).items():
            if key == "spots":
                vars(out)[key] = MovedSpots(tuple(each), made, system, name)
            elif key != "_owner":
                vars(out)[key] = _moved(each, bodies, made, system, name)
        return out
    return value
