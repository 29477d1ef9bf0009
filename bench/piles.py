"""Spheres poured into a box, by rattle and moreau: CPU time per step, penetration, memory; against a prototype and MuJoCo.

    python bench/piles.py [100:1500 1000:300 10000:30]      numbers of spheres and of steps

The prototype (STICKSLIP_PROTOTYPE or ../shared/prototype, many_contacts/pile_prototype.py) and MuJoCo run in the same process,
where they are at hand. The prototype accepts solves that hit their cap; here they go to the robust solver.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss

R, MU, DT, TOL = 0.05, 0.3, 1e-3, 1e-6
LATTICES = {100: (5, 4), 1000: (10, 10), 10000: (22, 21)}


def lattice(n: int, seed: int = 0) -> tuple[np.ndarray, float]:
    """Centres of n spheres, slightly out of order, and the width of the box; as in the prototype."""
    nx, nz = LATTICES[n]
    places = np.array([(i, j, k) for k in range(nz) for j in range(nx) for i in range(nx)][:n], float) * 2.2 * R
    places[:, :2] -= (nx - 1) * 1.1 * R
    places[:, 2] += 1.2 * R
    return places + np.random.default_rng(seed).uniform(-0.08 * R, 0.08 * R, places.shape), nx * 2.2 * R + 0.2 * R


def pile(n: int) -> ss.System:
    """The system."""
    places, width = lattice(n)
    s = ss.System(f"{n} spheres in a box")
    mass, inertia = ss.inertia.sphere(R, density=1000)
    balls = s.add_many(ss.RigidBody("ball", mass=mass, inertia=inertia), position=places)
    s.add(ss.Gravity([0, 0, -9.81]))
    sides = [([-x * width / 2, -y * width / 2, 0], [x, y, 0]) for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    walls = [ss.Plane(point, normal) for point, normal in [([0, 0, 0], [0, 0, 1]), *sides]]
    s.add(ss.Collisions("pile", [*[ss.Sphere(ball.point(), R) for ball in balls], *walls], friction=MU))
    return s


def ours(n: int, steps: int, method: str) -> dict[str, Any]:
    """CPU seconds per step and what came out, without the time of the first step, which compiles."""
    begin = time.process_time()
    system = pile(n)
    declared = time.process_time() - begin
    lowest = 0.0
    with ss.stepper(system, dt=DT, method=method, tol=TOL) as sim:
        sim.step()
        begin = time.process_time()
        for _ in range(steps - 1):
            sim.step()
            lowest = min(lowest, float(sim.contacts.gap.min(initial=0.0)))
        seconds = (time.process_time() - begin) / (steps - 1)
        solved, run = sim.solved_by, sim._run
        used = (run.memory.nbytes + sum(array.nbytes for array in (*run.work, *run.tables))) / n
    return {"ms": 1e3 * seconds, "low": lowest / R, "declared": declared, "memory": used, "solved": solved}


def prototype(n: int, steps: int) -> dict[str, Any] | None:
    """The prototype, if it is at hand."""
    folder = Path(os.environ.get("STICKSLIP_PROTOTYPE", "../shared/prototype")) / "many_contacts"
    if not (folder / "pile_prototype.py").exists():
        return None
    sys.path.insert(0, str(folder))
    import pile_prototype as p

    p.run(100, 3)
    log = p.run(n, steps, tol=TOL)[2]
    capped = int((log[:, 4] > TOL).sum() + (log[:, 5] > TOL).sum())
    return {"ms": float(log[1:, 0].mean()), "low": float(log[:, 3].min()), "capped": capped}


def mujoco(n: int, steps: int) -> dict[str, Any] | None:
    """MuJoCo, if it is installed."""
    try:
        import mujoco
    except ImportError:
        return None
    places, width = lattice(n)
    half = width / 2
    walls = [(0, 0, "1 0 0 0"), (-half, 0, "0.7071 0 0.7071 0"), (half, 0, "0.7071 0 -0.7071 0")]
    walls += [(0, -half, "0.7071 -0.7071 0 0"), (0, half, "0.7071 0.7071 0 0")]
    planes = "".join(f'<geom type="plane" size="9 9 1" pos="{x} {y} 0" quat="{turn}"/>' for x, y, turn in walls)
    balls = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="sphere" size="{R}" density="1000"/></body>'
        for x, y, z in places
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}" cone="elliptic"/><size memory="4G"/><default><geom friction="{MU} 0 0"/></default>'
        f"<worldbody>{planes}{balls}</worldbody></mujoco>"
    )
    data, lowest = mujoco.MjData(model), 0.0
    begin = time.process_time()
    for _ in range(steps):
        mujoco.mj_step(model, data)
        lowest = min(lowest, float(data.contact.dist.min(initial=0.0)))
    return {"ms": 1e3 * (time.process_time() - begin) / steps, "low": lowest / R}


def main(sizes: list[tuple[int, int]]) -> None:
    """Print the table."""
    print(f"{'spheres in a box':36} {'steps':>6} {'ms per step':>12} {'ratio':>7} {'lowest gap/R':>13}")
    for n, steps in sizes:
        reference = prototype(n, steps)
        if reference is None:
            print("the prototype is not at hand (../shared/prototype or STICKSLIP_PROTOTYPE): no ratios")
        else:
            print(f"{n:6d}, prototype ({reference['capped']} solves above tol){'':4} {steps:6d} {reference['ms']:12.2f}"
                  f" {1.0:7.2f} {reference['low']:13.1e}")  # fmt: skip
        for method in ("rattle", "moreau"):
            own = ours(n, steps, method)
            ratio = own["ms"] / reference["ms"] if reference else float("nan")
            print(f"{n:6d}, {method:29} {steps:6d} {own['ms']:12.2f} {ratio:7.2f} {own['low']:13.1e}")
            print(
                f"        declared in {own['declared']:.2f} s, {own['memory'] / 1024:.1f} kB per body; {own['solved']}"
            )
        other = mujoco(n, steps)
        if other is not None:
            ratio = other["ms"] / reference["ms"] if reference else float("nan")
            print(f"{n:6d}, {'MuJoCo':29} {steps:6d} {other['ms']:12.2f} {ratio:7.2f} {other['low']:13.1e}")


if __name__ == "__main__":
    chosen = [tuple(map(int, text.split(":"))) for text in sys.argv[1:]] or [(100, 1500), (1000, 200), (10000, 10)]
    main(chosen)  # type: ignore[arg-type]
