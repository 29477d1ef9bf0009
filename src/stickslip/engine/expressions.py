"""What a part declares, in its own local symbols: the mathematics that its type is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from stickslip.cone import Projection

T = ca.SX.sym("t")


@dataclass(frozen=True)
class FrictionElement:
    """One friction element of a part: rows `first` to `first + size` of gamma_F, the normal contacts it belongs to.

    Its reservoir is a ball, or a `cone`, whose coefficients are those of the part from `coefficient` on.
    """

    first: int
    size: int
    normals: tuple[int, ...]  # rows of g_N; none for friction of fixed radius
    cone: Projection | None = None
    coefficient: int = 0


@dataclass(frozen=True)
class Expressions:
    """What a part declares, in its local symbols, before any derivative."""

    n_q: tuple[int, ...]  # coordinates of each block that it touches
    n_u: tuple[int, ...]
    q: ca.SX
    u: ca.SX
    p: ca.SX
    qdot: ca.SX
    mass: ca.SX
    kinetic: ca.SX
    potential: ca.SX
    force: ca.SX
    g: ca.SX
    gamma: ca.SX
    g_N: ca.SX
    gamma_F: ca.SX
    mu: ca.SX  # one per friction element
    radius: ca.SX
    e_N: ca.SX  # one per normal contact
    e_F: ca.SX  # one per friction element
    coefficients: ca.SX  # of cones: parameters
    frictions: tuple[FrictionElement, ...]

    NAMES = (
        "qdot",
        "mass",
        "kinetic",
        "potential",
        "force",
        "g",
        "gamma",
        "g_N",
        "gamma_F",
        "mu",
        "radius",
        "e_N",
        "e_F",
        "coefficients",
    )

    @cached_property
    def _body(self) -> ca.Function:
        return ca.Function("part", [T, self.q, self.u, self.p], [getattr(self, n) for n in self.NAMES])

    @cached_property
    def key(self) -> str:
        """Equal for parts that declare the same mathematics."""
        text = f"{self.n_q} {self.n_u} {self.frictions} {self._body.serialize()}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def operations(self) -> int:
        """How long they are."""
        return self._body.n_instructions()


def stack(rows: Sequence[ca.SX]) -> ca.SX:
    """One column of several, which may be none."""
    return ca.vertcat(*rows) if rows else ca.SX(0, 1)
