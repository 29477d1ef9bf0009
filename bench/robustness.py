"""Scheme x mechanism: steps, failures, steps that needed more than Newton's method, milliseconds per step.

python bench/robustness.py [--only TEXT] [--methods NAMES] [--seeds 0,1] [--dt 2e-3] [--share 1.0] [--tol 1e-8] [--log FILE]
`--only stack` runs the cases whose names contain "stack" (several texts, separated by commas, must all occur), `--share 0.1`
a tenth of each run. What `--log` names gets a line for each run, and runs that it already has are not repeated: a long list
can be done in pieces. The table at the end, failures / runs of each scheme and family, is that of the whole log;
`--table` prints it and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from hard_cases import cases

import stickslip as ss

Entry = dict[str, Any]  # one run: family, name, method, dt, share, steps, solved_by, ms, failure


def methods() -> list[str]:
    """Every scheme with friction that takes steps."""
    return [n for n, s in ss.METHODS.items() if s().facts.friction and s.compile is ss.Scheme.compile]


def family(name: str) -> str:
    """What a case is one of."""
    return re.sub(r" (n=.*|\d+|at rest|walking)$", "", name)


def run(system: ss.System, name: str, method: str, t_end: float, given: argparse.Namespace) -> Entry:
    """One run, and how it went."""
    about = {"family": family(name), "name": name, "method": method, "dt": given.dt, "share": given.share}
    steps, begin, failure = max(1, round(given.share * t_end / given.dt)), time.process_time(), ""
    try:
        solution = ss.solve(system, steps * given.dt, given.dt, method=method, tol=given.tol, progress=False)
    except ss.ConvergenceError as error:
        solution, failure = error.solution, f"t = {error.time:g}: {error}"
    except ss.MethodError as error:
        return about | {"refused": str(error), "failure": ""}
    stats, took = solution.stats, time.process_time() - begin
    result = {"steps": len(stats.iterations), "solved_by": dict(stats.solved_by), "ms": 1e3 * stats.time_per_step}
    return about | result | {"seconds": took, "failure": failure}


def table(entries: list[Entry]) -> str:
    """Failures / runs."""
    families = list(dict.fromkeys(e["family"] for e in entries))
    lines = [" ".join([f"{'failures / runs':24}", *[f"{f:>12}" for f in families]])]
    for method in dict.fromkeys(e["method"] for e in entries):
        cells = []
        for each in families:
            runs = [e for e in entries if (e["family"], e["method"]) == (each, method)]
            done = [bool(e["failure"]) for e in runs if "refused" not in e]
            cells.append(f"{f'{sum(done)} / {len(done)}' if done else 'refused' if runs else '-':>12}")
        lines.append(" ".join([f"{method:24}", *cells]))
    return "\n".join(lines)


def main() -> int:
    """Print a line for each run, then the table; 1 if one failed."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--only", default="")
    parse.add_argument("--methods", default=",".join(methods()))
    parse.add_argument("--seeds", default="")
    parse.add_argument("--dt", type=float, default=2e-3)
    parse.add_argument("--share", type=float, default=1.0)
    parse.add_argument("--tol", type=float, default=1e-8)
    parse.add_argument("--log", type=Path)
    parse.add_argument("--table", action="store_true")
    given = parse.parse_args()
    old = given.log.read_text().splitlines() if given.log and given.log.exists() else []
    entries: list[Entry] = [json.loads(line) for line in old]
    known = {(e["name"], e["method"], e["dt"], e["share"]) for e in entries}
    warnings.simplefilter("ignore")
    if not given.table:
        print(f"{'mechanism':32} {'scheme':22} {'steps':>6} {'other':>6} {'ms/step':>8}  result")
    for name, case in cases().items():
        seed = re.search(r"seed=(\d+)", name)
        if given.table or not all(text in name for text in given.only.split(",")):
            continue
        if given.seeds and seed and seed[1] not in given.seeds.split(","):
            continue
        system = None
        for method in given.methods.split(","):
            if (name, method, given.dt, given.share) in known:
                continue
            system = system or case.build()
            entry = run(system, name, method, case.t_end, given)
            entries.append(entry)
            if given.log:
                with given.log.open("a") as log:
                    log.write(json.dumps(entry) + "\n")
            if "refused" in entry:
                print(f"{name:32} {method:22} refused: {entry['refused']}", flush=True)
                continue
            other = sum(v for k, v in entry["solved_by"].items() if k not in ("newton", "newton from zero"))
            result = f"FAILED at {entry['failure'][:160]}" if entry["failure"] else "ok"
            numbers = f"{entry['steps']:6d} {other:6d} {entry['ms']:8.2f}"
            print(f"{name:32} {method:22} {numbers}  {result} [{entry['seconds']:.0f} s]", flush=True)
    print(table(entries))
    return int(any(e["failure"] for e in entries))


if __name__ == "__main__":
    sys.exit(main())
