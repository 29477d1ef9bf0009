"""The tippedisk."""

from __future__ import annotations

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.math import quaternion_rotation
from stickslip.model import Contact, CoulombContensou, Disk, Gravity, Plane, RigidBody
from stickslip.model.system import System


@benchmark(source="Breuling et al. 2024, section 5.4", dt=1e-3, t_end=1.5)
def tippedisk(
    *,
    m: float = 0.435,
    r: float = 0.045,
    a: float = 0.015,
    b: float = 0.02,
    g: float = 9.81,
    mu: float = 0.3,
    patch: float = 1e-3,
    e_N: float = 0.0,
    e_F: float = 0.0,
) -> System:
    """An eccentric disk that is spun on a table turns upside down: its centre of mass rises from r - e to r + e.

    A homogeneous disk of radius r with a hole of radius a at the distance b; the centre of mass S lies at the distance
    e = b a^2/(r^2 - a^2) from the geometric centre G. q = (r_OS, p), u = (v_S, omega), with S, omega and p as in
    `RigidBody`. The lowest point C of the rim has r_SC = -e e_x^K - r e_y^G, the gap r_OC . e_z (57, 58), and
    Coulomb-Contensou friction with a contact area of radius `patch` (59). Friction alone lifts the disk, against
    gravity, so a scheme that loses or adds a little energy in sliding contact shows it here.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.tippedisk(), t_end=1.0, dt=1e-3)
    >>> bool(solution.q[0, 2] < 0.043 and solution.q[-1, 2] > 0.047)
    True
    """
    e = b * a**2 / (r**2 - a**2)
    p = np.array([0.5, 0.5, 0.5, -0.5])
    omega = np.array([-60.0, 0.0, 1.0])
    position = np.array([0.0, 0.0, r - e])
    s = System("tippedisk")
    disk = s.add(
        RigidBody(
            "disk",
            mass=m,
            inertia=[2.49e-4, 2.2972e-4, 4.7072e-4],
            position=position,
            orientation=p,
            velocity=np.cross(quaternion_rotation(p) @ omega, position),
            angular_velocity=omega,
        )
    )
    s.add(Gravity([0, 0, -g]))
    law = CoulombContensou(mu, patch, restitution=e_N, tangential_restitution=e_F)
    rim = Disk(disk.point(-e, 0, 0), axis=[0, 0, 1], radius=r)
    s.add(Contact("table", rim, Plane([0, 0, 0], [0, 0, 1]), law))
    return s
