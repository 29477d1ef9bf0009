"""What a mechanism is: systems, parts, equations. Declarations only; no time, no solver, no numbers of a run."""

from stickslip.model import inertia
from stickslip.model.bodies import Body, PlanarBody, PointMass, RigidBody
from stickslip.model.clearance import ClearancePrismatic, ClearanceRevolute
from stickslip.model.collisions import Collisions
from stickslip.model.contacts import Contact, Rolling
from stickslip.model.drives import Friction, Gear, Limits, Motion
from stickslip.model.forces import Controller, Force, Gravity, Motor, SpringDamper, Torque
from stickslip.model.frames import Axis, Carrier, Frame, Point, ground
from stickslip.model.geometry import Box, Capsule, Cavity, Cylinder, Disk, Ellipsoid, Graph, Line, Plane, Sphere
from stickslip.model.joints import (
    Cylindrical,
    Fixed,
    PlanarJoint,
    Prismatic,
    Revolute,
    Rod,
    Screw,
    Spherical,
    Universal,
)
from stickslip.model.laws import (
    ContactKinematics,
    Coulomb,
    CoulombContensou,
    FixedRadius,
    Frictionless,
    Law,
    OrthotropicCoulomb,
    Stribeck,
)
from stickslip.model.matter import matter_of, solid
from stickslip.model.measures import Angle, Displacement, Distance, Expression
from stickslip.model.outlines import ClosedCurve, SimplePolygon
from stickslip.model.polytopes import ConvexPolygon, Polyhedron
from stickslip.model.surfaces import HeightField, TriangleMesh
from stickslip.model.system import Part, System

__all__ = [
    "Angle",
    "Axis",
    "Body",
    "Box",
    "Capsule",
    "Carrier",
    "Cavity",
    "ClearancePrismatic",
    "ClearanceRevolute",
    "ClosedCurve",
    "Collisions",
    "Contact",
    "ContactKinematics",
    "Controller",
    "ConvexPolygon",
    "Coulomb",
    "CoulombContensou",
    "Cylinder",
    "Cylindrical",
    "Disk",
    "Displacement",
    "Distance",
    "Ellipsoid",
    "Expression",
    "Fixed",
    "FixedRadius",
    "Force",
    "Frame",
    "Friction",
    "Frictionless",
    "Gear",
    "Graph",
    "Gravity",
    "HeightField",
    "Law",
    "Limits",
    "Line",
    "Motion",
    "Motor",
    "OrthotropicCoulomb",
    "Part",
    "PlanarBody",
    "PlanarJoint",
    "Plane",
    "Point",
    "PointMass",
    "Polyhedron",
    "Prismatic",
    "Revolute",
    "RigidBody",
    "Rod",
    "Rolling",
    "Screw",
    "SimplePolygon",
    "Sphere",
    "Spherical",
    "SpringDamper",
    "Stribeck",
    "System",
    "Torque",
    "TriangleMesh",
    "Universal",
    "ground",
    "inertia",
    "matter_of",
    "solid",
]
