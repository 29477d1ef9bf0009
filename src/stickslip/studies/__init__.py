"""From a trajectory to an answer: derivatives through events, and what stands on them."""

from stickslip.studies.basin import Basins, basins
from stickslip.studies.continuation import Bifurcation, Branch, continuation
from stickslip.studies.diagram import BifurcationDiagram, bifurcation
from stickslip.studies.exponents import LyapunovExponents, lyapunov
from stickslip.studies.identify import Identification, identify
from stickslip.studies.optimize import Optimum, optimize
from stickslip.studies.orbit import PeriodicOrbit, periodic_orbit
from stickslip.studies.saltation import EventDerivative
from stickslip.studies.sections import PoincareSection, poincare
from stickslip.studies.sensitivity import Gradient, Sensitivity, gradient, sensitivity
from stickslip.studies.sweep import Sweep, sweep

__all__ = [
    "Basins",
    "Bifurcation",
    "BifurcationDiagram",
    "Branch",
    "EventDerivative",
    "Gradient",
    "Identification",
    "LyapunovExponents",
    "Optimum",
    "PeriodicOrbit",
    "PoincareSection",
    "Sensitivity",
    "Sweep",
    "basins",
    "bifurcation",
    "continuation",
    "gradient",
    "identify",
    "lyapunov",
    "optimize",
    "periodic_orbit",
    "poincare",
    "sensitivity",
    "sweep",
]
