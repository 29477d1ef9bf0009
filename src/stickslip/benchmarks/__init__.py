"""The zoo: ready-made mechanisms, one a file, with the papers' values as defaults."""

from stickslip.benchmarks.bouncing_ball import bouncing_ball
from stickslip.benchmarks.elastic_bar import elastic_bar, elastic_bar_drop
from stickslip.benchmarks.flexible_pendulum import flexible_pendulum
from stickslip.benchmarks.point_mass_on_slope import point_mass_on_slope
from stickslip.benchmarks.registry import REGISTRY, Benchmark
from stickslip.benchmarks.rotating_bouncing_ball import rotating_bouncing_ball
from stickslip.benchmarks.rotor import rotor
from stickslip.benchmarks.slider_crank import slider_crank

__all__ = ["REGISTRY", "Benchmark", "bouncing_ball", "point_mass_on_slope", "rotating_bouncing_ball", "slider_crank"]
__all__ += ["elastic_bar", "elastic_bar_drop", "flexible_pendulum", "rotor"]
