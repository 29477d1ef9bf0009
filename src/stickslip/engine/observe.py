"""Quantities of a trajectory that need no scheme: gaps, slips, constraint residuals, energies."""

from __future__ import annotations

import numpy as np

from stickslip.engine.derive import Model, PartType
from stickslip.engine.program import Program, assemble
from stickslip.engine.stage import Stage

OBSERVED = {"g": "g", "g_dot": "g", "gamma": "gamma", "gap": "N", "gap_dot": "N", "slip": "F", "kinetic": "one"}
OBSERVED |= {"potential": "one"}


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


def observation(model: Model) -> Program:
    """The program that evaluates all of `OBSERVED`."""
    return assemble(model, step=(observed_quantities,), carry={}, results=OBSERVED)


def observe(
    program: Program, parameters: np.ndarray, t: np.ndarray, q: np.ndarray, u: np.ndarray
) -> dict[str, np.ndarray]:
    """Evaluate along a trajectory: arrays with a row per time, by the names of `OBSERVED`."""
    from stickslip.engine.advance import observe as run
    from stickslip.engine.advance import workspace

    layout = program.layout
    memory = np.zeros(layout.total)
    memory[layout.places("parameters")] = parameters
    inputs = np.concatenate([layout.places(n) for n in ("t_0", "q_0", "u_0")])
    record = np.concatenate([layout.places(n) for n in OBSERVED])
    rows = np.ascontiguousarray(np.column_stack([t, q, u]))
    out = np.zeros((len(t), record.size))
    run(program.tables, 0, memory, workspace(program), inputs, record, rows, out)
    ends = np.cumsum([layout.size[n] for n in OBSERVED])
    return {n: np.ascontiguousarray(part) for n, part in zip(OBSERVED, np.split(out, ends[:-1], axis=1), strict=True)}
