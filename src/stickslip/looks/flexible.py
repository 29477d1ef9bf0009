"""Beams and bars, as tubes through points of their axes, and wheels on shafts."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.looks.sketch import Sketch
from stickslip.math import array, sqrt
from stickslip.model.flexible.bar import BarElement
from stickslip.model.flexible.chain import Chain
from stickslip.model.flexible.spatial import RotorDisk

PIECES = 4  # of an element, between which a bent axis is drawn straight
MARKS = 25  # cross-sections that are drawn of a bar, so that waves can be seen
THICKEST = 0.05  # a bar of any area is at most so thick, in lengths of it


def chain(part: Chain, sketch: Sketch) -> None:
    """The axis with the thickness of the section; of bars also some cross-sections."""
    straight = isinstance(part.elements[0], BarElement)
    pieces = 1 if straight else PIECES
    places: list[Any] = []
    for element in part.elements:
        for k in range(pieces):
            local = [element.length * k / pieces, *[0.0] * (part.dimension - 1)]
            places.append(element.position(array(local)))
    places.append(part.nodes[-1].position(np.zeros(part.dimension)))
    rows = [[*place, *[0.0] * (2 - len(place))] for place in places]  # a bar of one dimension lies along x
    radius = _radius(part, sketch)
    sketch.track("beam", rows, radius=radius, tone="body", name=part.name)
    chosen = (
        np.unique(np.linspace(0, len(rows) - 1, MARKS).round().astype(int)) if straight else range(0, len(rows), pieces)
    )
    sketch.track("sections", [rows[k] for k in chosen], radius=radius, tone="body")


def _radius(part: Chain, sketch: Sketch) -> float:
    """Of a round section with this area, or half the height of a planar beam, sqrt(3 I/A)."""
    numbers, length = part.numbers, float(part.stations[-1])
    half = sqrt(3 * numbers["moment"] / numbers["area"]) if "moment" in numbers else sqrt(numbers["area"] / np.pi)
    value = float(sketch.system.initial_value(half))
    return min(value, THICKEST * length)


def rotor_disk(part: RotorDisk, sketch: Sketch) -> None:
    """A solid cylinder with the wheel's inertia: I_p = m R^2/2, I_d = m (3 R^2 + h^2)/12; its axis is the node's x."""
    m, polar, diametral = (float(sketch.system.initial_value(x)) for x in (part.mass, part.polar, part.diametral))
    radius = (2 * polar / m) ** 0.5
    width = max(12 * diametral / m - 3 * radius**2, (0.15 * radius) ** 2) ** 0.5
    half = 0.5**0.5
    sketch.solid(
        "cylinder", part.node, turn=(half, 0.0, half, 0.0), tone="other", radius=radius, length=width, marked=True
    )
