"""Spheres poured into a box, by rattle and moreau: CPU time per step, penetration, memory; against a prototype and MuJoCo.

    python bench/piles.py [100:1500 1000:600 10000:300]      numbers of spheres and of steps
    python bench/piles.py settled [1000:1500] [rattle] [1e-6]    a pile that comes to rest, by a method and to a tolerance

The prototype (STICKSLIP_PROTOTYPE or ../shared/prototype, many_contacts/pile_prototype.py) and MuJoCo run in the same process,
where they are at hand. The prototype accepts solves that hit their cap, and the table says how many; here they go to the robust
solver, and the second ratio is without its time. Nothing is compiled while time is taken, as in the prototype.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from stickslip.engine.newton import load_wanted

R, MU, DT, TOL = 0.05, 0.3, 1e-3, 1e-6
PART = 100  # steps of a pile that comes to rest
PATIENCE = 60.0  # CPU seconds for MuJoCo, whose time per step grows faster than the number of contacts
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


def resident() -> float:
    """Bytes of this process that are in memory; nan where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return float("nan")


def warm_up(method: str) -> None:
    """Compile, or load, everything that a pile needs: sweeps, patches and the robust solver too."""
    with ss.stepper(pile(100), dt=DT, method=method, tol=TOL) as sim:
        sim.step(150)
        load_wanted(sim._run.tables, sim._run.work)
        for solver in ("newton", "robust"):
            ss.nonsmooth.solve(sim.problem(), solver=solver, tol=1e-6)


def ours(n: int, steps: int, method: str) -> dict[str, Any]:
    """CPU seconds per step and what came out; the declaration and the first step are not counted among the steps."""
    warm_up(method)
    empty, begin = resident(), time.process_time()
    system = pile(n)
    declared = time.process_time() - begin
    lowest = 0.0
    with ss.stepper(system, dt=DT, method=method, tol=TOL, on_failure="subdivide") as sim:
        sim.step()
        seconds = 0.0
        for _ in range(steps - 1):
            begin = time.process_time()
            sim.step()
            seconds += (time.process_time() - begin) / (steps - 1)
            lowest = min(lowest, float(sim.contacts.gap.min(initial=0.0)))
        contacts = len(sim.contacts)
        crowds = [crowd for crowd in (*sim._run._past_crowds, sim._run._crowd) if crowd is not None]
        robust = sum(crowd.seconds_after_cap for crowd in crowds) / (steps - 1)
        kilobytes = (resident() - empty) / n / 1024
        return {
            "ms": 1e3 * seconds,
            "robust": 1e3 * robust,
            "low": lowest / R,
            "declared": declared,
            "memory": kilobytes,
            "solved": sim.solved_by,
            "contacts": contacts,
            "sweeps": sum(crowd.sweeps for crowd in crowds) / steps,
        }


def settled(n: int, steps: int, method: str, tol: float) -> None:
    """Print what parts of a run cost, how much still moves, and what solved the stages."""
    warm_up(method)
    print(
        f"{'steps':>6} {'ms per step':>12} {'after the cap':>14} {'longest':>8} {'closed':>7} {'energy/mgR':>11} "
        f"{'lowest gap/R':>13}  solved by"
    )
    with ss.stepper(pile(n), dt=DT, method=method, tol=tol, on_failure="subdivide") as sim:
        before: dict[str, int] = {}
        spent = 0.0
        for first in range(0, steps, PART):
            part, total, longest, lowest = min(PART, steps - first), 0.0, 0.0, 0.0
            for _ in range(part):
                begin = time.process_time()
                sim.step()
                one = time.process_time() - begin
                total, longest = total + one, max(longest, one)
                lowest = min(lowest, float(sim.contacts.gap.min(initial=0.0)))
            crowds = [crowd for crowd in (*sim._run._past_crowds, sim._run._crowd) if crowd is not None]
            after = sum(crowd.seconds_after_cap for crowd in crowds)
            now = sim.solved_by
            by = {name: count - before.get(name, 0) for name, count in now.items() if count > before.get(name, 0)}
            closed = np.count_nonzero(sim.contacts.P_N > 0.0)
            print(
                f"{first + part:6d} {1e3 * total / part:12.1f} {1e3 * (after - spent) / part:14.1f} {longest:7.1f}s "
                f"{closed:7d} {energy(sim.u):11.1e} {lowest / R:13.1e}  {by}",
                flush=True,
            )
            before, spent = now, after


def energy(u: np.ndarray) -> float:
    """Kinetic energy per sphere, by its weight times R."""
    v, w = u.reshape(-1, 6)[:, :3], u.reshape(-1, 6)[:, 3:]
    return float((0.5 * v**2 + 0.2 * (R * w) ** 2).sum() / len(v) / (9.81 * R))


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
    done = 0
    while done < steps and time.process_time() - begin < PATIENCE:
        mujoco.mj_step(model, data)
        lowest = min(lowest, float(data.contact.dist.min(initial=0.0)))
        done += 1
    return {"ms": 1e3 * (time.process_time() - begin) / done, "low": lowest / R, "steps": done}


def main(sizes: list[tuple[int, int]]) -> None:
    """Print the table."""
    print(f"{'spheres in a box':40} {'steps':>6} {'ms per step':>12} {'ratio':>7} {'lowest gap/R':>13}")
    for n, steps in sizes:
        reference = prototype(n, steps)
        unit = reference["ms"] if reference else float("nan")
        if reference is None:
            print("the prototype is not at hand (../shared/prototype or STICKSLIP_PROTOTYPE): no ratios")
        else:
            print(
                line(f"{n:6d}, prototype ({reference['capped']} solves above tol)", steps, unit, unit, reference["low"])
            )
        for method in ("rattle", "moreau"):
            own = ours(n, steps, method)
            print(line(f"{n:6d}, {method}", steps, own["ms"], unit, own["low"]))
            if own["robust"]:
                print(line(f"{'':8}without the robust solver", steps, own["ms"] - own["robust"], unit, own["low"]))
            # of few bodies the process grows by other things more
            memory = f", {own['memory']:.1f} kB per body" if n >= 1000 else ""
            print(
                f"        declared in {own['declared']:.2f} s{memory}; {own['contacts']} contacts at the end, "
                f"{own['sweeps']:.0f} sweeps per step; {own['solved']}",
                flush=True,
            )
        other = mujoco(n, steps)
        if other is not None:
            same = unit if other["steps"] == steps else float("nan")  # fewer steps are easier ones
            print(line(f"{n:6d}, MuJoCo", other["steps"], other["ms"], same, other["low"]), flush=True)


def line(what: str, steps: int, ms: float, unit: float, low: float) -> str:
    """A row of the table."""
    return f"{what:40} {steps:6d} {ms:12.2f} {ms / unit:7.2f} {low:13.1e}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["settled"]:
        given = sys.argv[2:]
        counts = [each for each in given if ":" in each] or ["1000:1500"]
        (to,) = [float(each) for each in given if each[0].isdigit() and ":" not in each] or [TOL]
        for text in counts:
            for method in [each for each in given if each[0].isalpha()] or ["rattle", "moreau"]:
                n, steps = map(int, text.split(":"))
                print(f"{n} spheres, {method}, tol = {to}")
                settled(n, steps, method, to)
        sys.exit()
    chosen = [tuple(map(int, text.split(":"))) for text in sys.argv[1:]] or [(100, 1500), (1000, 600), (10000, 300)]
    main(chosen)  # type: ignore[arg-type]
