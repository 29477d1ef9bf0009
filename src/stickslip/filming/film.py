"""A film of a solution in space as data: which moments it shows, where every body is, and what is drawn of it.

Pages, figures, films and files for ParaView are made of a `Film`; none of them looks at a model. What a solution
remembers of its parts (`stickslip.looks`) and a drawing of the user become the same two kinds of things:

| solids, fixed to a body | sizes |
| --- | --- |
| box, ellipsoid | size, semi_axes |
| ball, knob, cavity | radius; the rotation of a ball can be seen |
| cylinder | radius, length, along its own z |
| link | ends, radius |
| mesh | vertices, faces |

| tracks, whose points move | points |
| --- | --- |
| line, area, ground, beam, sections | as they are |
| disk, dot | one |
| tube, coil, arrow | both ends |
| ring, plane | centre and a point along its axis or normal |
| surface | a grid of columns x rows |

Lengths are those of the mechanism. Planar mechanisms lie in z = 0; in space `up` is against gravity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.placing import turned
from stickslip.touching import DetectedSpots, Spots


@dataclass(frozen=True, eq=False)
class Solid:
    """A shape fixed to a body of the film, -1 for the ground, at a place and turned by a quaternion in its frame."""

    kind: str
    body: int
    at: np.ndarray
    turn: np.ndarray
    look: dict[str, Any]

    @property
    def corners(self) -> np.ndarray:
        """The corners of a box around it, in the frame of its body; of what is round, only the centre."""
        look = self.look
        match self.kind:
            case "box" | "ellipsoid":
                high = np.array(look["semi_axes"] if self.kind == "ellipsoid" else look["size"], float)
                low = -high if self.kind == "ellipsoid" else -high / 2
                high = -low
            case "cylinder":
                high = np.array([look["radius"], look["radius"], look["length"] / 2])
                low = -high
            case "link" | "mesh":
                points = np.asarray(look["ends"] if self.kind == "link" else look["vertices"], float)
                room = look["radius"] if self.kind == "link" else 0.0
                low, high = points.min(axis=0) - room, points.max(axis=0) + room
            case _:
                return self.at[None]
        box = np.array([[(low, high)[i][0], (low, high)[j][1], (low, high)[k][2]] for i, j, k in np.ndindex(2, 2, 2)])
        return self.at + turned(self.turn, box)


@dataclass(frozen=True, eq=False)
class Trace:
    """Points in time: one entry per frame, or only one if they never move; three components."""

    kind: str
    points: np.ndarray
    look: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Film:
    """`rows` of the solution at the times `t`, bodies with poses (place, quaternion), and what is drawn of them."""

    rows: np.ndarray
    t: np.ndarray
    planar: bool
    bodies: tuple[str, ...]
    poses: list[np.ndarray]
    solids: list[Solid]
    traces: list[Trace]
    spots: Spots
    detected: DetectedSpots
    low: np.ndarray
    high: np.ndarray
    symbol: float
    impacts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    note: str = ""
    camera: tuple[float, float] | None = None
    up: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> float:
        """Diagonal of the box that holds the motion."""
        return float(np.linalg.norm(self.high - self.low)) or 1.0
