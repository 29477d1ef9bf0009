"""The energy alarm: a run whose energy rises although nothing puts it in is not to be trusted, and says so.

Without forces from outside, T + V can only fall: contacts and friction take energy. Schemes are not exact, so that it
oscillates by what their order allows, for n steps and a scheme of order 1 by a few 1/n. What is reported is a rise by more
than that and LASTING of the energy that moves if it never falls so low again, PASSING if it does. A dip of few rows
counts for nothing: where velocities are means over an impact, kinetic energy is missing there.

A burst of impacts is looked at more closely, because little else happens in so few steps. Energy must not be higher after it
than before by more than IMPACT, what the potential changed by, and what energy changes by in as many steps without contact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stickslip.engine.jams import JAMMED
from stickslip.engine.observe import KINETIC, POTENTIAL, energies
from stickslip.errors import EnergyWarning, ImpactWarning, warn
from stickslip.model.system import System
from stickslip.solution import Solution
from stickslip.solve.flows import OUTSIDE, work_of_contacts, work_of_steps
from stickslip.solve.prepared import observe_along

# Shares of the energy that moves: the largest kinetic energy, or the range of the potential one.
LASTING, PASSING, STEPS = 0.1, 0.5, 5.0
DIP = 2  # rows on both sides
IMPACT = 0.02
BURST = 50  # rows; what is longer is a phase of contact
# Work from outside is integrated by the trapezoidal rule, and known to this share of all that went in and out.
ACCURACY = 0.05
ROUNDING = 1e-9  # share of the energy itself: a rise below it is rounding or tolerance, also where nothing moves
LOOKED_AT = 500_000  # rows in the first pass


def energy_alarm(solution: Solution, system: System) -> None:
    """Warn if energy rises without a source."""
    rise = unexplained_rise(solution, system)
    if rise:
        method = solution.provenance.get("method", "")
        message = (
            f"{rise}. The result of method {method!r} is not to be trusted from there on; take a smaller dt or another method "
            "(energy_alarm=False silences this)"
        )
        warn(message, EnergyWarning)


def unexplained_rise(solution: Solution, system: System) -> str:
    """By how much energy rises without a source, when, and by what, or ''. One pass over recorded energies, unless it does."""
    some = slice(None, None, 1 + len(solution) // LOOKED_AT)  # a long run may be larger than the memory
    kinetic, potential = (energy[some] for energy in _energies(solution, system))
    energy = kinetic + potential
    if len(energy) < 2 or not np.isfinite(energy).all():
        return ""
    moves = max(float(kinetic.max()), float(potential.max() - potential.min()))
    moves = max(moves, ROUNDING / LASTING * float(np.abs(energy).max()))
    # Not even above the lowest value before: a bound of what `_rise` finds above the lowest that is no dip.
    most = float((energy - np.minimum.accumulate(energy)).max())
    bursts = _bursts(solution) if most > moves * IMPACT and some.step == 1 else []
    if not _impacts_raise(energy, potential, bursts, moves) and (
        most <= moves * (LASTING + STEPS / len(energy)) or _rise(energy)[0] <= moves
    ):
        return ""
    potential = solution.potential
    energy = solution.kinetic + potential
    moves = max(moves, _known_to(solution) / LASTING)  # at rest nothing moves
    if not _impacts_raise(energy, potential, bursts, moves) and _rise(energy)[0] <= moves:
        return ""
    work = work_of_steps(solution, system)
    outside = sum((work[name] for name in OUTSIDE), np.zeros(len(energy) - 1))
    if solution.provenance.get("save_every", 1) > 1 and np.abs(outside).max() > 0:
        return ""  # work between saved rows is not known
    left = energy - np.concatenate([[0.0], np.cumsum(outside)])
    excess, first, last = _rise(left)
    if excess <= moves + ACCURACY / LASTING * np.abs(outside).sum():
        raised = _impacts_raise(left, potential, bursts, moves, outside)
        if raised is None:
            return ""
        first, last = raised
    rise = float(left[last] - left[first])
    t = solution.t
    return (
        f"energy rises by {rise:.3g} (from {energy[first]:.4g} to {energy[last]:.4g}) between t = {t[first]:.6g} and "
        f"{t[last]:.6g}, and no force, constraint or moving surface puts it in{_culprit(solution, first, last, rise)}"
    )


def warn_of_jams(run: Any, told: float | None = None) -> float | None:
    """Warn if contacts gave up their restitution in this run; the time of the step in which they did so first.

    told: that time, if a warning was given before.
    """
    first: float | None = getattr(run, "jammed_at", None)
    if first is not None and told is None:
        count = run.rescued_by.get(JAMMED, 0)
        warn(
            f"contacts jam: friction holds what restitution asks to separate, first in the step to t = {first:.6g}, in {count} "
            "stages in all. No solution was found there but without the restitution of these contacts. Less friction or "
            "restitution=0 avoids this",
            ImpactWarning,
        )
    return first


def _energies(solution: Solution, system: System) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic and potential energy; what else a solution computes when it is asked for is left alone."""
    if solution.computed:
        return solution.kinetic, solution.potential
    out = observe_along(system, solution, energies, (KINETIC, POTENTIAL))
    return out["kinetic"][:, 0], out["potential"][:, 0]


def _known_to(solution: Solution) -> float:
    """Energy that the tolerance leaves open: contacts and joints are met to it, and their mean forces do work along it."""
    given = (solution.P_N, solution.P_g)
    detected = () if solution.contacts is None else (solution.contacts.P_N,)
    impulse = sum(float(np.abs(P).sum()) for P in (*given, *detected))
    return float(solution.provenance.get("tol", 0.0)) * impulse / float(solution.t[-1] - solution.t[0])


def _rise(energy: np.ndarray) -> tuple[float, int, int]:
    """The largest rise above an earlier value, in units of what is allowed of it, and from where to where."""
    around = np.lib.stride_tricks.sliding_window_view(np.pad(energy, DIP, mode="edge"), 2 * DIP + 1)
    filled = around.max(axis=1)
    low, inexact = np.minimum.accumulate(filled), STEPS / len(energy)
    passing = (energy - low) / (PASSING + inexact)
    lasting = (np.minimum.accumulate(energy[::-1])[::-1] - low) / (LASTING + inexact)
    last = int(np.maximum(passing, lasting).argmax())
    first = last - int(filled[last::-1].argmin())
    return float(max(passing[last], lasting[last])), first, last


def _bursts(solution: Solution) -> list[tuple[int, int]]:
    """The rows before and after each burst of impacts, DIP rows away from them."""
    if solution.provenance.get("save_every", 1) > 1:
        return []
    acts = np.asarray((solution.P_N > 0).any(axis=1))
    if solution.contacts is not None:
        acts[solution.contacts.row[solution.contacts.P_N > 0]] = True
    around = np.lib.stride_tricks.sliding_window_view(np.pad(acts, DIP), 2 * DIP + 1).any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], around, [False]])))
    pairs = zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True)
    return [(first, last) for first, last in pairs if last - first <= BURST and last < len(acts) - 1]


def _impacts_raise(
    energy: np.ndarray,
    potential: np.ndarray,
    bursts: Sequence[tuple[int, int]],
    moves: float,
    outside: np.ndarray | None = None,
) -> tuple[int, int] | None:
    """The burst of impacts that raises the energy most, if one does by more than anything else can explain."""
    if not bursts:
        return None
    change, falls = np.abs(np.diff(energy)), np.abs(np.diff(potential))
    free = np.ones(len(change), bool)
    for first, last in bursts:
        free[first:last] = False
    if outside is not None:
        falls = falls + ACCURACY * np.abs(outside)
    usual = float(change[free].max(initial=0.0))
    worst, found = 0.0, None
    for first, last in bursts:
        rise = float(energy[last] - energy[first])
        rise -= IMPACT * moves + float(falls[first:last].sum()) + usual * (last - first)
        if rise > worst:
            worst, found = rise, (first, last)
    return found


def _culprit(solution: Solution, first: int, last: int, rise: float) -> str:
    """The contact that gives most of it or acts in the worst step, or how fast energy grows where none does."""
    names = solution.names
    impacts, friction = work_of_contacts(solution)
    gains = [(float(w), n) for w, n in zip(impacts[first:last].sum(axis=0), names.contacts, strict=True)]
    gains += [
        (float(w), f"{n} (friction)") for w, n in zip(friction[first:last].sum(axis=0), names.friction, strict=True)
    ]
    most, name = max(gains, default=(0.0, ""))
    if most > 0.2 * rise:
        return f"; contact {name!r} gives {most:.3g} of it"
    energy, time = solution.kinetic + solution.potential, solution.t[last] - solution.t[first]
    change = np.diff(energy[first : last + 1])
    worst = first + 1 + int(change.argmax())
    acting = [f"{names.contacts[k]!r}" for k in np.flatnonzero((solution.P_N[first : last + 1] > 0).any(axis=0))]
    if len(acting) > 1 and last - first <= BURST:
        return f"; contacts {', '.join(acting)} act there, within few steps of each other"
    if change.max() > 0.5 * rise and solution.P_N[worst].max(initial=0.0) > 0:
        name = names.contacts[int(solution.P_N[worst].argmax())]
        return (
            f"; most of it in the step to t = {solution.t[worst]:.6g}, where contact {name!r} acts (does the normal of its gap "
            "jump? a gap must be smooth: declare one contact for each smooth piece)"
        )
    if solution.kinetic[first] > 0 and energy[last] > energy[first]:
        growth = np.log(1 + (energy[last] - energy[first]) / solution.kinetic[first]) / time
        return f"; the kinetic energy grows at a rate of {growth:.2g} per unit of time, not by contacts"
    return ", nor does a contact"
