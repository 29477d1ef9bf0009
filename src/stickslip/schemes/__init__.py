"""Time: one family of schemes a file, and a registry that states what each of them promises."""

from stickslip.schemes.explicit_forces import ExplicitVelocity, HalfExplicitAcceleration
from stickslip.schemes.half_explicit import HalfExplicit
from stickslip.schemes.half_explicit_adaptive import HalfExplicitAdaptive
from stickslip.schemes.moreau import Moreau
from stickslip.schemes.rattle import Rattle
from stickslip.schemes.scheme import METHODS, Facts, Scheme

__all__ = [
    "METHODS",
    "ExplicitVelocity",
    "Facts",
    "HalfExplicit",
    "HalfExplicitAcceleration",
    "HalfExplicitAdaptive",
    "Moreau",
    "Rattle",
    "Scheme",
]
