"""A run whose contacts are detected at the start of every step.

A detected contact is an instance of a part type: a kind of contact between two kinds of bodies (`collide.templates`). The
program has room for so many of each, and any two bodies can take any row of it. Detection and the writing of rows are compiled.
Only when a room is full, or a type is met for the first time, is the program assembled anew, with half as much room again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.detected import DetectedContacts
from stickslip.engine.failure import Failure
from stickslip.engine.fields import DT, PERCUSSIONS, T_0, T_1, Space
from stickslip.engine.program import Program
from stickslip.engine.run import ProgramRun
from stickslip.engine.runs import CHUNK_ROWS, Rows, Start
from stickslip.engine.state import State
from stickslip.errors import MethodError, ModelError, OptionError
from stickslip.model.collisions import collisions_of
from stickslip.model.system import System
from stickslip.patience import Abandoned
from stickslip.schemes import Scheme
from stickslip.solve.contact_rooms import CODES, GIVEN, enough, places_of_a_step, program_with_rooms
from stickslip.solve.contact_search import KEPT, MANY_BODIES, PLACES, ContactSearch
from stickslip.solve.detection import detection_of
from stickslip.solve.found import ContactTable
from stickslip.solve.overlaps import pair_of

ROOMS = "contacts.rooms"  # what a state holds besides the fields of the program and what the search keeps


class DetectingRun(ProgramRun):
    """A run of a program whose contacts come and go; see the module's docstring."""

    by_itself = False

    _crowd: Any
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
        self.labels, self._calls = detection.labels, detection.calls
        self.search = ContactSearch(detection, detection.scene(parameters))
        self.frictional = bool(self.search.scene.laws[:, :, 0].any())
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
            looked = self.search.look_at_start(system.name, start, initial_tol)
            self._rooms = dict(looked.rooms)
            self.search.forget(looked.found)
            self.search.neighbours = looked.neighbours
        elif ROOMS not in start.state.memory:
            raise OptionError("start= is a state without detected contacts; give q0=state.q and u0=state.u instead")
        else:
            self._rooms = dict(start.state.memory[ROOMS].tolist())
            self.search.forget(len(start.state.memory[PLACES]))
        super().__init__(self._assembled(), start, scheme.extra)

    def check(self, q: np.ndarray, u: np.ndarray, tolerance: float) -> None:
        """Whether nothing is inside of something else in another state; the run stays where it is."""
        search = ContactSearch(self.search.detection, self.search.scene)
        search.require_apart(self.system.name, q, u, self.clock.step, tolerance)

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
            return self._missed.step(self, self._advance)
        self.detect()
        try:
            return self._advance()
        except Abandoned:
            self.search.take_frames_back()
            raise

    def _advance(self) -> Rows:
        """One step with the contacts that were found."""
        rows = super().step(1)
        if self.failure is None and not len(rows.results):
            raise Abandoned  # it was given up while it was subdivided
        return rows

    def detect(self, further: np.ndarray | None = None) -> None:
        """Find the contacts of the next step; `further` ones are added, see `solve.missed`."""
        self._detect(self.clock.step, further)
        self.crowd = self._crowd_for(self.search.count)
        self.work.near[0] = 0.0
        if self.crowd is not None:
            self.crowd.expect(float(self.search.room.fastest[0]), self.clock.step)

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
        self.search.new.found[0] = 0
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

        if self.solver != "auto" or (count < FEW and len(self.search.scene.bodies) < MANY_BODIES):
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
        search = self.search
        search.borrow(self.work.outputs)
        n = search.look(*self._state(), dt, 0 if further is None else len(further))
        if further is not None and len(further):
            n = search.add(further)
        while not self._assign():
            self._grow()
        which, starts, before = (array[:n] for array in search.rows)
        place = np.ascontiguousarray(search.new.place[:n, 1])
        self._calls.write_contacts(self._homes, self.tables.dofs, self.memory, which, place, starts, before)
        self._calls.write_numbers(search.scene, search.room, search.new, self._places, self.memory)
        for code, k in zip(self._rooms, self._homes.types[:, KIND].tolist(), strict=True):
            self.tables.kinds["count"][k] = self._counts[code]
        for f in self._given.values():
            self.memory[(self._homes.fields[f, which, 0] + place)[before < 0]] = 1.0

    def _assign(self) -> bool:
        types, search = (self._type_of, self._capacity), self.search
        return bool(self._calls.assign(search.scene, *types, search.old, search.new, self._counts, *search.rows))

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
            self.search.scene.laws[:] = laws
            self._law_values = values.copy()

    def _report(self, *state: np.ndarray) -> np.ndarray:
        """What the contacts did in a step, from the velocities before and the state after it."""
        from stickslip.collide.report import WIDTH

        search = self.search
        out = np.empty((search.count, WIDTH))
        u_0, q_1, u_1 = map(np.ascontiguousarray, state)
        self._calls.report(search.scene, search.room, search.new, self._places, self.memory, u_0, q_1, u_1, out)
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
        self._places = np.zeros((CODES, 5), np.int64)  # see `collide.rows.P_N_0`
        results = rooms_of(program, [PERCUSSIONS.N, PERCUSSIONS.F]).fields
        for t, code in enumerate(self._rooms):
            self._places[code] = results[0, t, 0], *results[1, t], *self._homes.types[t, [NUMBERS_0, NUMBERS]]

    def _grow(self) -> None:
        """Assemble the program anew, with room for what is there; the memory moves over."""
        for code in np.flatnonzero(self._counts).tolist():
            if self._counts[code] > self._rooms.get(code, 0):
                self._rooms[code] = enough(int(self._counts[code]), len(self.search.scene.bodies))
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
        own = super().state
        rooms = np.array(list(self._rooms.items()), np.int64).reshape(-1, 2)
        return replace(own, memory={**own.memory, ROOMS: rooms, **self.search.state})

    @state.setter
    def state(self, state: State) -> None:
        if ROOMS not in state.memory:
            raise OptionError(f"{state!r} has no detected contacts, which this system has")
        rooms = dict(state.memory[ROOMS].tolist())
        if rooms != self._rooms:
            self._rooms = rooms
            self._replace(self._assembled())
        own = {name: array for name, array in state.memory.items() if name not in (ROOMS, *KEPT)}
        ProgramRun.state.fset(self, replace(state, memory=own))  # type: ignore[attr-defined]
        self._homes.used[:] = self._capacity  # any row may have a value now
        self.search.state = state.memory

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
                    new = self.search.new
                    mine = (new.place[: self.search.count] == (code, place)).all(axis=1)
                    names += [" - ".join(pair_of(self.labels, new, c)) for c in np.flatnonzero(mine).tolist()]
        return failure._replace(rows=tuple(declared), names=tuple(dict.fromkeys(names)))
