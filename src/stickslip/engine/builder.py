"""From sheets to tables: the kernels of a program, and the patterns that say what their inputs and outputs are.

What is written here is what the compiled loop reads (`tables`): once per stage and kind, never per instance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import casadi as ca
import numpy as np

from stickslip.engine import tables as tb
from stickslip.engine.bounds import bounds
from stickslip.engine.fields import SPACES, Field, Space
from stickslip.engine.layout import Layout
from stickslip.engine.numbering import Kind, Numbering
from stickslip.engine.ordering import elimination_order
from stickslip.engine.pattern import LawPattern, StagePattern, function_of, updates_function
from stickslip.engine.sleepers import FEWEST, FIXED, Sleeper, Told
from stickslip.engine.stage import NORMAL, ZERO, Stage
from stickslip.native.kernel import Kernel, compile_kernel
from stickslip.native.lanes import LANES
from stickslip.nonsmooth.foreign import CompiledCone, compiled_cone

LONG = 20_000  # operations of a kernel, from which on one with rough derivatives stands beside it
MANY_EQUAL = 64  # parts of one kind, from which on kernels for several of them at once are worth being compiled


class ProgramBuilder:
    """Fills the tables, stage by stage."""

    def __init__(self, numbering: Numbering, layout: Layout, dependent: bool = False):
        self.numbering, self.layout, self.tables = numbering, layout, tb.TableBuilder()
        self._dependent = dependent
        self.kernels: list[Kernel] = []
        self.cones: list[CompiledCone] = []
        self.sizes: dict[str, int] = {}
        self.many: list[tuple[int, str, StagePattern]] = []
        self._sleepers = [Sleeper() for _ in numbering.kinds]
        for kind in numbering.kinds:
            count, width = len(kind.members), numbering.width(kind)
            if kind.detected is None:
                first, _ = self.tables.append("dofs", numbering.dofs(kind).ravel())
            else:  # a run writes them with its contacts
                first = self.tables.reserve("dofs", kind.capacity * width)
            self.tables.record("kinds", count=count, capacity=kind.capacity, first=first, width=width)

    def _needs(self, **sizes: int) -> None:
        for name, size in sizes.items():
            self.sizes[name] = max(self.sizes.get(name, 1), size)

    def _compiled(self, function: ca.Function) -> Kernel:
        return self._used(compile_kernel(function))

    def _used(self, kernel: Kernel) -> Kernel:
        self.kernels.append(kernel)
        self._needs(inputs=kernel.n_in)
        return kernel

    def _places(self, kind: Kind, fields: Sequence[Field]) -> np.ndarray:
        """Places of fields in the memory: (start, column)."""
        return self.numbering.places_of(kind, [(each.space, self.layout.start[each]) for each in fields])

    def _inputs(self, kind: Kind, fields: Sequence[Field]) -> int:
        """Places of the inputs of a kernel: fields, then parameters. The number of the first."""
        places = np.vstack([self._places(kind, fields), self.numbering.places(kind, "parameters")])
        return self._append_places(places)[0]

    def _append_places(self, places: np.ndarray, role: np.ndarray | None = None) -> tuple[int, int]:
        return self.tables.append("places", np.column_stack([places, np.zeros(len(places)) if role is None else role]))

    # -- evaluations -----------------------------------------------------------------------------------------------

    def evaluation(self, name: str, sheets: Sequence[Stage], in_step: bool) -> int | None:
        """Add the explicit updates of a stage, of a step or of the time before; return its number."""
        fields = list(dict.fromkeys(each for sheet in sheets for each in sheet.updates))
        if not fields:
            return None
        group_0, outputs, instances = self.tables.length["groups"], 0, 0
        taken: set[Field] = set()
        for k, (kind, sheet) in enumerate(zip(self.numbering.kinds, sheets, strict=True)):
            given = {each: value for each, value in sheet.updates.items() if value.numel() and each not in taken}
            mine = [x for x, value in given.items() if x.space in SPACES or x in sheet.claims or not value.is_zero()]
            if not mine:  # a zero adds nothing to a sum
                continue
            key = " ".join(each.name for each in mine)
            function, used, silent = sheet.once(f"updates {key}", partial(updates_function, sheet, name, mine))
            if in_step:
                self._sleepers[k].evaluation(sheet, mine, used)
            kernel = self._used(sheet.once(f"update kernel {key}", partial(compile_kernel, function)))
            once = {each for each in mine if each.space == Space.ONE and each in sheet.claims}  # the same for all
            roles = {each: tb.ONCE if each in once else tb.OWN if each.space in SPACES else tb.SUM for each in mine}
            places = [self._places(kind, [each]) for each in mine]
            targets = (
                np.vstack(places),
                np.concatenate([np.full(len(p), roles[x]) for x, p in zip(mine, places, strict=True)]),
            )
            taken |= once
            group = dict.fromkeys(tb.GROUP.names or (), 0)
            group |= {"kind": k, "kernel": kernel.address, "n_in": kernel.n_in, "n_out": kernel.n_out}
            group |= {"inputs": self._inputs(kind, used)}
            group |= {"unknowns": self._append_places(*targets)[0], "gap_kernel": int(bool(silent))}
            group["silent_0"], group["silent_1"] = self._append_places(self._places(kind, silent))
            self.tables.record("groups", **group)
            outputs, instances = outputs + kernel.n_out * kind.capacity, instances + kind.capacity
        cleared = [(self.layout.start[x], 0, self.layout.size[x]) for x in fields if x.space not in SPACES]
        segment_0, segment_1 = self.tables.append("segments", cleared)
        self._needs(outputs=outputs, instances=instances)
        return self.tables.record(
            "evaluations",
            group_0=group_0,
            group_1=self.tables.length["groups"],
            segment_0=segment_0,
            segment_1=segment_1,
        )

    # -- problems --------------------------------------------------------------------------------------------------

    def problem(self, name: str, sheets: Sequence[Stage], in_step: bool) -> int | None:
        """Add the one-step problem of a stage; return its number, or None if it has no unknowns."""
        by_laws = {law.by for sheet in sheets for law in sheet.laws}
        for sheet in sheets:
            for each in by_laws & {u for u, rows in sheet.equations.items() if not ca.SX(rows).is_zero()}:
                raise TypeError(f"{name}: a law and an equation determine {each}; it must be one of them")
        unknowns = list(dict.fromkeys(u for sheet in sheets for u in sheet.unknowns))
        unknowns.sort(key=lambda u: u in by_laws)  # smooth ones first
        first: dict[Field, int] = {}
        n = 0
        for u in unknowns:
            first[u] = n
            n += self.numbering.size[u.space]
        if n == 0:
            return None
        segments = [(self.layout.start[u], first[u], self.layout.size[u]) for u in unknowns]
        segment_0, segment_1 = self.tables.append("segments", segments)
        n_smooth = sum(self.layout.size[u] for u in unknowns if u not in by_laws)
        group_0 = self.tables.length["groups"]
        outputs = instances = elements = entries = slack = 0
        couplings: list[np.ndarray] = []
        nodes = np.arange(n)  # unknowns that belong together; negative for multipliers
        for k, (kind, sheet) in enumerate(zip(self.numbering.kinds, sheets, strict=True)):
            pattern = sheet.once("pattern", partial(StagePattern, sheet))
            count = kind.capacity
            places = self.numbering.places_of(kind, [(u.space, first[u]) for u in sheet.unknowns])
            columns = self.numbering.dofs(kind)[:, places[:, 1]] + places[:, 0]
            if kind.is_node:
                nodes[columns] = columns[:, :1]
            if pattern.outputs.numel() == 0:
                continue
            laws = sheet.once("laws", partial(_in_order, pattern))
            normal = {law.unknown for law in laws if law.kind == NORMAL}
            for law in laws:
                # friction belongs to the contact that its radius depends on: half as many nodes to put in order
                own = next((j for j in law.dradius.unknown if j in normal), law.unknown)
                nodes[columns[:, law.unknown : law.unknown + law.size]] = -1 - columns[:, own, None]
            if in_step and not kind.detected:
                self._sleepers[k].problem(pattern, laws)
            group = self._group(name, k, kind, pattern, laws)
            group |= {"unknowns": self._append_places(places)[0], "n_unknowns": len(places)}
            group |= {"instance": instances, "element": elements}
            number = self.tables.record("groups", **group)
            if kind.detected or count >= MANY_EQUAL:
                self.many.append((number, name, pattern))
                slack = max(slack, LANES * group["n_out"])
            couplings.append(_couplings(pattern, laws, columns[: len(kind.members)]))
            instances, elements = instances + count, elements + count * len(laws)
            outputs += group["n_out"] * count
            entries += _largest(pattern, laws) * count
            self._needs(local=len(places))
        detects = any(kind.detected for kind in self.numbering.kinds)
        order, band = elimination_order(n, couplings, detects)
        order_0, _ = self.tables.append("nodes", nodes)
        if band >= 0:
            self.tables.append("order", order)
        else:
            self.tables.reserve("order", n)
        self._needs(unknowns=n, instances=instances, elements=elements, outputs=outputs + slack)
        if band == tb.SPARSE:
            self._needs(entries=entries, matrix=min(n, tb.FEW) ** 2)
        else:
            self._needs(matrix=n * (n if band == tb.DENSE else 3 * band + 1))
        return self.tables.record(
            "problems",
            n=n,
            n_smooth=n_smooth,
            group_0=group_0,
            group_1=self.tables.length["groups"],
            segment_0=segment_0,
            segment=segment_0 + sum(u not in by_laws for u in unknowns),
            segment_1=segment_1,
            order=order_0,
            band=band,
            dependent=self._dependent and any(u.space == Space.G for u in by_laws),
        )

    def _group(
        self, name: str, k: int, kind: Kind, pattern: StagePattern, laws: Sequence[LawPattern]
    ) -> dict[str, int]:
        """Kernel and pattern of a kind in a problem."""
        sheet, entries = pattern.sheet, pattern.entries()
        function = sheet.once("function", partial(pattern.function, name))
        kernel = self._used(sheet.once("kernel", partial(compile_kernel, function)))
        rough = None
        if function.n_instructions() > LONG and not kind.detected:
            rough = sheet.once("rough kernel", partial(_rough, pattern, name))
        group = {"kind": k, "kernel": kernel.address, "n_in": kernel.n_in, "n_out": kernel.n_out}
        group["inputs"] = self._inputs(kind, pattern.fields)
        own = entries.row == entries.unknown
        summands = {
            "row": np.column_stack([pattern.rows, pattern.rows, pattern.at]),
            "entry": np.column_stack(entries),
            "diagonal": np.column_stack([entries.row[own], entries.unknown[own], entries.output[own]]),
        }
        for key, rows in summands.items():
            group[f"{key}_0"], group[f"{key}_1"] = self.tables.append("entries", rows)
        group["law_0"] = self.tables.length["laws"]
        group["law"] = group["law_0"] + sum(law.kind == ZERO for law in laws)
        for law, pairs in zip(laws, sheet.once("pairs", lambda: [each.pairs(entries) for each in laws]), strict=True):
            self._law(kind, law, pairs)
        group["law_1"] = self.tables.length["laws"]
        group |= dict.fromkeys(("gap_kernel", "n_gap_in", "gap_inputs", "silent_0", "silent_1"), 0)
        group |= dict.fromkeys(("wide", "values", "wide_values", "kept"), 0)
        group["rough"] = 0 if rough is None else self._used(rough).address
        idle = sheet.once("gaps", partial(pattern.gaps, f"{name}_gaps"))
        if idle is not None:
            function, used, silent = idle
            gaps = self._used(sheet.once("gap kernel", partial(compile_kernel, function)))
            group |= {"gap_kernel": gaps.address, "n_gap_in": gaps.n_in, "gap_inputs": self._inputs(kind, used)}
            group["silent_0"], group["silent_1"] = self._append_places(self._places(kind, silent))
            self._needs(gaps=gaps.n_out)
        return group

    # -- contacts that are far away ------------------------------------------------------------------------------------

    def sleepers(self, told: Told) -> np.ndarray:
        """Add the kinds whose instances can be left out while they are far away; the places that decide whether they are."""
        watch = [np.zeros(0, np.int64)]
        for k, (kind, sleeper) in enumerate(zip(self.numbering.kinds, self._sleepers, strict=True)):
            if kind.is_node or kind.detected or kind.capacity < FEWEST:
                continue
            far = sleeper.far(told)
            if far is None:
                continue
            bound_0 = self.tables.length["bounds"]
            for sheet, expression in far.positive:
                function, used = function_of(sheet, "far", expression)
                kernel, places = self._compiled(bounds(function)), self._places(kind, used)
                varies = np.repeat(
                    np.array([each not in FIXED for each in used], bool), [kind.type.n[x.space] for x in used]
                )
                inputs = np.vstack([places, self.numbering.places(kind, "parameters")])
                role = np.full(len(inputs), tb.FIXED)
                role[: len(places)][varies] = 0
                first, _ = self._append_places(inputs, role)
                self.tables.record(
                    "bounds", kernel=kernel.address, inputs=first, n_in=function.nnz_in(), n_out=function.nnz_out()
                )
                self._needs(gaps=kernel.n_out)
                watch.append((self.numbering.dofs(kind)[:, places[varies, 1]] + places[varies, 0]).ravel())
            some = {"silent": far.silent, "mark": far.marks, "opened": far.opened}
            fields = {key: sorted(each, key=str) for key, each in some.items()}
            ranges = {key: self._append_places(self._places(kind, each)) for key, each in fields.items()}
            limits = {f"{key}_{i}": each[i] for key, each in ranges.items() for i in (0, 1)}
            self.tables.record("sleepers", kind=k, bound_0=bound_0, bound_1=self.tables.length["bounds"], **limits)
        return np.unique(np.concatenate(watch))

    def _law(self, kind: Kind, law: LawPattern, pairs: list[tuple[int, int, int, int]]) -> None:
        masks = dict(zip(tb.MASKS, law.masks, strict=True))
        slopes = [self.tables.append("entries", np.column_stack(d)) for d in (law.dy, law.dz, law.dradius)]
        pair_0, pair_1 = self.tables.append("pairs", np.array(pairs, np.int64).reshape(-1, 4))
        cone = {"cone": 0, "coefficients": law.coefficients, "n_coefficients": 0}
        if law.cone is not None:
            self.cones.append(compiled_cone(law.cone))
            cone |= {"cone": self.cones[-1].address, "n_coefficients": law.cone.coefficients}
            self._needs(cones=1, inputs=self.cones[-1].kernel.n_in)
        self.tables.record(
            "laws",
            **cone,
            kind=law.kind,
            rows=law.size,
            unknown=law.unknown,
            home=self.layout.start[law.by] + law.first,
            column=self.numbering.column(kind, law.by.space),
            **{key: -1 if f is None else self.layout.start[f] + law.first for key, f in masks.items()},
            y=law.y,
            z=law.z,
            radius=law.radius,
            y_0=slopes[0][0],
            y_end=slopes[0][1],
            z_end=slopes[1][1],
            radius_end=slopes[2][1],
            own=int(law.own),
            pair_0=pair_0,
            pair_1=pair_1,
        )


def _rough(pattern: StagePattern, name: str) -> Kernel | None:
    """The kernel of rough derivatives, if there is one."""
    function = pattern.rough(name)
    return None if function is None else compile_kernel(function)


def _in_order(pattern: StagePattern) -> list[LawPattern]:
    """Bilateral laws first."""
    return sorted(pattern.laws(), key=lambda law: (law.kind != ZERO, law.number))


def _couplings(pattern: StagePattern, laws: Sequence[LawPattern], columns: np.ndarray) -> np.ndarray:
    """All (row, unknown) of the matrix, whatever branches the laws take; `columns` are the unknowns of all instances."""
    entries = pattern.entries()
    pairs = [np.stack([entries.row, entries.unknown])]
    for law in laws:
        touched = np.unique(np.concatenate([law.dy.unknown, law.dz.unknown, law.dradius.unknown]))
        rows = law.unknown + np.arange(law.size)
        pairs.append(np.stack([np.repeat(rows, len(touched)), np.tile(touched, law.size)]))
    row, unknown = np.hstack(pairs)
    return np.column_stack([columns[:, row].ravel(), columns[:, unknown].ravel()])


def _largest(pattern: StagePattern, laws: Sequence[LawPattern]) -> int:
    """Entries of one instance in a sparse matrix, at most: slip couples all components of y, z and radius."""
    entries = len(pattern.entries().row)
    for law in laws:
        entries += law.size * (1 + sum(len(d.row) for d in (law.dy, law.dz, law.dradius)))
    return entries
