"""Modes: constraints and contacts that are there or not, and the rules that switch them.

A switch is a parameter that is 1 or 0. Between two steps, never within one, its rule looks at the state: it is on while
`on` > 0, or, with `off`, from when `on` > 0 until `off` > 0. A constraint g = 0 that belongs to a switch s reads s g = 0: with
s = 0 it is 0 = 0, and carries no force. A contact that is switched off has a gap of FAR.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from stickslip.errors import ModelError
from stickslip.model.declaration import Bilateral, DeclaredContact, Equations

FAR = 1.0  # gap of a contact that is switched off
LOCATED = ("step", "event")


@dataclass(frozen=True)
class Switch:
    """A rule, see `System.switch`: the state may turn it at the end of a step, or at the event itself."""

    name: str
    on: ca.SX
    off: ca.SX | None
    located: str
    start: bool | None

    def __post_init__(self) -> None:
        if self.located not in LOCATED:
            raise ModelError(f"switch {self.name!r}: located = {self.located!r} must be 'step' or 'event'")
        if self.start not in (None, False, True):
            raise ModelError(f"switch {self.name!r}: start = {self.start!r} must be True, False or None")


def switched(equations: Equations, active: ca.SX) -> None:
    """All constraints and contacts of these equations exist only where `active` is not zero."""
    equations.constraints = [switched_constraint(c, active) for c in equations.constraints]
    equations.velocity_constraints = [switched_constraint(c, active) for c in equations.velocity_constraints]
    equations.contacts = [switched_contact(c, active) for c in equations.contacts]


def switched_constraint(constraint: Bilateral, active: ca.SX) -> Bilateral:
    """A constraint that is 0 = 0 where it is switched off."""
    return replace(constraint, value=constraint.value * active)


def switched_contact(contact: DeclaredContact, active: ca.SX) -> DeclaredContact:
    """A contact that is far away where it is switched off; friction of its own has then no force."""
    gap: Any = None if contact.gap is None else ca.if_else(active, contact.gap, FAR)
    return replace(contact, gap=gap, radius=contact.radius * active)
