"""The elastic bar that hits a rigid wall."""

from __future__ import annotations

from stickslip.benchmarks.elastic_bar import bar_shapes
from stickslip.benchmarks.registry import benchmark
from stickslip.model.flexible import Bar
from stickslip.model.system import System
from stickslip.shapes import Shape, Snapshot, drawing


@benchmark(
    source="Brüls, Acary, Cardona 2018, section 6.3 (Doyen et al. 2011)", dt=2e-3, t_end=2.0, method="generalized-alpha"
)
def elastic_bar_drop(
    *,
    elements: int = 200,
    E: float = 900.0,
    rho: float = 1.0,
    L: float = 10.0,
    d0: float = 5.0,
    v0: float = 10.0,
    e: float = 0.0,
) -> System:
    """An elastic bar flies against a wall, is compressed, and leaves it after two passages of the wave.

    q = places of the n + 1 nodes of the bar, node 0 in front; linear elements of length l = L/n and unit area with
    stiffness E/l and consistent mass rho l/6 (2, 1; 1, 2). Gap q_0. Exact: contact from d0/v0 for 2 L
    sqrt(rho/E) = 2/3 s with the force v0 sqrt(E rho) = 300, then it flies back with v0; energy is conserved. The mesh
    makes the contact node a mass of its own, whose restitution e is a parameter of the mesh and not of the bar.

    >>> import stickslip as ss
    >>> bar = ss.benchmarks.elastic_bar_drop(elements=20)
    >>> solution = ss.solve(bar, t_end=0.8, dt=2e-3, method="generalized-alpha", rho_inf=0.8)
    >>> force = solution.P_N[300:, 0].mean() / 2e-3  # from t = 0.6 on
    >>> bool(abs(force - 300) < 3)
    True
    """
    s = System(f"elastic bar of {elements} elements")
    bar = s.add(Bar("bar", length=L, elements=elements, area=1.0, density=rho, modulus=E, position=d0, velocity=-v0))
    s.contact(gap=bar.nodes[0].q[0], restitution=s.parameter("e", e), name="wall")
    s.drawing = draw
    return s


@drawing("elastic_bar_drop")
def draw(state: Snapshot) -> list[Shape]:
    """The bar as it is; the marks are material points."""
    length = state.parameters["bar.element_length"] * (len(state.q) - 1)
    return bar_shapes(state.q, half=0.04 * length)
