"""Fields: the vectors over the whole system that stages read and write.

A field has a name and a space, which says what its entries belong to:

    Q      coordinates                U      velocities                ONE   the system: a single number
    G      bilateral, position level  GAMMA  bilateral, velocity level
    N      normal contacts            F      slip components

A part sees a field through its local slice. A field keeps its value from stage to stage and from step to step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class Space(StrEnum):
    """What the entries of a field belong to; see the module's docstring."""

    Q = "q"
    U = "u"
    ONE = "one"
    G = "g"
    GAMMA = "gamma"
    N = "N"
    F = "F"


Q, U, ONE, G, GAMMA, N, F = Space
SPACES = (G, GAMMA, N, F)  # of constraints: where multipliers live


@dataclass(frozen=True)
class Field:
    """A vector over the whole system.

    >>> Field("gap", N)
    Field('gap', N)
    """

    name: str
    space: Space

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise TypeError(
                f"field {self.name!r}: {self.space!r} is not a space; there are {', '.join(Space.__members__)}"
            )

    def __hash__(self) -> int:
        return hash(self.name)  # names tell fields apart; event-driven runs look up a dozen fields for every rate

    def __repr__(self) -> str:
        return f"Field({self.name!r}, {self.space.name})"


@dataclass(frozen=True)
class Multipliers:
    """Four fields for the multipliers (percussions or forces) of all constraints, one in each space.

    >>> Multipliers("P").N
    Field('P.N', N)
    """

    name: str

    @cached_property
    def g(self) -> Field:
        """Those of bilateral constraints on position level."""
        return self.of(G)

    @cached_property
    def gamma(self) -> Field:
        """Those of bilateral constraints on velocity level."""
        return self.of(GAMMA)

    @cached_property
    def N(self) -> Field:
        """Those of normal contacts."""
        return self.of(N)

    @cached_property
    def F(self) -> Field:
        """Those of friction."""
        return self.of(F)

    def of(self, space: Space) -> Field:
        """The field in one of the spaces."""
        return Field(f"{self.name}.{space}", space)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """All four."""
        return tuple(map(self.of, SPACES))


Carry = Mapping[Field | Multipliers, Field | Multipliers]  # target: source, at the end of a step


def expand(fields: Iterable[Field | Multipliers]) -> Iterator[Field]:
    """Single fields, with multipliers taken apart."""
    for field in fields:
        if isinstance(field, Multipliers):
            yield from field.fields
        else:
            yield field


# What every scheme is given: times, length and initial state of the step.
T_0, T_1, DT = Field("t_0", ONE), Field("t_1", ONE), Field("dt", ONE)
Q_0, U_0 = Field("q_0", Q), Field("u_0", U)
# What every scheme owes: state and percussions at the end of the step.
Q_1, U_1, PERCUSSIONS = Field("q_1", Q), Field("u_1", U), Multipliers("P")
# Never written: where iterations start that shall not remember the last step.
COLD = Multipliers("zero")
# Set at the start of a run: what counts as one unit of a gap, of its velocity and of a slip. 1, or the model's own length and
# velocity where it is very small or large (`solve.scales`): whatever a scheme takes as zero is relative to these.
GAP_SIZE, GAP_RATE, SLIP_RATE = Field("gap_size", N), Field("gap_rate", N), Field("slip_rate", F)
MODEL_SIZES = (GAP_SIZE, GAP_RATE, SLIP_RATE)
# Zero, but for contacts that count as closed up to this gap, for a step to have a solution (`engine.contact_sets`).
EARLY = Field("early", N)
# Zero, but 1 for contacts that jam, and impact without their restitution for a step to have a solution (`engine.jams`).
PLASTIC = Field("plastic", N)
# Zero, but 1 for contacts that act by impulses alone, without forces, for a step to have a solution (`engine.body_rescue`).
FORCELESS = Field("forceless", N)
# Zero, but 1 in a step whose first stage could not be solved: a scheme that reads it takes the step in another way.
UNSETTLED = Field("unsettled", ONE)
EXCEPTIONS = (EARLY, PLASTIC, FORCELESS, UNSETTLED)

GIVEN = (T_0, T_1, DT, Q_0, U_0, *COLD.fields, *EXCEPTIONS)
RESULTS = (Q_1, U_1, *PERCUSSIONS.fields)
