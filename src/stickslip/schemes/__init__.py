"""Time: one family of schemes per file, a registry of what each of them promises, and the words to write one."""

from stickslip.engine.derive import PartType
from stickslip.engine.fields import PERCUSSIONS, Q_0, Q_1, U_0, U_1, Field, Multipliers, Space
from stickslip.engine.stage import Stage
from stickslip.schemes.event_driven import EventDriven
from stickslip.schemes.explicit_forces import ExplicitVelocity, HalfExplicitAcceleration
from stickslip.schemes.generalized_alpha import GeneralizedAlpha
from stickslip.schemes.half_explicit import HalfExplicit
from stickslip.schemes.half_explicit_adaptive import HalfExplicitAdaptive
from stickslip.schemes.lobatto import Lobatto
from stickslip.schemes.moreau import Moreau
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.moreau_type import MoreauSymmetric, MoreauVariational
from stickslip.schemes.rattle import Rattle
from stickslip.schemes.schatzman_paoli import SchatzmanPaoli
from stickslip.schemes.scheme import METHODS, Facts, Scheme
from stickslip.schemes.theta import Theta

__all__ = [
    "METHODS",
    "PERCUSSIONS",
    "Q_0",
    "Q_1",
    "U_0",
    "U_1",
    "EventDriven",
    "ExplicitVelocity",
    "Facts",
    "Field",
    "GeneralizedAlpha",
    "HalfExplicit",
    "HalfExplicitAcceleration",
    "HalfExplicitAdaptive",
    "Lobatto",
    "Moreau",
    "MoreauJean",
    "MoreauSymmetric",
    "MoreauVariational",
    "Multipliers",
    "PartType",
    "Rattle",
    "SchatzmanPaoli",
    "Scheme",
    "Space",
    "Stage",
    "Theta",
]
