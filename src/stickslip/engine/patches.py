"""Sweeps that stall because of a few contacts: these and their neighbours are solved at once, all others stay as they are.

A stage of thousands of contacts rarely stalls as a whole. After 160 sweeps over 2000 contacts of a settled pile, a few of them
still miss the tolerance: their forces must change by the size of a self-stress until one of them slips, and a sweep moves them
by a velocity of the size of the tolerance. Newton's method for the contacts of the bodies concerned (a patch) takes that way in
one go. Then sweeps spread what has changed, and so on. Where the same contacts are left over, the patch grows by the next
neighbours, as far as it has room. `bench/piles.py` prints how many stages need patches, and how many are left to what comes
after them.
"""

from __future__ import annotations

import numpy as np

from stickslip.engine.capped import find_start
from stickslip.engine.contact_state import FIRST, SECOND, Sweeping, sweeping
from stickslip.engine.contact_sweeps import accelerated, natural_map
from stickslip.nonsmooth.nearby import at_one_pace
from stickslip.patience import look

# A patch takes about as long as so many times a sweep over one contact; no more often is one worth its time.
WORTH = 300_000
# At least, before the first patch and between two.
FIRST_SWEEPS, MORE_SWEEPS = 160, 80
SHARE, AIM = 0.3, 0.3  # of the tolerance: what a contact of a patch misses, and what the patch is solved to
MOST_BAD, MOST = 300, 400  # contacts that miss it, and of a patch: with more of them sweeps go on
WHOLE = 0.5  # of all contacts: a patch that has more of them takes all, if there is room


def relieve(s: Sweeping, count: int, goal: float, most: int) -> tuple[int, float]:
    """Patches and sweeps in turn, after sweeps have stalled; at most so many sweeps, and the residual."""
    done, rings, left = 0, 0, np.zeros(0, np.int64)
    residual = natural_map(s, count)
    while done < most and residual < np.inf:
        look()
        missed = s.violated[:count]
        bad, worst = missed > SHARE * goal, np.flatnonzero(missed > goal)
        rings = rings + 1 if np.isin(worst, left, assume_unique=True).any() else 1
        rings = _solve_patch(s, count, bad, rings, goal) if np.count_nonzero(bad) < MOST_BAD else 0
        left = worst if rings else worst[:0]
        residual = natural_map(s, count)
        if residual < goal:  # sweeps that are not needed may lead away again
            break
        more, residual = accelerated(s, count, goal, max(MORE_SWEEPS, WORTH // (2 * count)))
        done += more
        if residual < goal:
            break
    return done, residual


def _solve_patch(s: Sweeping, count: int, bad: np.ndarray, rings: int, goal: float) -> int:
    """Solve bad contacts with all contacts of their bodies, and with those of their neighbours, so many times: `rings`.

    As many rings as a patch has room for, which is returned; 0: the bad contacts alone are too many.
    """
    ends, bodies, chosen, done = s.who[:count, [FIRST, SECOND]], len(s.inverse), bad, 0
    while done < rings:
        touched = np.zeros(bodies + 1, np.bool_)
        touched[ends[chosen]] = True
        touched[bodies] = False  # the ground
        larger = touched[ends].any(axis=1)
        if np.count_nonzero(larger) > MOST:
            break
        chosen, done = larger, done + 1
    if not done:
        return 0
    if np.count_nonzero(chosen) > WHOLE * count and count <= MOST:
        chosen = np.ones(count, np.bool_)
    here, own = np.flatnonzero(chosen), np.unique(ends[chosen])
    own = own[own < bodies]
    patch = _patch(s, here, own)
    find_start(at_one_pace, patch, len(here), AIM * goal)
    if natural_map(patch, len(here)) < s.violated[here].max():
        s.z[here], s.v[own] = patch.z, patch.v[:-1]
    return done


def _patch(s: Sweeping, here: np.ndarray, own: np.ndarray) -> Sweeping:
    """These contacts and bodies as a stage of their own, which begins with the present multipliers and steps."""
    number = np.full(len(s.inverse) + 1, len(own), np.int32)
    number[own] = np.arange(len(own))
    patch = sweeping(len(own), len(here))
    for name in ("who", "numbers", "info", "G", "T", "u", "z"):
        getattr(patch, name)[:] = getattr(s, name)[here]
    for column in (FIRST, SECOND):
        patch.who[:, column] = number[s.who[here, column]]
    for name in ("inverse", "diagonal", "A"):
        getattr(patch, name)[:] = getattr(s, name)[own]
    patch.free[:], patch.v[:-1], patch.z_0[:] = s.v[own], s.v[own], s.z[here]
    return patch
