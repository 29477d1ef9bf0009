"""A rotor test rig with a journal bearing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.errors import OptionError
from stickslip.math import array, cos, cross, dot, sin, sqrt, vector, where
from stickslip.model.bodies import PointMass
from stickslip.model.flexible import RotorDisk, SpatialBeam, circular
from stickslip.model.forces import Gravity
from stickslip.model.system import System
from stickslip.shapes import Dot, Polyline, Shape, Snapshot, Tone, Touch, drawing, ring

AXLE: dict[str, Any] = {"density": 7.85e3, "modulus": 2.1e11, "shear_modulus": 0.81e11}
L_A, R_A, D_1, D_2 = 0.59, 12.5e-3, 60.0, 1e-3  # length, radius, damping in proportion to mass and to torsion
M_F, J_F, X_F = 4.98, 0.01, 0.18  # fly-wheel
R_JF, B_JF = 1e-2, 19e-3  # journal frustum: radius and half width
R_JB, M_JB, C_JB, D_JB = 1.01e-2, 2.3, 1e6, 10.0  # journal bearing
C_D, D_D = 6e6, 10.0  # mount of the drive
ROUND = 1e-9  # radius within which the distance of the centres is rounded off: it has no direction at zero


@benchmark(source="Schindler et al. 2014, section 7.2", dt=5e-6, t_end=0.1)
def rotor(
    lengths: Sequence[float] = (X_F / 2, X_F / 2, *[(L_A - X_F) / 3] * 3),
    *,
    mu: float = 0.01,
    T_D: float = 100.0,
    T_F: float = 10.0,
    t_D: float = 0.05,
    g: float = 9.81,
    e: float = 0.0,
    fault_turns: bool = True,
) -> System:
    """A shaft with a fly-wheel is spun up while its free end whirls in a bearing with backlash and friction.

    The axle is a beam of Euler and Bernoulli along x with five coordinates a node, v, w, phi_x, phi_y, phi_z. At its
    left end sits the journal, a rigid frustum without inertia, which moves in the bearing's circle at x = b_JF/2 with a
    clearance of 0.1 mm; the bearing, a mass on springs, gives way. The right end hangs on the springs of the drive. The
    drive turns with T_D about x for the first 0.05 s; a faulty torque T_F, at first about the vertical z, turns with
    the shaft and makes it whirl forward.

    With e the offset of the journal's centre from the bearing's in the plane of the circle, n = e/|e|, t = e_x x n,

        g_N = r_JB - r_JF - |e|,      gamma_F = (t, e_x) . (edot + omega x r_JF n)

    with slip around and along the axis. What the source does not print is ours: that T_F turns with the shaft (kept in
    space, `fault_turns=False`, it does not whirl but pushes the journal into the lower right of the bearing); the
    wheel's inertia across the axis, J_F/2 of a thin disk; e = 0; a bearing that does not tilt; and the `lengths` of the
    elements. Five of them, with a node under the wheel, have the first four bending frequencies within 0.5 % of those
    of a fine mesh; the highest one, 1.9e5/s, allows explicit schemes dt = 1e-5.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.rotor(), t_end=1e-3, dt=5e-6)
    >>> bool(solution.gap.min() > -1e-8)
    True
    """
    s = System("rotor")
    section = circular(R_A) | {"shear_area": None}
    supports = dict.fromkeys(range(len(lengths) + 1), "u")
    axle = s.add(
        SpatialBeam("axle", length=lengths, **section, **AXLE, gyroscopic=True, supports=supports, mass_damping=D_1)
    )
    wheel_at = [k for k, x in enumerate(axle.stations) if abs(x - X_F) < 1e-9]
    if not wheel_at or abs(axle.stations[-1] - L_A) > 1e-9:
        raise OptionError(
            f"rotor: lengths must add up to {L_A} and put a node under the fly-wheel at {X_F}, got {lengths}"
        )
    s.add(RotorDisk("fly-wheel", axle.node(wheel_at[0]), mass=M_F, polar=J_F, diametral=J_F / 2))
    bearing = s.add(PointMass("bearing", mass=M_JB, position=[0, 0, 0]))
    s.add(Gravity([0, 0, -s.parameter("g", g)]))

    for a, b in pairwise(node.qdot[3] for node in axle.nodes):  # torsional damping
        s.force([D_2 * (b - a), D_2 * (a - b)], on=[a, b])
    right = axle.nodes[-1]
    s.potential_energy(C_JB / 2 * dot(bearing.q, bearing.q) + C_D / 2 * dot(right.q[1:3], right.q[1:3]))
    s.force(array(-D_JB * bearing.u), on=bearing.u)
    s.force(array(-D_D * right.qdot[1:3]), on=right.qdot[1:3])
    torque, fault, turned = s.parameter("T_D", T_D), s.parameter("T_F", T_F), right.q[3] if fault_turns else 0.0
    s.force([where(s.time < t_D, torque, 0.0), fault * sin(turned), -fault * cos(turned)], on=right.qdot[3:])

    journal, circle = axle.nodes[0], vector(B_JF / 2, 0, 0)
    center = journal.position(circle)
    offset = center - bearing.q - circle
    distance = sqrt(offset[1] ** 2 + offset[2] ** 2 + ROUND**2)
    n = array(vector(0.0, offset[1], offset[2]) / distance)
    velocity = journal.velocity_at(center + array(R_JF * n)) - bearing.u
    s.contact(
        gap=R_JB - R_JF - distance,
        slip=[dot(cross([1, 0, 0], n), velocity), velocity[0]],
        friction=s.parameter("mu", mu),
        restitution=s.parameter("e", e),
        name="bearing",
    )
    s.drawing = draw
    return s


BENT = 200.0  # the clearance is 0.1 mm


@drawing(
    "rotor",
    note=f"displacements and clearance {BENT:g} times; the section of the bearing at the free end",
    camera=(-145, 18),
)
def draw(state: Snapshot) -> list[Shape]:
    """The bent shaft with its fly-wheel, and beyond its free end the journal in its bearing, with its path."""
    p, bearing = state.parameters, state.q[-3:]
    nodes = state.q[:-3].reshape(-1, 5)  # v, w, phi_x, phi_y, phi_z
    stations = np.array([p[f"axle.node{k}.station"] for k in range(len(nodes))])
    axle = np.column_stack([stations, BENT * nodes[:, :2]])
    at = int(np.argmin(abs(stations - X_F)))

    def wheel(k: int, radius: float, tone: Tone) -> list[Shape]:
        turn = nodes[k, 2]
        spoke = radius * np.array([0, np.cos(turn), np.sin(turn)])
        return [
            ring(axle[k], (0, 1, 0), (0, 0, 1), radius, tone),
            Polyline([axle[k] - spoke, axle[k] + spoke], tone),
            Polyline([axle[k] - np.cross([1, 0, 0], spoke), axle[k] + np.cross([1, 0, 0], spoke)], tone),
        ]

    # The section of the bearing, at the free end: its middle, the size of the journal there, the offset of its centre.
    middle, small, clearance = np.array([-0.16, 0.0, 0.0]), 0.04, BENT * (R_JB - R_JF)
    v, w, turn, phi_y, phi_z = nodes[0]
    offset = np.array([0.0, v + phi_z * B_JF / 2 - bearing[1], w - phi_y * B_JF / 2 - bearing[2]])
    journal = middle + BENT * offset
    away = offset / max(float(np.linalg.norm(offset)), ROUND)
    return [
        ring(middle, (0, 1, 0), (0, 0, 1), small + clearance, "faint"),
        ring(journal, (0, 1, 0), (0, 0, 1), small, "body"),
        Polyline([journal, journal + 0.9 * small * np.array([0.0, np.cos(turn), np.sin(turn)])], "ink"),
        Dot(journal, trail=True),
        Touch("bearing", journal + small * away, normal=-away),
        ring(BENT * bearing, (0, 1, 0), (0, 0, 1), 1.2 * R_A + clearance, "faint"),
        Polyline(axle, "body", width=7.0),
        *wheel(0, 1.2 * R_A, "body"),
        *wheel(at, 0.09, "other"),
        *wheel(len(nodes) - 1, 2 * R_A, "third"),
    ]
