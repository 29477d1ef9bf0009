"""A block slides over four flush tiles: is it caught by a seam? Its speed is v - mu g t.

python bench/seams.py [--methods NAMES] [--drop 0.001]

Printed: the largest error of the speed, for a box and for prisms of 8 and 16 sides, over four boxes side by side, and over
one height field that has the same surface. A block that is dropped is off by mu v, the impulse of its landing, anyway.
"""

from __future__ import annotations

import argparse

import numpy as np

import stickslip as ss

METHODS = "rattle,lobatto,generalized-alpha,moreau,theta,half-explicit"
V, MU, G = 1.0, 0.2, 9.81


def error(method: str, sides: int, mesh: bool, dt: float, drop: float = 0.0) -> float:
    """The largest error of the speed within 0.35 s, in which the block crosses one seam."""
    s = ss.System("seams")
    s.add(ss.Gravity([0, 0, -G]))
    shape: ss.Box | ss.Cylinder = ss.Box(ss.ground.frame([0, 0, 0.05 + drop]), [0.1, 0.1, 0.1])
    if sides > 4:
        shape = ss.Cylinder(ss.ground.point(0, 0, 0.05 + drop), [0, 0, 1], radius=0.05, length=0.1, points=sides)
    block = s.add(ss.solid("block", shape, density=1000, velocity=[V, 0, 0]))
    floor: list[ss.Box | ss.HeightField] = [
        ss.Box(ss.ground.frame([0.2 * k, 0, -0.05]), [0.2, 0.4, 0.1]) for k in range(4)
    ]
    if mesh:
        floor = [ss.HeightField(ss.ground.frame([0.3, 0, 0]), np.zeros((5, 2)), size=[0.8, 0.4], depth=0.1)]
    s.add(ss.Collisions("contacts", [block, *floor], friction=MU))
    solution = ss.solve(s, t_end=0.35, dt=dt, method=method, progress=False)
    return float(np.abs(solution.u[:, 0] - (V - MU * G * solution.t)).max())


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--drop", type=float, default=0.0, help="height from which the block falls, in metres")
    given = parser.parse_args()
    for method in given.methods.split(","):
        for name, mesh in (("four boxes", False), ("one mesh", True)):
            found = [error(method, sides, mesh, dt, given.drop) for sides in (4, 8, 16) for dt in (2e-3, 1e-3)]
            print(f"{method:18s} {name:10s}", " ".join(f"{x:.0e}" for x in found), flush=True)


if __name__ == "__main__":
    main()
