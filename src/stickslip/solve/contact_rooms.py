"""Programs with room for detected contacts: which types of contacts they know, and how many of each they hold.

A type has a code: the kind of contact, and the kinds of its two bodies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from stickslip.engine.fields import EXCEPTIONS, Field, Space
from stickslip.engine.mechanics import PartType
from stickslip.engine.numbering import Detected
from stickslip.engine.program import Program
from stickslip.errors import MethodError
from stickslip.model.frames import Ground
from stickslip.model.system import System
from stickslip.schemes import Scheme
from stickslip.solve.checks import check_capability
from stickslip.solve.prepared import compiled, prepare

CODES = 9 * 4 * 4  # kinds of contacts, of first and second bodies
SMALLEST = 8  # contacts that a room holds
PER_BODY = 3  # contacts of a heap
GROWTH = 64  # of a room, up to a heap
GIVEN = ("open_0",)  # fields of a new contact that say that it was open


@cache
def contact_type(
    kind: int, bodies: tuple[int, int], dimension: int, frictional: bool
) -> tuple[PartType, tuple[int, ...]]:
    """The type of a kind of contact between two kinds of bodies, and which of its numbers it uses."""
    from stickslip.collide.templates import template
    from stickslip.engine.derive import derive_template

    own = template(kind, bodies, dimension, frictional)
    return derive_template(own.system.blocks, own.equations, own.parameters)


def program_with_rooms(
    system: System, scheme: Scheme, rooms: Mapping[int, int], dimension: int, frictional: bool
) -> Program:
    """The scheme's program with room for so many contacts of each code; kept with the system, for other runs."""
    from stickslip.collide.templates import columns_of

    def make() -> Program:
        model = prepare(system).model
        check_capability(scheme, model, contacts=True, friction=frictional)
        detected = []
        for code, capacity in rooms.items():
            kind, first, second = code // 16, code // 4 % 4, code % 4
            part, columns = contact_type(kind, (first, second), dimension, frictional)
            detected.append(Detected(part, len(columns_of(kind)), columns, capacity))
        program: Program = scheme.compile(model, detected)
        if program.decides_step:
            raise MethodError(f"method {scheme.name!r} chooses its steps, and cannot follow contacts that are detected")
        for each in program.memory:
            if each.space in (Space.N, Space.F) and "." not in each.name and each.name not in GIVEN:
                raise MethodError(
                    f"method {scheme.name!r} remembers {each.name!r} of every contact, which a detected one cannot have"
                )
        return program

    return compiled(system, (scheme, frictional, *rooms.items()), make)


def enough(count: int, bodies: int = 0) -> int:
    """Room for so many and a quarter more, or for a heap of the bodies if it may come; 2^k or 1.5 2^k, so that runs share
    programs.
    """
    size, needed = SMALLEST, max(1.25 * count, min(GROWTH * count, PER_BODY * bodies))
    while size < needed:
        size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3
    return size


def labels_of(shapes: Iterable[Any]) -> list[str]:
    """Names of shapes: their body, with a number where it carries several."""
    names = ["ground" if isinstance(shape.body, Ground) else shape.body.name for shape in shapes]
    several = dict.fromkeys(names, 0)
    for name in names:
        several[name] += 1
    seen = dict.fromkeys(several, 0)
    out = []
    for name in names:
        out.append(name if several[name] == 1 else f"{name}[{seen[name]}]")
        seen[name] += 1
    return out


def places_of_a_step(program: Program, fields: list[Field]) -> tuple[list[slice], list[tuple[int, int, int]]]:
    """Where these fields lie, which a step reads before it writes them: what is always there; of each kind of detected contacts
    its number, the first place, and how many one contact has.
    """
    numbering, start = program.numbering, program.layout.start
    fixed, moving = [], []
    for each in [*fields, *[given for given in EXCEPTIONS if given in start]]:
        fixed.append(slice(start[each], start[each] + numbering.declared[each.space]))
        for k, kind in enumerate(numbering.kinds):
            if kind.detected and each.space in kind.own:
                moving.append((k, start[each] + kind.own[each.space], kind.type.n[each.space]))
    return fixed, moving
