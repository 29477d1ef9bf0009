"""Coefficients of the generalized-alpha family, each as a function of the spectral radius at infinite frequency."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Coefficients(NamedTuple):
    """Coefficients of the generalized-alpha method."""

    alpha_m: float
    alpha_f: float
    gamma: float
    beta: float


def chung_hulbert(rho_inf: float) -> Coefficients:
    """The coefficients of order 2 whose spectral radius at infinite frequency is rho_inf (61).

    >>> chung_hulbert(1.0)
    Coefficients(alpha_m=0.5, alpha_f=0.5, gamma=0.5, beta=0.25)
    """
    alpha_m, alpha_f = (2 * rho_inf - 1) / (rho_inf + 1), rho_inf / (rho_inf + 1)
    gamma = 0.5 + alpha_f - alpha_m
    return Coefficients(alpha_m, alpha_f, gamma, 0.25 * (gamma + 0.5) ** 2)


def hilber_hughes_taylor(rho_inf: float) -> Coefficients:
    """Those of Hilber, Hughes and Taylor: alpha_m = 0, of order 2, for rho_inf from 1/2 to 1.

    >>> hilber_hughes_taylor(1.0)
    Coefficients(alpha_m=0.0, alpha_f=0.0, gamma=0.5, beta=0.25)
    """
    alpha_f = (1 - rho_inf) / (1 + rho_inf)
    return Coefficients(0.0, alpha_f, 0.5 + alpha_f, 0.25 * (1 + alpha_f) ** 2)


def newmark(rho_inf: float) -> Coefficients:
    """Newmark's: alpha_m = alpha_f = 0. The trapezoidal rule for rho_inf = 1; with damping of order 1.

    >>> newmark(1.0)
    Coefficients(alpha_m=0.0, alpha_f=0.0, gamma=0.5, beta=0.25)
    """
    return Coefficients(0.0, 0.0, (3 - rho_inf) / (2 * rho_inf + 2), 1 / (rho_inf + 1) ** 2)


COEFFICIENTS: dict[str, Callable[[float], Coefficients]] = {
    "chung-hulbert": chung_hulbert,
    "hht": hilber_hughes_taylor,
    "newmark": newmark,
}
