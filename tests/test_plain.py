"""Compiled code in plain Python: the same code, the same numbers, open to a debugger and to coverage."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from plain import CASES

TESTS = Path(__file__).parent


def python() -> list[str]:
    """Python, under coverage where these tests are: its data are combined with theirs."""
    coverage = sys.modules.get("coverage")
    current = coverage.Coverage.current() if coverage is not None else None
    if current is None:
        return [sys.executable]
    data, settings = Path(current.config.data_file).absolute(), TESTS.parent / "pyproject.toml"
    return [sys.executable, "-m", "coverage", "run", "--parallel-mode", f"--data-file={data}", f"--rcfile={settings}"]


@pytest.mark.parametrize("case", CASES)
def test_compiled_code_runs_in_plain_python(case):
    environment = {**os.environ, "STICKSLIP_JIT": "0"}
    program = [*python(), str(TESTS / "plain.py"), case]
    done = subprocess.run(program, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    np.testing.assert_allclose(np.frombuffer(done.stdout), CASES[case](), rtol=1e-10, atol=1e-10)
