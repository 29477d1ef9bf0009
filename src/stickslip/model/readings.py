"""What can be read off a system by name: units of its columns, and quantities of its parts as expressions.

Springs, motors and controllers say themselves what they exert (`sensors`); joints have their measures.
"""

from __future__ import annotations

from typing import Any

from stickslip.math import column
from stickslip.model.contacts import Rolling
from stickslip.model.declaration import Sensor
from stickslip.model.drives import Friction, Gear, Limits, Motion
from stickslip.model.forces import FORCE_UNITS
from stickslip.model.joints import Joint
from stickslip.model.measures import Measure
from stickslip.model.system import System

MEASURES = ("angle", "displacement", "distance")
"""Measures that joints may have."""


def units_of(system: System) -> dict[str, str]:
    """Units by name: of coordinates and velocities, of the forces of constraints, and of the gaps of contacts.

    What is not known is not there. Forces of a system's own constraints are not; its own gaps are lengths.
    """
    units: dict[str, str] = {}
    for block in system.blocks:
        units |= dict(zip(block.q_names, block.q_units or ("",) * len(block.q_names), strict=True))
        units |= dict(zip(block.u_names, block.u_units or ("",) * len(block.u_names), strict=True))
    for part in system.parts:
        if isinstance(part, Joint):
            units |= {part.name: "N", f"{part.name}.axis": "N m", f"{part.name}.angle": "N m"}
            units[f"{part.name}.thread"] = "N"
        elif isinstance(part, Rolling):
            units |= {part.name: "N", f"{part.name}.touch": "N"}
        elif isinstance(part, Motion):
            units[part.name] = FORCE_UNITS[part.measure.unit]
        elif isinstance(part, Gear):
            units[part.name] = FORCE_UNITS[part.measure_1.unit]
        elif isinstance(part, Limits):
            units |= {f"{part.name}.{end}": part.measure.unit for end in ("lower", "upper")}
        elif isinstance(part, Friction):
            units[part.name] = part.measure.unit
    return units


def sensors_of(system: System) -> dict[str, Sensor]:
    """Quantities of parts by name, such as spring.force and pin.angle; in the symbols of the system, nothing is declared.

    >>> import stickslip as ss
    >>> s = ss.System()
    >>> ball = s.add(ss.PointMass("ball", mass=1, position=[0, -1]))
    >>> spring = s.add(ss.SpringDamper("spring", ss.ground.point(0, 0), ball.point(), stiffness=100, rest_length=1))
    >>> list(sensors_of(s))
    ['spring.length', 'spring.elongation', 'spring.force']
    """
    reading: Any = Reading(system)
    out: dict[str, Sensor] = {}
    for part in system.parts:
        if isinstance(part, Joint):
            for name in MEASURES:
                if isinstance(measure := getattr(part, name, None), Measure):
                    x = measure.quantity(reading, "")
                    out[f"{part.name}.{name}"] = Sensor(column(x.value), measure.unit)
                    out[f"{part.name}.{name}_dot"] = Sensor(column(x.rate), f"{measure.unit}/s")
        elif hasattr(part, "sensors"):
            out |= {f"{part.name}.{name}": sensor for name, sensor in part.sensors(reading).items()}
    return out


def value_of(system: System, expression: Any) -> Any:
    """An expression, or that of a measure; its numbers stay numbers, nothing is declared."""
    reading: Any = Reading(system)
    return expression.quantity(reading, "").value if isinstance(expression, Measure) else expression


class Reading:
    """A system as measures see it, which can be asked but not changed: a parameter is the one declared, or its value."""

    def __init__(self, system: System):
        self._system, self._declared = system, system.parameter_symbols()

    def parameter(self, name: str, value: Any, **_ranges: float) -> Any:
        """The symbol of a declared parameter; of another, the value."""
        if name not in self._declared and "]." in name:  # of a copy, which has those of the first
            part, _, key = name.partition("].")
            made = self._system.copies.get(f"{part}]")
            name = name if made is None else f"{made.like}.{key}"
        return self._declared.get(name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)
