"""The result of a simulation as data: arrays, statistics, names, provenance, and the file that keeps all of them.

>>> import stickslip as ss
>>> solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-3)
>>> solution.q.shape, solution.names.contacts
((101, 1), ('floor',))
"""

from stickslip.solution.files import FORMAT_VERSION, is_result, load
from stickslip.solution.records import Energy, Names, NotKept, Stats
from stickslip.solution.streamed import write_streamed
from stickslip.solution.trajectory import ARRAYS, CATALOGUE, COMPUTED, Later, Solution

__all__ = [
    "ARRAYS",
    "CATALOGUE",
    "COMPUTED",
    "FORMAT_VERSION",
    "Energy",
    "Later",
    "Names",
    "NotKept",
    "Solution",
    "Stats",
    "is_result",
    "load",
    "write_streamed",
]
