"""Equations as users write them down: energies, forces, constraints, contacts and switches, in the symbols of a state space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import casadi as ca

from stickslip.cone import Cone
from stickslip.errors import ModelError
from stickslip.math import Scalar, Vector
from stickslip.model.declaration import DeclaredContact, Equations, _scalar
from stickslip.model.kinks import refuse_kinks
from stickslip.model.state_space import StateSpace
from stickslip.model.switches import Switch, switched_constraint, switched_contact

Coefficient: TypeAlias = Any  # of a law: a number, an expression, or a function of a speed


class WrittenEquations(StateSpace):
    """A state space with equations of its own."""

    def __init__(self, name: str):
        super().__init__(name)
        self._own = Equations(name)
        self.switches: dict[str, Switch] = {}

    def mass_matrix(self, M: Any, *, of: Vector | None = None) -> None:
        """Mass matrix M(t, q) of the velocities (all that `coordinates` declared, in order, unless `of` is given).

        All other inertia forces are then to be given as `force`; with `kinetic_energy` they are derived.
        """
        self._own.mass_matrix(M, of=self._velocities(of))

    def kinetic_energy(self, T: Scalar) -> None:
        """Kinetic energy T(t, q, u), for coordinates with qdot = u. Terms of several calls add up."""
        self._own.kinetic_energy(T)

    def potential_energy(self, V: Scalar) -> None:
        """Potential energy V(t, q). Terms of several calls add up."""
        self._own.potential_energy(V)

    def force(self, f: Any, *, on: Vector | None = None) -> None:
        """Generalized force f(t, q, u) on the velocities (all that `coordinates` declared, unless `on` is given)."""
        self._own.force(f, on=self._velocities(on))

    def constraint(self, g: Any, *, active: Any = None, name: str | None = None) -> None:
        """Bilateral constraint g(t, q) = 0 on position level; rheonomic where g contains `time`. active: see `switch`.

        >>> import stickslip as ss
        >>> s = ss.System("pendulum")
        >>> (x, y), u = s.coordinates("x y", initial=[1, 0], velocity=[0, 0])
        >>> s.constraint((x**2 + y**2 - 1) / 2, name="rod")
        """
        self._own.constraint(g, name=name or f"g{len(self._own.constraints) + 1}")
        last = self._own.constraints[-1]
        if last.value.numel() == 1:  # of several rows together, each may have its kinks where the others are not zero
            refuse_kinks(f"{self.name}: constraint {last.name!r}", last.value, self._named_q, what="it")
        self._switch_last(self._own.constraints, active)

    def velocity_constraint(self, gamma: Any, *, active: Any = None, name: str | None = None) -> None:
        """Bilateral constraint gamma(t, q, u) = 0 on velocity level, affine in u: nonholonomic constraints.

        >>> import stickslip as ss
        >>> s = ss.System("skate")
        >>> (x, y, phi), u = s.coordinates("x y phi", initial=[0, 0, 0], velocity=[1, 0, 1])
        >>> s.velocity_constraint(u[1] * ss.math.cos(phi) - u[0] * ss.math.sin(phi), name="blade")
        """
        self._own.velocity_constraint(gamma, name=name or f"gamma{len(self._own.velocity_constraints) + 1}")
        self._switch_last(self._own.velocity_constraints, active)

    def contact(
        self,
        *,
        gap: Scalar,
        slip: Any = None,
        friction: Coefficient = 0.0,
        restitution: Coefficient = 0.0,
        tangential_restitution: Scalar = 0.0,
        cone: Cone | None = None,
        active: Any = None,
        name: str | None = None,
    ) -> None:
        """A unilateral contact: gap g_N(t, q) >= 0, with friction if it has a slip velocity.

        The gap is a distance: only then is its force the normal one, which friction takes its share of. A gap like
        x**2 + y**2 - R**2, of slope 2 R, has a force 2 R times too small; write sqrt(x**2 + y**2) - R.

        `slip` has 1, 2 or 3 components (planar, spatial, or spatial with a drilling component); `friction` is Coulomb's
        coefficient mu >= 0, `restitution` e_N and `tangential_restitution` e_F lie in [0, 1].

        All three may be expressions of t, q and u. `friction` may also be a function of the slip speed, such as
        `Stribeck`, and `restitution` one of the approach speed. Friction is that of the slip which it acts on;
        restitution is that of the velocities before the impact. A `cone` takes the place of the ball |P_F| <= mu P_N, see
        `Cone`. active: a switch, see `switch`; the gap of a contact that is switched off reads 1.

        >>> import stickslip as ss
        >>> s = ss.System()
        >>> (x, y), u = s.coordinates("x y", initial=[0, 1], velocity=[1, 0])
        >>> s.contact(gap=y, slip=u[0], friction=ss.Stribeck(0.5, 0.2, speed=0.1), restitution=lambda v: 1 / (1 + v))
        """
        where = name or f"contact{len(self._own.contacts) + 1}"
        if gap is None:
            raise ModelError(
                f"{self.name}: contact {where!r} has no gap; give gap=, the distance that must not be negative. For dry "
                "friction without a gap there is s.friction(slip=, radius=)"
            )
        self._own.contact(
            gap=gap,
            slip=slip,
            friction=friction,
            restitution=restitution,
            tangential_restitution=tangential_restitution,
            cone=cone,
            name=where,
        )
        refuse_kinks(f"{self.name}: contact {where!r}", self._own.contacts[-1].gap, self._named_q)
        self._switch_last(self._own.contacts, active)

    def friction(
        self,
        *,
        slip: Any,
        radius: Coefficient | None = None,
        friction: Coefficient = 0.0,
        of: Sequence[str] = (),
        tangential_restitution: Scalar = 0.0,
        cone: Cone | None = None,
        name: str | None = None,
    ) -> None:
        """Dry friction without a gap of its own: the force stays in a ball of the fixed `radius` (a force).

        With `of`, names of contacts that are declared before, it is the friction of all of them together: the ball has
        the radius `friction` times the sum of their normal forces, plus `radius`. A `cone` takes the place of the ball.

        >>> import stickslip as ss
        >>> s = ss.System("sledge on two runners")
        >>> (x, y, phi), u = s.coordinates("x y phi", initial=[0, 0, 0], velocity=[1, 0, 0])
        >>> s.contact(gap=y + phi, name="front")
        >>> s.contact(gap=y - phi, name="rear")
        >>> s.friction(slip=u[0], friction=0.2, of=["front", "rear"])
        """
        where = name or f"friction{len(self._own.contacts) + 1}"
        if not of and not (isinstance(friction, int | float) and friction == 0):
            raise ModelError(
                f"{self.name}: friction {where!r} has a coefficient but no normal contact; name contacts in of=, or give "
                "radius="
            )
        if not of and radius is None:
            raise ModelError(
                f"{self.name}: friction {where!r} has no force; give radius=, the largest friction force, or friction= and "
                "contacts in of="
            )
        self._own.contact(
            gap=None,
            slip=slip,
            radius=0.0 if radius is None else radius,
            friction=friction,
            of=of,
            tangential_restitution=tangential_restitution,
            cone=cone,
            name=where,
        )

    def switch(
        self, name: str, *, on: Scalar, off: Scalar | None = None, located: str = "step", start: bool | None = None
    ) -> ca.SX:
        """Declare a switch: a parameter that is 1 while the expression `on` is positive, else 0; return its symbol.

        With `off`, it is turned on when `on` becomes positive and off when `off` does. It changes between two steps only:
        after the step in which the sign changes (located="step"), or at the time where it changes, found by bisection, with the
        step divided there (located="event"). start: its first value; as `on` says if not given. `active=` of contacts,
        constraints and `add` takes the symbol, and forces may contain it. Its values are in `solution[name]`.

        >>> import stickslip as ss
        >>> s = ss.System("a mass that is let go")
        >>> (x, y), u = s.coordinates("x y", initial=[1, 0], velocity=[0, 0])
        >>> s.kinetic_energy(u @ u / 2)
        >>> s.potential_energy(9.81 * y)
        >>> held = s.switch("held", on=y + 0.5, located="event")
        >>> s.constraint((x**2 + y**2 - 1) / 2, active=held)
        >>> solution = ss.solve(s, t_end=1.0, dt=1e-3)
        >>> solution["held"][[0, -1]].tolist()
        [1.0, 0.0]
        """
        where = f"{self.name}: switch {name!r}"
        rules = [_scalar(on, f"{where}: on"), None if off is None else _scalar(off, f"{where}: off")]
        for rule in rules:
            if rule is not None:
                self._require_known(rule, f"switch {name!r}")
                if rule.is_constant():
                    raise ModelError(f"{where}: its rule depends on nothing; give an expression that changes its sign")
        made = Switch(name, rules[0], rules[1], located, start)
        initial = float(self.initial_value(rules[0])) > 0 if start is None else start
        symbol = self.parameter(name, float(initial))
        self.switches[name] = made
        return symbol

    def _active(self, active: Any, where: str) -> ca.SX:
        """`active=`: a switch, or another expression of parameters, as 1 or 0: a 2 would double forces of dry friction."""
        value = _scalar(active, f"{where}: active")
        if value.is_constant() and float(value) != 1:
            raise ModelError(
                f"{where}: active = {active!r} must be a switch or a parameter, see system.switch; what is never there is "
                "left out"
            )
        if not self.is_constant(value):
            raise ModelError(
                f"{where}: active= must be a switch or a parameter, not an expression of the state; declare the rule with "
                "system.switch(name, on=expression)"
            )
        return value != 0

    @property
    def _named_q(self) -> list[ca.SX]:
        return [b.q for b in self.blocks if b.named]

    def _switch_last(self, declared: list[Any], active: Any) -> None:
        """What was declared last exists only where `active` is not zero."""
        if active is None:
            return
        last = declared.pop()
        value = self._active(active, f"{self.name}: {last.name!r}")
        apply = switched_contact if isinstance(last, DeclaredContact) else switched_constraint
        declared.append(apply(last, value))
