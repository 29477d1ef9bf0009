"""Shared by all tests: results that many tests look at are computed once."""

from functools import cache

import pytest
from hypothesis import settings

import stickslip as ss
from synthetic import make_ball

settings.register_profile(
    "stickslip", deadline=None, derandomize=True
)  # the first call of a compiled function takes long
settings.load_profile("stickslip")

# Every benchmark with its cases: (builder arguments) by label; the step is the paper's.
ZOO = {
    "bouncing_ball": {},
    "rotating_bouncing_ball-1": {"case": 1},
    "rotating_bouncing_ball-2": {"case": 2},
    "rotating_bouncing_ball-3": {"case": 3},
    "point_mass_on_slope-1": {"case": 1},
    "point_mass_on_slope-2": {"case": 2},
    "point_mass_on_slope-3": {"case": 3},
    "point_mass_on_slope-4": {"case": 4},
    "slider_crank": {},
}


@cache
def run(label: str, method: str, dt: float | None = None, t_end: float | None = None) -> ss.Solution:
    """The solution of a benchmark case at the paper's step, or at another one."""
    entry = ss.benchmarks.REGISTRY[label.split("-")[0]]
    system = entry.build(**ZOO[label])
    return ss.solve(system, t_end=t_end or entry.t_end, dt=dt or entry.dt, method=method)


@pytest.fixture
def ball() -> ss.Solution:
    """A solution whose every number is known."""
    return make_ball()
