"""The zoo: ready-made mechanisms, one per file, with the papers' values as defaults."""

from stickslip.benchmarks.arch import arch
from stickslip.benchmarks.ball_bearing import ball_bearing
from stickslip.benchmarks.ball_in_box import ball_in_box
from stickslip.benchmarks.ball_on_shaker import ball_on_shaker
from stickslip.benchmarks.block_on_belt import block_on_belt
from stickslip.benchmarks.bouncing_ball import bouncing_ball
from stickslip.benchmarks.bouncing_pendulum import bouncing_pendulum
from stickslip.benchmarks.cannonballs import cannonballs
from stickslip.benchmarks.card_house import card_house
from stickslip.benchmarks.compass_walker import compass_walker
from stickslip.benchmarks.dice import dice
from stickslip.benchmarks.dominoes import dominoes
from stickslip.benchmarks.elastic_bar import elastic_bar
from stickslip.benchmarks.elastic_bar_drop import elastic_bar_drop
from stickslip.benchmarks.flexible_pendulum import flexible_pendulum
from stickslip.benchmarks.gear_rattle import gear_rattle
from stickslip.benchmarks.gripper import gripper
from stickslip.benchmarks.heap import heap
from stickslip.benchmarks.impact_oscillator import impact_oscillator
from stickslip.benchmarks.jumping_balls import jumping_balls
from stickslip.benchmarks.newtons_cradle import newtons_cradle
from stickslip.benchmarks.pendulum import pendulum
from stickslip.benchmarks.point_mass_on_slope import point_mass_on_slope
from stickslip.benchmarks.registry import REGISTRY, Benchmark
from stickslip.benchmarks.rocking_block import rocking_block
from stickslip.benchmarks.rotating_bouncing_ball import rotating_bouncing_ball
from stickslip.benchmarks.rotor import rotor
from stickslip.benchmarks.silo import silo
from stickslip.benchmarks.slider_crank import slider_crank
from stickslip.benchmarks.slider_crank_minimal import slider_crank_minimal
from stickslip.benchmarks.spring_pendulum import spring_pendulum
from stickslip.benchmarks.tippedisk import tippedisk
from stickslip.benchmarks.tower import tower
from stickslip.benchmarks.woodpecker_toy import woodpecker_toy

__all__ = [
    "REGISTRY",
    "Benchmark",
    "arch",
    "ball_bearing",
    "ball_in_box",
    "ball_on_shaker",
    "block_on_belt",
    "bouncing_ball",
    "bouncing_pendulum",
    "cannonballs",
    "card_house",
    "compass_walker",
    "dice",
    "dominoes",
    "elastic_bar",
    "elastic_bar_drop",
    "flexible_pendulum",
    "gear_rattle",
    "gripper",
    "heap",
    "impact_oscillator",
    "jumping_balls",
    "newtons_cradle",
    "pendulum",
    "point_mass_on_slope",
    "rocking_block",
    "rotating_bouncing_ball",
    "rotor",
    "silo",
    "slider_crank",
    "slider_crank_minimal",
    "spring_pendulum",
    "tippedisk",
    "tower",
    "woodpecker_toy",
]
