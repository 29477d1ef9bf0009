"""The half-explicit scheme on velocity level with short steps at impacts.

T. Schindler, S. Rezaei, J. Kursawe, V. Acary: Half-explicit timestepping schemes on velocity level based on
time-discontinuous Galerkin methods (2014), section 7.2 and Fig. 24: the variant of MBSim. It is the scheme of
`schemes.half_explicit` with three changes:

    before anything is solved, q_E = q_0 + dt qdot_0 tells whether a contact will close                   (Fig. 24)
    lambda_0 acts at contacts that are closed at q_E, not at q_0                                          (140, 141)
    an impulsive step is repeated with dt/10: errors are of order 2 between impacts and of order 1 at them

Fig. 24 decides from q_E alone. A contact that is open at q_E and closed at q_1 (always so for a ball that is dropped
from a height below dt^2 g/2) would then be stopped by a force and lose its restitution; here q_1 decides as well.

Good for: systems with few impacts, at steps that suit the motion between them. The times are not equidistant.
"""

from __future__ import annotations

from dataclasses import dataclass

from stickslip.engine.derive import PartType
from stickslip.engine.fields import DT, T_1, U_0
from stickslip.engine.flow import If, StageFunction
from stickslip.engine.stage import Stage
from stickslip.schemes.half_explicit import (
    CARRY,
    CLOSING,
    CLOSING_E,
    IMPULSIVE_STEP,
    IMPULSIVE_UNKNOWNS,
    OPEN_E,
    SPLIT,
    U_P,
    foresight,
    initial_contacts,
    output,
    position,
    predict,
)
from stickslip.schemes.scheme import Facts
from stickslip.schemes.velocity_level import VelocityLevel

REFINEMENT = 10  # of an impulsive step, after Table 3


def shorten(part: PartType, s: Stage) -> None:
    """An impulsive step ends after dt/10."""
    s.update(DT, s.dt / REFINEMENT)
    s.update(T_1, s.t_0 + s.dt / REFINEMENT)


def free_prediction(part: PartType, s: Stage) -> None:
    """u_P without constraint forces."""
    u_P = s.unknown(U_P, guess=U_0)
    s.equation(part.M(s.t_0, s.q_0) @ (u_P - s.u_0) - s.dt * part.h(s.t_0, s.q_0, s.u_0), for_=u_P)


@dataclass(frozen=True)
class HalfExplicitAdaptive(VelocityLevel):
    """The half-explicit scheme of Fig. 24: steps of dt, and of dt/10 where a contact closes; see `solution.t`.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.ball_in_box(), t_end=1.0, dt=5e-3, method="half-explicit-adaptive")
    >>> bool(solution.t[-1] >= 1.0 - 1e-9)
    True
    """

    name = "half-explicit-adaptive"
    facts = Facts(
        summary="half-explicit with steps of dt/10 where a contact closes; order 2 between impacts",
        source="Schindler, Rezaei, Kursawe, Acary 2014, section 7.2 and Fig. 24",
        order=2,
        unknowns={"free_prediction": "n_u", "prediction": "n_u + n_P", "output": "n_u + n_P"} | IMPULSIVE_UNKNOWNS,
        levels=("velocity",),
        contact_level="velocity",
        stable_to=2.0,
        detected=False,
    )
    carry = CARRY
    extra = SPLIT

    def begin(self) -> tuple[StageFunction, ...]:
        return (initial_contacts,)

    def step(self) -> tuple[StageFunction | If, ...]:
        impulsive = (shorten, free_prediction, position, *IMPULSIVE_STEP)
        smooth = (self.prediction, position, If(CLOSING, then=impulsive, otherwise=(output,)))
        return foresight, If(CLOSING_E, then=impulsive, otherwise=smooth)

    def prediction(self, part: PartType, s: Stage) -> None:
        """u_P and lambda_0, of contacts that are closed at q_E (140, 141)."""
        predict(part, s, open_where=OPEN_E)
