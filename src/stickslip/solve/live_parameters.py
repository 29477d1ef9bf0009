"""Parameters that are set between two steps of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from stickslip.engine.check import check_laws, check_mass
from stickslip.engine.run import ProgramRun
from stickslip.solve.checks import checked_parameters
from stickslip.solve.prepared import Prepared
from stickslip.solve.switching import refuse_setting
from stickslip.solve.varying import Change


class LiveParameters:
    """The parameters of a run that is stepped; `changed` are those that have other values than the system says."""

    def __init__(self, ready: Prepared, run: ProgramRun, changed: Mapping[str, float]):
        self._ready, self._run, self._system = ready, run, ready.model.system
        self._index = {name: k for k, name in enumerate(self._system.parameter_symbols())}
        self._free = len(self._system.parameters) == len(self._index)
        self._checked = checked_parameters(ready)
        self._changes: list[Change] | None = None  # while they are noted
        self.changed = {name: float(value) for name, value in changed.items()}

    @property
    def values(self) -> np.ndarray:
        """All of them, as they are now."""
        return self._run.memory[: len(self._index)].copy()

    @property
    def named(self) -> dict[str, float]:
        """The same by name."""
        return dict(zip(self._index, self.values.tolist(), strict=True))

    def set(self, changed: Mapping[str, float]) -> None:
        """Change them from the next step on; ranges are checked again where a changed parameter occurs in them."""
        refuse_setting(self._system, changed)
        before = None if self._changes is None else self.values
        self._set(changed)
        if self._changes is not None and before is not None:
            now = self.values
            where = np.flatnonzero(now != before)
            if where.size:
                self._changes.append((self._run.first + self._run.done, where, now[where]))

    def _set(self, changed: Mapping[str, float]) -> None:
        if self._free and all(name in self._index and name not in self._checked for name in changed):
            numbers = {name: self._system.parameter_value(name, value) for name, value in changed.items()}
            for name, value in numbers.items():
                self._run.memory[self._index[name]] = value
            self.changed |= numbers
            return
        run, numbering = self._run, self._ready.numbering
        q = run.row[1 : 1 + run.columns["q_1"]]
        values = self._with({**self.changed, **changed})
        check_mass(numbering, run.t, q, values)
        check_laws(numbering, run.t, q, values)
        run.memory[: values.size] = values
        self.changed |= {name: float(value) for name, value in changed.items()}

    def become(self, changed: Mapping[str, float] | None) -> None:
        """Go back to what was changed at an earlier moment; None: stay."""
        if changed is not None and changed != self.changed:
            self.changed = dict(changed)
            values = self._with(self.changed)
            self._run.memory[: values.size] = values

    def _with(self, changed: Mapping[str, float]) -> np.ndarray:
        """All parameters, with these changed; switches as they are."""
        values = self._system.parameter_values(changed)
        values |= {name: float(self._run.memory[self._index[name]]) for name in self._system.switches}
        return np.array(list(values.values()))

    @contextmanager
    def noted(self) -> Iterator[list[Change]]:
        """What changes meanwhile; steps are counted from here, and told at the end."""
        begin, out = self._run.first + self._run.done, list[Change]()
        self._changes = []
        try:
            yield out
        finally:
            out += [(step - begin, where, values) for step, where, values in self._changes]
            self._changes = None
