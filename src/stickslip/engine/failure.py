"""Why a step could not be done, in words: what was tried, what did not close, what may help."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip.engine.check import UNEVEN
from stickslip.engine.fields import SPACES, Q, U
from stickslip.errors import OptionError
from stickslip.nonsmooth.cones import BALL, CONE

if TYPE_CHECKING:
    from stickslip.engine.layout import Layout
    from stickslip.engine.rescue import Rescue
    from stickslip.engine.tables import Tables
    from stickslip.nonsmooth.problem import Problem

NEWTON = "newton"  # the solver of the compiled loop
MOST_NAMED, MOST_LOOKED_AT = 5, 200  # rows that did not close
ROUND_OFF = 1e-12  # of a residual: what is smaller may be due to rounding


class Failure(NamedTuple):
    """Why the step to t_1 could not be done; `message` is a sentence, or two, for the user."""

    t_1: float
    stage: str
    residual: float
    message: str
    remedy: str = ""
    rows: tuple[tuple[str, int], ...] = ()  # constraints and contacts that did not close: space and number
    problem: Any = None  # the linearised one-step problem
    names: tuple[str, ...] = ()  # of what did not close and has no number: detected contacts
    final: bool = False  # whether shorter steps would not help: something is out of its range (`engine.limits`)


class Reached(NamedTuple):
    """How far a stage came that was not solved.

    halved: whether it is a part of a step that was subdivided. solver: the only one that was asked, or "auto". bounces:
    whether contacts have restitution, so that advice may name it. masses: which two differ beyond what contact forces can
    bear (`check.uneven_masses`), or "".
    """

    stage: str
    t_1: float
    residual: float
    tolerance: float
    iterations: int
    halved: bool
    solver: str
    far: bool  # a solution was found, but the step cannot reach it (`far_roots`)
    bounces: bool = True
    masses: str = ""

    @property
    def smaller(self) -> str:
        """The remedy that is always there."""
        return "a smaller dt may help" + ("" if self.halved else ", or on_failure='subdivide' for single steps")


def jam_in(trouble: Rescue) -> np.ndarray | None:
    """Normal forces of contacts that jam, by unknowns of the stage; None if no jam is found."""
    if trouble.jam is None or trouble.unknown is None or trouble.no_solution:
        return None
    out = np.zeros(trouble.errors.size)
    out[trouble.unknown] = trouble.jam
    return out


def friction_prevents(problem: Problem | None) -> bool:
    """Whether a linearised problem without solution has friction, and a solution without it.

    Else its geometry is to blame, which a step sees linearised: shorter ones may help, and less friction does not.
    """
    from stickslip.nonsmooth.solvers import solve

    if problem is None:
        return False
    laws = problem.laws
    if not (np.isin(laws.kind, (BALL, CONE)) & ((laws.mu > 0.0) | (laws.radius > 0.0))).any():
        return False
    kind, zero = np.where(laws.kind == CONE, BALL, laws.kind), np.zeros(laws.mu.size)
    smooth = laws._replace(kind=kind, mu=zero, radius=zero)
    try:
        return solve(replace(problem, laws=smooth, cones=())).converged
    except OptionError:  # its numbers leave the range of this door, which must not hide why the step failed
        return False


def failure_of(
    reached: Reached, trouble: Rescue | None, rows: tuple[tuple[str, int], ...], jam: bool = False
) -> Failure:
    """The failure of a stage; `trouble` is what other solvers made of it, if they were asked, `rows` what did not close.

    jam: `rows` are contacts that jam.
    """
    stage, t_1, residual, tolerance, count, _, solver, far, _, _ = reached
    if trouble is None or (
        residual < tolerance and not far
    ):  # all stages that are solved in turn, but never all at once
        what = f"the stages that are solved in turn did not settle after {count} iterations of {stage!r}"
        return Failure(t_1, stage, residual, what, reached.smaller)
    words = stage.replace("_", " ")
    number = f"{residual:.2e}" if np.isfinite(residual) else "not finite"
    rubs = (trouble.no_solution or jam) and friction_prevents(trouble.problem)
    if trouble.no_solution and stage.endswith("accelerations"):
        why = (
            ": every normal force would press a sliding contact into its obstacle (Painlevé's paradox)" if rubs else ""
        )
        what = f"no acceleration exists here{why}. Residual of the {words} {number} (tolerance {tolerance:g})"
    elif far:
        what = (
            f"the only solution of the {words} that was found is out of reach: bodies move much farther than the linearised "
            "step asks, until joints or contacts happen to hold again. "
            f"Nearby the residual is {number} (tolerance {tolerance:g})"
        )
    else:
        what = f"no solution of the {words} was found. Residual {number} (tolerance {tolerance:g})"
    tried = f"after {count} iterations of Newton's method with restarts"
    names = [name for name in dict.fromkeys(trouble.solvers) if name != "start"]
    tried += f", and by {', '.join(names)} on the linearised problem" if names else ""
    if solver not in ("auto", NEWTON):
        tried = f"by {solver} on the linearised problem"
    known, remedy = _known_and_remedy(reached, trouble, rubs, jam)
    return Failure(t_1, stage, residual, f"{what} {tried}{known}", remedy, rows, trouble.problem)


def _known_and_remedy(reached: Reached, trouble: Rescue, rubs: bool, jam: bool) -> tuple[str, str]:
    """What else is known of a failure, and what may help. `rubs`: friction is to blame, `jam`: contacts jam."""
    stage, residual, tolerance, solver = reached.stage, reached.residual, reached.tolerance, reached.solver
    smaller, bounces = reached.smaller, reached.bounces
    if trouble.no_solution and stage.endswith("accelerations"):  # a linear problem: enumeration is a proof
        other = "less friction" if rubs else "another geometry"
        return (
            ", proved by enumeration of all modes",
            f"{other} helps, or a method without accelerations, such as rattle",
        )
    if trouble.no_solution:
        known = "; its linearised problem has no solution, which enumeration of all modes proves"
        if not rubs:
            return known, f"{smaller}, or another geometry"
        other = "less friction, another geometry or an impact law with other restitution does"
        return known, f"a smaller dt does not help; {other if bounces else 'less friction or another geometry does'}"
    if reached.masses and not rubs and not trouble.repeats and np.isfinite(residual) and residual >= ROUND_OFF:
        # What looks like a jam, by forces that are large for the light bodies, is the weight of a heavy one.
        known = "Forces that a heavy body needs are known up to rounding errors, and these move a light one"
        return (
            f"; {reached.masses}. {known}",
            f"masses that differ by less than a factor of 1e{np.log10(UNEVEN):.0f} help; if they are not the reason, {smaller}",
        )
    if jam and rubs:
        known = (
            "; contacts jam: friction can hold forces of any size between them, while the step asks them to separate, and no "
            "velocities can, so that a solution need not exist"
        )
        return known, f"less friction helps{', or no restitution of these contacts' if bounces else ''}"
    if jam:
        known = (
            "; contacts press against each other: forces of any size between them are in balance, while the step asks them to "
            "separate, and no velocities can"
        )
        return known, f"{smaller}, or more room between them"
    if trouble.repeats:
        known = "; contacts that are closed, or slip, do not stay so, and vice versa: such sets of contacts repeat"
        return known, f"{smaller}, or a method that decides about contacts once in a stage, such as rattle"
    if residual < ROUND_OFF:
        return "", f"tol = {tolerance:g} is below rounding: take tol={10 * residual:.0e} or more"
    if not np.isfinite(residual):
        return "", "the motion has exploded: a smaller dt or a scheme with implicit forces may help"
    if solver != "auto":
        return "", f"other solvers than {solver} may succeed, which solver='auto' asks in turn; {smaller}"
    kept = "; `problem` of this error is the contact problem, `problem.save(path)` keeps it"
    kept = kept if trouble.problem is not None else ""  # joints alone make none
    if stage == "impact" and bounces:  # of half-explicit: contacts at rest rebound from a fall that others may forbid
        other = "restitution 0 of contacts that rest may help, or a method in which they do not rebound, such as rattle"
        return "", f"{other}{kept}"
    return "", f"{smaller}{kept}"


def unclosed(
    tables: Tables, layout: Layout, failed: int, errors: np.ndarray, tolerance: float
) -> tuple[tuple[str, int], ...]:
    """The constraints and contacts of a stage with the largest errors above the tolerance, at most five.

    If all of them hold, the coordinates and velocities whose equations do not.
    """
    stage = tables.problems[failed]
    segments = tables.segments[stage["segment_0"] : stage["segment_1"]]
    found: dict[bool, list[tuple[str, int]]] = {True: [], False: []}
    wrong = np.argsort(-errors, kind="stable")
    for i in wrong[: max(20, int((errors[wrong[:MOST_LOOKED_AT]] >= tolerance).sum()))]:
        if errors[i] < tolerance or len(found[True]) == MOST_NAMED:
            break
        for segment in segments:
            offset = int(i) - int(segment["first"])
            if 0 <= offset < segment["length"]:
                for each, start in layout.start.items():
                    inside = int(segment["start"]) + offset - start
                    if each.space in (*SPACES, Q, U) and 0 <= inside < layout.size[each]:
                        found[each.space in SPACES].append((str(each.space), inside))
    return tuple(dict.fromkeys(found[True] or found[False][:MOST_NAMED]))
