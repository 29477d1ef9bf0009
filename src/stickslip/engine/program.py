"""A scheme for a model, as data: what the compiled loop runs.

`assemble` writes every stage of a scheme down for every part type, compiles the kernels, and lays out one memory in which
each field has its place. The loop (`advance`) needs nothing else: kernels gather their inputs from the memory, and their
outputs are sorted into residuals, triplets of the Jacobian and laws by index tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from stickslip.engine import tables as tb
from stickslip.engine.derive import Model, PartType
from stickslip.engine.fields import DT, SPACES, Field, Multipliers, Space, expand
from stickslip.engine.flow import If, Repeat, StageFunction, Step, check_claims, fields_of, memory_of, stages_of
from stickslip.engine.kernel import Kernel, compile_kernel
from stickslip.engine.stage import BALL, ZERO, Stage

NOWHERE = -1  # place of a value that is not used


@dataclass(frozen=True)
class Layout:
    """Where every field lies in the memory; the parameters come first."""

    start: Mapping[Field, int]
    size: Mapping[Field, int]
    parameters: int
    total: int

    def places(self, *fields: Field | Multipliers) -> np.ndarray:
        """The places of fields, one after another."""
        pieces = [np.arange(self.start[each], self.start[each] + self.size[each]) for each in expand(fields)]
        return np.concatenate([np.zeros(0, np.int64), *pieces])


@dataclass(frozen=True)
class Program:
    """Everything the loop needs, and nothing that depends on the numbers of a run."""

    model: Model
    layout: Layout
    tables: tb.Tables
    begin: np.ndarray  # instructions before the first step
    step: np.ndarray  # instructions of every step
    carry: np.ndarray  # copies after it: (source, target, size)
    memory: tuple[Field, ...]  # what a step reads before it writes it
    decides_step: bool  # whether a stage gives dt a new value, so that the number of steps is not known beforehand
    solved: tuple[str, ...]  # names of the stages that are solved, in the order of `tables.problems`
    raw_size: int
    n_max: int
    matrix_size: int
    n_in_max: int
    kernels: tuple[Kernel, ...]

    @property
    def unknowns(self) -> dict[str, int]:
        """Number of unknowns of each stage that is solved."""
        return {name: int(n) for name, n in zip(self.solved, self.tables.problems[:, tb.N], strict=True)}


def assemble(
    model: Model,
    *,
    begin: Sequence[Step] = (),
    step: Sequence[Step],
    carry: Mapping[Field | Multipliers, Field | Multipliers] | None = None,
    results: Sequence[Field | Multipliers] = (),
    given: Sequence[Field] = (),
    name: str = "the program",
) -> Program:
    """Compile a scheme for a model.

    `begin` and `step` are the scheme's stages, `carry` says which field becomes which of the next step, `results` are fields
    that have a value after every step, `given` those that have one before. `name` is for messages.
    """
    groups = _group(model)
    space = _Spaces(model)
    stages = list(dict.fromkeys([*stages_of(begin), *stages_of(step)]))
    sheets = {stage: _write(stage, groups) for stage in stages}
    copies = dict(zip(expand(carry or {}), expand((carry or {}).values()), strict=True))
    memory = memory_of(name, sheets, begin, step, copies, tuple(expand(results)), given)
    fields = fields_of(sheets, given, copies, tuple(copies.values()), tuple(expand(results)))
    layout = _lay_out(fields, space, len(model.system.parameter_symbols()))
    for stage in stages:
        _check_claims(stage.__name__, sheets[stage], groups, space)

    builder = _Builder(groups, space, layout)
    solve, evaluate, guesses = {}, {}, {}
    for stage in stages:
        solve[stage] = builder.problem(stage.__name__, sheets[stage])
        evaluate[stage] = builder.evaluation(stage.__name__, sheets[stage])
        guesses[stage] = {k: g for sheet in sheets[stage] for k, g in sheet.guesses.items() if g is not None}

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
                sweep = code(item.stages)
                solved = [k for k in (solve[stage] for stage in item.stages) if k is not None]
                out += [*sweep, *[[tb.AGAIN, len(sweep) + 1, k, 0] for k in solved[-1:]]]
                continue
            out += [_copy(layout, source, target) for target, source in guesses[item].items()]
            out += [[tb.SOLVE, k, 0, 0] for k in (solve[item],) if k is not None]
            out += [[tb.EVALUATE, k, 0, 0] for k in (evaluate[item],) if k is not None]
        return out

    return Program(
        model=model,
        layout=layout,
        tables=builder.tables(),
        begin=_array(code(begin), 4),
        step=_array(code(step), 4),
        carry=_array([_copy(layout, source, target)[1:] for target, source in copies.items()], 3),
        memory=memory,
        decides_step=any(DT in sheet.updates for kinds in sheets.values() for sheet in kinds),
        solved=tuple(stage.__name__ for stage in stages if solve[stage] is not None),
        raw_size=builder.raw_size,
        n_max=builder.n_max,
        matrix_size=builder.matrix_size,
        n_in_max=max([1, *[k.n_in for k in builder.kernels]]),
        kernels=tuple(builder.kernels),
    )


def _copy(layout: Layout, source: Field, target: Field) -> list[int]:
    return [tb.COPY, layout.start[source], layout.start[target], layout.size[target]]


@dataclass(frozen=True)
class _Group:
    """All instances of one part type; `members` are their indices in nodes + parts."""

    type: PartType
    is_node: bool
    members: tuple[int, ...]
    parameters: np.ndarray  # (members, parameters)


def _group(model: Model) -> list[_Group]:
    """Nodes first: on them it is found whether positions can be eliminated."""
    found: dict[tuple[bool, str], list[int]] = {}
    instances = model.nodes + model.parts
    for i, instance in enumerate(instances):
        found.setdefault((i >= len(model.nodes), instance.type.key), []).append(i)
    return [
        _Group(
            instances[members[0]].type,
            not is_part,
            tuple(members),
            np.array([instances[i].parameters for i in members], dtype=np.int64).reshape(len(members), -1),
        )
        for (is_part, _), members in sorted(found.items(), key=lambda item: item[0][0])
    ]


class _Spaces:
    """Size of each space, and which of its rows each instance owns or touches."""

    def __init__(self, model: Model):
        blocks = model.system.blocks
        at = {x: np.cumsum([0, *[getattr(b, x).numel() for b in blocks]]) for x in ("q", "u")}
        self.size = {"q": int(at["q"][-1]), "u": int(at["u"][-1]), "one": 1} | dict.fromkeys(SPACES, 0)
        self._rows: list[dict[str, np.ndarray]] = []
        for instance in model.nodes + model.parts:
            rows = {"one": np.zeros(1, np.int64)}
            for x in ("q", "u"):
                pieces = [np.arange(at[x][b], at[x][b + 1]) for b in instance.blocks]
                rows[x] = np.concatenate([np.zeros(0, np.int64), *pieces])
            for x in SPACES:
                n = instance.type.n[x]
                rows[x] = np.arange(self.size[x], self.size[x] + n)
                self.size[x] += n
            self._rows.append(rows)

    def rows(self, members: Sequence[int], space: str) -> np.ndarray:
        """Rows (members, local rows) of the instances of a group."""
        return np.array([self._rows[i][space] for i in members], dtype=np.int64).reshape(len(members), -1)


def _lay_out(fields: Sequence[Field], space: _Spaces, n_parameters: int) -> Layout:
    start, size, total = {}, {}, n_parameters
    for each in fields:
        start[each], size[each] = total, space.size[each.space]
        total += size[each]
    return Layout(start, size, n_parameters, total)


def _check_claims(name: str, sheets: Sequence[Stage], groups: Sequence[_Group], space: _Spaces) -> None:
    """All nodes, and one instance of each type of part."""
    members = [group.members if group.is_node else group.members[:1] for group in groups]
    parameters = [group.parameters[: len(mine)] for group, mine in zip(groups, members, strict=True)]
    check_claims(name, sheets, lambda k, where: space.rows(members[k], where), parameters)


def _write(stage: StageFunction, groups: Sequence[_Group]) -> list[Stage]:
    """The stage's sheet for each part type."""
    affine: dict[tuple[Field, ...], bool] = {}
    sheets: list[Stage] = []
    for _ in range(2):
        sheets = [Stage(group.type, group.is_node, affine) for group in groups]
        for sheet in sheets:
            stage(sheet.part, sheet)
        if all(affine.values()):
            break  # else once more: a position that cannot be eliminated for one block is an unknown for all of them
    for sheet in sheets:
        for unknown, symbol in sheet.unknowns.items():
            if symbol.numel() and unknown not in sheet.equations and all(law.by != unknown for law in sheet.laws):
                raise TypeError(f"{stage.__name__}: no equation determines the unknown {unknown.name!r}")
    return sheets


class _Builder:
    """Fills the tables, stage by stage."""

    def __init__(self, groups: Sequence[_Group], space: _Spaces, layout: Layout):
        self.groups, self.space, self.layout = groups, space, layout
        self.kernels: list[Kernel] = []
        self.raw_size, self.n_max, self.matrix_size = 0, 0, 0
        self._rows: dict[str, list[np.ndarray]] = {name: [] for name in tb.Tables._fields}
        self._length: dict[str, int] = dict.fromkeys(tb.Tables._fields, 0)

    def tables(self) -> tb.Tables:
        """All that was added."""
        width = {"problems": tb.PROBLEM_WIDTH, "evaluations": tb.EVALUATION_WIDTH, "groups": tb.GROUP_WIDTH}
        width |= {
            "blocks": tb.BLOCK_WIDTH,
            "rows": 2,
            "entries": 3,
            "diagonal": 2,
            "parts": 3,
            "pairs": 4,
            "scatter": 2,
        }
        out = {}
        for name, pieces in self._rows.items():
            joined = np.concatenate([np.asarray(p, dtype=np.int64).ravel() for p in pieces] or [np.zeros(0, np.int64)])
            out[name] = joined.reshape(-1, width[name]) if name in width else joined
        return tb.Tables(**out)

    def _append(self, name: str, rows: np.ndarray | Sequence) -> tuple[int, int]:
        first = self._length[name]
        self._rows[name].append(np.asarray(rows, dtype=np.int64))
        self._length[name] += len(rows)
        return first, self._length[name]

    def _add_group(self, group: _Group, sheet: Stage, function: ca.Function, names: Sequence[Field], raw: int) -> int:
        """Compile a kernel of the fields `names` and the parameters; return its number of outputs."""
        kernel = compile_kernel(function)
        self.kernels.append(kernel)
        places = [self.layout.start[n] + self.space.rows(group.members, n.space) for n in names]
        gather = np.hstack([*places, group.parameters]).ravel()
        first, _ = self._append("gather", gather)
        row = [kernel.address, len(group.members), kernel.n_in, kernel.n_out, first, raw]
        self._append("groups", [row])
        return kernel.n_out

    # -- evaluations -----------------------------------------------------------------------------------------------

    def evaluation(self, name: str, sheets: Sequence[Stage]) -> int | None:
        """Add the explicit updates of a stage; return its number."""
        targets = list(dict.fromkeys(n for sheet in sheets for n in sheet.updates))
        if not targets:
            return None
        g_0, raw, scatter = self._length["groups"], 0, []
        taken: set[Field] = set()
        for group, sheet in zip(self.groups, sheets, strict=True):
            values = {n: e for n, e in sheet.updates.items() if e.numel() and n not in taken}
            if not values:
                continue
            symbols = {**sheet.inputs, **sheet.unknowns}
            outputs = ca.vertcat(*[ca.densify(e) for e in values.values()])
            used = [n for n, s in symbols.items() if s.numel() and ca.depends_on(outputs, s)]
            function = ca.Function(f"{name}_update", [*[symbols[n] for n in used], sheet.part.parameters], [outputs])
            n_out = self._add_group(group, sheet, function, used, raw)
            columns = [self.layout.start[n] + self.space.rows(group.members, n.space) for n in values]
            for n, column in zip(values, columns, strict=True):
                if n.space == Space.ONE and n in sheet.claims:  # the same for all: taken once, not summed
                    column[1:] = NOWHERE
                    taken.add(n)
            places = np.hstack(columns)
            index = raw + n_out * np.arange(len(group.members))[:, None] + np.arange(n_out)[None, :]
            scatter.append(np.stack([places.ravel(), index.ravel()], axis=1)[places.ravel() != NOWHERE])
            raw += n_out * len(group.members)
        clear = self.layout.places(*targets)
        row = [g_0, self._length["groups"], *self._append("clear", clear)]
        row += self._append("scatter", np.concatenate([np.zeros((0, 2), np.int64), *scatter]))
        self.raw_size = max(self.raw_size, raw)
        return self._append("evaluations", [row])[0]

    # -- problems --------------------------------------------------------------------------------------------------

    def problem(self, name: str, sheets: Sequence[Stage]) -> int | None:
        """Add the one-step problem of a stage; return its number, or None if it has no unknowns."""
        unknowns = list(dict.fromkeys(u for sheet in sheets for u in sheet.unknowns))
        first, n = {}, 0
        for u in unknowns:
            first[u] = n
            n += self.space.size[u.space]
        if n == 0:
            return None
        g_0, raw = self._length["groups"], 0
        rows, entries = [], []
        blocks: list[tuple[_Block, np.ndarray, int]] = []
        for group, sheet in zip(self.groups, sheets, strict=True):
            local = _Local(sheet)
            if local.outputs.numel() == 0:
                continue
            n_out = self._add_group(group, sheet, local.function(name), local.fields, raw)
            count = len(group.members)
            columns = np.hstack(
                [np.zeros((count, 0), np.int64)]
                + [first[u] + self.space.rows(group.members, u.space) for u in sheet.unknowns]
            )
            base = raw + n_out * np.arange(count)[:, None]
            rows.append(np.stack([columns[:, local.rows].ravel(), (base + local.at[None, :]).ravel()], axis=1))
            at_row, at_col, at_raw = local.entries()
            triple = [columns[:, at_row].ravel(), columns[:, at_col].ravel(), (base + at_raw[None, :]).ravel()]
            entries.append(np.stack(triple, axis=1))
            blocks += [(block, columns[i], int(base[i, 0])) for block in local.blocks() for i in range(count)]
            raw += n_out * count
        row = [n, self._append("slots", self.layout.places(*unknowns))[0]]
        row += [g_0, self._length["groups"]]
        row += self._append("rows", np.concatenate([np.zeros((0, 2), np.int64), *rows]))
        triplets = np.concatenate([np.zeros((0, 3), np.int64), *entries])
        triplets = triplets[np.argsort(triplets[:, 1], kind="stable")]
        entry_0, entry_1 = self._append("entries", triplets)
        row += [entry_0, entry_1]
        row += self._append("diagonal", triplets[triplets[:, 0] == triplets[:, 1]][:, [0, 2]])
        blocks.sort(key=lambda item: (item[0].kind != ZERO, item[0].law))
        block_0, n_zero = self._length["blocks"], sum(block.kind == ZERO for block, _, _ in blocks)
        pattern, begins = [triplets[:, :2]], np.searchsorted(triplets[:, 1], np.arange(n + 1))
        for block, columns, base_0 in blocks:
            products = self._append("pairs", _delassus(block, columns, base_0, triplets, begins))
            self._append("blocks", [[*self._block(block, columns, base_0, first), *products]])
            touched = np.concatenate([columns[col] for _, col, _ in block.triplets])
            pattern += [np.stack([np.full(len(touched), i), touched], axis=1) for i in columns[block.rows]]
        row += [block_0, block_0 + n_zero, self._length["blocks"]]
        order, band = _order(n, np.concatenate(pattern))
        self._append("order", order)
        row += [band]
        self.raw_size, self.n_max = max(self.raw_size, raw), max(self.n_max, n)
        self.matrix_size = max(self.matrix_size, n * (n if band < 0 else 3 * band + 1))
        return self._append("problems", [row])[0]

    def _block(self, block: _Block, columns: np.ndarray, base: int, first: Mapping[Field, int]) -> list[int]:
        """The table row of a law; `columns` maps local to global unknowns, `base` is where the instance's values begin."""
        own = columns[block.rows]
        row_in_space = int(own[0]) - first[block.by]
        places = [-1 if mask is None else self.layout.start[mask] + row_in_space for mask in block.masks]
        parts_0 = self._length["parts"]
        ends = []
        for component, col, at in block.triplets:
            ends.append(self._append("parts", np.stack([component, columns[col], base + at], axis=1))[1])
        z_component, z_col, _ = block.triplets[1]
        alone = len(z_col) == len(own) and bool((columns[z_col] == own[z_component]).all())
        y, z, radius = (base + at if at >= 0 else -1 for at in (block.y, block.z, block.radius))
        return [block.kind, len(own), int(own[0]), *places, y, z, radius, parts_0, *ends, int(alone)]


@dataclass(frozen=True)
class _Block:
    """A law of one part in local indices: unknowns `rows`, places of y, z and radius among the kernel's outputs."""

    law: int
    kind: int
    by: Field
    masks: tuple[Field | None, ...]
    rows: np.ndarray
    y: int
    z: int
    radius: int
    triplets: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]  # (component, column, output) of y, z and radius


class _Local:
    """A sheet as one function: values (smooth rows, then y, z and radius of each law) and their Jacobian's nonzeros."""

    def __init__(self, sheet: Stage):
        self.sheet = sheet
        self.x = ca.vertcat(ca.SX(0, 1), *sheet.unknowns.values())
        at, self._column = 0, {}
        for unknown, symbol in sheet.unknowns.items():
            self._column[unknown] = at
            at += symbol.numel()
        smooth = {n: e for n, e in sheet.equations.items() if not ca.SX(e).is_zero()}
        values = list(smooth.values())
        rows = [self._column[n] + np.arange(e.numel()) for n, e in smooth.items()]
        at = self._n_smooth = sum(map(len, rows))
        places = [np.arange(at)]
        self._place = []
        for law in sheet.laws:
            sizes = (law.y.numel(), law.z.numel(), law.radius.numel())
            self._place.append((at, at + sizes[0], at + sizes[0] + sizes[1]))
            if law.kind == ZERO:
                rows.append(self._column[law.by] + np.arange(sizes[0]))
                places.append(at + np.arange(sizes[0]))
            values += [law.y, law.z, law.radius]
            at += sum(sizes)
        self.rows = np.concatenate([np.zeros(0, np.int64), *rows])  # without branches: local unknown ...
        self.at = np.concatenate(places)  # ... and place among the outputs
        self.outputs = ca.densify(ca.vertcat(ca.SX(0, 1), *values))
        self.jacobian = ca.jacobian(self.outputs, self.x)
        self._row = np.array(self.jacobian.sparsity().row(), dtype=np.int64)
        self._col = np.array(self.jacobian.sparsity().get_col(), dtype=np.int64)
        symbols = {**sheet.inputs, **sheet.unknowns}
        self.fields = [n for n, s in symbols.items() if s.numel() and ca.depends_on(self.outputs, s)]
        self._symbols = symbols

    def function(self, name: str) -> ca.Function:
        """Of the fields and the part's parameters."""
        inputs = [*[self._symbols[n] for n in self.fields], self.sheet.part.parameters]
        return ca.Function(name, inputs, [self.outputs, self.jacobian])

    def _triplets(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mine = np.flatnonzero((self._row >= first) & (self._row < first + count))
        return self._row[mine] - first, self._col[mine], self.outputs.numel() + mine

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Triplets of the rows without branches: row and column as local unknowns, and the output that holds the value."""
        row_of = np.full(self.outputs.numel(), -1)
        row_of[self.at] = self.rows
        mine = np.flatnonzero(row_of[self._row] >= 0)
        return row_of[self._row[mine]], self._col[mine], self.outputs.numel() + mine

    def blocks(self) -> Iterator[_Block]:
        """Bilateral and normal rows one by one, friction element by element."""
        for k, (law, (y, z, radius)) in enumerate(zip(self.sheet.laws, self._place, strict=True)):
            if law.kind == BALL:
                pieces = [(f.first, f.size, radius + i) for i, f in enumerate(self.sheet.part.frictions)]
            else:
                pieces = [(i, 1, -1) for i in range(law.y.numel())]
            for first, size, r in pieces:
                triplets = (
                    self._triplets(y + first, size),
                    self._triplets(z + first, size),
                    self._triplets(r, 1) if r >= 0 else self._triplets(0, 0),
                )
                rows = self._column[law.by] + first + np.arange(size)
                yield _Block(k, law.kind, law.by, law.masks, rows, y + first, z + first, r, triplets)


def _delassus(
    block: _Block, columns: np.ndarray, base: int, triplets: np.ndarray, begins: np.ndarray
) -> list[tuple[int, int, int, int]]:
    """Products of the diagonal of dy/dz of a law: (component, dy/dx, d row/dz or -1 where x is z itself, row)."""
    own, (component, col, at) = columns[block.rows], block.triplets[0]
    z_entries = [
        dict(triplets[begins[z] : begins[z + 1]][:, [0, 2]].tolist()) for z in own
    ]  # row -> where d row/dz lies
    out = []
    for a, x, y in zip(component.tolist(), columns[col].tolist(), (base + at).tolist(), strict=True):
        if x == own[a]:
            out.append((a, y, -1, x))
        elif x in z_entries[a]:
            out.append((a, y, z_entries[a][x], x))
    return sorted(out, key=lambda row: row[0])


def _order(n: int, pairs: np.ndarray) -> tuple[np.ndarray, int]:
    """An order of the unknowns in which the matrix has a narrow band, and its half bandwidth; -1 if a dense one is cheaper.

    Chains of elements have bands of a few entries whatever their length. Elimination with row pivoting costs n b (2 b + 1) in
    a band and n^3/3 in full; below 48 unknowns the dense loops are faster in any case.
    """
    natural = np.arange(n)
    if n < 48:
        return natural, -1
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    pattern = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    order = reverse_cuthill_mckee((pattern + pattern.T).tocsr(), symmetric_mode=True).astype(np.int64)
    place = np.empty(n, np.int64)
    place[order] = natural
    band = int(np.abs(place[pairs[:, 0]] - place[pairs[:, 1]]).max(initial=0))
    return (order, band) if 12 * band < n else (natural, -1)


def _array(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, width)
