"""What is compiled and checked once for a system, and kept with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from stickslip.engine.check import check_mass
from stickslip.engine.derive import Model, derive
from stickslip.engine.fields import Field
from stickslip.engine.flow import StageFunction
from stickslip.engine.numbering import Numbering
from stickslip.engine.observe import observation, observe
from stickslip.engine.program import Program
from stickslip.errors import MethodError, ModelError, OptionError
from stickslip.model.collisions import collisions_of
from stickslip.model.declaration import Bilateral
from stickslip.model.readings import units_of
from stickslip.model.system import System
from stickslip.schemes import Scheme
from stickslip.solution import Names, Solution
from stickslip.solve.varying import by_index, varying_of


@dataclass(frozen=True, eq=False)
class Prepared:
    """A system ready to run: its model, the numbering of it, the program of observed quantities.

    `passed` remembers what was checked, `inputs` what a check depends on (see `solve.checks`), `scales` the length and
    velocity of the model.
    """

    model: Model
    numbering: Numbering
    observing: Program
    passed: dict[Any, Any] = field(default_factory=dict)
    inputs: dict[Any, Any] = field(default_factory=dict)
    scales: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def names(self) -> Names:
        """Labels and units of all columns: 1 kB for each body in space, so a stepper does without."""
        return names_of(self.numbering)


def prepare(system: System) -> Prepared:
    """Derive and compile what does not depend on a scheme, unless it is there already."""

    def make() -> Prepared:
        model = derive(system)
        numbering = Numbering(model)
        if not model.parts:  # coordinates without equations: there is nothing to observe, and no mass
            check_mass(numbering, 0.0, system.q_initial, system.parameter_array())
        ready = Prepared(model, numbering, observation(model))
        if system.measures:
            _refuse_shadows(system, ready.names)
        return ready

    return compiled(system, "model", make)


def _refuse_shadows(system: System, names: Names) -> None:
    """A measure must not have the name of a quantity that every solution has: one of them could not be read."""
    own = {f"{n.partition('[')[0]}.{w}" for n in (*names.g, *names.gamma) for w in ("P", "force", "torque")}
    own |= {f"{n}.{w}" for n in names.contacts for w in ("gap", "gap_dot", "P", "force")}
    own |= {f"{n}.{w}" for n in names.friction for w in ("slip", "P_F", "friction")}
    own |= {f"energy.{w}" for w in ("kinetic", "potential", "total")}
    if shadowed := sorted(own & set(system.measures)):
        raise ModelError(
            f"{system.name}: measure {shadowed[0]!r} has the name of a quantity of every solution; rename it"
        )


def compiled(system: System, key: Any, make: Callable[[], Any]) -> Any:
    """What was compiled for this system, unless something was declared since. It is freed with the system."""
    kept, size = system.compiled, system.size
    if key not in kept or kept[key][0] != size:
        kept[key] = (size, make())
    return kept[key][1]


def refuse_detected(system: System) -> None:
    """For studies that need all contacts in the equations."""
    if collisions_of(system) is not None:
        raise MethodError(
            f"{system.name}: its contacts are detected while it moves, which `solve`, `sweep` and `stepper` can follow; "
            "for this study declare them with Contact"
        )


def program_of(system: System, scheme: Scheme, switching: bool = False) -> Any:
    """The scheme, compiled for the system; `switching`: the caller follows switches."""
    if system.switches and not switching:
        raise MethodError(f"{system.name}: it has switches, which only `solve`, `sweep` and `stepper` can follow")
    refuse_detected(system)
    return compiled(system, scheme, lambda: scheme.compile(prepare(system).model))


def observe_along(
    system: System, solution: Solution, quantities: StageFunction, fields: Sequence[Field]
) -> dict[str, np.ndarray]:
    """Evaluate `quantities` of a system, as in `engine.observe`, along a solution of it; `fields` as there.

    The parameters are those of the run, also where they changed.
    """
    ready = prepare(system)
    if ready.names != solution.names:
        raise OptionError(
            f"the solution of {solution.provenance.get('system', 'another system')!r} does not belong to the system "
            f"{system.name!r}: coordinates or contacts have other names"
        )
    program = compiled(system, quantities, lambda: observation(ready.model, quantities, fields))
    values = system.parameter_array(solution.provenance.get("parameters"))
    varying = by_index(system, varying_of(solution))
    return observe(program, values, solution.t, solution.q, solution.u, fields, varying)


def names_of(numbering: Numbering) -> Names:
    """Labels and units of all columns, where the numbering has them."""
    model, system = numbering.model, numbering.model.system
    g, gamma, contacts = ([""] * numbering.size[space] for space in ("g", "gamma", "N"))
    friction: list[tuple[str, int, int]] = []  # name, components, normal contact
    for k, equations in enumerate(model.equations):
        normal = [c.name for c in equations.contacts if c.gap is not None]
        own = numbering.own(k, "N")
        contacts[own] = normal
        g[numbering.own(k, "g")] = _labels(equations.constraints)
        gamma[numbering.own(k, "gamma")] = _labels(equations.velocity_constraints)
        for c in equations.contacts:
            if c.slip.numel():
                where = own.start + normal.index(c.name) if c.gap is not None else -1
                friction.append((c.name, c.slip.numel(), where))
    units = units_of(system)
    q, u = system.q_names, system.u_names
    return Names(
        q=q,
        u=u,
        g=tuple(g),
        gamma=tuple(gamma),
        contacts=tuple(contacts),
        friction=tuple(f[0] for f in friction),
        friction_sizes=tuple(f[1] for f in friction),
        friction_contact=tuple(f[2] for f in friction),
        q_units=tuple(units[n] for n in q),
        u_units=tuple(units[n] for n in u),
        g_units=tuple(units.get(n.partition("[")[0], "") for n in g),
        gamma_units=tuple(units.get(n.partition("[")[0], "") for n in gamma),
        contact_units=tuple(units.get(n, "m") for n in contacts),
        friction_units=tuple(units.get(f[0], "m") for f in friction),
    )


def _labels(constraints: Sequence[Bilateral]) -> list[str]:
    """One per row: the name of the constraint, numbered where it has several."""
    sizes = [(c.name, c.value.numel()) for c in constraints]
    return [name if n == 1 else f"{name}[{k}]" for name, n in sizes for k in range(n)]
