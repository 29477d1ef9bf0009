"""What a mechanism is: systems, parts, equations. Declarations only; no time, no solver, no numbers of a run."""

from stickslip.model.bodies import Body, PlanarBody, Point, PointMass, ground
from stickslip.model.contacts import Contact, Line
from stickslip.model.forces import Gravity, SpringDamper
from stickslip.model.joints import Prismatic, Revolute
from stickslip.model.system import Part, System

__all__ = [
    "Body", "Contact", "Gravity", "Line", "Part", "PlanarBody", "Point", "PointMass", "Prismatic", "Revolute", "SpringDamper",
    "System", "ground",
]
