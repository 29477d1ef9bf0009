"""The first rescue of a stage with many contacts: its linearisations are solved on the graph of bodies (`body_levels`).

A step takes one evaluation of the stage, with rough derivatives where exact ones are long. Steps are taken whole: they change
the sets of contacts in which laws apply, and where these stay as they are, the residual falls by a factor of about 100. Then
Newton's method is asked to finish.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.body_levels import BodyLevels
from stickslip.engine.contact_sets import Sets, Unknowns
from stickslip.engine.fields import EARLY, PLASTIC
from stickslip.engine.layout import Layout
from stickslip.engine.local import evaluate_stage
from stickslip.engine.tables import Tables, with_rough_kernels
from stickslip.engine.work import SOLVE_STAGE, Options, Work
from stickslip.jit import jit_bare
from stickslip.native.call import call_apart

ON_BODIES, NEWTON = "robust on bodies", "newton with exact derivatives"
STEPS = 20
CLOSINGS = 4  # of contacts that open and close in turn, after each of which sets are looked for anew
REACH = 4.0  # of the residual, as a gap: contacts that are farther away stay idle
INEXACT = 1e-4  # of the residual: how well the linearised stage is solved
WEAK = 1e-2  # of the residual: levels that others disturb by less are left to the next step
CLOSE = 1e-4  # where Newton's method is asked, if sets of contacts have not changed
ROUGH, UNSOLVED = 1e-6, 4  # a relative residual of levels that is worth a step, and how often it may be missed


class OnBodies(NamedTuple):
    """The residual that was reached, the largest gap at which a contact was closed, and what solved the stage."""

    residual: float
    early: float = 0.0
    solver: str = ON_BODIES


def solve_on_bodies(
    tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, sets: Sets, layout: Layout
) -> OnBodies | None:
    """Solve stage k from the start of the compiled iterations; the memory holds what was found. None: it has another form."""
    levels = BodyLevels(tables, k)
    if levels.shape is None or levels.shape.vectors < 2:
        return None
    n, solved_by = int(tables.problems[k]["n"]), work.solved_by.copy()
    start, rough = work.start[:n].copy(), with_rough_kernels(tables)
    for share in (0.0, 1.0):
        work.start[:n], memory[layout.places(EARLY, PLASTIC)] = start, 0.0
        found = _iterate(rough, k, memory, work, options, sets, levels, share)
        sets.forget()
        if found.residual < options.tolerance:
            break
    if not found.residual < options.tolerance and rough is not tables:  # what rough derivatives leave out may be large
        memory[layout.places(EARLY, PLASTIC)] = 0.0
        Unknowns(tables, k, memory).set(start)
        found = OnBodies(_newton(tables, k, memory, work, options._replace(attempt_0=0, attempt_1=2)), solver=NEWTON)
    work.start[:n], work.solved_by[:] = start, solved_by  # the loop counts what is solved
    return found


def _iterate(
    tables: Tables,
    k: int,
    memory: np.ndarray,
    work: Work,
    options: Options,
    sets: Sets,
    levels: BodyLevels,
    share: float,
) -> OnBodies:
    """The iteration, from a share of the multipliers of the last step."""
    n, order = int(tables.problems[k]["n"]), int(tables.problems[k]["order"])
    sizes = work.sizes[order : order + n]
    largest, smallest = (float(f(sizes[sizes > 0.0])) if sizes.any() else 1.0 for f in (np.max, np.min))
    unknowns, x = Unknowns(tables, k, memory), work.start[:n].copy()
    x[int(tables.problems[k]["n_smooth"]) :] *= share
    unknowns.set(x)
    left, closings, early, unsolved, same = STEPS, 0, 0.0, 0, False
    error = evaluate_stage(tables, k, memory, work, options, True)
    work.near[0] = REACH * error * largest  # from here on: contacts that the next step may close
    error = evaluate_stage(tables, k, memory, work, options, False)
    while left > 0 and options.tolerance <= error < np.inf:
        if same and error < CLOSE:
            work.near[0] = 0.0
            reached = _newton(tables, k, memory, work, options._replace(attempt_0=0, attempt_1=1))
            if reached < options.tolerance:
                return OnBodies(reached, early)
            unknowns.set(x)
            evaluate_stage(tables, k, memory, work, options, True)
        left, were = left - 1, sets.get()
        work.x["step"][:n] = 0.0
        accuracy = smallest * max(0.1 * options.tolerance, INEXACT * error)
        missed = levels.step(tables, k, memory, work, accuracy, smallest * WEAK * error)
        unsolved += not missed <= ROUGH
        if not missed < 1.0 or unsolved > UNSOLVED:
            break
        x -= work.x["step"][:n]
        unknowns.set(x)
        work.near[0] = REACH * error * largest
        error = evaluate_stage(tables, k, memory, work, options, False)
        same = sets.get() == were
        if error > options.tolerance and sets.marks.size and (gaps := sets.repeat(error)):
            closed, closings = sets.close_early(gaps), closings + 1
            if closed == 0.0 or closings > CLOSINGS:
                break
            left, early = STEPS, max(early, closed)
            error = evaluate_stage(tables, k, memory, work, options, False)
    work.near[0] = 0.0
    return OnBodies(error, early)


def _newton(tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options) -> float:
    """Newton's method from the values in the memory; the residual that it reached."""
    stages = len(tables.problems)
    iterations, residuals = np.zeros(stages, np.int64), np.zeros(stages + 2)
    _solve(tables, k, memory, work, options, iterations, residuals)
    return float(residuals[k])


@jit_bare
def _solve(
    tables: Tables,
    k: int,
    memory: np.ndarray,
    work: Work,
    options: Options,
    iterations: np.ndarray,
    residuals: np.ndarray,
) -> bool:
    """One call of the compiled attempts."""
    return bool(call_apart(work.apart[SOLVE_STAGE], (tables, k, memory, work, options, 1.0, iterations, residuals)))
