"""The block on a belt."""

from __future__ import annotations

from stickslip.benchmarks.registry import benchmark
from stickslip.math import diag
from stickslip.model.system import System
from stickslip.shapes import GroundLine, Polygon, Shape, Snapshot, Touch, box, drawing, placed, spring


@benchmark(source="Popp, Stelter 1990, Phil. Trans. R. Soc. A 332, 89-105", dt=1e-2, t_end=30.0)
def block_on_belt(
    *,
    m: float = 1.0,
    k: float = 1.0,
    v: float = 0.2,
    mu: float = 0.4,
    slope: float = 0.03,
    g: float = 10.0,
    x: float = 3.6,
) -> System:
    """A block on a belt, held by a spring: friction that falls with the slip speed makes it stick and slip for ever.

    m xddot = -k x + F, with friction |F| <= mu m g while the block moves with the belt, and mu - slope s at the slip speed s.
    The equilibrium is unstable, and the limit cycle is known. The block is torn off at x_r = mu m g/k with the velocity v. With
    omega^2 = k/m, c = slope g, x_e = (mu - slope v) m g/k and omega_d^2 = omega^2 - c^2/4 it slips by

        x - x_e = exp(c t/2) (A cos(omega_d t) + B sin(omega_d t)),   A = x_r - x_e,  B = (v - c A/2)/omega_d

    until it has the velocity v again, after t_slip at x_s. Then it sticks until x_r: the period is t_slip + (x_r - x_s)/v.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.block_on_belt(), t_end=20.0, dt=1e-2)
    >>> print(f"{solution.q[1000:, 0].max() - solution.q[1000:, 0].min():.2f}")
    0.65
    """
    s = System("block on a belt")
    names = {"m": m, "k": k, "v": v, "mu": mu, "slope": slope, "g": g}
    m_, k_, v_, mu_, slope_, g_ = (s.parameter(name, value) for name, value in names.items())
    (q, y), u = s.coordinates("x y", initial=[x, 0], velocity=[v, 0], units="m m")
    s.mass_matrix(diag([m_, m_]))
    s.force([-k_ * q, -m_ * g_])
    s.contact(gap=y, slip=u[0] - v_, friction=lambda speed: mu_ - slope_ * speed, name="belt")
    s.drawing = draw
    return s


@drawing("block_on_belt")
def draw(state: Snapshot) -> list[Shape]:
    """The block by its lower side, the spring to a wall at the left, and marks that move with the belt."""
    (x, y), v = state.q, state.parameters["v"]
    shift = (v * state.t) % 0.5
    marks = [Polygon(placed(box(0.03, 0.03), (2.5 + shift + 0.5 * n, -0.06), 0.0), "other") for n in range(5)]
    return [
        GroundLine([(2.2, 0), (5.2, 0)]),
        *marks,
        Polygon(placed(box(0.25, 0.2), (x, y + 0.2), 0.0), "body"),
        spring((2.2, y + 0.2), (x - 0.25, y + 0.2), 0.08),
        Touch("belt", (x, y)),
    ]
