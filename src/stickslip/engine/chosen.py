"""Stages by one solver that the user has chosen: Newton's method on the smooth part, the solver on the linearised laws.

No other solver helps, and no rule of the ladder (contacts that are closed early, or jam) applies: for comparisons of solvers.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.contact_sets import Sets, Unknowns
from stickslip.engine.layout import Layout
from stickslip.engine.local import LocalProblem, evaluate_stage, free_step, local_problem, row_errors
from stickslip.engine.newton import GUESS
from stickslip.engine.outer import ROUGH, SHARES, accuracy, gains, relative
from stickslip.engine.rescue import Rescue, gone_too_far, predict
from stickslip.engine.tables import Tables
from stickslip.engine.work import PREDICTED, Options, Work
from stickslip.nonsmooth.solvers import solve

STEPS = 30


def solve_by(
    solver: str, tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, layout: Layout
) -> Rescue:
    """Solve stage k, from multipliers of zero, by linearised problems that the solver solves; what came out.

    Zero, because what a solver leaves of the last step's would stay as small percussions of contacts that have opened.
    """
    unknowns, jumps = Unknowns(tables, k, memory), Sets(tables, k, memory, work, layout).marks.size > 0
    x, names = unknowns.get(), []
    x[int(tables.problems[k]["n_smooth"]) :] = 0.0
    unknowns.set(x)
    last: LocalProblem | None = None
    error, none, enough = evaluate_stage(tables, k, memory, work, options, True), False, GUESS * options.tolerance
    missed = 0  # linearised problems that were not solved
    for number in range(STEPS):
        if error < enough or not np.isfinite(error):
            break
        enough = options.tolerance
        work.x["step"][: x.size] = 0.0
        local = local_problem(tables, k, memory, work)
        if local is None:
            if not free_step(tables, k, work):
                break
        else:
            aim = accuracy(float(work.x["size"][local.unknown].min()), error, options)
            found = solve(local.problem, solver, relative(aim, float(local.problem.scales.scale.max())), local.z)
            names.append(solver)
            last, none, missed = local, found.no_solution, missed + (not found.residual < ROUGH)
            if found.no_solution or not found.residual < 1.0 or missed > 1:
                break
            local.step(found.reaction, work)
        if number == 0:
            predict(work, x.size)
        step, before, tried = work.x["step"][: x.size].copy(), error, []
        for share in SHARES:
            unknowns.set(x - share * step)
            tried.append((evaluate_stage(tables, k, memory, work, options, False), share))
            if jumps or gains(tried[-1][0], share, before):  # the residual jumps with sets of contacts
                break
        share = tried[-1][1] if jumps or gains(*tried[-1], before) else min(tried)[1]
        x = x - share * step
        unknowns.set(x)
        error = evaluate_stage(tables, k, memory, work, options, False)
    errors = row_errors(tables, k, work)
    problem, rows_of = (None, None) if last is None else (last.problem, last.unknown)
    solved = error < options.tolerance and not gone_too_far(tables, k, memory, work, options)
    work.signals[PREDICTED] = 0
    return Rescue(solved, error, tuple(names), problem, none and not solved, errors, unknown=rows_of)


def unsolved(tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options) -> Rescue:
    """What can be said of a stage that Newton's method alone did not solve."""
    residual = evaluate_stage(tables, k, memory, work, options, True)
    return Rescue(False, residual, (), None, False, row_errors(tables, k, work))
