"""What is checked before the first step. A check runs again only where something changed that it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stickslip.engine.check import (
    LAWS,
    check_initial_state,
    check_laws,
    check_mass,
    check_orientations,
    highest_frequency,
    laws_hold,
)
from stickslip.engine.derive import Model
from stickslip.engine.observe import observe
from stickslip.engine.stage import once
from stickslip.errors import MethodError, StabilityWarning, warn
from stickslip.model.collisions import collisions_of
from stickslip.schemes import METHODS, Scheme
from stickslip.solve.prepared import Prepared

REMEMBERED = 64  # starts whose checks are remembered
LONG = 4096  # bytes
CANONICAL = "canonical"  # what a model keeps: whether qdot = u in all of its blocks


def check_start(
    ready: Prepared,
    scheme: Scheme,
    dt: float,
    t: float,
    q: np.ndarray,
    u: np.ndarray,
    values: np.ndarray,
    tol: float | None,
) -> None:
    """Mass matrix, laws, stability and the initial state; `tol` is None where a run continues, which may have drifted."""
    numbering = ready.numbering
    check_orientations(numbering, q)
    _once(ready, ("M",), t, q, values, partial(check_mass, numbering, t, q, values))
    for law in LAWS:
        _once(ready, (law,), t, q, values, partial(_check_law, ready, law, t, q, values))
    key = (t, digest(q), digest(u), values.tobytes(), tol)
    if tol is not None and key not in ready.passed:
        first = observe(ready.observing, values, np.array([t]), q[None, :], u[None, :])
        check_initial_state(first, partial(labels_of_rows, ready), numbering, tol)
        _remember(ready, key, None)
    stable_to = scheme.facts.stable_to
    if stable_to is not None:
        frequency = partial(highest_frequency, numbering, t, q, values)
        omega = _once(ready, ("M", "stiffness"), t, q, values, frequency)
        _check_stability(scheme, stable_to, dt, omega)


def labels_of_rows(ready: Prepared) -> dict[str, tuple[str, ...]]:
    """Names of constraints and contacts."""
    return {key: getattr(ready.names, key) for key in ("g", "gamma", "contacts")}


def digest(numbers: np.ndarray) -> bytes:
    """What tells arrays apart: their bytes, or a digest of many, for it is remembered."""
    content = numbers.tobytes()
    return content if len(content) < LONG else hashlib.blake2b(content).digest()


def _check_law(ready: Prepared, law: str, t: float, q: np.ndarray, values: np.ndarray) -> None:
    """A law that is nothing but parameters, as most are, is checked by their values; constants were when declared."""
    if law != "coefficients":
        if (key := ("plain", law)) not in ready.inputs:
            ready.inputs[key] = ready.numbering.plain_parameters(law)
        plain = ready.inputs[key]
        if plain is not None and laws_hold(law, values[plain]):
            return
    check_laws(ready.numbering, t, q, values, (law,))


def _once(
    ready: Prepared, names: tuple[str, ...], t: float, q: np.ndarray, values: np.ndarray, check: Callable[[], Any]
) -> Any:
    """The outcome of a check of these functions of (t, q), made once for all that they depend on."""
    if names not in ready.inputs:
        ready.inputs[names] = ready.numbering.inputs_of(names)
    time, positions, parameters = ready.inputs[names]
    key = (names, t if time else None, digest(q) if positions else None, values[parameters].tobytes())
    outcome = ready.passed.get(key, ready)  # other threads may forget it at any time
    return outcome if outcome is not ready else _remember(ready, key, check())


def _remember(ready: Prepared, key: Any, outcome: Any) -> Any:
    if len(ready.passed) >= REMEMBERED:
        ready.passed.clear()
    ready.passed[key] = outcome
    return outcome


def checked_parameters(ready: Prepared) -> frozenset[str]:
    """Parameters that occur in masses or laws, whose range is checked when they change."""
    names = list(ready.model.system.parameter_symbols())
    return frozenset(names[k] for k in ready.numbering.inputs_of(("M", *LAWS))[2])


def check_capability(scheme: Scheme, model: Model, contacts: bool = False, friction: bool = False) -> None:
    """The scheme can treat what the system has, and the contacts and the friction that a scene may add."""
    scene = collisions_of(model.system)
    needs = {
        "contacts": contacts or any(part.type.n["N"] for part in model.parts),
        "friction": friction or any(part.type.frictions for part in model.parts),
        "general_kinematics": not once(model.kept, CANONICAL, lambda: all(b.canonical for b in model.system.blocks)),
        "detected": scene is not None,
    }
    words = {
        "contacts": "contacts",
        "friction": "friction",
        "general_kinematics": "kinematics other than qdot = u",
        "detected": "contacts that are detected",
    }
    for need, wanted in needs.items():
        if wanted and not getattr(scheme.facts, need):
            found = {"contacts": scene is not None, "friction": scene is not None and scene.frictional}
            asked = [k for k, v in needs.items() if v or found.get(k)]
            able = [n for n, s in METHODS.items() if all(getattr(s().facts, k) for k in asked)]
            default = type(scheme)().options
            changed = ", ".join(f"{k}={v!r}" for k, v in scheme.options.items() if v != default[k])
            method = f"{scheme.name!r} with {changed}" if changed else f"{scheme.name!r}"
            raise MethodError(
                f"method {method} cannot treat {words[need]}, which {model.system.name!r} has; these can: "
                f"{', '.join(sorted(able))}"
            )


def _check_stability(scheme: Scheme, stable_to: float, dt: float, omega: float) -> None:
    """A warning where oscillations will grow without bound; every scheme with explicit forces has such a limit.

    Where they grow for every dt, as with explicit Euler, slow growth may be what is wanted; from omega dt = 2 on it is not.
    """
    limit = max(stable_to, 2.0)
    if omega * dt > limit:
        warn(
            f"dt = {dt:g} is too large for method {scheme.name!r}, whose forces are explicit: the highest frequency of the "
            f"system at the start is omega = {omega:.3g} 1/s and its amplitude grows for dt > {limit / omega:.2g}; "
            "take a smaller dt, or method='theta' or 'generalized-alpha'",
            StabilityWarning,
        )
