"""The compiled functions that a run with detected contacts calls in every step."""

from __future__ import annotations

from typing import NamedTuple

from stickslip.jit import Direct


class Calls(NamedTuple):
    """Those of one run, whose arguments have the same types in all steps."""

    detect: Direct
    find_neighbours: Direct
    assign: Direct
    write_contacts: Direct
    write_numbers: Direct
    report: Direct


def calls_of_a_run() -> Calls:
    """Loads the compiler."""
    from stickslip.collide.detect import assign, detect, find_neighbours, write_numbers
    from stickslip.collide.report import report
    from stickslip.engine.rooms import write_contacts

    return Calls(*map(Direct, (detect, find_neighbours, assign, write_contacts, write_numbers, report)))
