"""stickslip: dynamics of mechanical systems with frictional contact and impacts.

>>> import stickslip as ss
>>> solution = ss.solve(ss.benchmarks.slider_crank(), t_end=0.01, dt=1e-4, method="rattle")
>>> solution.q.shape
(101, 9)
"""

from stickslip import benchmarks, math
from stickslip._version import __version__
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
from stickslip.schemes import METHODS, Moreau, Rattle, Scheme
from stickslip.solution import Solution, load
from stickslip.solve import solve

__all__ = [
    "METHODS",
    "Contact",
    "ConvergenceError",
    "Gravity",
    "InitialStateError",
    "Line",
    "MethodError",
    "ModelError",
    "Moreau",
    "OptionError",
    "PlanarBody",
    "PointMass",
    "Prismatic",
    "Rattle",
    "ResultFileError",
    "Revolute",
    "Scheme",
    "Solution",
    "SpringDamper",
    "StickslipError",
    "System",
    "__version__",
    "benchmarks",
    "ground",
    "load",
    "math",
    "solve",
]
__all__ += ["Bar", "Beam", "RotorDisk", "SpatialBeam", "circular", "rectangular"]
