"""The bouncing flexible pendulum."""

from __future__ import annotations

from math import sqrt

from stickslip.benchmarks.registry import benchmark
from stickslip.model.contacts import Contact, Line
from stickslip.model.flexible import Beam
from stickslip.model.forces import Gravity
from stickslip.model.system import System


@benchmark(source="Brüls, Acary, Cardona 2018, section 6.2", dt=5e-6, t_end=1.0, method="generalized-alpha")
def flexible_pendulum(
    N: int = 4,
    *,
    L: float = 1.0,
    A: float = 1e-4,
    I: float = 8.33e-10,  # noqa: E741
    A_s: float = 5e-4 / 6,
    E: float = 2.1e11,
    rho: float = 7800.0,
    nu: float = 0.3,
    g: float = 10.0,
    e: float = 0.0,
    residual_bending: bool = False,
) -> System:
    """A thin beam swings from the horizontal against a vertical wall, which its tip touches at 45 degrees.

    N geometrically exact elements, hinged at the origin; the hinge is not a constraint but leaves its node only the angle.
    q = (phi_0, x_1, y_1, phi_1, ..., phi_N), gap x_N - sqrt(2)/2 L. Gravity is 10 m/s^2: with 9.81 the tip would arrive
    at 0.330 s, not at 0.327 s as in the source. The first contact is a burst of impacts on [0.327, 0.346] s, each of which
    stops the tip; the energy falls in steps.

    The source's burst ends at 0.348 s, as that of four elements with residual bending flexibility does (see `Beam`); without
    it they are too stiff in bending. The shear of the thin sections is fast, omega = sqrt(G A_s/(rho I)) = 1.02e6/s: explicit
    schemes need dt < 1.9e-6 s, with residual bending 2.8e-5 s. The source's dt = 5e-6 s is for generalized-alpha, which is
    implicit and damps it.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.flexible_pendulum(), t_end=1e-3, dt=1.5e-6)
    """
    s = System("flexible pendulum")
    section = {"area": A, "moment": I, "shear_area": A_s}
    material = {"density": rho, "modulus": E, "shear_modulus": E / (2 * (1 + nu))}
    beam = s.add(
        Beam(
            "beam",
            length=L,
            elements=N,
            **section,
            **material,
            supports={0: "pinned"},
            residual_bending=residual_bending,
        )
    )
    s.add(Gravity([0, -s.parameter("g", g)]))
    wall = Line(point=[sqrt(2) / 2 * L, 0], normal=[1, 0])
    s.add(Contact("wall", beam.tip, wall, restitution=s.parameter("e", e)))
    return s
