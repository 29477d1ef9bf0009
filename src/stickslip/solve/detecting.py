"""A run whose contacts are detected at the start of every step.

A detected contact is an instance of a part type: a kind of contact between two kinds of bodies (`collide.templates`). The
program has room for so many of each, and any two bodies can take any row of it. Detection and the writing of rows are compiled.
Only when a room is full, or a type is met for the first time, is the program assembled anew, with half as much room again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stickslip.detected import DetectedContacts
from stickslip.engine.failure import Failure
from stickslip.engine.fields import DT, PERCUSSIONS, T_0, T_1, Space
from stickslip.engine.program import Program
from stickslip.engine.run import ProgramRun
from stickslip.engine.runs import CHUNK_ROWS, Rows, Start
from stickslip.engine.state import State
from stickslip.engine.tables import INDEX
from stickslip.errors import MethodError, ModelError, OptionError
from stickslip.model.collisions import collisions_of
from stickslip.model.system import System
from stickslip.pages import zeros
from stickslip.patience import Abandoned
from stickslip.schemes import Scheme
from stickslip.solve.checks import digest
from stickslip.solve.contact_rooms import CODES, GIVEN, enough, places_of_a_step, program_with_rooms
from stickslip.solve.detection import Looked, detection_of
from stickslip.solve.found import ContactTable
from stickslip.solve.overlaps import nudged, pair_of, require_apart

MANY_BODIES = 200  # are swept whatever contacts there are: most of them are free
FIRST_ROOM = 64  # contacts
NEAR_SHAPES = 0.5  # of the smallest shape: contacts of many bodies that are so close will soon be there
# What a state holds besides the fields of the program.
ROOMS, PLACES, KEYS, TANGENTS = (f"contacts.{name}" for name in ("rooms", "places", "keys", "tangents"))


class DetectingRun(ProgramRun):
    """A run of a program whose contacts come and go; see the module's docstring."""

    by_itself = False

    _crowd: Any
    _room: Any
    _scratch: Any
    _past_crowds: list[Any]
    _fixed: list[slice]
    _moving: list[tuple[int, int, int]]

    def __init__(
        self, system: System, scheme: Scheme, start: Start, parameters: Mapping[str, float], initial_tol: float
    ):
        collisions = collisions_of(system)
        if collisions is None:
            raise ModelError(f"{system.name}: there is nothing to detect; it has no Collisions")
        if type(scheme).compile is not Scheme.compile:
            raise MethodError(
                f"method {scheme.name!r} is not a program of stages, and cannot follow contacts that are detected"
            )
        self.system, self.scheme, self.collisions = system, scheme, collisions
        self._detection = detection = detection_of(system, collisions)
        self.scene, self.labels, self._calls = detection.scene(parameters), detection.labels, detection.calls
        self.frictional = bool(self.scene.laws[:, :, 0].any())
        self.found: list[tuple[int, np.ndarray]] = []  # steps and their contacts, of the last call of `step`
        self._law_values = start.parameters[detection.law_names].copy()
        on_velocities = getattr(scheme.facts, "contact_level", "") != "position"
        self._fast = detection.fast() if on_velocities else None
        exact = start.tol * (1.0 if start.sizes is None else float(start.sizes["", True][0]))
        self._missed = None if on_velocities else detection.missed(exact)
        self._counts = np.zeros(CODES, np.int64)
        self._crowd, self._past_crowds = None, []
        self._rooms: dict[int, int]  # capacity by code
        self.rebuilds = -1
        if start.state is None:
            looked = self._look_at(start, initial_tol)
            self._rooms = dict(looked.rooms)
            self._forget(looked.found)
        elif ROOMS not in start.state.memory:
            raise OptionError("start= is a state without detected contacts; give q0=state.q and u0=state.u instead")
        else:
            self._rooms = dict(start.state.memory[ROOMS].tolist())
            self._forget(len(start.state.memory[PLACES]))
        super().__init__(self._assembled(), start, scheme.extra)

    def _forget(self, count: int = 0) -> None:
        """All contacts and neighbours, as before the first look; there is room for so many contacts."""
        from stickslip.collide.broad import nobody
        from stickslip.collide.scene import beside, empty_contacts

        size = max(FIRST_ROOM, enough(count))
        self._new = empty_contacts(size)
        self._old = beside(self._new)
        self._make_room(size)
        self._known = nobody(len(self.scene.shapes))

    def _look_at(self, start: Start, initial_tol: float) -> Looked:
        """What there is at the start, where nothing may be inside of something else; a system is looked at once."""
        key = digest(start.q), digest(start.u), start.dt, initial_tol
        looked = self._detection.looked(key)
        if looked is None:
            self._require_apart(start.q, start.u, start.dt, initial_tol)
            found = int(self._new.found[0])
            looked = Looked(tuple(self._first_rooms(start).items()), found)
            self._detection.remember(key, looked)
        return looked

    def _require_apart(self, q: np.ndarray, u: np.ndarray, dt: float, tolerance: float) -> None:
        for each in (nudged(self.scene, q, tolerance), q):
            if each is not None:
                self._forget()
                self._look(each, u, dt)
                require_apart(self.system.name, self.scene, self._room, self._new, self.labels, tolerance)

    def check(self, q: np.ndarray, u: np.ndarray, tolerance: float) -> None:
        """Whether nothing is inside of something else in another state; the run stays where it is."""
        kept = self._new, self._old, self._known, self._room, self._scratch
        try:
            self._require_apart(q, u, self.clock.step, tolerance)
        finally:
            self._new, self._old, self._known, self._room, self._scratch = kept

    def _first_rooms(self, start: Start) -> dict[int, int]:
        """Room for the contacts that there are at the start; of many bodies also for those that will soon be."""
        from stickslip.collide.broad import nobody

        scene, bodies = self.scene, len(self.scene.bodies)
        if bodies >= MANY_BODIES:
            near = NEAR_SHAPES * float(scene.reach[np.isfinite(scene.reach)].min(initial=np.inf))
            self.scene = scene._replace(skin=max(scene.skin, near if np.isfinite(near) else 0.0))
            self._known = nobody(len(scene.shapes))
            self._look(start.q, start.u, start.dt)
        n = int(self._new.found[0])
        first, second = scene.bodies[self._new.body[:n], 0].T
        counts = np.bincount((self._new.kind[:n] * 4 + first) * 4 + second, minlength=CODES)
        self.scene = scene
        heap = 0 if bodies >= MANY_BODIES else bodies  # of many bodies those that may come are counted already
        return {code: enough(int(counts[code]), heap) for code in np.flatnonzero(counts).tolist()}

    # -- steps -------------------------------------------------------------------------------------------------------

    def step(self, count: int) -> Rows:
        """So many steps, each of which begins with detection; `found` reports the contacts of each."""
        before, begin = self.seconds, time.perf_counter()
        self.found, pieces = [], []
        for _ in range(min(count, CHUNK_ROWS)):
            u_0 = self._state()[1].copy()
            if self._fast is not None:
                self._fast.warn(u_0, self.clock.step, self.scheme.name)
            try:
                pieces.append(self._one_step(u_0))
            except Abandoned:
                if not pieces:
                    raise
                break
            if self.failure is not None:
                break
            self.found.append((self.first + self.done, self._report(u_0, *self._state())))
        self.row = self.row.copy()  # alone: it is part of two rows
        self.seconds = before + time.perf_counter() - begin
        return Rows(*[np.concatenate(part) for part in zip(*pieces, strict=True)])

    def _one_step(self, u_0: np.ndarray) -> Rows:
        if self._missed is not None and self._missed.may(u_0, self.clock.step):
            return self._missed.step(self, partial(ProgramRun.step, self, 1))
        self.detect()
        try:
            return super().step(1)
        except Abandoned:  # the next detection finds the same contacts, and turns the same friction frames along
            n, before = int(self._new.found[0]), self._new.before
            old = self._old.tangent[np.maximum(before[:n], 0)]
            self._new.tangent[:n] = np.where(before[:n, None] >= 0, old, (1.0, 0.0, 0.0))
            raise

    def detect(self, further: np.ndarray | None = None) -> None:
        """Find the contacts of the next step; `further` ones are added, see `solve.missed`."""
        self._detect(self.clock.step, further)
        self.crowd = self._crowd_for(int(self._new.found[0]))
        self.work.near[0] = 0.0
        if self.crowd is not None:
            self.crowd.expect(float(self._room.fastest[0]), self.clock.step)

    def keys(self) -> set[tuple[int, ...]]:
        """Which contacts the present step knows: their keys and kinds."""
        n = int(self._new.found[0])
        return set(map(tuple, np.column_stack([self._new.key[:n], self._new.kind[:n]]).tolist()))

    @property
    def start_poses(self) -> Any:
        """Where bodies are at the start of the step whose contacts were found last."""
        return self._room

    def look_around(self) -> None:
        """Find the contacts of the next step."""
        self._detect(self.clock.step)

    def look_ahead(self, dt: float) -> np.ndarray:
        """The row of a step of another length from here; the run stays where it is."""
        state, first, done, before = self.state, self.first, self.done, self.row
        self._detect(dt)
        row = super().look_ahead(dt)
        self.state = state
        self.first, self.done, self.row = first, done, before
        return row

    def _looked(self, row: np.ndarray) -> None:
        n_q, n_u = self.columns["q_1"], self.columns["u_1"]
        after = row[1 : 1 + n_q], row[1 + n_q : 1 + n_q + n_u]
        self.found = [(self.first + self.done + 1, self._report(self._state()[1], *after))]

    def restart(self, t: float, dt: float, q: np.ndarray, u: np.ndarray) -> None:
        """Begin anew from another state, at another time, with another step; contacts are found anew."""
        self._new.found[0] = 0
        super().restart(t, dt, q, u)

    def table(self, every: int, first: int | None = None) -> ContactTable:
        """An empty table for the contacts that are found from now on, or after the step with the number `first`."""
        first = self.first + self.done if first is None else first
        return ContactTable(self.labels, self.collisions.dimension, every, first)

    @property
    def contacts(self) -> DetectedContacts:
        """The contacts of the last step."""
        table = self.table(1, self.first + self.done - 1)
        table.take(self.found[-1:])
        return table.table()

    def _crowd_for(self, count: int) -> Any:
        """What solves stages with so many contacts before Newton's method is asked, if they are many."""
        from stickslip.engine.crowd import FEW, Crowd

        if self.solver != "auto" or (count < FEW and len(self.scene.bodies) < MANY_BODIES):
            return None
        if self._crowd is None:
            self._crowd = Crowd(self.program)
        return self._crowd

    @property
    def swept(self) -> dict[str, int]:
        """How many stages with many contacts were solved by sweeps, and by what comes after them."""
        crowds = [*self._past_crowds, self._crowd] if self._crowd is not None else self._past_crowds
        out: dict[str, int] = {"contact sweeps": sum(crowd.stages for crowd in crowds)}
        for crowd in crowds:
            for means, count in crowd.after_cap.items():
                name = f"contact sweeps, then {means}"
                out[name] = out.get(name, 0) + count
        return out

    def _snapshot(self) -> list[tuple[slice, np.ndarray]]:
        """What a step reads before it writes it, of the contacts that there are: rooms may be far larger."""
        taken, counts = list(self._fixed), self.tables.kinds["count"].tolist()
        taken += [slice(first, first + counts[k] * size) for k, first, size in self._moving if counts[k]]
        return [(where, self.memory[where].copy()) for where in taken]

    def _back(self, snapshot: list[tuple[slice, np.ndarray]]) -> None:
        for where, values in snapshot:
            self.memory[where] = values

    def _begin(self) -> None:
        self._detect(self.clock.step)  # stages before the first step see the contacts
        super()._begin()

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        n_q, n_u = self.columns["q_1"], self.columns["u_1"]
        return self.row[1 : 1 + n_q], self.row[1 + n_q : 1 + n_q + n_u]

    def _detect(self, dt: float, further: np.ndarray | None = None) -> None:
        """Find the contacts of this state, add further ones, and write them to the rows of the program."""
        from stickslip.engine.rooms import KIND

        self._follow_laws()
        rows, outputs = self._room.rows, self.work.outputs
        if outputs.size >= rows.size:  # nobody needs both at the same time
            self._room = self._room._replace(rows=outputs[: rows.size].reshape(rows.shape))
        n = self._look(*self._state(), dt, 0 if further is None else len(further))
        if further is not None and len(further):
            from stickslip.collide.detect import append

            n = append(self.scene, self._room, self._new, further)
        while not self._assign():
            self._grow()
        which, starts, before = (array[:n] for array in self._scratch)
        place = np.ascontiguousarray(self._new.place[:n, 1])
        self._calls.write_contacts(self._homes, self.tables.dofs, self.memory, which, place, starts, before)
        self._calls.write_numbers(self.scene, self._room, self._new, self._places, self.memory)
        for code, k in zip(self._rooms, self._homes.types[:, KIND].tolist(), strict=True):
            self.tables.kinds["count"][k] = self._counts[code]
        for f in self._given.values():
            self.memory[(self._homes.fields[f, which, 0] + place)[before < 0]] = 1.0

    def _look(self, q: np.ndarray, u: np.ndarray, dt: float, spare: int = 0) -> int:
        """Detect; there is room for all contacts afterwards, and for so many more."""
        from stickslip.collide.detect import STALE
        from stickslip.collide.scene import beside, empty_contacts

        q, u = np.ascontiguousarray(q), np.ascontiguousarray(u)
        self._old, self._new = self._new, self._old
        if len(self._new.gap) != len(self._old.gap):
            self._new = beside(self._old)
        while True:
            n = int(self._calls.detect(self.scene, self._room, self._known, q, u, dt, self._old, self._new))
            if n == STALE:
                self._known = self._calls.find_neighbours(self.scene, self._room, dt)
            elif abs(n) + spare > min(len(self._room.rows), len(self._new.gap)):
                self._make_room(enough(abs(n) + spare))
                self._new = empty_contacts(enough(abs(n) + spare))
            else:
                return n

    def _make_room(self, count: int) -> None:
        from stickslip.collide.detect import room_for

        self._room = room_for(self.scene, count, self._detection.functions)
        self._scratch = tuple(zeros(shape, INDEX) for shape in (count, (count, 4), count))

    def _assign(self) -> bool:
        types = self._type_of, self._capacity
        return bool(self._calls.assign(self.scene, *types, self._old, self._new, self._counts, *self._scratch))

    def _follow_laws(self) -> None:
        """Friction and restitution are parameters, which a stepper may change."""
        values = self.memory[self._detection.law_names]
        if (values != self._law_values).any():
            given = {name: float(self.memory[k]) for k, name in enumerate(self.system.parameter_symbols())}
            laws = self.collisions.law_values(given)
            if laws[:, :, 0].any() and not self.frictional:
                raise ModelError(
                    f"{self.system.name}: friction of {self.collisions.name!r} was 0 at the start, so there is none; give "
                    "it a value > 0 there"
                )
            self.scene.laws[:] = laws
            self._law_values = values.copy()

    def _report(self, *state: np.ndarray) -> np.ndarray:
        """What the contacts did in a step, from the velocities before and the state after it."""
        from stickslip.collide.report import WIDTH

        out = np.empty((int(self._new.found[0]), WIDTH))
        u_0, q_1, u_1 = map(np.ascontiguousarray, state)
        self._calls.report(self.scene, self._room, self._new, self._places, self.memory, u_0, q_1, u_1, out)
        return out

    # -- programs ----------------------------------------------------------------------------------------------------

    def _assembled(self) -> Program:
        """The program with these rooms."""
        self.rebuilds += 1
        return program_with_rooms(self.system, self.scheme, self._rooms, self.collisions.dimension, self.frictional)

    def _use(self, program: Program) -> None:
        """Rows that can be changed, and where the contacts lie in them."""
        from stickslip.engine.detected import own_tables
        from stickslip.engine.rooms import CAPACITY, NUMBERS, NUMBERS_0, rooms_of

        counts = self.work.solved_by if hasattr(self, "work") else 0
        super()._use(program)
        self.work.solved_by[:] += counts
        if self._crowd is not None:
            self._crowd.leave()
            self._past_crowds.append(self._crowd)
        self.tables, self._crowd = own_tables(program), None
        self._fixed, self._moving = places_of_a_step(program, list(self.remembered))
        fields = [each for each in self.remembered if each.space in (Space.N, Space.F)]
        self._homes, names = rooms_of(program, fields), [each.name for each in fields]
        self._homes.used[:] = 0  # the memory is blank
        self._given = {name: names.index(name) for name in GIVEN if name in names}
        self._type_of, self._capacity = np.full(CODES, -1), self._homes.types[:, CAPACITY].copy()
        self._type_of[list(self._rooms)] = np.arange(len(self._rooms))
        self._places = np.zeros((CODES, 5), np.int64)  # see `detect.P_N_0`
        results = rooms_of(program, [PERCUSSIONS.N, PERCUSSIONS.F]).fields
        for t, code in enumerate(self._rooms):
            self._places[code] = results[0, t, 0], *results[1, t], *self._homes.types[t, [NUMBERS_0, NUMBERS]]

    def _grow(self) -> None:
        """Assemble the program anew, with room for what is there; the memory moves over."""
        for code in np.flatnonzero(self._counts).tolist():
            if self._counts[code] > self._rooms.get(code, 0):
                self._rooms[code] = enough(int(self._counts[code]), len(self.scene.bodies))
        self._rooms = dict(sorted(self._rooms.items()))
        self._replace(self._assembled())

    def _replace(self, program: Program) -> None:
        """Go on with another program, in which all contacts have the rows that they had."""
        old, memory, rooms = self.program, self.memory, self._homes
        codes = {code: int(t) for code, t in enumerate(self._type_of) if t >= 0}
        self._use(program)
        n = old.layout.parameters
        self.memory[:n] = memory[:n]
        moved = [each for each in self.remembered if each.space in (Space.N, Space.F)]
        for each in dict.fromkeys([*self.remembered, *old.layout.start]):
            if each in program.layout.start:
                size = program.numbering.declared[each.space]
                self.memory[program.layout.places(each)[:size]] = memory[old.layout.places(each)[:size]]
        for f in range(len(moved)):
            for code, t in codes.items():
                now = self._type_of[code]
                if now >= 0:  # a state of less room may have been set
                    first, size = rooms.fields[f, t]
                    self._homes.used[now] = rows = min(rooms.used[t], self._capacity[now])
                    to, count = self._homes.fields[f, now, 0], rows * size
                    self.memory[to : to + count] = memory[first : first + count]
        places = (program.layout.start[each] for each in (T_0, T_1, DT))
        self.clock = self.clock._replace(**dict(zip(("t_0", "t_1", "dt"), places, strict=True)))

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Where the run is, with the contacts of the last step."""
        own, new, n = super().state, self._new, int(self._new.found[0])
        memory = dict(own.memory)
        memory[ROOMS] = np.array(list(self._rooms.items()), np.int64).reshape(-1, 2)
        memory[PLACES], memory[KEYS] = new.place[:n].copy(), np.column_stack([new.kind[:n], new.key[:n]])
        memory[TANGENTS] = new.tangent[:n].copy()
        return replace(own, memory=memory)

    @state.setter
    def state(self, state: State) -> None:
        from stickslip.collide.scene import empty_contacts

        if ROOMS not in state.memory:
            raise OptionError(f"{state!r} has no detected contacts, which this system has")
        rooms = dict(state.memory[ROOMS].tolist())
        if rooms != self._rooms:
            self._rooms = rooms
            self._replace(self._assembled())
        own = {name: array for name, array in state.memory.items() if name not in (ROOMS, PLACES, KEYS, TANGENTS)}
        ProgramRun.state.fset(self, replace(state, memory=own))  # type: ignore[attr-defined]
        self._homes.used[:] = self._capacity  # any row may have a value now
        n = len(state.memory[PLACES])
        if n > len(self._new.gap):
            self._new = empty_contacts(enough(n))
            self._make_room(enough(n))
        self._new.found[0], self._new.place[:n] = n, state.memory[PLACES]
        self._new.kind[:n], self._new.key[:n] = state.memory[KEYS][:, 0], state.memory[KEYS][:, 1:]
        self._new.tangent[:n] = state.memory[TANGENTS]

    # -- names --------------------------------------------------------------------------------------------

    def _describe(self, failed: int, row: int) -> Failure:
        """Names of detected contacts instead of their rows, which come and go."""
        failure, declared, names = super()._describe(failed, row), [], []
        numbering = self.program.numbering
        for space, i in failure.rows:
            if i < numbering.declared[space]:
                declared.append((space, i))
                continue
            for code, kind in zip(self._rooms, (k for k in numbering.kinds if k.detected), strict=True):
                place = (i - kind.own[space]) // max(kind.type.n[space], 1)
                if 0 <= place < kind.capacity:
                    n = int(self._new.found[0])
                    mine = (self._new.place[:n] == (code, place)).all(axis=1)
                    names += [" - ".join(pair_of(self.labels, self._new, c)) for c in np.flatnonzero(mine).tolist()]
        return failure._replace(rows=tuple(declared), names=tuple(dict.fromkeys(names)))
