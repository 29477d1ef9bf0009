"""A run whose contacts are detected at the start of every step.

A detected contact occupies a slot: a contact part of the right kind between the right bodies, whose parameters detection
writes. Slots that are not needed are parked far away. Where there are not enough, the program is rebuilt, for the pairs that
are near now and will be soon, and the state moves over; nothing is compiled for that but kinds of contacts that are new.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.detected import DetectedContacts
from stickslip.engine.derive import derive
from stickslip.engine.fields import RESULTS, Field, Space
from stickslip.engine.run import Failure, Keep, ProgramRun, Rows, Start
from stickslip.engine.state import State
from stickslip.errors import InitialStateError, MethodError, ModelError, TunnellingWarning
from stickslip.model.collisions import collisions_of
from stickslip.model.frames import Carrier, Ground, ground
from stickslip.model.system import System
from stickslip.schemes import Scheme
from stickslip.solve.prepared import check_capability, prepare

AHEAD = 10.0  # steps that a rebuild looks ahead
IDLE = 200  # steps after which a slot that was not needed is given up at the next rebuild
FAR = 1e6  # gap of a parked slot

Place = tuple[int, int, int]  # kind of contact, first and second body


class DetectingRun:
    """A run of a program whose contacts come and go; see the module's docstring."""

    def __init__(
        self, system: System, scheme: Scheme, start: Start, parameters: Mapping[str, float], initial_tol: float
    ):
        from stickslip.collide.detect import detect, room_for
        from stickslip.collide.scene import empty_contacts, scene_of

        collisions = collisions_of(system)
        if collisions is None:
            raise ModelError(f"{system.name}: there is nothing to detect; it has no Collisions")
        self.system, self.scheme, self.start, self.collisions = system, scheme, start, collisions
        self.scene = scene_of(system, collisions, parameters)
        self.detect, self.room_for, self.empty = detect, room_for, empty_contacts
        self.frictional = bool(self.scene.laws[:, :, 0].any())
        self.room, self.old, self.new = room_for(self.scene, 64), empty_contacts(64), empty_contacts(64)
        names = prepare(system).names
        self.own = {Space.N: len(names.contacts), Space.F: sum(names.friction_sizes)}
        self.slip = 0 if not self.frictional else 1 if collisions.dimension == 2 else 2
        self.slots: list[Place] = []
        self.holds: list[tuple[int, int, int] | None] = []  # identity of the contact in each slot
        self.used: list[int] = []  # step in which a slot was needed last
        self.done, self.seconds = 0, 0.0
        self.failure: Failure | None = None
        self.steps, self.rebuilds = start.steps, 0
        self.earlier: dict[str, int] = {}  # stages that programs before this one have solved, by solver
        self.table: list[tuple[int, Any]] = []
        self.watched = getattr(scheme.facts, "contact_level", "") != "position"
        self.bodies = self._bodies()
        q, u = start.q, start.u
        found = self._look(q, u, start.dt)
        if start.state is None:
            self._require_apart(found, initial_tol)
        self.inner = self._build(start.state)
        self.stages = self.inner.stages
        self.columns = {name: self._width(name, width) for name, width in self.inner.columns.items()}
        self.first_row = self._own_columns(self.inner.first_row[None, :])[0]
        self.failure = self.inner.failure

    # -- what a run shows --------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether the end time is reached."""
        return self.done >= self.steps

    @property
    def state(self) -> State:
        """Where the run is; a run that continues finds its contacts anew, so percussions start from those of no contact."""
        own = self.inner.state
        memory = {each.name: self._own_part(each, own.memory[each.name]) for each in self.inner.remembered}
        return replace(own, memory=memory)

    @property
    def solved_by(self) -> dict[str, int]:
        """How many stages each solver has solved."""
        now = self.inner.solved_by
        return {name: self.earlier.get(name, 0) + now.get(name, 0) for name in {**self.earlier, **now}}

    def advance(self, keep: Keep, interrupted: Callable[[], bool], show: Callable[[int], None]) -> None:
        """All steps, one by one."""
        while not self.complete and self.failure is None and not interrupted():
            rows = self._step()
            keep.take(rows)
            show(self.done)

    def contacts(self, save_every: int) -> DetectedContacts:
        """Everything that was detected."""
        count = [len(rows) for _, rows in self.table]
        step = np.repeat([step for step, _ in self.table], count).astype(np.int64)
        last = -(-self.done // save_every)
        everything = np.concatenate([np.zeros((0, 14)), *[rows for _, rows in self.table]])
        row = np.minimum(-(-step // save_every), last)
        whole = everything[:, :4].astype(np.int64)
        labels = tuple(self._labels())
        n = self.collisions.dimension
        point, normal, percussion = (everything[:, k : k + n] for k in (4, 7, 11))
        return DetectedContacts(
            labels, step, row, whole[:, :2], whole[:, 2:], point, normal, everything[:, 10], percussion
        )

    # -- steps -------------------------------------------------------------------------------------------------------

    def _step(self) -> Rows:
        q, u = self._state()
        found = self._look(q, u, self.start.dt)
        if self.watched:
            self._warn(u)
        if not self._assign(found):
            self.earlier = self.solved_by
            self.inner = self._build(self.inner.state)
        rows = self.inner.step(1)
        self.seconds, self.failure = self.seconds + self.inner.seconds, self.inner.failure
        self.inner.seconds = 0.0
        if len(rows.results):
            self.done += 1
            self._record(rows.results[0], found)
        return Rows(self._own_columns(rows.results), rows.iterations, rows.residuals)

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        n_q, n_u = self.start.q.size, self.start.u.size
        row = self.inner.row
        return np.ascontiguousarray(row[1 : 1 + n_q]), np.ascontiguousarray(row[1 + n_q : 1 + n_q + n_u])

    def _look(self, q: np.ndarray, u: np.ndarray, dt: float) -> int:
        """Detect; there is room for all contacts afterwards."""
        self.old, self.new = self.new, self.old
        found = self.detect(self.scene, self.room, q, u, dt, self.old, self.new)
        while found < 0:
            self.room, self.new = self.room_for(self.scene, -2 * found), self.empty(-2 * found)
            found = self.detect(self.scene, self.room, q, u, dt, self.old, self.new)
        return int(found)

    def _assign(self, found: int) -> bool:
        """Give each contact a slot, the one it had if there is one, and write its numbers; False if there are too few."""
        free: dict[Place, list[int]] = {}
        kept: dict[tuple[int, int, int], int] = {key: k for k, key in enumerate(self.holds) if key is not None}
        keys = [tuple(key) for key in self.new.key[:found].tolist()]
        places = (
            list(zip(self.new.kind[:found].tolist(), *self.new.body[:found].T.tolist(), strict=True)) if found else []
        )
        slot_of, taken = [-1] * found, set()
        for c, key in enumerate(keys):
            k = kept.get(key, -1)
            if k >= 0 and self.slots[k] == places[c] and k not in taken:
                slot_of[c] = k
                taken.add(k)
        for k in range(len(self.slots) - 1, -1, -1):
            if k not in taken:
                free.setdefault(self.slots[k], []).append(k)
        fresh = []
        for c in range(found):
            if slot_of[c] < 0:
                if not free.get(places[c]):
                    return False
                slot_of[c] = free[places[c]].pop()
                fresh.append(slot_of[c])
        idle = [k for those in free.values() for k in those]
        for k in idle:
            self.holds[k] = None
        for c, k in enumerate(slot_of):
            self.holds[k], self.used[k] = keys[c], self.done
        self.slot_of = np.array(slot_of, np.int64)
        self._write(fresh + idle, idle)
        return True

    def _write(self, cold: list[int], idle: list[int]) -> None:
        """Numbers of all slots to the parameters of the program; contacts that are new there start from rest."""
        memory, width = self.inner.memory, self.new.numbers.shape[1]
        first = self.start.parameters.size
        numbers = memory[first : first + width * len(self.slots)].reshape(len(self.slots), width)
        found = len(self.slot_of)
        numbers[self.slot_of] = self.new.numbers[:found]
        for k in idle:
            numbers[k] = self._parked(self.slots[k])
        layout = self.inner.program.layout
        for each in self.inner.remembered:
            if each.space not in self.own:
                continue
            size = 1 if each.space is Space.N else self.slip
            values = memory[layout.start[each] + self.own[each.space] :][: size * len(self.slots)].reshape(
                len(self.slots), size
            )
            if each.name == "gap_0":
                values[:] = FAR
                values[self.slot_of, 0] = self.new.gap[:found]
            else:
                values[cold] = 0.0

    def _parked(self, place: Place) -> np.ndarray:
        """Numbers of a contact that is far away, whatever its kind and the poses are."""
        from stickslip.collide.narrow import BALL_CAVITY, BALL_LINE, LINE_LINE

        kind, first, second = place
        A, B = self.room.A[first], self.room.A[second]
        out = np.zeros(self.new.numbers.shape[1])
        across = B.T @ (self.room.x[first] + [0.0, FAR, 0.0] - self.room.x[second])
        out[4:7] = across  # the second feature is far away, also of one body on top of the other
        out[11:14] = B.T @ ([0.0, 0.0, 1.0] if kind in (BALL_LINE, LINE_LINE) else [0.0, -1.0, 0.0])
        out[8:11] = A.T @ [1.0, 0.0, 0.0]
        out[14:17], out[17:20], out[20] = [0.0, -1.0, 0.0], [1.0, 0.0, 0.0], 1.0
        if kind == BALL_CAVITY:
            out[7], out[14:17] = 2 * FAR, [0.0, 1.0, 0.0]
        return out

    def _record(self, row: np.ndarray, found: int) -> None:
        """Remember the contacts of the step that has just been done."""
        from stickslip.collide.gaps import gaps_at

        n_q = self.start.q.size
        gap = gaps_at(self.scene, self.room, self.new, np.ascontiguousarray(row[1 : 1 + n_q]))[:found]
        widths, at = self.inner.columns, {}
        place = 0
        for name, width in widths.items():
            at[name] = place
            place += width
        P_N = row[at["P.N"] + self.own[Space.N] :][: len(self.slots)][self.slot_of]
        normal, tangent = self.new.normal[:found], self.new.tangent[:found]
        percussion = P_N[:, None] * normal
        if self.slip:
            P_F = row[at["P.F"] + self.own[Space.F] :][: self.slip * len(self.slots)].reshape(-1, self.slip)[
                self.slot_of
            ]
            if self.slip == 1:
                percussion = percussion + P_F * np.stack([normal[:, 1], -normal[:, 0], 0 * normal[:, 0]], axis=1)
            else:
                percussion = percussion + P_F[:, :1] * tangent + P_F[:, 1:] * np.cross(normal, tangent)
        key, count = self.new.key[:found], len(self.scene.shapes)
        low = np.stack([key[:, 0] // count, key[:, 0] % count], axis=1)
        body = self.scene.shapes[low, 1]
        turned = body[:, 0] != self.new.body[:found, 0]  # the ball belongs to the second of the two shapes
        shapes, features = low.copy(), key[:, 1:].copy()
        shapes[turned], features[turned] = shapes[turned, ::-1], features[turned, ::-1]
        columns = [shapes, features, self.new.point[:found], normal, gap[:, None], percussion]
        self.table.append((self.inner.first + self.inner.done, np.hstack(columns) if found else np.zeros((0, 14))))

    # -- programs ----------------------------------------------------------------------------------------------------

    def _build(self, state: State | None) -> ProgramRun:
        """A program with slots for what is near now or soon, and for what was needed lately."""
        from stickslip.collide.templates import DetectedContact

        needed: dict[Place, int] = {}
        q, u = (self.start.q, self.start.u) if state is None else (state.q, state.u)
        kept = [array.copy() for array in self.new]
        for dt in (AHEAD * self.start.dt, self.start.dt):
            found = self._look(q, u, dt)
            counts: dict[Place, int] = {}
            for kind, a, b in zip(self.new.kind[:found], *self.new.body[:found].T, strict=True):
                place = int(kind), int(a), int(b)
                counts[place] = counts.get(place, 0) + 1
            for place, count in counts.items():
                needed[place] = max(needed.get(place, 0), count)
            # what the wider look has found must not stand between the last step and this one
            self.new = type(self.new)(*kept) if dt > self.start.dt else self.new
        have: dict[Place, list[int]] = {}
        for k, place in enumerate(self.slots):
            if self.done - self.used[k] < IDLE:
                have.setdefault(place, []).append(k)
        moved: list[int] = []  # the old slot of each new one, or -1
        slots: list[Place] = []
        for place in sorted(needed.keys() | have.keys()):
            those = have.get(place, [])
            for k in range(max(len(those), needed.get(place, 0))):
                slots.append(place)
                moved.append(those[k] if k < len(those) else -1)
        self.holds = [None if k < 0 else self.holds[k] for k in moved]
        self.used = [self.done if k < 0 else self.used[k] for k in moved]
        old, self.slots = self.slots, slots
        system = self.system.extended()
        for k, (kind, a, b) in enumerate(slots):
            name = f"{self.collisions.name}[{k}]"
            system.add(DetectedContact(name, kind, self.bodies[a], self.bodies[b], self.frictional))
        model = derive(system)
        check_capability(self.scheme, model)
        program = self.scheme.compile(model)
        if not hasattr(program, "memory") or program.decides_step:
            raise MethodError(
                f"method {self.scheme.name!r} cannot follow contacts that are detected; rattle, moreau, theta, lobatto, "
                "generalized-alpha and half-explicit can"
            )
        for each in program.memory:
            if each.space in self.own and "." not in each.name and each.name != "gap_0":
                raise MethodError(
                    f"method {self.scheme.name!r} remembers {each.name!r} of every contact, which a detected one cannot have"
                )
        width = self.new.numbers.shape[1]
        values = np.concatenate([self.start.parameters, *[self._parked(place) for place in slots]])
        if len(values) != self.start.parameters.size + width * len(slots):
            raise ModelError(f"{self.system.name}: the parameters of detected contacts do not fit")
        start = self.start._replace(parameters=values, state=None)
        if state is not None:
            memory = {}
            extra = tuple(self.scheme.extra)
            for each in dict.fromkeys([*program.memory, *extra]):
                memory[each.name] = self._moved(each, state.memory[each.name], moved, len(old))
            start = start._replace(state=replace(state, memory=memory))
        self.rebuilds += 1
        if state is None:  # stages before the first step see the contacts, so they must be written before
            return self._started(program, start)
        self.inner = self.scheme.start(program, start)  # type: ignore[assignment]
        if not self._assign(int(self.new.found[0])):
            raise ModelError(f"{self.system.name}: detected contacts do not fit into the slots that were made for them")
        return self.inner

    def _started(self, program: Any, start: Start) -> ProgramRun:
        found, width, first = int(self.new.found[0]), self.new.numbers.shape[1], self.start.parameters.size
        free: dict[Place, list[int]] = {}
        for k in range(len(self.slots) - 1, -1, -1):
            free.setdefault(self.slots[k], []).append(k)
        values = start.parameters.copy()
        for c in range(found):
            k = free[int(self.new.kind[c]), int(self.new.body[c, 0]), int(self.new.body[c, 1])].pop()
            values[first + k * width : first + (k + 1) * width] = self.new.numbers[c]
            self.holds[k] = tuple(self.new.key[c].tolist())
        run = self.scheme.start(program, start._replace(parameters=values))
        self.slot_of = np.zeros(0, np.int64)
        return run  # type: ignore[return-value]

    def _moved(self, each: Field, values: np.ndarray, moved: list[int], count: int) -> np.ndarray:
        """A field of the last program, in the order of the slots of this one."""
        if each.space not in self.own:
            return values
        own, size = self.own[each.space], 1 if each.space is Space.N else self.slip
        old = values[own:].reshape(-1, size) if size and len(values) > own else np.zeros((count, size))
        new = np.zeros((len(moved), size))
        for k, before in enumerate(moved):
            if 0 <= before < len(old):
                new[k] = old[before]
        return np.concatenate([values[:own], new.ravel()])

    # -- columns -----------------------------------------------------------------------------------------------------

    def _space(self, name: str) -> Space | None:
        for each in (*RESULTS, *self.scheme.extra):
            if each.name == name:
                return each.space
        return None

    def _width(self, name: str, width: int) -> int:
        space = self._space(name)
        return width if space is None else self.own.get(space, width)

    def _own_columns(self, rows: np.ndarray) -> np.ndarray:
        """Rows without the columns of slots."""
        pieces, place = [], 0
        for name, width in self.inner.columns.items():
            pieces.append(rows[:, place : place + self._width(name, width)])
            place += width
        return np.hstack(pieces)

    def _own_part(self, each: Field, values: np.ndarray) -> np.ndarray:
        return values[: self.own[each.space]] if each.space in self.own else values

    # -- names and checks --------------------------------------------------------------------------------------------

    def _bodies(self) -> list[Carrier]:
        """In the order of the scene."""
        out: list[Carrier] = [ground]
        for shape in self.collisions.shapes:
            if not isinstance(shape.body, Ground) and not any(shape.body is other for other in out):
                out.append(shape.body)
        return out

    def _labels(self) -> list[str]:
        """Names of shapes: their body, with a number where it carries several."""
        names = [shape.body.name for shape in self.collisions.shapes]
        seen: dict[str, int] = {}
        out = []
        for name in names:
            k = seen.get(name, 0)
            seen[name] = k + 1
            out.append(name if names.count(name) == 1 else f"{name}[{k}]")
        return out

    def _require_apart(self, found: int, tolerance: float) -> None:
        """No shape begins inside another one."""
        if not found or self.new.gap[:found].min() >= -tolerance:
            return
        c = int(self.new.gap[:found].argmin())
        count = len(self.scene.shapes)
        labels = self._labels()
        first, second = labels[int(self.new.key[c, 0]) // count], labels[int(self.new.key[c, 0]) % count]
        raise InitialStateError(
            f"{self.system.name}: {first!r} and {second!r} begin inside each other, {-self.new.gap[c]:.3g} deep; move them "
            "apart, or name the pair in ignore= of Collisions"
        )

    def _warn(self, u: np.ndarray) -> None:
        """A scheme that holds contacts on velocity level lets a body pass that moves farther than it is thick."""
        for b, (kind, _, _, at) in enumerate(self.scene.bodies.tolist()):
            if kind == 0:
                continue
            reach = self.scene.reach[self.scene.shapes[:, 1] == b].min()
            way = float(np.linalg.norm(u[at : at + self.scene.dimension])) * self.start.dt
            if way > reach:
                name = self.bodies[b].name
                warnings.warn(
                    f"{name!r} moves {way:.3g} in a step of {self.start.dt:g}, farther than its radius {reach:.3g}; with "
                    f"method {self.scheme.name!r} it may pass through others. Take a smaller dt, or method='rattle'",
                    TunnellingWarning,
                    stacklevel=5,
                )
                self.watched = False
                return
