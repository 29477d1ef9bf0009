"""Long runs and many runs: memory, time and size of a streamed run of a million steps; sweeps on 1 and 2 cores, and on dask.

`python bench/long_runs.py` prints the numbers. Times are ratios within one run of this program; it needs two free cores.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import stickslip as ss

STEPS, RUNS, STEPS_OF_A_RUN, DT = 1_000_000, 1000, 1000, 1e-4


def stream(folder: str) -> None:
    """In a process of its own, so that its memory is that of this run."""
    crank, path = ss.benchmarks.slider_crank(), Path(folder) / "run.h5"
    ss.solve(crank, 0.01, DT, progress=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begin = time.perf_counter()
    solution = ss.solve(crank, STEPS * DT, DT, out=path, progress=False)
    whole = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    steps = solution.stats.wall_time
    print(f"{STEPS} steps of slider_crank, streamed")
    print(f"  process                 {after:8.0f} MB (before the run {before:.0f})")
    print(f"  run                     {whole:8.2f} s, of which steps {steps:.2f} s")
    print(f"  storing / run           {100 * (whole - steps) / whole:8.1f} %")
    print(f"  file                    {path.stat().st_size / 1e6:8.0f} MB")


def measure(solution: ss.Solution) -> dict[str, float]:
    """The end of a run, and the time of its steps."""
    return {"q": solution.q[-1], "seconds": solution.stats.wall_time}


def sweeps() -> None:
    """One and two threads, and a cluster that loses a worker."""
    crank = ss.benchmarks.slider_crank()
    grid = {"mu": np.linspace(0.0, 0.1, RUNS)}
    call = {"t_end": STEPS_OF_A_RUN * DT, "dt": DT, "parameters": grid, "measure": measure}
    times, own, results = {}, {}, {}  # seconds, those of the steps, what was measured
    for workers in (1, 2, 1, 2):
        begin = time.perf_counter()
        results[workers] = ss.sweep(crank, workers=workers, **call)
        taken = time.perf_counter() - begin
        if taken < times.get(workers, np.inf):
            times[workers], own[workers] = taken, float(results[workers]["seconds"].sum())
    steps = own[1]
    print(f"{RUNS} runs of slider_crank of {STEPS_OF_A_RUN} steps")
    print(f"  1 thread                {times[1]:8.2f} s, of which steps {steps:.2f} s")
    print(f"  per run besides steps   {1e3 * (times[1] - steps) / RUNS:8.3f} ms")
    print(f"  2 threads               {times[2]:8.2f} s: {times[1] / times[2]:.2f} times faster")
    print(f"  equal bit for bit       {results[1]['q'].tobytes() == results[2]['q'].tobytes()}")
    try:
        import distributed
    except ImportError:
        return
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        ss.sweep(crank, executor=client, **(call | {"parameters": {"mu": [0.0, 0.1]}}))  # starts the workers
        begin = time.perf_counter()
        out = ss.sweep(crank, executor=client, **call)
        quiet = time.perf_counter() - begin
        pids = list(client.run(os.getpid).values())
        killer = subprocess.Popen(
            [sys.executable, "-c", f"import os, time; time.sleep({quiet / 2}); os.kill({pids[0]}, 9)"]
        )
        begin = time.perf_counter()
        lost = ss.sweep(crank, executor=client, **call)
        hurt = time.perf_counter() - begin
        killer.wait()
    print(f"  dask, 2 processes       {quiet:8.2f} s, equal: {out['q'].tobytes() == results[1]['q'].tobytes()}")
    print(f"  one of them killed      {hurt:8.2f} s, equal: {lost['q'].tobytes() == results[1]['q'].tobytes()}, "
          f"failed runs: {len(lost.errors)}")  # fmt: skip


def main() -> None:
    """Print all of it."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if len(sys.argv) > 1:
        stream(sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, folder], check=True)
    sweeps()


if __name__ == "__main__":
    main()
