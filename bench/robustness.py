"""Scheme x mechanism: steps, failures, steps that needed more than Newton's method, milliseconds of CPU per step.

python bench/robustness.py [--only TEXT] [--methods NAMES] [--seeds 0,1] [--dt 2e-3,2e-4] [--tol 1e-8] [--patience 600]
                           [--log FILE] [--again] [--errors FOLDER] [--table]
`--only stack` runs the cases whose names contain "stack" (several texts, separated by commas, must all occur). With
dt = 1e-3 or below stacks run until their impacts are over (`hard_cases.Case.fine`). What `--log` names gets a line for each
run, with the commit of the sources, and runs that it already has are not repeated: a long list can be done in pieces. `--again`
repeats those that failed or were stopped; of two lines for one run the later counts. All mechanisms and schemes get their
first start with the first dt, then further starts, then come the other dt: what is wrong everywhere shows early. A run that
takes more than `--patience` seconds of CPU is stopped, and counts as stopped.
`--errors` keeps the exceptions, pickled. The tables at the end, failures / runs and milliseconds per step of each scheme and
family, are those of the whole log; `--table` prints them and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import stickslip as ss
from hard_cases import Case, cases
from stickslip.engine.newton import load_wanted

Entry = dict[
    str, Any
]  # one run: family, name, method, dt, t_end, steps, solved_by, ms, seconds, failure, stopped, commit
FINE = 1e-3  # dt at and below which a case may run for a shorter time


def methods() -> list[str]:
    """Every scheme with friction that takes steps."""
    return [n for n, s in ss.METHODS.items() if s().facts.friction and s.compile is ss.Scheme.compile]


def family(name: str) -> str:
    """What a case is one of."""
    return re.sub(r" (e=.*|at rest|walking)$", "", name)


def commit() -> str:
    """The sources that are running."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()


def run(name: str, case: Case, method: str, dt: float, given: argparse.Namespace) -> Entry:
    """One run, and how it went."""
    system, options = case.build(), case.given() | {"method": method, "tol": given.tol, "progress": False}
    steps = round((case.fine if case.fine and dt <= FINE else case.t_end) / dt)
    about = {"family": family(name), "name": name, "method": method, "dt": dt, "t_end": steps * dt}
    failure = ""
    signal.setitimer(signal.ITIMER_PROF, given.patience)
    try:
        ss.solve(system, dt, dt, **options)  # what is compiled once is not timed
        begin = time.process_time()
        solution = ss.solve(system, steps * dt, dt, **options)
    except ss.ConvergenceError as error:
        solution, failure = error.solution, f"t = {error.time:g}: {error}"
        if given.errors:
            given.errors.mkdir(parents=True, exist_ok=True)
            (given.errors / f"{name} {method} {dt:g}.pickle").write_bytes(pickle.dumps(error))
    except ss.MethodError as error:
        return about | {"refused": str(error), "failure": ""}
    except ss.Interrupted as stop:
        if signal.getitimer(signal.ITIMER_PROF)[0] > 0:
            raise
        solution = stop.solution
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    stats, took = solution.stats, time.process_time() - begin
    result = {"steps": len(stats.iterations), "solved_by": dict(stats.solved_by)}
    result["ms"] = 1e3 * took / max(1, result["steps"])
    stopped = not failure and bool(solution.t[-1] < (steps - 0.5) * dt)
    return about | result | {"seconds": took, "failure": failure, "stopped": stopped}


def table(entries: list[Entry]) -> str:
    """Failures / runs, the number of runs that were stopped in brackets, and milliseconds per step."""
    families, rows = list(dict.fromkeys(e["family"] for e in entries)), []
    names = [n for n in methods() if any(e["method"] == n for e in entries)]
    for dt in sorted({e["dt"] for e in entries}, reverse=True):
        rows += [
            f"dt = {dt:g}",
            "",
            "| " + " | ".join(["failures / runs", *names]) + " |",
            "| --- " * (1 + len(names)) + "|",
        ]
        for each in families:
            cells = []
            for method in names:
                runs = [e for e in entries if (e["family"], e["method"], e["dt"]) == (each, method, dt)]
                done = [e for e in runs if "refused" not in e]
                failed, late = sum(bool(e["failure"]) for e in done), sum(e["stopped"] for e in done)
                ms = sum(e["steps"] * e["ms"] for e in done) / max(1, sum(e["steps"] for e in done))
                count = f"{failed} / {len(done)}{f' ({late})' * bool(late)}, {ms:.2g} ms"
                cells.append(count if done else "refused" if runs else "-")
            rows.append("| " + " | ".join([each, *cells]) + " |")
        rows.append("")
    return "\n".join(rows)


def main() -> int:
    """Print a line for each run, then the tables; 1 if one failed."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--only", default="")
    parse.add_argument("--methods", default=",".join(methods()))
    parse.add_argument("--seeds", default="")
    parse.add_argument("--dt", default="2e-3,2e-4")
    parse.add_argument("--tol", type=float, default=1e-8)
    parse.add_argument("--patience", type=float, default=600.0)
    parse.add_argument("--log", type=Path)
    parse.add_argument("--again", action="store_true")
    parse.add_argument("--errors", type=Path)
    parse.add_argument("--table", action="store_true")
    given = parse.parse_args()
    old = given.log.read_text().splitlines() if given.log and given.log.exists() else []
    known: dict[tuple[str, str, float], Entry] = {}
    for entry in map(json.loads, old):
        known[entry["name"], entry["method"], entry["dt"]] = entry
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    if given.table:
        print(table(list(known.values())))
        return 0
    sources = commit()
    with ss.stepper(ss.benchmarks.pendulum(), dt=1e-3) as sim:
        load_wanted(sim._run.tables, sim._run.work)  # loaded once for all runs, so that none of them is timed with it
    print(f"{'mechanism':32} {'scheme':22} {'dt':>6} {'steps':>6} {'other':>6} {'ms/step':>8}  result")
    by_seed: dict[str, list[tuple[str, Case]]] = {}
    for name, case in cases().items():
        seed = re.search(r"seed=(\d+)", name)
        if not all(text in name for text in given.only.split(",")):
            continue
        if given.seeds and seed and seed[1] not in given.seeds.split(","):
            continue
        by_seed.setdefault(seed[1] if seed else "0", []).append((name, case))
    for dt in map(float, given.dt.split(",")):
        for several in by_seed.values():
            for name, case in several:
                for method in given.methods.split(","):
                    before = known.get((name, method, dt))
                    if before and not (given.again and (before["failure"] or before.get("stopped"))):
                        continue
                    entry = run(name, case, method, dt, given) | {"commit": sources}
                    known[name, method, dt] = entry
                    if given.log:
                        with given.log.open("a") as log:
                            log.write(json.dumps(entry) + "\n")
                    _print(entry)
    print(table(list(known.values())))
    return int(any(e["failure"] for e in known.values()))


def _print(entry: Entry) -> None:
    """A line for a run."""
    what = f"{entry['name']:32} {entry['method']:22} {entry['dt']:6g}"
    if "refused" in entry:
        print(f"{what} refused: {entry['refused']}", flush=True)
        return
    other = sum(v for k, v in entry["solved_by"].items() if k not in ("newton", "newton from zero"))
    result = f"FAILED at {entry['failure'][:160]}" if entry["failure"] else "stopped" if entry["stopped"] else "ok"
    print(f"{what} {entry['steps']:6d} {other:6d} {entry['ms']:8.2f}  {result} [{entry['seconds']:.0f} s]", flush=True)


if __name__ == "__main__":
    sys.exit(main())
