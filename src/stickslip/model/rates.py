"""Time derivatives along a motion, and masses of velocities: what declarations and the functions derived from them share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca


def along(f: ca.SX, *motion: tuple[ca.SX, ca.SX], t: ca.SX | None = None) -> ca.SX:
    """Time derivative of f along a motion: sum of (df/dx) xdot over its pairs (x, xdot), and df/dt.

    >>> x, v = ca.SX.sym("x"), ca.SX.sym("v")
    >>> along(x**2, (x, v))
    SX(((2.*x)*v))
    """
    if not f.numel():
        return ca.SX(0, 1)
    out = ca.SX(f.numel(), 1)
    for x, xdot in motion:
        out += ca.jacobian(f, x) @ xdot
    return out if t is None else out + ca.jacobian(f, t)


def mass_of_energy(kinetic: ca.SX, u: ca.SX) -> ca.SX:
    """The mass matrix that a kinetic energy declares."""
    return ca.jacobian(ca.gradient(kinetic, u), u)


def sum_of_masses(declared: Iterable[tuple[ca.SX, Sequence[int]]], n_u: int) -> ca.SX:
    """The sum of mass matrices, each with the places of its velocities among all; zeros are left out."""
    mass = ca.SX(n_u, n_u)
    for matrix, rows in declared:
        local = ca.SX(n_u, n_u)
        for i, row in enumerate(rows):
            for j, col in enumerate(rows):
                if not matrix[i, j].is_zero():
                    local[row, col] = matrix[i, j]
        mass += local
    return mass
