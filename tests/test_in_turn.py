"""Levels of a stage in turn: laws of velocities, forces and gaps that stand side by side in one problem."""

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.nonsmooth import solvers
from stickslip.nonsmooth.in_turn import in_turn
from stickslip.nonsmooth.laws import Laws
from stickslip.nonsmooth.problem import Problem
from stickslip.nonsmooth.solvers import ENOUGH, solve, solve_shortly

CONTACTS, DT = 4, 2e-3
ROWS = 3 * CONTACTS


def level(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A contact problem in space, with more rows than motions."""
    A = rng.normal(size=(ROWS, ROWS - 2))
    return A @ A.T / ROWS, rng.normal(size=ROWS)


def staircase(seed: int, back: float) -> tuple[Problem, list[np.ndarray], list[np.ndarray]]:
    """Three levels in units of their own, each coupled to those before and, by a share `back`, to those after; shuffled.

    Also the rows of each level, and the blocks of W.
    """
    rng, units = np.random.default_rng(seed), np.array([1.0, 1 / DT, DT])
    W, q = np.zeros((3 * ROWS, 3 * ROWS)), np.zeros(3 * ROWS)
    for k in range(3):
        rows = slice(k * ROWS, (k + 1) * ROWS)
        W[rows] = np.where(np.arange(3 * ROWS) < k * ROWS, 0.5, back) * rng.uniform(-1, 1, (ROWS, 3 * ROWS))
        W[rows, rows], q[rows] = level(rng)
        W[rows], q[rows] = W[rows] * units[k], q[rows] * units[k]
    order = rng.permutation(3 * CONTACTS)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    laws = ss.nonsmooth.contacts(W[np.ix_(rows, rows)], q[rows], mu=np.full(3 * CONTACTS, 0.4)).laws
    problem = Problem(laws, sp.csr_matrix(W[np.ix_(rows, rows)]), q[rows], units=np.repeat(units, ROWS)[rows])
    places = np.argsort(rows)
    return problem, [places[k * ROWS : (k + 1) * ROWS] for k in range(3)], [W, q]


def exactly(part: Problem, r: np.ndarray, tol: float) -> np.ndarray:
    return solve(part, tol=max(tol, 1e-12), start=r).reaction


@pytest.mark.parametrize("seed", range(5))
def test_a_staircase_is_climbed_step_by_step(seed):
    """Without couplings back, each level is the problem that is left where those before it are solved."""
    problem, places, (W, q) = staircase(seed, 0.0)
    found = in_turn(problem, np.zeros(3 * ROWS), 1e-10, exactly)
    r = np.zeros(3 * ROWS)
    for k in range(3):
        rows = slice(k * ROWS, (k + 1) * ROWS)
        free = q[rows] + W[rows] @ r
        r[rows] = solve(ss.nonsmooth.contacts(W[rows, rows], free, mu=np.full(CONTACTS, 0.4)), tol=1e-12).reaction
    u, own = W @ r + q, problem.velocity_of(found)
    for k, unit in enumerate((1.0, 1 / DT, DT)):
        assert np.abs(own[places[k]] - u[k * ROWS : (k + 1) * ROWS]).max() < 1e-6 * unit


@pytest.mark.parametrize("seed", range(5))
def test_weak_couplings_back_need_a_few_rounds(seed):
    """Each call takes the residual to a hundredth: an outer iteration goes on from there."""
    problem, _, _ = staircase(seed, 0.01)
    r, least = np.zeros(3 * ROWS), 1.0
    for _ in range(6):
        found = solve_shortly(problem, r, 1e-10, levels=True)
        assert found.residual <= max(1e-10, ENOUGH * least)
        r, least = found.reaction, found.residual
    assert least <= 1e-10


def test_one_level_is_one_part():
    W, q = level(np.random.default_rng(0))
    assert in_turn(ss.nonsmooth.contacts(W, q, mu=np.full(CONTACTS, 0.4)), np.zeros(ROWS), 1e-9, exactly) is None


def test_friction_without_force_is_left_out():
    """Reservoirs that are empty keep no multipliers from the start."""
    W, q = np.diag([1.0, 1.0, 2.0]), np.array([-1.0, 0.5, 0.3])
    laws = Laws(
        np.array([1, 2, 2]), np.arange(3), np.ones(3, np.int64), np.array([-1, 0, -1]), np.array([0, 0.4, 0]), np.zeros(3),
        np.array([0, 2, 3]),
    )  # fmt: skip
    problem = Problem(laws, sp.csr_matrix(W), q)
    assert in_turn(problem, np.array([0.0, 0.0, 5.0]), 1e-9, exactly) is None  # only one part has laws to solve
    found = solve_shortly(problem, np.array([0.0, 0.0, 5.0]), 1e-9, levels=True)
    assert found.reaction == pytest.approx([1.0, -0.4, 0.0], abs=1e-8)


def test_what_falls_in_turn_is_taken(monkeypatch):
    """All levels together may have another solution, far away: near the end of an outer iteration that step leads astray."""
    problem = staircase(0, 0.01)[0]
    solution = solve(problem, tol=1e-12).reaction
    start = solution + 1e-6 * np.random.default_rng(0).normal(size=solution.size)

    def nearer(part, r, tol, alone):
        alone(part, r, tol)
        return solution + 0.2 * (start - solution)

    def refuse(*_):
        raise AssertionError("levels are solved together")

    monkeypatch.setattr(solvers, "in_turn", nearer)
    monkeypatch.setattr(solvers, "_robust", lambda rounds: lambda problem, r, tol: (r, 0))
    monkeypatch.setattr(solvers, "_together", refuse)
    found = solve_shortly(problem, start, 1e-12, levels=True)
    assert 0 < np.abs(found.reaction - solution).max() < 0.3 * np.abs(start - solution).max()
