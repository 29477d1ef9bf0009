"""The energy ledger: where the energy of a run comes from and where it goes, step by step.

Over a step from t_0 to t_1 the energy T + V changes by

    applied       trapezoidal rule of u . f(t, q, 0), the declared forces as far as they do not depend on velocities
    damping       trapezoidal rule of u . (f(t, q, u) - f(t, q, 0))
    impacts       P_N . (gap_dot_0 + gap_dot_1)/2, of each normal contact
    friction      P_F . (slip_0 + slip_1)/2, of each friction element
    constraints   P_g . W_g^T (u_0 + u_1)/2 and the same of P_gamma: what bilateral constraints that move with time do
    moving        what moving walls and belts do, -P . chi, and energies and kinematics that depend on time
    remainder     everything else

The remainder is defined by the balance, so that the entries add up to round-off; it is what the scheme, and the rules
above, make of energy. P . (mean of the velocities) is the exact work of a jump where M and W are constant, because
u_1^T M u_1/2 - u_0^T M u_0/2 = (u_1 - u_0)^T M (u_0 + u_1)/2; for smooth motion it is of order 2, as is the trapezoidal
rule. In a step that contains an impact, a scheme does not know the instant of it: the remainder there is of the order
dt times the power of the other forces.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stickslip.analysis.pairs import work_of_detected
from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.notebook import ShownWithFigure
from stickslip.solution import Solution
from stickslip.solve.flows import work_of_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANING = {
    "applied": "applied forces",
    "damping": "damping",
    "impacts": "impacts",
    "friction": "friction",
    "constraints": "bilateral constraints",
    "moving": "moving surroundings",
    "remainder": "numerical remainder",
}


@dataclass(frozen=True, eq=False)
class EnergyLedger(ShownWithFigure):
    """What changed the energy of a run, n steps of it; positive entries put energy into the system.

    `kinetic` and `potential` have n + 1 rows, the entries n rows. `impacts` has a column for each normal contact,
    `friction` one for each friction element, under the names `contacts` and `frictions`.

    >>> import stickslip as ss
    >>> ball = ss.benchmarks.bouncing_ball()
    >>> ledger = ss.energy_ledger(ss.solve(ball, t_end=0.6, dt=1e-3), ball)
    >>> print(f"{ledger.totals['impacts']:.3f}")      # one impact: -(1 - e^2) m g height
    -0.429
    """

    t: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    applied: np.ndarray
    damping: np.ndarray
    impacts: np.ndarray
    friction: np.ndarray
    constraints: np.ndarray
    moving: np.ndarray
    contacts: tuple[str, ...]
    frictions: tuple[str, ...]
    system: str = ""
    method: str = ""

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy."""
        return self.kinetic + self.potential

    @property
    def remainder(self) -> np.ndarray:
        """What closes the balance of each step."""
        known = self.applied + self.damping + self.constraints + self.moving
        return np.diff(self.energy) - (known + self.impacts.sum(axis=1) + self.friction.sum(axis=1))

    @property
    def entries(self) -> dict[str, np.ndarray]:
        """Every entry by its name, one number a step; they add up to the change of energy."""
        columns = {name: getattr(self, name) for name in MEANING}
        return {name: column if column.ndim == 1 else column.sum(axis=1) for name, column in columns.items()}

    @property
    def totals(self) -> dict[str, float]:
        """Every entry summed over the run."""
        return {name: float(column.sum()) for name, column in self.entries.items()}

    @property
    def by_contact(self) -> dict[str, dict[str, float]]:
        """Impacts and friction of each contact, summed over the run."""
        return {
            "impacts": dict(zip(self.contacts, self.impacts.sum(axis=0).tolist(), strict=True)),
            "friction": dict(zip(self.frictions, self.friction.sum(axis=0).tolist(), strict=True)),
        }

    def __str__(self) -> str:
        start, end = self.energy[[0, -1]]
        rows = [("energy at the start", start)]
        least = 1e-9 * np.abs(self.energy).max()  # less than that is the tolerance of the steps
        for name, total in self.totals.items():
            if abs(total) > least or name == "remainder":
                rows.append((MEANING[name], total))
                parts = self.by_contact.get(name, {})
                rows += [(f"  {contact}", value) for contact, value in parts.items() if len(parts) > 1]
        rows.append(("energy at the end", end))
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:{width}}  {value:14.6g}" for label, value in rows)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The ledger over time, saved under `path` if there is one.

        >>> ledger.plot("ledger.png")    # doctest: +SKIP
        """
        from stickslip.plots import plot_ledger, saved

        return saved(plot_ledger(self), path)


def energy_ledger(solution: Solution, system: System) -> EnergyLedger:
    """The energy ledger of a solution; `system` is the one that was solved, whose forces are evaluated along the way.

    >>> import stickslip as ss
    >>> slope = ss.benchmarks.point_mass_on_slope()
    >>> ledger = ss.energy_ledger(ss.solve(slope, t_end=3.0, dt=1e-3), slope)
    >>> print(f"{ledger.totals['friction']:.3f} J, and a remainder of {ledger.totals['remainder']:.0e} J")
    -29.597 J, and a remainder of -2e-05 J
    """
    if not isinstance(solution, Solution) or not isinstance(system, System):
        raise OptionError(f"energy_ledger needs a Solution and its System, got {solution!r} and {system!r}")
    work, names = work_of_steps(solution, system), solution.names
    if (every := int(solution.provenance.get("save_every", 1))) > 1:
        raise OptionError(
            f"the rows of this solution are {every} steps apart, and the work of percussions between them is not known; an "
            "energy ledger needs save_every=1"
        )
    pairs, impacts, friction = work_of_detected(solution)
    work["impacts"], work["friction"] = np.hstack([work["impacts"], impacts]), np.hstack([work["friction"], friction])
    return EnergyLedger(
        t=solution.t,
        kinetic=solution.kinetic,
        potential=solution.potential,
        **work,
        contacts=(*names.contacts, *pairs),
        frictions=(*names.friction, *pairs),
        system=str(solution.provenance.get("system", "")),
        method=str(solution.provenance.get("method", "")),
    )
