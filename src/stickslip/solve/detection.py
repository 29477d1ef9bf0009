"""What the detection of contacts needs of a system, made once and kept with it, and the compiled functions that it calls.

Runs of a system, also at the same time, read it and do not write to it: what they write to is their own. Numba looks at the
types of all arguments of a function for up to 0.5 ms, so the callers that know them are kept, too (`jit.Direct`).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip.jit import Direct
from stickslip.model.collisions import Collisions
from stickslip.model.system import System
from stickslip.solve.contact_rooms import labels_of
from stickslip.solve.missed import Missed, missed_in
from stickslip.solve.overlaps import FastBodies
from stickslip.solve.prepared import compiled

if TYPE_CHECKING:
    from stickslip.collide.scene import Scene

REMEMBERED = 64  # starts


class Calls(NamedTuple):
    """Those of one system, whose arguments have the same types in all steps."""

    detect: Direct
    find_neighbours: Direct
    assign: Direct
    write_contacts: Direct
    write_numbers: Direct
    report: Direct


class Looked(NamedTuple):
    """A start at which no shape is inside another one: contacts by code that a run needs room for, and that were found."""

    rooms: tuple[tuple[int, int], ...]
    found: int
    neighbours: Any  # pairs of shapes that are close; nobody writes to them


class Detection:
    """A system's shapes as arrays, their names, and what looks for contacts of them."""

    def __init__(self, system: System, collisions: Collisions):
        from stickslip.collide.detect import detect, find_neighbours
        from stickslip.collide.report import report
        from stickslip.collide.room import room_for
        from stickslip.collide.rows import assign, write_numbers
        from stickslip.collide.scene import scene_of
        from stickslip.engine.rooms import write_contacts

        self._collisions, self._scene = collisions, scene_of(system, collisions)
        self.labels = labels_of(collisions.shapes)
        self.calls = Calls(*map(Direct, (detect, find_neighbours, assign, write_contacts, write_numbers, report)))
        self.functions = room_for(self._scene, 0).apart
        laws = [k for k, name in enumerate(system.parameter_symbols()) if name.startswith(f"{collisions.name}.")]
        self.law_names = np.array(laws, np.int64)
        self._looked: dict[Any, Looked] = {}

    def scene(self, parameters: Mapping[str, float]) -> Scene:
        """The scene of one run: its laws are its own."""
        return self._scene._replace(laws=self._collisions.law_values(parameters))

    @cached_property
    def _fast(self) -> FastBodies:
        return FastBodies(self._scene, self._collisions)

    @cached_property
    def _missed(self) -> Missed | None:
        return missed_in(self._scene, self.labels, 0.0)

    def fast(self) -> FastBodies:
        """What warns of fast bodies in one run."""
        return copy(self._fast)

    def missed(self, exact: float) -> Missed | None:
        """What looks for missed contacts in one run that holds gaps so exactly, if its shapes need it."""
        return None if self._missed is None else self._missed.at(exact)

    def looked(self, start: Any) -> Looked | None:
        """What was found at this start, if a run has looked there."""
        return self._looked.get(start)

    def remember(self, start: Any, looked: Looked) -> None:
        """Runs need not look there any more."""
        if len(self._looked) >= REMEMBERED:
            self._looked.clear()
        self._looked[start] = looked


def detection_of(system: System, collisions: Collisions) -> Detection:
    """What is kept with the system, or made now."""
    found: Detection = compiled(system, "detection", lambda: Detection(system, collisions))
    return found
