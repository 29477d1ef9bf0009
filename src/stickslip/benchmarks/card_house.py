"""A house of cards."""

from __future__ import annotations

import math

from stickslip.benchmarks.registry import benchmark
from stickslip.model import Capsule, Collisions, Gravity, Line, ground, solid
from stickslip.model.system import System

LENGTH, THICK, DENSITY = 0.09, 0.0005, 600.0  # a card with round edges: the distance of their centres, and their radius


@benchmark(source="statics", dt=5e-4, t_end=0.5)
def card_house(*, levels: int = 3, angle: float = 25.0, mu: float = 0.2, g: float = 9.81) -> System:
    """A house of cards, which stands on friction alone.

    Two cards of weight W lean on each other at an angle (degrees) from the vertical. If each carries a load V on its top, it
    pushes with (W/2 + V) tan(angle) and presses with W + V: the pair stands if mu (W + V) > (W/2 + V) tan(angle). So one pair
    stands for mu > tan(angle)/2, and what lies on it makes it need more. A flat card ties the pairs above it together.

    The default has too little friction (tan(25 degrees)/2 = 0.233): it begins to slide everywhere at once, and falls. With mu
    = 0.5 houses of any height stand, since tan(25 degrees) = 0.466.

    >>> import stickslip as ss
    >>> solution = ss.solve(ss.benchmarks.card_house(levels=1, mu=0.3), t_end=0.05, dt=1e-3)
    >>> bool(abs(solution.u[-1]).max() < 1e-7)
    True
    """
    s = System("card house")
    s.add(Gravity([0, -g]))
    a = math.radians(angle)
    width = 2 * (LENGTH * math.sin(a) + 3 * THICK)  # of a pair; there is room between the feet of two
    height = LENGTH * math.cos(a) + 4 * THICK  # of a level with flat cards
    cards = []

    def card(name: str, *ends: tuple[float, float]) -> None:
        shape = Capsule(ground.point(*ends[0]), ground.point(*ends[1]), THICK)
        cards.append(s.add(solid(name, shape, density=DENSITY)))

    for level in range(levels):
        pairs, low = levels - level, level * height
        for k in range(pairs):
            middle = (k - (pairs - 1) / 2) * width
            for name, side in (("left", -1), ("right", 1)):
                foot = (middle + side * (THICK + LENGTH * math.sin(a)), low + THICK)
                top = (middle + side * THICK, low + THICK + LENGTH * math.cos(a))
                card(f"{name} {level}.{k}", foot, top)
        for k in range(pairs - 1):
            middle, outside = (k - (pairs - 2) / 2) * width, 0.1 * LENGTH
            # Over both cards of an outer pair, else up to its neighbour.
            left = middle - width / 2 - (outside if k == 0 else -THICK)
            right = middle + width / 2 + (outside if k == pairs - 2 else -THICK)
            card(f"flat {level}.{k}", (left, low + height - THICK), (right, low + height - THICK))
    s.add(Collisions("contacts", [*cards, Line([0, 0], [0, 1])], friction=mu))
    return s
