"""A scheme for a model, as data: what the compiled loop runs.

`assemble` writes every stage of a scheme down for every part type, compiles the kernels, and lays out one memory in which
each field has its place. The loop (`advance`) needs nothing else: kernels gather their inputs from the memory, and tables
say what their outputs are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from stickslip.engine import tables as tb
from stickslip.engine.builder import ProgramBuilder
from stickslip.engine.dependence import dependence_of
from stickslip.engine.derive import Model
from stickslip.engine.fields import DT, SPACES, UNSETTLED, Field, Multipliers, expand
from stickslip.engine.flow import If, Repeat, Step, check_claims, fields_of, memory_of, stages_of, tests_of
from stickslip.engine.layout import Layout, Sizes, lay_out
from stickslip.engine.levels import positions_of
from stickslip.engine.numbering import Detected, Numbering
from stickslip.engine.pattern import StagePattern
from stickslip.engine.sheets import sheets_of
from stickslip.engine.sleepers import Told
from stickslip.engine.stage import Stage, once
from stickslip.native.kernel import Kernel
from stickslip.nonsmooth.foreign import CompiledCone


@dataclass(frozen=True)
class Program:
    """Everything the loop needs, and nothing that depends on the numbers of a run."""

    model: Model
    numbering: Numbering
    layout: Layout
    tables: tb.Tables
    begin: np.ndarray  # instructions before the first step
    step: np.ndarray  # instructions of every step
    carry: np.ndarray  # instructions after it: copies to the fields `carried`
    carried: tuple[Field, ...]
    memory: tuple[Field, ...]  # what a step reads before it writes it
    decides_step: bool  # whether a stage gives dt a new value, so that the number of steps is not known beforehand
    other_way: bool  # whether a step whose first stage has no solution is taken in another way
    solved: tuple[str, ...]  # names of the stages that are solved, in the order of `tables.problems`
    sizes: Sizes
    kernels: tuple[Kernel, ...]
    watch: np.ndarray  # places that decide whether contacts that are far away may be left out
    positions: tuple[frozenset[Field], ...]  # of each stage that is solved: multipliers whose rows are positions
    cones: tuple[CompiledCone, ...]
    dependent: bool  # whether bilateral constraints depend on each other
    held: bool  # whether positions are moved onto them
    many: tuple[
        tuple[int, str, StagePattern], ...
    ]  # groups of detected contacts and of many equal parts: number, stage, pattern
    kept: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)  # by those who run it

    @property
    def n_residuals(self) -> int:
        """Residuals of a step: one for each stage, then bilateral rows and the natural map of all of them."""
        return len(self.solved) + 2

    @property
    def unknowns(self) -> dict[str, int]:
        """Number of unknowns of each stage that is solved."""
        return {name: int(n) for name, n in zip(self.solved, self.tables.problems["n"], strict=True)}


def assemble(
    model: Model,
    *,
    begin: Sequence[Step] = (),
    step: Sequence[Step],
    carry: Mapping[Field | Multipliers, Field | Multipliers] | None = None,
    results: Sequence[Field | Multipliers] = (),
    given: Sequence[Field] = (),
    detected: Sequence[Detected] = (),
    name: str = "the program",
    project: str = "never",
) -> Program:
    """Compile a scheme for a model.

    `begin` and `step` are the scheme's stages, `carry` says which field becomes which of the next step, `results` are fields
    that have a value after every step, `given` those that have one before. `detected`: kinds of contacts that come and go
    while it runs, with room for so many of each (see `engine.detected`). `name` is for messages. `project`: whether
    positions of stages are moved onto the constraints (`Stage.position`), "never", "always" or if these are "dependent".
    """
    numbering = Numbering(model, detected)
    stages = list(dict.fromkeys([*stages_of(begin), *stages_of(step)]))
    # Rooms for contacts grow while a program runs: it is assembled anew, but nothing is derived anew.
    kept = model.kept if detected else {}
    types = tuple((kind.type, kind.is_node) for kind in numbering.kinds)
    dependence = once(kept, "dependence", lambda: dependence_of(numbering))
    held = project == "always" or (project == "dependent" and dependence.on_constraints_only)
    sheets = {
        stage: once(kept, (stage, types, held), partial(sheets_of, stage, numbering.kinds, held)) for stage in stages
    }
    copies = dict(zip(expand(carry or {}), expand((carry or {}).values()), strict=True))
    memory = memory_of(name, sheets, begin, step, copies, tuple(expand(results)), given)
    fields = fields_of(sheets, given, copies, tuple(copies.values()), tuple(expand(results)))
    layout = lay_out(fields, numbering)
    for stage in stages:
        checked = partial(_check_claims, stage.__name__, sheets[stage], numbering)
        once(kept, ("claims", stage, types, held), checked)

    builder = ProgramBuilder(numbering, layout, dependence.dependent)
    solve, evaluate, guesses = {}, {}, {}
    steps = set(stages_of(step))
    for stage in stages:
        solve[stage] = builder.problem(stage.__name__, sheets[stage], stage in steps)
        evaluate[stage] = builder.evaluation(stage.__name__, sheets[stage], stage in steps)
        guesses[stage] = {k: g for sheet in sheets[stage] for k, g in sheet.guesses.items() if g is not None}

    watch = builder.sleepers(Told(memory, copies, set(tests_of(step)), set(expand(results))))

    def code(items: Sequence[Step]) -> list[list[int]]:
        out: list[list[int]] = []
        for item in items:
            if isinstance(item, If):
                then, otherwise = code(item.then), code(item.otherwise)
                where = [layout.start[item.test], layout.size[item.test]]
                out.append([tb.JUMP_UNLESS, len(then) + 2, *where])
                out += [*then, [tb.JUMP, len(otherwise) + 1, 0, 0], *otherwise]
                continue
            if isinstance(item, Repeat):
                cycle = code(item.stages)
                solved = [k for k in (solve[stage] for stage in item.stages) if k is not None]
                out += [*cycle, *[[tb.AGAIN, len(cycle) + 1, k, 0] for k in solved[-1:]]]
                continue
            for target, source in guesses[item].items():
                out += _copies(numbering, layout, source, target, watch.size > 0)
            out += [[tb.SOLVE, k, 0, 0] for k in (solve[item],) if k is not None]
            out += [[tb.EVALUATE, k, 0, 0] for k in (evaluate[item],) if k is not None]
        return out

    return Program(
        model=model,
        numbering=numbering,
        layout=layout,
        tables=builder.tables.tables(),
        begin=_array(code(begin), 4),
        step=_array(code(step), 4),
        carry=_array([c for to, of in copies.items() for c in _copies(numbering, layout, of, to, watch.size > 0)], 4),
        carried=tuple(copies),
        memory=memory,
        decides_step=any(DT in sheet.updates for kinds in sheets.values() for sheet in kinds),
        other_way=any(UNSETTLED in sheet.inputs for kinds in sheets.values() for sheet in kinds),
        solved=tuple(stage.__name__ for stage in stages if solve[stage] is not None),
        sizes=Sizes(**builder.sizes),
        kernels=tuple(builder.kernels),
        watch=watch,
        positions=tuple(positions_of(sheets[stage]) for stage in stages if solve[stage] is not None),
        cones=tuple(builder.cones),
        dependent=dependence.dependent,
        held=held,
        many=tuple(builder.many),
    )


def _copies(numbering: Numbering, layout: Layout, source: Field, target: Field, sleep: bool) -> list[list[int]]:
    """Instructions that copy a field: what is declared, and of each kind of detected contacts what there is of it.

    Where contacts may `sleep`, those that do are left out: what they hold is zero.
    """
    start, end, space = layout.start[source], layout.start[target], target.space
    owners = [(k, kind, kind.type.n[space]) for k, kind in enumerate(numbering.kinds) if space in SPACES]
    owners = [each for each in owners if each[1].detected is None and each[2]]
    if sleep and owners and all(max(n, numbering.column(kind, space)) < tb.MOST_ROWS for _, kind, n in owners):
        own = [(tb.MOST_ROWS * k + n) * tb.MOST_ROWS + numbering.column(kind, space) for k, kind, n in owners]
        out = [[tb.COPY_OWN, start, end, code] for code in own]
    else:
        out = [[tb.COPY, start, end, numbering.declared[space]]]
    for k, kind in enumerate(numbering.kinds):
        if kind.detected is not None and space in kind.own and kind.type.n[space]:
            rows = tb.MOST_ROWS * k + kind.type.n[space]
            out.append([tb.COPY_ROWS, start + kind.own[space], end + kind.own[space], rows])
    return out


def _check_claims(name: str, sheets: Sequence[Stage], numbering: Numbering) -> None:
    """All nodes, and one instance of each type of part."""
    declared = [(kind, sheet) for kind, sheet in zip(numbering.kinds, sheets, strict=True) if not kind.detected]
    kinds = [kind if kind.is_node else kind.first() for kind, _ in declared]
    rows = cache(lambda k, where: numbering.rows(kinds[k], where))
    check_claims(name, [sheet for _, sheet in declared], rows, [kind.parameters for kind in kinds])


def _array(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, width)
