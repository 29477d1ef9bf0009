"""Friction of sliding elements as a force of the smooth motion: order 2 also where the direction of slip turns.

The law of the percussion, xi_F in N_C(-P_F), takes the direction of slip at the end of the step for the whole step: implicit
Euler. The smooth motion has a friction force of its own, which opposes the slip at t_1 and is integrated with order 2. For
elements that slide from the start of the step on, in steps in which no contact changes its status,

    Lambda_F = 0:   P_F = dt (1 - gamma) la_bar_0 + dt gamma la_bar_1                                      (65m*)

takes the place of that law. Other steps, and elements that stick at the start, keep it. A step is first solved with (65m*);
if a contact turns out to change its status, it is solved again without.
"""

from __future__ import annotations

import casadi as ca

from stickslip.engine.derive import PartType
from stickslip.engine.fields import ONE, SLIP_RATE, F, Field
from stickslip.engine.stage import Stage
from stickslip.schemes.alpha_motion import CLOSED, OUTSIDE_B, OUTSIDE_B_0, SLIPS
from stickslip.schemes.rattle import turns

SLIDES, CHANGES = Field("slides", F), Field("changes", ONE)


def choose_slides(part: PartType, s: Stage) -> None:
    """Elements that slide at the start of the step, in contacts that were closed in the step before."""
    slip, shut, slides = part.gamma_F(s.t_0, s.q_0, s.u_0), s.known(OUTSIDE_B_0), [ca.SX(0, 1)]
    for f in part.frictions:
        closed = ca.SX(1) if not f.normals else ca.mmin(ca.vertcat(*[shut[i] for i in f.normals])) <= 0
        v = slip[f.first : f.first + f.size] / s.known(SLIP_RATE)[f.first : f.first + f.size]
        slides.append(ca.repmat(ca.logic_and(closed, ca.sumsqr(v) > CLOSED**2), f.size, 1))
    mask = turns(part) * ca.vertcat(*slides) - 0.5
    s.update(SLIDES, mask)
    s.update(SLIPS, ca.if_else(mask > 0, 1, s.known(SLIPS)))


def count_changes(part: PartType, s: Stage) -> None:
    """Contacts that are closed now and were not, or the other way round."""
    was, now = s.known(OUTSIDE_B_0) > 0, s.known(OUTSIDE_B) > 0
    s.total(CHANGES, ca.sum1(was != now))


def no_slides(part: PartType, s: Stage) -> None:
    """All elements keep the law of the whole step."""
    s.update(SLIDES, -ca.SX.ones(part.n["F"]))
