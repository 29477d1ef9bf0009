"""The one door: what a user asks for, and everything that can be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from stickslip.engine.state import State
    from stickslip.model.system import System
    from stickslip.schemes import Scheme
    from stickslip.solution import Solution


def solve(
    system: System,
    t_end: float,
    dt: float,
    *,
    method: str | Scheme = "rattle",
    t_start: float | None = None,
    q0: np.ndarray | None = None,
    u0: np.ndarray | None = None,
    start: State | Solution | None = None,
    parameters: Mapping[str, float] | None = None,
    tol: float = 1e-8,
    max_iterations: int = 30,
    prox: float | None = None,
    initial_tol: float = 1e-6,
    save_every: int = 1,
    save: Sequence[str] | None = None,
    states: bool = False,
    energy_alarm: bool = True,
    on_failure: str = "raise",
    solver: str = "auto",
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Solution:
    """Simulate a system from `t_start` (0 if not given) to `t_end` in steps of `dt`.

    method: a name (`stickslip list` shows all; `options` are its parameters, as in method="theta", theta=1, or in one
    text, method="theta:theta=1") or a scheme such as `ss.Rattle()`. q0, u0: initial state, instead of the system's own.
    start: where another run ended, `solution.state` or the solution itself; with the same method, dt and parameters the
    rest is what one uninterrupted run gives, bit for bit.
    parameters: values that differ from the declared ones; nothing is recompiled for them. tol: residual of every
    step, as an error in coordinates and velocities; of a model much smaller than 1 cm or larger than 10 km (or as much slower
    or faster) relative to its own length and velocity. max_iterations: of one attempt of Newton's method. prox: parameter of
    the proximal point functions, instead of the automatic one; it decides about convergence, not about the result.
    initial_tol: by how much the initial state may violate constraints and gaps; more is a mistake, unless it continues
    from the end of a solution whose scheme drifts.

    save_every: keep the state after every so many steps, and the last one; percussions are then those of all steps between
    two rows. save: what is kept, all if not given: names of arrays ("q", "u", "P_N", "energy", ...) and of quantities
    ("pin.angle", "floor.force"); time always is. states: keep `solution.states`, one for every row, from each of which a
    run can start (such a run is slower). out: a file, such as "run.h5", that the results go to while the run goes on; memory
    does not grow with the number of steps, and `ss.resume` continues a run that was killed. overwrite: replace a result that is
    there already, or a run that was interrupted; without it they are refused, and other files always are. energy_alarm: warn
    (`EnergyWarning`) if the energy rises although nothing puts it in. on_failure: what becomes of a step that cannot be
    solved, "raise" or "subdivide": then it is repeated in two halves, these again where they fail, down to dt/1024;
    `solution.t` stays as it is, percussions are those of all pieces, and `solution.stats.solved_by` counts such steps.
    solver: what solves the contact problem of a step: "auto", which asks one solver after another until one succeeds, or one
    alone, "newton", "gauss-seidel", "robust" or "enumeration" (see `ss.nonsmooth.solve`), for comparisons.
    progress: a bar on the terminal.

    The number of steps is (t_end - t_start)/dt, rounded up: the last time is the first that reaches t_end. It lies behind
    t_end where dt does not divide the time. A scheme that decides the length of its steps may take more; `solution.t`
    holds the times. A step that cannot be solved raises `ConvergenceError`; Ctrl-C and SIGTERM raise `Interrupted`. Both
    carry the solution up to there.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.5, dt=1e-2, method="moreau", parameters={"e": 0.5})
    >>> solution.q.shape
    (51, 1)
    """
    from stickslip.solve.case import Case  # with engine and schemes, which `import stickslip` does not load

    case = Case(
        system,
        dt,
        method,
        options,
        tol=tol,
        max_iterations=max_iterations,
        prox=prox,
        initial_tol=initial_tol,
        save_every=save_every,
        on_failure=on_failure,
        solver=solver,
    )
    return case.run(
        t_end,
        t_start=t_start,
        q0=q0,
        u0=u0,
        start=start,
        parameters=parameters,
        save=save,
        states=states,
        energy_alarm=energy_alarm,
        out=out,
        overwrite=overwrite,
        progress=progress,
    )
