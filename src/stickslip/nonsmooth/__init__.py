"""The algebra of one step: cones, the problem, its solvers, one residual. Knows no time, scheme or model.

>>> from stickslip import nonsmooth
>>> problem = nonsmooth.contacts([[1.0, 0.0], [0.0, 1.0]], [-2.0, 1.0], mu=[0.3])
>>> nonsmooth.solve(problem).converged
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.nonsmooth.fclib import load_fclib, save_fclib
    from stickslip.nonsmooth.problem import Problem, contacts, from_bodies
    from stickslip.nonsmooth.solvers import SOLVERS, OneStepSolution, solve

__all__ = ["SOLVERS", "OneStepSolution", "Problem", "contacts", "from_bodies", "load_fclib", "save_fclib", "solve"]

MODULES = {"fclib": ("load_fclib", "save_fclib"), "problem": ("Problem", "contacts", "from_bodies")}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """The time loop needs the laws alone, and loads none of the solvers for them."""
    if name not in __all__:
        raise AttributeError(f"module 'stickslip.nonsmooth' has no attribute {name!r}")
    module = next((key for key, names in MODULES.items() if name in names), "solvers")
    return getattr(import_module(f"stickslip.nonsmooth.{module}"), name)
