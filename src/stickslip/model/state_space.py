"""The space that a system moves in: coordinates and velocities, and the numbers they begin with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Vector, array, column, is_symbolic
from stickslip.model.declaration import TIME, Coordinates, _vector
from stickslip.model.given import text
from stickslip.model.parameters import ParameterSpace


class StateSpace(ParameterSpace):
    """Blocks of coordinates with their velocities and kinematics, and named parameters."""

    def __init__(self, name: str):
        super().__init__(name)
        self.blocks: list[Coordinates] = []
        self._reads: list[ca.SX] | None = None  # see `reading`
        self._u_own: list[ca.SX] = []
        self._names: dict[str, set[str]] = {"coordinate": set(), "velocity": set()}  # of blocks that are not copies
        self._copied: dict[str, Coordinates] = {}  # the others, which know their names when they are asked

    @property
    def time(self) -> ca.SX:
        """The symbol of time, for rheonomic constraints and time-dependent forces."""
        return TIME

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        return sum(block.n_q for block in self.blocks)

    @property
    def n_u(self) -> int:
        """Number of velocities."""
        return sum(block.n_u for block in self.blocks)

    @property
    def starts(self) -> dict[str, np.ndarray]:
        """Where the coordinates ("q") and velocities ("u") of each block begin among all of them, and the end.

        >>> s = StateSpace("two blocks")
        >>> _ = s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
        >>> _ = s.coordinates("phi", initial=[0], velocity=[0])
        >>> s.starts["q"].tolist()
        [0, 2, 3]
        """
        return {x: np.cumsum([0, *[getattr(b, f"n_{x}") for b in self.blocks]]) for x in ("q", "u")}

    @property
    def q_names(self) -> tuple[str, ...]:
        """Names of all coordinates, in their order."""
        return tuple(name for block in self.blocks for name in block.q_names)

    @property
    def u_names(self) -> tuple[str, ...]:
        """Names of all velocities, in their order."""
        return tuple(name for block in self.blocks for name in block.u_names)

    @property
    def q_initial(self) -> np.ndarray:
        """Initial coordinates."""
        return np.concatenate([np.zeros(0), *[block.q_initial for block in self.blocks]])

    @property
    def u_initial(self) -> np.ndarray:
        """Initial velocities."""
        return np.concatenate([np.zeros(0), *[block.u_initial for block in self.blocks]])

    @contextmanager
    def reading(self) -> Iterator[list[ca.SX]]:
        """What a declaration reads off the initial state meanwhile, and depends on."""
        before, self._reads = self._reads, []
        try:
            yield self._reads
        finally:
            self._reads = before

    def initial_value(self, expression: Any, *, binding: bool = True) -> np.ndarray:
        """The numbers that an expression of coordinates, velocities and parameters has at the initial state, t = 0.

        binding: whether the declaration that asks depends on them; where a frame begins, any others would do.

        >>> import stickslip as ss

        >>> s = ss.System()
        >>> q, u = s.coordinates("x y", initial=[3, 4], velocity=[0, 0])
        >>> s.initial_value(q @ q)
        array(25.)
        """
        f = column(expression)
        if binding and self._reads is not None:
            self._reads.append(f)
        used = ca.symvar(f)
        for s in used:
            if not self._is_known(s):
                raise ModelError(
                    f"{self.name}: {s.name()!r} belongs to another system; add its body to this one, or declare it here"
                )
        inputs = [x if isinstance(x := self._initial[s.__hash__()], float) else self.initial_value(x) for s in used]
        value = np.array(ca.Function("value", used, [ca.densify(f)]).call(inputs)[0])
        return value.reshape(()) if f.numel() == 1 else value[:, 0] if value.shape[1] == 1 else value

    def _refuse_name(self, kind: str, name: str, also: Sequence[str] = ()) -> None:
        super()._refuse_name(kind, name)
        if self._is_taken("coordinate", name) or name in also:
            raise ModelError(f"{self.name}: {kind} {name!r} has the name of a coordinate; choose another")
        if kind != "velocity" and self._is_taken("velocity", name):
            raise ModelError(f"{self.name}: {kind} {name!r} has the name of a velocity; choose another")
        if kind != "measure" and name in getattr(self, "measures", {}):
            raise ModelError(f"{self.name}: {kind} {name!r} has the name of a measure; choose another")

    def _refuse_block(self, q_names: Sequence[str], u_names: Sequence[str]) -> None:
        """Names of new coordinates and their velocities."""
        for name in q_names:
            if self._is_taken("coordinate", name) or q_names.count(name) > 1:
                raise ModelError(f"{self.name}: coordinate {name!r} is declared twice")
            self._refuse_name("coordinate", name)
        for name in u_names:
            self._refuse_name("velocity", name, also=q_names)

    def _beginning(self, with_text: str) -> list[str]:
        """Names that begin so, of blocks that are copies instead of their coordinates."""
        measures = getattr(self, "measures", {})
        names = chain(self._parameters, measures, self._names["coordinate"], self._names["velocity"], self._copied)
        return [name for name in names if name.startswith(with_text)]

    def _is_taken(self, kind: str, name: str) -> bool:
        """Whether a coordinate or a velocity has this name; those of copies begin with the name of their block."""
        if name in self._names[kind]:
            return True
        return any(name in (b.q_names if kind == "coordinate" else b.u_names) for b in self._copies_before(name))

    def _copies_before(self, name: str) -> list[Coordinates]:
        """Blocks that are copies and whose name is the beginning of this one."""
        return [self._copied[name[:n]] for n in range(len(name)) if name[:n] in self._copied] if self._copied else []

    def _add_block(self, block: Coordinates) -> None:
        self.blocks.append(block)
        if block.like is not None:
            self._copied[block.name] = block
        else:
            self._names["coordinate"].update(block.q_names)
            self._names["velocity"].update(block.u_names)
            self._remember(block)

    def _replace_block(self, k: int, block: Coordinates) -> None:
        """By one with the same symbols that begins elsewhere."""
        self.blocks[k] = block
        if block.like is not None:
            self._copied[block.name] = block
        if block.named:
            self._remember(block)

    def _remove_blocks(self, first: int) -> None:
        """All from this one on."""
        for block in self.blocks[first:]:
            for s in (*array(block.q), *array(block.u)) if block.named else ():
                self._initial.pop(s.__hash__(), None)  # those of copies are there if somebody used them
            if block.like is not None:
                del self._copied[block.name]
            else:
                self._names["coordinate"].difference_update(block.q_names)
                self._names["velocity"].difference_update(block.u_names)
        del self.blocks[first:]

    # -- coordinates --------------------------------------------------------------------------------------------------

    def coordinates(
        self,
        names: str,
        *,
        initial: Vector,
        velocity: Vector,
        velocities: str | None = None,
        kinematics: Any = None,
        block: str | None = None,
        units: str | None = None,
        velocity_units: str | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Declare coordinates q and velocities u; return their symbols as two arrays.

        `names` and `velocities` are space-separated; without `velocities` qdot = u. `kinematics(t, q, u)` returns
        qdot = B(t, q) u + beta(t, q), for velocities that are not the derivatives of the coordinates. `units`, such as
        "m m rad", label plots and tables, - stands for none; those of velocities follow where qdot = u.

        >>> q, u = StateSpace("s").coordinates("x y", initial=[0, 1], velocity=[0, 0])
        >>> len(q), len(u)
        (2, 2)
        """
        text(f"{self.name}: coordinates", names)
        q_names = tuple(names.split())
        u_names = tuple(velocities.split()) if velocities else tuple(f"{name}_dot" for name in q_names)
        prefix = "" if block is None else f"{block}."
        q_full, u_full = tuple(prefix + n for n in q_names), tuple(prefix + n for n in u_names)
        self._refuse_block(q_full, u_full)
        q0 = self._numbers(initial, len(q_names), f"initial= of coordinates {names!r}")
        u0 = self._numbers(velocity, len(u_names), f"velocity= of coordinates {names!r}")
        q = ca.vertcat(*[ca.SX.sym(n) for n in q_full])
        u = ca.vertcat(*[ca.SX.sym(n) for n in u_full])
        if kinematics is None:
            if len(u_names) != len(q_names):
                raise ModelError(
                    f"{self.name}: {len(q_names)} coordinates but {len(u_names)} velocities; give kinematics= as well"
                )
            qdot, alike = u, f"qdot = u, {len(u_names)}"
        else:
            if not callable(kinematics):
                raise ModelError(f"{self.name}: kinematics= must be a function of (t, q, u), got {kinematics!r}")
            if isinstance(kinematics, ca.Function):  # of (t, q, u), and of nothing else
                qdot, alike = self._called(kinematics, (TIME, q, u), names), kinematics.serialize()
            else:
                qdot = _vector(kinematics(TIME, array(q), array(u)), f"{self.name}: kinematics of {names!r}")
                alike = ""
            if qdot.numel() != q.numel():
                raise ModelError(
                    f"{self.name}: kinematics gives {qdot.numel()} derivatives for {q.numel()} coordinates {names!r}"
                )
            if ca.depends_on(ca.jacobian(qdot, u), u):
                raise ModelError(f"{self.name}: kinematics of {names!r} must be affine in the velocities, B u + beta")
        q_units = self._units(units, q_names, "units")
        follow = " ".join("-" if x == "" else f"{x}/s" for x in q_units) if kinematics is None and q_units else None
        u_units = self._units(velocity_units or follow, u_names, "velocity_units")
        self._add_block(Coordinates(block or names, q, u, q_full, u_full, q0, u0, qdot, q_units, u_units, alike))
        if block is None:
            self._u_own.append(u)
        return array(q), array(u)

    def _called(self, kinematics: ca.Function, arguments: tuple[ca.SX, ...], names: str) -> ca.SX:
        sizes = [kinematics.size_in(k) for k in range(kinematics.n_in())]
        if sizes != [x.shape for x in arguments] or kinematics.n_out() != 1:
            raise ModelError(
                f"{self.name}: kinematics of {names!r} must be a function of (t, q, u) with {[x.numel() for x in arguments]} "
                f"components and one result, got {kinematics}"
            )
        return ca.densify(kinematics.call(arguments)[0])

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _is_known(self, symbol: ca.SX) -> bool:
        """Symbols of copies, which a deep copy may have made, are looked for when they are met."""
        if not super()._is_known(symbol):
            for block in self._copies_before(symbol.name()):
                if block.named:
                    self._remember(block)
        return super()._is_known(symbol)

    def _remember(self, block: Coordinates) -> None:
        """The numbers of a block for `initial_value`."""
        for symbols, numbers in ((block.q, block.q_initial), (block.u, block.u_initial)):
            self._initial |= {symbols[k].__hash__(): float(x) for k, x in enumerate(numbers)}

    def _velocities(self, of: Vector | None) -> ca.SX:
        if of is not None:
            return _vector(of, f"{self.name}: the velocities")
        if not self._u_own:
            raise ModelError(f"{self.name}: declare coordinates first")
        return ca.vertcat(*self._u_own)

    def _units(self, units: str | None, names: tuple[str, ...], what: str) -> tuple[str, ...]:
        given = () if units is None else tuple("" if word == "-" else word for word in units.split())
        if given and len(given) != len(names):
            raise ModelError(f"{self.name}: {what} = {units!r} must name one unit for each of {' '.join(names)!r}")
        return given

    def _numbers(self, values: Any, n: int, what: str) -> np.ndarray:
        try:
            numbers = np.atleast_1d(array(values)).copy()
        except ModelError as error:
            raise ModelError(f"{self.name}: {what}: {error}") from None
        if is_symbolic(numbers):
            raise ModelError(f"{self.name}: {what} must be given by numbers, not by symbols; use q0= and u0= of solve")
        if numbers.shape != (n,):
            raise ModelError(f"{self.name}: {what} has shape {numbers.shape}, expected ({n},)")
        if not np.isfinite(numbers).all():
            raise ModelError(f"{self.name}: {what} is not finite: {numbers}")
        return numbers
