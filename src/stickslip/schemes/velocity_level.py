"""Schemes on velocity level, and what becomes of them where constraints depend on each other.

As printed, these schemes let positions drift off g = 0. Where constraints are independent that is all. There are constraints
that depend on each other on g = 0 only, as those of Bennett's linkage: off it the rank of W rises with the drift,
velocities that all of them allow no longer exist, and the mechanism locks, or its forces grow without bound. There every
position q_1 that the scheme moves to is replaced by the nearest one that holds the constraints,

    q = q_1 + dt v,   M(t_0, q_0) v = W_g(t_0, q_0) P,   g(t_1, q) = 0                                  (*)

as part of the stage that finds it, before constraints of velocities are written there (`Stage.position`). dt v is as small as
the drift of one step; quaternions keep their norm.

project: "dependent": as printed, but (*) for models whose constraints depend on each other at the declared state, and less so
beside it; "never": as printed; "always": (*) for all models.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from stickslip.engine.derive import PartType
from stickslip.engine.fields import GAP_RATE
from stickslip.engine.stage import Stage
from stickslip.errors import OptionError, unknown_name
from stickslip.schemes.scheme import Scheme

PROJECT = ("dependent", "never", "always")
VELOCITY = 1e-8  # that solvers leave in a contact which is closed, relative to the velocity of the model


def touch(part: PartType, s: Stage) -> ca.SX:
    """Gaps that count as closed: rounding errors, and what a velocity within the tolerance opens in a hundred steps.

    A body at rest would fall for a step, and be hit, whenever such a velocity has opened its contact. Of three boxes, each 1e4
    times as heavy as the one below, the lowest moves by 1e-13 m in two steps, and was without force in the third.
    """
    return part.reach(s.q_0) + 100 * VELOCITY * s.known(GAP_RATE) * s.dt


@dataclass(frozen=True)
class VelocityLevel(Scheme):
    """Base of schemes whose constraints live on velocity level; see the module's docstring.

    >>> import stickslip as ss
    >>> pendulum = ss.benchmarks.pendulum()
    >>> drifts = ss.solve(pendulum, t_end=0.5, dt=1e-2, method="moreau")
    >>> holds = ss.solve(pendulum, t_end=0.5, dt=1e-2, method="moreau", project="always")
    >>> bool(abs(drifts.g).max() > 1e-3), bool(abs(holds.g).max() < 1e-8)
    (True, True)
    """

    project: str = field(default="dependent", kw_only=True)

    def __post_init__(self) -> None:
        if self.project not in PROJECT:
            raise OptionError(unknown_name(f"project of {self.name}", str(self.project), PROJECT))
