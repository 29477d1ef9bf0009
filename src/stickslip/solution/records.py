"""What belongs to a trajectory: labels of its columns, what its steps cost, its energies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.errors import OptionError, unknown_name
from stickslip.notebook import ShownAsText


@dataclass(frozen=True)
class Names:
    """Labels of the columns of a `Solution`.

    `q`, `u`, `g`, `gamma` and `contacts` have one label per column. A friction element has one label, `friction_sizes`
    many columns in `slip` and `P_F`, and belongs to the normal contact with the index `friction_contact` (-1: to none).
    Units have one text per label, or are empty where nothing is known: of q and u, of the forces of g and gamma, of
    the gaps of contacts, and of the measure along which friction elements slip.

    >>> names = Names(contacts=("floor",), friction=("floor",), friction_sizes=(2,), friction_contact=(0,))
    >>> names.friction_labels
    ('floor 1', 'floor 2')
    """

    q: tuple[str, ...] = ()
    u: tuple[str, ...] = ()
    g: tuple[str, ...] = ()
    gamma: tuple[str, ...] = ()
    contacts: tuple[str, ...] = ()
    friction: tuple[str, ...] = ()
    friction_sizes: tuple[int, ...] = ()
    friction_contact: tuple[int, ...] = ()
    q_units: tuple[str, ...] = field(default=(), compare=False)
    u_units: tuple[str, ...] = field(default=(), compare=False)
    g_units: tuple[str, ...] = field(default=(), compare=False)
    gamma_units: tuple[str, ...] = field(default=(), compare=False)
    contact_units: tuple[str, ...] = field(default=(), compare=False)
    friction_units: tuple[str, ...] = field(default=(), compare=False)

    @property
    def friction_labels(self) -> tuple[str, ...]:
        """One label per column of `slip` and `P_F`: the element's own, numbered where it has several components."""
        return tuple(
            name if size == 1 else f"{name} {k + 1}"
            for name, size in zip(self.friction, self.friction_sizes, strict=True)
            for k in range(size)
        )

    @property
    def friction_slices(self) -> tuple[slice, ...]:
        """The columns of `slip` and `P_F` that belong to each friction element.

        >>> Names(friction=("a", "b"), friction_sizes=(1, 2), friction_contact=(-1, -1)).friction_slices
        (slice(0, 1, None), slice(1, 3, None))
        """
        ends = np.cumsum((0, *self.friction_sizes)).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))


@dataclass(frozen=True, eq=False, repr=False)
class Stats(ShownAsText):
    """What the steps cost: iterations and final residual of every stage of every step, and the time of the whole run.

    A stage that a step did not need has 0 iterations and the residual 0 there. Two more columns of `residuals` tell apart
    what `bilateral_residual` and `natural_map` of the step are; event-driven runs have none.

    >>> stats = Stats(("position", "velocity"), np.array([[3, 1], [2, 1]]), np.full((2, 2), 1e-10), wall_time=2e-5)
    >>> stats.mean_iterations
    array([2.5, 1. ])
    >>> print(stats)
    stage     iterations mean  max  residual max
    position             2.50    3       1.0e-10
    velocity             1.00    1       1.0e-10
    """

    stages: tuple[str, ...]
    iterations: np.ndarray
    residuals: np.ndarray
    wall_time: float
    taken: int | None = None  # number of steps, if a row stands for several: then it holds their sum and their maximum
    solved_by: dict[str, int] = field(default_factory=dict)  # how many stages each solver solved; "newton" comes first

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.iterations) if self.taken is None else self.taken

    @property
    def time_per_step(self) -> float:
        """Wall time per step in seconds; 0 without steps."""
        return self.wall_time / self.steps if self.steps else 0.0

    @property
    def mean_iterations(self) -> np.ndarray:
        """Mean number of iterations of each stage."""
        return self.iterations.sum(axis=0) / max(self.steps, 1)

    @property
    def max_iterations(self) -> np.ndarray:
        """Largest number of iterations of each stage."""
        return self.iterations.max(axis=0, initial=0)

    @property
    def max_residuals(self) -> np.ndarray:
        """Largest final residual of each stage."""
        return self.residuals[:, : len(self.stages)].max(axis=0, initial=0.0)

    @property
    def bilateral_residual(self) -> np.ndarray:
        """By step: the largest residual of its bilateral constraints, on the levels that its stages solve."""
        return self._further(0, "bilateral constraints")

    @property
    def natural_map(self) -> np.ndarray:
        """By step: the natural map of its contacts and friction, relative to the same sizes as `tol`."""
        return self._further(1, "contacts and friction")

    def _further(self, column: int, what: str) -> np.ndarray:
        if self.residuals.shape[1] != len(self.stages) + 2:
            raise OptionError(
                f"this run did not keep the residuals of {what} apart: it is event-driven, or an older file"
            )
        return self.residuals[:, len(self.stages) + column]

    def __repr__(self) -> str:
        return f"<Stats: {self.steps} steps in {self.wall_time:.3g} s, stages {', '.join(self.stages)}>"

    def __str__(self) -> str:
        width = max(map(len, ("stage", *self.stages)))
        rows = zip(self.stages, self.mean_iterations, self.max_iterations, self.max_residuals, strict=True)
        return "\n".join(
            [f"{'stage':{width}}  iterations mean  max  residual max"]
            + [f"{name:{width}}  {mean:15.2f}  {most:3d}  {residual:12.1e}" for name, mean, most, residual in rows]
            + ([f"solved by {', '.join(f'{k}: {n}' for k, n in self.solved_by.items())}"] if self.solved_by else [])
        )


@dataclass(frozen=True, eq=False)
class Energy:
    """Kinetic, potential and total energy at every time of a solution.

    >>> Energy(kinetic=np.array([0.0, 1.0]), potential=np.array([2.0, 0.5])).total
    array([2. , 1.5])
    """

    kinetic: np.ndarray
    potential: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Kinetic plus potential energy."""
        return self.kinetic + self.potential


class Further(dict[str, np.ndarray]):
    """Further results by name. selected: `save=` chose what is kept, so one that is missing may have been left out."""

    def __init__(self, results: Mapping[str, np.ndarray], selected: bool = False):
        super().__init__(results)
        self.selected = selected

    def __missing__(self, name: Any) -> np.ndarray:
        if self.selected:
            raise OptionError(
                f"this solution does not hold {name!r} in `extra`: save= of its run did not ask for it; add it there and run "
                f"again. Kept: {', '.join(self) or 'none'}"
            )
        raise OptionError(f"solution.extra: {unknown_name('result', name, self)}")


class NotKept:
    """Stands for an array that `save=` left out of a solution: whoever uses it is told so."""

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name} was not kept>"

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise OptionError(
            f"this solution does not hold {self._name!r}: save= of its run did not ask for it; add it there and run again"
        )

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):  # Python and NumPy ask for what there may be
            raise AttributeError(key)
        self._refuse()

    __array__ = __getitem__ = __len__ = __iter__ = __neg__ = __abs__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
