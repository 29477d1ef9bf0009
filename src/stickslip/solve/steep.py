"""Friction that falls with the slip speed, too steeply for the step: both stick and slip solve it, and chance decides.

A contact at rest under a tangential percussion F sticks if F <= mu(0) P_N, and slips at the speed v if F = mu(v) P_N + v/G with
G = w^T M^-1 w. Both hold for some F if

    G P_N (mu(0) - mu(v)) > v    for some v > 0.

P_N is proportional to dt in lasting contact, so that a shorter step tells them apart.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from stickslip.engine.expressions import T
from stickslip.engine.numbering import Kind
from stickslip.errors import StabilityWarning, warn
from stickslip.solution import Solution
from stickslip.solve.prepared import Prepared

SPEEDS = np.concatenate([[0.0], np.logspace(-8, 3, 100)])
MOST = 400  # velocities: the mass matrix is a dense one here


class FallingFriction(NamedTuple):
    """A friction element whose coefficient falls: its name, its normal contacts, and G (mu(0) - mu(v))/v at its largest."""

    name: str
    normals: list[int]
    steepest: float


def warn_of_steep_friction(ready: Prepared, solution: Solution, values: np.ndarray, dt: float) -> None:
    """A warning where steps were too long to tell stick from slip, for the percussions of half of all steps with contact."""
    kinds = ready.inputs.get("falling")
    if kinds is None:
        kinds = ready.inputs["falling"] = [kind for kind in ready.numbering.part_kinds if _falls(kind)]
    if not kinds or ready.numbering.size["u"] > MOST:
        return
    key = "falling", values.tobytes()
    if key not in ready.inputs:
        ready.inputs[key] = [each for kind in kinds for each in _falling(ready, kind, solution, values)]
    for each in ready.inputs[key]:
        P = solution.P_N[:, each.normals].sum(axis=1)
        P = P[P > 0]
        both = each.steepest * float(np.median(P)) if P.size else 0.0
        if both > 1:
            warn(
                f"contact {each.name!r}: its friction falls so steeply with the slip speed that with dt = {dt:g} both stick "
                f"and slip solve a step: it may break away too early. Take dt < {dt / both:.1g}, or a law that falls less",
                StabilityWarning,
            )


def _falls(kind: Kind) -> bool:
    e = kind.type.expressions
    return e.mu.numel() > 0 and bool(ca.depends_on(e.mu, e.u))


def _falling(ready: Prepared, kind: Kind, solution: Solution, values: np.ndarray) -> list[FallingFriction]:
    """The elements of a kind, at the start of the run."""
    numbering, part = ready.numbering, kind.type
    e, t, q = part.expressions, float(solution.t[0]), solution.q[0]
    slip = part.gamma_F(T, e.q, e.u)
    f = ca.Function("falling", [T, e.q, e.u, e.p], [e.mu, slip, ca.densify(ca.jacobian(slip, e.u))])
    M, rows = numbering.matrix("M", t, q, values), {x: numbering.rows(kind, x) for x in ("q", "u", "N")}
    out = []
    for member in range(len(kind.members)):
        own = q[rows["q"][member]], values[kind.parameters[member]]
        _, at_rest, J = (np.array(x) for x in f(t, own[0], np.zeros(rows["u"].shape[1]), own[1]))
        for k, element in enumerate(part.frictions):
            if not element.normals:
                continue
            w = np.zeros(numbering.size["u"])
            np.add.at(w, rows["u"][member], J[element.first])
            moves = np.linalg.solve(M, w)
            G = float(w @ moves)
            if not G > 0:
                continue
            u = np.outer(moves[rows["u"][member]] / G, SPEEDS - at_rest[element.first])
            mu = np.array(f.map(len(SPEEDS))(t, own[0], u, own[1])[0])[k]
            steepest = G * float(np.nanmax((mu[0] - mu[1:]) / SPEEDS[1:], initial=0.0))
            normals = rows["N"][member][list(element.normals)].tolist()
            out.append(FallingFriction(_name(ready, kind, member, k), normals, steepest))
    return out


def _name(ready: Prepared, kind: Kind, member: int, k: int) -> str:
    model = ready.numbering.model
    declared = model.equations[int(kind.members[member]) - len(model.nodes)].contacts
    return str([contact for contact in declared if contact.slip.numel() > 0][k].name)
