"""From a trajectory to an answer: derivatives through events, and what stands on them."""

from stickslip.studies.continuation import Bifurcation, Branch, continuation
from stickslip.studies.orbit import PeriodicOrbit, periodic_orbit
from stickslip.studies.saltation import EventDerivative
from stickslip.studies.sensitivity import Gradient, Sensitivity, gradient, sensitivity
from stickslip.studies.sweep import Sweep, sweep

__all__ = [
    "Bifurcation",
    "Branch",
    "EventDerivative",
    "Gradient",
    "PeriodicOrbit",
    "Sensitivity",
    "Sweep",
    "continuation",
    "gradient",
    "periodic_orbit",
    "sensitivity",
    "sweep",
]
