"""Time: one family of schemes a file, and a registry that states what each of them promises."""

from stickslip.schemes.event_driven import EventDriven
from stickslip.schemes.lobatto import Lobatto
from stickslip.schemes.moreau import Moreau
from stickslip.schemes.rattle import Rattle
from stickslip.schemes.scheme import METHODS, Facts, Scheme

__all__ = ["METHODS", "EventDriven", "Facts", "Lobatto", "Moreau", "Rattle", "Scheme"]
