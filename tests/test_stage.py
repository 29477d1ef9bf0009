"""The symbolic solution of kinematic equations."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from stickslip.engine.stage import _solve_blocks


def omega(w: ca.SX) -> ca.SX:
    """The matrix of pdot = Omega p/2 for an angular velocity in the body's frame."""
    x, y, z = w[0], w[1], w[2]
    return ca.blockcat([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])


@pytest.mark.parametrize("bodies", [1, 2])
def test_quaternion_blocks_have_their_closed_form(bodies):
    """Two bodies with position and quaternion: right, small, and a rotation of the quaternion."""
    w = [ca.SX.sym(f"w{k}", 3) for k in range(bodies)]
    b = ca.SX.sym("b", 7 * bodies)
    A = ca.diagcat(*[block for x in w for block in (ca.SX.eye(3), ca.SX.eye(4) - omega(x) / 4)])
    order = np.random.default_rng(0).permutation(7 * bodies).tolist()  # blocks are found wherever they stand
    A = A[order, order]
    x = _solve_blocks(A, b)
    f = ca.Function("f", [ca.vertcat(*w), b], [x, A])
    values = np.random.default_rng(1).normal(size=3 * bodies), np.random.default_rng(2).normal(size=7 * bodies)
    solved, matrix = (np.array(v) for v in f(*values))
    np.testing.assert_allclose(matrix @ solved[:, 0], values[1], atol=1e-14)
    # Inputs and outputs included, 65 instructions a body; `ca.solve` (QR) takes 208.
    assert ca.Function("x", [ca.vertcat(*w), b], [x]).n_instructions() < 80 * bodies


def test_other_blocks_are_eliminated():
    a = ca.SX.sym("a", 3)
    A = ca.SX.eye(4)
    A[0, 2], A[2, 0], A[2, 2] = a[0], a[1], 1 + a[2]
    b = ca.SX.sym("b", 4)
    f = ca.Function("f", [a, b], [_solve_blocks(A, b), A])
    solved, matrix = (np.array(v) for v in f([0.1, -0.2, 0.3], [1, 2, 3, 4]))
    np.testing.assert_allclose(matrix @ solved[:, 0], [1, 2, 3, 4], atol=1e-14)
