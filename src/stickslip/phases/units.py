"""What the numbers of an event-driven run are measured by: events of a micrometre or a nanogram are those of a metre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.engine.runs import Start


@dataclass(frozen=True)
class Units:
    """Sizes of coordinates, velocities, gaps, their velocities and slips: 1 for a model of ordinary size (`solve.scales`).

    rate: V/L, by which velocities become accelerations.
    """

    q: np.ndarray
    u: np.ndarray
    gap: np.ndarray
    gap_dot: np.ndarray
    slip: np.ndarray
    length: float = 1.0
    rate: float = 1.0

    @classmethod
    def of(cls, start: Start, n_N: int, n_F: int) -> Units:
        """Of a run, with so many contacts and components of friction."""
        if start.sizes is None:
            return cls(np.ones(start.q.size), np.ones(start.u.size), np.ones(n_N), np.ones(n_N), np.ones(n_F))
        s, L = start.sizes, float(start.sizes["", True][0])
        rate = float(s["", False][0]) / L
        return cls(s["q", True], s["u", False], s["N", True], s["N", False], s["F", False], L, rate)

    @property
    def speed(self) -> float:
        """V."""
        return self.rate * self.length

    def positions(self, q: np.ndarray) -> float:
        """How large coordinates are, at least 1."""
        return float(np.abs(q / self.q).max(initial=1.0))

    def velocities(self, u: np.ndarray) -> float:
        """How large velocities are, at least 1."""
        return float(np.abs(u / self.u).max(initial=1.0))

    def accelerations(self, a: np.ndarray) -> float:
        """How large accelerations are, at least 1."""
        return self.velocities(a / self.rate)


@dataclass(frozen=True)
class Masses:
    """What an impulse at a contact, or at an element of friction, moves: impulse over the change of its velocity."""

    contacts: np.ndarray
    elements: np.ndarray

    @classmethod
    def of(cls, contacts: np.ndarray, elements: np.ndarray) -> Masses:
        """Where nothing was found (NaN), the median of the others."""
        found = np.concatenate([contacts, elements])
        found = found[np.isfinite(found) & (found > 0)]
        usual = float(np.median(found)) if found.size else 1.0
        return cls(*(np.where(np.isfinite(m) & (m > 0), m, usual) for m in (contacts, elements)))
