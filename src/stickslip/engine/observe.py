"""Quantities of a trajectory that need no scheme: gaps, slips, constraint residuals, energies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from stickslip.engine.derive import Model, PartType
from stickslip.engine.fields import GAMMA, ONE, Q_0, T_0, U_0, F, Field, G, N
from stickslip.engine.flow import StageFunction
from stickslip.engine.layout import slices
from stickslip.engine.program import Program, assemble
from stickslip.engine.stage import Stage
from stickslip.engine.tables import INDEX

BILATERAL, BILATERAL_DOT, VELOCITY = Field("g", G), Field("g_dot", G), Field("gamma", GAMMA)
GAP, GAP_DOT, SLIP = Field("gap", N), Field("gap_dot", N), Field("slip", F)
KINETIC, POTENTIAL = Field("kinetic", ONE), Field("potential", ONE)
OBSERVED = (BILATERAL, BILATERAL_DOT, VELOCITY, GAP, GAP_DOT, SLIP, KINETIC, POTENTIAL)

APPLIED, DAMPING, MOVING, TRANSPORT = (Field(name, ONE) for name in ("applied", "damping", "moving", "transport"))
CHI_G, CHI_GAMMA, CHI_N, CHI_F = Field("chi_g", G), Field("chi_gamma", GAMMA), Field("chi_N", N), Field("chi_F", F)
FLOWS = (APPLIED, DAMPING, MOVING, TRANSPORT, CHI_G, CHI_GAMMA, CHI_N, CHI_F)


def observed_quantities(part: PartType, s: Stage) -> None:
    """All of `OBSERVED`, at the state (t_0, q_0, u_0)."""
    t, q, u = s.t_0, s.q_0, s.u_0
    s.update(BILATERAL, part.g(t, q))
    s.update(BILATERAL_DOT, part.g_dot(t, q, u))
    s.update(VELOCITY, part.gamma(t, q, u))
    s.update(GAP, part.g_N(t, q))
    s.update(GAP_DOT, part.g_N_dot(t, q, u))
    s.update(SLIP, part.gamma_F(t, q, u))
    s.total(KINETIC, part.kinetic(t, q, u))
    s.total(POTENTIAL, part.potential(t, q))


def energies(part: PartType, s: Stage) -> None:
    """Those two alone."""
    s.total(KINETIC, part.kinetic(s.t_0, s.q_0, s.u_0))
    s.total(POTENTIAL, part.potential(s.t_0, s.q_0))


def energy_flows(part: PartType, s: Stage) -> None:
    """All of `FLOWS`: powers of forces, and the velocities chi that constraints have by themselves (for u = 0)."""
    t, q, u = s.t_0, s.q_0, s.u_0
    rest = ca.SX.zeros(part.n_u)
    s.total(APPLIED, part.power_applied(t, q, u))
    s.total(DAMPING, part.power_damping(t, q, u))
    s.total(MOVING, part.power_moving(t, q, u))
    s.total(TRANSPORT, part.transport(t, q, u))
    s.update(CHI_G, part.g_dot(t, q, rest))
    s.update(CHI_GAMMA, part.gamma(t, q, rest))
    s.update(CHI_N, part.g_N_dot(t, q, rest))
    s.update(CHI_F, part.gamma_F(t, q, rest))


def observation(
    model: Model, quantities: StageFunction = observed_quantities, fields: Sequence[Field] = OBSERVED
) -> Program:
    """The program that evaluates quantities of a state, which are the `fields`."""
    return assemble(model, step=(quantities,), results=fields, name=quantities.__name__)


def observe(
    program: Program,
    parameters: np.ndarray,
    t: np.ndarray,
    q: np.ndarray,
    u: np.ndarray,
    fields: Sequence[Field] = OBSERVED,
    varying: Mapping[int, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """Evaluate along a trajectory: arrays with a row per time, by the names of `fields`.

    varying: parameters, by their index, that have a value per row.
    """
    from stickslip.engine.advance import run_rows, workspace

    layout, varying, key = program.layout, varying or {}, tuple(fields)
    if key not in program.kept:
        at = slices({each: layout.size[each] for each in fields})
        inputs, record = (layout.places(*each).astype(INDEX) for each in ((T_0, Q_0, U_0), fields))
        program.kept[key] = inputs, record, at, []
    inputs, record, at, free = program.kept[key]
    memory = np.zeros(layout.total)
    memory[: layout.parameters] = parameters
    if varying:
        inputs = np.concatenate([np.array(list(varying), INDEX), inputs])
    rows = np.ascontiguousarray(np.column_stack([*varying.values(), t, q, u]), dtype=float)
    out = np.zeros((len(t), record.size))
    work = free.pop() if free else workspace(program)  # a thread takes one for itself
    run_rows(program.tables, 0, memory, work, inputs, record, rows, out)
    free.append(work)
    return {each.name: np.ascontiguousarray(out[:, at[each]]) for each in fields}
