"""The contact problem of any step of any run, as an object of `stickslip.nonsmooth`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.engine.run import ProgramRun
from stickslip.engine.runs import CHUNK_ROWS, Start
from stickslip.errors import MethodError, OptionError, StudyError
from stickslip.model.collisions import collisions_of
from stickslip.model.system import System
from stickslip.schemes.spec import label, scheme_of
from stickslip.solution import Names, Solution
from stickslip.solve.detecting import DetectingRun
from stickslip.solve.prepared import program_of

if TYPE_CHECKING:
    from stickslip.nonsmooth.problem import Problem


def step_problem(solution: Solution, step: int, *, stage: str | None = None, system: System | None = None) -> Problem:
    """The linearised contact problem of one step of a solution, 1 the first; any solver of `ss.nonsmooth` takes it.

    stage: of the scheme, by name; the first one with contacts, if it is not given. system: of a solution from a file. The
    run is repeated up to the step, or continued from `solution.states` where they were kept. The problem is linearised at
    the solution of the stage, so its reactions are those of the stage (to the tolerance, and where they are unique). They are
    the percussions of the step in schemes with one stage of velocities such as moreau and theta, in the "velocity_stage" of
    rattle and lobatto, and in "impact" of half-explicit schemes if the step has an impact.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.rotating_bouncing_ball(case=1)
    >>> solution = ss.solve(ball, t_end=1.0, dt=1e-2, method="moreau")
    >>> step = int(solution.P_N[:, 0].argmax())  # the hardest impact
    >>> found = ss.nonsmooth.solve(ss.step_problem(solution, step))
    >>> bool(abs(found.reaction[0] - solution.P_N[step, 0]) < 1e-6)
    True
    """
    if not isinstance(solution, Solution):
        raise OptionError(f"step_problem needs a solution, as ss.solve and ss.load give it, got {solution!r}")
    system = system or solution.system
    if not isinstance(system, System):
        raise OptionError("the solution comes from a file and does not know its system; pass system=")
    about = solution.provenance
    steps = solution.stats.steps
    if isinstance(step, bool) or not isinstance(step, int | np.integer) or not 1 <= step <= steps:
        raise OptionError(f"step = {step!r} must be a whole number from 1 to {steps}, the last step of this solution")
    if about.get("varying"):
        raise OptionError("parameters changed during this run, which cannot be repeated; use `problem` of the stepper")
    from stickslip.engine.capture import capture

    run = _repeat(system, solution, int(step) - 1)
    problem, homes = capture(run, stage)
    return replace(problem, names=names_of_elements(homes, solution.names))


def _repeat(system: System, solution: Solution, steps: int) -> Any:
    """A run of the same scheme, after so many steps."""
    about = solution.provenance
    scheme = scheme_of(about["method"], about["options"])
    parameters = system.parameter_values(about.get("parameters"))
    kept = solution.states[steps] if len(solution.states) == len(solution.t) == solution.stats.steps + 1 else None
    dt, tol, t_start = about["dt"], about["tol"], float(solution.t[0])
    begin = (t_start, about["t_end"], dt, max(steps, 1), tol, 30, 0.0, label(scheme), kept)
    start = Start(np.array(list(parameters.values())), solution.q[0].copy(), solution.u[0].copy(), *begin)
    run: Any
    if collisions_of(system) is not None:
        run = DetectingRun(system, scheme, start, parameters, np.inf)
    else:
        run = scheme.start(program_of(system, scheme), start)
    if not isinstance(run, ProgramRun):
        raise MethodError(f"method {scheme.name!r} has no steps whose problem could be captured; take another one")
    while kept is None and run.done < steps and run.failure is None:
        run.step(min(steps - run.done, CHUNK_ROWS))
    if run.failure is not None:
        raise StudyError(f"the run could not be repeated up to step {steps + 1}: {run.failure.message}")
    return run


def names_of_elements(homes: tuple[tuple[str, int], ...], names: Names) -> tuple[str, ...]:
    """Names of contacts and constraints for the elements of a problem; detected contacts are numbered."""
    friction = [name for name, size in zip(names.friction, names.friction_sizes, strict=True) for _ in range(size)]
    labels = {"g": names.g, "gamma": names.gamma, "N": names.contacts, "F": tuple(friction)}
    out = []
    for space, i in homes:
        known = labels.get(space, ())
        out.append(known[i] if i < len(known) else f"detected {i - len(known)}")
    return tuple(out)
