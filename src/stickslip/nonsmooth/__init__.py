"""The algebra of one step: cones, the problem, its solvers, one residual. Knows no time, scheme or model.

>>> from stickslip import nonsmooth
>>> problem = nonsmooth.contacts([[1.0, 0.0], [0.0, 1.0]], [-2.0, 1.0], mu=[0.3])
>>> nonsmooth.solve(problem).converged
True
"""

from stickslip.nonsmooth.fclib import load_fclib, save_fclib
from stickslip.nonsmooth.problem import Problem, contacts, from_bodies
from stickslip.nonsmooth.solve import SOLVERS, OneStepSolution, solve

__all__ = ["SOLVERS", "OneStepSolution", "Problem", "contacts", "from_bodies", "load_fclib", "save_fclib", "solve"]
