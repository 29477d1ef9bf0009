"""The impact oscillator."""

from __future__ import annotations

from stickslip.benchmarks.registry import benchmark
from stickslip.math import cos
from stickslip.model.system import System
from stickslip.shapes import Circle, Shape, Snapshot, Touch, Wall, drawing


@benchmark(source="Shaw, Holmes 1983, J. Sound Vib. 90, 129-155", dt=1e-2, t_end=60.0)
def impact_oscillator(
    *,
    omega: float = 2.8,
    beta: float = 1.0,
    zeta: float = 0.0,
    c: float = 0.0,
    e: float = 0.8,
    x: float = -0.2,
    v: float = 0.0,
) -> System:
    """A forced oscillator against a stop: the simplest system with grazing, period doubling and chaos by impacts.

    xddot + 2 zeta xdot + x = beta cos(omega t), x <= c, restitution e at the stop. For zeta = 0 the orbit with one impact per
    n periods of the forcing, T = 2 pi n/omega, is known: with G = beta/(1 - omega^2), kappa = tan(T/2) and
    rho = (1 - e)/(1 + e) it hits the stop at the phase at which P = G cos(omega t) and Q = -G omega sin(omega t) satisfy

        Q = -(c - P) kappa rho,      P^2 + Q^2/omega^2 = G^2,

    and leaves it with the velocity (c - P) kappa + Q. The product of its multipliers is e^2, their sum
    -2 e cos(T) + (1 + e) sin(T) (P (1 - omega^2) - c)/(Q - (c - P) kappa).

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.impact_oscillator(), t_end=10.0, dt=1e-2)
    >>> bool(solution.gap.min() > -1e-8)
    True
    """
    s = System("impact oscillator")
    w, b, d = s.parameter("omega", omega), s.parameter("beta", beta), s.parameter("zeta", zeta)
    stop, restitution = s.parameter("c", c), s.parameter("e", e)
    (q,), (u,) = s.coordinates("x", initial=[x], velocity=[v], units="m")
    s.kinetic_energy(u**2 / 2)
    s.potential_energy(q**2 / 2)
    s.force([b * cos(w * s.time) - 2 * d * u])
    s.contact(gap=stop - q, restitution=restitution, name="stop")
    s.drawing = draw
    return s


@drawing("impact_oscillator")
def draw(state: Snapshot) -> list[Shape]:
    """A disk that touches the stop with its right side; the force is not drawn."""
    (x,), c, radius = state.q, state.parameters["c"], 0.08
    return [
        Wall((c, 0), normal=(-1, 0)),
        Circle((x - radius, 0), radius),
        Touch("stop", (x, 0)),
    ]
