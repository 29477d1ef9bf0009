"""What is tried where the compiled Newton iterations did not converge: the ladder of `nonsmooth` on the linearised stage.

Each step solves the laws of the linearised stage to the end, by the cheapest solver that can, and is taken as far as the
residual of the stage (the natural map) falls. What it finds is a start from which the compiled loop goes on, and tests.

Where laws of a stage apply only in sets of contacts that other laws of the same stage decide (closed in position, then in
velocity), the residual jumps with these sets: steps that change them are taken whole. There is not always a solution. In the
generalized-alpha method positions see the friction of accelerations: a contact may open if its friction acts, and
penetrate if it does not. Then the sets repeat, and these contacts are closed at the gap that they open to (the field EARLY,
of the order of dt^2 times the accelerations), for this step. Contacts that jam give up their restitution (`engine.jams`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.fields import EARLY, GAP_SIZE, PLASTIC, Space
from stickslip.engine.jams import eased, marks_of
from stickslip.engine.layout import Layout
from stickslip.engine.local import LocalProblem, evaluate_stage, local_problem
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Options, Work
from stickslip.nonsmooth.cones import NORMAL
from stickslip.nonsmooth.problem import Problem
from stickslip.nonsmooth.solvers import OneStepSolution, solve_shortly

STEPS, SET_STEPS = 8, 30  # of the outer iteration; of one that also looks for sets of contacts
CLOSINGS = 4  # after each of which sets are looked for anew
REPEATS = 0.5  # of a residual: sets that return with more than this share of it repeat
# Steps in which sets may stay as they are without such a gain: the linearised problem is solved roughly at first.
STUCK = 4
RECENT, OFTEN = 7, 4  # a contact that opens and closes so often in so many steps repeats, whatever others do
EARLIEST = 1e-3  # of the unit of gaps: contacts that open farther, where an iteration leads astray, are not closed
BEYOND = 1.01  # of the gap that a contact opens to: where it is closed early
SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)
GAIN = 0.1  # of what a share of a step would gain if the residual were linear
REACH = 4.0  # of the residual of the stage, as a gap: contacts that are farther away are left out at first
FARTHER = 100.0  # times that: contacts that are farther away are left out, unless they close on the way
INEXACT = 1e-4  # of the residual of the stage: how well its linearised problem is solved
EXACT, ROUGH = 1e-12, 1e-6  # relative residuals of a linearised problem: where rounding ends, and what is worth a step


class Way(NamedTuple):
    """How linearised problems are solved: their levels in turn or all at once, from zero or not; see `solve_shortly`."""

    levels: bool
    cold: bool


# All levels at once take longest, but the path leads to a solution of all of them: a heap of 12 spheres has a step in which
# what is found in turn repeats at a residual of 5e-7.
WAYS = (Way(levels=True, cold=False), Way(levels=True, cold=True), Way(levels=False, cold=False))


class Rescue(NamedTuple):
    """Whether a stage was solved, the residual that was reached, what solved its linearised problems, and the last of them."""

    solved: bool
    residual: float
    solvers: tuple[str, ...]
    problem: Problem | None
    no_solution: bool
    errors: np.ndarray  # of all rows, in the measure of the residual
    early: float = 0.0  # largest gap at which a contact was closed
    repeats: bool = False  # sets of contacts
    unknown: np.ndarray | None = None  # by row of the problem: its unknown of the stage
    jammed: bool = False  # whether contacts gave up their restitution
    jam: np.ndarray | None = None  # normal forces of contacts that jam all the same, by row of the problem


class Unknowns:
    """The unknowns of a stage in the memory, as one vector."""

    def __init__(self, tables: Tables, k: int, memory: np.ndarray):
        stage, self._memory = tables.problems[k], memory
        self._segments = [
            (
                slice(int(s["start"]), int(s["start"] + s["length"])),
                slice(int(s["first"]), int(s["first"] + s["length"])),
            )
            for s in tables.segments[stage["segment_0"] : stage["segment_1"]]
        ]
        self._size = int(stage["n"])

    def get(self) -> np.ndarray:
        """Their values."""
        x = np.empty(self._size)
        for place, part in self._segments:
            x[part] = self._memory[place]
        return x

    def at(self, places: np.ndarray) -> np.ndarray:
        """The unknowns that lie at these places of the memory."""
        out = np.full(places.size, -1)
        for place, part in self._segments:
            inside = (places >= place.start) & (places < place.stop)
            out[inside] = part.start + places[inside] - place.start
        return out

    def set(self, x: np.ndarray) -> None:
        """Give them values."""
        for place, part in self._segments:
            self._memory[place] = x[part]


class Sets:
    """The marks of a stage that its own laws read: which contacts are closed, or slip."""

    def __init__(self, tables: Tables, k: int, memory: np.ndarray, work: Work, layout: Layout):
        stage, self._memory, self._work = tables.problems[k], memory, work
        marks, heads = [], []
        early = range(layout.start[EARLY], layout.start[EARLY] + layout.size[EARLY])
        starts = [start for each, start in layout.start.items() if each.space is Space.N]
        for g in range(stage["group_0"], stage["group_1"]):
            group = tables.groups[g]
            laws = tables.laws[int(group["law"]) : int(group["law_1"])]
            read = {int(law[key]) for law in laws for key in ("open_where", "only_where", "except_where")}
            inputs = tables.places[int(group["inputs"]) : int(group["inputs"] + group["n_in"])]["start"]
            can_be_early = any(int(start) in early for start in inputs)
            kind = tables.kinds[group["kind"]]
            for number in range(int(kind["count"])):
                row = int(kind["first"] + number * kind["width"])
                for law in (each for each in laws if each["mark"] >= 0 and int(each["mark"]) in read):
                    place = int(law["mark"] + tables.dofs[row + law["column"]])
                    marks.append(place)
                    if can_be_early and law["kind"] == NORMAL and law["open_where"] < 0:
                        own = place - max(start for start in starts if start <= place)
                        unit = layout.start[GAP_SIZE] + own
                        heads.append((place, int(group["instance"] + number), int(law["y"]), early[own], unit))
        self.marks = np.unique(np.array(marks, np.int64))
        self._heads = np.array(heads, np.int64).reshape(-1, 5)
        self._past: list[tuple[bytes, float, np.ndarray]] = []  # marks, residual and gaps of contacts

    def get(self) -> bytes:
        """Which contacts and elements of friction are in which set."""
        return np.asarray(self._memory[self.marks] > 0.0).tobytes()

    def repeat(self, error: float) -> list[np.ndarray]:
        """Gaps of the contacts in all steps since the sets were the present ones, with no smaller residual; [] if never.

        In space sets rarely repeat as a whole, because redundant contacts share their forces differently every time.
        """
        at = self._work.offset[self._heads[:, 1]]
        gaps = np.where(at == IDLE, np.inf, self._work.outputs[np.where(at == IDLE, 0, at + self._heads[:, 2])])
        self._past.append((self.get(), error, np.where(self._memory[self._heads[:, 0]] > 0.0, gaps, 0.0)))
        for i in range(len(self._past) - 2, -1, -1):
            same = [marks == self._past[-1][0] for marks, _, _ in self._past[i:]]
            if same[0] and (not all(same) or len(same) > STUCK) and error > REPEATS * self._past[i][1]:
                return [gaps for _, _, gaps in self._past[i:]]
        recent = [gaps for _, _, gaps in self._past[-RECENT:]]
        if len(recent) < RECENT:
            return []
        often = np.sum(np.diff(np.array(recent) > 0.0, axis=0), axis=0) >= OFTEN
        return [np.where(often, gaps, 0.0) for gaps in recent] if often.any() else []

    def close_early(self, gaps: list[np.ndarray]) -> float:
        """Close those contacts early that were open in some of these steps and not in others; the largest gap."""
        widest, least = np.max(gaps, axis=0), np.min(gaps, axis=0)
        change = (widest > 0.0) & (least == 0.0) & (widest < EARLIEST * self._memory[self._heads[:, 4]])
        self._memory[self._heads[change, 3]] += BEYOND * widest[change]
        self._past.clear()
        return float(widest[change].max(initial=0.0))


def rescue(tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, layout: Layout) -> Rescue:
    """Solve stage k from the start of the compiled iterations, with multipliers of zero; the memory holds what was found.

    Contacts that are far away are idle at first, as in the compiled loop: of 585 pairs of 30 spheres some 80 are near, and
    dense systems without the others take a thousandth of the time. Whatever closes on the way is in the next linearised
    problem. A stage that looks for sets of contacts is tried in several WAYS. If none of them succeeds, contacts that are
    FARTHER away are taken, too, and all of them where sets are looked for.
    """
    groups = tables.groups.copy()
    groups["gap_kernel"] = 0
    whole = tables._replace(groups=groups)  # no instance is idle
    _drop_choices(tables, k, memory)
    sets = Sets(tables, k, memory, work, layout)
    can_idle = bool((tables.groups["gap_kernel"] != groups["gap_kernel"]).any())
    left_out, again = False, False
    second = (whole, 0.0) if sets.marks.size else (tables, FARTHER * REACH)
    for some, reach in ((tables, REACH), second) if can_idle else ((whole, 0.0),):
        for way in WAYS if sets.marks.size else WAYS[-1:]:
            if again and sets.marks.size:
                memory[layout.places(EARLY, PLASTIC)] = 0.0
                sets = Sets(tables, k, memory, work, layout)
            found, left = _iterate(some, whole, k, memory, work, options, sets, layout, reach, way)
            left_out, again = left_out or left, True
            if found.solved:
                return found
        if not left_out:
            break
    return found


def _iterate(
    tables: Tables,
    whole: Tables,
    k: int,
    memory: np.ndarray,
    work: Work,
    options: Options,
    sets: Sets,
    layout: Layout,
    reach: float,
    way: Way,
) -> tuple[Rescue, bool]:
    """The outer iteration; and whether contacts were left out that another pass takes.

    whole: tables without idle contacts, by which errors are told.
    """
    unknowns, solvers, left_out = Unknowns(tables, k, memory), [], False
    n, order = int(tables.problems[k]["n"]), int(tables.problems[k]["order"])
    largest = float(work.sizes[order : order + n].max(initial=0.0)) or 1.0
    x = work.start[:n].copy()
    x[int(tables.problems[k]["n_smooth"]) :] = 0.0
    unknowns.set(x)
    error = evaluate_stage(tables, k, memory, work, options, True)
    best, least, none, early, repeats, unsolved = x, error, False, 0.0, False, 0
    last: LocalProblem | None = None
    jam: np.ndarray | None = None
    left, closings = SET_STEPS if sets.marks.size else STEPS, 0
    while left > 0:
        left -= 1
        if error < options.tolerance or not np.isfinite(error):
            break
        if reach:
            idle = []
            for share in (np.inf if sets.marks.size else FARTHER, 1.0):
                work.near[0] = share * reach * error * largest
                evaluate_stage(tables, k, memory, work, options, False)
                idle.append(_idle(tables, k, work))
            left_out = left_out or idle[0] < idle[1]
        work.x["step"][:n] = 0.0  # those of idle contacts stay
        local = local_problem(tables, k, memory, work)
        work.near[0] = 0.0
        if local is None:
            break
        smallest = float(work.x["size"][local.unknown].min())
        accuracy = smallest * max(0.1 * options.tolerance, INEXACT * error)
        found = solve_local(local, accuracy, way)
        solvers.append(found.solver)
        last, none, jam = local, found.no_solution, found.jam
        if jam is not None:
            marks = marks_of(tables, k, memory, layout, local.unknown, jam)
            memory[marks] = 1.0
            error = evaluate_stage(tables, k, memory, work, options, False)
            if eased(local, local_problem(tables, k, memory, work), jam):
                best, least = x, error
                continue
            memory[marks] = 0.0
            error = evaluate_stage(tables, k, memory, work, options, False)
        unsolved += not found.residual < ROUGH
        if found.no_solution or not found.residual < 1.0 or (unsolved > 1 and not sets.marks.size):
            break
        local.step(found.reaction, work)
        step, before, tried, were = work.x["step"][: x.size].copy(), error, [], sets.get()
        for share in SHARES:
            unknowns.set(x - share * step)
            error = evaluate_stage(tables, k, memory, work, options, False)
            if gains(error, share, before) or (sets.marks.size and sets.get() != were):
                tried = [(error, share)]
                break
            tried.append((error, share))
        # Where no share helps, go on from the best; with levels from all of the step: redundant contacts share their forces
        # anew, and what that changes through a mechanism's matrices is gone after the next one.
        error, share = tried[0] if sets.marks.size else min(tried)
        x = x - share * step
        unknowns.set(x)
        error = evaluate_stage(tables, k, memory, work, options, False)
        if error < least:
            best, least = x, error
        if sets.marks.size and error > options.tolerance and (gaps := sets.repeat(error)):
            repeats, closed = True, sets.close_early(gaps)
            if closed == 0.0:
                break
            closings += 1
            left = SET_STEPS if closings <= CLOSINGS else left
            early, best, least = max(early, closed), x, np.inf
            error = evaluate_stage(tables, k, memory, work, options, False)
    unknowns.set(best)
    evaluate_stage(whole, k, memory, work, options, True)
    rows = work.x[: x.size]
    errors = np.abs(rows["residual"] * rows["factor"])
    problem, rows_of = (None, None) if last is None else (last.problem, last.unknown)
    jammed = bool(memory[layout.places(PLASTIC)].any())
    out = Rescue(
        least < options.tolerance, least, tuple(solvers), problem, none, errors, early, repeats, rows_of, jammed, jam
    )
    return out, left_out


def gains(error: float, share: float, before: float) -> bool:
    """Whether a share of a step leads on. Short ones that gain next to nothing end an iteration that whole ones continue."""
    return error < (1.0 - GAIN * share) * before


def _idle(tables: Tables, k: int, work: Work) -> int:
    """How many instances of a stage are idle."""
    stage = tables.problems[k]
    groups = tables.groups[stage["group_0"] : stage["group_1"]]
    counts = tables.kinds["count"][groups["kind"]]
    return sum(
        int((work.offset[first : first + count] == IDLE).sum())
        for first, count in zip(groups["instance"], counts, strict=True)
    )


def _drop_choices(tables: Tables, k: int, memory: np.ndarray) -> None:
    """Laws that a mask chooses, and whose z is not their unknown alone, make room for those of the other elements.

    They are finer ones that hold where no contact changes its status (`schemes.alpha_sliding`); no solver of laws knows them.
    """
    stage = tables.problems[k]
    for group in tables.groups[stage["group_0"] : stage["group_1"]]:
        kind = tables.kinds[group["kind"]]
        rows = int(kind["first"]) + int(kind["width"]) * np.arange(int(kind["count"]))
        for law in tables.laws[int(group["law"]) : int(group["law_1"])]:
            if law["own"] == 0 and law["only_where"] >= 0:
                at = int(law["only_where"]) + tables.dofs[rows + law["column"]]
                memory[at[:, None] + np.arange(int(law["rows"]))] = -1.0


def solve_local(local: LocalProblem, tolerance: float, way: Way) -> OneStepSolution:
    """The linearised problem, from the multipliers of the stage, so that its error is below the tolerance."""
    relative = tolerance / float(local.problem.scales.scale.max())
    return solve_shortly(local.problem, local.z.copy(), min(max(relative, EXACT), ROUGH), *way)
