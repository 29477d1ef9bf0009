"""Kinds of contacts that can be left out altogether while they are far away: which they are, and what must stay true.

An instance that is idle contributes nothing to a stage (see `StagePattern.gaps`). It can be left out of all stages of all
steps, without being looked at, while

- its multipliers are zero, and so is what vanishes with them: nobody but itself changes them;
- marks that a step reads before it writes them say "open"; others are written before they are read, and would say so;
- what opens it stays positive: the gaps of normal laws, and fields that are nothing but masks (the gap at a predicted
  position). Bounds over a box of all inputs show that for as long as these stay in the box (`engine.naps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca

from stickslip.engine.fields import SPACES, Field
from stickslip.engine.pattern import LawPattern, StagePattern
from stickslip.engine.stage import NORMAL, Stage

FEWEST = 8  # instances of a kind that are worth the trouble


@dataclass
class Sleeper:
    """What all stages say about one kind, while they are written down."""

    can: bool = True
    silent: set[Field] = field(default_factory=set)  # multipliers
    marks: set[Field] = field(default_factory=set)
    opened_by: set[Field] = field(default_factory=set)  # masks of normal laws
    read: set[Field] = field(default_factory=set)  # by kernels
    updated: dict[Field, tuple[Stage, ca.SX]] = field(default_factory=dict)  # masks that are expressions
    positive: list[tuple[Stage, ca.SX]] = field(default_factory=list)  # expressions that must stay positive

    def problem(self, pattern: StagePattern, laws: Sequence[LawPattern]) -> None:
        """A stage that is solved."""
        idle = pattern.gaps("gaps")
        self.read |= set(pattern.fields)
        if idle is None:
            self.can = False
            return
        self.silent |= set(idle[2])
        self.marks |= {law.masks[1] for law in laws if law.masks[1] is not None}
        self.opened_by |= {law.masks[0] for law in laws if law.kind == NORMAL and law.masks[0] is not None}
        for law in pattern.sheet.laws:
            if law.kind == NORMAL and law.masks[0] is None:
                self.positive.append((pattern.sheet, law.y))

    def evaluation(self, sheet: Stage, fields: Sequence[Field], used: Sequence[Field], silent: Sequence[Field]) -> None:
        """Fields that get new values; all of them vanish with what is silent, or are masks, it is hoped."""
        self.read |= set(used) - set(silent)
        self.silent |= set(silent)
        if silent:
            self.silent |= {each for each in fields if each.space in SPACES}
        else:
            self.can = self.can and all(each.space in SPACES for each in fields)
            for each in fields:
                self.can = self.can and each not in self.updated
                self.updated[each] = (sheet, sheet.updates[each])

    def bounded(self, remembered: Sequence[Field]) -> list[tuple[Stage, ca.SX]] | None:
        """Expressions that must stay positive, or None if instances can never be left out.

        `remembered`: fields that a step reads before it writes them; a value that is out of date would be seen there.
        """
        masks = set(self.updated)
        seen = (self.read | set(remembered)) & masks
        unknown = self.opened_by - self.marks - masks
        if not self.can or seen or unknown or not self.positive + list(self.updated.values()):
            return None
        return [*self.positive, *self.updated.values()]
