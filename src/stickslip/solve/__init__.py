"""The one door to a simulation, and what it keeps of a system."""

from stickslip.solve.controllers import SampledController
from stickslip.solve.door import solve
from stickslip.solve.ensemble import Ensemble, ensemble
from stickslip.solve.outfile import resume
from stickslip.solve.prepared import compiled, observe_along, prepare, program_of
from stickslip.solve.step_problem import step_problem
from stickslip.solve.stepper import Stepper, stepper

__all__ = [
    "Ensemble",
    "SampledController",
    "Stepper",
    "compiled",
    "ensemble",
    "observe_along",
    "prepare",
    "program_of",
    "resume",
    "solve",
    "step_problem",
    "stepper",
]
