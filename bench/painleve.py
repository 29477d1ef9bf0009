"""Painleve's rod from random starts, by every scheme: does it end, in a valid state, without energy from nowhere?

python bench/painleve.py [number of starts] [methods ...]

A slender rod falls or slides on a rough floor, mu up to 3. For mu > 4/3 there are states in which no acceleration exists
(Painleve's paradox), and others in which there are several. Three of four starts have a tip on the floor.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

import stickslip as ss
from stickslip.math import sin

T_END, DT = 0.6, 1e-3
VARIANTS = (
    *sorted(ss.METHODS),
    "rattle:variant=printed",
    "rattle:variant=midpoint",
    "lobatto:stages=4",
    "lobatto:stages=5",
    "lobatto:variant=midpoint",
    "generalized-alpha:constraints=PVV",
    "generalized-alpha:friction=smooth",
)


class RodStart(NamedTuple):
    """Friction coefficient, coordinates and velocities."""

    mu: float
    q: np.ndarray
    u: np.ndarray


def rod(friction: bool = True) -> ss.System:
    """Mass 1, half length 1, both tips may touch the floor."""
    s = ss.System("Painleve's rod")
    (_, y, phi), u = s.coordinates("x y phi", initial=[0, 1, 0.5], velocity=[0, 0, 0])
    s.kinetic_energy((u[0] ** 2 + u[1] ** 2 + u[2] ** 2 / 3) / 2)
    s.potential_energy(9.81 * y)
    mu = s.parameter("mu", 0.5) if friction else None
    for name, a in (("left", -1.0), ("right", 1.0)):
        law = {"slip": u[0] - a * sin(phi) * u[2], "friction": mu} if friction else {}
        s.contact(gap=y + a * sin(phi), name=name, **law)
    return s


def starts(count: int, seed: int = 0) -> list[RodStart]:
    """Random ones: one tip on the floor, or up to 0.2 above it and falling."""
    random, out = np.random.default_rng(seed), []
    for _ in range(count):
        mu, phi = random.uniform(0, 3), random.uniform(0.05, np.pi / 2 - 0.05) * random.choice([-1, 1])
        spin, slip = random.uniform(-4, 4), random.uniform(-4, 4)
        above = random.choice([0, 0, 0, 1])
        gap, falls = above * random.uniform(0, 0.2), -above * random.uniform(0, 2)
        a = -np.sign(phi)  # the lower tip
        q = np.array([0, gap - a * np.sin(phi), phi])
        out.append(RodStart(mu, q, np.array([slip + a * np.sin(phi) * spin, falls - a * np.cos(phi) * spin, spin])))
    return out


def allowed(method: str) -> tuple[float, float]:
    """Rise of the energy, over the largest kinetic energy, and penetration that a scheme's facts allow.

    Explicit forces of order 1 know the kinetic energy of a step to about 10 dt; a scheme of order 2 to a small part of dt.
    """
    facts = _scheme(method).facts
    if facts.order is None:
        return 1e-9, 1e-9
    rise = 10 * DT if min(facts.order, facts.contact_order or facts.order) == 1 else 0.1 * DT
    return rise, 1e-7 if facts.contact_level == "position" else 0.05


def judge(system: ss.System, method: str, start: RodStart) -> tuple[str, float]:
    """What became of one start, and how much the energy rose; "valid" is good."""
    friction = _scheme(method).facts.friction
    try:
        s = ss.solve(
            system,
            t_end=T_END,
            dt=10 * DT if method == "event-driven" else DT,
            method=method,
            q0=start.q,
            u0=start.u,
            parameters={"mu": start.mu} if friction else None,
            progress=False,
            energy_alarm=False,
        )
    except ss.ConvergenceError as error:
        return ("no acceleration exists" if "no acceleration exists" in str(error) else "not solved"), 0.0
    except Exception as error:
        return f"bare {type(error).__name__}", 0.0
    energy = s.kinetic + s.potential
    if not (np.isfinite(energy).all() and np.isfinite(s.q).all()):
        return "not finite", np.inf
    rise = float((energy - np.minimum.accumulate(energy)).max() / max(1.0, s.kinetic.max()))
    most, depth = allowed(method)
    if rise > most:
        return "energy rises", rise
    if s.gap.min() < -depth:
        return "penetrates", rise
    # event-driven: P_N may be negative by what stops a contact that leaves slower than rest_velocity
    if friction and (np.abs(s.P_F) - start.mu * np.maximum(s.P_N, 0)).max() > 1e-4:
        return "outside of the friction cone", rise
    return "valid", rise


def study(method: str, count: int, seed: int = 0) -> tuple[Counter[str], float]:
    """All starts: how often what happened, and the largest rise of the energy."""
    system, rows = rod(_scheme(method).facts.friction), []
    for start in starts(count, seed):
        rows.append(judge(system, method, start))
    return Counter(what for what, _ in rows), max(rise for _, rise in rows)


def _scheme(method: str) -> ss.Scheme:
    from stickslip.schemes.spec import scheme_of

    return scheme_of(method, {})


def main() -> None:
    """Print the table in Markdown."""
    warnings.simplefilter("ignore")
    count, methods = int(sys.argv[1]) if len(sys.argv) > 1 else 500, sys.argv[2:] or VARIANTS
    print("| method | outcome | largest rise of energy | allowed | seconds |\n| --- | --- | --- | --- | --- |")
    for method in methods:
        begin = time.perf_counter()
        outcome, rise = study(method, count)
        text = ", ".join(f"{what} {number}" for what, number in outcome.most_common())
        print(
            f"| {method} | {text} | {rise:.1e} | {allowed(method)[0]:.0e} | {time.perf_counter() - begin:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
