"""Time: one family of schemes a file, and a registry that states what each of them promises."""

from stickslip.schemes.generalized_alpha import GeneralizedAlpha
from stickslip.schemes.moreau import Moreau
from stickslip.schemes.rattle import Rattle
from stickslip.schemes.scheme import METHODS, Facts, Scheme

__all__ = ["METHODS", "Facts", "GeneralizedAlpha", "Moreau", "Rattle", "Scheme"]
