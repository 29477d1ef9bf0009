"""The length and the velocity of a model, which tolerances of very small and very large ones are relative to.

    L    the largest radius of gyration of a body and distance of two bodies along an axis
    V    the largest velocity at the start, and sqrt(a L) with the acceleration a of the forces with a potential

both of the model as it is declared: wherever a run starts or continues, its tolerances are the same.

A mechanism of ordinary size, 1 cm to 10 km and 1 cm/s to 10 km/s, has L = V = 1: `tol` counts in metres, metres per second
and radians. In another one it counts in L, V, radians and V/L. Coordinates whose unit is not known count as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.engine.observe import observe
from stickslip.errors import OptionError
from stickslip.model.system import System
from stickslip.solve.checks import REMEMBERED, digest
from stickslip.solve.prepared import Prepared

ORDINARY = (1e-2, 1e4)
ROUNDING_ERRORS = 10 * np.finfo(float).eps  # of a row, relative to the coordinates and velocities in it
LARGEST = 0.1  # tolerance, relative to coordinates and velocities
MANY = 2000  # velocities: a larger model is taken as of ordinary size, since its potential would be evaluated as often


class ModelScales(NamedTuple):
    """Length and velocity that tolerances are relative to."""

    length: float = 1.0
    velocity: float = 1.0


def scales_of_model(ready: Prepared, system: System) -> ModelScales:
    """The scales of a model as it is declared; 1 where its size is ordinary. A warm `solve` looks them up."""
    q, u, t = system.q_initial, system.u_initial, 0.0
    key = (digest(q), digest(u))
    if key not in ready.scales:
        if len(ready.scales) >= REMEMBERED:
            ready.scales.clear()
        ready.scales[key] = _found(ready, t, q, u, system.parameter_array())
    scales: ModelScales = ready.scales[key]
    return scales


def _found(ready: Prepared, t: float, q: np.ndarray, u: np.ndarray, values: np.ndarray) -> ModelScales:
    if u.size > MANY:
        return ModelScales()
    names = ready.names
    long_q, long_u = np.array([x == "m" for x in names.q_units]), np.array([x == "m/s" for x in names.u_units])
    if not all(x in ("m/s", "rad/s") for x in names.u_units) or not long_q.any():
        return ModelScales()
    n = u.size
    observed = observe(
        ready.observing, values, np.full(n + 1, t), np.tile(q, (n + 1, 1)), np.vstack([0 * u, np.eye(n)])
    )
    inertia = 2 * (observed["kinetic"][1:, 0] - observed["kinetic"][0, 0])  # diagonal of M
    mass = float(inertia[long_u].max(initial=0.0))
    if not mass > 0:
        return ModelScales()
    axes = [name.rpartition(".")[2] for name, is_long in zip(names.q, long_q, strict=True) if is_long]
    length = max(float(np.sqrt(inertia[~long_u].max(initial=0.0) / mass)), _spread(q[long_q], axes))
    if length == 0.0:  # one point
        return ModelScales()
    falling = np.sqrt(_acceleration(ready, t, q, u, values, mass, length) * length)
    turning = np.abs(u[~long_u]).max(initial=0.0) * length
    velocity = float(max(np.abs(u[long_u]).max(initial=0.0), turning, falling))
    ordinary = ORDINARY[0] <= length <= ORDINARY[1] and (velocity == 0 or ORDINARY[0] <= velocity <= ORDINARY[1])
    return ModelScales() if ordinary or not np.isfinite(velocity) else ModelScales(length, velocity or length)


def _spread(positions: np.ndarray, axes: list[str]) -> float:
    """The largest distance of two bodies along an axis."""
    return max((float(np.ptp(positions[[a == axis for a in axes]])) for axis in set(axes)), default=0.0)


def _acceleration(
    ready: Prepared, t: float, q: np.ndarray, u: np.ndarray, values: np.ndarray, mass: float, length: float
) -> float:
    """The largest force with a potential over the largest mass, by central differences."""
    long_q, h = np.flatnonzero([x == "m" for x in ready.names.q_units]), 1e-4 * length
    rows = np.tile(q, (2 * long_q.size, 1))
    for k, i in enumerate(long_q):
        rows[2 * k, i] += h
        rows[2 * k + 1, i] -= h
    V = observe(ready.observing, values, np.full(len(rows), t), rows, np.tile(u, (len(rows), 1)))["potential"][:, 0]
    force = np.abs(V[0::2] - V[1::2]) / (2 * h)
    return float(np.nanmax(force, initial=0.0)) / mass


def row_sizes_of(ready: Prepared, scales: ModelScales) -> dict[tuple[str, bool], np.ndarray] | None:
    """Sizes of the rows of each space, on velocity and (True) position level; None if all of them are 1."""
    if scales == ModelScales():
        return None
    names, (L, V) = ready.names, scales
    turns = {
        "q": [x != "m" for x in names.q_units],
        "u": [x != "m/s" for x in names.u_units],
        "g": [x == "N m" for x in names.g_units],
        "gamma": [x == "N m" for x in names.gamma_units],
        "N": [x == "rad" for x in names.contact_units],
        "F": [x == "rad" for x, n in zip(names.friction_units, names.friction_sizes, strict=True) for _ in range(n)],
    }
    sizes = {("", True): np.array([L]), ("", False): np.array([V])}
    for space, turning in turns.items():
        where = np.array(turning, bool)
        sizes[space, True] = np.where(where, 1.0, L)
        sizes[space, False] = np.where(where, V / L, V)
    return sizes


def check_tolerance(tol: float, q: np.ndarray, u: np.ndarray, scales: ModelScales) -> None:
    """A tolerance below the rounding errors of coordinates and velocities is refused: no step could reach it."""
    size = max(np.abs(q).max(initial=0.0) / scales.length, np.abs(u).max(initial=0.0) / scales.velocity)
    if scales != ModelScales():
        size = 1.0
    smallest = ROUNDING_ERRORS * float(size)
    if tol < smallest:
        raise OptionError(
            f"tol = {tol:g} is below rounding errors; the smallest that makes sense here is {smallest:.1g}"
        )
    largest = LARGEST * max(1.0, float(size))
    if tol > largest:
        raise OptionError(f"tol = {tol:g} accepts nearly anything; the largest that makes sense here is {largest:.1g}")
