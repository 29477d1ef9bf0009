"""Quantities of a trajectory that need no scheme: gaps, slips, constraint residuals, energies."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from stickslip.engine.derive import Model, PartType
from stickslip.engine.program import Program, StageFunction, assemble
from stickslip.engine.stage import Stage

OBSERVED = {"g": "g", "g_dot": "g", "gamma": "gamma", "gap": "N", "gap_dot": "N", "slip": "F", "kinetic": "one"}
OBSERVED |= {"potential": "one"}
FLOWS = {"applied": "one", "damping": "one", "moving": "one", "transport": "one"}
FLOWS |= {"chi_g": "g", "chi_gamma": "gamma", "chi_N": "N", "chi_F": "F"}


def observed_quantities(part: PartType, s: Stage) -> None:
    """All of `OBSERVED`, at the state (t_0, q_0, u_0)."""
    t, q, u = s.t_0, s.q_0, s.u_0
    s.update("g", "g", part.g(t, q))
    s.update("g_dot", "g", part.g_dot(t, q, u))
    s.update("gamma", "gamma", part.gamma(t, q, u))
    s.update("gap", "N", part.g_N(t, q))
    s.update("gap_dot", "N", part.g_N_dot(t, q, u))
    s.update("slip", "F", part.gamma_F(t, q, u))
    s.total("kinetic", "one", part.kinetic(t, q, u))
    s.total("potential", "one", part.potential(t, q))


def energy_flows(part: PartType, s: Stage) -> None:
    """All of `FLOWS`: powers of forces, and the velocities chi that constraints have by themselves (for u = 0)."""
    t, q, u = s.t_0, s.q_0, s.u_0
    rest = ca.SX.zeros(part.n_u)
    s.total("applied", "one", part.power_applied(t, q, u))
    s.total("damping", "one", part.power_damping(t, q, u))
    s.total("moving", "one", part.power_moving(t, q, u))
    s.total("transport", "one", part.transport(t, q, u))
    s.update("chi_g", "g", part.g_dot(t, q, rest))
    s.update("chi_gamma", "gamma", part.gamma(t, q, rest))
    s.update("chi_N", "N", part.g_N_dot(t, q, rest))
    s.update("chi_F", "F", part.gamma_F(t, q, rest))


def observation(
    model: Model, quantities: StageFunction = observed_quantities, fields: Mapping[str, str] = OBSERVED
) -> Program:
    """The program that evaluates quantities of a state, which `fields` names with their spaces."""
    return assemble(model, step=(quantities,), carry={}, results=dict(fields))


def observe(
    program: Program,
    parameters: np.ndarray,
    t: np.ndarray,
    q: np.ndarray,
    u: np.ndarray,
    fields: Mapping[str, str] = OBSERVED,
) -> dict[str, np.ndarray]:
    """Evaluate along a trajectory: arrays with a row per time, by the names of `fields`."""
    from stickslip.engine.advance import observe as run
    from stickslip.engine.advance import workspace

    layout = program.layout
    memory = np.zeros(layout.total)
    memory[layout.places("parameters")] = parameters
    inputs = np.concatenate([layout.places(n) for n in ("t_0", "q_0", "u_0")])
    record = np.concatenate([layout.places(n) for n in fields])
    rows = np.ascontiguousarray(np.column_stack([t, q, u]))
    out = np.zeros((len(t), record.size))
    run(program.tables, 0, memory, workspace(program), inputs, record, rows, out)
    ends = np.cumsum([layout.size[n] for n in fields])
    return {n: np.ascontiguousarray(part) for n, part in zip(fields, np.split(out, ends[:-1], axis=1), strict=True)}
