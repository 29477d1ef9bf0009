"""A tower of ten boxes and a wall of 5 x 5 bricks at rest: how far they move, by every scheme.

python bench/at_rest.py [--methods NAMES] [--only tower,wall] [--t-end 10] [--dt 2e-3] [--detected] [--half-bond]

Printed: how far a coordinate of a body ranges in the first second, and after it; a scheme on position level should not move at
all, one on velocity level only until its contacts have closed. Contacts are declared corner by corner, or detected.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import stickslip as ss

G, SIZE = 9.81, (0.4, 0.2, 0.2)


def tower(detected: bool = False, n: int = 10) -> ss.System:
    """Boxes on each other."""
    return _pile("tower", [(0.0, i) for i in range(n)], detected)


def wall(detected: bool = False, n: int = 5, half: bool = False) -> ss.System:
    """Bricks in quarter bond: each but the last of a row lies on two of the row below.

    In half bond the first brick of the top row stands with its centre of mass exactly above the edge of the only brick below
    it: an equilibrium that is not stable. A rounding error grows by exp(6.06 t), with sqrt(g h/(k^2 + h^2)) = 6.06/s for
    half heights h and radii of gyration k, and after 9 s the brick falls. Moreau-jean showed that; `--half-bond` repeats it.
    """
    shift = SIZE[0] * (0.5 if half else 0.25)
    return _pile("wall", [(k * SIZE[0] + (i % 2) * shift, i) for i in range(n) for k in range(n)], detected)


def _pile(name: str, places: list[tuple[float, int]], detected: bool) -> ss.System:
    s = ss.System(name)
    s.add(ss.Gravity([0, 0, -G]))
    m, J = ss.inertia.box(*SIZE, mass=10.0)
    bodies: list[tuple[Any, float, int]] = []
    for k, (x, row) in enumerate(places):
        body = s.add(ss.RigidBody(f"brick {k}", mass=m, inertia=J, position=[x, 0, SIZE[2] / 2 + row * SIZE[2]]))
        bodies.append((body, x, row))
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    if detected:
        shapes = [ss.Box(body, SIZE) for body, _, _ in bodies]
        s.add(ss.Collisions("bricks", [*shapes, floor], friction=0.5, restitution=0.0))
        return s
    for k, (body, x, row) in enumerate(bodies):
        if row == 0:
            s.add(ss.Contact(f"{k} on the floor", ss.Box(body, SIZE), floor, friction=0.5))
        for j, (below, x_below, row_below) in enumerate(bodies):
            left, right = max(x, x_below) - SIZE[0] / 2, min(x, x_below) + SIZE[0] / 2
            if row_below == row - 1 and right > left + 1e-9:
                for c, (at, y) in enumerate((at, y) for at in (left, right) for y in (-SIZE[1] / 2, SIZE[1] / 2)):
                    corner = body.point(at - x, y, -SIZE[2] / 2)
                    top = ss.Plane([0, 0, SIZE[2] / 2], [0, 0, 1], below)
                    s.add(ss.Contact(f"{k} on {j}, {c}", corner, top, friction=0.5))
    return s


def main() -> None:
    """Print the table."""
    takes = [n for n, s in ss.METHODS.items() if s().facts.friction and s().facts.general_kinematics]
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--methods", default=",".join(takes))
    parse.add_argument("--only", default="tower,wall")
    parse.add_argument("--t-end", type=float, default=10.0)
    parse.add_argument("--dt", type=float, default=2e-3)
    parse.add_argument("--detected", action="store_true")
    parse.add_argument("--half-bond", action="store_true")
    given = parse.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':6} {'scheme':26} {'contacts on':>12} {'first second':>13} {'after it':>9} {'us/step':>8}")
    for name in given.only.split(","):
        system = tower(given.detected) if name == "tower" else wall(given.detected, half=given.half_bond)
        for method in given.methods.split(","):
            level, begin = ss.METHODS[method]().facts.contact_level, time.process_time()
            try:
                solution = ss.solve(
                    system, given.t_end, given.dt, method=method, energy_alarm=False, progress=False, save_every=10
                )
            except (ss.ConvergenceError, ss.MethodError) as error:
                print(f"{name:6} {method:26} {level:>12} {str(error)[:120]}", flush=True)
                continue
            spent = 1e6 * (time.process_time() - begin) / solution.stats.steps
            places = np.array([solution[f"brick {k}.{x}"] for k in range(system.n_u // 6) for x in "xyz"])
            first, later = solution.t <= 1.0, solution.t >= 1.0
            moved = [np.ptp(places[:, some], axis=1).max() if some.any() else np.nan for some in (first, later)]
            print(f"{name:6} {method:26} {level:>12} {moved[0]:13.1e} {moved[1]:9.1e} {spent:8.0f}", flush=True)


if __name__ == "__main__":
    main()
