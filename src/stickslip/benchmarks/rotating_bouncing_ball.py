"""The rotating bouncing ball."""

from __future__ import annotations

from stickslip.benchmarks.registry import benchmark
from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.shapes import Shape, Snapshot, Touch, Wall, drawing, wheel

CASES = {1: (0.0, 0.5), 2: (50.0, 0.0), 3: (10.0, 0.0)}  # spin omega, restitution e_N


@benchmark(source="Breuling et al. 2024, section 5.1", dt=1e-2, t_end=1.5)
def rotating_bouncing_ball(
    case: int = 1, *, m: float = 1.0, R: float = 0.1, g: float = 9.81, mu: float = 0.2, e_F: float = 0.0
) -> System:
    """A spinning ball falls on a plane: bouncing (case 1), sliding then rolling (2), rolling at once (3).

    q = (x, y, phi), M = diag(m, m, 2 m R^2/5), gap y - R, slip xdot + R omega. Starts at rest at height 1 with the spin
    omega = 0, 50, 10 and e_N = 0.5, 0, 0. It has everything in one contact: impact, accumulation, slip, the transition to
    stick, and stick with vanishing friction force.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.rotating_bouncing_ball(case=3), t_end=1.5, dt=1e-2)
    >>> print(f"{solution.u[-1, 2]:.8f}")      # exact: 20/7
    2.85714286
    """
    if case not in CASES:
        raise OptionError(f"case = {case} of rotating_bouncing_ball does not exist; there are 1, 2 and 3")
    omega, e_N = CASES[case]
    s = System(f"rotating bouncing ball, case {case}")
    m_, R_, g_ = s.parameter("m", m), s.parameter("R", R), s.parameter("g", g)
    (_, y, _), (u_x, u_y, u_phi) = s.coordinates("x y phi", initial=[0, 1, 0], velocity=[0, 0, omega], units="m m rad")
    s.kinetic_energy(m_ / 2 * (u_x**2 + u_y**2) + m_ * R_**2 / 5 * u_phi**2)
    s.potential_energy(m_ * g_ * y)
    s.contact(
        gap=y - R_,
        slip=u_x + R_ * u_phi,
        friction=s.parameter("mu", mu),
        restitution=s.parameter("e_N", e_N),
        tangential_restitution=s.parameter("e_F", e_F),
        name="floor",
    )
    s.drawing = draw
    return s


@drawing("rotating_bouncing_ball")
def draw(state: Snapshot) -> list[Shape]:
    """A ball with two diameters over the floor."""
    (x, y, phi), R = state.q, state.parameters["R"]
    return [Wall((0, 0), normal=(0, 1)), *wheel((x, y), R, phi), Touch("floor", (x, y - R))]
