"""Ctrl-C in the middle of a step that takes long: the run goes back to the step before, and can be continued bit for bit."""

import os
import signal

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.failure import Failure
from stickslip.engine.run import ProgramRun
from stickslip.patience import look
from stickslip.solve.detecting import DetectingRun
from test_missed import two_boxes

SCENES = {
    "declared": (ss.benchmarks.slider_crank, 0.05, 1e-4, "rattle"),
    "detected": (ss.benchmarks.dominoes, 0.05, 1e-3, "rattle"),
    "on velocities": (ss.benchmarks.dominoes, 0.05, 1e-3, "moreau"),
    "fast": (lambda: two_boxes(20, speed=5.0, spin=20.0), 0.04, 5e-3, "rattle"),
}


@pytest.mark.skipif(os.name == "nt", reason="sends signals to itself")
@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("on_failure", ["raise", "subdivide"])
def test_a_step_that_is_given_up_leaves_the_one_before(scene, on_failure, monkeypatch):
    """Also while it is subdivided: then it is the first half of a step that ends with Ctrl-C."""
    build, t_end, dt, method = SCENES[scene]
    system, how = build(), {"dt": dt, "method": method, "on_failure": on_failure}
    whole = ss.solve(system, t_end=t_end, **how)
    call, calls, last = (
        ProgramRun._call,
        0,
        2 if scene == "declared" else 5,
    )  # one call makes all steps of a chunk, or one

    def long(self, *arguments):
        """A call that ends with Ctrl-C, when it has changed the memory."""
        nonlocal calls
        out, calls = call(self, *arguments), calls + 1
        if calls == last and on_failure == "subdivide":
            return out[0] - 1, 0
        if calls > last and arguments[3:5] != (0, 1):  # the steps of the chunk before the one that failed
            return out
        if calls >= last:
            signal.raise_signal(signal.SIGINT)
            look()
        return out

    monkeypatch.setattr(ProgramRun, "_call", long)
    for run in (ProgramRun, DetectingRun):
        monkeypatch.setattr(
            run, "_describe", lambda self, failed, row: Failure(self.t + dt, "a stage", 1.0, "", "", ())
        )
    with pytest.raises(ss.Interrupted) as stop:
        ss.solve(system, t_end=t_end, **how)
    monkeypatch.undo()
    assert calls == last if on_failure == "raise" else calls > last
    part = stop.value.solution
    assert 1 <= len(part) < len(whole)
    assert np.array_equal(part.q, whole.q[: len(part)])
    if part.contacts is not None:
        assert np.array_equal(part.contacts.step, whole.contacts.step[: len(part.contacts)])
        assert part.contacts.step.max(initial=0) == len(part) - 1
    rest = ss.solve(system, t_end=t_end, start=part, **how)
    assert np.array_equal(rest.q, whole.q[len(part) - 1 :])
    assert np.array_equal(rest.u, whole.u[len(part) - 1 :])
