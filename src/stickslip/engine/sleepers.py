"""Kinds of contacts that can be left out altogether while they are far away: which they are, and what must stay true.

An instance that is idle contributes nothing to a stage (see `StagePattern.gaps`). It can be left out of all stages of all
steps, without being looked at, if nobody could tell when it is looked at again. So every field that belongs to it has a value
that it keeps while it sleeps:

- 0: multipliers, what vanishes with them, and fields that ask for a branch of the program ("it closes");
- 1: masks that open a contact, the marks of such contacts, and what is carried from or to them.

These values are a hypothesis. All that a step writes is held against it, with the values put in: a total must be zero, and a
field must get the value that it has. Where that depends on the state, bounds over a box of all inputs show it for as long as
these stay in the box (`engine.naps`): the gaps of normal laws, masks that are gaps, comparisons of gaps with something.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import casadi as ca

from stickslip.engine.fields import EXCEPTIONS, MODEL_SIZES, SPACES, UNSETTLED, Field
from stickslip.engine.pattern import LawPattern, StagePattern
from stickslip.engine.stage import NORMAL, Stage

FEWEST = 8  # instances of a kind that are worth the trouble
FIXED = (*MODEL_SIZES, *EXCEPTIONS)  # nobody changes these during a step, unless all contacts are awake
NOTHING = 1e-30  # minus the size of what must be zero: positive only where that is exactly so

Written = tuple[Stage, ca.SX]


@dataclass(frozen=True)
class Told:
    """What the program around all stages does with fields."""

    remembered: Collection[Field]  # read by a step before it writes them
    carry: Mapping[Field, Field]  # target: source
    tests: Collection[Field]  # of branches
    results: Collection[Field]


@dataclass(frozen=True)
class Far:
    """What must hold for an instance to sleep: fields that are zero, marks that say "open", expressions that stay positive.

    `opened` are the other fields that are 1 while it sleeps: they are written before they are read.
    """

    silent: set[Field]
    marks: set[Field]
    opened: set[Field]
    positive: list[Written]


@dataclass
class Sleeper:
    """What all stages of a step say about one kind, while they are written down."""

    can: bool = True
    silent: set[Field] = field(default_factory=set)  # multipliers
    marks: set[Field] = field(default_factory=set)
    opened_by: set[Field] = field(default_factory=set)  # masks of normal laws
    masks: set[Field] = field(default_factory=set)  # of all laws
    read: set[Field] = field(default_factory=set)  # by kernels
    gaps: list[Written] = field(default_factory=list)  # of laws that are open where they are positive
    updates: list[tuple[Field, Stage, ca.SX]] = field(default_factory=list)

    def problem(self, pattern: StagePattern, laws: Sequence[LawPattern]) -> None:
        """A stage that is solved."""
        idle = pattern.sheet.once("gaps", partial(pattern.gaps, "gaps"))
        if idle is None:
            self.can = False
            return
        self.read |= set(pattern.fields)
        self.silent |= set(idle[2])
        for law in laws:
            open_where, mark, *shared = law.masks
            self.masks |= {each for each in (open_where, *shared) if each is not None}
            self.marks |= {each for each in (mark,) if each is not None}
            if law.kind == NORMAL and open_where is not None:
                self.opened_by.add(open_where)
        self.gaps += [(pattern.sheet, law.y) for law in pattern.sheet.laws if law.kind == NORMAL and not law.masks[0]]

    def evaluation(self, sheet: Stage, fields: Sequence[Field], used: Sequence[Field]) -> None:
        """Fields that get new values."""
        self.read |= set(used)
        self.updates += [(each, sheet, sheet.updates[each]) for each in fields]

    def far(self, told: Told) -> Far | None:
        """What must hold for an instance to sleep, or None if none ever can."""
        if not self.can:
            return None
        value = self._values(told)
        if value is None:
            return None
        moved = {*told.carry, *told.carry.values()}
        exactly = self.read | moved | {*told.results, *told.remembered}
        seen = exactly | self.masks | set(told.tests)
        positive = [(sheet, _with(sheet, y, value)) for sheet, y in self.gaps]
        for each, sheet, expression in self.updates:
            now = _with(sheet, expression, value)
            if each.space not in SPACES:  # a sum over all parts
                if not _with(sheet, now, {UNSETTLED: 0.0}).is_zero():  # as long as contacts sleep
                    return None
            elif each in seen and not (now - value[each]).is_zero():
                positive.append(
                    (sheet, now if value[each] and each not in exactly else NOTHING - abs(now - value[each]))
                )
        if not positive or any(_own_inputs(*each) for each in positive):
            return None
        positive = [(sheet, e) for sheet, e in positive if not (e.is_constant() and float(ca.mmin(ca.DM(e))) > 0)]
        ones = {each for each, one in value.items() if one}
        return Far(set(value) - ones, ones & set(told.remembered), ones - set(told.remembered), positive)

    def _values(self, told: Told) -> dict[Field, float] | None:
        """0 or 1 for every field that the contact writes; None if a field would have to be both."""
        ones = self.marks | self.opened_by
        for _ in told.carry:
            for target, source in told.carry.items():
                if target in ones or source in ones:
                    ones |= {target, source}
        written = {each for each, _, _ in self.updates if each.space in SPACES} | self.silent | self.marks
        written |= {target for target, source in told.carry.items() if source in written}
        if self.silent & ones or not self.opened_by <= written:
            return None
        for target, source in told.carry.items():  # what is remembered does not change
            if target.space in SPACES and target in self.read | self.masks and source not in written:
                return None
        return {each: float(each in ones) for each in written}


def _with(sheet: Stage, expression: ca.SX, value: Mapping[Field, float]) -> ca.SX:
    """The expression for these values of fields."""
    symbols = {each: s for each, s in {**sheet.inputs, **sheet.unknowns}.items() if each in value and s.numel()}
    if not symbols:
        return expression
    values = [value[each] * ca.SX.ones(s.numel()) for each, s in symbols.items()]
    return ca.simplify(ca.substitute(expression, ca.vertcat(*symbols.values()), ca.vertcat(*values)))


def _own_inputs(sheet: Stage, expression: ca.SX) -> bool:
    """Whether the expression depends on a field of the contact that may have any value."""
    symbols = {**sheet.inputs, **sheet.unknowns}.items()
    return any(
        each.space in SPACES and each not in FIXED and s.numel() and ca.depends_on(expression, s) for each, s in symbols
    )
