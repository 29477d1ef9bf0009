"""What is compiled is freed with the system, and caches do not grow without limit."""

from __future__ import annotations

import gc
import importlib
import weakref
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import stickslip as ss
from stickslip.engine import sheets
from stickslip.native import kernel


def another(k):
    """A system that no other one has been equal to, so with kernels of its own."""
    ball = ss.benchmarks.bouncing_ball()
    ball.potential_energy(1e-9 * ball.blocks[0].q[0] ** (k + 2))
    return ball


def test_compiled_systems_are_freed(monkeypatch):
    monkeypatch.setattr(sheets, "KEPT", 0)
    ss.solve(another(9), 0.1, 1e-2, progress=False)  # sheets of other tests go
    references = []
    gc.collect()
    before = len(kernel._LOADED.engines)
    for k in range(5):
        ball = another(k)
        ss.solve(ball, 0.1, 1e-2, progress=False)
        references.append(weakref.ref(ball))
    assert len(kernel._LOADED.engines) > before
    del ball
    gc.collect()
    assert all(reference() is None for reference in references)
    assert len(kernel._LOADED.engines) <= before


def test_a_system_that_is_declared_again_is_not_derived_again(monkeypatch):
    """Nor are parts that other systems have: only their numbers are new. The bits are those of the first run."""
    written = []
    monkeypatch.setattr(kernel, "emit", lambda *given, emit=kernel.emit: written.append(given) or emit(*given))
    make = sheets.Stage
    monkeypatch.setattr(sheets, "Stage", lambda *given, **named: written.append(given) or make(*given, **named))
    first, again = (ss.solve(another(77), 0.5, 1e-2, progress=False) for _ in range(2) if not written.append(None))
    assert written.index(None, 1) == len(written) - 1 > 1
    assert first.q.tobytes() == again.q.tobytes()
    for method in (ss.Theta(theta=0.5), ss.Theta(theta=0.75), ss.Theta(theta=0.5)):
        written.append(method)
        ss.solve(another(77), 0.5, 1e-2, method=method, progress=False)
    assert len(written) - 1 == written.index(ss.Theta(theta=0.5), written.index(ss.Theta(theta=0.75)))


def test_of_systems_that_are_gone_little_stays(monkeypatch):
    monkeypatch.setattr(sheets, "KEPT", 200)
    for k in range(5):
        ss.solve(another(k), 0.1, 1e-2, progress=False)
        assert 0 < sum(sheet.part.operations for sheet in sheets._kept.values()) == sheets._size <= 200


def test_a_kernel_outlives_its_function():
    x = ca.SX.sym("x", 2)
    k = kernel.compile_kernel(ca.Function("f", [x], [x[0] * ca.sin(x[1]) + 0.123]))
    gc.collect()
    assert k(np.array([2.0, 1.0])) == pytest.approx(2 * np.sin(1.0) + 0.123)


@pytest.mark.parametrize(
    "options", [{"prox": 1}, {"tol": 1}, {"tol": np.float32(1e-6)}, {"max_iterations": np.int32(20)}]
)
def test_kinds_of_numbers_do_not_recompile(options):
    from stickslip.engine.advance import advance

    ball = ss.benchmarks.bouncing_ball(height=100.0)  # so high that tol = 1 is not refused
    ss.solve(ball, 0.1, 1e-2, progress=False)
    before = len(advance.signatures)
    ss.solve(ball, np.float64(0.1), np.float64(1e-2), progress=False, **options)
    assert len(advance.signatures) == before


def test_lobatto_leaves_no_percussion_in_flight():
    """Percussions of 1e-16 would count as contact."""
    solution = ss.solve(ss.benchmarks.bouncing_ball(e=1.0), 3.0, 1e-2, method=ss.Lobatto(stages=3), progress=False)
    impacts = np.diff(np.sign(solution.u[:, 0])) > 0
    assert 2 <= (solution.P_N[1:, 0] > 0).sum() <= 2 * impacts.sum()
    crank = ss.solve(ss.benchmarks.slider_crank(), 0.02, 1e-4, method="lobatto", progress=False)
    open_ = crank.gap[1:] > 1e-6
    assert open_.any()
    assert not crank.P_N[1:][open_].any()
    assert not crank.P_F[1:][open_].any()


def test_too_many_rows_are_refused_before_the_run():
    with pytest.raises(ss.OptionError, match=r"rows of results need .* GB of memory, .* save_every=\d+"):
        ss.solve(ss.benchmarks.bouncing_ball(), 1e3, 1e-7, progress=False)
    with ss.stepper(ss.benchmarks.bouncing_ball(), 1e-7) as sim, pytest.raises(ss.OptionError, match="rows of results"):
        sim.run(1e3)


@pytest.mark.parametrize("where", ["/proc/meminfo", "/sys/fs/cgroup/memory.max"])
def test_memory_that_is_free_counts(monkeypatch, where):
    """A container may have less than the machine, and other processes may have the rest."""
    record = importlib.import_module("stickslip.solve.record")  # `stickslip.solve` is the function
    told = {"/proc/meminfo": "MemAvailable: 4194304 kB", "/sys/fs/cgroup/memory.current": "0\n"}
    monkeypatch.setattr(record, "_told", lambda path: told.get(path, ""))
    size = dict.fromkeys(record.OBSERVED, 1)
    ready = SimpleNamespace(observing=SimpleNamespace(layout=SimpleNamespace(size=size)))
    run, rows = SimpleNamespace(columns={"q_1": 5}, stages=["one"]), 3_000_000
    record.check_memory(run, ready, rows)
    told[where] = "MemAvailable: 524288 kB" if "info" in where else f"{2**29}\n"
    with pytest.raises(ss.OptionError, match=r"need 1\.01 GB of memory, of which 0\.5 are free"):
        record.check_memory(run, ready, rows)
