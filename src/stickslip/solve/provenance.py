"""Where a result comes from: versions, date, units of measures, and what the mechanism looks like."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from stickslip._version import __version__
from stickslip.looks import look_of
from stickslip.model.collisions import collisions_of
from stickslip.model.system import System
from stickslip.solve.prepared import compiled


def described(system: System, given: Mapping[str, float], save_every: int) -> dict[str, Any]:
    """What every provenance says besides its call: versions, date, units of measures, and what it looks like."""
    about: dict[str, Any] = {
        **_versions(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    if save_every > 1:
        about["save_every"] = save_every
    if system.drawing is not None:
        # by name: the solution stays data; all parameters: they may come from the system's builder
        about["drawing"] = {"name": system.drawing.name, "parameters": dict(given)}
    if system.measures:
        about["measures"] = {name: sensor.unit for name, sensor in system.measures.items()}
    collisions = collisions_of(system)
    if collisions is not None:
        smooth = np.argwhere(collisions.law_values(given)[:, :, 0] == 0).tolist()
        if smooth:  # pairs of materials without friction, and the material of each shape where there are several
            about["frictionless"] = {
                "pairs": smooth,
                "material": collisions.material if len(collisions.materials) > 1 else [],
            }
    about["look"] = _look(system, given)
    return about


def _look(system: System, parameters: Mapping[str, float]) -> dict[str, Any]:
    """What the parts look like, as data. A part that cannot be drawn must not cost a result: viewing it says why."""
    try:
        return compiled(system, ("look", len(system.shown)), lambda: look_of(system)).record(parameters)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


@cache
def _versions() -> dict[str, str]:
    import casadi
    import numba

    return {
        "stickslip": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "casadi": casadi.__version__,
        "numba": numba.__version__,
        "platform": platform.platform(),
    }
