"""The zoo: ready-made mechanisms, one per file, with the papers' values as defaults."""

from stickslip.benchmarks.ball_in_box import ball_in_box
from stickslip.benchmarks.ball_on_shaker import ball_on_shaker
from stickslip.benchmarks.block_on_belt import block_on_belt
from stickslip.benchmarks.bouncing_ball import bouncing_ball
from stickslip.benchmarks.bouncing_pendulum import bouncing_pendulum
from stickslip.benchmarks.compass_walker import compass_walker
from stickslip.benchmarks.elastic_bar import elastic_bar
from stickslip.benchmarks.elastic_bar_drop import elastic_bar_drop
from stickslip.benchmarks.flexible_pendulum import flexible_pendulum
from stickslip.benchmarks.gear_rattle import gear_rattle
from stickslip.benchmarks.impact_oscillator import impact_oscillator
from stickslip.benchmarks.pendulum import pendulum
from stickslip.benchmarks.point_mass_on_slope import point_mass_on_slope
from stickslip.benchmarks.registry import REGISTRY, Benchmark
from stickslip.benchmarks.rocking_block import rocking_block
from stickslip.benchmarks.rotating_bouncing_ball import rotating_bouncing_ball
from stickslip.benchmarks.rotor import rotor
from stickslip.benchmarks.slider_crank import slider_crank
from stickslip.benchmarks.slider_crank_minimal import slider_crank_minimal
from stickslip.benchmarks.spring_pendulum import spring_pendulum
from stickslip.benchmarks.tippedisk import tippedisk
from stickslip.benchmarks.woodpecker_toy import woodpecker_toy

__all__ = [
    "REGISTRY",
    "Benchmark",
    "ball_in_box",
    "ball_on_shaker",
    "block_on_belt",
    "bouncing_ball",
    "bouncing_pendulum",
    "compass_walker",
    "elastic_bar",
    "elastic_bar_drop",
    "flexible_pendulum",
    "gear_rattle",
    "impact_oscillator",
    "pendulum",
    "point_mass_on_slope",
    "rocking_block",
    "rotating_bouncing_ball",
    "rotor",
    "slider_crank",
    "slider_crank_minimal",
    "spring_pendulum",
    "tippedisk",
    "woodpecker_toy",
]
