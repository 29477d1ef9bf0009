"""What a program reads and writes, in which order: found from its sheets, before anything is compiled.

A field that is read must have been written. At the start of a step that is: what the engine gives (times, q_0, u_0), what
`begin` writes, and what `carry` copies at the end of a step. The fields that a step reads before it writes them are its
*memory*: with them a run can be stopped and continued.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from stickslip.engine.derive import PartType
from stickslip.engine.fields import COLD, DT, EXCEPTIONS, GIVEN, MODEL_SIZES, T_0, T_1, Field, Space
from stickslip.engine.stage import Stage

StageFunction = Callable[[PartType, Stage], None]


@dataclass(frozen=True)
class If:
    """A branch of a program: `then` if any entry of the field `test` is positive, else `otherwise`."""

    test: Field
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Repeat:
    """Stages that are solved one after another, again and again, until none of them changes anything."""

    stages: tuple[StageFunction, ...]


Step = StageFunction | If | Repeat
Sheets = Mapping[StageFunction, Sequence[Stage]]


def stages_of(items: Sequence[Step]) -> Iterator[StageFunction]:
    """All stages of a program, in their order."""
    for item in items:
        if isinstance(item, If):
            yield from stages_of((*item.then, *item.otherwise))
        elif isinstance(item, Repeat):
            yield from item.stages
        else:
            yield item


def tests_of(items: Sequence[Step]) -> Iterator[Field]:
    """The fields that decide between branches."""
    for item in items:
        if isinstance(item, If):
            yield item.test
            yield from tests_of((*item.then, *item.otherwise))


@dataclass
class _Walk:
    """On the way through a program: what is written so far, and what was read before, by whom."""

    sheets: Sheets
    written: set[Field]
    early: dict[Field, str] = field(default_factory=dict)  # reads before any write, and the stage that does it
    own: set[Field] = field(
        default_factory=set
    )  # of these, starts of iterations: their first value is zero by definition

    def items(self, items: Sequence[Step]) -> None:
        for item in items:
            if isinstance(item, If):
                self.read(item.test, "a branch")
                before, after = set(self.written), []
                for branch in (item.then, item.otherwise):
                    self.written = set(before)
                    self.items(branch)
                    after.append(self.written)
                self.written = after[0] & after[1]
            elif isinstance(item, Repeat):
                self.items(item.stages)
            else:
                self.stage(item)

    def stage(self, stage: StageFunction) -> None:
        name, sheets = stage.__name__, self.sheets[stage]
        for sheet in sheets:
            for each in sheet.inputs:
                self.read(each, name)
            for unknown, guess in sheet.guesses.items():
                if guess is not None:
                    self.read(guess, name)
                elif unknown not in self.written:
                    self.own.add(unknown)
        marked: set[Field] = set()
        for laws in zip(*[sheet.laws for sheet in sheets], strict=False):  # all sheets write the same laws
            law = laws[0]
            for mask in (law.open_where, law.only_where, law.except_where, law.mark_also, law.closed_within):
                if mask is not None and mask not in marked:
                    self.read(mask, name)
            if law.mark is not None:
                marked.add(law.mark)
                if law.only_where is not None or law.except_where is not None:
                    self.read(law.mark, name)  # where the law does not apply, the mark stays what it was
        self.written |= marked
        for sheet in sheets:
            self.written |= {*sheet.unknowns, *sheet.updates}

    def read(self, what: Field, name: str) -> None:
        if what not in self.written:
            self.early.setdefault(what, name)


def memory_of(
    scheme: str,
    sheets: Sheets,
    begin: Sequence[Step],
    step: Sequence[Step],
    carry: Mapping[Field, Field],
    results: Collection[Field],
    given: Collection[Field],
) -> tuple[Field, ...]:
    """The fields that a step reads before it writes them; an error if one of them has no value in the first step."""
    start = _Walk(sheets, {*GIVEN, *MODEL_SIZES, *given})
    start.items(begin)
    _complain(scheme, start.early)
    first = _Walk(sheets, set(start.written))
    first.items(step)
    end = f"the end of the step of {scheme}"
    for target, source in carry.items():
        if target.space != source.space:
            raise TypeError(f"{scheme}: {source} cannot be carried to {target}, which lives in another space")
    for each in (*carry.values(), *results):
        first.read(each, end)
    _complain(scheme, first.early)

    later = _Walk(sheets, {*COLD.fields, *MODEL_SIZES, *EXCEPTIONS, T_0, T_1, DT})
    later.items(step)
    for each in (*carry.values(), *results):
        later.read(each, end)
    return tuple(each for each in _order(sheets, given, carry, results) if each in {*later.early, *later.own})


def _order(sheets: Sheets, *further: Collection[Field]) -> list[Field]:
    """All fields in the order in which they occur: sets have none that repeats from run to run."""
    out = list(GIVEN)
    for sheet in (s for kinds in sheets.values() for s in kinds):
        masks = [mask for law in sheet.laws for mask in law.masks if mask is not None]
        out += [*sheet.inputs, *sheet.unknowns, *masks, *sheet.updates]
    return list(dict.fromkeys([*out, *(each for fields in further for each in fields)]))


def _complain(scheme: str, early: Mapping[Field, str]) -> None:
    for what, stage in early.items():
        raise TypeError(
            f"{scheme}: {stage} reads {what}, but nothing has written it by then; a stage before it, `begin` or `carry` must"
        )


def fields_of(sheets: Sheets, *further: Collection[Field]) -> list[Field]:
    """All fields of a program; one name means one field."""
    fields = _order(sheets, *further)
    names: dict[str, Field] = {}
    for each in fields:
        if names.setdefault(each.name, each) != each:
            raise TypeError(f"{names[each.name]} and {each} have the same name")
    return fields


# -- updates that many parts see ---------------------------------------------------------------------------------------


def check_claims(
    name: str,
    sheets: Sequence[Stage],
    rows: Callable[[int, Space], np.ndarray],
    parameters: Sequence[np.ndarray],
) -> None:
    """Updates in the spaces Q, U and ONE have the same value in all sheets, tested for random numbers.

    rows(k, space): entries (instance, local) of a space that instances of the k-th sheet see, parameters[k]: theirs.
    """
    random = np.random.default_rng(0)
    size = {space: 1 + max(int(rows(k, space).max(initial=-1)) for k in range(len(sheets))) for space in Space}
    pool = random.uniform(0.5, 1.5, 1 + max(int(mine.max(initial=-1)) for mine in parameters))
    memory: dict[Field, np.ndarray] = {}
    values: dict[Field, np.ndarray] = {}
    for k, sheet in enumerate(sheets):
        if not sheet.claims:
            continue
        symbols = {**sheet.inputs, **sheet.unknowns}
        f = ca.Function("claims", [*symbols.values(), sheet.part.parameters], list(sheet.claims.values()))
        for each in symbols:
            memory.setdefault(each, random.uniform(0.5, 1.5, size[each.space]))
        out = f.call([*[memory[each][rows(k, each.space)].T for each in symbols], pool[parameters[k]].T])
        for each, value in zip(sheet.claims, out, strict=True):
            known, mine = values.setdefault(each, np.full(size[each.space], np.nan)), rows(k, each.space)
            claim = np.array(value).T.reshape(mine.shape)
            if (np.abs(known[mine] - claim) > 1e-9 * (1 + np.abs(claim))).any():
                raise TypeError(
                    f"{name}: the update of {each} depends on the part that writes it; use total() for a sum over parts"
                )
            known[mine] = claim
