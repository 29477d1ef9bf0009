"""Looking for the contacts of a state, and what is remembered of them until the next one: all that one run writes to there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.engine.runs import Start
from stickslip.engine.tables import INDEX
from stickslip.pages import zeros
from stickslip.solve.checks import digest
from stickslip.solve.contact_rooms import CODES, enough
from stickslip.solve.detection import Detection, Looked
from stickslip.solve.overlaps import nudged, require_apart

if TYPE_CHECKING:
    from stickslip.collide.scene import Scene

MANY_BODIES = 200  # are swept whatever contacts there are: most of them are free
FIRST_ROOM = 64  # contacts
NEAR_SHAPES = 0.5  # of the smallest shape: contacts of many bodies that are so close will soon be there
# What a state holds of contacts: their types and rows among those of a type, their identity, and their friction frames.
PLACES, KEYS, TANGENTS = KEPT = ("contacts.places", "contacts.keys", "contacts.tangents")


class ContactSearch:
    """Looks for contacts. `new` are those of the state that was looked at last, `old` those of the one before.

    `room` holds the poses of bodies there; `rows` are for whoever gives the contacts their rows: type, first coordinates and
    velocities of both bodies, and the row of the last step.
    """

    rows: Any
    new: Any
    old: Any
    room: Any
    neighbours: Any

    def __init__(self, detection: Detection, scene: Scene):
        self.detection, self.scene = detection, scene

    @property
    def count(self) -> int:
        """How many contacts there are."""
        return int(self.new.found[0])

    def forget(self, count: int = 0) -> None:
        """All contacts and neighbours, as before the first look; there is room for so many contacts."""
        from stickslip.collide.broad import nobody
        from stickslip.collide.scene import beside, empty_contacts

        size = max(FIRST_ROOM, enough(count))
        self.new = empty_contacts(size)
        self.old = beside(self.new)
        self._make_room(size)
        self.neighbours = nobody(len(self.scene.shapes))

    # -- looking -----------------------------------------------------------------------------------------------------

    def look(self, q: np.ndarray, u: np.ndarray, dt: float, spare: int = 0) -> int:
        """Detect; there is room for all contacts afterwards, and for so many more."""
        from stickslip.collide.detect import STALE
        from stickslip.collide.scene import beside, empty_contacts

        q, u = np.ascontiguousarray(q), np.ascontiguousarray(u)
        self.old, self.new = self.new, self.old
        if len(self.new.gap) != len(self.old.gap):
            self.new = beside(self.old)
        calls = self.detection.calls
        while True:
            n = int(calls.detect(self.scene, self.room, self.neighbours, q, u, dt, self.old, self.new))
            if n == STALE:
                self.neighbours = calls.find_neighbours(self.scene, self.room, dt)
            elif abs(n) + spare > min(len(self.room.rows), len(self.new.gap)):
                self._make_room(enough(abs(n) + spare))
                self.new = empty_contacts(enough(abs(n) + spare))
            else:
                return n

    def add(self, further: np.ndarray) -> int:
        """Add contacts to those that were found; the number of all."""
        from stickslip.collide.detect import append

        return int(append(self.scene, self.room, self.new, further))

    def look_at_start(self, name: str, start: Start, initial_tol: float) -> Looked:
        """What there is at the start, where nothing may be inside of something else; a system is looked at once."""
        key = digest(start.q), digest(start.u), start.dt, initial_tol
        looked = self.detection.looked(key)
        if looked is None:
            self.require_apart(name, start.q, start.u, start.dt, initial_tol)
            found = self.count
            looked = Looked(tuple(self._first_rooms(start).items()), found, self.neighbours)
            self.detection.remember(key, looked)
        return looked

    def require_apart(self, name: str, q: np.ndarray, u: np.ndarray, dt: float, tolerance: float) -> None:
        """Nothing may be inside of something else; all contacts of before are forgotten."""
        for each in (nudged(self.scene, q, tolerance), q):
            if each is not None:
                self.forget()
                self.look(each, u, dt)
                require_apart(name, self.scene, self.room, self.new, self.detection.labels, tolerance)

    def _first_rooms(self, start: Start) -> dict[int, int]:
        """Room for the contacts that there are at the start; of many bodies also for those that will soon be."""
        from stickslip.collide.broad import nobody

        scene, bodies = self.scene, len(self.scene.bodies)
        if bodies >= MANY_BODIES:
            near = NEAR_SHAPES * float(scene.reach[np.isfinite(scene.reach)].min(initial=np.inf))
            self.scene = scene._replace(skin=max(scene.skin, near if np.isfinite(near) else 0.0))
            self.neighbours = nobody(len(scene.shapes))
            self.look(start.q, start.u, start.dt)
        n = self.count
        first, second = scene.bodies[self.new.body[:n], 0].T
        counts = np.bincount((self.new.kind[:n] * 4 + first) * 4 + second, minlength=CODES)
        self.scene = scene
        heap = 0 if bodies >= MANY_BODIES else bodies  # of many bodies those that may come are counted already
        return {code: enough(int(counts[code]), heap) for code in np.flatnonzero(counts).tolist()}

    # -- room --------------------------------------------------------------------------------------------------------

    def _make_room(self, count: int) -> None:
        from stickslip.collide.room import room_for

        self.room = room_for(self.scene, count, self.detection.functions)
        self.rows = tuple(zeros(shape, INDEX) for shape in (count, (count, 4), count))

    def borrow(self, outputs: np.ndarray) -> None:
        """Work in an array of the solvers if it is large enough: nobody needs both at the same time."""
        rows = self.room.rows
        if outputs.size >= rows.size:
            self.room = self.room._replace(rows=outputs[: rows.size].reshape(rows.shape))

    # -- what is remembered ------------------------------------------------------------------------------------------

    def keys(self) -> set[tuple[int, ...]]:
        """Which contacts there are: their keys and kinds."""
        n = self.count
        return set(map(tuple, np.column_stack([self.new.key[:n], self.new.kind[:n]]).tolist()))

    def take_frames_back(self) -> None:
        """Friction frames as they were before the last look: the next one finds the same contacts, and turns them along."""
        n, before = self.count, self.new.before
        old = self.old.tangent[np.maximum(before[:n], 0)]
        self.new.tangent[:n] = np.where(before[:n, None] >= 0, old, (1.0, 0.0, 0.0))

    @property
    def state(self) -> Mapping[str, np.ndarray]:
        """What the next look reads of the present contacts."""
        n = self.count
        keys = np.column_stack([self.new.kind[:n], self.new.key[:n]])
        return {PLACES: self.new.place[:n].copy(), KEYS: keys, TANGENTS: self.new.tangent[:n].copy()}

    @state.setter
    def state(self, kept: Mapping[str, np.ndarray]) -> None:
        from stickslip.collide.scene import empty_contacts

        n = len(kept[PLACES])
        if n > len(self.new.gap):
            self.new = empty_contacts(enough(n))
            self._make_room(enough(n))
        self.new.found[0], self.new.place[:n] = n, kept[PLACES]
        self.new.kind[:n], self.new.key[:n] = kept[KEYS][:, 0], kept[KEYS][:, 1:]
        self.new.tangent[:n] = kept[TANGENTS]
