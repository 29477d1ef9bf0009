"""A linearised stage with many contacts in arrays: blocks of bodies, rows of contacts, and the history of the acceleration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.contact_plan import SIZE
from stickslip.native import sums
from stickslip.native.lanes import LANES
from stickslip.native.wide import ROW, WIDTH
from stickslip.pages import zeros

MEMORY = sums.ROWS  # differences of the acceleration in `contact_sweeps`
OMEGA = 1.4  # over-relaxation of the sweeps
DEAD = 0.2
ENOUGH, ENOUGH_GAP = 0.9, 0.02  # shares of the tolerance that a solve aims at, of velocities and of gaps
EASE = 0.4  # of what is enough there: what gaps may miss where a stage is hard
ALLOWED_GAP = DEAD + (1.0 + EASE) * ENOUGH_GAP  # of the tolerance: what gaps miss at most
# Columns of Sweeping.numbers, what a sweep reads: friction coefficient and constant radius, OMEGA over the Delassus diagonals,
# what a normal multiplier does to the slips, what a change of multipliers is in the unit of a row and of its goal.
MU, RADIUS, R_N, R_F, D_1, D_2, W_N, W_F = range(8)
# Columns of Sweeping.info: Delassus diagonals, derivatives of multipliers by their unknowns, units of rows, and the sizes of
# what they measure (1, unless the model is very small or large).
D_N, D_F, SLOPE_N, SLOPE_F, UNIT_N, UNIT_F, SIZE_N, SIZE_F = range(8)
# Columns of Sweeping.who: bodies (the last one is the ground), where the unknowns lie in the memory, components of friction;
# the group and where its outputs begin; whether it stays open in this stage; where its laws are marked as closed, or -1.
FIRST, SECOND, HOME_N, HOME_F, ROWS, GROUP, OFFSET, STAYS_OPEN, MARK_N, MARK_F = range(10)
STRIDE = 17  # contacts that follow each other share no body, so that a processor can begin the next before one is done
NEVER = 1e300  # the velocity of a contact that stays open


class Sweeping(NamedTuple):
    """A linearised stage: blocks of bodies, rows of contacts, and the history of the acceleration."""

    inverse: np.ndarray  # (bodies, 6): 1/diagonal of blocks that are diagonal
    diagonal: np.ndarray  # whether they are
    A: np.ndarray  # (bodies, 6, 6): inverses of blocks that are not
    v: np.ndarray  # (bodies + 1, 6): steps of the smooth unknowns; the ground's are 0
    v_flat: np.ndarray  # the same numbers in a row
    free: np.ndarray  # the same without any change of the multipliers
    who: np.ndarray
    numbers: np.ndarray
    info: np.ndarray
    G: np.ndarray  # (contacts, 3, 12), the columns as in `native.wide`
    G_flat: np.ndarray
    T: np.ndarray  # (contacts, 3, 12)
    T_flat: np.ndarray
    u: np.ndarray  # (contacts, 3)
    z: np.ndarray
    z_flat: np.ndarray
    z_0: np.ndarray
    weight: np.ndarray  # by multiplier, its Delassus diagonal: the measure of the acceleration
    gaps: np.ndarray  # whether a row is a gap
    errors: np.ndarray  # the largest violation of a normal law
    violated: np.ndarray  # by contact: its part of the natural map that was evaluated last
    history: np.ndarray  # (2 MEMORY + 3, 3 contacts)
    speeds: np.ndarray  # (MEMORY + 1, 6 bodies)
    small: np.ndarray  # (2 MEMORY + 1, MEMORY): matrix, factor and right-hand side of the acceleration
    sums: np.ndarray  # (2 MEMORY): of products
    lanes: np.ndarray  # contacts that a kernel evaluates at once


def sweeping(bodies: int, contacts: int) -> Sweeping:
    """Room for a stage."""
    v, z = zeros((bodies + 1, SIZE)), zeros((contacts, 3))
    G, T = zeros((contacts, 3, WIDTH), ROW), zeros((contacts, 3, WIDTH), ROW)
    return Sweeping(
        zeros((bodies, SIZE)),
        zeros(bodies, np.bool_),
        zeros((bodies, SIZE, SIZE)),
        v,
        v.reshape(-1),
        zeros((bodies, SIZE)),
        zeros((contacts, 10), np.int32),
        zeros((contacts, 8)),
        zeros((contacts, 8)),
        G,
        G.reshape(-1),
        T,
        T.reshape(-1),
        zeros((contacts, 3)),
        z,
        z.reshape(-1),
        zeros((contacts, 3)),
        zeros(3 * contacts),
        zeros(1, np.int64),
        zeros(1),
        zeros(contacts),
        zeros((2 * MEMORY + 3, 3 * contacts)),
        zeros((MEMORY + 1, SIZE * (bodies + 1))),
        zeros((2 * MEMORY + 1, MEMORY)),
        zeros(2 * MEMORY),
        np.zeros(LANES, np.int64),
    )
