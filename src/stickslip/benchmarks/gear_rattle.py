"""Gear rattle."""

from __future__ import annotations

import math

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.math import sin
from stickslip.model.system import System
from stickslip.shapes import Polygon, Shape, Snapshot, Touch, drawing, placed

TEETH, RADIUS = 16, 0.05  # of both gears of the picture


@benchmark(source="Pfeiffer, Kunert 1990, Nonlinear Dyn. 1, 63-74", dt=5e-5, t_end=0.4)
def gear_rattle(
    *,
    A: float = 4e-4,
    omega: float = 150.0,
    j: float = 4e-4,
    d: float = 2.0,
    drag: float = 2.0,
    e: float = 0.6,
) -> System:
    """A loose gear that rattles in the backlash of the wheel which drives it.

    The driving wheel vibrates by w = A sin(omega t) along the line of action. The loose gear, of the coordinate x there, is
    braked by oil: xddot = -d xdot - drag. Its tooth touches one flank where x = w - j/2 and the other where x = w + j/2, with
    restitution e. Below A omega^2 = drag it follows the wheel without a sound.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.gear_rattle(), t_end=0.2, dt=5e-5)
    >>> bool((solution.P_N > 0).any(axis=0).all())    # both flanks are hit
    True
    """
    s = System("gear rattle")
    names = {"A": A, "omega": omega, "j": j, "d": d, "drag": drag, "e": e}
    A_, omega_, j_, d_, drag_, e_ = (s.parameter(name, value) for name, value in names.items())
    (x,), (u,) = s.coordinates("x", initial=[0], velocity=[0], units="m")
    s.kinetic_energy(u**2 / 2)
    s.force([-d_ * u - drag_])
    wheel = A_ * sin(omega_ * s.time)
    s.contact(gap=x - wheel + j_ / 2, restitution=e_, name="driving flank")
    s.contact(gap=wheel + j_ / 2 - x, restitution=e_, name="coasting flank")
    s.drawing = draw
    return s


def gear(centre: tuple[float, float], angle: float, gap: float) -> np.ndarray:
    """The outline of a gear whose teeth are narrower than their spaces by the angle `gap`."""
    pitch, points = 2 * math.pi / TEETH, []
    for k in range(TEETH):
        for share, radius in ((-0.33, 0.9), (-0.2, 1.08), (0.2, 1.08), (0.33, 0.9)):
            turn = k * pitch + share * pitch - math.copysign(gap / 2, share)
            points.append((RADIUS * radius * math.cos(turn), RADIUS * radius * math.sin(turn)))
    return placed(points, centre, angle)


@drawing("gear_rattle", span=0.2, note="Angles are drawn 20 times as large.")
def draw(state: Snapshot) -> list[Shape]:
    """Both gears; angles and backlash are enlarged."""
    (x,), p = state.q, state.parameters
    wheel, scale = p["A"] * math.sin(p["omega"] * state.t), 20 / RADIUS
    return [
        Polygon(gear((0, 0), -wheel * scale, 0.0), "third"),
        Polygon(gear((2 * RADIUS, 0), x * scale + math.pi / TEETH + math.pi, p["j"] * scale / 2), "body"),
        Touch("driving flank", (RADIUS, 0.1 * RADIUS)),
        Touch("coasting flank", (RADIUS, -0.1 * RADIUS)),
    ]
