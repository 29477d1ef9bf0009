"""The picture of a system as data, from which a film of any solution of it can be made, also of one that was loaded.

A sketch has solids, which are fixed to bodies, and tracks, whose points are expressions of time and coordinates. All
numbers may be expressions of parameters; `Sketch.record` puts in those of a run and returns what JSON can hold:

| key | holds |
| --- | --- |
| planar | whether the mechanism lives in the plane |
| up | the direction against gravity, in space |
| bodies | name, and where its pose is: columns of q, or outputs of the tape |
| solids | kind, body (-1 is the ground), place and quaternion in the body's frame, sizes, tone |
| tracks | kind, number and dimension of points, first output of the tape, further looks |
| tape, parameters | what computes the points from (t, q, parameters, u), see `tape` |

A length {"symbols": 2.0} is measured in the size of symbols, which follows from the size of the picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from stickslip.looks.tape import tape
from stickslip.math import array, column, is_symbolic
from stickslip.model.bodies import PlanarBody, PointMass, RigidBody
from stickslip.model.declaration import TIME
from stickslip.model.flexible.chain import Node
from stickslip.model.frames import Carrier, Ground, Point
from stickslip.model.system import System
from stickslip.shapes import Shape

VERSION = 1
TONES = ("body", "other", "third")
IDENTITY = (1.0, 0.0, 0.0, 0.0)
AXIAL = ("ring", "torque", "belt")  # have three components also in the plane, whose axis is z


@dataclass(frozen=True)
class Slot:
    """A number of a record that depends on parameters: the place in the list of such numbers."""

    index: int


def symbols(count: float) -> dict[str, float]:
    """A length in sizes of symbols."""
    return {"symbols": count}


class Sketch:
    """Collects what the parts of a system show."""

    def __init__(self, system: System):
        self.system = system
        self.planar = True
        self.up = [0.0, 0.0, 1.0]
        self.bodies: list[dict[str, Any]] = []
        self.solids: list[dict[str, Any]] = []
        self.tracks: list[dict[str, Any]] = []
        self._known: dict[int, int] = {}
        self._drawn: set[str] = set()
        self._slots: list[Any] = []
        self._given: tuple[list[float], list[Any]] | None = None  # parameters of the last run, and numbers that follow
        self._last: tuple[list[Any], dict[str, Any]] | None = None  # numbers of the last run and its picture
        self._outputs: list[Any] = []
        self._columns = {
            s.__hash__(): k for k, s in enumerate(s for block in system.blocks for s in np.atleast_1d(array(block.q)))
        }
        self.attached: dict[int, list[Point]] = {}  # by the id of a body: points of it that joints and springs hold
        self.formed: set[int] = set()  # ids of bodies that wheels or blocks show, so that no box of inertia hides these
        self.joined: list[tuple[Carrier, Carrier]] = []

    # -- numbers ---------------------------------------------------------------------------------------------------

    def number(self, value: Any) -> Any:
        """A number of the record, or the slot of one that depends on parameters."""
        if not is_symbolic(value):
            return float(value)
        expression = column(value)
        if expression.is_constant():
            return float(expression)
        self._slots.append(value)
        return Slot(len(self._slots) - 1)

    def place(self, values: Any, fill: float = 0.0) -> list[Any]:
        """Three components; those that the plane does not have are `fill`."""
        given = list(np.atleast_1d(array(values)))
        return [self.number(x) for x in given] + [fill] * (3 - len(given))

    def _put(self, values: Any) -> int:
        """Let the tape compute these values; the index of the first."""
        first = len(self._outputs)
        self._outputs += list(np.atleast_1d(array(values)).ravel())
        return first

    # -- what is drawn -----------------------------------------------------------------------------------------------

    def body(self, body: Carrier) -> int:
        """The index of a body, -1 for the ground."""
        if isinstance(body, Ground):
            return -1
        if id(body) not in self._known:
            self._known[id(body)] = len(self.bodies)
            self.bodies.append({"name": body.name, **self._pose(body)})
        return self._known[id(body)]

    def _pose(self, body: Carrier) -> dict[str, Any]:
        if body.dimension == 3:
            self.planar = False
        if isinstance(body, PointMass | PlanarBody | RigidBody) and not isinstance(body, Node):
            kind = "rigid" if isinstance(body, RigidBody) else "planar" if isinstance(body, PlanarBody) else "point"
            return {"kind": kind, "columns": [self._columns[x.__hash__()] for x in body.q]}
        n = body.dimension
        axes = [body.direction(e) for e in np.eye(n)]
        return {"kind": "moving", "dimension": n, "first": self._put([*body.position(np.zeros(n)), *np.ravel(axes)])}

    def solid(
        self,
        kind: str,
        body: Carrier,
        at: Any = (0.0, 0.0, 0.0),
        turn: Any = IDENTITY,
        tone: str | None = None,
        **look: Any,
    ) -> None:
        """A shape that is fixed to a body; the same one is drawn once. Bodies take the tones in turn."""
        index = self.body(body)
        entry = {"kind": kind, "body": index, "at": self.place(at), "turn": [float(x) for x in turn]}
        entry |= {"tone": tone or ("faint" if index < 0 else TONES[index % len(TONES)]), **look}
        key = repr(self.filled(entry, [str(x) for x in self._slots]))
        if key not in self._drawn:
            self._drawn.add(key)
            self.solids.append(entry)

    def track(self, kind: str, points: Any, **look: Any) -> None:
        """Points that move: an array of places, one row per point."""
        rows = np.array([list(array(p)) for p in points], dtype=object)
        if rows.shape[1] == 3 and kind not in AXIAL:
            self.planar = False
        entry = {"kind": kind, "count": rows.shape[0], "dimension": rows.shape[1], "first": self._put(rows)}
        self.tracks.append(entry | look)

    def shape(self, shape: Shape) -> None:
        """A shape of the user, with expressions for what moves."""
        entry: dict[str, Any] = {"kind": type(shape).__name__, "fields": {}}
        for name in shape.moving:
            value = getattr(shape, name)
            if value is None:
                continue
            values = ca.densify(column(value))
            values = np.array([array(row.T) for row in ca.vertsplit(values.T if values.is_column() else values)])
            if name != "turn" and values.shape[1] == 3:
                self.planar = False
            entry["fields"][name] = {"shape": list(values.shape), "first": self._put(values)}
        numbers = {k: self._any(v) for k, v in shape.look.items()}
        self.tracks.append({"kind": "shape", "shape": entry, "look": numbers})

    def _any(self, value: Any) -> Any:
        if isinstance(value, str | bool) or value is None:
            return value
        return self.number(value) if np.ndim(value) == 0 else [self.number(x) for x in value]

    def hold(self, *points: Point) -> None:
        """Remember that a joint or a spring holds these points of bodies."""
        for point in points:
            self.attached.setdefault(id(point.body), []).append(point)

    def join(self, first: Carrier, second: Carrier) -> None:
        """Remember that a joint links two bodies, which are then drawn in different layers."""
        self.joined.append((first, second))

    # -- the record --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Compile what moves and the numbers that depend on parameters."""
        blocks = [ca.vertcat(*[block.q for block in self.system.blocks])] if self.system.blocks else []
        parameters = ca.vertcat(*self.system.parameter_symbols().values())
        velocities = [ca.vertcat(*[block.u for block in self.system.blocks])] if self.system.blocks else []
        inputs = [TIME, *blocks, parameters, *velocities]
        outputs = column(array(self._outputs)) if self._outputs else ca.SX(0, 1)
        self._tape = tape(inputs, ca.SX(outputs))
        self._layer_list = self._layers()
        slots = column(array(self._slots)) if self._slots else ca.SX(0, 1)
        self._numbers = ca.Function("numbers", [parameters], [ca.densify(ca.SX(slots))])

    def record(self, parameters: Mapping[str, float]) -> dict[str, Any]:
        """The picture with the parameters of a run, in JSON's types."""
        values = list(parameters.values())
        given = self._given
        if given is None or given[0] != values:  # CasADi takes long for thousands of them
            given = self._given = values, np.array(self._numbers(values)).ravel().tolist() if self._slots else []
        numbers = given[1]
        if self._last is None or self._last[0] != numbers:  # runs that differ in other parameters look alike
            picture = {
                "version": VERSION,
                "planar": self.planar,
                "up": self.up,
                "bodies": self.bodies,
                "solids": self.filled(self.solids, numbers),
                "tracks": self.filled(self.tracks, numbers),
                "layers": self._layer_list,
                "tape": self._tape,
            }
            self._last = numbers, picture
        return {**self._last[1], "parameters": values}

    def filled(self, entry: Any, numbers: list[Any]) -> Any:
        """An entry with numbers in its slots."""
        if isinstance(entry, Slot):
            return numbers[entry.index]
        if isinstance(entry, dict):
            return {k: self.filled(v, numbers) for k, v in entry.items()}
        if isinstance(entry, list | tuple):
            return [self.filled(v, numbers) for v in entry]
        return entry

    def _layers(self) -> list[int]:
        """Bodies of a planar mechanism that a joint links lie in different layers, the first free one each."""
        layers = [0] * len(self.bodies)
        if not self.planar:
            return layers
        linked: dict[int, set[int]] = {}
        for a, b in self.joined:
            i, j = self.body(a), self.body(b)
            if min(i, j) >= 0:
                linked.setdefault(max(i, j), set()).add(min(i, j))
        for k in range(len(layers)):
            taken = {layers[j] for j in linked.get(k, ())}
            layers[k] = next(n for n in range(len(layers) + 1) if n not in taken)
        return layers
