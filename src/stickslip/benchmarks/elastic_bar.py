"""Elastic bars that hit a rigid wall."""

from __future__ import annotations

from math import pi

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.model.flexible import Bar
from stickslip.model.system import System
from stickslip.shapes import Polygon, Polyline, Shape, Snapshot, Touch, Wall, drawing


@benchmark(source="Schindler et al. 2014, section 7.1", dt=1e-7, t_end=6e-4)
def elastic_bar(
    N: int = 50,
    *,
    L: float = 1.0,
    S: float = pi * 1e-4,
    rho: float = 7800.0,
    E: float = 2.1e11,
    v_0: float = 0.1,
    d_0: float = 1e-5,
    e: float = 0.0,
    delta: float = 0.0,
) -> System:
    """A steel bar of N linear elements hits a rigid wall with its first node.

    q = (x_0, ..., x_N), gap x_0. The continuous bar stays in contact for 2 L/c_0 = 3.854e-4 s, c_0 = sqrt(E/rho), with
    the constant force E S v_0/c_0 = 1271 N, and leaves with -v_0 and all its energy. The mesh adds an impulse that
    stops the first node, with its energy, sqrt(3)/6 of that of an element, and fast waves behind the front. `delta`
    damps them, C = delta K. The source prints delta = 1e-3/E = 4.761e-6 s: the two are not equal, and the second makes
    its scheme unstable at dt = 1e-7; 1e3/E = 4.762e-9 s is the "small amount" that it speaks of. The initial distance
    d_0 is ours.

    The highest frequency is omega = sqrt(12) c_0 N/L: explicit schemes need dt < 2/omega, 2.2e-6 s for N = 50 and
    1.1e-7 s for N = 1000.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.elastic_bar(), t_end=6e-4, dt=1e-6)
    >>> force = solution.P_N[solution.P_N > 0] / 1e-6
    >>> bool(abs(force.mean() / 1271 - 1) < 0.01)
    True
    """
    s = System(f"elastic bar, {N} elements")
    rod = Bar(
        "bar",
        length=L,
        elements=N,
        area=S,
        density=rho,
        modulus=E,
        position=d_0,
        velocity=-v_0,
        stiffness_damping=delta,
    )
    bar = s.add(rod)
    s.contact(gap=bar.nodes[0].q[0], restitution=s.parameter("e", e), name="wall")
    s.drawing = draw
    return s


SCALE = 2e4  # the wave compresses steel by 2e-5


@drawing("elastic_bar", note=f"displacements {SCALE:g} times")
def draw(state: Snapshot) -> list[Shape]:
    """The bar with its displacements exaggerated; the marks are material points."""
    rest = state.parameters["bar.element_length"] * np.arange(len(state.q))
    return bar_shapes(rest + SCALE * (state.q - rest), half=0.04 * rest[-1])


def bar_shapes(x: np.ndarray, half: float) -> list[Shape]:
    """A bar of that half height whose nodes are at x; marks at 26 of them show where it is compressed."""
    marks = x[np.unique(np.linspace(0, len(x) - 1, 26).round().astype(int))]
    outline = [(x[0], -half), (x[-1], -half), (x[-1], half), (x[0], half)]
    return [
        Wall((0, 0), normal=(1, 0)),
        Polygon(outline),
        *[Polyline([(mark, -half), (mark, half)], "body", width=1.2) for mark in marks],
        Touch("wall", (x[0], 0.0)),
    ]
