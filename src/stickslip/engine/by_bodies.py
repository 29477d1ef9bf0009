"""Stages of free bodies with many contacts that Newton's method does not solve at once: by solvers on the graph of bodies."""

from __future__ import annotations

import numpy as np

from stickslip.engine.body_stage import body_stage
from stickslip.engine.local import evaluate_stage
from stickslip.engine.rescue import EXACT, INEXACT, REACH, ROUGH, SHARES, Unknowns, gains
from stickslip.engine.tables import Tables
from stickslip.engine.work import Options, Work
from stickslip.nonsmooth.measure import scratch
from stickslip.nonsmooth.operator import size_of
from stickslip.nonsmooth.proximal import robust

STEPS = 6  # of the outer iteration
ROUNDS = 3  # of ADMM and Newton


def solve_by_bodies(tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options) -> bool:
    """Whether the stage was solved from the start of the compiled iterations; the memory holds its solution, or the start."""
    unknowns, n, order = Unknowns(tables, k, memory), int(tables.problems[k]["n"]), int(tables.problems[k]["order"])
    largest = float(work.sizes[order : order + n].max(initial=0.0)) or 1.0
    start = work.start[:n].copy()
    if _iterated(tables, k, memory, work, options, unknowns, start, largest):
        return True
    unknowns.set(start)
    return False


def _iterated(
    tables: Tables,
    k: int,
    memory: np.ndarray,
    work: Work,
    options: Options,
    unknowns: Unknowns,
    x: np.ndarray,
    largest: float,
) -> bool:
    """The outer iteration from x; whether the memory holds a solution."""
    n = x.size
    unknowns.set(x)
    error = evaluate_stage(tables, k, memory, work, options, True)
    for _ in range(STEPS):
        if error < options.tolerance:
            return True
        if not np.isfinite(error):
            return False
        work.near[0] = REACH * error * largest
        evaluate_stage(tables, k, memory, work, options, False)
        work.x["step"][:n] = 0.0  # those of idle contacts stay
        stage = body_stage(tables, k, memory, work)
        work.near[0] = 0.0
        if stage is None:
            return False
        accuracy = float(work.x["size"][stage.unknown].min()) * max(0.1 * options.tolerance, INEXACT * error)
        tol = min(max(accuracy / float(stage.scales.scale.max()), EXACT), ROUGH)
        r, s = stage.z.copy(), scratch(stage.z.size, size_of(stage.op), stage.laws.kind.size)
        if not robust(stage.op, stage.laws, stage.scales, r, tol, ROUNDS, s)[0] < ROUGH:
            return False
        stage.step(r, work)
        step, before, tried = work.x["step"][:n].copy(), error, []
        for share in SHARES:
            unknowns.set(x - share * step)
            error = evaluate_stage(tables, k, memory, work, options, False)
            tried.append((error, share))
            if gains(error, share, before):
                break
        else:
            error, share = min(tried)
            unknowns.set(x - share * step)
            evaluate_stage(tables, k, memory, work, options, False)
        x = x - share * step
    return error < options.tolerance
