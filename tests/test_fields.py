"""Fields are objects: what is read must have been written, and what many parts see must be the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import stickslip as ss
from stickslip.engine.derive import derive
from stickslip.engine.fields import ONE, PERCUSSIONS, Q_0, Q_1, U_0, U_1, Field, Multipliers, N, U
from stickslip.engine.flow import If
from stickslip.engine.program import assemble
from stickslip.schemes import METHODS, Facts
from stickslip.schemes.moreau import drift

GAP = Field("gap", N)
BALL = derive(ss.benchmarks.bouncing_ball())


def velocity(part, s, *, open_where=GAP):
    t_1, q_1 = s.t_1, s.known(Q_1)
    u_1, P = s.unknown(U_1, guess=U_0), s.unknown(PERCUSSIONS)
    s.equation(part.M(t_1, q_1) @ (u_1 - s.u_0) - s.dt * part.h(t_1, q_1, s.u_0) - part.W(t_1, q_1) @ P, for_=u_1)
    s.zero(part.g_dot(t_1, q_1, u_1), by=P.g)
    s.zero(part.gamma(t_1, q_1, u_1), by=P.gamma)
    s.normal(part.g_N_dot(t_1, q_1, u_1), P.N, by=P.N, open_where=open_where)
    s.zero(P.F, by=P.F)


def test_a_slip_in_a_mask_is_an_error_that_names_scheme_stage_and_field():
    """Read as zero, the gap `gapp` would keep every contact closed: the ball would hover."""

    def hovering(part, s):
        velocity(part, s, open_where=Field("gapp", N))

    with pytest.raises(TypeError, match=r"mine: hovering reads Field\('gapp', N\), but nothing has written it"):
        assemble(BALL, step=(drift, hovering), name="mine")
    assemble(BALL, step=(drift, velocity))


@pytest.mark.parametrize("where", ["known", "guess", "carry", "result", "branch", "one branch only"])
def test_every_way_to_read_is_checked(where):
    nowhere, there = Field("nowhere", U), Field("there", U)

    def reads(part, s):
        s.update(there, s.known(nowhere))

    def guesses(part, s):
        x = s.unknown(there, guess=nowhere)
        s.equation(part.M(s.t_0, s.q_0) @ x, for_=x)

    def writes(part, s):
        s.update(nowhere, s.u_0)

    def other(part, s):
        s.update(there, s.u_0)

    options = {
        "known": {"step": (reads,)},
        "guess": {"step": (guesses,)},
        "carry": {"step": (other,), "carry": {U_0: nowhere}},
        "result": {"step": (other,), "results": (nowhere,)},
        "branch": {"step": (If(nowhere, then=(other,)),)},
        "one branch only": {"step": (If(U_0, then=(writes,)), reads)},
    }[where]
    with pytest.raises(TypeError, match="Field.'nowhere', U."):
        assemble(BALL, **options)


def test_begin_and_carry_write():
    kept, sent = Field("kept", U), Field("sent", U)

    def begin(part, s):
        s.update(kept, s.u_0)

    def step(part, s):
        s.update(sent, 2 * s.known(kept))

    program = assemble(BALL, begin=(begin,), step=(step,), carry={kept: sent})
    assert program.memory == (kept,)
    with pytest.raises(TypeError, match="reads Field.'kept', U."):
        assemble(BALL, step=(step,), carry={kept: sent})


def test_the_memory_of_schemes():
    """What a step reads before it writes it: the state, starts of iterations, and what the scheme remembers."""
    memory = {
        name: {each.name for each in METHODS[name]().compile(BALL).memory} for name in METHODS if "event" not in name
    }
    percussions = {each.name for each in PERCUSSIONS.fields}
    assert memory["moreau"] == memory["theta"] == {"q_0", "u_0"} | percussions
    assert memory["rattle"] == {"q_0", "u_0"} | {each.name for each in Multipliers("P_first").fields}
    assert memory["half-explicit"] == {"q_0", "u_0", "open_0"}
    assert memory["schatzman-paoli"] == {"q_0", "w_0"} | percussions
    assert memory["generalized-alpha"] > {"q_0", "u_0", "a_0", "a_bar_0", "la_0.N", "la_bar_0.N"}


def test_updates_that_many_parts_see_are_the_same_for_all():
    """A block of coordinates does not know the forces of the parts that touch it: such an update would be silently wrong."""
    force, number = Field("force", U), Field("number", ONE)

    def forces(part, s):
        s.update(force, part.h(s.t_0, s.q_0, s.u_0))

    def energy(part, s):
        s.update(number, part.potential(s.t_0, s.q_0))

    for stage in (forces, energy):
        with pytest.raises(TypeError, match=f"{stage.__name__}: the update of .* depends on the part .* use total"):
            assemble(BALL, step=(stage,))


def test_spaces_are_checked():
    def wrong_size(part, s):
        s.update(Field("gap", N), s.q_0)

    def wrong_mask(part, s):
        velocity(part, s, open_where=Field("x", U))

    with pytest.raises(TypeError, match="its update 1"):
        assemble(BALL, step=(wrong_size,))
    with pytest.raises(TypeError, match="does not live in the space N"):
        assemble(BALL, step=(drift, wrong_mask))
    with pytest.raises(TypeError, match="have the same name"):
        assemble(BALL, step=(drift,), given=(Field("gap", U),))
    with pytest.raises(TypeError, match="'u' is not a space"):
        Field("x", "u")
    with pytest.raises(TypeError, match="cannot be carried"):
        assemble(BALL, step=(drift,), carry={U_0: Q_0})


# -- schemes outside the package ---------------------------------------------------------------------------------------


def test_a_subclass_does_not_take_the_name_of_its_base():
    @dataclass(frozen=True)
    class Mine(ss.Rattle):
        pass

    assert METHODS["rattle"] is ss.Rattle
    assert Mine().name == "Mine"
    solution = ss.solve(ss.benchmarks.bouncing_ball(), 0.1, 1e-2, method=Mine(), progress=False)
    assert solution.provenance["method"] == "Mine"
    with pytest.raises(ss.MethodError, match=r"the name 'rattle' belongs to stickslip\.schemes\.rattle\.Rattle"):

        class Thief(ss.Rattle):
            name = "rattle"


def test_a_scheme_is_added_by_writing_one_class():
    """Explicit Euler with inelastic contacts, registered under its own name, and again when its cell runs again."""
    for _ in range(2):

        @dataclass(frozen=True)
        class Plain(ss.Scheme):
            name = "plain"
            facts = Facts("for a test", "-", 1, ("velocity",), "velocity", {"velocity": "n_u + n_P"})

            def step(self):
                return drift, velocity

    try:
        solution = ss.solve(ss.benchmarks.bouncing_ball(), 1.0, 1e-3, method="plain", progress=False)
        assert abs(solution.q[-1, 0]) < 1e-2
        assert abs(solution.u[-1, 0]) < 1e-8  # at rest on the floor
    finally:
        del METHODS["plain"]
