"""Work of each step of a run: where energy comes from and where it goes. `analysis.ledger` explains the entries."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip.engine.observe import FLOWS, energy_flows
from stickslip.model.system import System
from stickslip.solution import Solution
from stickslip.solve.prepared import observe_along
from stickslip.solve.varying import refuse_varying

OUTSIDE = ("applied", "damping", "constraints", "moving")  # the rest is done by contacts, which only take energy


def work_of_steps(solution: Solution, system: System) -> dict[str, np.ndarray]:
    """Work by its source, one row per step; `impacts` has a column per normal contact, `friction` one per element."""
    refuse_varying(solution, "the work of each step")
    flows = observe_along(system, solution, energy_flows, FLOWS)
    dt = np.diff(solution.t)
    percussions = {name: getattr(solution, name)[1:] for name in ("P_g", "P_gamma", "P_N", "P_F")}

    def integral(power: np.ndarray) -> np.ndarray:
        return dt * _mean(power[:, 0])

    moving = integral(flows["moving"]) + np.diff(flows["transport"][:, 0])
    for space in ("N", "F"):
        moving = moving - (percussions[f"P_{space}"] * _mean(flows[f"chi_{space}"])).sum(axis=1)
    impacts, friction = work_of_contacts(solution)
    return {
        "applied": integral(flows["applied"]),
        "damping": integral(flows["damping"]),
        "impacts": impacts,
        "friction": friction,
        "constraints": _bilateral_work(solution, percussions, flows),
        "moving": moving,
    }


def work_of_contacts(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """P_N . (gap_dot_0 + gap_dot_1)/2 of each contact and P_F . (slip_0 + slip_1)/2 of each friction element."""
    impacts = solution.P_N[1:] * _mean(solution.gap_dot)
    products = solution.P_F[1:] * _mean(solution.slip)
    elements = [products[:, columns].sum(axis=1) for columns in solution.names.friction_slices]
    return impacts, np.column_stack([np.zeros((len(products), 0)), *elements])


def _bilateral_work(
    solution: Solution, percussions: Mapping[str, np.ndarray], flows: Mapping[str, np.ndarray]
) -> np.ndarray:
    """P . W^T u of both kinds of bilateral constraints; W^T u is the constraint's velocity less chi."""
    work_g = percussions["P_g"] * _mean(solution.g_dot - flows["chi_g"])
    work_gamma = percussions["P_gamma"] * _mean(solution.gamma - flows["chi_gamma"])
    return work_g.sum(axis=1) + work_gamma.sum(axis=1)


def _mean(rows: np.ndarray) -> np.ndarray:
    """Mean of the values at the start and at the end of each step."""
    return (rows[:-1] + rows[1:]) / 2
