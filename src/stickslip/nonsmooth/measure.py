"""What solvers share: scales of the rows of a problem, scratch arrays, the residual, and beta of r = project(r - beta u)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import jit
from stickslip.nonsmooth.laws import Laws, natural_map
from stickslip.nonsmooth.operator import Operator, unknowns_of, velocities


class Scales(NamedTuple):
    """Of rows: `weight`, the Delassus diagonal of their block, and `scale`, the velocity (or gap) they are held against.

    `speed`: the largest free velocity. A residual is relative to these.
    """

    weight: np.ndarray
    scale: np.ndarray
    speed: float


class Scratch(NamedTuple):
    """Arrays of one value per row (r, u, ...), per unknown (x, ...) and per block."""

    u: np.ndarray
    y: np.ndarray
    p: np.ndarray
    z: np.ndarray
    best: np.ndarray
    best_z: np.ndarray
    kept: np.ndarray
    beta: np.ndarray
    x: np.ndarray
    start: np.ndarray
    trial: np.ndarray
    g: np.ndarray
    step: np.ndarray
    work: np.ndarray
    branch: np.ndarray


def scratch(rows: int, unknowns: int, blocks: int) -> Scratch:
    """Scratch arrays of a problem."""
    by_row = {name: np.zeros(rows) for name in ("u", "y", "p", "z", "best", "best_z", "kept", "beta")}
    by_unknown = {name: np.zeros(unknowns) for name in ("x", "start", "trial", "g", "step")}
    work = np.zeros(max(rows, unknowns))
    return Scratch(**by_row, **by_unknown, work=work, branch=np.zeros(blocks, np.int64))


@jit
def error_of(op: Operator, laws: Laws, scales: Scales, r: np.ndarray, s: Scratch) -> float:
    """The relative natural map at r; its velocities are left in s.u."""
    unknowns_of(op, laws, r, s.x, s.work)
    velocities(op, laws, s.x, s.u)
    return natural_map(laws, r, s.u, scales.weight, scales.scale, s.y, s.p)


@jit
def set_beta(laws: Laws, scales: Scales, r: np.ndarray, kappa: float, beta: np.ndarray) -> None:
    """beta = kappa/w max(1, |r| w/speed), with the largest |r| w/speed of the element."""
    for e in range(laws.element.size - 1):
        last = laws.element[e + 1] - 1
        first, end, share = laws.start[laws.element[e]], laws.start[last] + laws.size[last], 1.0
        for i in range(first, end):
            share = max(share, abs(r[i]) * scales.weight[i] / scales.scale[i])
        for i in range(first, end):
            beta[i] = kappa * share / scales.weight[i]
