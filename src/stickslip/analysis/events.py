"""Events of a solution: impacts, contacts that close and open, friction that sticks and slips, and accumulation points.

A scheme that captures events does not report them; they are read off the trajectory, by rules that need no scheme:

- A contact gains the speed v_res = 2 a dt in two steps by itself, with the median a of |d gap_dot/dt| over the steps
  in which it carries nothing. What happens at lower speeds cannot be told from persistent contact.
- impact: a percussion P_N acts in a step that begins with an approach faster than v_res. Where the velocity still jumps in the
  step after it, velocities are means over several steps (schatzman-paoli): then consecutive steps are one impact, and what
  the velocity jumps to counts as the one after it.
- closed: from a percussion with |gap_dot| <= v_res after it, as long as |gap_dot| stays so low and percussions act or
  the gap is below v_res dt. closing and opening are the changes.
- A closed contact sticks where |slip| is below 1 % of the median change of slip a step, and slips elsewhere. stick,
  slip and reversal (slip turns round within one step) are the changes. Friction without a normal contact is always
  closed.

No threshold is below ten times the tolerance of the run. Two shapes whose contacts are detected are one contact, under the
names of both; a corner that strikes while another one carries is an impact of it, too.

Times are those of the motion without contact, continued to second order: an impact where the gap vanishes, the
beginning of stick where slip does. Impacts that accumulate follow a geometric series,

    t_{k+1} = r t_k + (1 - r) t_inf,

a line in the (t_k, t_{k+1}) plane that is fitted by least squares; its fixed point is the accumulation point t_inf.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np

from stickslip.analysis.pairs import Landing, landings, pairs_as_contacts
from stickslip.errors import OptionError, unknown_name
from stickslip.notebook import ShownAsText
from stickslip.solution import Solution

KINDS = ("impact", "closing", "opening", "stick", "slip", "reversal")
FEWEST_IMPACTS = 4  # of an accumulation: two ratios of intervals to compare
STEADY = 10  # intervals that shrink by less than so many deviations from a geometric series may not shrink for ever


@dataclass(frozen=True)
class Event:
    """One event: what happened, when, at which contact, in the step that ends in row `step`.

    `percussion` is P_N of that step for impacts, closing and opening, and |P_F| for friction. `before` and `after` are
    gap_dot, or |slip|, at the start and the end of the step.
    """

    time: float
    kind: str
    contact: str
    step: int
    percussion: float
    before: float
    after: float


@dataclass(frozen=True)
class Accumulation:
    """An accumulation point of impacts: where they converge to, at which ratio, from how many impacts it was found.

    `error` is the largest deviation of an impact from the geometric series.
    """

    time: float
    contact: str
    ratio: float
    impacts: int
    error: float


@dataclass(frozen=True)
class Events(ShownAsText, Sequence[Event]):
    """The events of a solution in the order of their times, and the accumulation points among them; prints as a table.

    >>> import stickslip as ss
    >>> found = ss.events(ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.2, dt=1e-3))
    >>> print(found)
            t  event    contact   percussion   before    after
     0.451524  impact   floor       0.775235  -4.4243   3.3182
     1.128500  impact   floor       0.580813  -3.3133   2.4850
    """

    all: tuple[Event, ...]
    accumulations: tuple[Accumulation, ...] = field(default=())
    every: int = 1  # steps between two rows of the solution (`save_every`)
    contacts: tuple[str, ...] = field(default=(), repr=False)  # of the solution, and its elements of friction
    shapes: tuple[str, ...] = field(default=(), repr=False)  # whose contacts were detected

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Events: ...
    def __getitem__(self, index: int | slice) -> Event | Events:
        if isinstance(index, slice):
            return replace(self, all=self.all[index])
        return self.all[index]

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.all)

    def of(self, kind: str | None = None, contact: str | None = None) -> Events:
        """The events of one kind, or at one contact, or both. Two shapes may be named in either order.

        >>> Events(()).of("impact")
        Events(all=(), accumulations=(), every=1)
        """
        if kind is not None and kind not in KINDS:
            raise OptionError(f"there are no events of the kind {kind!r}; there are {', '.join(KINDS)}")
        contact = None if contact is None else self._known(contact)
        chosen = tuple(e for e in self.all if kind in (None, e.kind) and contact in (None, e.contact))
        return replace(
            self, all=chosen, accumulations=tuple(a for a in self.accumulations if contact in (None, a.contact))
        )

    def _known(self, contact: str) -> str:
        """A contact by its name in the solution; shapes that never came near each other have none, and no events."""
        first, _, second = str(contact).partition(" - ")
        for name in (contact, f"{second} - {first}"):
            if name in self.contacts:
                return name
        if not {first, second} <= set(self.shapes):
            raise OptionError(unknown_name("contact", contact, self.contacts))
        return contact

    @property
    def times(self) -> np.ndarray:
        """The times of all events."""
        return np.array([e.time for e in self.all])

    def __str__(self) -> str:
        width = max([7, *[len(e.contact) for e in self.all]])
        lines = [f"{'t':>9}  {'event':8} {'contact':{width}}  {'percussion':>11} {'before':>8} {'after':>8}"]
        for e in self.all:
            numbers = f"{e.percussion:11.6g} {e.before:8.4f} {e.after:8.4f}"
            lines.append(f"{e.time:9.6f}  {e.kind:8} {e.contact:{width}}  {numbers}")
        for a in self.accumulations:
            lines.append(
                f"{a.time:9.6f}  accumulation of impacts at {a.contact}, from {a.impacts} impacts, ratio {a.ratio:.4f}"
            )
        if self.every > 1:
            lines.append(
                f"rows are {self.every} steps apart: velocities before and after are those of rows, not of the step"
            )
        return "\n".join(lines)


def events(solution: Solution) -> Events:
    """Read the events off a solution; the module's docstring has the rules.

    >>> import stickslip as ss
    >>> found = ss.events(ss.solve(ss.benchmarks.rotating_bouncing_ball(case=2), t_end=1.0, dt=1e-3))
    >>> [e.kind for e in found]
    ['impact', 'closing', 'slip', 'stick']
    """
    if not isinstance(solution, Solution):
        raise OptionError(f"events are read off a Solution, got {solution!r}")
    shapes = () if solution.contacts is None else solution.contacts.labels
    if len(solution) < 2:
        return Events((), contacts=(*solution.names.contacts, *solution.names.friction), shapes=shapes)
    landed = landings(solution, _tolerance(solution))
    solution = pairs_as_contacts(solution)
    found: list[Event] = []
    accumulations: list[Accumulation] = []
    closed = np.zeros(solution.gap.shape, bool)
    for k, name in enumerate(solution.names.contacts):
        impacts, closed[:, k] = _normal_contact(solution, k)
        impacts = _with_landings(impacts, name, landed.get(name, []), solution.P_N[:, k])
        changes = _closings_and_openings(solution, k, closed[:, k], impacts)
        accumulations += _accumulations(name, impacts)
        found += impacts + changes
    closing_times = {(e.contact, e.step): e.time for e in found if e.kind == "closing"}
    for k in range(len(solution.names.friction)):
        contact = solution.names.friction_contact[k]
        active = closed[:, contact] if contact >= 0 else np.ones(len(solution), bool)
        found += _friction(solution, k, active, closing_times)
    order = {kind: k for k, kind in enumerate(KINDS)}
    found.sort(key=lambda e: (e.time, e.step, order[e.kind]))
    every = int(solution.provenance.get("save_every", 1))
    known = (*solution.names.contacts, *solution.names.friction)
    return Events(tuple(found), tuple(sorted(accumulations, key=lambda a: a.time)), every, known, shapes)


def _tolerance(solution: Solution) -> float:
    return 10 * float(solution.provenance.get("tol", 1e-8))


def _normal_contact(solution: Solution, k: int) -> tuple[list[Event], np.ndarray]:
    """Impacts of a contact, and whether it is closed, at every time."""
    t, gap, v, P = solution.t, solution.gap[:, k], solution.gap_dot[:, k], solution.P_N[:, k]
    dt = np.diff(t)
    struck, closed, carries, v_res = _closed(solution, k)
    impacts = []
    for first, last in _single_impacts(struck, carries, v, v_res):
        i, end = first, last if carries[last] else last - 1
        acceleration = (v[i - 1] - v[i - 2]) / dt[i - 2] if i > 1 and not carries[i - 1] else 0.0
        time = float(t[i - 1] + _time_to_zero(gap[i - 1], v[i - 1], acceleration, dt[i - 1]))
        percussion, before, after = float(P[i : end + 1].sum()), float(v[i - 1]), float(v[last])
        impacts.append(Event(time, "impact", solution.names.contacts[k], i, percussion, before, after))
    return impacts, closed


def _single_impacts(struck: np.ndarray, carries: np.ndarray, v: np.ndarray, v_res: np.ndarray) -> list[tuple[int, int]]:
    """For every impact the first row of its step, and the row whose velocity is the one after it.

    >>> struck, v = np.array([0, 1, 1, 0, 0], bool), np.array([-4.0, -2.0, 1.0, 3.0, 3.0])
    >>> _single_impacts(struck, struck, v, np.full(5, 0.1))
    [(1, 3)]
    >>> _single_impacts(struck, struck, np.array([-4.0, -2.0, 1.0, 1.0, 1.0]), np.full(5, 0.1))
    [(1, 1), (2, 2)]
    """
    out: list[tuple[int, int]] = []
    rows = np.flatnonzero(struck).tolist()
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if rows else []:
        first, after = int(run[0]), int(run[-1]) + 1
        if after < len(v) and not carries[after] and v[after] - v[after - 1] > v_res[after]:
            out.append((first, after))
        else:
            out += [(int(i), int(i)) for i in run]
    return out


def _with_landings(impacts: list[Event], name: str, landed: list[Landing], P: np.ndarray) -> list[Event]:
    """Impacts of a contact, and those of single features of two shapes in other steps."""
    steps = {e.step for e in impacts}
    more = [
        Event(x.time, "impact", name, x.row, float(P[x.row]), x.before, x.after) for x in landed if x.row not in steps
    ]
    return sorted(impacts + more, key=lambda e: e.step)


def _closed(solution: Solution, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """At every time: does the step that ends there bring an impact, is the contact closed, does it carry? And v_res."""
    t, gap, v, P = solution.t, solution.gap[:, k], solution.gap_dot[:, k], solution.P_N[:, k]
    dt, dv = np.diff(t), np.diff(v)
    carries = np.concatenate([[False], P[1:] > 1e-10 * P.max(initial=0.0)])
    free = ~carries[1:]
    rates = np.abs(dv[free]) / dt[free] if free.any() else np.abs(dv) / dt
    rates = rates[np.isfinite(rates)]  # a detected pair has no velocity where it is not near
    a = float(np.median(rates)) if rates.size else 0.0
    v_res = np.maximum(2 * a * np.concatenate([dt[:1], dt]), _tolerance(solution))
    struck = np.concatenate([[False], carries[1:] & (v[:-1] < -v_res[1:])])
    near = gap <= np.maximum(v_res * np.concatenate([dt[:1], dt]), _tolerance(solution))
    return struck, _from_first(carries, (np.abs(v) <= v_res) & (carries | near)), carries, v_res


def contact_states(solution: Solution) -> np.ndarray:
    """What each normal contact does at every time: an array (times, contacts) of 0 open, 1 stick, 2 slip, 3 impact.

    The rules are those of `events`. A closed contact without friction slips.

    >>> import stickslip as ss
    >>> states = contact_states(ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.2, dt=1e-3))
    >>> np.flatnonzero(states[:, 0] == 3)
    array([ 452, 1129])
    """
    names = solution.names
    states = np.zeros(solution.gap.shape, np.int8)
    if len(solution) < 2:
        return states
    for k in range(len(names.contacts)):
        struck, closed, carries, _ = _closed(solution, k)
        states[:, k] = np.where(closed & carries, 2, 0)
        if k in names.friction_contact:
            element = names.friction_contact.index(k)
            states[:, k] = np.where(carries, _sticking(solution, element, closed), 0)
        states[struck, k] = 3
    return states


def _sticking(solution: Solution, k: int, active: np.ndarray) -> np.ndarray:
    """Status of a friction element: 0 open, 1 stick, 2 slip."""
    slip = solution.slip[:, solution.names.friction_slices[k]]
    speed, tol = np.linalg.norm(slip, axis=1), _tolerance(solution)
    changes = np.linalg.norm(np.diff(slip, axis=0), axis=1)
    sliding = active[1:] & active[:-1] & (speed[:-1] > tol) & (speed[1:] > tol)
    limit = max(tol, 0.01 * float(np.median(changes[sliding]))) if sliding.any() else tol
    return np.where(active, np.where(speed <= limit, 1, 2), 0)


def _from_first(carries: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """The runs of `slow`, each from its first row that `carries` on; one that begins in row 0 is closed from there.

    >>> carries, slow = np.array([0, 0, 1, 0, 0, 0], bool), np.array([0, 1, 1, 1, 0, 1], bool)
    >>> _from_first(carries, slow).astype(int)
    array([0, 0, 1, 1, 0, 0])
    """
    counted = np.cumsum(carries)
    before_run = np.maximum.accumulate(np.where(slow, -1, counted))  # percussions before the run began
    return slow & (counted > before_run)


def _time_to_zero(x: float, v: float, a: float, dt: float) -> float:
    """First zero of x + v s + a s^2/2 for x that falls, at most a step ago (x is negative already) or a step ahead."""
    s = -x / v
    for _ in range(3):  # Newton's method: a s is a small part of v
        s -= (x + v * s + a * s * s / 2) / (v + a * s) if v + a * s else 0.0
    return float(np.clip(s, -dt, dt))


def _closings_and_openings(solution: Solution, k: int, closed: np.ndarray, impacts: list[Event]) -> list[Event]:
    out = []
    name, impact_times = solution.names.contacts[k], {e.step: e.time for e in impacts}
    for i in np.flatnonzero(closed[1:] != closed[:-1]) + 1:
        kind, time = ("closing", impact_times.get(int(i), float(solution.t[i]))) if closed[i] else ("opening", None)
        out.append(
            Event(
                time=float(solution.t[i - 1]) if time is None else time,
                kind=kind,
                contact=name,
                step=int(i),
                percussion=float(solution.P_N[i, k]),
                before=float(solution.gap_dot[i - 1, k]),
                after=float(solution.gap_dot[i, k]),
            )
        )
    return out


def _friction(
    solution: Solution, k: int, active: np.ndarray, closing_times: dict[tuple[str, int], float]
) -> list[Event]:
    """Changes between stick and slip of a friction element while it is active."""
    t, columns, name = solution.t, solution.names.friction_slices[k], solution.names.friction[k]
    slip, P = solution.slip[:, columns], solution.P_F[:, columns]
    speed, dt = np.linalg.norm(slip, axis=1), np.diff(t)
    status = _sticking(solution, k, active)
    turned = (slip[1:] * slip[:-1]).sum(axis=1) < 0
    changed = (status[1:] != status[:-1]) | ((status[1:] == 2) & turned)
    out = []
    for i in np.flatnonzero(changed & (status[1:] > 0)) + 1:
        kind = "stick" if status[i] == 1 else "slip" if status[i] != status[i - 1] else "reversal"
        time = float(t[i - 1])
        if status[i - 1] == 0:
            time = closing_times.get((name, int(i)), float(t[i]))
        elif kind != "slip":  # the slip before goes on to its zero
            rate = (speed[i - 2] - speed[i - 1]) / dt[i - 2] if i > 1 and status[i - 2] == 2 else 0.0
            time += float(min(speed[i - 1] / rate, dt[i - 1])) if rate > 0 else float(dt[i - 1])
        P_F = float(np.linalg.norm(P[i]))
        out.append(Event(time, kind, name, int(i), P_F, float(speed[i - 1]), float(speed[i])))
    return out


def _accumulations(contact: str, impacts: list[Event]) -> list[Accumulation]:
    """Geometric series among the impacts of a contact: longest runs of intervals that shrink alike."""
    out = []
    first = 0
    times = np.array([e.time for e in impacts])
    intervals = np.diff(times)
    for k in range(1, len(intervals) + 1):
        if k < len(intervals) and intervals[k] < intervals[k - 1]:
            continue
        found = _geometric(contact, times[first : k + 1])
        out += [found] if found else []
        first = k
    return out


def _geometric(contact: str, times: np.ndarray) -> Accumulation | None:
    if len(times) < FEWEST_IMPACTS:
        return None
    x, y = times[:-1] - times[0], times[1:] - times[0]
    r, c = np.polyfit(x, y, 1)
    error = float(np.abs(r * x + c - y).max())
    intervals = np.diff(times)
    if not 0 < r < 1 or error > 0.05 * intervals[0]:
        return None
    if intervals[0] - intervals[-1] < STEADY * error:  # as well a rhythm that settles: steps of a wheel with corners
        return None
    limit = float(times[0] + c / (1 - r))
    return Accumulation(max(limit, float(times[-1])), contact, float(r), len(times), error)
