"""Contacts that jam impact without restitution.

Friction can hold forces of any size between contacts that jam (`nonsmooth.jam`), so no percussions make them separate as
Newton's impact law asks. In the plane enumeration proves that such a step has no solution; in space percussions grow without
bound. Without restitution it has one: velocities of zero are admissible, and the condition of Acary, Cadoux, Lemarechal and
Malick holds. So contacts of a jam give up their restitution, for this step, then others that still jam, until a solution is
found: a row of spheres that is wedged between two walls stops there. `solved_by` counts these stages under JAMMED.

Jams that have another cause remain, such as walls that move towards each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.engine.fields import PLASTIC, Space

if TYPE_CHECKING:
    from stickslip.engine.layout import Layout
    from stickslip.engine.local import LocalProblem
    from stickslip.engine.tables import Tables

JAMMED = "jam without restitution"
CARRIES = 1e-3  # of the largest force of a jam: contacts with less are not part of it
LEAST = 1e-9  # of the free velocities: a change that is not due to rounding


def marks_of(
    tables: Tables, k: int, memory: np.ndarray, layout: Layout, unknown: np.ndarray, forces: np.ndarray
) -> np.ndarray:
    """Where contacts of a jam are marked PLASTIC that are not yet: those with these normal forces for unknowns of stage k."""
    stage, marks = tables.problems[k], [np.zeros(0, np.int64)]
    carrying = unknown[forces > CARRIES * forces.max()]
    for segment in tables.segments[stage["segment_0"] : stage["segment_1"]]:
        offset = carrying - int(segment["first"])
        places = int(segment["start"]) + offset[(offset >= 0) & (offset < segment["length"])]
        for each, start in layout.start.items():
            if each.space is Space.N:
                inside = places[(places >= start) & (places < start + layout.size[each])] - start
                marks.append(layout.start[PLASTIC] + inside)
    found = np.unique(np.concatenate(marks))
    fresh: np.ndarray = found[memory[found] == 0.0]
    return fresh


def eased(before: LocalProblem, after: LocalProblem | None, forces: np.ndarray) -> bool:
    """Whether the step asks the contacts of a jam for other velocities than before.

    It does not if they have no restitution, or jam in a law that knows none (of positions, of accelerations).
    """
    if after is None:
        return False
    asked = dict(zip(after.unknown.tolist(), after.problem.q.tolist(), strict=True))
    return any(
        abs(asked[i] - q) > LEAST * scale
        for i, q, scale, force in zip(
            before.unknown.tolist(), before.problem.q, before.problem.scales.scale, forces, strict=True
        )
        if force > 0.0 and i in asked
    )
