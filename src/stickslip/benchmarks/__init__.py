"""The zoo: ready-made mechanisms, one a file, with the papers' values as defaults."""

from stickslip.benchmarks.bouncing_ball import bouncing_ball
from stickslip.benchmarks.point_mass_on_slope import point_mass_on_slope
from stickslip.benchmarks.registry import REGISTRY, Benchmark
from stickslip.benchmarks.rotating_bouncing_ball import rotating_bouncing_ball
from stickslip.benchmarks.slider_crank import slider_crank
from stickslip.benchmarks.tippedisk import tippedisk

__all__ = ["REGISTRY", "Benchmark", "bouncing_ball", "point_mass_on_slope", "rotating_bouncing_ball", "slider_crank", "tippedisk"]
