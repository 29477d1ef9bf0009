"""stickslip: dynamics of mechanical systems with frictional contact and impacts.

>>> import stickslip as ss
>>> solution = ss.solve(ss.benchmarks.slider_crank(), t_end=0.01, dt=1e-4, method="rattle")
>>> solution.q.shape
(101, 9)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stickslip import math, shapes
from stickslip._version import __version__
from stickslip.cone import Cone
from stickslip.engine.state import State
from stickslip.errors import (
    CacheWarning,
    ConvergenceError,
    EnergyWarning,
    ImpactWarning,
    InitialStateError,
    Interrupted,
    MethodError,
    ModelError,
    NoDerivativeError,
    OptionError,
    ResultFileError,
    StabilityWarning,
    StickslipError,
    StudyError,
    TunnellingWarning,
)
from stickslip.interpolation import Interpolation, interpolate
from stickslip.model import (
    Angle,
    Box,
    Capsule,
    Cavity,
    ClearancePrismatic,
    ClearanceRevolute,
    ClosedCurve,
    Collisions,
    Contact,
    Controller,
    ConvexPolygon,
    Coulomb,
    CoulombContensou,
    Cylinder,
    Cylindrical,
    Disk,
    Displacement,
    Distance,
    Ellipsoid,
    Expression,
    Fixed,
    FixedRadius,
    Force,
    Frame,
    Friction,
    Frictionless,
    Gear,
    Graph,
    Gravity,
    HeightField,
    Law,
    Limits,
    Line,
    Motion,
    Motor,
    OrthotropicCoulomb,
    PlanarBody,
    PlanarJoint,
    Plane,
    PointMass,
    Polyhedron,
    Prismatic,
    Revolute,
    RigidBody,
    Rod,
    Rolling,
    Screw,
    SimplePolygon,
    Sphere,
    Spherical,
    SpringDamper,
    Stribeck,
    System,
    Torque,
    TriangleMesh,
    Universal,
    ground,
    inertia,
    matter_of,
    solid,
)
from stickslip.model.flexible import Bar, Beam, RotorDisk, SpatialBeam, circular, rectangular
from stickslip.shapes import drawing
from stickslip.solve import solve

if TYPE_CHECKING:
    from stickslip import benchmarks
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
    from stickslip.importers import ImportedSystem, ImportReport, IncompleteImport, from_mjcf, from_urdf
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
    from stickslip.solution import Solution, load
    from stickslip.solve.controllers import SampledController
    from stickslip.solve.ensemble import Ensemble, ensemble
    from stickslip.solve.outfile import resume
    from stickslip.solve.step_problem import step_problem
    from stickslip.solve.stepper import stepper
    from stickslip.studies import (
        Sweep,
        basins,
        bifurcation,
        continuation,
        gradient,
        identify,
        lyapunov,
        optimize,
        periodic_orbit,
        poincare,
        sensitivity,
        sweep,
    )

__all__ = [
    "METHODS",
    "NORMS",
    "Angle",
    "Bar",
    "Beam",
    "Box",
    "CacheWarning",
    "Capsule",
    "Cavity",
    "ClearancePrismatic",
    "ClearanceRevolute",
    "ClosedCurve",
    "Collisions",
    "Comparison",
    "Cone",
    "Contact",
    "Controller",
    "Convergence",
    "ConvergenceError",
    "ConvexPolygon",
    "Coulomb",
    "CoulombContensou",
    "Cylinder",
    "Cylindrical",
    "Disk",
    "Displacement",
    "Distance",
    "Ellipsoid",
    "EnergyLedger",
    "EnergyWarning",
    "Ensemble",
    "EventDriven",
    "Events",
    "ExplicitVelocity",
    "Expression",
    "Fixed",
    "FixedRadius",
    "Force",
    "Frame",
    "Friction",
    "Frictionless",
    "Gear",
    "GeneralizedAlpha",
    "Graph",
    "Gravity",
    "HalfExplicit",
    "HalfExplicitAcceleration",
    "HalfExplicitAdaptive",
    "HeightField",
    "ImpactWarning",
    "ImportReport",
    "ImportedSystem",
    "IncompleteImport",
    "InitialStateError",
    "Interpolation",
    "Interrupted",
    "Law",
    "Limits",
    "Line",
    "Lobatto",
    "MethodError",
    "ModelError",
    "Moreau",
    "MoreauJean",
    "MoreauSymmetric",
    "MoreauVariational",
    "Motion",
    "Motor",
    "NoDerivativeError",
    "OptionError",
    "OrthotropicCoulomb",
    "PlanarBody",
    "PlanarJoint",
    "Plane",
    "PointMass",
    "Polyhedron",
    "Prismatic",
    "Rattle",
    "ResultFileError",
    "Revolute",
    "RigidBody",
    "Rod",
    "Rolling",
    "RotorDisk",
    "SampledController",
    "SchatzmanPaoli",
    "Scheme",
    "Screw",
    "SimplePolygon",
    "Solution",
    "SpatialBeam",
    "Sphere",
    "Spherical",
    "SpringDamper",
    "StabilityWarning",
    "State",
    "StickslipError",
    "Stribeck",
    "StudyError",
    "Sweep",
    "System",
    "Theta",
    "Torque",
    "TriangleMesh",
    "TunnellingWarning",
    "Universal",
    "__version__",
    "basins",
    "benchmarks",
    "bifurcation",
    "circular",
    "compare",
    "continuation",
    "convergence",
    "drawing",
    "energy_ledger",
    "ensemble",
    "events",
    "from_mjcf",
    "from_urdf",
    "gradient",
    "ground",
    "identify",
    "inertia",
    "interpolate",
    "load",
    "lyapunov",
    "math",
    "matter_of",
    "nonsmooth",
    "optimize",
    "papers",
    "periodic_orbit",
    "poincare",
    "rectangular",
    "resume",
    "sensitivity",
    "shapes",
    "solid",
    "solve",
    "step_problem",
    "stepper",
    "sweep",
]


# Imported when they are first used: who declares a model needs neither engine nor schemes.
_LATER = {
    "analysis": "NORMS Comparison Convergence EnergyLedger Events compare convergence energy_ledger events",
    "importers": "ImportedSystem ImportReport IncompleteImport from_mjcf from_urdf",
    "schemes": "METHODS EventDriven ExplicitVelocity GeneralizedAlpha HalfExplicit HalfExplicitAcceleration "
    "HalfExplicitAdaptive Lobatto Moreau MoreauJean MoreauSymmetric MoreauVariational Rattle SchatzmanPaoli Scheme Theta",
    "solution": "Solution load",
    "solve.controllers": "SampledController",
    "solve.ensemble": "Ensemble ensemble",
    "solve.outfile": "resume",
    "solve.step_problem": "step_problem",
    "solve.stepper": "stepper",
    "studies": "Sweep basins bifurcation continuation gradient identify lyapunov optimize periodic_orbit poincare sensitivity "
    "sweep",
}
_HOME = {name: module for module, names in _LATER.items() for name in names.split()}
_MODULES = (
    *(
        "analysis",
        "benchmarks",
        "importers",
        "nonsmooth",
        "papers",
        "plots",
        "schemes",
        "solution",
        "studies",
        "viewer",
    ),
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"stickslip.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'stickslip' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"stickslip.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
