"""The time loop in plain Python: the same code, the same numbers, open to a debugger and to coverage."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import stickslip as ss

PROGRAM = """
import sys
import numpy as np
import stickslip as ss
from stickslip.engine.advance import advance
assert type(advance).__name__ == "function"
solution = ss.solve(ss.benchmarks.{system}, {t_end}, {dt}, method="{method}", progress=False)
sys.stdout.buffer.write(np.concatenate([solution.q, solution.u, solution.P_N], axis=1).tobytes())
"""


@pytest.mark.parametrize(
    "system, t_end, dt, method",
    [("slider_crank()", 2e-3, 4e-4, "rattle"), ("bouncing_ball()", 0.6, 0.03, "generalized-alpha:solver=subproblems")],
)
def test_the_loop_runs_in_plain_python(system, t_end, dt, method):
    program = PROGRAM.format(system=system, t_end=t_end, dt=dt, method=method)
    environment = {**os.environ, "STICKSLIP_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    compiled = ss.solve(eval(f"ss.benchmarks.{system}"), t_end, dt, method=method, progress=False)
    expected = np.concatenate([compiled.q, compiled.u, compiled.P_N], axis=1)
    np.testing.assert_allclose(np.frombuffer(done.stdout).reshape(expected.shape), expected, rtol=1e-12, atol=1e-12)
