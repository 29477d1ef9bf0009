"""What was measured, as residuals of a motion: time series, times of impacts, amplitudes; and their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stickslip.errors import OptionError, StudyError, unknown_name
from stickslip.model.system import System
from stickslip.solve.prepared import prepare
from stickslip.studies.inputs import with_inputs
from stickslip.studies.sensitivity import Sensitivity, sensitivity

STEP = 1e-6  # of differences, relative, where a derivative does not exist


class Measurements:
    """Data, and the residuals and Jacobian of a fit to them."""

    def __init__(
        self,
        system: System,
        data: Mapping[str, Any],
        names: Sequence[str],
        sigma: Mapping[str, float],
        given: dict[str, Any],
    ):
        self.system, self.names, self.given, self.evaluations = system, list(names), given, 0
        self.fixed = dict(given.pop("parameters") or {})
        q = system.q_names
        u = system.u_names
        self.t, self.dt = _times(data)
        self.columns: dict[str, tuple[str, int, np.ndarray]] = {}
        self.impacts: dict[str, np.ndarray] = {}
        self.amplitudes: dict[str, tuple[int, np.ndarray]] = {}
        for name, values in data.items():
            if name in ("t", "impacts", "amplitudes"):
                continue
            column = np.asarray(values, float)
            if name not in q + u:
                raise OptionError(f"{system.name}: {unknown_name('coordinate or velocity', name, q + u)}")
            if column.shape != self.t.shape or not np.isfinite(column).all():
                raise OptionError(f"data[{name!r}] must have {self.t.size} finite numbers, one per time")
            if not np.ptp(column) > 0:
                raise StudyError(f"data[{name!r}] does not vary: nothing can be learnt from it")
            self.columns[name] = ("q", q.index(name), column) if name in q else ("u", u.index(name), column)
        contacts = prepare(system).names.contacts
        plain = [n for b in system.blocks if b.canonical for n in b.q_names] if system.n_q == system.n_u else []
        for contact, times in dict(data.get("impacts", {})).items():
            if contact not in contacts:
                raise OptionError(f"{system.name}: {unknown_name('contact', contact, contacts)}")
            self.impacts[contact] = np.sort(_numbers(times, f"impacts of {contact}"))
        for name, values in dict(data.get("amplitudes", {})).items():
            if name not in plain:
                raise OptionError(f"amplitudes of {name!r}: {unknown_name('coordinate with qdot = u', name, plain)}")
            self.amplitudes[name] = (q.index(name), _numbers(values, f"amplitudes of {name}"))
        if not self.columns and not self.impacts and not self.amplitudes:
            raise OptionError("data must hold coordinates, velocities, impacts or amplitudes beside t")
        known = [*self.columns, *self.impacts, *(f"amplitudes of {name}" for name in self.amplitudes)]
        for name, value in sigma.items():
            if name not in known:
                raise OptionError(unknown_name("column of sigma", name, known))
            if not value > 0:
                raise OptionError(f"sigma[{name!r}] = {value!r} must be a number > 0")
        self.sigma = {n: float(sigma.get(n, 1.0)) for n in known}

    def run(self, x: np.ndarray) -> Sensitivity:
        """The motion with its derivatives."""
        self.evaluations += 1
        varied = with_inputs(self.system, self.names, x, self.fixed)
        return sensitivity(self.system, self.t[-1], self.dt, wrt=self.names, t_start=self.t[0], **varied, **self.given)

    def residuals(self, r: Sensitivity) -> dict[str, np.ndarray]:
        """Motion minus measurement, in units of sigma, by column."""
        out = {}
        for name, (kind, k, values) in self.columns.items():
            out[name] = (getattr(r.solution, kind)[:, k] - values) / self.sigma[name]
        for contact, times in self.impacts.items():
            found = [e.t for e in r.events if e.kind == "impact" and e.name == contact][: times.size]
            missing = np.full(times.size - len(found), self.t[-1])  # an impact that does not happen is late
            out[f"impacts of {contact}"] = (np.concatenate([found, missing]) - times) / self.sigma[contact]
        for name, (k, values) in self.amplitudes.items():
            found = [peak @ _ends(r.solution.q, r.solution.u, row, k) for row, peak in _peaks(r, k)][: values.size]
            lowest = np.full(
                values.size - len(found), r.solution.q[:, k].min()
            )  # a swing that does not happen has no height
            label = f"amplitudes of {name}"
            out[label] = (np.concatenate([found, lowest]) - values) / self.sigma[label]
        return out

    def jacobian(self, r: Sensitivity, x: np.ndarray) -> np.ndarray:
        """Derivatives of all residuals; by differences where there is none."""
        rows = []
        for name, (kind, k, _) in self.columns.items():
            d = r.dq if kind == "q" else r.du
            rows.append(np.column_stack([d[n][:, k, 0] for n in self.names]) / self.sigma[name])
        for contact, times in self.impacts.items():
            number = [i for i, e in enumerate(r.events) if e.kind == "impact" and e.name == contact][: times.size]
            block = np.zeros((times.size, len(self.names)))
            block[: len(number)] = np.column_stack([r.dt[n][number, 0] for n in self.names])
            rows.append(block / self.sigma[contact])
        for name, (k, values) in self.amplitudes.items():
            block = np.zeros((values.size, len(self.names)))
            for i, (row, peak) in enumerate(_peaks(r, k)[: values.size]):
                block[i] = [peak @ _ends(r.dq[n][:, :, 0], r.du[n][:, :, 0], row, k) for n in self.names]
            rows.append(block / self.sigma[f"amplitudes of {name}"])
        J = np.vstack(rows)
        if np.isfinite(J).all():
            return J
        return self._differences(x, J)

    def _differences(self, x: np.ndarray, J: np.ndarray) -> np.ndarray:
        out = J.copy()
        for k in range(x.size):
            step = STEP * max(abs(x[k]), 1e-3)
            ends = []
            for sign in (1, -1):
                moved = x.copy()
                moved[k] += sign * step
                ends.append(np.concatenate(list(self.residuals(self.run(moved)).values())))
            slope = (ends[0] - ends[1]) / (2 * step)
            out[:, k] = np.where(np.isfinite(J[:, k]), J[:, k], slope)
        return out


def _numbers(values: Any, what: str) -> np.ndarray:
    array = np.asarray(values, float)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise OptionError(f"{what} must be a list of finite numbers")
    return array


def _ends(q: np.ndarray, u: np.ndarray, row: int, k: int) -> np.ndarray:
    """A coordinate and its velocity at both ends of the interval from `row` on."""
    return np.array([q[row, k], u[row, k], q[row + 1, k], u[row + 1, k]])


def _peaks(r: Sensitivity, k: int) -> list[tuple[int, np.ndarray]]:
    """Where a coordinate is largest, away from impacts: rows, and the weights of `_ends` that give the largest value.

    Between two rows it is the cubic through values and velocities. At its top the time does not matter to first order, so that
    the same weights apply to derivatives.
    """
    s, out = r.solution, []
    u, impacts = s.u[:, k], np.array([e.t for e in r.events if e.kind in ("impact", "touch")])
    for row in np.flatnonzero((u[:-1] > 0) & (u[1:] <= 0)).tolist():
        h = s.t[row + 1] - s.t[row]
        if ((impacts >= s.t[row]) & (impacts <= s.t[row + 1])).any():
            continue
        q_0, u_0, q_1, u_1 = _ends(s.q, s.u, row, k)
        a, b, c = 3 * (2 * (q_0 - q_1) + h * (u_0 + u_1)), 2 * (3 * (q_1 - q_0) - h * (2 * u_0 + u_1)), h * u_0
        x = (
            2 * c / (np.sqrt(max(b * b - 4 * a * c, 0.0)) - b)
        )  # the zero of the velocity, a x^2 + b x + c, that is a top
        x = min(max(x, 0.0), 1.0)
        out.append(
            (
                row,
                np.array([(1 + 2 * x) * (1 - x) ** 2, h * x * (1 - x) ** 2, x * x * (3 - 2 * x), h * x * x * (x - 1)]),
            )
        )
    return out


def _times(data: Mapping[str, Any]) -> tuple[np.ndarray, float]:
    t = np.asarray(data["t"], float)
    if t.ndim != 1 or t.size < 3 or not np.isfinite(t).all():
        raise OptionError("data['t'] must hold at least three finite times")
    steps = np.diff(t)
    if not steps.min() > 0 or np.ptp(steps) > 1e-6 * steps.mean():
        raise OptionError(
            "data['t'] must be equidistant; resample the measurement first, with ss.interpolate for example"
        )
    return t, float((t[-1] - t[0]) / (t.size - 1))
