"""What a scheme is: a few stages of equations, and the facts it promises.

A new scheme provides

1. its stages, methods `stage(part, s)` that write equations on the sheet `s` (see `engine.stage`);
2. `step()`: the stages of a step in their order, and `begin()`: those before the first step, if it needs any;
3. at the end of a step the fields Q_1, U_1 and PERCUSSIONS, which hold coordinates, velocities and percussions of the step;
4. `facts`: what it promises. Every fact is tested, for all schemes at once. Where parameters change them it is a property;
5. `name`: under which `solve` knows it. A subclass without one is not registered; pass the scheme itself.

A scheme that is not a program of stages overrides `compile` and `start` instead of 1 to 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from stickslip.engine.derive import Model
from stickslip.engine.fields import Q_0, Q_1, RESULTS, U_0, U_1, Carry, Field
from stickslip.engine.flow import Step
from stickslip.engine.numbering import Detected
from stickslip.engine.program import assemble
from stickslip.engine.run import ProgramRun
from stickslip.engine.runs import Run, Start
from stickslip.errors import MethodError

METHODS: dict[str, type[Scheme]] = {}


@dataclass(frozen=True)
class Facts:
    """What a scheme promises, and from where it is.

    order: of q and u in smooth motion with bilateral constraints. contact_order: in persistent contact, with friction if the
    scheme has it; the same if not given. sliding_order: where the direction of slip turns; the smaller one of contact_order
    and 1 if not given. rolling_order: with velocity constraints (rolling without slip); the same as order if not given.
    unknowns: how many each stage has, in terms of n_q, n_u, n_g, n_gamma, n_N, n_F and n_P, the sum of the last four.
    levels: of "position", "velocity", "acceleration", where bilateral constraints are met to the tolerance.
    stable_to: omega dt up to which an undamped oscillation keeps its size; 0: it always grows, None: it never does.
    equal_steps: why steps cannot be subdivided, if they cannot.
    detected: whether it follows contacts that are found while it moves.
    contact_level: where closed contacts are met. symmetric, variational: of the scheme for smooth motion.
    """

    summary: str
    source: str
    order: int | None
    levels: tuple[str, ...]
    contact_level: str
    unknowns: Mapping[str, str]
    symmetric: bool = False
    variational: bool = False
    contacts: bool = True
    friction: bool = True
    general_kinematics: bool = True
    detected: bool = True
    contact_order: int | None = None
    sliding_order: int | None = None
    rolling_order: int | None = None
    stable_to: float | None = None
    equal_steps: str = ""


@dataclass(frozen=True)
class Scheme:
    """Base of all schemes: parameters are dataclass fields, stages are methods. See the module's docstring."""

    name: ClassVar[str]
    carry: ClassVar[Carry] = {Q_0: Q_1, U_0: U_1}
    extra: ClassVar[tuple[Field, ...]] = ()  # further fields to record

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
            return
        other = METHODS.get(cls.name)
        if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise MethodError(
                f"{cls.__qualname__}: the name {cls.name!r} belongs to {other.__module__}.{other.__qualname__}; choose another"
            )
        METHODS[cls.name] = cls

    @property
    def facts(self) -> Facts:
        """What it promises."""
        raise NotImplementedError

    def begin(self) -> tuple[Step, ...]:
        """Stages before the first step."""
        return ()

    def step(self) -> tuple[Step, ...]:
        """Stages of a step."""
        raise NotImplementedError

    def compile(self, model: Model, detected: Sequence[Detected] = ()) -> Any:
        """What can be kept for all runs of a model: here the compiled program of the stages.

        detected: kinds of contacts that come and go, with room for so many of each.
        """
        return assemble(
            model,
            begin=self.begin(),
            step=self.step(),
            carry=self.carry,
            results=(*RESULTS, *self.extra),
            detected=detected,
            name=self.name,
            project=self.options.get("project", "never"),
        )

    def start(self, compiled: Any, start: Start) -> Run:
        """A run from a state, with what `compile` returned."""
        return ProgramRun(compiled, start, self.extra)

    @property
    def options(self) -> dict[str, Any]:
        """The parameters of this scheme, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
