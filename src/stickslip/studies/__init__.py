"""From a trajectory to an answer: derivatives through events, and what stands on them."""

from stickslip.studies.saltation import EventDerivative
from stickslip.studies.sensitivity import Gradient, Sensitivity, gradient, sensitivity

__all__ = ["EventDerivative", "Gradient", "Sensitivity", "gradient", "sensitivity"]
