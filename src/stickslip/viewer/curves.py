"""The curves of a page: quantities of one or two runs, thinned so that no peak is lost."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from stickslip.errors import OptionError
from stickslip.solution import Solution

POINTS = 3000  # of a curve, more than pixels
NUMBERS = 1_200_000  # of all curves together: 4.8 MB
MOST = 400  # quantities that can be chosen in the page
NOISE = 1e-9  # a curve that moves less, in sizes of those of its unit, is noise and not shown at first
OPEN = 6  # curves of one panel that are shown at first
CROWD = 200  # coordinates: of so many bodies six curves tell nothing
LIVELY = 0.02  # of many coordinates, those that move less than this share of the liveliest one are not


def curves(
    runs: list[Solution], wanted: Sequence[str] | None, t_start: float, t_end: float, light: bool = False
) -> dict[str, Any]:
    """Times, quantities with units and values per run, and the panels that are open at first; if `light`, no others."""
    first = runs[0]
    names = [name for name in first.quantities if name != "t"]
    for name in wanted or ():
        if np.ndim(first[name]) != 1:  # raises for unknown names, with what is close
            names += [f"{name}[{k}]" for k in range(first[name].shape[1])]
    names = list(dict.fromkeys([*(wanted or ()), *sorted(names, key=_order)]))
    chosen = _columns(first, names)
    left_out = max(0, len(chosen) - MOST)
    chosen = chosen[:MOST]
    opened = _open(first, chosen, wanted)
    if light:
        chosen = [entry for entry in chosen if any(entry[0] in panel for panel in opened)]
        left_out = len(names) - len(chosen)
    points = int(np.clip(NUMBERS // max(1, len(chosen) * len(runs)), 300, POINTS // (3 if light else 1)))
    out: list[dict[str, Any]] = [{"name": name, "unit": unit, "values": []} for name, unit in chosen]
    times = []
    for run in runs:
        inside = np.flatnonzero((run.t >= t_start - 1e-12) & (run.t <= t_end + 1e-12))
        rows = slice(int(inside[0]), int(inside[-1]) + 1) if len(inside) else slice(0, 0)
        buckets = buckets_of(run.t[rows], points)
        times.append(_packed(buckets[1], np.float64))
        for entry in out:
            try:
                values = np.asarray(run[entry["name"]], dtype=float)[rows]
            except OptionError:  # the second run may be of another system
                values = np.full(len(run.t[rows]), np.nan)
            entry["values"].append(_packed(thinned(values, buckets[0]), np.float32))
    return {"t": times, "quantities": out, "open": opened, "leftOut": left_out}


def _order(name: str) -> tuple[int, int]:
    """Energies first, then coordinates and gaps, then everything else, as the solution has them."""
    return (0 if name.startswith(("energy.", "detected.")) else 1 if name.endswith((".gap", ".force")) else 2, 0)


def _columns(solution: Solution, names: list[str]) -> list[tuple[str, str]]:
    """Every quantity with one value per time, and its unit; of others the components."""
    units = solution.quantities
    out: dict[str, str] = {}
    for name in names[: 2 * MOST]:
        unit = units.get(name, units.get(name.partition("[")[0], ""))
        values = np.asarray(solution[name])
        if values.ndim == 1:
            out.setdefault(name, unit)
        elif values.ndim == 2:
            for k in range(min(values.shape[1], 12)):
                out.setdefault(f"{name}[{k}]", unit)
    return list(out.items())


def buckets_of(t: np.ndarray, points: int) -> tuple[np.ndarray | None, np.ndarray]:
    """The first row of each bucket, two points each, and the times of the points; None where nothing is left out."""
    if len(t) <= points:
        return None, t
    starts = np.unique(np.linspace(0, len(t), points // 2, endpoint=False).astype(int))
    ends = np.append(starts[1:], len(t)) - 1
    times = np.column_stack([t[starts], t[ends]]).ravel()
    return starts, times


def thinned(values: np.ndarray, starts: np.ndarray | None) -> np.ndarray:
    """Two values per bucket, its smallest and largest, in the order in which they come: no peak is lost.

    >>> thinned(np.array([0.0, 5.0, 1.0, 0.0, -3.0, 2.0]), np.array([0, 3]))
    array([ 0.,  5., -3.,  2.])
    """
    if starts is None:
        return values
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    ends = np.append(starts[1:], len(values)) - 1
    rising = values[starts] <= values[ends]
    return np.column_stack([np.where(rising, low, high), np.where(rising, high, low)]).ravel()


def _open(solution: Solution, chosen: list[tuple[str, str]], wanted: Sequence[str] | None) -> list[list[str]]:
    """Names per panel: those that were asked for by unit, or energies, gaps and normal forces, else what moves most."""
    names = [name for name, _ in chosen]
    if wanted:
        panels: dict[str, list[str]] = {}
        for name, unit in chosen:
            if name in wanted or name.partition("[")[0] in wanted:
                panels.setdefault(unit, []).append(name)
        return list(panels.values())
    energies = [name for name in names if name.startswith("energy.")]
    units = dict(chosen)
    gaps, forces = _contacts(solution, units)
    if "detected.force" in units:
        forces = ["detected.force", *forces][:OPEN]
    crowd = len(solution.names.q) > CROWD and bool(energies)
    coordinates = [] if gaps or crowd else _lively(solution, units)
    return [panel for panel in (gaps, forces, *coordinates, energies) if panel]


def _contacts(solution: Solution, units: dict[str, str]) -> tuple[list[str], list[str]]:
    """Gaps and normal forces. A contact with several points, such as corners, gives its smallest gap and its whole force."""
    groups: dict[str, list[str]] = {}
    for name in solution.names.contacts:
        groups.setdefault(name.rpartition("[")[0] or name, []).append(name)
    apart = sum(map(len, groups.values())) <= OPEN
    size = NOISE * max(float(np.abs(solution.gap).max(initial=0.0)), float(np.abs(solution.q).max(initial=0.0)))
    gaps, forces = [], []
    for group, members in groups.items():
        moving = [n for n in members if f"{n}.gap" in units and float(np.ptp(solution[f"{n}.gap"])) > size]
        if moving and not apart:
            moving = [min(moving, key=lambda n: float(solution[f"{n}.gap"].min()))]
        gaps += [f"{n}.gap" for n in moving]  # one that never opens is noise
        carrying = members if apart or f"{group}.force" not in units else [group]
        forces += [f"{n}.force" for n in carrying if f"{n}.force" in units and np.any(solution[f"{n}.force"] > 0)]
    return gaps[:OPEN], forces[:OPEN]


def _lively(solution: Solution, units: dict[str, str]) -> list[list[str]]:
    """Coordinates that move most, by unit. Round-off is left out, and so are quaternions where there is anything else."""
    panels: dict[str, list[str]] = {}
    for name in solution.names.q:
        if name in units:
            panels.setdefault(units[name], []).append(name)
    if len(panels) > 1:
        panels.pop("", None)
    all_spans = {name: float(np.ptp(solution[name])) for names in panels.values() for name in names}
    tolerance = 10 * solution.provenance.get("tol", 0.0)
    if max(all_spans.values(), default=0.0) <= tolerance:
        tolerance = 0.0  # all of it moves by little
    for unit, names in panels.items():
        spans = {name: all_spans[name] for name in names}
        least = max(tolerance, max(NOISE, LIVELY if len(names) > OPEN else 0.0) * max(spans.values()))
        most = sorted((name for name in names if spans[name] > least), key=lambda name: -spans[name])[:OPEN]
        panels[unit] = [name for name in names if name in most]
    return [names for names in panels.values() if names]


def _packed(values: np.ndarray, dtype: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode()
