"""Cross-sections of spatial beams: area, moments of area, torsion constant and shear area, as arguments of the beam."""

from __future__ import annotations

from typing import Any

from stickslip.math import pi
from stickslip.model.given import require_positive


def circular(radius: float) -> dict[str, Any]:
    """A full circle; its shear area is 9/10 of the area.

    >>> section = circular(0.01)
    >>> round(section["torsion"] / section["moments"][0], 6)
    2.0
    """
    require_positive("circular section", radius=radius)
    area, moment = pi * radius**2, pi * radius**4 / 4
    return {"area": area, "moments": (moment, moment), "torsion": 2 * moment, "shear_area": 0.9 * area}


def rectangular(width: float, height: float) -> dict[str, Any]:
    """A rectangle, `width` along y and `height` along z; its shear area is 5/6 of the area.

    The torsion constant approximates Saint-Venant's series within 0.5 %.

    >>> section = rectangular(0.02, 0.01)
    >>> round(section["moments"][1] / section["moments"][0], 6)
    4.0
    """
    require_positive("rectangular section", width=width, height=height)
    a, b = max(width, height), min(width, height)
    torsion = a * b**3 * (1 / 3 - 0.21 * b / a * (1 - (b / a) ** 4 / 12))
    moments = (width * height**3 / 12, height * width**3 / 12)
    return {"area": a * b, "moments": moments, "torsion": torsion, "shear_area": 5 / 6 * a * b}
