"""What a mechanism looks like: a few shapes, and drawings, which are functions from a state to shapes.

>>> import stickslip as ss
>>> from stickslip.shapes import Circle, Touch, Wall
>>> @ss.drawing
... def ball_over_floor(state):
...     x, y = state.q
...     return [Wall((0, 0), normal=(0, 1)), Circle((x, y + 0.1), radius=0.1), Touch("floor", (x, y))]
>>> [type(shape).__name__ for shape in ball_over_floor(t=0.0, q=[0.0, 1.0])]
['Wall', 'Circle', 'Touch']

`system.drawing = ball_over_floor` draws every solution of the system so, instead of the picture that its parts make by
themselves; `@ss.drawing(adds=True)` adds to that picture. A drawing returns the same shapes for every state; only their
points move, and what does not move at all is background. Points have two components, or three.

`system.show(...)` takes the same shapes with expressions of the coordinates in place of numbers. They are kept with
the solution as data, so that a file shows the mechanism without the program that made it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, overload

import numpy as np

Tone: TypeAlias = Literal["body", "other", "third", "ink", "faint"]
"""A role and not a colour: pages and figures, light and dark ones, choose the colours."""
Place: TypeAlias = Any  # two or three numbers
Places: TypeAlias = Any  # a sequence of places


class Shape:
    """Something that can be drawn: `moving` names the fields that hold points, all others stay as they are."""

    moving: ClassVar[tuple[str, ...]] = ("points",)

    @property
    def anchors(self) -> np.ndarray:
        """All points of the shape, one row per point.

        >>> Arrow((0, 0), (1, 2)).anchors
        array([[0., 0.],
               [1., 2.]])
        """
        given = [getattr(self, name) for name in self.moving if name != "turn"]
        places = [np.array(x, dtype=float, ndmin=2) for x in given if x is not None]
        return places[0] if len(places) == 1 else np.vstack(places)

    @property
    def look(self) -> dict[str, Any]:
        """Everything but the points.

        >>> Circle((0, 0), 0.1).look
        {'radius': 0.1, 'tone': 'body'}
        """
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.moving}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Polyline(Shape):
    """A line through points; its width is in points of the page."""

    points: Places
    tone: Tone = "ink"
    width: float = 2.0


@dataclass(frozen=True, eq=False)
class Polygon(Shape):
    """A filled area with an outline."""

    points: Places
    tone: Tone = "body"


@dataclass(frozen=True, eq=False)
class Circle(Shape):
    """A filled circle, in space a ball."""

    moving = ("center",)
    center: Place
    radius: float
    tone: Tone = "body"


@dataclass(frozen=True, eq=False)
class Dot(Shape):
    """A dot of fixed size on the page, for joints and point masses; `trail` keeps its path."""

    moving = ("at",)
    at: Place
    tone: Tone = "ink"
    trail: bool = False


@dataclass(frozen=True, eq=False)
class Arrow(Shape):
    """An arrow, for directions and forces."""

    moving = ("tail", "tip")
    tail: Place
    tip: Place
    tone: Tone = "other"


@dataclass(frozen=True, eq=False)
class GroundLine(Shape):
    """A line, hatched on its right when walked along."""

    points: Places


@dataclass(frozen=True, eq=False)
class Wall(Shape):
    """An endless straight ground through `point`; its `normal` points away from the solid side, which is `depth` thick."""

    moving = ("point", "normal")
    point: Place
    normal: Place
    depth: float | None = None


@dataclass(frozen=True, eq=False)
class Touch(Shape):
    """Where a contact, called as in the system, can touch: it lights up while the contact carries a percussion.

    normal: the direction of the normal force on the body that is looked at; with it the force is drawn as an arrow.
    """

    moving = ("at", "normal")
    contact: str
    at: Place
    normal: Any = None


# -- solids --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block(Shape):
    """A box, or a rectangle in the plane, with these edges about its center.

    turn: in the plane an angle; in space a quaternion (scalar part first) or a rotation matrix.

    >>> Block((0, 1), size=(0.2, 0.1), turn=0.3).look
    {'size': (0.2, 0.1), 'tone': 'body'}
    """

    moving = ("center", "turn")
    center: Place
    size: Place
    turn: Any = 0.0
    tone: Tone = "body"


@dataclass(frozen=True, eq=False)
class Ball(Shape):
    """A ball in space or a disk in the plane whose rotation can be seen; `turn` as in `Block`."""

    moving = ("center", "turn")
    center: Place
    radius: float
    turn: Any = 0.0
    tone: Tone = "body"


@dataclass(frozen=True, eq=False)
class Tube(Shape):
    """A round bar between two points, for rods, links and shafts."""

    moving = ("tail", "tip")
    tail: Place
    tip: Place
    radius: float
    tone: Tone = "body"


@dataclass(frozen=True, eq=False)
class Coil(Shape):
    """A spring between two points; without a radius it gets one that suits the picture."""

    moving = ("tail", "tip")
    tail: Place
    tip: Place
    radius: float | None = None
    tone: Tone = "ink"


# -- drawings ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a drawing is drawn from: time, coordinates, and the values of the system's parameters."""

    t: float
    q: np.ndarray
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Drawing:
    """A function from a state to shapes, and how to look at it. Made by the decorator `drawing`.

    camera: azimuth and elevation in degrees, from where points in space are seen. bounds: (x_min, x_max, y_min, y_max)
    of the picture; found from the film if not given. span: a film shows only so much time of a run, unless asked
    otherwise. note: what the onlooker must know, such as an exaggeration. adds: whether it is drawn in addition to what
    the parts show by themselves.
    """

    name: str
    shapes: Callable[[Snapshot], Sequence[Shape]]
    camera: tuple[float, float] = (-60.0, 20.0)
    bounds: tuple[float, float, float, float] | None = None
    span: float | None = None
    note: str = ""
    adds: bool = False

    def __call__(self, t: float, q: Any, parameters: Mapping[str, float] | None = None) -> list[Shape]:
        return list(self.shapes(Snapshot(t, np.asarray(q, dtype=float), parameters or {})))

    def project(self, points: np.ndarray) -> np.ndarray:
        """Points in space as the camera sees them, without perspective; points of the plane stay.

        >>> seen = Drawing("top view", lambda state: [], camera=(-90.0, 90.0)).project(np.array([[1.0, 2.0, 3.0]]))
        >>> seen.round(12) + 0.0
        array([[1., 2.]])
        """
        if points.shape[-1] == 2:
            return points
        azimuth, elevation = np.radians(self.camera)
        right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
        up = np.array([-np.sin(elevation) * np.cos(azimuth), -np.sin(elevation) * np.sin(azimuth), np.cos(elevation)])
        return points @ np.column_stack([right, up])


FORMER: dict[str, type] = {"Disk": Circle, "Point": Dot, "Ground": GroundLine, "State": Snapshot}
"""Names that the parts of a model and the state of a run have now; older drawings and files still say them."""


def __getattr__(name: str) -> type:
    if name not in FORMER:
        raise AttributeError(f"module 'stickslip.shapes' has no attribute {name!r}")
    now = FORMER[name]
    warnings.warn(f"shapes.{name} is called shapes.{now.__name__} now", DeprecationWarning, stacklevel=2)
    return now


DRAWINGS: dict[str, Drawing] = {}
"""All drawings by name. A solution remembers only the name, so that it stays data and a loaded one can be drawn."""

Draw: TypeAlias = Callable[[Snapshot], Sequence[Shape]]


@overload
def drawing(name: Draw) -> Drawing: ...
@overload
def drawing(name: str | None = None, **options: Any) -> Callable[[Draw], Drawing]: ...
def drawing(name: Draw | str | None = None, **options: Any) -> Drawing | Callable[[Draw], Drawing]:
    """Make a function from a state to shapes a `Drawing`, and enter it under its name; `options` as of `Drawing`.

    >>> @drawing("a ball in space", camera=(-45, 30))
    ... def draw(state):
    ...     return [Circle(state.q, radius=0.1)]
    >>> draw.name, draw.camera
    ('a ball in space', (-45, 30))
    """

    def enter(draw: Draw) -> Drawing:
        made = Drawing(name if isinstance(name, str) else draw.__name__, draw)
        made = replace(made, **options)
        DRAWINGS[made.name] = made
        return made

    return enter(name) if callable(name) else enter


# -- what many mechanisms are made of ------------------------------------------------------------------------------------


def placed(points: Places, at: Place, angle: float) -> np.ndarray:
    """Points of a planar body, given in its own frame, where the body is.

    >>> placed([(1, 0)], at=(0, 2), angle=np.pi / 2).round(12)
    array([[0., 3.]])
    """
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(points, dtype=float) @ np.array([[c, s], [-s, c]]) + np.asarray(at, dtype=float)


def box(half_width: float, half_height: float) -> np.ndarray:
    """The corners of a rectangle about the origin.

    >>> box(2.0, 1.0).tolist()
    [[-2.0, -1.0], [2.0, -1.0], [2.0, 1.0], [-2.0, 1.0]]
    """
    return np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * [half_width, half_height]


def wheel(center: Place, radius: float, angle: float, tone: Tone = "body") -> list[Shape]:
    """A disk whose rotation can be seen: two diameters.

    >>> [type(shape).__name__ for shape in wheel((0, 0), 0.1, 0.3)]
    ['Circle', 'Polyline', 'Polyline']
    """
    spokes = [placed([(-radius, 0), (radius, 0)], center, angle + turn) for turn in (0.0, np.pi / 2)]
    return [Circle(center, radius, tone), *[Polyline(spoke, tone, width=1.2) for spoke in spokes]]


def spring(a: Place, b: Place, radius: float, coils: int = 8) -> Polyline:
    """A planar spring from a to b.

    >>> spring((0, 0), (1, 0), radius=0.1, coils=1).points.round(3).tolist()
    [[0.0, 0.0], [0.2, 0.0], [0.35, 0.1], [0.65, -0.1], [0.8, 0.0], [1.0, 0.0]]
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    along = np.concatenate([[0.0, 0.2], 0.2 + 0.6 * (np.arange(2 * coils) + 0.5) / (2 * coils), [0.8, 1.0]])
    side = np.concatenate([[0.0, 0.0], radius * (-1.0) ** np.arange(2 * coils), [0.0, 0.0]])
    normal = np.array([a[1] - b[1], b[0] - a[0]]) / max(float(np.hypot(*(b - a))), 1e-300)
    return Polyline(a + along[:, None] * (b - a) + side[:, None] * normal, width=1.6)


def rotated(quaternion: Place, points: Places) -> np.ndarray:
    """Points of a body in space, given in its own frame, in the directions of space; scalar part first.

    >>> rotated([np.sqrt(0.5), 0, 0, np.sqrt(0.5)], [(1, 0, 0)]).round(12) + 0.0    # a quarter turn about z
    array([[0., 1., 0.]])
    """
    p = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
    x = np.asarray(points, dtype=float)
    return x + 2 * np.cross(p[1:], np.cross(p[1:], x) + p[0] * x)


def ring(center: Place, e_1: Place, e_2: Place, radius: float, tone: Tone = "body") -> Polygon:
    """A disk in space, spanned by two unit vectors.

    >>> disk = ring((0, 0, 1), (1, 0, 0), (0, 0, 1), radius=0.5)
    >>> float(abs(np.linalg.norm(disk.points - (0, 0, 1), axis=1) - 0.5).max()) < 1e-15
    True
    """
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)[:, None]
    turned = np.cos(angles) * np.asarray(e_1, dtype=float) + np.sin(angles) * np.asarray(e_2, dtype=float)
    return Polygon(np.asarray(center, dtype=float) + radius * turned, tone)


def tiles(half: float, count: int = 4) -> list[Shape]:
    """A square floor in space, at z = 0, with count by count tiles.

    >>> len(tiles(1.0, count=4))
    10
    """
    places = np.linspace(-half, half, count + 1)
    lines = [[(x, -half, 0), (x, half, 0)] for x in places] + [[(-half, y, 0), (half, y, 0)] for y in places]
    return [Polyline(line, "faint", width=1.0) for line in lines]
