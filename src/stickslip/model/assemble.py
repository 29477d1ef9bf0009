"""A state that satisfies the constraints, close to one that does not.

Everything is done in velocities: a displacement is a velocity over unit time, q moves by the trapezoidal rule with
qdot = B u (which keeps quaternions normalised), and the smallest displacement is the one with the least kinetic energy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from stickslip.errors import InitialStateError
from stickslip.model.declaration import TIME, Equations
from stickslip.model.rates import along, mass_of_energy, sum_of_masses

if TYPE_CHECKING:
    from stickslip.model.system import System

TOLERANCE = 1e-12  # of constraints, in their own units
ITERATIONS = 100
HALVINGS = 20  # of a step that does not bring the constraints closer

Evaluation = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]  # (q, u) -> value and Jacobian


def assembled(
    system: System, parameters: Mapping[str, float], t: float, obstacles: bool
) -> tuple[np.ndarray, np.ndarray]:
    """q and u near the initial ones with g(t, q) = 0, g_dot = 0, gamma = 0 and, with `obstacles`, g_N >= 0."""
    q, u = (_stack([getattr(b, x) for b in system.blocks]) for x in ("q", "u"))
    qdot = _stack([b.qdot for b in system.blocks])
    B = ca.jacobian(qdot, u)
    equations = system.equations()
    g = _stack([c.value for e in equations for c in e.constraints])
    gap = _stack([c.gap for e in equations for c in e.contacts if c.gap is not None and obstacles])
    gamma = _stack([c.value for e in equations for c in e.velocity_constraints])
    g_dot = along(g, (q, qdot), t=TIME)
    symbols, numbers = _stack(list(system.parameter_symbols().values())), list(parameters.values())

    def evaluation(value: ca.SX, jacobian: ca.SX) -> Evaluation:
        f = ca.Function("f", [q, u, TIME, symbols], [ca.densify(value), ca.densify(jacobian)])

        def evaluate(q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, jacobian = f(q, u, t, numbers)
            return np.array(value)[:, 0], np.array(jacobian)

        return evaluate

    rows = _stack([g, gap])
    positions = evaluation(rows, ca.jacobian(rows, q) @ B)
    rates = _stack([g_dot, gamma])
    velocities = evaluation(rates, ca.jacobian(rates, u))
    motion = evaluation(B @ u, ca.jacobian(B @ u, q))
    mass = evaluation(ca.SX.zeros(1), _mass(equations, u))

    state, speed = system.q_initial, system.u_initial
    names = [c.name for e in equations for c in e.constraints for _ in range(c.value.numel())]
    names += [c.name for e in equations for c in e.contacts if c.gap is not None and obstacles]
    n = g.numel()
    for _ in range(ITERATIONS):
        values, W = positions(state, speed)
        left = _violation(values, n)
        if np.abs(left).max(initial=0.0) < TOLERANCE:
            break
        step = _smallest(W[:n], -values[:n], mass(state, speed)[1], W[n:], -values[n:])
        for _ in range(HALVINGS):
            moved = _move(motion, state, step)
            if np.linalg.norm(_violation(positions(moved, speed)[0], n)) < np.linalg.norm(left):
                break
            step = step / 2
        else:
            break
        state = moved
    left = _violation(positions(state, speed)[0], n)
    if not np.abs(left).max(initial=0.0) < 1e3 * TOLERANCE:
        k = int(np.abs(left).argmax())
        raise InitialStateError(
            f"{system.name}: the initial state cannot be assembled: {names[k]!r} remains violated by "
            f"{abs(left[k]):.6g}; start closer, or look for constraints that contradict each other"
        )
    values, W = velocities(state, speed)
    return state, speed + _smallest(W, -values, mass(state, speed)[1])


def _violation(rows: np.ndarray, n: int) -> np.ndarray:
    """The first n rows should be zero, the others not negative."""
    return np.concatenate([rows[:n], np.minimum(rows[n:], 0.0)])


def _smallest(
    W: np.ndarray, b: np.ndarray, M: np.ndarray, W_N: np.ndarray | None = None, b_N: np.ndarray | None = None
) -> np.ndarray:
    """The u of least kinetic energy with W u = b and W_N u >= b_N; dependent rows are no problem."""
    from scipy.linalg import null_space  # here, because SciPy takes longer to import than all of the model

    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        L = np.eye(len(M))  # no metric: the complaint about the mass matrix belongs to the run, not to us
    scaled = np.linalg.solve(L, W.T).T
    y = np.linalg.lstsq(scaled, b, rcond=1e-10)[0]
    if W_N is not None and b_N is not None and len(b_N):
        G = np.linalg.solve(L, W_N.T).T
        free = null_space(scaled, rcond=1e-10) if len(b) else np.eye(len(y))
        y = y + free @ _least_distance(G @ free, b_N - G @ y)
    return np.linalg.solve(L.T, y)


def _least_distance(G: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The shortest z with G z >= h, zero if there is none [Lawson, Hanson: Solving Least Squares Problems, 23.4]."""
    from scipy.optimize import nnls

    E = np.vstack([G.T, h])
    f = np.zeros(len(E))
    f[-1] = 1.0
    r = E @ nnls(E, f)[0] - f
    return -r[:-1] / r[-1] if abs(r[-1]) > 1e-12 else np.zeros(G.shape[1])


def _move(motion: Evaluation, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """q_1 = q_0 + (B(q_0) u + B(q_1) u)/2, by Newton's method: one iteration where B is affine in q."""
    start, _ = motion(q, u)
    q_1 = q + start
    for _ in range(20):
        end, slope = motion(q_1, u)
        residual = q_1 - q - (start + end) / 2
        q_1 = q_1 - np.linalg.solve(np.eye(len(q)) - slope / 2, residual)
        if np.abs(residual).max(initial=0.0) < 1e-15:
            break
    return q_1


def _mass(equations: Sequence[Equations], u: ca.SX) -> ca.SX:
    """Mass matrix of all velocities."""
    place = {u[k].__hash__(): k for k in range(u.numel())}
    declared = [(M, [place[of[k].__hash__()] for k in range(of.numel())]) for e in equations for M, of in e.mass]
    energies = sum((T for e in equations for T in e.kinetic), ca.SX(0))
    return mass_of_energy(energies, u) + sum_of_masses(declared, u.numel())


def _stack(rows: Sequence[ca.SX]) -> ca.SX:
    return ca.vertcat(*rows) if rows else ca.SX(0, 1)
