"""A stage written down: one sheet for each kind of part."""

from __future__ import annotations

from collections.abc import Sequence

from stickslip.engine.fields import Field
from stickslip.engine.flow import StageFunction
from stickslip.engine.numbering import Kind
from stickslip.engine.stage import Stage


def sheets_of(stage: StageFunction, kinds: Sequence[Kind], held: bool = False) -> list[Stage]:
    """The stage's sheet for each part type; `held`: positions hold the constraints."""
    affine: dict[tuple[Field, ...], bool] = {}
    sheets: list[Stage] = []
    for _ in range(2):
        sheets = [Stage(kind.type, kind.is_node, affine, held) for kind in kinds]
        for sheet in sheets:
            stage(sheet.part, sheet)
        if all(affine.values()):
            break  # else once more: a position that cannot be eliminated for one block is an unknown for all of them
    for sheet in sheets:
        for unknown, symbol in sheet.unknowns.items():
            if symbol.numel() and unknown not in sheet.equations and all(law.by != unknown for law in sheet.laws):
                raise TypeError(f"{stage.__name__}: no equation determines the unknown {unknown.name!r}")
    return sheets
