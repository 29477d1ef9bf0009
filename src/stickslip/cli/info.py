"""`stickslip info`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from stickslip.cli.app import app
from stickslip.cli.common import Json, Settings, Target, print_table, say, say_json
from stickslip.cli.target import TargetModel, find

if TYPE_CHECKING:
    from stickslip.model.system import System


@app.command()
def info(name: Target, set_: Settings = None, json: Json = False) -> None:
    """Show what a model is made of: settings, parameters, parts, coordinates, constraints and contacts."""
    model = find(name)
    system, changed = model.made(set_)
    data = _data(model, system, changed)
    if json:
        say_json(data)
        return
    say(f"{system.name}  ({name})")
    if data["about"]:
        say(f"\n{data['about']}")
    suits = [f"{key} = {data[key]:g}" for key in ("dt", "t_end") if data[key] is not None]
    say(f"\nruns with: {', '.join(['method ' + model.method, *suits])}\n")
    sections: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]] = [
        ("settings (--set)", ("name", "default"), [(k, _text(v)) for k, v in data["settings"].items()]),
        ("parameters (--set, or parameters={...})", ("name", "value"), _pairs(data["parameters"])),
        ("parts", ("name", "kind"), [(p["name"], p["kind"]) for p in data["parts"]]),
        ("coordinates", ("name", "initial"), _pairs(data["coordinates"])),
        ("velocities", ("name", "initial"), _pairs(data["velocities"])),
        ("constraints", ("name", "rows"), [(k, str(n)) for k, n in data["constraints"].items()]),
        ("velocity constraints", ("name", "rows"), [(k, str(n)) for k, n in data["velocity_constraints"].items()]),
        ("contacts", ("name", "friction"), [(k, v) for k, v in data["contacts"].items()]),
    ]
    for title, header, rows in sections:
        if rows:
            print_table(f"{title}: {len(rows)}", header, rows)
            say("")
    say(f"Run it: stickslip run {name}" + ("" if None not in (model.dt, model.t_end) else " --dt 1e-3 --t-end 1"))


def _data(model: TargetModel, system: System, changed: dict[str, float]) -> dict[str, Any]:
    signature = inspect.signature(model.build).parameters.values()
    equations = system.equations()
    return {
        "system": system.name,
        "about": (inspect.getdoc(model.build) or "").partition(">>>")[0].strip(),
        "method": model.method,
        "dt": model.dt,
        "t_end": model.t_end,
        "settings": {p.name: None if p.default is p.empty else p.default for p in signature},
        "parameters": {k: v for k, v in system.parameter_values(changed).items() if k in system.parameters},
        "parts": [{"name": part.name, "kind": type(part).__name__} for part in system.parts],
        "coordinates": dict(zip(system.q_names, system.q_initial.tolist(), strict=True)),
        "velocities": dict(zip(system.u_names, system.u_initial.tolist(), strict=True)),
        "constraints": {c.name: c.value.numel() for e in equations for c in e.constraints},
        "velocity_constraints": {c.name: c.value.numel() for e in equations for c in e.velocity_constraints},
        "contacts": {c.name: _contact(c) for e in equations for c in e.contacts},
    }


def _contact(contact: Any) -> str:
    """What a contact is, in words."""
    n = contact.slip.numel()
    friction = f"friction in {n} direction{'s' if n > 1 else ''}" if n else "frictionless"
    friction += f" in the cone {contact.cone.name}" if contact.cone is not None else ""
    return friction if contact.gap is not None else f"{friction}, without a normal contact"


def _pairs(values: dict[str, float]) -> list[tuple[str, ...]]:
    return [(key, f"{value:.6g}") for key, value in values.items()]


def _text(value: Any) -> str:
    return "required" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
