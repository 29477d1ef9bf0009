"""Kill a streamed run, and a sweep, twenty times at random moments; what is resumed must equal what was never interrupted.

`python bench/survival.py [--kills 20] [--seed 0]` takes about ten minutes, most of it to start Python. Every process writes
for a random fraction of a second before it gets SIGKILL; the next one resumes. At the end all arrays are compared bit for bit.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import stickslip as ss
from stickslip.stream import part_of

METHODS = ("rattle", "generalized-alpha", "lobatto", "half-explicit", "moreau-symmetric")
DT, STEPS, LONGEST = 1e-4, 100_000, 0.3  # of a run; seconds until a process is killed
LONGEST_SWEEP = 0.6

RUN = """
import sys, stickslip as ss
from pathlib import Path
from stickslip.solve import outfile
from stickslip.stream import part_of
outfile.FLUSH_SECONDS = 0.02
path, method = Path(sys.argv[1]), sys.argv[2]
crank = ss.benchmarks.slider_crank()
ss.solve(crank, 1e-3, 1e-4, method=method, progress=False)
print("ready", flush=True)
if part_of(path).exists():
    ss.resume(path, crank, progress=False)
elif not path.exists():
    ss.solve(crank, float(sys.argv[3]), float(sys.argv[4]), method=method, out=path, progress=False)
"""

SWEEP = """
import sys, stickslip as ss, numpy as np
ball = ss.benchmarks.bouncing_ball()
ss.solve(ball, 1e-2, 1e-3, progress=False)
print("ready", flush=True)
ss.sweep(ball, 2.0, 1e-4, parameters={"e": np.linspace(0.1, 0.9, 400)}, journal=sys.argv[1], workers=2)
"""


def killed(program: str, arguments: list[str], after: float | None) -> bool:
    """Start a process and kill it `after` so many seconds of work, or never; whether it came to its end."""
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
    process.stdout.close()
    return process.wait() == 0


def arrays_of(solution: ss.Solution) -> dict[str, bytes]:
    """Everything that must be equal."""
    names = (
        "t",
        "q",
        "u",
        "g",
        "g_dot",
        "gap",
        "gap_dot",
        "slip",
        "P_g",
        "P_gamma",
        "P_N",
        "P_F",
        "kinetic",
        "potential",
    )
    out = {name: np.asarray(getattr(solution, name)).tobytes() for name in names}
    out |= {f"extra {name}": np.asarray(array).tobytes() for name, array in solution.extra.items()}
    stats = solution.stats
    return out | {"iterations": stats.iterations.tobytes(), "residuals": stats.residuals.tobytes()}


def survive(method: str, kills: int, rng: np.random.Generator, folder: Path) -> str:
    """One run, killed and resumed until it is done."""
    path, hits, whole = folder / f"{method}.h5", 0, folder / f"{method}_whole.h5"
    while hits < kills and not path.exists():
        hits += not killed(RUN, [str(path), method, str(STEPS * DT), str(DT)], float(rng.uniform(0, LONGEST)))
    there = len(ss.load(part_of(path))) - 1 if part_of(path).exists() else STEPS
    assert killed(RUN, [str(path), method, str(STEPS * DT), str(DT)], None)
    once = ss.solve(ss.benchmarks.slider_crank(), STEPS * DT, DT, method=method, out=whole, progress=False)
    mine, theirs = arrays_of(ss.load(path)), arrays_of(once)
    equal = mine == theirs and ss.load(path).state.same(once.state)
    return f"{hits} kills, {there} of {STEPS} steps by then, {'equal bit for bit' if equal else 'DIFFERENT'}"


def survive_sweep(kills: int, rng: np.random.Generator, folder: Path) -> str:
    """A sweep with a journal."""
    path, hits = folder / "journal", 0
    for _ in range(kills):
        hits += not killed(SWEEP, [str(path)], float(rng.uniform(0, LONGEST_SWEEP)))
    lines = path.read_bytes().count(b"\n") - 1 if path.exists() else 0
    ball, grid = ss.benchmarks.bouncing_ball(), {"e": np.linspace(0.1, 0.9, 400)}
    again = ss.sweep(ball, 2.0, 1e-4, parameters=grid, journal=path, workers=2)
    once = ss.sweep(ball, 2.0, 1e-4, parameters=grid, workers=2)
    equal = all(again[name].tobytes() == once[name].tobytes() for name in ("q", "u"))
    return f"{hits} kills, {lines} of 400 runs by then, {'equal bit for bit' if equal else 'DIFFERENT'}"


def main() -> None:
    """Print the table; exit code 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    given = parser.parse_args()
    rng, failed = np.random.default_rng(given.seed), False
    with tempfile.TemporaryDirectory() as folder:
        for name in [*given.methods, "sweep"]:
            begin = time.monotonic()
            said = (
                survive_sweep(given.kills, rng, Path(folder))
                if name == "sweep"
                else survive(name, given.kills, rng, Path(folder))
            )
            failed = failed or "DIFFERENT" in said
            print(f"{name:20} {said} ({time.monotonic() - begin:.0f} s)", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
