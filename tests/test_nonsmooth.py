"""The algebra of one step: laws against their prox form, linear solvers against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss
from stickslip.nonsmooth.cones import CLOSED, OPEN, SLIP, ball_branch, normal_branch, slip_weights
from stickslip.nonsmooth.linear import eliminate, eliminate_band, reduce_to_last
from stickslip.nonsmooth.operator import _factor_dense, _substitute_dense

finite = st.floats(-10, 10, allow_nan=False)
positive = st.floats(1e-3, 1e3)


def prox_ball(x, rho):
    length = np.linalg.norm(x)
    return x if length <= rho else rho * x / length


@given(finite, finite, positive)
def test_normal_branch_is_the_prox(y, z, r):
    """z + prox_R-(r y - z) equals r y on the closed branch and z on the open one."""
    value = z + min(r * y - z, 0.0)
    branch = normal_branch(y, z, r)
    assert np.isclose(value, r * y if branch == CLOSED else z, atol=1e-9)


@given(st.lists(finite, min_size=2, max_size=6), st.floats(0, 10), positive)
def test_ball_branch_is_the_prox(values, rho, r):
    size = len(values) // 2
    v = np.array(values)
    y, z = v[:size], v[size : 2 * size]
    direction = np.zeros((1, 4))
    branch = ball_branch(v, 0, size, size, rho, r, direction, 0)
    value = z + prox_ball(r * y - z, rho)
    if branch == CLOSED:
        assert np.allclose(value, r * y, atol=1e-7)
    elif branch == OPEN:
        assert rho == 0.0
        assert np.allclose(value, z)
    else:
        assert branch == SLIP
        assert np.allclose(value, z + rho * direction[0, :size], atol=1e-7)


@given(st.lists(finite, min_size=6, max_size=6), st.floats(0.1, 3), st.floats(0.1, 3))
def test_slip_weights_are_the_jacobian(values, rho, r):
    """Against central differences of z + rho d."""
    v = np.array(values)
    direction, weight = np.zeros((1, 4)), np.zeros((2, 3, 3))
    if np.linalg.norm(r * v[:3] - v[3:]) < rho + 0.1:
        return

    def residual(x):
        a = r * x[:3] - x[3:]
        return x[3:] + rho * a / np.linalg.norm(a)

    assert ball_branch(v, 0, 3, 3, rho, r, direction, 0) == SLIP
    slip_weights(direction, 0, 3, rho, r, weight)
    difference = np.array([(residual(v + d) - residual(v - d)) / 2e-6 for d in 1e-6 * np.eye(6)]).T
    assert np.allclose(weight[0], difference[:, :3], atol=1e-6)
    assert np.allclose(weight[1], difference[:, 3:], atol=1e-6)


@settings(max_examples=40)
@given(st.integers(1, 72), st.floats(0.05, 1.0), st.integers(0, 10_000))
def test_elimination_solves(n, density, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n)) * (rng.random((n, n)) < density)
    a[np.arange(n), rng.permutation(n)] += 3.0  # regular, but not on its diagonal: pivoting is needed
    b = rng.normal(size=n)
    if np.linalg.cond(a) > 1e6:
        return
    x, scratch = b.copy(), np.zeros(n, np.int64)
    assert eliminate(a.ravel().copy(), x, n, 1e-12, scratch, scratch.copy())
    assert np.allclose(a @ x, b, atol=1e-8)


@settings(max_examples=40)
@given(st.integers(1, 60), st.one_of(st.integers(0, 6), st.just(24)), st.integers(0, 10_000))
def test_banded_elimination_solves(n, band, seed):
    rng = np.random.default_rng(seed)
    i, j = np.indices((n, n))
    a = np.where(np.abs(i - j) <= band, rng.normal(size=(n, n)), 0.0)
    a[np.arange(n), np.arange(n)] *= 0.1 if band else 10  # small diagonal: pivoting is needed
    if np.linalg.cond(a) > 1e8:
        return
    packed = np.zeros((n, 3 * band + 1))
    for row in range(n):
        for col in range(max(0, row - band), min(n, row + band + 1)):
            packed[row, col - row + band] = a[row, col]
    b = rng.normal(size=n)
    x = b.copy()
    assert eliminate_band(packed.ravel(), x, n, band, 1e-14)
    assert np.allclose(a @ x, b, atol=1e-6)


@settings(max_examples=20)
@given(st.integers(1, 20), st.integers(0, 10), st.integers(0, 10_000))
def test_reduction_is_the_schur_complement(first, others, seed):
    rng, n = np.random.default_rng(seed), first + others
    a, b = rng.normal(size=(n, n)), rng.normal(size=n)
    if np.linalg.cond(a[:first, :first]) > 1e6:
        return
    packed, right = a.ravel().copy(), b.copy()
    assert reduce_to_last(packed, right, n, first, 1e-12)
    inverse = np.linalg.inv(a[:first, :first])
    last, reduced = slice(first, n), packed.reshape(n, n)
    assert np.allclose(reduced[last, last], a[last, last] - a[last, :first] @ inverse @ a[:first, last], atol=1e-7)
    assert np.allclose(right[last], b[last] - a[last, :first] @ inverse @ b[:first], atol=1e-7)


@pytest.mark.parametrize("below, above", [(0, 0), (1, 3), (6, 2), (9, 30), (30, 30)])
@pytest.mark.parametrize("seed", range(4))
def test_factors_of_a_matrix_with_a_band_solve(below, above, seed):
    """Rows of the identity, and rows in another order, too: exchanges carry L along."""
    rng, n = np.random.default_rng(seed), 30
    i, j = np.indices((n, n))
    A = np.where((i - j <= below) & (j - i <= above), rng.normal(size=(n, n)), 0.0) + np.diag(rng.choice([0.1, 3.0], n))
    still = rng.choice(n, 6, replace=False)
    A[still] = np.eye(n)[still]
    if seed % 2:
        A = A[rng.permutation(n)]
    x = rng.normal(size=n)
    factors, solved, pivots = A.copy(), A @ x, np.zeros(3 * n, np.int64)
    assert _factor_dense(factors, n, pivots)
    _substitute_dense(factors, n, pivots, solved)
    assert np.abs(A @ (solved - x)).max() < 1e-12 * max(1.0, np.abs(solved).max())


def test_singular_matrix_is_noticed():
    a, b, scratch = np.array([1.0, 2.0, 2.0, 4.0]), np.ones(2), np.zeros(2, np.int64)
    assert not eliminate(a.copy(), b.copy(), 2, 1e-11, scratch, scratch.copy())
    assert not eliminate_band(np.array([0, 1.0, 2.0, 0, 2.0, 4.0, 0, 0]), b.copy(), 2, 1, 1e-11)


def test_names_can_be_listed():
    assert set(ss.nonsmooth.__all__) <= set(dir(ss.nonsmooth))
