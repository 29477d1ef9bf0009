"""Scheme x mechanism: steps, failures, steps that needed more than Newton's method, milliseconds per step.

python bench/robustness.py [--only TEXT] [--methods NAMES] [--dt 2e-3] [--share 1.0] [--tol 1e-8]
`--only stack` runs the cases whose names contain "stack" (several texts, separated by commas, must all occur), `--share 0.1`
a tenth of each run.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from hard_cases import cases

import stickslip as ss


def methods() -> list[str]:
    """Every scheme with friction that takes steps."""
    return [n for n, s in ss.METHODS.items() if s().facts.friction and s.compile is ss.Scheme.compile]


def main() -> int:
    """Print a line for each run; 1 if one failed."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--only", default="")
    parse.add_argument("--methods", default=",".join(methods()))
    parse.add_argument("--dt", type=float, default=2e-3)
    parse.add_argument("--share", type=float, default=1.0)
    parse.add_argument("--tol", type=float, default=1e-8)
    given = parse.parse_args()
    failures = 0
    warnings.simplefilter("ignore")
    print(f"{'mechanism':32} {'scheme':22} {'steps':>6} {'other':>6} {'ms/step':>8}  result")
    for name, case in cases().items():
        if not all(text in name for text in given.only.split(",")):
            continue
        system = case.build()
        for method in given.methods.split(","):
            begin, result = time.perf_counter(), "ok"
            try:
                t_end = max(1, round(given.share * case.t_end / given.dt)) * given.dt
                solution = ss.solve(system, t_end, given.dt, method=method, tol=given.tol, progress=False)
            except ss.ConvergenceError as error:
                failures += 1
                solution, result = error.solution, f"FAILED at t = {error.time:g}: {error}"
            except ss.MethodError as error:
                result = f"refused: {error}"
                print(f"{name:32} {method:22} {'-':>6} {'-':>6} {'-':>8}  {result}", flush=True)
                continue
            stats = solution.stats
            other = sum(v for k, v in stats.solved_by.items() if k not in ("newton", "newton from zero"))
            took = time.perf_counter() - begin
            steps = len(stats.iterations)
            per = 1e3 * stats.time_per_step
            print(f"{name:32} {method:22} {steps:6d} {other:6d} {per:8.2f}  {result[:160]} [{took:.0f} s]", flush=True)
    print(f"{failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
