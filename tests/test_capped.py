"""What a crowd hands to solvers that factorise is the problem of its sweeps, and what they find solves it."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine import calls
from stickslip.engine.capped import find_start, linearised
from stickslip.engine.contact_state import (
    ALLOWED_GAP,
    D_1,
    D_2,
    D_F,
    D_N,
    DEAD,
    FIRST,
    MU,
    OMEGA,
    R_F,
    R_N,
    ROWS,
    SECOND,
    SIZE_N,
    STAYS_OPEN,
    UNIT_F,
    UNIT_N,
    W_F,
    W_N,
    sweeping,
)
from stickslip.engine.contact_sweeps import natural_map
from stickslip.engine.contact_values import ease, respond
from stickslip.native.wide import place
from stickslip.nonsmooth import from_bodies
from stickslip.nonsmooth.krylov import gmres
from stickslip.nonsmooth.measure import error_of, scratch
from stickslip.nonsmooth.nearby import NEAR, OUTER, by_newton, by_path
from stickslip.nonsmooth.newton import newton
from stickslip.nonsmooth.operator import add_elements, clear, factor_matrix, multiply, size_of, solve_matrix

PLACES = [[place(side, i) for i in range(6)] for side in (0, 1)]
TOL = 1e-8


def crowd(n=30, contacts=70, turn=0.01, seed=0):
    """Random bodies in a chain and more contacts between them, the last ones with the ground; forces turned from the gaps."""
    rng = np.random.default_rng(seed)
    s = sweeping(n, contacts)
    for b in range(n):
        B = rng.normal(size=(6, 6))
        s.A[b] = np.eye(6) + 0.1 * B @ B.T
    s.diagonal[:] = False
    s.free[:] = rng.normal(size=s.free.shape)
    first = np.concatenate([np.arange(n - 1), rng.integers(0, n, contacts - n + 1)])
    second = np.concatenate([np.arange(1, n), rng.integers(0, n, contacts - n + 1)])
    second[second == first] = n
    second[-8:] = n
    s.who[:, FIRST], s.who[:, SECOND], s.who[:, ROWS] = first, second, rng.choice([0, 1, 2, 2, 2], contacts)
    for c in range(contacts):
        own = 1 + s.who[c, ROWS]
        for side, body in ((0, first[c]), (1, second[c])):
            if body < n:
                G = rng.normal(size=(own, 6))
                s.G[c][:own, PLACES[side]] = G
                s.T[c][:own, PLACES[side]] = (G + turn * rng.normal(size=G.shape)) @ s.A[body]
    W = np.einsum("cik,cjk->cij", s.G.astype(float), s.T.astype(float))
    gap = rng.random(contacts) < 0.5
    s.info[:, D_N], s.info[:, D_F] = W[:, 0, 0], np.abs(W[:, 1:, 1:]).sum(axis=2).max(axis=1)
    s.info[:, UNIT_N], s.info[:, UNIT_F] = np.where(gap, 1e-3, 1.0), 1.0
    s.numbers[:, MU] = np.where(s.who[:, ROWS] > 0, 0.3, 0.0)
    s.numbers[:, R_N], s.numbers[:, D_1], s.numbers[:, D_2] = OMEGA / W[:, 0, 0], W[:, 1, 0], W[:, 2, 0]
    s.numbers[:, R_F] = np.where(s.who[:, ROWS] > 0, OMEGA / np.maximum(s.info[:, D_F], 1e-300), 0.0)
    s.numbers[:, W_N] = s.info[:, D_N] * s.info[:, UNIT_N] / np.where(gap, 0.02, 0.9)
    s.numbers[:, W_F] = s.info[:, D_F] / 0.9
    return s, rng


def set_multipliers(s, rng):
    """Some forces in their cones, others of the last step, and the velocities that belong to them."""
    count, own = len(s.z), s.who[:, ROWS]
    for z in (s.z, s.z_0):
        z[:] = 0.0
        z[:, 0] = np.maximum(rng.normal(size=count), 0.0)
        z[own > 0, 1] = 0.2 * z[own > 0, 0]
        z[own > 1, 2] = -0.3 * z[own > 1, 0]
    respond(s, count)


def of_one_row_each(s):
    """The sweeps measure friction as a vector, the solvers row by row: alike where friction has one row at most."""
    s.who[:, ROWS] = np.minimum(s.who[:, ROWS], 1)
    s.G[:, 2], s.T[:, 2] = 0.0, 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_same_problem_in_the_same_measure(seed):
    s, rng = crowd(seed=seed)
    of_one_row_each(s)
    set_multipliers(s, rng)
    op, laws, scales, rows = linearised(s, len(s.z))
    work = scratch(rows.size, size_of(op), laws.kind.size)
    error = error_of(op, laws, scales, s.z.ravel()[rows], work)
    assert error * scales.speed == pytest.approx(natural_map(s, len(s.z)), rel=1e-9)


@pytest.mark.parametrize("forces_before", [False, True])
def test_contacts_that_stay_open_are_left_out(forces_before):
    """Whether they had forces in the step before, which they no longer have, or not."""
    s, rng = crowd()
    of_one_row_each(s)
    s.who[::7, STAYS_OPEN] = 1
    set_multipliers(s, rng)
    s.u[::7, 0], s.z[::7] = 1e300, 0.0
    if not forces_before:
        s.z_0[::7] = 0.0
    assert s.z_0[::7].any() == forces_before
    respond(s, len(s.z))
    op, laws, scales, rows = linearised(s, len(s.z))
    assert scales.speed < 1e6
    error = error_of(op, laws, scales, s.z.ravel()[rows], scratch(rows.size, size_of(op), laws.kind.size))
    assert error * scales.speed == pytest.approx(natural_map(s, len(s.z)), rel=1e-9)


@pytest.mark.parametrize("solver", [by_newton, by_path])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_solves_the_sweeps_problem(solver, seed):
    s, rng = crowd(seed=seed)
    set_multipliers(s, rng)
    assert natural_map(s, len(s.z)) > 1e-3
    found = find_start(solver, s, len(s.z), TOL)
    assert found < 2 * TOL  # two rows of friction, each below TOL
    assert found == natural_map(s, len(s.z))
    assert (s.z[:, 0] > 0).any()
    assert (s.z[:, 0] == 0).any()


def test_a_direction_with_the_factors_of_another_matrix():
    s, rng = crowd()
    set_multipliers(s, rng)
    op, laws, _, _ = linearised(s, len(s.z))
    elements = laws.element.size - 1
    C = np.zeros((elements, 6, 6))
    C[:, :3, :3] = 10.0 * np.eye(3)
    clear(op)
    add_elements(op, laws, C)
    assert factor_matrix(op)
    C[::9] = 0.0  # some contacts open, others slip, all are twice as stiff
    C[1::9, 1, :3] = 0.3, 0.2, 0.1
    C *= 2.0
    b, work = rng.normal(size=size_of(op)), np.zeros(size_of(op))
    x, V, product = b.copy(), np.zeros((61, b.size)), np.zeros(b.size)
    assert gmres(op, laws, C, x, 60, V, np.zeros(b.size), work)
    multiply(op, laws, C, x, product)
    assert np.linalg.norm(product - b) < 1.01e-2 * np.linalg.norm(b)
    assert not gmres(op, laws, C, b.copy(), 1, V, np.zeros(b.size), work)
    clear(op)
    add_elements(op, laws, C)
    assert factor_matrix(op)
    exact = b.copy()
    solve_matrix(op, exact, work)
    multiply(op, laws, C, exact, product)
    np.testing.assert_allclose(product, b, atol=1e-9)


def heap(seed, mu, n=25, contacts=70, ground=15):
    """Balls that touch each other and the ground in random directions, and fly in random ones."""
    rng = np.random.default_rng(seed)
    H = np.zeros((6 * n, 3 * contacts))
    first = rng.integers(0, n, contacts)
    second = (first + rng.integers(1, n, contacts)) % n
    for c in range(contacts):
        directions, columns = np.linalg.qr(rng.normal(size=(3, 3)))[0], slice(3 * c, 3 * c + 3)
        for body, sign in ((first[c], 1.0), (second[c], -1.0))[: 1 if c >= contacts - ground else 2]:
            H[6 * body : 6 * body + 3, columns] = sign * directions
            H[6 * body + 3 : 6 * body + 6, columns] = -np.cross(directions[:, 0], directions.T).T
    f = rng.normal(size=6 * n) * np.tile([1, 1, 1, 0, 0, 0], n)
    return from_bodies(np.diag(np.tile([1, 1, 1, 0.4, 0.4, 0.4], n)), H, f, np.full(contacts, mu))


@pytest.mark.parametrize("seed, mu", [(28, 0.6), (8, 1.0)])
def test_directions_along_which_the_energy_rises_are_taken_as_far_as_the_residual_falls(seed, mu):
    problem = heap(seed, mu)
    r = np.zeros(problem.n_rows)
    op, laws, scales = problem.operator, problem.laws, problem.scales
    work = scratch(r.size, size_of(op), laws.kind.size)
    assert newton(op, laws, scales, r, 1e-9, NEAR, OUTER, work)[0] <= 1e-9
    assert error_of(op, laws, scales, r, work) <= 1e-9


def test_a_gap_that_is_missed_by_less_than_enough_is_no_error_of_friction():
    """As in the residual of a stage: friction that slips belongs to the normal force that there is."""
    s, rng = crowd()
    set_multipliers(s, rng)
    slips = np.flatnonzero((s.who[:, ROWS] == 2) & (s.z[:, 0] > 0) & (s.info[:, UNIT_N] < 0.5))
    assert len(slips) > 5
    s.z[slips, 1:] = 0.3 * s.z[slips, :1] * np.array([0.6, -0.8])
    respond(s, len(s.z))
    along = np.einsum("crk,ck->cr", s.G.astype(float), _velocities(s))
    s.u[slips, 0] = 0.5 * TOL * s.info[slips, D_N] / s.numbers[slips, W_N] - along[slips, 0]
    s.u[slips, 1:] = -along[slips, 1:] - 10.0 * s.z[slips, 1:]  # against the force
    natural_map(s, len(s.z))
    np.testing.assert_allclose(s.violated[slips], 0.5 * TOL, rtol=1e-3)


def _velocities(s):
    """Steps of both bodies of every contact, in the columns of its rows."""
    out = np.zeros((len(s.who), s.G.shape[2]))
    for side, column in ((0, FIRST), (1, SECOND)):
        out[:, PLACES[side]] = s.v[s.who[:, column]]
    return out


def test_gaps_that_are_eased_stay_within_what_is_allowed():
    s, _ = crowd()
    s.info[:, SIZE_N], s.gaps[0] = 1.0, 1
    before, gap = s.u.copy(), s.info[:, UNIT_N] < 0.5
    ease(s, len(s.z), TOL)
    assert (s.u[~gap] == before[~gap]).all()
    assert (s.u[:, 1:] == before[:, 1:]).all()
    wider = (s.u - before)[gap, 0] * s.info[gap, UNIT_N]
    assert (wider > 0.0).all()
    assert (wider + (DEAD + 0.02) * TOL <= ALLOWED_GAP * TOL * (1 + 1e-12)).all()
    assert ALLOWED_GAP < 0.25  # 5e-6 of the radius 0.05, with the tolerance 1e-6


def test_a_stage_too_large_for_dense_matrices_is_solved_on_the_graph_of_bodies(monkeypatch):
    """generalized-alpha has positions, velocities and accelerations in one stage, which a wall of 45 bricks makes too large."""
    monkeypatch.setattr(calls, "MOST_DENSE", 100)
    monkeypatch.setattr(calls, "MOST_TRIED", 200)
    s = ss.System("wall")
    s.add(ss.Gravity([0, 0, -9.81]))
    places = [[0.21 * i + 0.105 * (j % 2), 0, 0.05 + 0.1 * j] for j in range(6) for i in range(4 - j % 2)]
    shapes = [ss.Box(ss.ground.frame(place), [0.2, 0.1, 0.1]) for place in places]
    bricks = [s.add(ss.solid(f"brick {k}", shape, density=1000)) for k, shape in enumerate(shapes)]
    s.add(ss.Collisions("contacts", [*bricks, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.5))
    solution = ss.solve(s, 2e-3, 1e-3, method="generalized-alpha", progress=False)
    assert np.abs(solution.u).max() < 1e-8
    assert solution.stats.solved_by["robust on bodies"] > 0
