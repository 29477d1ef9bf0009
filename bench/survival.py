"""Kill a streamed run, and a sweep, twenty times at random moments; what is resumed must equal what was never interrupted.

`python bench/survival.py [--kills 20] [--seed 0]` takes about a minute. The moments are drawn from the whole length of the
run: a process gets SIGKILL when its file has grown to a random size, and up to 20 ms later, in the middle of whatever it does
then. The next one resumes; the last, which comes to the end, is a program of its own. All arrays are compared bit for bit.
Processes that are killed are forked from this one, which saves the seconds in which Python starts.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import stickslip as ss
from stickslip.solve import outfile
from stickslip.stream import part_of

METHODS = ("rattle", "generalized-alpha", "lobatto", "half-explicit", "moreau-symmetric")
DT, STEPS, RUNS, LATER = 1e-4, 100_000, 400, 0.02  # LATER: seconds, at most, from the size to the kill
GRID = {"e": np.linspace(0.1, 0.9, RUNS)}
ARRAYS = "t q u g g_dot gap gap_dot slip P_g P_gamma P_N P_F kinetic potential".split()
LAST = (
    "from bench.survival import go_on, sweep; import sys; {'go_on': go_on, 'sweep': sweep}[sys.argv[1]](*sys.argv[2:])"
)


def go_on(path: str, method: str) -> None:
    """Begin a run, or continue it."""
    outfile.FLUSH_SECONDS = 0.02
    crank = ss.benchmarks.slider_crank()
    if part_of(path).exists():
        ss.resume(path, crank, progress=False)
    elif not Path(path).exists():
        ss.solve(crank, STEPS * DT, DT, method=method, out=path, progress=False)


def sweep(path: str) -> None:
    """Begin a sweep, or continue it."""
    ss.sweep(ss.benchmarks.bouncing_ball(), 2.0, 1e-4, parameters=GRID, journal=path, workers=2)


def size_of(path: Path) -> int:
    """How much of it there is."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def killed(work: Callable[..., None], arguments: list[str], file: Path, size: float, after: float) -> bool:
    """Do the work in another process, and kill it when the file has this size; whether that happened."""
    process = get_context("fork").Process(target=work, args=arguments)
    process.start()
    while process.is_alive() and size_of(file) < size:
        time.sleep(0.001)
    time.sleep(after)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode == -signal.SIGKILL


def largest(work: Callable[..., None], arguments: list[str], file: Path) -> int:
    """Do the work in another process, undisturbed: how large the file becomes."""
    process = get_context("fork").Process(target=work, args=arguments)
    process.start()
    most = 0
    while process.is_alive():
        most = max(most, size_of(file))
        time.sleep(0.001)
    process.join()
    assert process.exitcode == 0
    return max(most, size_of(file))


def finished(arguments: list[str]) -> None:
    """The last process: a program of its own."""
    folder = Path(__file__).parent.parent
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", LAST, *arguments], check=True, env=os.environ | {"PYTHONPATH": path})


def arrays_of(solution: ss.Solution) -> dict[str, bytes]:
    """Everything that must be equal."""
    out = {name: np.asarray(getattr(solution, name)).tobytes() for name in ARRAYS}
    out |= {f"extra {name}": np.asarray(array).tobytes() for name, array in solution.extra.items()}
    stats = solution.stats
    return out | {"iterations": stats.iterations.tobytes(), "residuals": stats.residuals.tobytes()}


def survive(method: str, kills: int, rng: np.random.Generator, folder: Path) -> tuple[bool, str]:
    """One run, killed and resumed until it is done."""
    path, whole, hits, seen = folder / f"{method}.h5", folder / f"{method}_whole.h5", 0, []
    most = largest(go_on, [str(whole), method], part_of(whole))
    for share in np.sort(rng.uniform(0, 1, kills)):
        hits += killed(go_on, [str(path), method], part_of(path), share * most, float(rng.uniform(0, LATER)))
        seen.append(len(ss.load(part_of(path))) - 1 if size_of(part_of(path)) > 5000 else 0 if not hits else STEPS)
    finished(["go_on", str(path), method])
    one, two = ss.load(path), ss.load(whole)
    equal = arrays_of(one) == arrays_of(two) and one.state is not None and one.state.same(two.state)
    return equal, f"{hits} kills, at {seen[0]} to {seen[-1]} of {STEPS} steps"


def survive_sweep(kills: int, rng: np.random.Generator, folder: Path) -> tuple[bool, str]:
    """A sweep with a journal."""
    path, whole, hits, seen = folder / "journal", folder / "whole", 0, []
    most = largest(sweep, [str(whole)], whole)
    for share in np.sort(rng.uniform(0, 1, kills)):
        hits += killed(sweep, [str(path)], path, share * most, float(rng.uniform(0, LATER)))
        seen.append(max(0, path.read_bytes().count(b"\n") - 1))
    finished(["sweep", str(path)])
    assert path.read_bytes().count(b"\n") == RUNS + 1
    call = (ss.benchmarks.bouncing_ball(), 2.0, 1e-4)
    one, two = (ss.sweep(*call, parameters=GRID, journal=file) for file in (path, whole))
    equal = all(one[name].tobytes() == two[name].tobytes() for name in ("q", "u"))
    return equal, f"{hits} kills, at {seen[0]} to {seen[-1]} of {RUNS} runs"


def main() -> None:
    """Print the table; exit code 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[*METHODS, "sweep"])
    given = parser.parse_args()
    rng, failed = np.random.default_rng(given.seed), False
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only:
            begin = time.monotonic()
            if name == "sweep":
                ss.solve(ss.benchmarks.bouncing_ball(), 1e-2, 1e-3, progress=False)
                equal, said = survive_sweep(given.kills, rng, Path(folder))
            else:
                ss.solve(ss.benchmarks.slider_crank(), 1e-3, 1e-4, method=name, progress=False)
                equal, said = survive(name, given.kills, rng, Path(folder))
            failed = failed or not equal
            verdict = "equal bit for bit" if equal else "DIFFERENT"
            print(f"{name:20} {said}, {verdict} ({time.monotonic() - begin:.0f} s)", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
