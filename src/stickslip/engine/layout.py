"""The memory of a program: where every field lies in it, and how much scratch space the loop needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from stickslip.engine.fields import Field, Multipliers, expand
from stickslip.engine.numbering import Numbering

K = TypeVar("K")


@dataclass(frozen=True)
class Layout:
    """Where every field lies in the memory; the parameters come first, then the numbers of detected contacts."""

    start: Mapping[Field, int]
    size: Mapping[Field, int]
    parameters: int
    total: int

    def slice(self, field: Field) -> slice:
        """The places of one field."""
        return slice(self.start[field], self.start[field] + self.size[field])

    def places(self, *fields: Field | Multipliers) -> np.ndarray:
        """The places of fields, one after another."""
        pieces = [np.arange(self.start[each], self.start[each] + self.size[each]) for each in expand(fields)]
        return np.concatenate([np.zeros(0, np.int64), *pieces])


@dataclass(frozen=True)
class Sizes:
    """Sizes of the scratch arrays that the loop needs: the largest of all stages."""

    inputs: int = 1  # of a kernel
    outputs: int = 1  # of all instances in a stage
    unknowns: int = 1
    local: int = 1  # unknowns of one instance
    instances: int = 1
    elements: int = 1  # laws of all instances
    matrix: int = 1
    gaps: int = 1  # of one instance
    entries: int = 1  # of a sparse matrix
    cones: int = 0  # kernels of the kind CONE


def slices(widths: Mapping[K, int]) -> dict[K, slice]:
    """Where pieces of these widths lie, one after another.

    >>> slices({"t": 1, "q": 3})
    {'t': slice(0, 1, None), 'q': slice(1, 4, None)}
    """
    ends = np.cumsum([0, *widths.values()]).tolist()
    return {name: slice(*pair) for name, pair in zip(widths, pairwise(ends), strict=True)}


def lay_out(fields: Sequence[Field], numbering: Numbering) -> Layout:
    """Give each field its place, one after another."""
    n_parameters = numbering.n_parameters
    start, size, total = {}, {}, n_parameters + numbering.n_numbers
    for each in fields:
        start[each], size[each] = total, numbering.size[each.space]
        total += size[each]
    return Layout(start, size, n_parameters, total)
