"""The five problems of `schemes.event_driven` as functions of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from stickslip.engine.fields import PERCUSSIONS, Q_0, Q_1, T_0, U_0, U_1, F, Field, Multipliers, N, Q, U, expand
from stickslip.engine.layout import slices
from stickslip.engine.program import Program
from stickslip.engine.runs import Start
from stickslip.jit import Direct

# What the search for events knows and sees. Masks of modes: CLOSED and STICK are 1 or 0, OPEN is positive for yes.
CLOSED, OPEN, STICK, SLIDING = Field("closed", N), Field("open", N), Field("stick", F), Field("sliding", F)
DIRECTION = Field("direction", F)  # of slip, zero where an element does not slide
# Below this speed the direction of slip in the plane is that in which it began. The direction relaxes at the rate
# mu la_N/(m |gamma_F|), without bound at the start; this bounds it, at an error of about 1e-3 of it in the velocities.
LEAST_SLIP, START_OF_SLIP = Field("least slip", F), 1e-6
A, LA, FORCE_F, RADIUS = Field("a", U), Multipliers("la"), Field("force.F", F), Field("radius", F)
QDOT, GAP, GAP_DOT, SLIP = Field("qdot", Q), Field("gap", N), Field("gap_dot", N), Field("slip", F)
GAP_DDOT = Field("gap_ddot", N)
LIFTS = Field("lifts", N)  # contacts at rest that will open
SHIFT = Field("shift", U)
PUSH = Field("push", N)  # velocities at which contacts are made to separate: zero, but for a first guess
U_GUESS = Field("u_guess", U)  # where the iterations of an impact start

ROUND_OFF = 1e-12  # relative residual of the five problems: their linear systems are solved to about 1e-14
STIFF = 1e-9  # the same where large forces cancel, as in thin beams: rounding of 2e5 N leaves 3e-11 N


class Trouble(Exception):
    """The run cannot go on; `advance` makes a failure of it."""

    def __init__(self, stage: str, message: str, residual: float = np.nan):
        super().__init__(message)
        self.stage, self.residual = stage, residual


class DeadPoint(Trouble):
    """The same at a point that shorter steps do not lead past."""


class Routine:
    """A program of one stage as a function of numbers: fields in, fields out."""

    def __init__(
        self,
        program: Program,
        inputs: Sequence[Field],
        outputs: Sequence[Field | Multipliers],
        start: Start,
        rate: float = 1.0,
    ):
        from stickslip.engine.advance import allow_sweeps, workspace
        from stickslip.engine.levels import row_sizes

        layout = program.layout
        self._program, self._work, self._memory = program, workspace(program), np.zeros(layout.total)
        if start.sizes is not None:
            sizes = {at: size if at[1] else size * rate for at, size in start.sizes.items()}
            self._work.sizes[:] = row_sizes(program, sizes)
        allow_sweeps(program.tables, self._work)
        self._memory[: layout.parameters] = start.parameters
        if LEAST_SLIP in layout.start:
            self._memory[layout.places(LEAST_SLIP)] = START_OF_SLIP * (
                1.0 if start.sizes is None else start.sizes[str(F), False]
            )
        self._inputs, self._record = layout.places(*inputs), layout.places(*outputs)
        self._slices = slices({each: layout.size[each] for each in expand(outputs)})
        self._counts = np.zeros(len(program.solved), np.int64), np.zeros(program.n_residuals)
        self._iterations, self._prox, self._call = start.max_iterations, start.prox, _call()
        self.name = program.solved[0]

    @property
    def start(self) -> np.ndarray:
        """Where the next iterations start: all fields."""
        return self._memory[self._program.layout.parameters :]

    @start.setter
    def start(self, values: np.ndarray) -> None:
        self._memory[self._program.layout.parameters :] = values

    def __call__(self, *values: float | np.ndarray, scale: float = 1.0) -> dict[Field, np.ndarray]:
        """Solve, to ROUND_OFF of `scale`, the expected size of the unknowns in their units; again if larger, or to STIFF."""
        given = np.concatenate([v if isinstance(v, np.ndarray) else (v,) for v in values])
        for expected in (scale, 1e3 * scale, 1e6 * scale):
            found, size = self._attempt(ROUND_OFF * max(1.0, expected), given)
            if found is not None:
                return found
            if not size > expected:
                break
        found, _ = self._attempt(STIFF * max(1.0, scale), given)
        if found is not None:
            return found
        residual, name = float(self._counts[1].max(initial=0.0)), self.name
        raise Trouble(
            name, f"the problem of {name.replace('_', ' ')} has no solution, residual {residual:.2e}", residual
        )

    def _attempt(self, tolerance: float, given: np.ndarray) -> tuple[dict[Field, np.ndarray] | None, float]:
        """The solution, if there is one to this tolerance, and the size of what was found."""
        from stickslip.engine.advance import Options

        p, out = self._program, np.empty(self._record.size)
        options = Options(tolerance, self._iterations, self._prox)
        failed = self._call(
            p.step,
            p.tables,
            self._memory,
            self._work,
            options,
            self._inputs,
            given,
            self._record,
            out,
            *self._counts,
        )
        size = float(np.abs(out).max(initial=1.0))
        solved = failed < 0 and np.isfinite(size)
        return {each: out[s] for each, s in self._slices.items()} if solved else None, size


@cache
def _call() -> Direct:
    """One for all programs, whose tables have the same types: to look at these takes longer than a short run."""
    from stickslip.engine.advance import call

    return Direct(call)


class Problems:
    """All five, for one run."""

    def __init__(self, programs: Mapping[str, Program], start: Start, rate: float = 1.0):
        state, modes = (T_0, Q_0, U_0), (CLOSED, STICK, DIRECTION)
        seen = (A, QDOT, LA.g, LA.gamma, LA.N, FORCE_F, RADIUS, GAP, GAP_DOT, GAP_DDOT, SLIP)
        self.motion = Routine(programs["motion"], (*state, *modes), seen, start, rate)
        given = (*state, OPEN, SLIDING, DIRECTION)
        self.choice = Routine(programs["choice"], given, (LIFTS, LA.F, RADIUS), start, rate)
        self.impact = Routine(programs["impact"], (*state, OPEN, PUSH, U_GUESS), (U_1, PERCUSSIONS), start)
        self.project_q = Routine(programs["project_positions"], (T_0, Q_0, CLOSED), (Q_1,), start)
        project_u = programs["project_velocities"]
        self.project_u = Routine(project_u, (*state, CLOSED, STICK), (U_1, PERCUSSIONS), start)

    @property
    def all(self) -> tuple[Routine, ...]:
        return self.motion, self.choice, self.impact, self.project_q, self.project_u


def percussions_of(v: Mapping[Field, np.ndarray]) -> np.ndarray:
    """All of them in one vector, in the order of SPACES."""
    return np.concatenate([v[each] for each in PERCUSSIONS.fields])
