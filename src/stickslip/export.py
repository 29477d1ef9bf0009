"""A solution as tables of other libraries: pandas, xarray, text."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import OptionError, ResultFileError
from stickslip.solution import Solution
from stickslip.values import catalogue, read

if TYPE_CHECKING:
    import pandas
    import xarray


def to_pandas(solution: Solution, quantities: Sequence[str] | None = None) -> pandas.DataFrame:
    """A data frame; see `Solution.to_pandas`."""
    pd = _library("pandas")
    columns, units = _table(solution, quantities)
    frame = pd.DataFrame(columns, index=pd.Index(solution.t, name="t"))
    frame.attrs |= {"units": units, "system": solution.provenance.get("system", "")}
    return frame


def to_csv(solution: Solution, path: str | Path, quantities: Sequence[str] | None = None) -> Path:
    """A table of text; see `Solution.to_csv`. Numbers are written so that they are read back bit for bit."""
    path = Path(path)
    columns, units = _table(solution, quantities)
    header = ["t [s]", *[f"{name} [{units[name]}]" if units[name] else name for name in columns]]
    rows = np.column_stack([solution.t, *columns.values()]).tolist()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows([[repr(x) for x in row] for row in rows])
    except OSError as error:
        raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
    return path


def to_xarray(solution: Solution, quantities: Sequence[str] | None = None) -> xarray.Dataset:
    """A dataset; see `Solution.to_xarray`."""
    xr = _library("xarray")
    about = {
        "provenance": json.dumps(solution.provenance, default=str),
        "system": solution.provenance.get("system", ""),
    }
    time = ("time", solution.t, {"units": "s"})
    if quantities is not None:
        chosen = _chosen(solution, quantities)
        known = catalogue(solution)
        variables: dict[str, Any] = {}
        for name, values in chosen.items():
            unit = known[name].unit if name in known else ""
            dims = ("time", *[f"{name}_{k}" for k in range(values.ndim - 1)])
            variables[name] = (dims, values, {"units": unit})
        return xr.Dataset(variables, coords={"time": time}, attrs=about)
    names = solution.names
    axes = {
        "coordinate": names.q,
        "velocity": names.u,
        "constraint": names.g,
        "velocity_constraint": names.gamma,
        "contact": names.contacts,
        "friction": names.friction_labels,
    }
    arrays = {
        "q": "coordinate",
        "u": "velocity",
        "g": "constraint",
        "g_dot": "constraint",
        "P_g": "constraint",
        "gamma": "velocity_constraint",
        "P_gamma": "velocity_constraint",
        "gap": "contact",
        "gap_dot": "contact",
        "P_N": "contact",
        "slip": "friction",
        "P_F": "friction",
    }
    coords: dict[str, Any] = {"time": time} | {axis: list(labels) for axis, labels in axes.items() if labels}
    if names.q and names.q_units:
        coords["q_unit"] = ("coordinate", list(names.q_units))
    if names.u and names.u_units:
        coords["u_unit"] = ("velocity", list(names.u_units))
    there = [n for n in arrays if axes[arrays[n]] and solution.holds(n)]
    data: dict[str, Any] = {n: (("time", arrays[n]), getattr(solution, n)) for n in there}
    energies = [n for n in ("kinetic", "potential") if solution.holds(n)]
    data |= {n: (("time",), getattr(solution, n), {"units": "J"}) for n in energies}
    for name, values in solution.extra.items():
        data[name] = (("time", *[f"{name}_{k}" for k in range(values.ndim - 1)]), values)
    return xr.Dataset(data, coords=coords, attrs=about)


def _table(solution: Solution, quantities: Sequence[str] | None) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Columns and units by name; a quantity with several components has one column each, pin.force[0] and so on."""
    known = catalogue(solution)
    columns: dict[str, np.ndarray] = {}
    units: dict[str, str] = {}
    for name, values in _chosen(solution, quantities).items():
        unit = known[name].unit if name in known else known[name.partition("[")[0]].unit
        flat = values.reshape(len(values), -1)
        labels = [name] if values.ndim == 1 else [f"{name}[{k}]" for k in range(flat.shape[1])]
        for k, label in enumerate(labels):
            columns[label], units[label] = flat[:, k], unit
    return columns, units


def _chosen(solution: Solution, quantities: Sequence[str] | None) -> dict[str, np.ndarray]:
    if quantities is None:
        quantities = [name for name, entry in catalogue(solution).items() if entry.stored and name != "t"]
    elif isinstance(quantities, str):
        raise OptionError(f"quantities must be a list of names, such as [{quantities!r}]")
    return {name: read(solution, name) for name in quantities}


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise OptionError(f"{name} is not installed; pip install stickslip[data]") from None
