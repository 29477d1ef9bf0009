"""What is tried where the compiled Newton iterations did not converge: the ladder of `nonsmooth` on the linearised stage.

Each step solves the laws of the linearised stage to the end, by the cheapest solver that can, and is taken as far as the
residual of the stage (the natural map) falls. What it finds is a start from which the compiled loop goes on, and tests.

Where laws of a stage apply only in sets of contacts that other laws of the same stage decide (closed in position, then in
velocity), the residual jumps with these sets: steps that change them are taken whole. There is not always a solution. In the
generalized-alpha method positions see the friction of accelerations: a contact may open if its friction acts, and
penetrate if it does not. Then the sets repeat, and these contacts count as closed up to the gap that they open to (the
field EARLY, of the order of dt^2 times the accelerations), for this step. Contacts that jam give up their restitution
(`engine.jams`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.body_rescue import solve_on_bodies
from stickslip.engine.contact_sets import Sets, Unknowns
from stickslip.engine.far_roots import leads_far
from stickslip.engine.fields import EXCEPTIONS, PLASTIC
from stickslip.engine.jams import eased, marks_of
from stickslip.engine.layout import Layout
from stickslip.engine.local import LocalProblem, evaluate_stage, free_step, local_problem, row_errors
from stickslip.engine.outer import REACH, ROUGH, SHARES, accuracy, gains, largest_size, relative
from stickslip.engine.tables import Tables
from stickslip.engine.work import FAR, IDLE, IS_FAR_ROOT, PREDICTED, Options, Work
from stickslip.nonsmooth.problem import Problem
from stickslip.nonsmooth.solvers import OneStepSolution, solve_shortly
from stickslip.patience import look

STEPS, SET_STEPS = 8, 30  # of the outer iteration; of one that also looks for sets of contacts
CLOSINGS = 4  # after each of which sets are looked for anew
FARTHER = 100.0  # times REACH: contacts that are farther away are left out, unless they close on the way


class Way(NamedTuple):
    """How linearised problems are solved: their levels in turn or all at once, from zero or not; see `solve_shortly`."""

    levels: bool
    cold: bool


# All levels at once take longest, but the path leads to a solution of all of them where what is found in turn repeats.
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


def rescue(
    tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, layout: Layout, dense: bool = True
) -> Rescue:
    """Solve stage k from the start of the compiled iterations, with multipliers of zero; the memory holds what was found.

    Contacts that are far away are idle at first, as in the compiled loop: most pairs of a heap are, and dense systems without
    them are far smaller. Whatever closes on the way is in the next linearised problem. A stage that looks for sets of contacts
    is tried in several WAYS. If none of them succeeds, contacts that are FARTHER away are taken, too, and all of them where
    sets are looked for. Without `dense` all this is left out, and only the graph of bodies is tried.
    """
    groups = tables.groups.copy()
    groups["gap_kernel"] = 0
    whole = tables._replace(groups=groups)  # no instance is idle
    _drop_choices(tables, k, memory)
    sets = Sets(tables, k, memory, work, layout)
    can_idle = bool((tables.groups["gap_kernel"] != groups["gap_kernel"]).any())
    left_out, again = False, False
    first = solve_on_bodies(tables, k, memory, work, options, sets, layout)
    if first is not None:
        evaluate_stage(whole, k, memory, work, options, True)
        if first.residual < options.tolerance and not gone_too_far(whole, k, memory, work, options):
            jammed = bool(memory[layout.places(PLASTIC)].any())
            names, none = (first.solver,), np.zeros(0)
            return Rescue(True, first.residual, names, None, False, none, first.early, jammed=jammed)
        memory[layout.places(*EXCEPTIONS)], again = 0.0, True
    if not dense:
        return Rescue(False, np.inf, (), None, False, np.zeros(0))
    second = (whole, 0.0) if sets.marks.size else (tables, FARTHER * REACH)
    for some, reach in ((tables, REACH), second) if can_idle else ((whole, 0.0),):
        for way in WAYS if sets.marks.size else WAYS[-1:]:
            if again and sets.marks.size:
                memory[layout.places(*EXCEPTIONS)] = 0.0
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
    unknowns, solvers, left_out, predicted = Unknowns(tables, k, memory), [], False, False
    n, largest = int(tables.problems[k]["n"]), largest_size(tables, k, work)
    x = work.start[:n].copy()
    x[int(tables.problems[k]["n_smooth"]) :] = 0.0
    unknowns.set(x)
    error = evaluate_stage(tables, k, memory, work, options, True)
    best, least, none, early, repeats, unsolved = x, error, False, 0.0, False, 0
    last: LocalProblem | None = None
    jam: np.ndarray | None = None
    left, closings = SET_STEPS if sets.marks.size else STEPS, 0
    while left > 0:
        look()
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
            if free_step(tables, k, work) and not predicted:
                predict(work, n)
            break
        smallest = float(work.x["size"][local.unknown].min())
        found = solve_local(local, accuracy(smallest, error, options), way)
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
        if not predicted:
            predict(work, n)
            predicted = True
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
    errors = row_errors(whole, k, work)
    problem, rows_of = (None, None) if last is None else (last.problem, last.unknown)
    jammed = bool(memory[layout.places(PLASTIC)].any())
    solved = least < options.tolerance and not gone_too_far(whole, k, memory, work, options)
    out = Rescue(solved, least, tuple(solvers), problem, none, errors, early, repeats, rows_of, jammed, jam)
    return out, left_out


def predict(work: Work, n: int) -> None:
    """The step of the linearised stage is what its solutions are compared with (`far_roots`)."""
    work.predicted[:n], work.signals[PREDICTED] = work.x["step"][:n], 1


def gone_too_far(tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options) -> bool:
    """Whether the solution that was last evaluated is one that the step cannot reach; then it is left for the start."""
    if work.apart[IS_FAR_ROOT] == 0 or not leads_far(tables, k, memory, work, options.tolerance):
        return False
    work.signals[FAR] = 1
    Unknowns(tables, k, memory).set(work.start[: int(tables.problems[k]["n"])])
    return True


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
    enough = relative(tolerance, float(local.problem.scales.scale.max()))
    return solve_shortly(local.problem, local.z.copy(), enough, *way)
