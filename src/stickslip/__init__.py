"""stickslip: dynamics of mechanical systems with frictional contact and impacts.

>>> import stickslip as ss
>>> solution = ss.solve(ss.benchmarks.slider_crank(), t_end=0.01, dt=1e-4, method="rattle")
>>> solution.q.shape
(101, 9)
"""

from stickslip import benchmarks, math, shapes
from stickslip._version import __version__
from stickslip.analysis import (
    NORMS,
    Comparison,
    Convergence,
    EnergyLedger,
    Events,
    compare,
    convergence,
    energy_ledger,
    events,
)
from stickslip.errors import (
    ConvergenceError,
    InitialStateError,
    MethodError,
    ModelError,
    OptionError,
    ResultFileError,
    StickslipError,
)
from stickslip.model import (
    Contact,
    Gravity,
    Line,
    PlanarBody,
    PointMass,
    Prismatic,
    Revolute,
    SpringDamper,
    System,
    ground,
)
from stickslip.model.flexible import Bar, Beam, RotorDisk, SpatialBeam, circular, rectangular
from stickslip.schemes import (
    METHODS,
    EventDriven,
    ExplicitVelocity,
    GeneralizedAlpha,
    HalfExplicit,
    HalfExplicitAcceleration,
    HalfExplicitAdaptive,
    Lobatto,
    Moreau,
    MoreauJean,
    MoreauSymmetric,
    MoreauVariational,
    Rattle,
    SchatzmanPaoli,
    Scheme,
    Theta,
)
from stickslip.shapes import drawing
from stickslip.solution import Solution, load
from stickslip.solve import solve

__all__ = [
    "METHODS",
    "NORMS",
    "Bar",
    "Beam",
    "Comparison",
    "Contact",
    "Convergence",
    "ConvergenceError",
    "EnergyLedger",
    "EventDriven",
    "Events",
    "ExplicitVelocity",
    "GeneralizedAlpha",
    "Gravity",
    "HalfExplicit",
    "HalfExplicitAcceleration",
    "HalfExplicitAdaptive",
    "InitialStateError",
    "Line",
    "Lobatto",
    "MethodError",
    "ModelError",
    "Moreau",
    "MoreauJean",
    "MoreauSymmetric",
    "MoreauVariational",
    "OptionError",
    "PlanarBody",
    "PointMass",
    "Prismatic",
    "Rattle",
    "ResultFileError",
    "Revolute",
    "RotorDisk",
    "SchatzmanPaoli",
    "Scheme",
    "Solution",
    "SpatialBeam",
    "SpringDamper",
    "StickslipError",
    "System",
    "Theta",
    "__version__",
    "benchmarks",
    "circular",
    "compare",
    "convergence",
    "drawing",
    "energy_ledger",
    "events",
    "ground",
    "load",
    "math",
    "rectangular",
    "shapes",
    "solve",
]
