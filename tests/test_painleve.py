"""Painleve's rod: starts from which no acceleration exists, or several do. The long study is bench/painleve.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss

FILE = Path(__file__).parent.parent / "bench" / "painleve.py"
SPEC = importlib.util.spec_from_file_location("painleve", FILE)
bench = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)

SLOW = {"event-driven": 4, "half-explicit-adaptive": 4}
PARADOX = bench.starts(5)[4]  # one tip slides on the floor, and mu = 2.06 is too much for its angle


@pytest.mark.parametrize("method", bench.VARIANTS)
def test_random_starts_end_in_valid_states(method):
    outcome, _ = bench.study(method, SLOW.get(method, 12), seed=1)
    assert set(outcome) <= {"valid", "no acceleration exists"}
    assert outcome["no acceleration exists"] == 0 or method.startswith("generalized-alpha")
    assert outcome["valid"] > 0


def test_no_acceleration_is_called_that():
    with pytest.raises(ss.ConvergenceError, match="no acceleration exists here.*Painlevé.*proved by enumeration"):
        ss.solve(bench.rod(), 0.1, 1e-3, method="generalized-alpha", **_start())


def test_event_driven_passes_by_an_impact_without_collision():
    """The slip stops at once, the tip stays on the floor, energy is lost; rattle gets there in its first step."""
    event = ss.solve(bench.rod(), 0.1, 1e-2, method="event-driven", **_start())
    rattle = ss.solve(bench.rod(), 0.1, 1e-5, method="rattle", **_start())
    assert np.abs(event.slip[0, 0]) > 1
    energy = event.kinetic + event.potential
    assert energy[1] < 0.9 * energy[0]
    assert np.diff(energy).max() < 1e-9
    assert event.q[-1] == pytest.approx(rattle.q[-1], abs=1e-3)


def _start() -> dict:
    return {"q0": PARADOX.q, "u0": PARADOX.u, "parameters": {"mu": PARADOX.mu}, "progress": False}
