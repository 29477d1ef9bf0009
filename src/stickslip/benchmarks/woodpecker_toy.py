"""The woodpecker toy."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.model.system import System
from stickslip.shapes import Dot, Polygon, Polyline, Shape, Snapshot, Touch, Wall, drawing

MASSES = {"m_M": 3e-4, "J_M": 5e-9, "m_S": 4.5e-3, "J_S": 7e-7, "c_phi": 0.0056, "g": 9.81}
LENGTHS = {"r0": 2.5e-3, "r_M": 3.1e-3, "h_M": 5.8e-3, "l_M": 0.01, "l_G": 0.015, "h_S": 0.02, "l_S": 0.0201}


@benchmark(source="Glocker 1995; Capobianco, Eugster 2018, Figs. 6 and 7", dt=1e-4, t_end=1.0)
def woodpecker_toy(*, mu: float = 0.3, e_beak: float = 0.5, e_sleeve: float = 0.0, e_F: float = 0.0) -> System:
    """A woodpecker on a spring pecks its way down a pole: friction, impacts, jamming, and a limit cycle of them.

    q = (y, phi_M, phi_S): height and tilt of the sleeve, tilt of the bird, small angles. The beak may touch the pole,
    and so may the lower and the upper edge of the sleeve, which jams there and slides when the bird swings back. The
    default state lies on the limit cycle, up to its digits: 0.146 s and 19.4 mm down a cycle.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.woodpecker_toy(), t_end=0.5, dt=1e-4, method="moreau")
    >>> bool(-0.08 < solution.q[-1, 0] < -0.05)
    True
    """
    s = System("woodpecker toy")
    m_M, J_M, m_S, J_S, c, g = (s.parameter(name, value) for name, value in MASSES.items())
    r0, r_M, h_M, l_M, l_G, h_S, l_S = (s.parameter(name, value) for name, value in LENGTHS.items())
    (y, phi_M, phi_S), (v, omega_M, omega_S) = s.coordinates(
        "y phi_M phi_S", initial=[0, -0.1036, -0.2788], velocity=[-0.3411, 0, -7.4583], units="m rad rad"
    )
    s.mass_matrix(
        [
            [m_S + m_M, m_S * l_M, m_S * l_G],
            [m_S * l_M, J_M + m_S * l_M**2, m_S * l_M * l_G],
            [m_S * l_G, m_S * l_M * l_G, J_S + m_S * l_G**2],
        ]
    )
    s.potential_energy(c / 2 * (phi_S - phi_M) ** 2 + g * (m_M * y + m_S * (y + l_M * phi_M + l_G * phi_S)))
    law = {"friction": s.parameter("mu", mu), "tangential_restitution": s.parameter("e_F", e_F)}
    e_S = s.parameter("e_sleeve", e_sleeve)
    beak, sleeve = v + l_M * omega_M + (l_G - l_S) * omega_S, v + r_M * omega_M
    s.contact(
        gap=l_M + l_G - l_S - r0 - h_S * phi_S, slip=beak, restitution=s.parameter("e_beak", e_beak), name="beak", **law
    )
    s.contact(gap=r_M - r0 + h_M * phi_M, slip=sleeve, restitution=e_S, name="lower sleeve", **law)
    s.contact(gap=r_M - r0 - h_M * phi_M, slip=sleeve, restitution=e_S, name="upper sleeve", **law)
    s.drawing = draw
    return s


# The bird in its own frame, in mm from the hinge: (l_G, 0) is the centre of mass, (l_G - l_S, h_S) the tip of the beak.
BIRD = [
    (-5.1, 20), (1, 21.3), (3, 24.6), (8, 26), (12, 24.2), (14.2, 20), (16, 15), (21, 10), (23.5, 3), (23, -6), (26, -15),
    (24, -24), (21.5, -16), (18.5, -10), (12, -7), (6.5, -2), (5.5, 5), (7.5, 11), (7, 15), (3.5, 17.6), (1, 19),
]  # fmt: skip


@drawing("woodpecker_toy", span=0.6)
def draw(state: Snapshot) -> list[Shape]:
    """Sleeve and bird on the pole, by the model's small angles, so that they touch where the gaps say."""
    y, phi_M, phi_S = state.q
    p = state.parameters
    r0, r_M, h_M, l_M, l_G, h_S, l_S = (p[name] for name in LENGTHS)

    def turned(points: Any, at: tuple[float, float], angle: float) -> np.ndarray:
        return np.asarray(at) + np.asarray(points) @ np.array([[1.0, angle], [-angle, 1.0]])

    hinge = (l_M, y + l_M * phi_M)
    thick = 1.5e-3
    halves = [[(a, -h_M), (b, -h_M), (b, h_M), (a, h_M)] for a, b in ((r_M, r_M + thick), (-r_M - thick, -r_M))]
    lower, upper = turned([(r_M, -h_M), (r_M, h_M)], (0, y), phi_M)
    beak, eye, wing = (
        turned(points, hinge, phi_S)
        for points in (
            [(l_G - l_S, h_S)],
            [(6.5e-3, 22.2e-3)],
            1e-3 * np.array([(12, 8), (17, 7), (20, 0), (20.5, -9)]),
        )
    )
    return [
        Wall((r0, 0), normal=(1, 0), depth=2 * r0),
        *[Polygon(turned(half, (0, y), phi_M), "third") for half in halves],
        Polyline(
            [turned([(r_M + thick, 0)], (0, y), phi_M)[0], hinge, turned([(6e-3, 2e-3)], hinge, phi_S)[0]], width=3.0
        ),
        Polygon(turned(1e-3 * np.array(BIRD), hinge, phi_S), "other"),
        Polyline(wing, "other", width=1.6),
        Dot(eye[0]),
        *[Touch(name, at) for name, at in (("beak", beak[0]), ("lower sleeve", lower), ("upper sleeve", upper))],
    ]
