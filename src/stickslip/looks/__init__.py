"""What a mechanism looks like by itself: every part shows itself, and the picture is kept with the solution as data.

>>> import stickslip as ss
>>> s = ss.System("pendulum")
>>> rod = s.add(ss.PlanarBody("rod", mass=1, inertia=0.1, position=[1, 0]))
>>> pin = s.add(ss.Revolute("pin", ss.ground.point(0, 0), rod.point(-1, 0)))
>>> [solid["kind"] for solid in look_of(s).record(s.parameters)["solids"]]
['support', 'pin', 'link', 'box']

A new part shows itself by a method `look(sketch)`; those of the library are in this package.
"""

from stickslip.looks.parts import look_of
from stickslip.looks.sketch import AXIAL, Sketch, symbols
from stickslip.looks.tape import evaluate

__all__ = ["AXIAL", "Sketch", "evaluate", "look_of", "symbols"]
