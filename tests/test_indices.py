"""Compiled loops take every index as it is; with STICKSLIP_BOUNDS=1 one that is outside of its array is an error."""

import os
import subprocess
import sys
import textwrap

import numba
import numpy as np
import pytest

from stickslip.indices import leave_out_wrapping


def entry(a, i):
    return a[i]


@pytest.mark.parametrize("module, wraps", [("stickslip.engine.made_up", False), ("elsewhere", True)])
def test_only_our_functions_are_compiled_without_wrapping(module, wraps):
    leave_out_wrapping()
    named = type(entry)(entry.__code__, {**entry.__globals__, "__name__": module}, "entry")
    named.__module__, named.__qualname__ = module, "entry"
    compiled = numba.njit(named)
    assert compiled(np.arange(3.0), 1) == 1.0
    (text,) = compiled.inspect_llvm().values()
    assert ("select" in text) == wraps
    if wraps:
        assert compiled(np.arange(3.0), -1) == 2.0


def run(script: str, cache: str | None = None) -> subprocess.CompletedProcess:
    environment = {**os.environ, "STICKSLIP_BOUNDS": "1", **({"STICKSLIP_CACHE_DIR": cache} if cache else {})}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, env=environment, check=False
    )


def test_an_index_outside_of_its_array_is_an_error_when_asked_for(tmp_path):
    (tmp_path / "stickslip_entry.py").write_text("def entry(a, i):\n    return a[i]\n")
    script = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import numpy as np
        from stickslip_entry import entry
        from stickslip.jit import jit_bare
        entry = jit_bare(entry)
        for i in (0, 2, -1, 3):
            try:
                print(entry(np.arange(3.0), i))
            except IndexError:
                print("IndexError")
    """
    result = run(script, str(tmp_path / "cache"))
    assert result.stdout.split() == ["0.0", "2.0", "IndexError", "IndexError"], result.stderr


def test_no_index_of_the_loop_is_outside_of_its_array():
    script = """
        import sys
        import stickslip as ss

        def unraisable(what):
            raise SystemExit(f"an error in a function that is called through its address: {what.exc_value}")

        sys.unraisablehook = unraisable
        for method in ("rattle", "moreau", "generalized-alpha", "lobatto", "half-explicit"):
            ss.solve(ss.benchmarks.slider_crank(), 0.02, 1e-4, method=method)
        ss.solve(ss.benchmarks.heap(count=120), 0.3, 1e-3, method="moreau")
        ss.solve(ss.benchmarks.cannonballs(layers=4), 0.1, 2e-3, method="moreau")
        ss.solve(ss.benchmarks.dominoes(), 0.05, 1e-3)
        print("done")
    """
    result = run(script)
    assert result.stdout.split() == ["done"], result.stderr
    assert not [line for line in result.stderr.splitlines() if "compiling" not in line], result.stderr
