"""The first rescue of a stage with many contacts: its linearisations are solved on the graph of bodies (`body_levels`).

A step takes one evaluation of the stage, with rough derivatives where exact ones are long. Steps are taken whole: they change
the sets of contacts in which laws apply, and where these stay as they are, the residual falls by a factor of about 100. Then
Newton's method is asked to finish.

Not every stage of generalized-alpha has a solution. Where a contact slips, forces of the smooth motion may not exist
(Painleve's paradox), and the sets may repeat. Percussions exist all the same, unless contacts jam (`jams`). So what is not
solved as it stands is solved with contacts that act by impulses alone, for this step (the field FORCELESS).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.engine.body_levels import BodyLevels, Level
from stickslip.engine.contact_sets import Sets, Unknowns
from stickslip.engine.fields import EXCEPTIONS, FORCELESS
from stickslip.engine.jams import marks_of
from stickslip.engine.layout import Layout
from stickslip.engine.local import evaluate_stage
from stickslip.engine.outer import REACH, accuracy
from stickslip.engine.tables import Tables, with_rough_kernels
from stickslip.engine.work import SOLVE_STAGE, Options, Work
from stickslip.jit import jit_bare
from stickslip.native.call import call_apart
from stickslip.nonsmooth.cones import BALL
from stickslip.nonsmooth.graph import SIZE
from stickslip.nonsmooth.jam import jam_of
from stickslip.nonsmooth.problem import Problem, rows_of_elements
from stickslip.patience import look

ON_BODIES, NEWTON = "robust on bodies", "newton with exact derivatives"
BY_IMPULSES = "contacts by impulses alone"
STEPS, MORE_STEPS = 20, 8  # of an iteration, and after contacts were closed
CLOSINGS = 4  # of contacts that open and close in turn
WEAK = 1e-2  # of the residual: levels that others disturb by less are left to the next step
NEARLY = 1e-3  # residual from which Newton's method with exact derivatives may lead on
CLOSE = 1e-4  # where Newton's method is asked, if sets of contacts have not changed
AT_REST = 0.5  # of the energy that is missed without multipliers: below, those of the last step are a better start
GROWS = 10.0  # the residual, though sets of contacts stay: then Newton's method goes on from the point before
DOUBT = 1.0  # of the tolerance: contacts that are open by less are closed at the start
UNSOLVED = 4  # how often levels may be left unsolved


class OnBodies(NamedTuple):
    """The residual that was reached, the largest gap at which a contact was closed, and what solved the stage."""

    residual: float
    early: float = 0.0
    solver: str = ON_BODIES


class OneStage(NamedTuple):
    """What all steps of a rescue read and write."""

    tables: Tables
    exact: Tables  # with exact derivatives
    k: int
    memory: np.ndarray
    work: Work
    options: Options
    sets: Sets
    layout: Layout
    levels: BodyLevels

    def evaluate(self, *, fresh: bool = False) -> float:
        """The residual at the values in the memory."""
        return evaluate_stage(self.tables, self.k, self.memory, self.work, self.options, fresh)

    def begin_anew(self, start: np.ndarray) -> None:
        """Forget what an attempt has left; the next one begins at `start`."""
        self.work.start[: start.size], self.memory[self.layout.places(*EXCEPTIONS)] = start, 0.0
        self.sets.forget()


def solve_on_bodies(
    tables: Tables, k: int, memory: np.ndarray, work: Work, options: Options, sets: Sets, layout: Layout
) -> OnBodies | None:
    """Solve stage k from the start of the compiled iterations; the memory holds what was found. None: it has another form."""
    levels = BodyLevels(tables, k)
    if levels.shape is None or levels.shape.vectors < 2:
        return None
    n, solved_by = int(tables.problems[k]["n"]), work.solved_by.copy()
    start, rough = work.start[:n].copy(), with_rough_kernels(tables)
    stage, enough = OneStage(rough, tables, k, memory, work, options, sets, layout, levels), options.tolerance
    stage.begin_anew(start)
    energies = []
    for share in (0.0, 1.0):
        _begin(stage, share)
        energies.append(_energy_missed(stage))
    warm = energies[1] < AT_REST * energies[0]
    found = _iterate(stage, 1.0 if warm else 0.0)
    if not found.residual < enough:
        stage.begin_anew(start)
        found = _iterate(stage, 0.0 if warm else 1.0)
    if enough <= found.residual < NEARLY and rough is not tables:  # what rough derivatives leave out may be large
        stage.begin_anew(start)
        Unknowns(tables, k, memory).set(start)
        found = OnBodies(_newton(stage._replace(tables=tables), 2), solver=NEWTON)
    if not found.residual < enough and sets.marks.size:
        stage.begin_anew(start)
        memory[layout.places(FORCELESS)] = 1.0
        found = _iterate(stage, 0.0)._replace(solver=BY_IMPULSES)
    sets.forget()
    work.start[:n], work.solved_by[:] = start, solved_by  # the loop counts what is solved
    return found


def _begin(stage: OneStage, share: float) -> tuple[np.ndarray, float]:
    """The start with a share of the multipliers of the last step, and its residual."""
    problem, work = stage.tables.problems[stage.k], stage.work
    n = int(problem["n"])
    x = work.start[:n].copy()
    x[int(problem["n_smooth"]) :] *= share
    unknowns = Unknowns(stage.tables, stage.k, stage.memory)
    unknowns.set(x)
    if share > 0.0:
        return x, stage.evaluate(fresh=True)
    normal, near = stage.sets.normal, float(work.near[0])
    work.x["unit"][:n], work.near[0] = 0.0, np.inf  # else idle contacts have the units of an earlier stage
    stage.evaluate(fresh=True)
    work.near[0] = near
    x[normal] = DOUBT * stage.options.tolerance * work.x["unit"][normal]
    unknowns.set(x)
    return x, stage.evaluate()


def _energy_missed(stage: OneStage) -> float:
    """Kinetic energy of the residual: in its rows of velocities light bodies and rotations outweigh all others."""
    n, x = int(stage.tables.problems[stage.k]["n_smooth"]), stage.work.x
    violation = stage.work.errors[1] * float(x["size"][:n].max())
    return float(np.sum(x["residual"][:n] ** 2 * x["scale"][:n]) + violation**2 / x["scale"][:n].min())


def _iterate(stage: OneStage, share: float) -> OnBodies:
    """The iteration, from a share of the multipliers of the last step."""
    tables, _, k, memory, work, options, sets, _, levels = stage
    n, order = int(tables.problems[k]["n"]), int(tables.problems[k]["order"])
    sizes = work.sizes[order : order + n]
    largest, smallest = (float(f(sizes[sizes > 0.0])) if sizes.any() else 1.0 for f in (np.max, np.min))
    unknowns, left, closings, early, unsolved, same = Unknowns(tables, k, memory), STEPS, 0, 0.0, 0, False
    x, error = _begin(stage, share)
    work.near[0] = REACH * error * largest  # from here on: contacts that the next step may close
    error = stage.evaluate()
    while left > 0 and options.tolerance <= error < np.inf:
        if same and error < CLOSE:
            work.near[0] = 0.0
            reached = _newton(stage)
            if reached < options.tolerance:
                return OnBodies(reached, early)
            unknowns.set(x)
            stage.evaluate(fresh=True)
        look()
        left, were = left - 1, sets.get()
        work.x["step"][:n] = 0.0
        enough = accuracy(smallest, error, options)
        missed = levels.step(tables, k, memory, work, enough, smallest * WEAK * error)
        if not np.isfinite(missed):
            break
        if levels.unsolved is not None:
            unsolved += 1
            if _gives_way(stage, levels.unsolved):
                error = stage.evaluate()
                continue
            if unsolved > (1 if same and sets.marks.size else UNSOLVED):
                break
        before, last = x.copy(), error
        x -= work.x["step"][:n]
        unknowns.set(x)
        work.near[0] = REACH * error * largest
        error = stage.evaluate()
        same = sets.get() == were
        if same and error > GROWS * last:  # forces are so large that what they change in other bodies counts
            work.near[0] = 0.0
            unknowns.set(before)
            return OnBodies(_newton(stage._replace(tables=stage.exact)), early)
        if error > options.tolerance and sets.marks.size and (gaps := sets.repeat(error)):
            closed, closings = sets.close_early(gaps), closings + 1
            if closed == 0.0 or closings > CLOSINGS:
                break
            left, early = max(left, MORE_STEPS), max(early, closed)
            error = stage.evaluate()
    work.near[0] = 0.0
    return OnBodies(error, early)


def _gives_way(stage: OneStage, level: Level) -> bool:
    """Whether contacts of a level that was not solved jam, and give up their restitution.

    Only where contacts act by impulses alone: forces of the smooth motion may not exist without any jam.
    """
    if not stage.memory[stage.layout.places(FORCELESS)].any() or not (level.laws.kind == BALL).any():
        return False
    forces = _jam_in(level)
    if forces is None:
        return False
    marks = marks_of(stage.tables, stage.k, stage.memory, stage.layout, level.unknown, forces)
    stage.memory[marks] = 1.0
    return marks.size > 0


def _jam_in(level: Level) -> np.ndarray | None:
    """Normal forces of a jam by row, at the values for which the level was last solved; None if there is none."""
    op, n = level.op, level.rows.size
    element = np.repeat(np.arange(op.a.size), rows_of_elements(level.laws))
    G, F = np.zeros((n, op.f.size)), np.zeros((n, op.f.size))
    for who, G_0, F_0 in ((op.a, op.G_a, op.F_a), (op.b, op.G_b, op.F_b)):
        some = np.flatnonzero(who[element] >= 0)
        columns = SIZE * who[element[some], None] + np.arange(SIZE)
        G[some[:, None], columns], F[some[:, None], columns] = G_0[some], F_0[some]
    moved = np.einsum("bij,rbj->rbi", op.M_inverse, F.reshape(n, -1, SIZE)).reshape(n, -1)
    return jam_of(Problem(level.laws, sp.csr_matrix(G @ moved.T), op.offset.copy()))


def _newton(stage: OneStage, attempts: int = 1) -> float:
    """Newton's method from the values in the memory; the residual that it reached."""
    stages = len(stage.tables.problems)
    iterations, residuals = np.zeros(stages, np.int64), np.zeros(stages + 2)
    options = stage.options._replace(attempt_0=0, attempt_1=attempts)
    _solve(stage.tables, stage.k, stage.memory, stage.work, options, iterations, residuals)
    return float(residuals[stage.k])


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
