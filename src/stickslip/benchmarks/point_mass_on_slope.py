"""The point mass on a slope."""

from __future__ import annotations

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.errors import OptionError
from stickslip.math import dot, exp, norm, vector
from stickslip.model.system import System
from stickslip.shapes import Circle, Dot, GroundLine, Shape, Snapshot, Touch, drawing

T_0 = np.array([1.0, -1.0]) / np.sqrt(2.0)  # tangent of the slope at x = 0
CASES = {
    1: ([0, 1.0], 0.0),
    2: ([0, 1.0], 1.0),
    3: ([0, 1.0], -1.0),
    4: ([0, 1.5], 0.0),
}  # position, speed along the slope


@benchmark(source="Breuling et al. 2024, section 5.3", dt=1.6e-3, t_end=3.2768)
def point_mass_on_slope(
    case: int = 1, *, m: float = np.pi, g: float = 10.0, mu: float = 0.3, e_N: float = 0.0, e_F: float = 0.0
) -> System:
    """A point mass slides, or falls, on the curve y = exp(-x) until friction holds it.

    With tangent t(x) and normal n(x) of f(x) = (x, exp(-x)): gap n . (q - f), slip t . u. Case 1 starts at rest on the
    slope, 2 with speed 1 downhill, 3 with speed 1 uphill (slip reverses), 4 above it (impact). The standard problem for the
    order of convergence in persistent frictional contact; the normal turns while the mass slides.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.point_mass_on_slope(case=1), t_end=3.2, dt=1e-3)
    >>> print(f"{solution.q[-1, 0]:.5f}")      # exact: 2.849185
    2.84918
    """
    if case not in CASES:
        raise OptionError(f"case = {case} of point_mass_on_slope does not exist; there are 1, 2, 3 and 4")
    position, speed = CASES[case]
    s = System(f"point mass on a slope, case {case}")
    m_, g_ = s.parameter("m", m), s.parameter("g", g)
    q, u = s.coordinates("x y", initial=position, velocity=speed * T_0, units="m m")
    s.kinetic_energy(m_ / 2 * dot(u, u))
    s.potential_energy(m_ * g_ * q[1])
    f, slope = vector(q[0], exp(-q[0])), vector(1, -exp(-q[0]))
    t = slope / norm(slope)
    n = vector(-t[1], t[0])
    s.contact(
        gap=dot(n, q - f),
        slip=dot(t, u),
        friction=s.parameter("mu", mu),
        restitution=s.parameter("e_N", e_N),
        tangential_restitution=s.parameter("e_F", e_F),
        name="slope",
    )
    s.drawing = draw
    return s


@drawing("point_mass_on_slope")
def draw(state: Snapshot) -> list[Shape]:
    """The mass on the curve; it is drawn as a ball that lies on the mass's side."""
    x = np.linspace(-0.7, 3.4, 120)
    radius, normal = 0.07, np.array([np.exp(-state.q[0]), 1.0])
    center = state.q + radius * normal / np.linalg.norm(normal)
    return [
        GroundLine(np.column_stack([x, np.exp(-x)])),
        Dot(center, "body", trail=True),
        Circle(center, radius),
        Touch("slope", state.q),
    ]
