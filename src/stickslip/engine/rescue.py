"""What is tried where the compiled Newton iterations did not converge: the ladder of `nonsmooth` on the linearised stage.

Each step solves the laws of the linearised stage to the end, by the cheapest solver that can, and is taken as far as the
residual of the stage (the natural map) falls. What it finds is a start from which the compiled loop goes on, and tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.local import LocalProblem, evaluate_stage, local_problem
from stickslip.engine.tables import Tables
from stickslip.engine.work import Options, Work
from stickslip.nonsmooth.problem import Problem
from stickslip.nonsmooth.solvers import OneStepSolution, solve_shortly

STEPS = 8  # of the outer iteration
SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)
INEXACT = 1e-4  # of the residual of the stage: how well its linearised problem is solved
EXACT, ROUGH = 1e-12, 1e-6  # relative residuals of a linearised problem: where rounding ends, and what is worth a step


class Rescue(NamedTuple):
    """Whether a stage was solved, the residual that was reached, what solved its linearised problems, and the last of them."""

    solved: bool
    residual: float
    solvers: tuple[str, ...]
    problem: Problem | None
    no_solution: bool
    errors: np.ndarray  # of all rows, in the measure of the residual


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

    def set(self, x: np.ndarray) -> None:
        """Give them values."""
        for place, part in self._segments:
            self._memory[place] = x[part]


def rescue(tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options) -> Rescue:
    """Solve stage k from the start of the compiled iterations, with multipliers of zero; the memory holds what was found."""
    groups = tables.groups.copy()
    groups["gap_kernel"] = 0  # no instance is idle here: the linearised problem has all contacts
    tables = tables._replace(groups=groups)
    unknowns, solvers = Unknowns(tables, k, memory), []
    x = work.start[: int(tables.problems[k]["n"])].copy()
    x[int(tables.problems[k]["n_smooth"]) :] = 0.0
    unknowns.set(x)
    error = evaluate_stage(tables, k, memory, work, options, True)
    best, least, last, none = x, error, None, False
    for _ in range(STEPS):
        if error < options.tolerance or not np.isfinite(error):
            break
        local = local_problem(tables, k, memory, work)
        if local is None:
            break
        smallest = float(work.x["size"][local.unknown].min())
        found = solve_local(local, smallest * max(0.1 * options.tolerance, INEXACT * error))
        solvers.append(found.solver)
        last, none = local.problem, found.no_solution
        if found.no_solution or not found.residual < 1.0:
            break
        local.step(found.reaction, work)
        step, before, tried = work.x["step"][: x.size].copy(), error, []
        for share in SHARES:
            unknowns.set(x - share * step)
            error = evaluate_stage(tables, k, memory, work, options, False)
            tried.append((error, share))
            if error < before:
                break
        error, share = min(tried)  # where no share helps, sets of contacts that apply have changed: go on from the best
        x = x - share * step
        unknowns.set(x)
        evaluate_stage(tables, k, memory, work, options, False)
        if error < least:
            best, least = x, error
    unknowns.set(best)
    evaluate_stage(tables, k, memory, work, options, False)
    rows = work.x[: x.size]
    return Rescue(
        least < options.tolerance, least, tuple(solvers), last, none, np.abs(rows["residual"] * rows["factor"])
    )


def solve_local(local: LocalProblem, tolerance: float) -> OneStepSolution:
    """The linearised problem, from the multipliers of the stage, so that its error is below the tolerance."""
    relative = tolerance / float(local.problem.scales.scale.max())
    return solve_shortly(local.problem, local.z.copy(), min(max(relative, EXACT), ROUGH))
