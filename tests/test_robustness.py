"""Mechanisms that are hard for a contact solver, by every scheme with friction; `bench/robustness.py` runs them for longer."""

from pathlib import Path

import numpy as np
import pytest

import at_rest
import hard_cases as hard
import stickslip as ss

METHODS = [n for n, s in ss.METHODS.items() if s().facts.friction and s.compile is ss.Scheme.compile]


def solved(system: ss.System, t_end: float, method: str, dt: float = 2e-3) -> ss.Solution:
    """A run whose every stage is solved, and by something that is named."""
    solution = ss.solve(system, t_end, dt, method=method, energy_alarm=False, progress=False)
    assert solution.stats.residuals.max() < 1e-8
    return solution


@pytest.mark.parametrize("method", METHODS)
def test_stack_of_boxes_that_bounce(method):
    solution = solved(hard.stack(6, e=0.2, seed=1, space=False), 0.12, method)
    assert solution.gap.min() > -5e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("walking", [False, True])
def test_walker_with_both_feet_on_the_floor(method, walking):
    solution = solved(hard.walker(walking=walking), 0.4, method)
    if not walking:  # the hip rests between the feet
        assert abs(solution.q[:, 1] - solution.q[0, 1]).max() < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_escapement_ticks(method):
    """The wheel is stopped again and again: it turns, but slowly, although its drive never rests."""
    solution = solved(hard.escapement(), 0.5, method)
    assert (solution.P_N.sum(axis=1) > 0).any()


@pytest.mark.parametrize("method", ["rattle", "moreau", "theta"])
def test_stacks_and_heaps_in_space(method):
    solved(hard.stack(6, e=0.5, seed=0, space=True), 0.06, method)
    solved(hard.heap(8), 0.2, method)


def test_the_foot_of_the_walker_touches_down():
    """Generalized-alpha, fine steps: the normal acceleration of the foot that slips is felt by no other row."""
    solution = solved(hard.walker(walking=True), 0.16, "generalized-alpha", dt=2e-4)
    assert solution.gap.min() > -1e-8


def test_stages_that_contradict_each_other_in_a_jam_are_taken_as_two():
    """Friction at inner stages of lobatto, and the positions at the end: the step is one with an impact, and that of rattle."""
    heap = hard.heap(12)
    state = np.loadtxt(Path(__file__).parent / "states" / "jam_of_twelve_spheres.txt")
    q, u = np.split(state, [heap.n_q])
    turns = q.reshape(12, 7)[:, 3:]
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    start = {"q0": q, "u0": u, "initial_tol": 1e-6}
    runs = {}
    for method in ("lobatto", "rattle"):
        with pytest.warns(ss.ImpactWarning):
            runs[method] = ss.solve(heap, t_end=3 * 2e-4, dt=2e-4, method=method, **start)
    assert runs["lobatto"].stats.solved_by["fewer stages"] == 1
    assert "fewer stages" not in runs["rattle"].stats.solved_by
    np.testing.assert_allclose(runs["lobatto"].u[-1], runs["rattle"].u[-1], atol=1e-3)
    np.testing.assert_allclose(runs["lobatto"].q[-1], runs["rattle"].q[-1], atol=1e-6)


@pytest.mark.parametrize("method", [n for n in METHODS if ss.METHODS[n]().facts.general_kinematics])
def test_boxes_on_each_other_do_not_move(method):
    """Not even by the tolerance, 1e-8 m/s: that would add up."""
    solution = ss.solve(at_rest.tower(n=3), t_end=0.05, dt=2e-3, method=method, progress=False)
    assert np.abs(solution.u[5:]).max() < 1e-12
    assert np.abs(solution.q[5:] - solution.q[5]).max() < 1e-12
