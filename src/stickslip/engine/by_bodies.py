"""Stages of free bodies with many contacts that Newton's method does not solve at once: by solvers on the graph of bodies."""

from __future__ import annotations

import numpy as np

from stickslip.engine.body_stage import BodyStage, body_stage
from stickslip.engine.contact_sets import Unknowns
from stickslip.engine.local import evaluate_stage
from stickslip.engine.outer import ROUGH, SHARES, accuracy, gains, largest_size, relative
from stickslip.engine.rescue import gone_too_far
from stickslip.engine.tables import Tables
from stickslip.engine.work import Options, Work
from stickslip.nonsmooth.measure import scratch
from stickslip.nonsmooth.operator import size_of
from stickslip.nonsmooth.proximal import robust

STEPS = 8  # of the outer iteration
NEAR = 1.0  # of the residual of the stage, as a gap or velocity: contacts that are farther away are left out
ROUNDS, MORE_ROUNDS = 3, 12  # of ADMM and Newton; from zero


def solve_by_bodies(tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options) -> bool:
    """Whether the stage was solved from the start of the compiled iterations; the memory holds its solution, or the start."""
    unknowns, n = Unknowns(tables, k, memory), int(tables.problems[k]["n"])
    start = work.start[:n].copy()
    if _iterated(tables, k, memory, work, options, unknowns, start):
        return True
    unknowns.set(start)
    return False


def _solved(stage: BodyStage, tol: float) -> tuple[np.ndarray, float]:
    """Multipliers of the linearised stage, and their residual: from the present ones, which mostly lead on, else from zero."""
    r, s = stage.z.copy(), scratch(stage.z.size, size_of(stage.op), stage.laws.kind.size)
    left = robust(stage.op, stage.laws, stage.scales, r, tol, ROUNDS, s)[0]
    if not left < ROUGH:
        r[:] = 0.0
        left = robust(stage.op, stage.laws, stage.scales, r, tol, MORE_ROUNDS, s)[0]
    return r, left


def _iterated(
    tables: Tables,
    k: int,
    memory: np.ndarray,
    work: Work,
    options: Options,
    unknowns: Unknowns,
    x: np.ndarray,
) -> bool:
    """The outer iteration from x; whether the memory holds a solution.

    Contacts that are farther away than NEAR and close on the way are in the next linearised stage. If none that are open were
    taken, contacts of a stack would close one after another.
    """
    n, largest = x.size, largest_size(tables, k, work)
    unknowns.set(x)
    error = evaluate_stage(tables, k, memory, work, options, True)
    for _ in range(STEPS):
        if error < options.tolerance:
            return not gone_too_far(tables, k, memory, work, options)
        if not np.isfinite(error):
            return False
        work.near[0] = NEAR * error * largest
        evaluate_stage(tables, k, memory, work, options, False)
        work.x["step"][:n] = 0.0  # those of idle contacts stay
        stage = body_stage(tables, k, memory, work)
        work.near[0] = 0.0
        if stage is None:
            return False
        enough = accuracy(float(work.x["size"][stage.unknown].min()), error, options)
        r, left = _solved(stage, relative(enough, float(stage.scales.scale.max())))
        if not left < ROUGH:
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
