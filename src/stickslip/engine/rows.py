"""The compiled loop that evaluates one kernel on many rows."""

from __future__ import annotations

from stickslip.jit import jit
from stickslip.native.call import call_kernel


@jit
def along(address, n_in, n_out, rows, out):
    """Call the kernel once for each row; `rows` and `out` are flat."""
    for k in range(out.size // max(n_out, 1)):
        call_kernel(address, rows, k * n_in, out, k * n_out)
