"""Quantities of a solution by name: what there is, in which unit, and how it is read.

| name | what | unit |
| --- | --- | --- |
| `ball.x`, `ball.x_dot`, `phi` | coordinates and velocities, as `solution.names` has them | m, rad, m/s, rad/s |
| `pin.P`, `pin.force` | percussion of a constraint, and its force P/dt, one column per row of it | N s, N |
| `pin.torque` | torques of the rows that keep axes or angles | N m |
| `floor.gap`, `floor.gap_dot`, `floor.P`, `floor.force` | a normal contact | m, m/s, N s, N |
| `floor.P`, `floor.force` where there are `floor[0]`, `floor[1]`, ... | the sum of their normal forces | N s, N |
| `detected.force`, `detected.P`, `detected.count` | detected contacts: sum of normal forces, their number | N, N s |
| `floor.slip`, `floor.P_F`, `floor.friction` | its slip velocity, percussion and force of friction | m/s, N s, N |
| `pin.angle`, `guide.displacement`, `rod.distance`, and `..._dot` | measures of joints; angles do not jump at pi | rad, m |
| `spring.length`, `spring.elongation`, `spring.force` | springs; the force is positive where it pulls | m, N |
| `motor.force`, `servo.force`, `servo.error` | motors and controllers | N, N m |
| `energy.kinetic`, `energy.potential`, `energy.total` | energies | J |
| a measure's own name | what `system.measure` recorded, and further results of a scheme | its own |

A force is a mean over the step that ends at its row, percussion over duration; row 0 is zero, as there is no step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from stickslip.engine.evaluate import evaluate as evaluate_rows
from stickslip.errors import ModelError, OptionError
from stickslip.math import array, column
from stickslip.model.bodies import Body
from stickslip.model.declaration import Sensor
from stickslip.model.frames import Carrier, Point
from stickslip.model.readings import sensors_of, value_of
from stickslip.model.system import System
from stickslip.solution import ARRAYS, CATALOGUE, Solution

FORCES = {"m": "N", "rad": "N m"}
"""By the unit of a gap or a slip's measure, that of its force."""


@dataclass(frozen=True)
class Entry:
    """A quantity that a solution can give: unit, what it is, and how it is read."""

    unit: str
    kind: str
    read: Callable[[], np.ndarray]
    stored: bool = True  # in the solution's own arrays; others need the system
    of_step: bool = False  # belongs to the step that ends at its row


def read(solution: Solution, name: str) -> np.ndarray:
    """The quantity `name` at every time; a component of one with several by its index, as in pin.force[0]."""
    known = catalogue(solution)
    if name in known:
        return known[name].read()
    whole, bracket, index = str(name).partition("[")
    if bracket and whole in known and index.removesuffix("]").isdigit():
        columns = known[whole].read()
        if columns.ndim == 2 and int(index[:-1]) < columns.shape[1]:
            return columns[:, int(index[:-1])]
    close = get_close_matches(str(name), known, n=5, cutoff=0.5)
    hint = f"; did you mean {', '.join(map(repr, close))}?" if close else "."
    needs = "" if solution.system is not None else _NEEDS_SYSTEM
    missing = [each for each in ARRAYS if not solution.holds(each)]
    if missing:
        needs = f" What follows from {', '.join(missing)} is not there: `save=` of the run left these out.{needs}"
    raise OptionError(
        f"unknown quantity {name!r}{hint} `solution.quantities` lists all {len(known)} with their units.{needs}"
    )


_NEEDS_SYSTEM = (
    " Quantities of springs and joints, paths and expressions need the system: ss.load(path, system=...), or system=... "
    "of this call."
)


def catalogue(solution: Solution) -> dict[str, Entry]:
    """All quantities by name; of two with the same name the first is the one that counts."""
    kept: dict[str, dict[str, Entry]] = vars(solution)  # entries refer to the solution, so they live as long as it does
    if CATALOGUE not in kept:
        entries: dict[str, Entry] = {}
        for name, entry in [*_stored(solution), *_of_parts(solution)]:
            entries.setdefault(name, entry)
        kept[CATALOGUE] = entries
    return kept[CATALOGUE]


def _stored(solution: Solution) -> list[tuple[str, Entry]]:
    names = solution.names
    out: list[tuple[str, Entry]] = [("t", Entry("s", "time", lambda: solution.t))]
    for kind, array_name, labels, units in (
        ("coordinate", "q", names.q, names.q_units),
        ("velocity", "u", names.u, names.u_units),
    ):
        if not solution.holds(array_name):
            continue
        rows = getattr(solution, array_name)
        padded = units or ("",) * len(labels)
        out += [(n, Entry(x, kind, _columns(rows, k))) for k, (n, x) in enumerate(zip(labels, padded, strict=True))]
    for labels, units, array_name in ((names.g, names.g_units, "P_g"), (names.gamma, names.gamma_units, "P_gamma")):
        if solution.holds(array_name):
            out += _constraints(solution, labels, units or ("",) * len(labels), getattr(solution, array_name))
    units = names.contact_units or ("m",) * len(names.contacts)
    for k, (name, unit) in enumerate(zip(names.contacts, units, strict=True)):
        if solution.holds("gap"):
            out.append((f"{name}.gap", Entry(unit, "gap", _columns(solution.gap, k))))
        if solution.holds("gap_dot"):
            out.append((f"{name}.gap_dot", Entry(f"{unit}/s", "gap velocity", _columns(solution.gap_dot, k))))
        if solution.holds("P_N"):
            out += _percussion(solution, f"{name}.P", f"{name}.force", FORCES.get(unit, ""), solution.P_N, k)
    if solution.holds("P_N"):
        out += _totals(solution, units)
    if solution.contacts is not None:
        out += _detected(solution)
    units = names.friction_units or ("m",) * len(names.friction)
    for name, unit, where in zip(names.friction, units, names.friction_slices, strict=True):
        one = where.start if where.stop == where.start + 1 else where
        if solution.holds("slip"):
            out.append((f"{name}.slip", Entry(f"{unit}/s", "slip", _columns(solution.slip, one))))
        if solution.holds("P_F"):
            out += _percussion(solution, f"{name}.P_F", f"{name}.friction", FORCES.get(unit, ""), solution.P_F, one)
    for name, parts in (("kinetic", ("kinetic",)), ("potential", ("potential",)), ("total", ("kinetic", "potential"))):
        if solution.holds(*parts):
            out.append((f"energy.{name}", Entry("J", "energy", _energy(solution, name))))
    sensors = {} if solution.system is None else solution.system.measures
    recorded = solution.provenance.get("measures", {})
    kept = solution.provenance.get("kept", {}).get("quantities", {})  # by name, with save=
    for name, values in solution.extra.items():
        unit = sensors[name].unit if name in sensors else recorded.get(name, kept.get(name, ""))
        kind = "measure" if name in recorded or name in sensors else "result"
        turns = name in kept and unit == "rad" and name.endswith(".angle")
        out.append((name, Entry(unit, kind, _kept(values, turns))))
    return out


def _kept(values: np.ndarray, turns: bool) -> Callable[[], np.ndarray]:
    return lambda: np.unwrap(values) if turns else np.asarray(values)


def _energy(solution: Solution, name: str) -> Callable[[], np.ndarray]:
    return lambda: np.asarray(getattr(solution.energy(), name))


def _totals(solution: Solution, units: Sequence[str]) -> list[tuple[str, Entry]]:
    """Normal forces of contacts with several points, such as the corners of a box, added up."""
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(solution.names.contacts):
        whole, bracket, _ = name.rpartition("[")
        if bracket:
            groups.setdefault(whole, []).append(k)
    out: list[tuple[str, Entry]] = []
    for name, where in groups.items():
        if len({units[k] for k in where}) == 1:
            unit = FORCES.get(units[where[0]], "")
            total = partial(_sum, solution.P_N, where)
            out.append((f"{name}.P", Entry(f"{unit} s" if unit else "", "percussion", total, of_step=True)))
            force = partial(_force, total, solution)
            out.append((f"{name}.force", Entry(unit, "force", force, of_step=True)))
    return out


def _detected(solution: Solution) -> list[tuple[str, Entry]]:
    """Detected contacts come and go: their sum has a value at every time, and so has their number."""

    def total(weights: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        found = solution.contacts
        assert found is not None
        P = found.P_N
        return np.bincount(found.row, weights(P), minlength=len(solution.t))[: len(solution.t)]

    P = partial(total, lambda P: P)
    return [
        ("detected.P", Entry("N s", "percussion", P, of_step=True)),
        ("detected.force", Entry("N", "force", partial(_force, P, solution), of_step=True)),
        (
            "detected.count",
            Entry("", "count", partial(total, lambda P: (1e-10 * P.max(initial=0.0) < P).astype(float))),
        ),
    ]


def _sum(P: np.ndarray, where: list[int]) -> np.ndarray:
    return np.asarray(P[:, where].sum(axis=1))


def _force(percussion: Callable[[], np.ndarray], solution: Solution) -> np.ndarray:
    return _per_time(percussion(), solution.t)


def _constraints(
    solution: Solution, labels: Sequence[str], units: Sequence[str], P: np.ndarray
) -> list[tuple[str, Entry]]:
    """Rows of a constraint, which are named pin[0], pin[1], belong together; those of axes and angles give torques."""
    rows: dict[str, list[int]] = {}
    for k, label in enumerate(labels):
        rows.setdefault(label.partition("[")[0], []).append(k)
    out: list[tuple[str, Entry]] = []
    for name, where in rows.items():
        unit = units[where[0]]
        joint, _, last = name.rpartition(".")
        turning = unit == "N m" and last in ("axis", "angle")
        force = f"{joint}.torque" if turning else f"{name}.force"
        out += _percussion(solution, f"{name}.P", force, unit, P, where[0] if len(where) == 1 else where)
    return out


def _percussion(
    solution: Solution, P_name: str, force_name: str, unit: str, P: np.ndarray, where: Any
) -> list[tuple[str, Entry]]:
    columns = _columns(P, where)
    return [
        (P_name, Entry(f"{unit} s" if unit else "", "percussion", columns, of_step=True)),
        (force_name, Entry(unit, "force", lambda: _per_time(columns(), solution.t), of_step=True)),
    ]


def _per_time(P: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Percussions over the durations of their steps."""
    force = np.zeros_like(P)
    force[1:] = (P[1:].T / np.diff(t)).T
    return force


def _columns(rows: np.ndarray, where: Any) -> Callable[[], np.ndarray]:
    return lambda: rows[:, where]


def _of_parts(solution: Solution) -> list[tuple[str, Entry]]:
    system = solution.system
    if system is None:
        return []

    def reader(name: str, sensor: Sensor) -> Callable[[], np.ndarray]:
        def read() -> np.ndarray:
            values = evaluate(solution, sensor.value)
            return np.unwrap(values) if sensor.unit == "rad" and name.endswith(".angle") else values

        return read

    kinds = {"force": "force", "angle": "joint", "displacement": "joint", "distance": "joint"}
    return [
        (
            name,
            Entry(
                sensor.unit,
                kinds.get(name.rpartition(".")[2].removesuffix("_dot"), "part"),
                reader(name, sensor),
                stored=False,
            ),
        )
        for name, sensor in sensors_of(system).items()
    ]


# --- expressions and points ----------------------------------------------------------------------------------------


def evaluate(solution: Solution, expression: Any, system: System | None = None) -> np.ndarray:
    """An expression, or a measure, at every time; see `Solution.evaluate`."""
    system = _system(solution, system)
    try:
        f = column(value_of(system, expression))
    except ModelError as error:
        raise OptionError(f"cannot evaluate {expression!r}: {error}") from None
    values: dict[str, Any] = dict(system.parameter_values(solution.provenance.get("parameters")))
    # a parameter that changed during the run has a value per row
    values |= {name: solution.extra[own] for name, own in solution.provenance.get("varying", {}).items()}
    out = evaluate_rows(system, f, values, solution.t, solution.q, solution.u)
    rows, columns = f.shape
    if columns == 1:
        scalar = rows == 1 and not isinstance(expression, list | tuple | np.ndarray)
        return out[:, 0] if scalar else out
    return out.reshape(len(out), columns, rows).transpose(0, 2, 1)


def path(solution: Solution, point: Any, system: System | None = None) -> np.ndarray:
    """Places of a point; see `Solution.path`."""
    body, local = _point(_system(solution, system), point)
    return evaluate(solution, array(body.position(local)), system)


def velocity(solution: Solution, point: Any, system: System | None = None) -> np.ndarray:
    """Velocities of a point; see `Solution.velocity`."""
    body, local = _point(_system(solution, system), point)
    return evaluate(solution, array(body.velocity(local)), system)


def acceleration(solution: Solution, point: Any, system: System | None = None) -> np.ndarray:
    """Mean accelerations of a point over each step; see `Solution.acceleration`."""
    v = velocity(solution, point, system)
    out = np.full_like(v, np.nan)
    out[1:] = np.diff(v, axis=0) / np.diff(solution.t)[:, None]
    return out


def _point(system: System, given: Any) -> tuple[Carrier, np.ndarray]:
    bodies = {part.name: part for part in system.parts if isinstance(part, Body)}
    if isinstance(given, str):
        if given not in bodies:
            close = get_close_matches(given, bodies, n=3)
            raise OptionError(f"{system.name} has no body {given!r}; {f'did you mean {close}?' if close else ''} "
                              f"Bodies: {', '.join(bodies) or 'none'}")  # fmt: skip
        given = bodies[given]
    if isinstance(given, Body):
        given = given.point()
    if not isinstance(given, Point):
        raise OptionError(f"{given!r} is not a point: give body.point(0.1, 0), a body, or the name of a body")
    return given.body, array(given.coordinates)


def _system(solution: Solution, system: System | None) -> System:
    if system is not None:
        require_own(solution, system)
        return system
    if solution.system is None:
        raise OptionError(f"this solution came from a file, without its system.{_NEEDS_SYSTEM}")
    return solution.system


def require_own(solution: Solution, system: System) -> None:
    """Refuse a system whose coordinates are not those of the solution."""
    if not isinstance(system, System):
        raise OptionError(f"system = {system!r} must be the System that was solved")
    q, u = system.q_names, system.u_names
    if (q, u) != (solution.names.q, solution.names.u):
        raise OptionError(
            f"the solution of {solution.provenance.get('system', 'another system')!r} does not belong to the system "
            f"{system.name!r}: its coordinates have other names"
        )
