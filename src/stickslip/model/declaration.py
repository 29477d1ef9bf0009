"""The vocabulary of a model: what parts and systems declare, and nothing of how it is computed.

A part declares expressions in the symbols of the bodies that it touches. `Equations` collects them; derivatives, force
directions and kernels follow from them elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np

from stickslip.cone import Cone, Projection, projection_of
from stickslip.errors import ModelError, unknown_name
from stickslip.math import Scalar, Vector, column
from stickslip.model.given import text

TIME = ca.SX.sym("t")
APPROACH_SPEED = ca.SX.sym("approach_speed")  # of a contact, max(0, -g_N_dot): what its restitution may depend on
TINY = 1e-300  # under a root: the derivative at zero is then zero, not 0/0


@dataclass(frozen=True)
class Coordinates:
    """A block of coordinates q and velocities u with its kinematics qdot(t, q, u): one body, or a user's own."""

    name: str
    q: ca.SX
    u: ca.SX
    q_names: tuple[str, ...]
    u_names: tuple[str, ...]
    q_initial: np.ndarray
    u_initial: np.ndarray
    qdot: ca.SX
    q_units: tuple[str, ...] = ()  # empty: not known
    u_units: tuple[str, ...] = ()
    alike: str = ""  # of blocks with the same kinematics the same; empty: not known

    @property
    def like(self) -> int | None:
        """The block that this one is a copy of, see `model.many`."""
        return None

    @property
    def named(self) -> bool:
        """Whether anything can have used its symbols."""
        return True

    def at(self, q: np.ndarray, u: np.ndarray) -> Coordinates:
        """The same block with another initial state."""
        return replace(self, q_initial=q, u_initial=u)

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        return self.q_initial.size

    @property
    def n_u(self) -> int:
        """Number of velocities."""
        return self.u_initial.size

    @property
    def canonical(self) -> bool:
        """Whether qdot = u."""
        return self.n_q == self.n_u and ca.is_equal(self.qdot, self.u, 1)


@dataclass(frozen=True)
class Bilateral:
    """A constraint g(t, q) = 0, or gamma(t, q, u) = 0 on velocity level; `about` is the complaint if it is violated."""

    name: str
    value: ca.SX
    about: str = ""


@dataclass(frozen=True)
class DeclaredContact:
    """A unilateral contact, a frictional one, or friction alone (`gap` is None and `radius` a force).

    The reservoir of friction is the ball of radius mu P_N plus, for friction of its own, force times duration. Friction
    alone may refer to the normal contacts `of`, whose percussions P_N it then sums up. A `cone` takes the place of the ball;
    `coefficients` are the parameters of the system in it.
    """

    name: str
    gap: ca.SX | None
    slip: ca.SX
    friction: ca.SX
    radius: ca.SX
    restitution: ca.SX
    tangential_restitution: ca.SX
    of: tuple[str, ...] = ()
    cone: Projection | None = None
    coefficients: ca.SX = field(default_factory=lambda: ca.SX(0, 1))


@dataclass(frozen=True)
class Sensor:
    """Something to read off a motion: a column of expressions of t, q, u and parameters, and its unit."""

    value: ca.SX
    unit: str = ""


@dataclass
class Equations:
    """Everything that one part, or a system's own equations, contributes to the model.

    mass: matrices with the velocities they belong to; kinetic: energies T(t, q, u) from which mass and gyroscopic
    forces follow; potential: energies V(t, q); forces: generalized forces with the velocities they do work on.
    """

    name: str
    mass: list[tuple[ca.SX, ca.SX]] = field(default_factory=list)
    kinetic: list[ca.SX] = field(default_factory=list)
    potential: list[ca.SX] = field(default_factory=list)
    forces: list[tuple[ca.SX, ca.SX]] = field(default_factory=list)
    constraints: list[Bilateral] = field(default_factory=list)
    velocity_constraints: list[Bilateral] = field(default_factory=list)
    contacts: list[DeclaredContact] = field(default_factory=list)

    def expressions(self) -> list[ca.SX]:
        """Every expression, in a fixed order."""
        out = [*[e for pair in self.mass for e in pair], *self.kinetic, *self.potential]
        out += [e for pair in self.forces for e in pair]
        out += [b.value for b in (*self.constraints, *self.velocity_constraints)]
        for c in self.contacts:
            out += [] if c.gap is None else [c.gap]
            out += [c.slip, c.friction, c.radius, c.restitution, c.tangential_restitution, c.coefficients]
        return out

    def __len__(self) -> int:
        """How many were declared."""
        laws = len(self.constraints) + len(self.velocity_constraints) + len(self.contacts)
        return len(self.mass) + len(self.kinetic) + len(self.potential) + len(self.forces) + laws

    def copy(self) -> Equations:
        """Equations that can be added to without changing these."""
        return Equations(self.name, *[list(getattr(self, f.name)) for f in fields(self)[1:]])

    def empty(self) -> bool:
        """Whether nothing was declared."""
        return not len(self)

    # -- the verbs ------------------------------------------------------------------------------------------------

    def mass_matrix(self, M: Any, *, of: Vector) -> None:
        """Inertia M of the velocities `of`; what the motion of the frame adds is then a force of the declarer."""
        matrix, u = _symbolic(M, f"{self.name}: the mass matrix"), _vector(of, f"{self.name}: the velocities")
        if matrix.shape != (u.numel(), u.numel()):
            raise ModelError(
                f"{self.name}: the mass matrix has shape {matrix.shape}, but {u.numel()} velocities need "
                f"{(u.numel(), u.numel())}"
            )
        self.mass.append((matrix, u))

    def kinetic_energy(self, T: Scalar) -> None:
        """Kinetic energy T(t, q, u) for qdot = u: the mass matrix and the gyroscopic forces follow from it."""
        self.kinetic.append(_scalar(T, f"{self.name}: kinetic energy"))

    def potential_energy(self, V: Scalar) -> None:
        """Potential energy V(t, q): its force is -(dV/dq) B."""
        self.potential.append(_scalar(V, f"{self.name}: potential energy"))

    def force(self, f: Any, *, on: Vector) -> None:
        """Generalized force f(t, q, u), component by component the partner of the velocities `on`."""
        f, u = _vector(f, f"{self.name}: the force"), _vector(on, f"{self.name}: the velocities")
        if f.numel() != u.numel():
            raise ModelError(f"{self.name}: the force has {f.numel()} components, but acts on {u.numel()} velocities")
        self.forces.append((f, u))

    def constraint(self, g: Any, *, name: str, about: str = "") -> None:
        """Bilateral constraint g(t, q) = 0 on position level, one or several rows; `about` names what it joins."""
        self._bilateral(self.constraints, name, g, about)

    def velocity_constraint(self, gamma: Any, *, name: str) -> None:
        """Bilateral constraint gamma(t, q, u) = 0 on velocity level, affine in u."""
        self._bilateral(self.velocity_constraints, name, gamma, "")

    def _bilateral(self, constraints: list[Bilateral], name: str, value: Any, about: str) -> None:
        where = f"{self.name}: constraint {name!r}"
        text(f"{self.name}: constraint", name)
        rows = _vector(value, where)
        _refuse_comparisons(rows, where, "the expression that shall be zero, such as x - 1 for x == 1")
        if all(ca.is_equal(symbol, TIME) for symbol in ca.symvar(rows)):
            nothing = "nothing" if rows.is_constant() else "no coordinate"
            raise ModelError(f"{where} depends on {nothing}; give an expression of coordinates that shall be zero")
        if any(other.name == name for other in self.constraints + self.velocity_constraints):
            raise ModelError(f"{where} is declared twice; names must differ")
        constraints.append(Bilateral(name, rows, about))

    def contact(
        self,
        *,
        gap: Scalar | None,
        slip: Any = None,
        friction: Scalar = 0.0,
        radius: Scalar = 0.0,
        restitution: Scalar = 0.0,
        tangential_restitution: Scalar = 0.0,
        of: Sequence[str] = (),
        cone: Cone | None = None,
        name: str,
    ) -> None:
        """A contact with its law; see `System.contact` and `System.friction` for the meaning of the arguments."""
        where = f"{self.name}: contact {name!r}"
        text(f"{self.name}: contact", name)
        if any(other.name == name for other in self.contacts):
            raise ModelError(f"{where} is declared twice; names must differ")
        slip = ca.SX(0, 1) if slip is None else _vector(slip, f"{where}: slip")
        if slip.numel() > 3:
            raise ModelError(f"{where}: slip has {slip.numel()} components; friction knows 1, 2 or 3")
        speeds = {"friction": slip_speed(slip), "radius": slip_speed(slip), "restitution": APPROACH_SPEED}
        values = {"friction": friction, "radius": radius}
        values |= {"restitution": restitution, "tangential_restitution": tangential_restitution}
        numbers = {key: coefficient(where, key, value, speeds.get(key)) for key, value in values.items()}
        for key, value in numbers.items():
            if value.is_constant():
                check_law_value(where, key, float(value))
        if slip.numel() == 0 and not (numbers["friction"].is_constant() and float(numbers["friction"]) == 0.0):
            raise ModelError(f"{where}: friction needs a slip velocity; give slip= as well")
        gap = None if gap is None else _scalar(gap, f"{where}: gap")
        if gap is not None:
            _refuse_comparisons(gap, f"{where}: gap", "the expression that must not be negative, such as y for y >= 0")
        of = self._normal_contacts(where, of)
        contact = DeclaredContact(name, gap, slip, **numbers, of=of)
        if cone is not None:
            projection, coefficients = projection_of(where, cone, slip.numel())
            contact = replace(contact, cone=projection, coefficients=coefficients)
        self.contacts.append(contact)

    def _normal_contacts(self, where: str, of: Sequence[str]) -> tuple[str, ...]:
        """Names of contacts that are declared here and have a gap."""
        names = (of,) if isinstance(of, str) else tuple(of)
        known = [c.name for c in self.contacts if c.gap is not None]
        for name in names:
            if name not in known:
                raise ModelError(f"{where}: {unknown_name('normal contact', str(name), known)}; declare it before")
            if names.count(name) > 1:
                raise ModelError(f"{where}: refers to the normal contact {name!r} twice")
        return names


class NoEquations(Equations):
    """Equations of a part that is a copy of another: a name, and nothing that could be added to."""

    mass = kinetic = potential = forces = constraints = velocity_constraints = contacts = ()  # type: ignore[assignment]

    def __init__(self, name: str):
        self.name = name


def slip_speed(slip: ca.SX) -> ca.SX:
    """|gamma_F|, with a derivative (zero) at rest."""
    return ca.sqrt(ca.sumsqr(slip) + TINY) if slip.numel() else ca.SX(0)


def coefficient(where: str, key: str, value: Any, speed: ca.SX | None = None) -> ca.SX:
    """A coefficient of a law: a number, an expression, or a function of a speed, which is evaluated here.

    Functions are tried out: from rest to 1e3 they must be finite and in range.
    """
    if not callable(value) or isinstance(value, ca.SX):
        return _scalar(value, f"{where}: {key}")
    if speed is None:
        raise ModelError(f"{where}: {key} must be a number or an expression, not a function")
    what = "slip speed" if key in ("friction", "radius") else "approach speed"
    x = ca.SX.sym("speed")
    try:
        out = _scalar(value(x), f"{where}: {key}")
    except ModelError as error:
        raise ModelError(str(error) if where in str(error) else f"{where}: {key}: {error}") from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise ModelError(
            f"{where}: {key} must be a function of one number, the {what}, made from operators and the functions of "
            f"stickslip.math ({error})"
        ) from error
    if [s.name() for s in ca.symvar(out)] == ["speed"]:
        f = ca.Function("law", [x], [out])
        for v in (0.0, *np.logspace(-6, 3, 19)):
            try:
                check_law_value(where, key, float(f(v)))
            except ModelError as error:
                raise ModelError(f"{error} (at the {what} {v:.3g})") from None
    return ca.substitute(out, x, speed)


def check_law_value(where: str, key: str, value: float) -> None:
    """Range of friction and restitution; the same for declared numbers and for values of parameters."""
    law = key.partition("[")[0]  # of two materials: friction[ice, steel]
    if law in ("friction", "radius") and not 0.0 <= value < np.inf:
        raise ModelError(f"{where}: {key} = {value:g} is out of range; it must be a finite number >= 0")
    if law in ("restitution", "tangential_restitution") and not 0.0 <= value <= 1.0:
        raise ModelError(f"{where}: {key} = {value:g} is out of range; it must lie between 0 and 1")


COMPARISONS = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR)


def _refuse_comparisons(x: ca.SX, what: str, wanted: str) -> None:
    """A comparison is 0 or 1, wherever it holds or does not, and has no derivative."""
    for k in range(x.numel()):
        if not x[k].is_leaf() and x[k].op() in COMPARISONS:
            raise ModelError(f"{what} is a comparison, {x[k]}; give {wanted}")


def _symbolic(x: Any, what: str) -> ca.SX:
    """x as a dense symbolic matrix, or a complaint about what it should have been."""
    # Numbers and symbols, of which large systems have thousands, take the short way.
    if isinstance(x, float) and isfinite(x):
        return ca.SX(x)
    if isinstance(x, ca.SX) and x.is_scalar() and x.is_symbolic():
        return x
    try:
        value = ca.densify(column(x))
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None
    if value.is_constant() and not np.isfinite(numbers := np.array(ca.DM(value)).ravel()).all():
        raise ModelError(f"{what} is not finite: {numbers.tolist() if numbers.size > 1 else numbers[0]}")
    return value


def _vector(x: Any, what: str) -> ca.SX:
    """x as a dense column; a row is turned."""
    v = _symbolic(x, what)
    if 1 not in v.shape and v.numel():
        raise ModelError(f"{what} must be a vector, got shape {v.shape}")
    return v.T if v.shape[0] == 1 and v.shape[1] > 1 else v


def _scalar(x: Any, what: str) -> ca.SX:
    value = _symbolic(x, what)
    if value.shape != (1, 1):
        raise ModelError(f"{what} must be a scalar expression, got shape {value.shape}")
    return value
