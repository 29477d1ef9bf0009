"""The slider-crank mechanism with clearance, in minimal coordinates."""

from __future__ import annotations

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.benchmarks.slider_crank import CORNERS, LENGTHS, MASSES, OMEGA_1, OMEGA_2, slider_crank_shapes
from stickslip.errors import OptionError
from stickslip.math import cos, sin
from stickslip.model.system import System
from stickslip.shapes import Shape, Snapshot, Touch, drawing


@benchmark(source="Schindler et al. 2014, section 2.1", dt=1e-4, t_end=0.1)
def slider_crank_minimal(
    *, friction: bool = True, c: float = 1e-3, gamma: float = 9.81, mu: float = 0.01, e_N: float = 0.4, e_F: float = 0.0
) -> System:
    """Crank, rod and a slider that rattles in its notch, described by three angles: no joints, 4 corners.

    q = (theta_1, theta_2, theta_3). The joints are gone; what is left is a full, turning mass matrix (23), gyroscopic
    forces (24) and the corners' gaps and slips (25 to 32), of which two lean on a wall at a time and may depend on each
    other. `friction=False` leaves friction out. With the clearance c = 0 the notch guides the slider: two bilateral
    constraints, theta_3 = 0 and a pin on the axis, take the place of the corners, without friction. The paper
    keeps four closed corners instead: `friction=False` and `solve(..., parameters={"c": 0})`.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.slider_crank_minimal(), t_end=0.01, dt=1e-4, method="half-explicit")
    >>> solution.gap.shape
    (101, 4)
    """
    if c < 0:
        raise OptionError(f"c = {c} of slider_crank_minimal must not be negative; c = 0 guides the slider")
    s = System("slider-crank in minimal coordinates")
    l1, l2, a, b = (s.parameter(name, LENGTHS[name]) for name in ("l1", "l2", "a", "b"))
    m1, m2, m3, J1, J2, J3 = (s.parameter(name, value) for name, value in MASSES.items())
    gravity = s.parameter("gamma", gamma)
    q, u = s.coordinates("theta1 theta2 theta3", initial=[0, 0, 0], velocity=[OMEGA_1, OMEGA_2, 0], units="rad rad rad")
    (theta1, theta2, theta3), (omega1, omega2, omega3) = q, u
    M11, M22 = J1 + l1**2 * (m1 / 4 + m2 + m3), J2 + l2**2 * (m2 / 4 + m3)  # (23)
    M12 = l1 * l2 * cos(theta1 - theta2) * (m2 / 2 + m3)
    s.kinetic_energy(M11 / 2 * omega1**2 + M12 * omega1 * omega2 + M22 / 2 * omega2**2 + J3 / 2 * omega3**2)
    y1, y2 = l1 * sin(theta1), l2 * sin(theta2)
    s.potential_energy(gravity * ((m1 / 2 + m2 + m3) * y1 + (m2 / 2 + m3) * y2))
    s.drawing = draw
    if c == 0:
        s.constraint(y1 + y2, name="pin on the axis")
        s.constraint(theta3, name="slider parallel to the axis")
        return s
    half_height = b + s.parameter("c", c)  # d/2
    law = {"restitution": s.parameter("e_N", e_N)}
    rubbing = {"friction": s.parameter("mu", mu), "tangential_restitution": s.parameter("e_F", e_F)} if friction else {}
    for name, (left, up) in CORNERS.items():
        height = y1 + y2 + left * a * sin(theta3) + up * b * cos(theta3)
        if friction:
            turning = left * a * sin(theta3) + up * b * cos(theta3)
            rubbing["slip"] = -y1 * omega1 - y2 * omega2 - turning * omega3  # (29) to (32), derived
        s.contact(gap=half_height - up * height, **law, **rubbing, name=name)  # (25) to (28)
    return s


@drawing("slider_crank_minimal")
def draw(state: Snapshot) -> list[Shape]:
    """As the slider-crank, without the corners' lights where the notch guides the slider."""
    theta1, theta2, theta3 = state.q
    p = state.parameters
    arm_1, arm_2 = (l * np.array([np.cos(a), np.sin(a)]) for l, a in ((p["l1"], theta1), (p["l2"], theta2)))  # noqa: E741
    bodies = ((*arm_1 / 2, theta1), (*arm_1 + arm_2 / 2, theta2), (*arm_1 + arm_2, theta3))
    crank, rod, slider = map(np.array, bodies)
    shapes = slider_crank_shapes(crank, rod, slider, p["b"] + p.get("c", 0.0), state)
    return shapes if "c" in p else [shape for shape in shapes if not isinstance(shape, Touch)]
