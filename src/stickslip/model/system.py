"""A mechanical system: coordinates, parameters, parts and equations, declared once.

Everything here is declaration. Derivatives, kernels and time belong to other layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import casadi as ca
import numpy as np

from stickslip.errors import ModelError
from stickslip.math import Vector, array, column
from stickslip.model.assemble import assembled
from stickslip.model.declaration import APPROACH_SPEED, TIME, Equations, NoEquations, Sensor, _vector
from stickslip.model.given import flag, number, text
from stickslip.model.shipping import packed, unpacked
from stickslip.model.switches import switched
from stickslip.model.told import system_html
from stickslip.model.written import WrittenEquations

if TYPE_CHECKING:
    from stickslip.model.many import Copy
    from stickslip.shapes import Drawing, Shape


@runtime_checkable
class Part(Protocol):
    """What `System.add` accepts: something that declares itself into a system.

    `declare(system, equations)` adds coordinates and parameters to the system and expressions to the equations. A part
    never stores anything of the solution and knows no scheme.
    """

    name: str

    def declare(self, system: System, equations: Equations) -> None: ...


P = TypeVar("P", bound=Part)
B = TypeVar("B", bound=Part)


@runtime_checkable
class Massive(Protocol):
    """A part with a mass and a centre of mass: what fields act on."""

    mass: Any

    def position(self, local: Vector) -> np.ndarray: ...


@runtime_checkable
class ForceField(Protocol):
    """A part that acts on every massive part of the system, such as gravity."""

    def act(self, body: Any, equations: Equations) -> None: ...


class System(WrittenEquations):
    """A mechanical system with constraints, contacts, friction and impacts.

    From equations:

    >>> import stickslip as ss
    >>> ball = ss.System("ball over a floor")
    >>> m, g = ball.parameter("m", 0.5), ball.parameter("g", 9.81)
    >>> (x, y), u = ball.coordinates("x y", initial=[0, 1], velocity=[1, 0])
    >>> ball.kinetic_energy(m / 2 * (u @ u))
    >>> ball.potential_energy(m * g * y)
    >>> ball.contact(gap=y, slip=u[0], friction=0.3, restitution=0.8, name="floor")
    >>> solution = ss.solve(ball, t_end=0.1, dt=1e-2)

    and from parts, with `add`; both mix freely in one system. `drawing`, if it is set, says what the system looks like;
    see `stickslip.drawing`.
    """

    def __init__(self, name: str = "system"):
        super().__init__(name)
        self.parts: list[Any] = []
        self._declared: list[Equations] = []
        self._part_names: set[str] = set()
        self.copies: dict[str, Copy] = {}  # parts of `add_many` by name
        self.measures: dict[str, Sensor] = {}
        self.drawing: Drawing | None = None
        self.shown: list[Shape] = []
        self.compiled: dict[Any, Any] = {}  # what `solve` derives and compiles; it is freed with the system

    # -- copies and other processes -----------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        """What is pickled: all that was declared. What was compiled is not; it is compiled again where it is needed."""
        return _shipped, packed(self, System)

    def __deepcopy__(self, memo: dict[int, Any]) -> System:
        """A copy with the same symbols, so that expressions of the one are expressions of the other."""
        out = memo[id(self)] = object.__new__(System)
        out.__dict__ |= {key: deepcopy(value, memo) for key, value in self.__dict__.items() if key != "compiled"}
        out.compiled = {}
        return out

    def to_ship(self) -> dict[str, Any]:
        """The state for `model.shipping`; values by symbol stand in a list, because hashes are of this process."""
        symbols = [s for block in self.blocks if block.named for v in (block.q, block.u) for s in array(v).flat]
        symbols += [TIME, APPROACH_SPEED, *self._parameters.values()]
        values = [(s, self._initial[s.__hash__()]) for s in symbols if self._is_known(s)]
        return self.__dict__ | {"compiled": None, "_initial": values}

    def from_shipped(self, state: dict[str, Any]) -> None:
        """Become the system that was shipped."""
        self.__dict__ |= state
        self.compiled = {}
        self._initial = {s.__hash__(): value for s, value in state["_initial"]}

    def __repr__(self) -> str:
        contacts = sum(len(e.contacts) for e in self.equations())
        return f"<System {self.name!r}: {self.n_q} coordinates, {self.n_u} velocities, {contacts} contacts>"

    def _repr_html_(self) -> str:
        """In a notebook: counts, parts, coordinates with their initial values."""
        return system_html(self)

    @property
    def size(self) -> tuple[int, ...]:
        """How much is declared; it grows with every declaration. What a part declares is complete when it is added."""
        return len(self.blocks), len(self._parameters), len(self.parts), len(self._own)

    # -- parts and what they show -------------------------------------------------------------------------------------

    def measure(self, name: str, expression: Any, *, unit: str = "") -> None:
        """Record an expression of time, coordinates, velocities and parameters, or a measure such as `joint.angle`.

        Its values at every time of a run are in `solution[name]`, in files and in plots.

        >>> s = System()
        >>> (x, y), u = s.coordinates("x y", initial=[0, 1], velocity=[1, 0])
        >>> s.measure("speed", (u @ u) ** 0.5, unit="m/s")
        """
        text(f"{self.name}: measure", name)
        if name in self.measures:
            raise ModelError(f"{self.name}: measure {name!r} is declared twice")
        self._refuse_name("measure", name)
        if "/" in name:
            raise ModelError(f"{self.name}: the name of measure {name!r} must not contain '/', files use it")
        with self._all_or_nothing():
            value = expression.quantity(self, name).value if hasattr(expression, "quantity") else expression
            columns = _vector(value, f"{self.name}: measure {name!r}")
            self._require_known(columns, f"measure {name!r}")
            if ca.depends_on(columns, APPROACH_SPEED):
                raise ModelError(f"{self.name}: measure {name!r}: the approach speed is known to impact laws only")
        self.measures[name] = Sensor(columns, unit or getattr(expression, "unit", ""))

    def add(self, part: P, *, active: Any = None) -> P:
        """Add a part and return it. active: a switch, see `switch`; without it the part's constraints and contacts are gone.

        >>> import stickslip as ss
        >>> s = ss.System()
        >>> ball = s.add(ss.PointMass("ball", mass=1.0, position=[0, 1]))
        """
        self._require_part(part)
        if part.name in self._part_names:
            if any(other is part for other in self.parts):
                raise ModelError(f"{self.name}: part {part.name!r} was added twice")
            raise ModelError(f"{self.name}: there is another part named {part.name!r}; names must differ")
        owner = getattr(part, "_owner", None)
        if owner is not None:
            raise ModelError(
                f"{self.name}: part {part.name!r} belongs to system {owner.name!r} already; make a new part for each "
                "system"
            )
        equations = Equations(part.name)
        with self._all_or_nothing():
            part.declare(self, equations)
            if active is not None:
                if not (equations.constraints or equations.velocity_constraints or equations.contacts):
                    raise ModelError(
                        f"{self.name}: {part.name!r} has no constraint and no contact that could be switched"
                    )
                switched(equations, self._active(active, f"{self.name}: {part.name!r}"))
        part._owner = self  # type: ignore[attr-defined]
        self.parts.append(part)
        self._part_names.add(part.name)
        self._declared.append(equations)
        return part

    def add_many(self, part: B, *, bodies: Any = None, **states: Any) -> list[B]:
        """Add many equal parts at once: copies of a body, or of a contact, joint or spring between such bodies.

        For a body, `states` has a row per body: position, and where the body has them orientation or angle, velocity and
        angular_velocity; what is not given is that of the body. For another part, `bodies` has a row per part, a body or a
        tuple of bodies, which take the places of those in the first row; the part itself is made of these. What it is made
        of besides (the ground, another body) stays. All share the parameters of the first, and where tangents of spatial
        contacts begin. They are named `ball[0]`, `ball[1]`, ... A thousand of them take a fraction of a second.

        >>> import numpy as np
        >>> import stickslip as ss
        >>> s = ss.System()
        >>> places = np.arange(30.0).reshape(10, 3)
        >>> balls = s.add_many(ss.RigidBody("ball", mass=1, inertia=[1, 1, 1]), position=places)
        >>> balls[7].name, s.n_u
        ('ball[7]', 60)
        >>> touch = ss.Contact("floor", ss.Sphere(balls[0].point(), 0.1), ss.Plane([0, 0, -1], [0, 0, 1]), friction=0.3)
        >>> s.add_many(touch, bodies=balls)[7].name
        'floor[7]'
        >>> spring = ss.SpringDamper("spring", balls[0].point(), balls[1].point(), stiffness=100, rest_length=5)
        >>> len(s.add_many(spring, bodies=list(zip(balls, balls[1:]))))
        9
        """
        self._require_part(part)
        if bodies is not None:
            from stickslip.model.repeated import add_repeated

            if states:
                raise ModelError(
                    f"{self.name}: add_many with bodies= makes equal parts, got {', '.join(states)}; parts that differ in a "
                    "number are added one by one with add, which shares their compiled code"
                )
            return add_repeated(self, part, bodies)
        from stickslip.model.many import add_many

        return add_many(self, part, states)

    def _add_copy(self, part: Any) -> None:
        """A part that is a copy of another: it declares nothing of its own."""
        part._owner = self
        self.parts.append(part)
        self._part_names.add(part.name)
        self._declared.append(NoEquations(part.name))

    def show(self, *shapes: Shape) -> None:
        """Draw shapes whose points are expressions of the coordinates, in addition to what the parts show.

        >>> import stickslip as ss
        >>> from stickslip.math import cos, sin
        >>> s = ss.System("pendulum")
        >>> (phi,), (omega,) = s.coordinates("phi", initial=[1], velocity=[0])
        >>> bob = (sin(phi), -cos(phi))
        >>> s.show(ss.shapes.Tube((0, 0), bob, radius=0.02), ss.shapes.Ball(bob, radius=0.1, turn=phi))
        """
        for shape in shapes:
            self._check_shape(shape)
        self.shown += shapes

    def assemble(
        self, *, obstacles: bool = False, t: float = 0.0, parameters: Mapping[str, float] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Move the initial state onto all constraints, on position and velocity level; with `obstacles` out of them,
        too.

        The change is, to first order, the smallest one in the metric of the mass matrix. Returns the new q and u, which
        become the system's initial state.

        >>> import stickslip as ss
        >>> s = ss.System()
        >>> bob = s.add(ss.PointMass("bob", mass=1, position=[0.1, -0.9], velocity=[1, 0]))
        >>> rod = s.add(ss.Rod("rod", ss.ground.point(0, 0), bob.point(), length=1.0))
        >>> q, u = s.assemble()
        >>> float(q @ q), float(abs(q @ u).round(12))
        (1.0, 0.0)
        """
        out_of_obstacles = flag(self.name, "obstacles", obstacles)
        q, u = assembled(self, self.parameter_values(parameters), float(number(self.name, "t", t)), out_of_obstacles)
        at = self.starts
        for k, b in enumerate(self.blocks):
            self._replace_block(k, b.at(*[x[at[n][k] : at[n][k + 1]] for n, x in (("q", q), ("u", u))]))
        return q, u

    def equations(self) -> list[Equations]:
        """What was declared: the system's own equations first, then those of each part; checked for foreign symbols."""
        declared = self.declarations()
        for k, e in enumerate(declared):
            if e.name in self.copies:
                made = self.copies[e.name]
                first = next(other for other in declared if other.name == made.like)
                declared[k] = made.equations(e.name, first, self.blocks)
        return declared

    def declarations(self) -> list[Equations]:
        """The same, but nothing for parts that are copies of others (see `copies`)."""
        own = [] if self._own.empty() else [self._own]
        declared = [e for e in self._with_fields() if e.name in self.copies or not e.empty()]
        for block in self.blocks:
            if block.like is None:
                self._require_known(block.qdot, f"kinematics of {block.name!r}")
        for equations in own + declared:
            if equations.name not in self.copies:
                self._require_known(ca.veccat(*equations.expressions()), f"an expression of {equations.name!r}")
        return own + declared

    def _with_fields(self) -> list[Equations]:
        """What the parts declared, with what fields do to the bodies among them."""
        fields = [part for part in self.parts if isinstance(part, ForceField)]
        out = []
        for part, declared in zip(self.parts, self._declared, strict=True):
            if declared.name in self.copies:
                out.append(declared)
                continue
            equations = declared.copy()
            if isinstance(part, Massive):
                for acting in fields:
                    acting.act(part, equations)
            out.append(equations)
        return out

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _require_part(self, part: Any) -> None:
        """Something that can be added, with a name."""
        if not isinstance(part, Part) or isinstance(part, type):
            raise ModelError(
                f"{self.name}: {part!r} is not a part; it needs a name and a method declare(system, equations)"
            )
        text(f"{self.name}: {type(part).__name__}", part.name)

    def _check_shape(self, shape: Any) -> None:
        """What is shown is a shape whose points are numbers or expressions of time, coordinates and parameters."""
        from stickslip.shapes import Shape

        if not isinstance(shape, Shape):
            raise ModelError(f"{self.name}: show() takes shapes such as shapes.Circle((x, y), 0.1), got {shape!r}")
        kind = type(shape).__name__
        for name in shape.moving:
            value = getattr(shape, name)
            if value is None:
                continue
            try:
                expression = column(value)
            except (ModelError, TypeError, NotImplementedError, ValueError):
                raise ModelError(
                    f"{self.name}: {name} of {kind} must be numbers or expressions, got {value!r}"
                ) from None
            self._require_known(expression, f"{name} of a {kind} to be shown")
            if any(ca.depends_on(expression, block.u) for block in self.blocks):
                raise ModelError(
                    f"{self.name}: {name} of a {kind} depends on velocities; a picture is drawn from time, coordinates and "
                    "parameters"
                )

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A part that cannot be declared leaves nothing behind, so that the corrected one can be added."""
        lists: tuple[list[Any], ...] = (self.parts, self._u_own, self._declared)
        sizes, blocks, known = [len(items) for items in lists], len(self.blocks), len(self._parameters)
        try:
            yield
        except Exception:
            for part in self.parts[sizes[0] :]:
                part._owner = None
                self._part_names.discard(part.name)
                self.copies.pop(part.name, None)
            self._remove_blocks(blocks)
            for items, size in zip(lists, sizes, strict=True):
                del items[size:]
            self._following = self._all_values = None
            for name in list(self._parameters)[known:]:
                del self._initial[self._parameters[name].__hash__()], self._parameters[name], self._values[name]
                self._numbers_of.pop(name, None)
                self._ranges.pop(name, None)
            raise


def _shipped(text: str, content: bytes) -> System:
    system: System = unpacked(text, content, System)
    return system
