"""Memory per body: spheres without contacts, and spheres poured into a box. `python bench/memory.py [bodies]`

Each case runs in a process of its own. Resident is what the process has grown by since before the declaration. What is reserved
counts arrays as a whole, also where nothing has been written yet, and so nothing is resident; Python objects are those of
`tracemalloc`.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from piles import DT, TOL, R, lattice, pile, resident, warm_up

import stickslip as ss
from stickslip.pages import LARGE

POURED = 250  # steps: half of the spheres lie, at two contacts each


def spheres(n: int) -> ss.System:
    """In free fall, at the same places as in a pile."""
    s = ss.System(f"{n} spheres")
    mass, inertia = ss.inertia.sphere(R, density=1000)
    s.add_many(ss.RigidBody("ball", mass=mass, inertia=inertia), position=lattice(n)[0])
    s.add(ss.Gravity([0, 0, -9.81]))
    return s


def stages(what: str, n: int, method: str, steps: int) -> Iterator[tuple[str, Any]]:
    """Declare, prepare, step; what is there after each."""
    make = pile if what == "pile" else spheres
    system = make(n)
    yield "declared", system
    with ss.stepper(system, dt=DT, method=method, tol=TOL) as sim:
        yield "prepared", sim
        sim.step()
        yield "first step", sim
        for _ in range(steps - 1):
            sim.step()
        if steps > 1:
            yield f"{steps} steps", sim


def grown(what: str, n: int, method: str, steps: int) -> dict[str, float]:
    """Bytes that the process has grown by, and contacts at the end."""
    if what == "pile":
        warm_up(method)
    for _ in stages(what, 100, method, 2):
        pass
    gc.collect()
    begin, out = resident(), {}
    for stage, there in stages(what, n, method, steps):
        gc.collect()
        out[stage] = (resident() - begin) / n
        if what == "pile" and stage != "declared":
            out["contacts"] = len(there.contacts) / n
    return out


def counted(what: str, n: int, method: str) -> dict[str, float]:
    """Bytes after the first step by what they are."""
    for _ in stages(what, 100, method, 2):
        pass
    gc.collect()
    tracemalloc.start()
    *_, (_, sim) = stages(what, n, method, 1)
    gc.collect()
    traced = tracemalloc.take_snapshot()
    tracemalloc.stop()
    of_arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    arrays = sum(trace.size for trace in traced.filter_traces([of_arrays]).traces)
    run, out = sim._run, {"Python objects": sum(trace.size for trace in traced.traces) - arrays}
    named = {"fields of the scheme": run.memory}
    named |= {f"scratch: {name}": array for name, array in run.work._asdict().items()}
    named |= {f"tables: {name}": array for name, array in run.tables._asdict().items()}
    if what == "pile":
        named |= {f"contacts: {name}": array for name, array in run._new._asdict().items()}
        named |= {f"sweeps: {name}": array for name, array in run._crowd._room._asdict().items() if "flat" not in name}
    out |= {name: a.nbytes for name, a in sorted(named.items(), key=lambda item: -item[1].nbytes) if a.nbytes > 50 * n}
    out["what is smaller"] = sum(a.nbytes for a in named.values()) - sum(out[name] for name in named if name in out)
    counted_twice = sum(a.nbytes for a in named.values() if a.nbytes < LARGE)  # larger ones are not in its books
    out["other arrays"] = arrays - counted_twice
    return {name: value / n for name, value in out.items()}


def alone(function: Any, *arguments: Any) -> Any:
    """In a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main(n: int) -> None:
    """Print the tables."""
    print(f"{n} spheres, resident kB per body")
    for what, steps in (("free", 1), ("pile", POURED)):
        for method in ("rattle", "moreau"):
            sizes = alone(grown, what, n, method, steps)
            contacts = sizes.pop("contacts", 0.0)
            told = "  ".join(f"{stage} {size / 1024:.1f}" for stage, size in sizes.items())
            print(
                f"{what}, {method:8} {told}" + (f"  ({contacts:.1f} contacts per body)" if contacts else ""), flush=True
            )
    for what in ("free", "pile"):
        print(f"{what}, rattle, after a step: what is reserved, kB per body")
        for name, size in alone(counted, what, n, "rattle").items():
            print(f"    {name:28} {size / 1024:8.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10000)
