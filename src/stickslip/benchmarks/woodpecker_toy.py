"""The woodpecker toy."""

from __future__ import annotations

from stickslip.benchmarks.registry import benchmark
from stickslip.model.system import System

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
        "y phi_M phi_S", initial=[0, -0.1036, -0.2788], velocity=[-0.3411, 0, -7.4583]
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
    return s
