"""A stage written down: one sheet for each kind of part.

A sheet of a scheme of the package depends on nothing but the stage and the mathematics of the part. So a mechanism that is
declared again, or another one of the same parts, finds the sheets there already, with all that was derived and compiled from
them: a slider-crank's first step by RATTLE takes 20 ms instead of 50 then, by Lobatto's scheme 30 instead of 107.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

from stickslip.engine.fields import Field
from stickslip.engine.flow import StageFunction
from stickslip.engine.numbering import Kind
from stickslip.engine.stage import Stage

# Sheets of systems that are gone stay, the last ones that were used. Each counts with the operations that its part declares,
# which take about 0.5 kB each: derivatives, patterns, kernels.
KEPT = 50_000
_kept: OrderedDict[Hashable, Stage] = OrderedDict()
_size = 0
_lock = threading.RLock()


def sheets_of(stage: StageFunction, kinds: Sequence[Kind], held: bool = False) -> list[Stage]:
    """The stage's sheet for each part type; `held`: positions hold the constraints."""
    affine: dict[tuple[Field, ...], bool] = {}
    sheets: list[Stage] = []
    for _ in range(2):
        sheets = [_sheet(stage, kind, affine, held) for kind in kinds]
        if all(affine.values()):
            break  # else once more: a position that cannot be eliminated for one block is an unknown for all of them
    for sheet in sheets:
        for unknown, symbol in sheet.unknowns.items():
            if symbol.numel() and unknown not in sheet.equations and all(law.by != unknown for law in sheet.laws):
                raise TypeError(f"{stage.__name__}: no equation determines the unknown {unknown.name!r}")
    return sheets


def _sheet(stage: StageFunction, kind: Kind, affine: dict[tuple[Field, ...], bool], held: bool) -> Stage:
    """One sheet; `affine` learns what it says about positions."""
    sheet = (_shared if _lasts(stage) else _written)(stage, kind, affine, held)
    affine |= sheet.affine
    return sheet


def _written(stage: StageFunction, kind: Kind, affine: dict[tuple[Field, ...], bool], held: bool) -> Stage:
    def write(apart: list | None) -> Stage:
        sheet = Stage(kind.type, kind.is_node, dict(affine), held, positions_apart=apart)
        stage(sheet.part, sheet)
        return sheet

    sheet = write(None)
    sheet.again = partial(write, [])
    return sheet


def _shared(stage: StageFunction, kind: Kind, affine: dict[tuple[Field, ...], bool], held: bool) -> Stage:
    global _size
    # Schemes are values: equal ones write the same.
    key = (*_parts(stage), kind.type.key, kind.is_node, held, frozenset(affine.items()))
    with _lock:
        sheet = _kept.pop(key, None)
        if sheet is None:
            sheet = _written(stage, kind, affine, held)
            _size += kind.type.operations
        _kept[key] = sheet
        while _size > KEPT:
            _size -= _kept.popitem(last=False)[1].part.operations
    return sheet


def _lasts(stage: StageFunction) -> bool:
    """Whether a stage says the same as long as the process lives, as those of the package do.

    A user's may read names that have changed since, or have another text by now: notebooks put it into functions that are there
    (autoreload).
    """
    function, scheme = _parts(stage)
    texts = [function, *(() if scheme is None else type(scheme).__mro__[:-1])]
    return all(str(getattr(each, "__module__", "")).partition(".")[0] == "stickslip" for each in texts)


def _parts(stage: StageFunction) -> tuple[Any, Any]:
    """Its function, and the scheme whose method it is."""
    scheme: Any = getattr(stage, "__self__", None)
    return stage if scheme is None else getattr(stage, "__func__", stage), scheme
