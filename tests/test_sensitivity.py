"""Derivatives through events: exact ones, central differences of event-driven integration, adjoint against tangent."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.math import diag
from stickslip.studies.numeric import Factor

OPTIONS = {"rtol": 1e-11, "atol": 1e-13}


def wall(e=0.8):
    s = ss.System("ball against a wall")
    (x,), (v,) = s.coordinates("x", initial=[1], velocity=[-2])
    s.kinetic_energy(v**2 / 2)
    s.contact(gap=x, restitution=s.parameter("e", e), name="wall")
    return s


def reversing_block():
    """Force -2 against v_0 > 0, friction 1: v' = -3 until v = 0, then -1. v(T) = -(T - v_0/3), dv(T)/dv_0 = 1/3."""
    s = ss.System("reversing block")
    (x,), (v,) = s.coordinates("x", initial=[0], velocity=[1.5])
    s.kinetic_energy(v**2 / 2)
    s.force([-2.0])
    s.friction(slip=v, radius=s.parameter("R", 1.0), name="rail")
    return s


def box_on_corner():
    """A box in space meets the floor with one corner, slides and spins on."""
    s = ss.System("box")
    box = s.add(
        ss.RigidBody(
            "box",
            mass=s.parameter("m", 2.0),
            inertia=diag([0.04, 0.03, 0.02]),
            position=[0, 0, 0.4],
            orientation=np.array([0.9, 0.3, 0.2, 0.1]) / np.sqrt(0.95),
            velocity=[1.0, 0.4, -2.0],
            angular_velocity=[0.5, -1.0, 2.0],
        )
    )
    s.add(ss.Gravity([0, 0, -s.parameter("g", 9.81)]))
    law = {"friction": s.parameter("mu", 0.3), "restitution": s.parameter("e", 0.6)}
    for k, corner in enumerate([(a, b, c) for a in (-0.1, 0.1) for b in (-0.15, 0.15) for c in (-0.2, 0.2)]):
        s.add(ss.Contact(f"corner {k}", box.point(*corner), ss.Plane([0, 0, 0], normal=[0, 0, 1]), **law))
    return s


def differences(system, t_end, name, index, step, **options):
    """Central differences of the end state by one input, with Richardson's extrapolation."""

    def end(change):
        given = {}
        if name in ("q0", "u0"):
            x = (system.q_initial if name == "q0" else system.u_initial).copy()
            x[index] += change
            given[name] = x
        else:
            given["parameters"] = {name: system.parameters[name] + change}
        s = ss.solve(
            system,
            t_end,
            t_end,
            method="event-driven",
            progress=False,
            initial_tol=2e-2,
            rtol=1e-13,
            atol=1e-14,
            **given,
            **options,
        )
        return np.concatenate([s.q[-1], s.u[-1]])

    wide, narrow = ((end(h) - end(-h)) / (2 * h) for h in (step, step / 2))
    return (4 * narrow - wide) / 3


def compare(system, t_end, wrt, step=1e-4, tol=1e-6, **options):
    r = ss.sensitivity(system, t_end, t_end, wrt=wrt, **OPTIONS, **options)
    assert r.exists, r
    for name in wrt:
        for k in range(r.dq[name].shape[2]):
            tangent = np.concatenate([r.dq[name][-1, :, k], r.du[name][-1, :, k]])
            exact = differences(
                system, t_end, name, k, step * max(1.0, abs(system.parameters.get(name, 1.0))), **options
            )
            error = np.abs(tangent - exact) / max(1.0, np.abs(exact).max())
            assert error.max() < tol, f"{name}[{k}]: {error.max():.1e}"
    return r


def test_ball_against_a_wall_is_exact():
    """x(T) = e (-2 T - 1): dx/dx_0 = -e, where steps of other schemes say 1 or 0."""
    r = ss.sensitivity(wall(), 1.0, 0.1, wrt=["e", "q0", "u0", "x"])
    solution, dq, du = r
    assert dq["q0"].shape == (11, 1, 1)
    assert np.allclose([dq["q0"][-1, 0, 0], dq["x"][-1, 0, 0], dq["u0"][-1, 0, 0]], -0.8, atol=1e-12)
    assert np.allclose([dq["e"][-1, 0, 0], du["e"][-1, 0, 0]], [1.0, 2.0], atol=1e-12)
    assert dq["q0"][4, 0, 0] == 1.0
    assert np.isnan(du["q0"][5]).all()  # the impact is at this very time
    assert [event.kind for event in r.events] == ["start", "impact"]
    assert "saltation" in str(r)


def test_reversing_block_is_exact():
    r = ss.sensitivity(reversing_block(), 2.0, 0.25, wrt=["u0", "R"], **OPTIONS)
    assert r.events[-1].kind == "reversal"
    assert r.du["u0"][-1, 0, 0] == pytest.approx(1 / 3, abs=1e-9)
    # v(T) = -(2 - R)(T - v_0/(2 + R))
    assert r.du["R"][-1, 0, 0] == pytest.approx(2.0 - 1.5 / 3 - 1.5 / 9, abs=1e-9)


def test_stick_forgets_the_velocity():
    """A block that stops and sticks: x(T) = v_0^2/(2 mu g), and nothing of dv is left."""
    s = ss.System("puck")
    q, u = s.coordinates("x z", initial=[0, 0], velocity=[3, 0])
    s.mass_matrix(diag([2.0, 2.0]))
    s.force([0, -20.0])
    s.contact(gap=q[1], slip=u[0], friction=s.parameter("mu", 0.4), name="ice")
    r = ss.sensitivity(s, 2.0, 0.5, wrt=["u0", "mu", "q0"], **OPTIONS)
    assert [e.kind for e in r.events] == ["start", "stick"]
    assert np.allclose(r.du["u0"][-1], 0, atol=1e-10)
    assert r.dq["u0"][-1, 0, 0] == pytest.approx(3 / 4, abs=1e-9)
    assert r.dq["mu"][-1, 0, 0] == pytest.approx(-9 / (2 * 10 * 0.16), abs=1e-8)
    assert np.allclose(r.dq["q0"][-1], [[1, 0], [0, 0]], atol=1e-10)  # along the floor only


def pulled_block():
    s = ss.System("pulled block")
    q, u = s.coordinates("x z", initial=[0, 0], velocity=[0, 0])
    s.mass_matrix(diag([1.0, 1.0]))
    s.force([2 * s.time, s.parameter("lift", 2.0) * s.time - 10.0])
    s.contact(gap=q[1], slip=u[0], friction=s.parameter("mu", 0.3), name="floor")
    return s


def test_opening_and_slip():
    """Contacts that open and friction that gives way: the time shifts, the motion is continuous."""
    r = compare(pulled_block(), 6.0, ["mu", "lift"])
    assert [e.kind for e in r.events] == ["start", "slip", "opening"]


@pytest.mark.parametrize("t_end", [0.7, 2.2])
def test_bouncing_ball(t_end):
    compare(ss.benchmarks.bouncing_ball(), t_end, ["e", "g", "q0", "u0"])


def test_bouncing_pendulum():
    """With bilateral constraints: initial states and lengths are projected onto them, as the scheme does it."""
    compare(ss.benchmarks.bouncing_pendulum(), 1.4, ["e", "L", "q0", "u0"], tol=1e-6)


def test_box_corner_in_space():
    system = box_on_corner()
    r = compare(system, 0.3, ["mu", "e", "m", "q0", "u0"], step=2e-5)
    assert sum(e.kind == "impact" for e in r.events) == 1


def test_slider_crank():
    """Impacts that end in contact, slip, and six bilateral constraints. Differences are noisy after slow impacts, whose
    times are less exact, so that the cascade ends early here. Their noise falls with the step: 3e-6, 5e-7 and 4e-8 of
    u0[5] for 1e-5, 2e-5 and 4e-5."""
    r = compare(
        ss.benchmarks.slider_crank(), 0.006, ["mu", "e_N", "g", "m3", "l1", "u0"], step=4e-5, rest_velocity=1e-2
    )
    assert len(r.events) > 6
    assert any("stays closed" in event.treatment for event in r.events)


@pytest.mark.parametrize("make, t_end", [(reversing_block, 2.0), (box_on_corner, 0.3)])
def test_adjoint_is_the_transposed_tangent(make, t_end):
    system = make()
    wrt = ["q0", "u0", *system.parameters]
    r = ss.sensitivity(system, t_end, t_end, wrt=wrt)
    q = system.blocks[0].q
    u = system.blocks[0].u
    a = ss.gradient(system, t_end, t_end, of=q[0] * u[0] + 2 * u[0], wrt=wrt)
    x, v = r.solution.q[-1, 0], r.solution.u[-1, 0]
    for name in wrt:
        tangent = v * r.dq[name][-1, 0] + (x + 2) * r.du[name][-1, 0]
        assert np.allclose(a.by[name], tangent, rtol=1e-10, atol=1e-10)


def test_parameters_that_follow_from_others_count():
    s = ss.System("fall")
    (z,), (v,) = s.coordinates("z", initial=[0], velocity=[0])
    k = s.parameter("k", 2.0)
    g = s.parameter("g", k**2)
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(s.parameter("twice", 2 * g) * z)
    r = ss.sensitivity(s, 1.0, 1.0, wrt=["k"])
    assert r.dq["k"][-1, 0, 0] == pytest.approx(-4.0, abs=1e-9)  # z = -k^2 t^2
    with pytest.raises(ss.OptionError, match="follows from others"):
        ss.sensitivity(s, 1.0, 1.0, wrt=["g"])


# -- schemes that capture events ------------------------------------------------------------------------------------------

CAPTURING = ("rattle", "lobatto", "generalized-alpha")


def off(system, t_end, dt, wrt, method):
    """The largest difference to event-driven integration, relative to the derivative by each input."""
    exact = ss.sensitivity(system, t_end, t_end, wrt=wrt)
    r = ss.sensitivity(system, t_end, dt, wrt=wrt, method=method)
    assert r.exists, r
    errors = []
    for name in wrt:
        a, b = (np.vstack([x.dq[name][-1], x.du[name][-1]]) for x in (exact, r))
        errors.append(np.abs(a - b).max() / max(1.0, np.abs(a).max()))
    return max(errors)


@pytest.mark.parametrize("method", CAPTURING)
def test_captured_events_of_one_dimension_are_exact(method):
    """Steps of these schemes say 0 or 1 here, at any dt: ball against a wall -0.8, reversing block 1/3."""
    ball = ss.sensitivity(wall(), 1.0, 0.03125, wrt=["e", "q0", "u0"], method=method)
    assert np.allclose([ball.dq["q0"][-1, 0, 0], ball.dq["u0"][-1, 0, 0]], -0.8, atol=1e-9)
    assert [e.kind for e in ball.events] == ["start", "impact"]
    block = ss.sensitivity(reversing_block(), 2.0, 0.015625, wrt=["u0"], method=method)
    assert block.du["u0"][-1, 0, 0] == pytest.approx(1 / 3, abs=1e-9)
    assert [e.kind for e in block.events] == ["start", "reversal"]
    assert off(ss.benchmarks.bouncing_ball(), 0.7, 0.005, ["e", "g", "q0", "u0"], method) < 1e-9


@pytest.mark.parametrize("method", CAPTURING)
def test_captured_opening_slip_and_stick(method):
    """Events without impact, and sliding contacts that stay closed: a block that is torn off and lifted, one that stops."""
    pulled = ss.sensitivity(pulled_block(), 6.0, 0.04, wrt=["mu", "lift"], method=method)
    assert [e.kind for e in pulled.events] == ["start", "slip", "opening"]
    assert off(pulled_block(), 6.0, 0.04, ["mu", "lift"], method) < 0.03
    s = ss.System("puck")
    q, u = s.coordinates("x z", initial=[0, 0], velocity=[3, 0])
    s.mass_matrix(diag([2.0, 2.0]))
    s.force([0, -20.0])
    s.contact(gap=q[1], slip=u[0], friction=s.parameter("mu", 0.4), name="ice")
    r = ss.sensitivity(s, 2.0, 0.04, wrt=["u0", "mu"], method=method)
    assert [e.kind for e in r.events] == ["start", "stick"]
    assert np.allclose(r.du["u0"][-1], 0, atol=1e-8)
    assert r.dq["u0"][-1, 0, 0] == pytest.approx(3 / 4, abs=1e-9)
    assert r.dq["mu"][-1, 0, 0] == pytest.approx(-9 / (2 * 10 * 0.16), abs=1e-8)


@pytest.mark.parametrize("method", CAPTURING)
def test_captured_derivatives_converge_with_dt(method):
    """Of a pendulum that bounces, with bilateral constraints. The position of an impact in its step makes the error uneven."""
    system, wrt = ss.benchmarks.bouncing_pendulum(), ["e", "L", "q0", "u0"]
    wide, narrow = (off(system, 1.4, dt, wrt, method) for dt in (0.01, 0.0025))
    assert narrow < 0.06
    assert narrow < 0.6 * wide


@pytest.mark.parametrize(
    "make, t_end, dt, tol",
    [(box_on_corner, 0.3, 2e-3, 6e-3), (ss.benchmarks.slider_crank, 0.006, 2e-5, 3e-2)],
)
def test_captured_derivatives_with_friction(make, t_end, dt, tol):
    """A corner in space, and a slider that bounces to rest, slips and hits with its other end: twelve events."""
    system = make()
    wrt = [name for name in ("mu", "e", "e_N", "g", "m3", "l1") if name in system.parameters] + ["u0"]
    assert off(system, t_end, dt, wrt, "rattle") < tol


@pytest.mark.parametrize("method", CAPTURING)
def test_between_events_steps_are_differentiated_exactly(method):
    """Central differences of the scheme itself, for a pendulum in free flight and a block that slides."""
    for system, name, dt in ((ss.benchmarks.bouncing_pendulum(), "g", 0.01), (reversing_block(), "R", 0.01)):
        r = ss.sensitivity(system, 0.1, dt, wrt=[name], method=method, tol=1e-12)
        value, h = system.parameters[name], 1e-5

        def end(change, system=system, name=name, dt=dt, value=value):
            given = {"method": method, "tol": 1e-12, "progress": False, "parameters": {name: value + change}}
            s = ss.solve(system, 0.1, dt, **given)
            return np.concatenate([s.q[-1], s.u[-1]])

        exact = (end(h) - end(-h)) / (2 * h)
        mine = np.concatenate([r.dq[name][-1, :, 0], r.du[name][-1, :, 0]])
        assert np.allclose(mine, exact, atol=1e-7)
        assert len(r.events) == 1


def test_captured_adjoint_is_the_transposed_tangent():
    system = box_on_corner()
    q, u = system.blocks[0].q, system.blocks[0].u
    wrt = ["q0", "u0", *system.parameters]
    for method in ("rattle", "lobatto", "generalized-alpha"):
        r = ss.sensitivity(system, 0.3, 0.01, wrt=wrt, method=method)
        a = ss.gradient(system, 0.3, 0.01, of=q[0] * u[1], wrt=wrt, method=method)
        x, v = r.solution.q[-1, 0], r.solution.u[-1, 1]
        for name in wrt:
            tangent = v * r.dq[name][-1, 0] + x * r.du[name][-1, 1]
            assert np.allclose(a.by[name], tangent, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("height", [1e-10, -1e-10, 1e-5])
def test_grazing_is_no_number_with_steps(height):
    """Touches that steps of this length cannot tell from none are reported; shorter ones tell 1e-5 apart."""
    r = ss.sensitivity(thrown(height), 0.8, 0.01, wrt=["u0"], method="rattle")
    assert not r.exists
    assert np.isnan(r.dq["u0"][-1]).all()
    assert "steps of 0.01" in str(r)
    if height == 1e-5:
        assert ss.sensitivity(thrown(height), 0.8, 0.001, wrt=["u0"], method="rattle").exists


# -- points without derivative ------------------------------------------------------------------------------------------


def thrown(height):
    """A ball thrown up to a ceiling at 1; it reaches 1 + height."""
    s = ss.System("ceiling")
    (z,), (v,) = s.coordinates("z", initial=[0], velocity=[np.sqrt(2 * 10 * (1 + height))])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(10 * z)
    s.contact(gap=1 - z, restitution=0.5, name="ceiling")
    return s


@pytest.mark.parametrize("height", [1e-10, -1e-10])
def test_grazing_is_no_number(height):
    r = ss.sensitivity(thrown(height), 0.8, 0.1, wrt=["u0"])
    assert not r.exists
    assert any("grazed" in e.treatment or "missed" in e.treatment for e in r.events)
    assert np.isfinite(r.dq["u0"][3]).all()
    assert np.isnan(r.dq["u0"][-1]).all()
    with pytest.raises(ss.NoDerivativeError, match="ceiling"):
        ss.gradient(thrown(height), 0.8, 0.1, of=1.0 * thrown(height).time, wrt=["u0"])


@pytest.mark.parametrize("height", [1e-4, -1e-4])
def test_beside_grazing_there_is_one(height):
    assert ss.sensitivity(thrown(height), 0.8, 0.1, wrt=["u0"]).exists


def test_two_corners_at_once():
    """A bar that lands flat: the height has a derivative, the tilt decides which end is first and has none."""
    s = ss.System("bar")
    (x, phi), u = s.coordinates("z phi", initial=[1, 0], velocity=[0, 0])
    s.mass_matrix(diag([1.0, 0.1]))
    s.force([-10.0, 0.0])
    for side in (-1, 1):
        s.contact(gap=x + side * 0.5 * phi, restitution=0.5, name=f"end {side}")
    r = ss.sensitivity(s, 0.6, 0.1, wrt=["z", "phi"])
    t = np.sqrt(0.2)  # z = e g t (T - t) - g (T - t)^2/2
    exact = (5 * 0.6 - 10 * t + 10 * (0.6 - t)) * t / 2
    assert r.dq["z"][-1, 0, 0] == pytest.approx(exact, abs=1e-9)
    assert np.isnan(r.dq["phi"][-1]).all()
    with pytest.raises(ss.NoDerivativeError, match="several contacts"):
        ss.gradient(s, 0.6, 0.1, of=x, wrt=["z"])


# -- wrong use ----------------------------------------------------------------------------------------------------------


def test_wrong_use_is_named():
    ball = wall()
    with pytest.raises(ss.OptionError, match="did you mean"):
        ss.sensitivity(ball, 1.0, 0.1, wrt=["ee", "q00"])
    with pytest.raises(ss.OptionError, match="twice"):
        ss.sensitivity(ball, 1.0, 0.1, wrt=["e", "e"])
    with pytest.raises(ss.OptionError, match="list of names"):
        ss.sensitivity(ball, 1.0, 0.1, wrt="e")
    with pytest.raises(ss.OptionError, match="empty"):
        ss.sensitivity(ball, 1.0, 0.1, wrt=[])
    for method in ("moreau", "generalized-alpha:solver=subproblems"):
        with pytest.raises(ss.MethodError, match="wrong at any dt"):
            ss.sensitivity(ball, 1.0, 0.1, wrt=["e"], method=method)
    door = wall()
    door.switch("closed", on=door.blocks[0].q[0] - 0.5)
    for study in (ss.sensitivity, ss.gradient):
        of = {"of": door.blocks[0].q[0]} if study is ss.gradient else {}
        with pytest.raises(ss.MethodError, match="switches"):
            study(door, 1.0, 0.1, wrt=["e"], **of)
    with pytest.raises(ss.OptionError, match="save_every= cannot"):
        ss.sensitivity(ball, 1.0, 0.1, wrt=["e"], save_every=2)
    with pytest.raises(ss.OptionError, match="does not declare"):
        ss.gradient(ball, 1.0, 0.1, of=reversing_block().blocks[0].q, wrt=["e"])


METHODS_OF_DERIVATIVES = ("event-driven", "rattle", "lobatto", "generalized-alpha")


def ball_and_block(slides=True):
    """A ball that bounces, and a block elsewhere that slides, or is held by friction, all the time."""
    s = ss.System("ball and block")
    (y,), (v,) = s.coordinates("y", initial=[1], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(9.81 * y)
    s.contact(gap=y, restitution=0.6, name="ball")
    (x, z), u = s.coordinates("x z", initial=[0, 0], velocity=[3.0 * slides, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(9.81 * z - 0.5 * x * (not slides))
    s.contact(gap=z, slip=u[0], friction=s.parameter("mu", 0.2), name="block")
    return s


@pytest.mark.parametrize("method", METHODS_OF_DERIVATIVES)
@pytest.mark.parametrize("slides", [True, False])
def test_an_impact_of_one_body_while_another_rests_on_the_floor(method, slides):
    """The block has no percussion and no velocity, the border of two cases; both leave its motion as it is. It was NaN."""
    t, close = (
        0.6,
        1e-2 if method == "generalized-alpha" else 1e-6,
    )  # its step with an event is known to the order of dt
    r = ss.sensitivity(ball_and_block(slides), t, 0.01, wrt=["q0", "u0", "mu"], method=method)
    assert r.exists
    v_1, left, g = np.sqrt(2 * 9.81), t - np.sqrt(2 / 9.81), 9.81
    by_height = 0.6 * g / v_1 * left - (0.6 * v_1 - g * left) / v_1
    np.testing.assert_allclose(r.dq["q0"][-1], np.diag([by_height, 1, 0]), atol=close)
    np.testing.assert_allclose(r.dq["u0"][-1][1], [0, t * slides, 0], atol=close)
    np.testing.assert_allclose(r.dq["mu"][-1][:, 0], [0, -g * t**2 / 2 * slides, 0], atol=close)


def test_an_impact_that_may_or_may_not_lift_a_resting_body_has_no_derivative():
    """A wall that leans by s: forwards it presses the block down, backwards it lifts it. At s = 0 there are two cases."""
    s = ss.System("leaning wall")
    (x, y), u = s.coordinates("x y", initial=[1, 0], velocity=[-2, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(9.81 * y)
    s.contact(gap=y, name="floor")
    s.contact(gap=x + s.parameter("s", 0.0) * y, restitution=0.5, name="wall")
    r = ss.sensitivity(s, 0.8, 0.01, wrt=["s"])
    assert "border of two cases" in str(r)
    assert np.isnan(r.dq["s"][-1]).all()
    assert ss.sensitivity(s, 0.8, 0.01, wrt=["q0"]).dq["q0"][-1][0, 0] == pytest.approx(-0.5)


def test_a_derivative_does_not_depend_on_how_many_are_asked_for():
    """To the last bit; BLAS with threads rounds differently, and waits for its threads much longer than small systems take."""
    rng = np.random.default_rng(0)
    factor, b = Factor(rng.normal(size=(5, 5))), rng.normal(size=(5, 9))
    for solve in (factor.solve, factor.solve_transposed):
        assert np.array_equal(solve(b), np.column_stack([solve(column) for column in b.T]))
