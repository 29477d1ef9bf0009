"""Memory per body: spheres without contacts, and spheres poured into a box. `python bench/memory.py [bodies]`

Each case runs in a process of its own. Resident is what the process has grown by since before the declaration; both times what
was freed has gone back to the system, as far as it can (`malloc_trim`): compilation leaves 20 MB behind, which would hide half
of what 10,000 bodies take. Arrays are reserved as a whole, and resident where pages of them were read or written. Python
objects are those of `tracemalloc`.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import multiprocessing
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from piles import DT, TOL, R, lattice, pile, resident, warm_up

POURED = 250  # steps: half of the spheres lie, at two contacts each
SMALL = 40  # bytes per body: arrays that are smaller are counted together
PAGE = mmap.PAGESIZE


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


def held() -> float:
    """Resident bytes without what was freed."""
    gc.collect()
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
    return resident()


def grown(what: str, n: int, method: str, steps: int) -> dict[str, float]:
    """Bytes that the process has grown by, and contacts at the end."""
    if what == "pile":
        warm_up(method)
    for _ in stages(what, 100, method, 2):
        pass
    begin, out = held(), {}
    for stage, there in stages(what, n, method, steps):
        out[stage] = (held() - begin) / n
        if what == "pile" and stage != "declared":
            out["contacts"] = len(there.contacts) / n
    return out


def arrays_of(run: Any) -> dict[str, np.ndarray]:
    """The arrays of a run by name, those that are views of others left out."""
    parts = {"tables": run.tables, "tables of the program": run.program.tables, "scratch": run.work}
    arrays = {"fields of the scheme": run.memory, "last row": run.row, "first row": run.first_row, "places": run.record}
    if run.crowd is not None:
        parts |= {
            "contacts": run.search.new,
            "contacts before": run.search.old,
            "detection": run.search.room,
            "scene": run.search.scene,
        }
        parts |= {"sweeps": run.crowd._room, "neighbours": run.search.neighbours, "rooms": run._homes}
        arrays |= {f"report {k}": rows for k, (_, rows) in enumerate(run.found)}
    for part, record in parts.items():
        arrays |= {f"{part}: {name}": a for name, a in record._asdict().items() if isinstance(a, np.ndarray) and a.size}
    first = {a.ctypes.data: name for name, a in reversed(arrays.items())}
    return {name: arrays[name] for name in first.values()}


def pages(a: np.ndarray) -> float:
    """Bytes of the pages of an array that are in memory; nan where the system does not say."""
    try:
        with Path("/proc/self/pagemap").open("rb") as table:
            first, last = a.ctypes.data // PAGE, -(-(a.ctypes.data + a.nbytes) // PAGE)
            table.seek(8 * first)
            return PAGE * int((np.frombuffer(table.read(8 * (last - first)), np.uint64) >> np.uint64(63)).sum())
    except OSError:
        return float("nan")


def counted(what: str, n: int, method: str, steps: int) -> dict[str, tuple[float, float]]:
    """Bytes of each array at the end, resident and reserved, sorted."""
    *_, (_, sim) = stages(what, n, method, steps)
    found = sorted(((pages(a), a.nbytes, name) for name, a in arrays_of(sim._run).items()), reverse=True)
    out = {name: (there / n, size / n) for there, size, name in found if there > SMALL * n}
    rest = [each for each in found if each[2] not in out]
    return out | {"what is smaller": (sum(x[0] for x in rest) / n, sum(x[1] for x in rest) / n)}


def objects(what: str, n: int, method: str) -> float:
    """Bytes of Python objects after the first step."""
    for _ in stages(what, 100, method, 2):
        pass
    gc.collect()
    tracemalloc.start()
    *_, _there = stages(what, n, method, 1)
    gc.collect()
    traced = tracemalloc.take_snapshot()
    of_arrays = traced.filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
    return float(sum(t.size for t in traced.traces) - sum(t.size for t in of_arrays.traces)) / n


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
    for what, steps in (("free", 1), ("pile", POURED)):
        print(f"{what}, rattle, at the end, kB per body: resident, reserved")
        print(f"    {'Python objects':36} {alone(objects, what, n, 'rattle') / 1024:8.2f}", flush=True)
        for name, sizes in alone(counted, what, n, "rattle", steps).items():
            print(f"    {name:36} " + " ".join(f"{size / 1024:8.2f}" for size in sizes), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10000)
