"""Look into solutions: energy ledger, events, and studies that compare methods."""

from stickslip.analysis.compare import Comparison, compare
from stickslip.analysis.convergence import NORMS, Convergence, convergence
from stickslip.analysis.events import Accumulation, Event, Events, events
from stickslip.analysis.ledger import EnergyLedger, energy_ledger

__all__ = [
    "NORMS",
    "Accumulation",
    "Comparison",
    "Convergence",
    "EnergyLedger",
    "Event",
    "Events",
    "compare",
    "convergence",
    "energy_ledger",
    "events",
]
