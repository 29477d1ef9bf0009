"""Runs of systems with switches: their rules are looked at between the steps, and may shorten a step to the event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from stickslip.engine.observe import observe
from stickslip.engine.run import ProgramRun
from stickslip.engine.runs import Rows, percussions
from stickslip.engine.state import State
from stickslip.errors import InitialStateError, MethodError, OptionError
from stickslip.model.declaration import TIME
from stickslip.model.system import System
from stickslip.native.kernel import compile_kernel
from stickslip.solve.prepared import Prepared

COLUMN = "switch."  # begins the names of columns with the values of switches
MEMORY = "switches"  # their values in a state
BISECTIONS = 40  # of a step: 1e-12 of it
MOST = 16  # events in one step; more are left to its end
SHORT = 1e-9  # of a step: what is left after an event at its end


class Rules:
    """The rules of all switches as one compiled function of rows (t, q, u)."""

    def __init__(self, system: System):
        self.switches = list(system.switches.values())
        names = list(system.parameter_symbols())
        self.places = np.array([names.index(s.name) for s in self.switches])
        self.latched = np.array([s.off is not None for s in self.switches])
        self.events = np.array([s.located == "event" for s in self.switches])
        q, u = ca.vertcat(*[b.q for b in system.blocks]), ca.vertcat(*[b.u for b in system.blocks])
        p = ca.vertcat(ca.SX(0, 1), *system.parameter_symbols().values())
        both = [ca.vertcat(s.on, s.on if s.off is None else s.off) for s in self.switches]
        self._kernel = compile_kernel(ca.Function("rules", [TIME, q, u, p], [ca.densify(ca.vertcat(*both))]))
        self._width = 1 + q.numel() + u.numel()

    def wanted(self, rows: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Whether each switch is to be on after each row, if before it has the value that `parameters` has."""
        from stickslip.engine.rows import along

        inputs = np.hstack([rows[:, : self._width], np.tile(parameters, (len(rows), 1))])
        out = np.empty((len(rows), 2 * len(self.switches)))
        over_rows: Any = along
        over_rows(self._kernel.address, self._kernel.n_in, self._kernel.n_out, inputs.ravel(), out.ravel())
        on, off = out[:, ::2] > 0, out[:, 1::2] > 0
        return np.where(self.latched, np.where(parameters[self.places] > 0, ~off, on), on)


def starting_values(
    system: System, values: np.ndarray, t: float, q: np.ndarray, u: np.ndarray, given: Any
) -> np.ndarray:
    """All parameters at the start of a run, switches as their rules say there."""
    if not system.switches:
        return values
    refuse_setting(system, given)
    rules = Rules(system)
    row = np.concatenate([[t], q, u])[None, :]
    out = values.copy()
    out[rules.places] = 0.0
    wanted = rules.wanted(row, out)[0]
    for switch, place, on in zip(rules.switches, rules.places.tolist(), wanted.tolist(), strict=True):
        out[place] = float(on if switch.start is None else switch.start)
    return out


def refuse_setting(system: System, given: Any) -> None:
    """Switches follow their rules."""
    for name in given or {}:
        if name in system.switches:
            raise OptionError(f"{system.name}: {name!r} is a switch, which follows its rule and cannot be set")


class SwitchingRun(ProgramRun):
    """A run whose parameters change as the rules of switches say; each row has a column with the value of each switch.

    Chunks of steps run as if nothing happened. If a rule asks for another value after one of them, the steps before are
    repeated, the switch is turned, and the scheme begins anew from there.
    """

    by_itself = False

    @classmethod
    def of(cls, run: Any, ready: Prepared, tolerance: float, state: State | None) -> SwitchingRun:
        """Take over a run that has not begun."""
        system = ready.model.system
        if not isinstance(run, ProgramRun) or run.program.decides_step:
            raise MethodError(
                f"{system.name} has switches, which need a method with steps of equal length, such as rattle"
            )
        out = object.__new__(cls)
        out.__dict__.update(run.__dict__)
        out.rules, out.ready, out.tolerance = Rules(system), ready, tolerance
        out.columns = run.columns | {f"{COLUMN}{s.name}": 1 for s in out.rules.switches}
        out.first_row = out.row = np.concatenate([run.first_row, out.values])
        if state is not None:
            out.state = state
            out.first_row = out.row
        return out

    rules: Rules
    ready: Prepared
    tolerance: float

    @property
    def values(self) -> np.ndarray:
        """1 or 0 for each switch."""
        return self.memory[self.rules.places]

    @property
    def state(self) -> State:
        """Where the run is, switches included."""
        own = ProgramRun.state.fget(self)  # type: ignore[attr-defined]
        return replace(own, memory={**own.memory, MEMORY: self.values})

    @state.setter
    def state(self, state: State) -> None:
        if MEMORY not in state.memory:
            raise OptionError("the state comes from a system without switches; give q0= and u0= instead")
        ProgramRun.state.fset(self, state)  # type: ignore[attr-defined]
        self.memory[self.rules.places] = state.memory[MEMORY]
        self.row = np.concatenate([self.row[: self.record.size], self.values])

    def restart(self, t: float, dt: float, q: np.ndarray, u: np.ndarray) -> None:
        """Begin anew from another state: rules are looked at there."""
        row = np.concatenate([[t], q, u])[None, :]
        self.memory[self.rules.places] = self.rules.wanted(row, self._parameters)[0]
        super().restart(t, dt, q, u)
        self.row = np.concatenate([self.row[: self.record.size], self.values])

    def look_ahead(self, dt: float) -> np.ndarray:
        """A step of another length, in the present mode."""
        return np.concatenate([super().look_ahead(dt), self.values])

    def step(self, count: int) -> Rows:
        """So many steps, with whatever is switched between them."""
        done: list[Rows] = []
        left = count
        while left and self.failure is None:
            before, counts = self.memory.copy(), self.counts
            place = (self.row, self.first, self.done)
            rows = super().step(left)
            if not len(rows.results):
                break
            wanted = self.rules.wanted(rows.results, self._parameters) != self.values
            turned = np.flatnonzero(wanted.any(axis=1))
            if not turned.size:
                done.append(self._wide(rows))
                left -= len(rows.results)
                continue
            k = int(turned[0])
            event = bool((wanted[k] & self.rules.events).any())
            self._awake()
            self.memory[:], self.counts, self.failure = before, counts, None
            self.row, self.first, self.done = place
            first = k if event else k + 1
            if first:
                done.append(self._wide(super().step(first)))
            if event:
                done.append(self._event_step())
            else:
                self._turn(self.row, self.t)
            left -= k + 1
        if not done:
            return Rows(
                np.zeros((0, self.row.size)), *(array[:0].copy() for array in (self._iterations, self._residuals))
            )
        out = Rows(*map(np.concatenate, zip(*done, strict=True)))
        self.row = out.results[-1]
        return out

    def _wide(self, rows: Rows) -> Rows:
        self.row = np.concatenate([self.row[: self.record.size], self.values])
        return rows._replace(results=np.hstack([rows.results, np.tile(self.values, (len(rows.results), 1))]))

    def _turn(self, row: np.ndarray, t: float) -> None:
        """Turn the switches as the rules say at a row, and begin anew there; time and counts go on."""
        clock, first, done, failure = self.clock, self.first, self.done, self.failure
        n_q, n_u = self.columns["q_1"], self.columns["u_1"]
        q, u = row[1 : 1 + n_q].copy(), row[1 + n_q : 1 + n_q + n_u].copy()
        before = self._parameters.copy()
        self.memory[self.rules.places] = self.rules.wanted(row[None, :], before)[0]
        self._check(t, q, u, before)
        ProgramRun.restart(self, t, clock.step, q, u)
        self.clock, self.first, self.done, self.failure = clock, first, done, self.failure or failure
        self.row = np.concatenate([row[: self.record.size], self.values])

    def _check(self, t: float, q: np.ndarray, u: np.ndarray, before: np.ndarray) -> None:
        """What is switched on must hold: nobody is moved in silence."""
        old, new = (
            observe(self.ready.observing, p, np.array([t]), q[None], u[None]) for p in (before, self._parameters)
        )
        names = self.ready.names
        remedy = (
            "switch it on where it holds: located='event' finds the time, or let it refer to the place where it begins"
        )
        for k, name in enumerate(names.g):
            if new["g"][0, k] != old["g"][0, k] and abs(new["g"][0, k]) > self.tolerance:
                raise InitialStateError(
                    f"t = {t:g}: constraint {name!r} is switched on, but is {new['g'][0, k]:.3g}; {remedy}"
                )
        for k, name in enumerate(names.contacts):
            if new["gap"][0, k] != old["gap"][0, k] and new["gap"][0, k] < -self.tolerance:
                raise InitialStateError(
                    f"t = {t:g}: contact {name!r} is switched on inside its obstacle, gap {new['gap'][0, k]:.3g}; {remedy}"
                )

    def _event_step(self) -> Rows:
        """One step of the grid, in pieces between events; its row has the percussions of all of them."""
        clock, begin = self.clock, self.t
        t, left, end = begin, clock.step, clock.start + (self.first + self.done + 1) * clock.step
        pieces: list[Rows] = []
        for _ in range(MOST):
            ahead = self._try(t, left)
            if ahead is None or not self._turns(ahead):
                break
            low, high = 0.0, left
            for _ in range(BISECTIONS):
                middle = (low + high) / 2
                row = self._try(t, middle)
                low, high = (low, middle) if row is None or self._turns(row) else (middle, high)
            if (piece := self.piece(t, high)) is None:
                break
            pieces.append(piece)
            t, left = t + high, left - high
            self.clock = clock
            self._turn(np.concatenate([pieces[-1].results[0], self.values]), t)
            if left < SHORT * clock.step:
                left = 0.0
                break
        rest = self.piece(t, left) if left > 0.0 else None
        self.clock = clock
        if rest is not None:
            pieces.append(rest)
        elif left > 0.0:
            self.failure = self._describe(max(0, int(np.argmax(self._residuals[0, : len(self.stages)]))), 0)
            nothing = (array[:0].copy() for array in (self._iterations, self._residuals))
            return Rows(np.zeros((0, self.record.size + self.values.size)), *nothing)
        results, iterations, residuals = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        summed, row = percussions(self.columns), results[-1].copy()
        row[summed], row[0] = results[:, summed].sum(axis=0), end
        self.row, self.done = np.concatenate([row, self.values]), self.done + 1
        return Rows(self.row[None, :], iterations.sum(axis=0, keepdims=True), residuals.max(axis=0, keepdims=True))

    def _turns(self, row: np.ndarray) -> bool:
        """Whether a switch that is located at its event has turned at a row."""
        wanted = self.rules.wanted(row[None, :], self._parameters)[0] != self.values
        return bool((wanted & self.rules.events).any())

    def _try(self, t: float, dt: float) -> np.ndarray | None:
        """The row of a step of this length; the run stays where it is."""
        before, clock = self.memory.copy(), self.clock
        self._awake()
        piece = self.piece(t, dt)
        self._awake()
        self.memory[:], self.clock = before, clock
        return None if piece is None else piece.results[0]


def switch_columns(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The values of switches, taken out of the columns of a run."""
    names = [name for name in columns if name.startswith(COLUMN)]
    return {name.removeprefix(COLUMN): columns.pop(name)[:, 0] for name in names}
