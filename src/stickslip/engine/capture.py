"""The contact problem of a step: a stage at its solution, linearised, as `nonsmooth` sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.engine.fields import SPACES
from stickslip.engine.run import NOTHING
from stickslip.engine.tables import SOLVE
from stickslip.errors import OptionError, StudyError, unknown_name

if TYPE_CHECKING:
    from stickslip.engine.run import ProgramRun
    from stickslip.nonsmooth.problem import Problem


def capture(run: ProgramRun, stage: str | None = None) -> tuple[Problem, tuple[tuple[str, int], ...]]:
    """The problem of the next step of a run, and for each of its elements the space and number of its first multiplier.

    stage: of the scheme, by name; the first one with contacts or friction, if it is not given. The run stays where it is. Where
    the stage cannot be solved, it is the problem at which its solvers ended.
    """
    from stickslip.engine.local import evaluate_stage, local_problem

    run.look_around()
    at, k = _instruction(run, stage)
    before, stats = run.memory.copy(), (run._iterations[0].copy(), run._residuals[0].copy())
    run._residuals[0], run._iterations[0] = 0.0, 0
    n, rows = run.first + run.done, np.zeros((2, run.record.size))
    failed = run._call(NOTHING, run.program.step[: at + 1], NOTHING, n, n + 1, rows, run.record)[1]
    try:
        trouble = run._trouble
        if failed == k and trouble is not None and trouble.problem is not None:
            return trouble.problem, _homes(run, k, trouble.problem, trouble.unknown)
        if failed >= 0:
            raise StudyError(f"the step from t = {run.t:g} cannot be solved up to its stage {run.stages[k]!r}")
        groups = run.tables.groups.copy()
        groups["gap_kernel"] = 0  # no instance is idle: the problem has all contacts
        tables = run.tables._replace(groups=groups)
        evaluate_stage(tables, k, run.memory, run.work, run.options, True)
        local = local_problem(tables, k, run.memory, run.work)
        if local is None:
            raise StudyError(f"the stage {run.stages[k]!r} has no contact that applies in the step from t = {run.t:g}")
        return local.problem, _homes(run, k, local.problem, local.unknown)
    finally:
        run.memory[:] = before
        run._awake()
        run._iterations[0], run._residuals[0] = stats


def _instruction(run: ProgramRun, stage: str | None) -> tuple[int, int]:
    """Where the stage is solved in the program of a step, and its number."""
    tables = run.tables
    found: dict[str, tuple[int, int]] = {}
    for at, (what, k, *_) in enumerate(run.program.step.tolist()):
        if what == SOLVE:
            groups = tables.groups[tables.problems[k]["group_0"] : tables.problems[k]["group_1"]]
            if (groups["law_1"] > groups["law"]).any():
                found.setdefault(run.stages[k], (at, k))
    if not found:
        raise OptionError("there are no contacts and no friction, so no problem to capture")
    if stage is not None and stage not in found:
        raise OptionError(unknown_name("stage with contacts", str(stage), found))
    return next(iter(found.values())) if stage is None else found[stage]


def _homes(run: ProgramRun, k: int, problem: Problem, unknown: np.ndarray) -> tuple[tuple[str, int], ...]:
    """Space and number of the first multiplier of each element."""
    first = unknown[problem.laws.start[problem.laws.element[:-1]]]
    return tuple(_home(run, k, int(i)) for i in first)


def _home(run: ProgramRun, k: int, unknown: int) -> tuple[str, int]:
    """Space and number of an unknown of a stage."""
    tables, layout = run.tables, run.program.layout
    for segment in tables.segments[tables.problems[k]["segment_0"] : tables.problems[k]["segment_1"]]:
        offset = unknown - int(segment["first"])
        if 0 <= offset < segment["length"]:
            for each, start in layout.start.items():
                inside = int(segment["start"]) + offset - start
                if each.space in SPACES and 0 <= inside < layout.size[each]:
                    return str(each.space), inside
    return "", -1
