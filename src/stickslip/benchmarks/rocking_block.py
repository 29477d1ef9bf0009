"""The rocking block."""

from __future__ import annotations

import numpy as np

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Contact, Gravity, Line, PlanarBody
from stickslip.model.system import System
from stickslip.shapes import GroundLine, Polygon, Shape, Snapshot, Touch, box, drawing, placed


@benchmark(source="Housner 1963, Bull. Seism. Soc. Am. 53, 403-417", dt=1e-3, t_end=3.0)
def rocking_block(
    *,
    m: float = 1.0,
    b: float = 0.1,
    h: float = 0.5,
    theta: float = 0.1,
    g: float = 9.81,
    mu: float = 1.0,
    e_N: float = 0.0,
) -> System:
    """A tall block that is tilted and let go: it rocks from one lower edge to the other.

    Width 2 b, height 2 h, R^2 = b^2 + h^2, tan(alpha) = b/h. It turns about the edge that touches,

        thetaddot = -p^2 sin(alpha - theta),    p^2 = 3 g/(4 R),

    so that a slender block returns from theta to 0 in the time arccosh(1/(1 - theta/alpha))/p. At an impact the other edge
    takes over. The impulse acts there alone, so the angular momentum about it is kept, and the angular velocity falls to
    1 - 3/2 sin^2(alpha) of itself. Both follow here from two contacts with friction and e_N = 0.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.rocking_block(), t_end=1.0, dt=1e-3)
    >>> bool(solution.q[400, 2] > 0 > solution.q[0, 2])
    True
    """
    s = System("rocking block")
    b_, h_ = s.parameter("b", b), s.parameter("h", h)
    c, sin = np.cos(theta), np.sin(theta)
    block = s.add(
        PlanarBody(
            "block",
            mass=m,
            inertia=m * (b_**2 + h_**2) / 3,
            position=[b - c * b + sin * h, sin * b + c * h],
            angle=-theta,
        )
    )
    s.add(Gravity([0, -g]))
    law = {"friction": s.parameter("mu", mu), "restitution": s.parameter("e_N", e_N)}
    for name, side in (("left", -b_), ("right", b_)):
        s.add(Contact(name, block.point(side, -h_), Line([0, 0], [0, 1]), **law))
    s.drawing = draw
    return s


@drawing("rocking_block")
def draw(state: Snapshot) -> list[Shape]:
    """The block on its table."""
    x, y, phi = state.q
    b, h = state.parameters["b"], state.parameters["h"]
    left, right = placed([(-b, -h), (b, -h)], (x, y), phi)
    return [
        GroundLine([(-5 * b, 0), (5 * b, 0)]),
        Polygon(placed(box(b, h), (x, y), phi), "body"),
        Touch("left", left),
        Touch("right", right),
    ]
