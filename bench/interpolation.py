"""What a look-up in a table costs: time per call of a compiled kernel, for random places.

python bench/interpolation.py
"""

from __future__ import annotations

from time import perf_counter

import casadi as ca
import numpy as np

import stickslip as ss
from stickslip.engine.rows import along
from stickslip.native.kernel import compile_kernel


def main() -> None:
    """Print one line per size and kind."""
    rng = np.random.default_rng(0)
    places, out = rng.uniform(0, 1, 500_000), np.empty(500_000)
    for rows in (20, 200, 2000, 20_000):
        for kind in ("linear", "cubic"):
            x = ca.SX.sym("x")
            table = ss.interpolate(np.linspace(0, 1, rows), rng.standard_normal(rows), kind)
            kernel = compile_kernel(ca.Function("f", [x], [table(x)]))
            along(kernel.address, 1, 1, places, out)
            start = perf_counter()
            along(kernel.address, 1, 1, places, out)
            print(f"{rows:6d} rows, {kind:6s}: {1e9 * (perf_counter() - start) / len(places):6.0f} ns per call")


if __name__ == "__main__":
    main()
