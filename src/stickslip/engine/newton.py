"""The driver of a stage: an active-set semismooth Newton method, and what is tried where it does not converge.

The driver owns the unknowns in the memory, the residual and the test of convergence. A step comes from `newton_step` (one
linear system) or `contact_step` (Gauss-Seidel over contacts): both read the linearised stage from the workspace and leave the
step in work.step, so a further solver has the same signature. Whatever it is, what is accepted has a residual below the
tolerance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.engine.attempts import CHEAP
from stickslip.engine.far_roots import is_far_root
from stickslip.engine.gauss_seidel import contact_step
from stickslip.engine.least_forces import least_forces
from stickslip.engine.linearise import COMPLIANCE, newton_step
from stickslip.engine.residual import call_kernels, set_residual
from stickslip.engine.tables import SPARSE, Tables
from stickslip.engine.work import (
    CONTACT_STEP,
    CONTRADICTED,
    DEPENDENT,
    FAR,
    IDLE,
    IS_FAR_ROOT,
    KEPT,
    LEAST_FORCES,
    NOT_YET,
    PREDICTED,
    REDUNDANT,
    SOLVE_ISLANDS,
    SOLVE_STAGE,
    WANTED,
    Options,
    Work,
    scratch,
)
from stickslip.jit import apart, jit_inline, records
from stickslip.native.call import call_apart
from stickslip.nonsmooth.cones import OFF
from stickslip.nonsmooth.sparse import solve_islands

if TYPE_CHECKING:
    from stickslip.engine.program import Program

# A start that is as good as rounding allows is taken as the solution (a mechanism at rest); one that is merely below the
# tolerance is not: its error would add up over the steps, and velocities that change by less than the tolerance a step would
# never change at all.
GUESS = 1e-3

EASY = 4  # iterations of the first attempt: one that has left its start takes more to converge elsewhere
EXCHANGES = 3  # of percussions for those of minimum norm, in one stage
# Unknowns of a stage with several vectors of velocities, beyond which only the first of the cheap attempts is made: what comes
# then (`body_rescue`) solves nearly all that is left.
MANY = 200
SOFTEST = 0.1  # compliance that follows the residual
SHORT = 3  # iterations of many unknowns in which the residual does not fall, before another solver is asked

# What is tried, one after another, until Newton's method converges. `cold`: percussions start from zero. `sweeps`: so many
# steps are first taken by Gauss-Seidel over contacts. `soft`: compliance of constraints, so that forces which nearly cancel
# each other (two contacts of one body that stick) grow slowly instead of jumping out of their friction cones; a negative one
# is a share of the residual, as in the method of Levenberg and Marquardt, which converges fast also to solutions that are not
# isolated. `prox`: factor of the prox parameters. `step`: share of a step that is taken. `patience`: iterations, in units of
# the option. `stalled`: so many iterations in which the residual does not fall by a tenth end the attempt. The residual stays
# exact, so what is found is a solution in any case.
# Of 5200 random problems (3 to 12 velocities, 3 to 12 contacts with mu up to 1.5, half of them dependent or nearly so) 15 %
# need more than Newton's method; 75 fail without sweeps and the compliances below 1e-4, 11 with them. Of 100 runs of
# tumbling boxes (500 steps of 2 ms, mu up to 1.2; Moreau, RATTLE, Lobatto, generalized-alpha) 3 and 0. A step of 98 spheres
# with 256 contacts (FCLIB, spheres in a box) fails without and is solved with them.
# The first six are chosen and put in order by what they cost together. Of 138 stages of 8 and 12 spheres and of ten boxes
# (RATTLE, Moreau) that the first attempt does not solve, 18 are left to the solvers of `nonsmooth`, each of which takes as long
# as 300 iterations; Newton's method from zero and compliances of one residual, cold and warm, left 31.
ATTEMPTS = records(
    np.array(
        [
            (0, 0, 0.0, 1.0, 1.0, 1, 8),
            (1, 0, -0.1, 1.0, 1.0, 2, 12),
            (0, 0, -0.1, 1.0, 1.0, 2, 12),
            (0, 0, -10.0, 1.0, 1.0, 2, 12),
            (1, 0, -1.0, 0.1, 1.0, 2, 12),
            (1, 0, 1e-3, 1.0, 1.0, 2, 12),
            (1, 0, 0.0, 1.0, 1.0, 1, 12),
            (1, 0, -1.0, 1.0, 1.0, 2, 12),
            (0, 0, -1.0, 1.0, 1.0, 2, 12),
            (1, 1, 0.0, 1.0, 1.0, 1, 12),
            (1, 30, 0.0, 1.0, 1.0, 1, 12),
            (1, 0, 1e-1, 1.0, 1.0, 1, 12),
            (1, 0, 1e-2, 1.0, 1.0, 1, 12),
            (1, 0, 1e-4, 1.0, 1.0, 3, 12),
            (1, 0, 1e-5, 1.0, 1.0, 3, 12),
            (1, 0, 1e-6, 1.0, 1.0, 3, 12),
            (1, 100, 1e-2, 1.0, 1.0, 5, 12),
            (1, 0, 0.0, 0.1, 1.0, 1, 12),
            (1, 0, 0.0, 10.0, 1.0, 1, 12),
            (1, 0, 0.0, 1.0, 0.5, 1, 12),
        ],
        dtype=[
            *[("cold", "f8"), ("sweeps", "i8"), ("soft", "f8"), ("prox", "f8"), ("step", "f8")],
            *[("patience", "i8"), ("stalled", "i8")],
        ],
    )
)


def workspace(program: Program) -> Work:
    """Scratch arrays for a program, and the functions that it calls through their addresses."""
    work, tables = scratch(program), program.tables
    if len(tables.problems):
        counts, sizes = np.zeros(1, np.int64), np.zeros(1)
        work.apart[SOLVE_STAGE] = solve_stage.address(tables, 0, sizes, work, Options(1.0, 1, 1.0), 1.0, counts, sizes)
        work.apart[LEAST_FORCES] = NOT_YET
        if not _decides_sets(tables):
            work.apart[IS_FAR_ROOT] = NOT_YET
        if least_forces.at_hand and is_far_root.at_hand:
            load_wanted(tables, work)
    if (tables.problems["band"] == SPARSE).any():
        work.apart[SOLVE_ISLANDS] = solve_islands.address(0, work.entries, work.columns, work.right, 0.0)
    return work


def _decides_sets(tables: Tables) -> bool:
    """Whether laws of a stage apply in sets of contacts that others of the same stage decide: its residual jumps."""
    for stage in tables.problems:
        groups = tables.groups[stage["group_0"] : stage["group_1"]]
        laws = [law for group in groups for law in tables.laws[int(group["law"]) : int(group["law_1"])]]
        read = {int(law[key]) for law in laws for key in ("open_where", "only_where", "except_where")}
        if any(law["mark"] >= 0 and int(law["mark"]) in read for law in laws):
            return True
    return False


def load_wanted(tables: Tables, work: Work) -> None:
    """Load what only some models need: to compile it takes a quarter of the time of a first run."""
    stage = tables, 0, work.start, work, 1.0
    work.apart[LEAST_FORCES] = least_forces.address(*stage)
    if work.apart[IS_FAR_ROOT] != 0:
        work.apart[IS_FAR_ROOT] = is_far_root.address(*stage)
    work.signals[WANTED] = 0


def allow_sweeps(tables: Tables, work: Work) -> None:
    """Load what only few attempts need, and with it all that is NOT_YET."""
    load_wanted(tables, work)
    work.apart[CONTACT_STEP] = contact_step.address(tables, 0, work.start, work, 0.0, 0.0)


@apart("boolean")
def solve_stage(
    tables: Tables,
    k: int,
    memory: np.ndarray,
    work: Work,
    options: Options,
    guess: float,
    iterations: np.ndarray,
    residuals: np.ndarray,
) -> bool:
    """Solve stage k, from the values that its unknowns have in memory; whether it converged, and iterations and residuals.

    The start itself is a solution if its residual is below `guess` times the tolerance. `residuals`: one for each stage, then
    the largest bilateral row and the largest natural map of all stages of the step.
    """
    _remember(tables, k, memory, work)
    if options.iterations < 0:
        return False  # somebody else will
    best, finer, exchanged = np.inf, False, 0
    declared = (
        tables.problems[k].dependent == 1
    )  # constraints always do; contacts depend on each other only for a while
    elsewhere, iterations_before, predicted = work.signals[REDUNDANT] == 1, iterations[k], work.signals[PREDICTED]
    work.signals[KEPT] = work.signals[REDUNDANT] = 0
    dependent = declared or elsewhere
    number, again, wanted, problem = options.attempt_0, False, False, tables.problems[k]
    most = min(options.attempt_1, ATTEMPTS.size)
    if most == 0 and not _has_laws(tables, k):
        most = ATTEMPTS.size
    if options.attempt_1 == CHEAP and problem.n > MANY and problem.segment - problem.segment_0 > 1:
        most = 1
    while number < most and (number == 0 or work.signals[KEPT] < options.many):
        attempt, fine = ATTEMPTS[number], finer
        if number > 0 or again:
            back_to_start(tables, k, memory, work, 1.0 - attempt.cold)
        last, least, stalled = attempt.patience * options.iterations, np.inf, 0
        work.signals[CONTRADICTED] = 0
        for iteration in range(last + 1):
            call_kernels(tables, k, memory, work, iteration == 0, options.prox, attempt.prox)
            error = set_residual(tables, k, memory, work)
            if error < options.tolerance * (guess if iteration == 0 else 1.0):
                improve = dependent and (iteration > 0 or elsewhere) and iteration < last
                if improve and not finer and error > GUESS * options.tolerance:
                    finer = True  # what positions miss makes dependent constraints contradict each other
                else:
                    if improve and exchanged < EXCHANGES:
                        if work.apart[LEAST_FORCES] == NOT_YET:
                            wanted = True
                            break
                        exchanged += 1
                        error = _exchange(tables, k, memory, work, options, attempt.prox, error)
                    if error < options.tolerance:
                        solution = (tables, k, memory, work, options.tolerance)
                        harder = (number > 0 or iteration > EASY) and work.apart[IS_FAR_ROOT] != 0
                        if harder and work.apart[IS_FAR_ROOT] == NOT_YET:
                            wanted = True
                            break
                        if harder and call_apart(work.apart[IS_FAR_ROOT], solution):
                            work.signals[FAR] = 1
                            break
                        work.signals[PREDICTED] = work.signals[FAR] = 0
                        work.solved_by[number] += 1
                        _report(tables, k, work, error, residuals)
                        return True
            best = min(best, error)
            stalled = 0 if error < 0.9 * least else stalled + 1
            least = min(least, error)
            patience = attempt.stalled if work.signals[KEPT] < options.many else min(SHORT, attempt.stalled)
            if error == np.inf or iteration == last or stalled >= patience:
                break
            soft = attempt.soft if attempt.soft >= 0.0 else min(SOFTEST, -attempt.soft * error)
            if iteration < attempt.sweeps:
                stage = (tables, k, memory, work, soft, 0.1 * options.tolerance)
                stepped = work.apart[CONTACT_STEP] != 0 and call_apart(work.apart[CONTACT_STEP], stage)
            else:
                work.signals[DEPENDENT] = 0
                stepped = newton_step(tables, k, work, max(soft, COMPLIANCE) if declared else soft)
                dependent = dependent or soft > 0.0 or work.signals[DEPENDENT] == 1
            if not stepped:
                break
            iterations[k] += 1
            _move(tables, k, memory, work, attempt.step)
        if wanted:  # as if nothing had happened
            back_to_start(tables, k, memory, work, 1.0)
            iterations[k] = iterations_before
            work.signals[REDUNDANT], work.signals[PREDICTED], work.signals[WANTED] = elsewhere, predicted, 1
            return False
        again = finer and not fine  # it was a solution, and could not be improved: once more, up to there
        number += 0 if again else 1
    if work.apart[IS_FAR_ROOT] != 0:
        back_to_start(tables, k, memory, work, 1.0)
    residuals[k] = max(residuals[k], best)
    return False


@jit_inline
def _has_laws(tables: Tables, k: int) -> bool:
    """Whether there is anything to decide: contacts or friction."""
    for g in range(tables.problems[k].group_0, tables.problems[k].group_1):
        if tables.groups[g].law < tables.groups[g].law_1:
            return True
    return False


@jit_inline
def _remember(tables: Tables, k: int, memory: np.ndarray, work: Work) -> None:
    """Keep the start."""
    problem = tables.problems[k]
    for s in range(problem.segment_0, problem.segment):
        segment = tables.segments[s]
        for i in range(segment.length):
            work.start[segment.first + i] = memory[segment.start + i]
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        for row in range(kind.first, kind.first + kind.count * kind.width, kind.width):
            for b in range(group.law_0, group.law_1):
                law, place = tables.laws[b], tables.places[group.unknowns + tables.laws[b].unknown]
                at = tables.dofs[row + place.column]
                for i in range(law.rows):
                    work.start[place.start + at + i] = memory[law.home + at + i]


@jit_inline
def back_to_start(tables: Tables, k: int, memory: np.ndarray, work: Work, share: float) -> None:
    """To the values that were kept, with a share of the multipliers."""
    problem = tables.problems[k]
    for s in range(problem.segment_0, problem.segment):
        segment = tables.segments[s]
        for i in range(segment.length):
            memory[segment.start + i] = work.start[segment.first + i]
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        kind = tables.kinds[group.kind]
        for row in range(kind.first, kind.first + kind.count * kind.width, kind.width):
            for b in range(group.law_0, group.law_1):
                law, place = tables.laws[b], tables.places[group.unknowns + tables.laws[b].unknown]
                at = tables.dofs[row + place.column]
                for i in range(law.rows):
                    memory[law.home + at + i] = share * work.start[place.start + at + i]


@jit_inline
def _exchange(
    tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, prox: float, error: float
) -> float:
    """Take the percussions of minimum norm instead of those that were found, unless laws forbid it; the residual.

    It may be too large where self-stress was so large that it moved something: then the iterations go on from here.
    """
    if not call_apart(work.apart[LEAST_FORCES], (tables, k, memory, work, options.tolerance)):
        return error
    _move(tables, k, memory, work, 1.0)
    for attempt in range(2):
        call_kernels(tables, k, memory, work, False, options.prox, prox)
        error = set_residual(tables, k, memory, work)
        if attempt == 1 or error < options.tolerance or work.errors[1] < options.tolerance:
            break
        _move(tables, k, memory, work, -1.0)
    return error


@jit_inline
def _report(tables: Tables, k: int, work: Work, error: float, residuals: np.ndarray) -> None:
    """Keep the residuals of a stage that is solved; the largest ones of a step count."""
    n = tables.problems.size
    residuals[k] = max(residuals[k], error)
    residuals[n] = max(residuals[n], work.errors[0])
    residuals[n + 1] = max(residuals[n + 1], work.errors[1])


@jit_inline
def _move(tables: Tables, k: int, memory: np.ndarray, work: Work, share: float) -> None:
    """Take a share of the step."""
    problem, x = tables.problems[k], work.x
    for s in range(problem.segment_0, problem.segment):
        segment = tables.segments[s]
        for i in range(segment.length):
            memory[segment.start + i] -= share * x[segment.first + i].step
    for g in range(problem.group_0, problem.group_1):
        group = tables.groups[g]
        if group.law_0 == group.law_1:
            continue
        kind = tables.kinds[group.kind]
        row, element = kind.first, group.element
        for instance in range(group.instance, group.instance + kind.count):
            if work.offset[instance] != IDLE:
                for b in range(group.law_0, group.law_1):
                    if b < group.law or work.branch[element + b - group.law_0] != OFF:
                        law = tables.laws[b]
                        place = tables.places[group.unknowns + law.unknown]
                        at = tables.dofs[row + place.column]
                        for a in range(law.rows):
                            memory[law.home + at + a] -= share * x[place.start + at + a].step
            row += kind.width
            element += group.law_1 - group.law_0
