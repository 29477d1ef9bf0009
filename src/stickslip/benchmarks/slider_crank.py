"""The slider-crank mechanism with clearance, in maximal coordinates."""

from __future__ import annotations

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.math import Scalar, cos, diag, sin, vector
from stickslip.model import Contact, Gravity, Line, PlanarBody, Revolute, ground
from stickslip.model.system import System
from stickslip.shapes import Dot, GroundLine, Polygon, Polyline, Shape, Snapshot, Touch, box, drawing, placed

LENGTHS = {"l1": 0.153, "l2": 0.306, "a": 0.05, "b": 0.025, "d": 0.052}
MASSES = {"m1": 0.038, "m2": 0.038, "m3": 0.076, "J1": 7.4e-5, "J2": 5.9e-4, "J3": 2.7e-6}
CORNERS = {"upper left": (-1, 1), "upper right": (1, 1), "lower left": (-1, -1), "lower right": (1, -1)}
OMEGA_1, OMEGA_2, PHI_3 = 150.0, -75.0, 0.017


@benchmark(source="Breuling et al. 2024, section 5.2", dt=1e-4, t_end=0.2)
def slider_crank(
    *, g: float = 9.81, mu: float = 0.01, e_N: float = 0.4, e_F: float = 0.0, parts: bool = False
) -> System:
    """Crank, rod and a slider that rattles in its guide: 6 bilateral constraints, 4 frictional corners.

    q = (x_1, y_1, phi_1, ..., phi_3), three rigid bodies joined by revolute joints (47); the slider's corners may touch
    the upper and the lower wall of the guide (48, 49). The slider starts tilted by 1 degree, settles by a cascade of
    impacts within 0.01 s, then lies flat on one wall or the other, with redundant contacts. `parts=True` declares it from
    parts instead of equations; the motion is the same.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.slider_crank(), t_end=0.1, dt=1e-4)
    >>> print(f"{solution.q[-1, 2]:.4f}")
    9.0021
    """
    return _from_parts(g, mu, e_N, e_F) if parts else _from_equations(g, mu, e_N, e_F)


def _initial() -> tuple[list[float], list[float]]:
    l1, l2 = LENGTHS["l1"], LENGTHS["l2"]
    v = l1 / 2 * OMEGA_1
    q = [l1 / 2, 0, 0, l1 + l2 / 2, 0, 0, l1 + l2, 0, PHI_3]
    return q, [0, v, OMEGA_1, 0, v, OMEGA_2, 0, 0, 0]


def _parameters(s: System, g: float, mu: float, e_N: float, e_F: float) -> tuple[list, list, dict, Scalar]:
    """Lengths, masses, contact law and gravity, as named parameters."""
    lengths = [s.parameter(name, value) for name, value in LENGTHS.items()]
    masses = [s.parameter(name, value) for name, value in MASSES.items()]
    law = {"friction": s.parameter("mu", mu), "restitution": s.parameter("e_N", e_N)}
    law["tangential_restitution"] = s.parameter("e_F", e_F)
    return lengths, masses, law, s.parameter("g", g)


def _from_equations(g: float, mu: float, e_N: float, e_F: float) -> System:
    s = System("slider-crank")
    (l1, l2, a, b, d), (m1, m2, m3, J1, J2, J3), law, gravity = _parameters(s, g, mu, e_N, e_F)
    q0, u0 = _initial()
    q, u = s.coordinates("x1 y1 phi1 x2 y2 phi2 x3 y3 phi3", initial=q0, velocity=u0, units="m m rad m m rad m m rad")
    x1, y1, phi1, x2, y2, phi2, x3, y3, phi3 = q
    s.mass_matrix(diag([m1, m1, J1, m2, m2, J2, m3, m3, J3]))  # (45)
    s.potential_energy(gravity * (m1 * y1 + m2 * y2 + m3 * y3))  # (46)
    arm_1, arm_2 = l1 / 2 * vector(cos(phi1), sin(phi1)), l2 / 2 * vector(cos(phi2), sin(phi2))
    r_1, r_2, r_3 = vector(x1, y1), vector(x2, y2), vector(x3, y3)
    s.constraint(r_1 - arm_1, name="bearing")  # (47)
    s.constraint(r_1 + arm_1 - r_2 + arm_2, name="crank pin")
    s.constraint(r_2 + arm_2 - r_3, name="piston pin")
    for name, (left, up) in CORNERS.items():
        height = y3 + left * a * sin(phi3) + up * b * cos(phi3)
        slip = u[6] - u[8] * (left * a * sin(phi3) + up * b * cos(phi3))
        s.contact(gap=d / 2 - up * height, slip=slip, **law, name=name)  # (48, 49)
    s.drawing = draw
    return s


def _from_parts(g: float, mu: float, e_N: float, e_F: float) -> System:
    s = System("slider-crank from parts")
    (l1, l2, a, b, d), (m1, m2, m3, J1, J2, J3), law, gravity = _parameters(s, g, mu, e_N, e_F)
    q0, u0 = _initial()

    def body(name: str, k: int, m: float, J: float) -> PlanarBody:
        at, going = q0[3 * k : 3 * k + 3], u0[3 * k : 3 * k + 3]
        placed = {"position": at[:2], "angle": at[2]}
        moving = {"velocity": going[:2], "angular_velocity": going[2]}
        return s.add(PlanarBody(name, mass=m, inertia=J, **placed, **moving))  # type: ignore[arg-type]

    crank, rod, slider = body("crank", 0, m1, J1), body("rod", 1, m2, J2), body("slider", 2, m3, J3)
    s.add(Gravity([0, -gravity]))
    s.add(Revolute("bearing", ground.point(0, 0), crank.point(-l1 / 2, 0)))
    s.add(Revolute("crank pin", crank.point(l1 / 2, 0), rod.point(-l2 / 2, 0)))
    s.add(Revolute("piston pin", rod.point(l2 / 2, 0), slider.point(0, 0)))
    for name, (left, up) in CORNERS.items():
        wall = Line(point=[0, up * d / 2], normal=[0, -up])
        s.add(Contact(name, slider.point(left * a, up * b), wall, **law))
    return s


@drawing("slider_crank")
def draw(state: Snapshot) -> list[Shape]:
    """Crank, rod and slider in the guide, each from its own coordinates: joints that drift apart can be seen."""
    return slider_crank_shapes(state.q[:3], state.q[3:6], state.q[6:], state.parameters["d"] / 2, state)


def slider_crank_shapes(
    crank: np.ndarray, rod: np.ndarray, slider: np.ndarray, half_height: float, state: Snapshot
) -> list[Shape]:
    """The bodies at (x, y, phi) of their centres of mass."""
    l1, l2, a, b = (state.parameters[name] for name in ("l1", "l2", "a", "b"))
    left, right = l2 - l1 - 1.4 * a, l2 + l1 + 1.4 * a
    arms = [placed([(-length / 2, 0), (length / 2, 0)], body[:2], body[2]) for length, body in ((l1, crank), (l2, rod))]
    corners = {name: placed([(x * a, y * b)], slider[:2], slider[2])[0] for name, (x, y) in CORNERS.items()}
    return [
        GroundLine([(right, half_height), (left, half_height)]),
        GroundLine([(left, -half_height), (right, -half_height)]),
        Polygon(placed(box(a, b), slider[:2], slider[2]), "third"),
        Polyline(arms[1], "other", width=6.0),
        Polyline(arms[0], "body", width=8.0),
        *[Dot(at) for at in ((0, 0), arms[0][1], slider[:2])],
        *[Touch(name, at) for name, at in corners.items()],
    ]
