"""Coefficients of the Lobatto IIIA-IIIB pair for any number of stages."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import Legendre


class Tableau(NamedTuple):
    """Nodes c, weights b, coefficients of Lobatto IIIA (a) and Lobatto IIIB (a_hat)."""

    c: np.ndarray
    b: np.ndarray
    a: np.ndarray
    a_hat: np.ndarray


@cache
def tableau(s: int) -> Tableau:
    """The coefficients for s stages, to round-off.

    The nodes are -1, 1 and the zeros x_j of P'_(s-1), moved to [0, 1]. IIIA is collocation, a_ij the integral of the
    Lagrange polynomial l_j up to c_i. In Legendre polynomials l_j = w_j sum_k P_k(x_j) P_k/n_k with the weights
    w_j = 2/(s (s-1) P_(s-1)(x_j)^2) and the norms n_k = 2/(2k+1), n_(s-1) = 2/(s-1) of the Lobatto quadrature: all terms
    are of order 1, where a Vandermonde matrix would lose a digit a stage.

    >>> tableau(3).a[1] * 24
    array([ 5.,  8., -1.])
    """
    P = [Legendre.basis(k) for k in range(s + 1)]
    inner = np.sort(P[s - 1].deriv().roots().real)
    for _ in range(2):  # roots are eigenvalues, good to 1e-14; Newton's method brings them to round-off
        inner = inner - P[s - 1].deriv()(inner) / P[s - 1].deriv(2)(inner)
    x = np.array([-1.0, *(inner - inner[::-1]) / 2, 1.0])
    w = 2 / (s * (s - 1) * P[s - 1](x) ** 2)
    norm = np.array([2 / (2 * k + 1) for k in range(s - 1)] + [2 / (s - 1)])
    basis = np.array([P[k](x) for k in range(s)]) * w / norm[:, None]  # (k, j)
    integral = np.array(
        [x + 1] + [(P[k + 1](x) - P[k - 1](x)) / (2 * k + 1) for k in range(1, s)]
    )  # of P_k from -1 to x_i
    a, b = integral.T @ basis / 2, w / 2
    a[0], a[-1] = 0.0, b
    a_hat = b - b * a.T / b[:, None]  # (46)
    a_hat[:, 0], a_hat[:, -1] = b[0], 0.0
    return Tableau((x + 1) / 2, b, a, a_hat)


@cache
def projection(s: int) -> np.ndarray:
    """Pi: values at the nodes to those of the closest polynomial of degree s - 2, in the metric of the quadrature.

    >>> projection(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    c, b, _, _ = tableau(s)
    P = np.array([Legendre.basis(k)(2 * c - 1) for k in range(s - 1)])
    return (P.T * (2 * np.arange(s - 1) + 1)) @ (P * b)
