"""Which quantities of a run are kept: `save=` of `solve`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from stickslip.errors import OptionError
from stickslip.solution import ARRAYS, NotKept, Solution

WORDS = {"energy": ("kinetic", "potential")}  # that mean several arrays


@dataclass(frozen=True)
class Selection:
    """Arrays of a solution, and quantities by name; time and what the steps cost are always kept."""

    arrays: tuple[str, ...]
    quantities: tuple[str, ...]

    def of(self, solution: Solution) -> Solution:
        """The solution with nothing but what was chosen.

        An angle is stored as it is; that it does not jump at pi is seen to where it is read, for a run that is written in
        pieces knows the turns of one piece only.
        """
        kept: dict[str, Any] = {
            name: getattr(solution, name) if name in self.arrays else NotKept(name) for name in ARRAYS
        }
        varying = solution.provenance.get("varying", {})
        extra = {name: solution.extra[name] for name in varying.values()}
        extra |= {name: np.asarray(solution[name]) for name in self.quantities}
        units = solution.quantities
        about = solution.provenance | {
            "kept": {"arrays": list(self.arrays), "quantities": {name: units[name] for name in self.quantities}}
        }
        return replace(solution, **kept, extra=extra, provenance=about)


def names_to_keep(save: Any) -> list[str]:
    """The names that `save` lists."""
    if isinstance(save, str) or not isinstance(save, Sequence) or not all(isinstance(name, str) for name in save):
        raise OptionError(f"save = {save!r} must be a list of names, such as ['q', 'P_N', 'energy.total']")
    return list(save)


def selection(save: Any, example: Solution) -> Selection | None:
    """What `save` asks for; `example` is a solution of the same system, whose names are known."""
    if save is None:
        return None
    save, known = names_to_keep(save), example.quantities
    arrays, quantities = ["t"], []
    for name in dict.fromkeys(save):
        if name in WORDS or name in ARRAYS:
            arrays += [each for each in WORDS.get(name, (name,)) if each not in arrays]
        elif name in known and "/" in name:
            raise OptionError(
                f"save: {name!r} cannot be kept under this name, files use '/'; keep the array that it is part of"
            )
        elif name in known:
            quantities.append(name)
        else:
            close = get_close_matches(name, list(dict.fromkeys([*ARRAYS, *WORDS, *known])), n=3, cutoff=0.5)
            hint = f"; did you mean {', '.join(map(repr, close))}?" if close else "."
            raise OptionError(
                f"save: unknown quantity {name!r}{hint} Arrays: {', '.join(ARRAYS)}. `solution.quantities` lists the others"
            )
    return Selection(tuple(arrays), tuple(quantities))
