"""A gripper that lifts a block."""

from __future__ import annotations

from stickslip.benchmarks.registry import benchmark
from stickslip.math import cos, pi
from stickslip.model import Box, Collisions, Force, Gravity, Line, Motion, PlanarBody, Prismatic, ground, solid
from stickslip.model.system import System


@benchmark(source="Coulomb", dt=1e-3, t_end=1.0)
def gripper(
    *,
    F: float = 16.0,
    mu: float = 0.5,
    lift: float = 0.15,
    T: float = 1.0,
    edge: float = 0.1,
    density: float = 100.0,
    g: float = 9.81,
) -> System:
    """A gripper takes a block from the floor, lifts it and puts it down again; friction alone holds it.

    Two jaws press with the force F each on a block of mass m = density edge^2. Their carriage moves by lift (1 - cos(2 pi
    t/T))/2: its acceleration is largest at the two ends of the way, a = 2 pi^2 lift/T^2. The block goes with the jaws if 2 mu
    F > m (g + a); else it slips, with the acceleration 2 mu F/m - g of its own, or stays on the floor.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.gripper(), t_end=0.5, dt=1e-3)
    >>> round(float(solution["block.y"][-1] - solution["block.y"][0]), 6)
    0.15
    """
    s = System("gripper")
    s.add(Gravity([0, -g]))
    block = s.add(solid("block", Box(ground.frame([0, edge / 2]), [edge, edge]), density=density))
    carriage = s.add(PlanarBody("carriage", mass=1.0, inertia=1e-2, position=[0, 2 * edge]))
    column = s.add(Prismatic("column", ground.point(0, 2 * edge), carriage.point(), axis=[0, 1]))
    s.add(Motion("lift", column.displacement, lambda t: s.parameter("lift", lift) * (1 - cos(2 * pi * t / T)) / 2))
    jaws = []
    for name, side in (("left", -1), ("right", 1)):
        at, size = [0.6 * side * edge, 0.6 * edge], [0.2 * edge, 0.6 * edge]
        jaw = s.add(solid(name, Box(ground.frame(at), size), density=density))
        s.add(Prismatic(f"guide {name}", carriage.point(at[0], at[1] - 2 * edge), jaw.point(), axis=[1, 0]))
        s.add(Force(f"press {name}", jaw.point(), [-side * F, 0]))
        jaws.append(jaw)
    s.add(Collisions("contacts", [block, *jaws, Line([0, 0], [0, 1])], friction=mu))
    return s
