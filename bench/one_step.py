"""Solver x problem: residual and milliseconds (CPU) of one-step problems. The table of docs/one_step.md.

python bench/one_step.py [FCLIB files ...]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from stickslip.nonsmooth import Problem, load_fclib, solve
from stickslip.nonsmooth.examples import brick_wall, tower

SOLVERS = ("auto", "newton", "gauss-seidel", "robust")


def problems(files: list[str]) -> dict[str, Problem]:
    """The rows of the table."""
    found = {path.split("/")[-1].split("-i")[0]: load_fclib(path) for path in files}
    found["wall of 100 bricks"], found["the same, top row 1e6 times as heavy"] = brick_wall(), brick_wall(heavy=1e6)
    for what, tilt, mu in (("rests", 0.02, 0.5), ("slides", 0.02, 0.01), ("topples", 0.1, 0.5)):
        found[f"tower of 20, top x1000, {what}"] = tower(20, tilt=tilt, mu=mu)
    return found


def main() -> None:
    """Print the table in Markdown."""
    print("| problem | contacts | " + " | ".join(SOLVERS) + " |\n| --- |" + " --- |" * (1 + len(SOLVERS)))
    for name, problem in problems(sys.argv[1:]).items():
        cells = []
        for solver in SOLVERS:
            seconds = np.inf
            for _ in range(4):  # the first one may compile
                begin = time.process_time()
                found = solve(problem, solver)
                seconds = min(seconds, time.process_time() - begin)
                if seconds > 1.0:
                    break
            text = f"{1e3 * seconds:.1f} ms" + (f" ({found.solver})" if solver == "auto" else "")
            cells.append(text if found.converged else f"no: {found.residual:.0e}, {text}")
        print(f"| {name} | {problem.n_contacts} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
