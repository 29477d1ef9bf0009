"""Forces of redundant mechanisms: how far the joint percussions of each scheme are from those of minimum norm.

python bench/redundant.py [--methods NAMES] [--only NAME] [--share 1.0]

The norm is that of docs/convergence.md: each constraint in units of its Delassus diagonal w_i = sum_j W_ji^2/M_jj. What lies
in the null space of W (self-stress) changes no motion; its share of the percussions is printed, with the largest force. The
rank of W is that of the start, where the constraints hold exactly. Schemes that know no quaternions run the planar mechanism.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np

import stickslip as ss
from stickslip.engine.observe import observe
from stickslip.solve.prepared import prepare

G = 9.81


def door() -> ss.System:
    """A door on two hinges: ten constraints for five."""
    s = ss.System("door")
    s.add(ss.Gravity([0, 0, -G]))
    m, J = ss.inertia.box(0.8, 0.04, 2.0, mass=30.0)
    spin = {"velocity": [0, 0.4, 0], "angular_velocity": [0, 0, 1.0]}
    body = s.add(ss.RigidBody("door", mass=m, inertia=J, position=[0.4, 0, 1.0], **spin))
    for name, z in (("upper", 0.8), ("lower", -0.8)):
        s.add(ss.Revolute(name, ss.ground.point(0, 0, 1.0 + z), body.point(-0.4, 0, z), axis=[0, 0, 1]))
    return s


def loop(name: str, points: np.ndarray, axes: np.ndarray, gravity: bool = True) -> ss.System:
    """A closed chain of bars with one revolute joint at each point, about its axis; the first bar is the ground."""
    s, n = ss.System(name), len(points)
    if gravity:
        s.add(ss.Gravity([0, 0, -G]))
    bars: list = [ss.ground]
    for k in range(1, n):
        a, b = points[k], points[(k + 1) % n]
        length = np.linalg.norm(b - a)
        m, J = 1.0, [max(length**2 / 12, 1e-3)] * 3
        bars.append(s.add(ss.RigidBody(f"bar {k}", mass=m, inertia=J, position=(a + b) / 2)))
    center = [np.zeros(3)] + [(points[k] + points[(k + 1) % n]) / 2 for k in range(1, n)]
    for k in range(n):
        before = (k - 1) % n
        first, second = bars[before], bars[k]
        at = [first.point(*(points[k] - center[before])), second.point(*(points[k] - center[k]))]
        s.add(ss.Revolute(f"joint {k}", *at, axis=axes[k]))
    return s


def bennett(theta: float = 0.8) -> ss.System:
    """Bennett's linkage: four skew axes that Gruebler's formula holds for rigid."""
    a, b, alpha = 1.0, 1.5, 0.5
    beta = float(np.arcsin(b * np.sin(alpha) / a))
    frames = _closed([(a, alpha), (b, beta), (a, alpha), (b, beta)], theta)
    return loop("Bennett linkage", np.array([f[:3, 3] for f in frames]), np.array([f[:3, 2] for f in frames]))


def _denavit(turn: float, length: float, twist: float) -> np.ndarray:
    c, s, ct, st = np.cos(turn), np.sin(turn), np.cos(twist), np.sin(twist)
    return np.array([[c, -s * ct, s * st, length * c], [s, c * ct, -c * st, length * s], [0, st, ct, 0], [0, 0, 0, 1]])


def _closed(links: list[tuple[float, float]], first: float) -> list[np.ndarray]:
    """Frames of a loop that closes: angles by Gauss-Newton, the first one given."""
    from scipy.optimize import least_squares

    def gap(turns: np.ndarray) -> np.ndarray:
        T = np.eye(4)
        for turn, (length, twist) in zip([first, *turns], links, strict=True):
            T = T @ _denavit(turn, length, twist)
        return (T - np.eye(4))[:3].ravel()

    best = min(
        (
            least_squares(gap, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
            for start in np.random.default_rng(0).uniform(-3, 3, (40, len(links) - 1))
        ),
        key=lambda found: found.cost,
    )
    if best.cost > 1e-20:
        raise ValueError(f"the loop does not close: {best.cost:.1e}")
    out, T = [], np.eye(4)
    for turn, (length, twist) in zip([first, *best.x], links, strict=True):
        out.append(T.copy())
        T = T @ _denavit(turn, length, twist)
    return out


def bricard() -> ss.System:
    """Bricard's threefold-symmetric loop: six bars of equal length, axes twisted by 90 degrees."""
    frames = _closed([(1.0, np.pi / 2 * (-1) ** k) for k in range(6)], 0.9)
    return loop("Bricard linkage", np.array([f[:3, 3] for f in frames]), np.array([f[:3, 2] for f in frames]))


def four_bar() -> ss.System:
    """A planar four-bar in space: four parallel axes, three constraints too many."""
    points = np.array([[0, 0, 0], [0, 0.3, 0.4], [1.1, 0.2, 0.9], [1.0, 0, 0]], float)
    points[:, 1] = 0.0
    return loop("four-bar", points, np.array([[0, 1.0, 0]] * 4))


def parallelogram() -> ss.System:
    """A bar on three equal parallel cranks, in the plane: one constraint too many.

    It swings below its change points, where all bars lie in one line, a further constraint becomes dependent, and forces have
    no limit: event-driven ends there with an error.
    """
    s = ss.System("parallelogram")
    s.add(ss.Gravity([0, -G]))
    along = np.array([np.cos(0.6), -np.sin(0.6)])
    bar = s.add(ss.PlanarBody("bar", mass=2.0, inertia=0.5, position=along))
    for k, x in enumerate((-1.0, 0.1, 1.0)):
        crank = s.add(
            ss.PlanarBody(
                f"crank {k}",
                mass=1.0,
                inertia=1 / 12,
                position=[x, 0] + along / 2,
                angle=float(np.arctan2(*along[::-1])),
            )
        )
        s.add(ss.Revolute(f"pin {k}", ss.ground.point(x, 0), crank.point(-0.5, 0)))
        s.add(ss.Revolute(f"head {k}", crank.point(0.5, 0), bar.point(x, 0)))
    return s


def self_stress(system: ss.System, solution: ss.Solution) -> tuple[float, float]:
    """The largest share of self-stress in the percussions of a step, and the largest force."""
    ready = prepare(system)
    values = np.array(list(system.parameter_values().values()))
    n, worst, force, rank = system.n_u, 0.0, 0.0, 0
    rows = np.unique(np.linspace(1, len(solution.t) - 1, 200).astype(int))
    for k in [0, *rows]:
        q = np.repeat(solution.q[k][None, :], n + 1, axis=0)
        u = np.vstack([np.zeros(n), np.eye(n)])
        g_dot = observe(ready.observing, values, np.full(n + 1, solution.t[k]), q, u)["g_dot"]
        W = g_dot[1:] - g_dot[0]
        kinetic = observe(ready.observing, values, np.full(n + 1, solution.t[k]), q, u)["kinetic"].ravel()
        w = (W**2 / (2 * kinetic[1:])[:, None]).sum(axis=0)
        P = solution.P_g[k] * np.sqrt(w)
        _, sigma, V = np.linalg.svd(W / np.sqrt(w))
        if k == 0:
            rank = int((sigma > 1e-6 * sigma[0]).sum())
            continue
        free = V[rank:]
        worst = max(worst, np.abs(free.T @ (free @ P)).max() / np.abs(P).max())
        force = max(force, np.abs(solution.P_g[k]).max() / (solution.t[k] - solution.t[k - 1]))
    return worst, force


CASES: dict[str, tuple[Callable[[], ss.System], float, float]] = {
    "door": (door, 60.0, 5e-3),
    "bennett": (bennett, 10.0, 2e-3),
    "bricard": (bricard, 2.0, 2e-3),
    "four-bar": (four_bar, 2.0, 2e-3),
    "planar": (parallelogram, 10.0, 2e-3),
}


def main() -> None:
    """Print the table."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--methods", default=",".join(ss.METHODS))
    parse.add_argument("--only", default=",".join(CASES))
    parse.add_argument("--share", type=float, default=1.0)
    given = parse.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'mechanism':10} {'scheme':26} {'self-stress':>12} {'largest force':>14}")
    for name in given.only.split(","):
        build, t_end, dt = CASES[name]
        system = build()
        for method in given.methods.split(","):
            if not ss.METHODS[method]().facts.general_kinematics and name != "planar":
                continue
            try:
                solution = ss.solve(system, given.share * t_end, dt, method=method, energy_alarm=False, progress=False)
                share, force = self_stress(system, solution)
                print(f"{name:10} {method:26} {share:12.2e} {force:12.1f} N", flush=True)
            except (ss.ConvergenceError, ss.MethodError) as error:
                print(f"{name:10} {method:26} {str(error)[:150]}", flush=True)


if __name__ == "__main__":
    main()
