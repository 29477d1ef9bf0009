"""Errors are part of the interface: each names the thing, the numbers and the remedy."""

import os
import signal
import threading

import casadi as ca
import numpy as np
import pytest

import stickslip as ss
from mechanics import parting_guides


def particle(**contact):
    s = ss.System("particle")
    (x, y), (u, v) = s.coordinates("x y", initial=[0, 1], velocity=[0, 0])
    s.kinetic_energy((u**2 + v**2) / 2)
    s.potential_energy(9.81 * y)
    if contact:
        s.contact(gap=y, slip=u, **contact)
    return s, (x, y), (u, v)


def solve(s, **options):
    return ss.solve(s, **{"t_end": 0.1, "dt": 1e-2, **options})


# -- options -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf])
def test_step_must_be_positive(dt):
    with pytest.raises(ss.OptionError, match=r"dt = .* must be a finite number > 0"):
        solve(particle()[0], dt=dt)


@pytest.mark.parametrize("tol", [0.0, -1.0, np.nan])
def test_tolerance_must_be_positive(tol):
    with pytest.raises(ss.OptionError, match=r"tol = .* must be a finite number > 0"):
        solve(particle()[0], tol=tol)


def test_end_before_start():
    with pytest.raises(ss.OptionError, match=r"t_end = -1.* not before the start t = 0"):
        solve(particle()[0], t_end=-1.0)
    with pytest.raises(ss.OptionError, match=r"t_end = 1.* not before the start t = 2"):
        solve(particle()[0], t_end=1.0, t_start=2.0)
    with pytest.raises(ss.OptionError, match="t_end = nan"):
        solve(particle()[0], t_end=np.nan)


def test_unknown_method_and_option():
    with pytest.raises(ss.OptionError, match="unknown method 'ratle'; did you mean 'rattle'"):
        solve(particle()[0], method="ratle")
    with pytest.raises(ss.OptionError, match="there is no option 'stages' of method 'rattle'"):
        solve(particle()[0], method="rattle", stages=3)
    with pytest.raises(ss.OptionError, match="neither a name nor a scheme"):
        solve(particle()[0], method=3)


def test_unknown_parameter():
    with pytest.raises(ss.ModelError, match="unknown parameter 'mue'; did you mean 'mu'"):
        solve(ss.benchmarks.slider_crank(), parameters={"mue": 0.1})
    with pytest.raises(ss.ModelError, match="parameter 'mu' = nan must be a finite number"):
        solve(ss.benchmarks.slider_crank(), parameters={"mu": np.nan})


def test_state_of_wrong_shape():
    with pytest.raises(ss.OptionError, match=r"q0 has shape \(3,\), expected \(2,\)"):
        solve(particle()[0], q0=[1, 2, 3])


def test_unknown_case():
    with pytest.raises(ss.OptionError, match="case = 7 of rotating_bouncing_ball does not exist; there are 1, 2 and 3"):
        ss.benchmarks.rotating_bouncing_ball(case=7)
    with pytest.raises(ss.OptionError, match="case = 0 of point_mass_on_slope"):
        ss.benchmarks.point_mass_on_slope(case=0)


# -- models --------------------------------------------------------------------------------------------------------------


def test_mass_matrix_must_be_positive_definite():
    s = ss.System("massless")
    _, u = s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
    s.kinetic_energy(u[0] ** 2)
    with pytest.raises(
        ss.ModelError, match="massless: the mass matrix is not positive definite .* eigenvalue 0 .* 'y_dot'"
    ):
        solve(s)
    with pytest.raises(ss.ModelError, match="not positive definite"):
        solve(ss.benchmarks.bouncing_ball(), parameters={"m": -1.0})


def test_mass_matrix_must_be_symmetric_and_fit():
    s = ss.System("odd")
    s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
    with pytest.raises(ss.ModelError, match=r"mass matrix has shape \(3, 3\), but 2 velocities need \(2, 2\)"):
        s.mass_matrix(np.eye(3))
    s.mass_matrix([[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ss.ModelError, match="not symmetric"):
        solve(s)


def test_wrong_shapes_are_named():
    s = ss.System("shapes")
    with pytest.raises(ss.ModelError, match=r"initial= of coordinates 'x y' has shape \(1,\), expected \(2,\)"):
        s.coordinates("x y", initial=[0], velocity=[0, 0])
    with pytest.raises(ss.ModelError, match=r"velocity= of coordinates 'x y' has shape \(3,\), expected \(2,\)"):
        s.coordinates("x y", initial=[0, 0], velocity=[0, 0, 0])
    q, u = s.coordinates("x y", initial=[0, 1], velocity=[0, 0])
    with pytest.raises(ss.ModelError, match=r"kinetic energy must be a scalar expression, got shape \(2, 1\)"):
        s.kinetic_energy(u)
    with pytest.raises(ss.ModelError, match="the force has 3 components, but acts on 2 velocities"):
        s.force([1, 2, 3])
    with pytest.raises(ss.ModelError, match=r"gap must be a scalar expression, got shape \(2, 1\)"):
        s.contact(gap=q)
    with pytest.raises(ss.ModelError, match="slip has 4 components"):
        s.contact(gap=q[1], slip=[u[0]] * 4)
    with pytest.raises(ss.ModelError, match="coordinate 'x' is declared twice"):
        s.coordinates("x", initial=[0], velocity=[0])
    with pytest.raises(ss.ModelError, match="2 coordinates but 1 velocities; give kinematics"):
        s.coordinates("a b", velocities="w", initial=[0, 0], velocity=[0])
    with pytest.raises(ss.ModelError, match="is not finite"):
        s.coordinates("c", initial=[np.nan], velocity=[0])


def test_undeclared_symbol_is_named():
    s, _, _ = particle()
    s.potential_energy(ca.SX.sym("stiffness") ** 2)
    with pytest.raises(ss.ModelError, match="'particle' depends on 'stiffness', which this system does not declare"):
        solve(s)
    other = ss.System("other").coordinates("z", initial=[0], velocity=[0])[0][0]
    s, _, _ = particle()
    s.constraint(other, name="stray")
    with pytest.raises(ss.ModelError, match="depends on 'z'"):
        solve(s)


@pytest.mark.parametrize(
    "law, message",
    [
        ({"friction": -0.1}, "friction = -0.1 is out of range; it must be a finite number >= 0"),
        ({"friction": np.inf}, "friction is not finite: inf"),
        ({"restitution": 1.5}, "restitution = 1.5 is out of range; it must lie between 0 and 1"),
        ({"restitution": -0.5}, "restitution = -0.5 is out of range"),
        ({"tangential_restitution": 2.0}, "tangential_restitution = 2 is out of range"),
    ],
)
def test_law_out_of_range(law, message):
    with pytest.raises(ss.ModelError, match=message):
        particle(**law)


def test_law_out_of_range_by_parameter():
    with pytest.raises(ss.ModelError, match="friction = -1 is out of range"):
        solve(ss.benchmarks.slider_crank(), parameters={"mu": -1.0})
    with pytest.raises(ss.ModelError, match="restitution = 1.2 is out of range"):
        solve(ss.benchmarks.bouncing_ball(), parameters={"e": 1.2})


def test_what_does_not_belong_where_it_is():
    s, (x, y), (u, v) = particle()
    s.constraint(u, name="wrong level")
    with pytest.raises(ss.ModelError, match=r"use velocity_constraint\(\)"):
        solve(s)
    s, (x, y), (u, v) = particle()
    s.potential_energy(u)
    with pytest.raises(ss.ModelError, match="potential energy depends on velocities"):
        solve(s)
    s, (x, y), (u, v) = particle()
    s.velocity_constraint(u**2, name="curved")
    with pytest.raises(ss.ModelError, match="must be affine in the velocities"):
        solve(s)
    s, (x, y), (u, v) = particle()
    s.kinetic_energy(u**4)
    with pytest.raises(ss.ModelError, match="quadratic in the velocities"):
        solve(s)
    with pytest.raises(ss.ModelError, match="friction needs a slip velocity"):
        s.contact(gap=y, friction=0.2)
    s = ss.System("bent")
    _, w = s.coordinates("q", velocities="w", initial=[0], velocity=[0], kinematics=lambda t, q, u: [2 * u[0]])
    s.kinetic_energy(w[0] ** 2)
    with pytest.raises(ss.ModelError, match=r"kinetic_energy\(\) needs qdot = u"):
        solve(s)


def test_initial_state_that_violates_a_constraint():
    s, (x, y), (u, v) = particle()
    s.constraint(y - 0.5, name="rail")
    with pytest.raises(ss.InitialStateError, match="violates constraint 'rail' on position level by 0.5"):
        solve(s)
    with pytest.raises(ss.InitialStateError, match="violates constraint 'rail' on velocity level by 0.25"):
        solve(s, q0=[0, 0.5], u0=[0, 0.25])
    assert solve(s, q0=[0, 0.5]).complete


def test_initial_state_inside_an_obstacle():
    s, _, _ = particle(friction=0.1, name="floor")
    with pytest.raises(ss.InitialStateError, match="inside an obstacle: gap 'floor' is -0.2 < 0"):
        solve(s, q0=[0, -0.2])


def test_parts_are_checked():
    with pytest.raises(ss.ModelError, match="point mass 'p': mass = -1 must be a finite number > 0"):
        ss.PointMass("p", mass=-1, position=[0])
    with pytest.raises(ss.ModelError, match="planar body 'b': inertia = 0"):
        ss.PlanarBody("b", mass=1, inertia=0)
    with pytest.raises(ss.ModelError, match="normal .* has length zero"):
        ss.Line([0, 0], [0, 0])
    with pytest.raises(ss.ModelError, match="axis .* has length zero"):
        ss.Prismatic("p", ss.ground.point(0, 0), ss.PlanarBody("b", mass=1, inertia=1).point(), axis=[0, 0])
    s, other = ss.System("one"), ss.System("two")
    ball = s.add(ss.PointMass("ball", mass=1, position=[0, 0]))
    with pytest.raises(ss.ModelError, match="part 'ball' was added twice"):
        s.add(ball)
    with pytest.raises(ss.ModelError, match="belongs to system 'one' already"):
        other.add(ball)
    with pytest.raises(ss.ModelError, match="another part named 'ball'"):
        s.add(ss.PointMass("ball", mass=1, position=[0, 0]))
    with pytest.raises(ss.ModelError, match="needs 2 coordinates, got 3"):
        ball.point(1, 2, 3)
    with pytest.raises(ss.ModelError, match="is not a part"):
        s.add("ball")
    with pytest.raises(ss.ModelError, match="belongs to no system yet"):
        ss.PointMass("new", mass=1, position=[0, 0]).q  # noqa: B018


# -- runs ----------------------------------------------------------------------------------------------------------------


def test_step_that_cannot_be_solved():
    """The error has everything, and the steps before are kept."""
    with pytest.raises(
        ss.ConvergenceError, match=r"step 50, from t = 0.049.* was found. Residual .*tolerance 1e-09.*"
    ) as caught:
        ss.solve(parting_guides(), t_end=0.1, dt=1e-3, tol=1e-9)
    error = caught.value
    assert error.stage in ("position_stage", "velocity_stage")
    assert error.residual > 1e-9
    assert len(error.solution) == error.step + 1
    assert error.solution.t[-1] == error.time
    assert not error.solution.complete
    assert "could not be solved" in error.solution.provenance["interrupted"]


def test_a_step_of_joints_alone_has_no_contact_problem():
    s = ss.System("whirl")
    mass = s.add(ss.PointMass("mass", mass=1.0, position=[1, 0], velocity=[0, 10.0]))
    s.add(ss.Rod("string", ss.ground.point(0, 0), mass.point()))
    with pytest.raises(ss.ConvergenceError, match="A smaller dt may help") as caught:
        ss.solve(s, t_end=0.36, dt=0.12)
    assert caught.value.problem is None
    assert "problem.save" not in str(caught.value)


def test_explosion_is_an_error_not_a_result():
    """Explicit in its forces, Moreau's scheme explodes for a stiff spring: overflow must not be returned as a trajectory."""
    s = ss.System("stiff")
    (x,), (v,) = s.coordinates("x", initial=[1.0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(1e8 * x**4)
    with (
        pytest.warns(ss.StabilityWarning, match="dt = 0.01 is too large"),
        pytest.raises(ss.ConvergenceError, match="not finite|Residual"),
    ):
        ss.solve(s, t_end=1.0, dt=1e-2, method="moreau")


@pytest.mark.skipif(os.name == "nt", reason="sends signals to itself")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("streamed", [False, True])
def test_an_interruption_carries_what_is_done(number, streamed, tmp_path):
    """It ends a loop over runs as Ctrl-C ends any other loop, and nothing is lost."""
    ball, out = ss.benchmarks.bouncing_ball(), tmp_path / "run.h5" if streamed else None
    ss.solve(ball, t_end=0.1, dt=1e-3)  # compiled before the clock runs
    before, runs = signal.getsignal(number), 0
    timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), number))
    timer.start()
    stop = None
    try:
        for _ in range(3):
            runs += 1
            ss.solve(ball, t_end=3000.0, dt=1e-3, out=out)
    except KeyboardInterrupt as interrupted:
        stop = interrupted
    timer.cancel()
    assert isinstance(stop, ss.Interrupted)
    assert "of 3000" in str(stop)
    s = stop.solution
    assert runs == 1
    assert stop.signal == number
    assert not s.complete
    assert 1 < len(s) < 3_000_001
    assert s.q.tobytes() == ss.solve(ball, t_end=s.t[-1], dt=1e-3).q.tobytes()
    assert signal.getsignal(number) is before
    if streamed:
        t_end = s.t[-1] + 0.5
        whole = ss.solve(ball, t_end=t_end, dt=1e-3)
        assert ss.resume(out, ball, t_end=t_end).q.tobytes() == whole.q.tobytes()


def test_an_interruption_in_the_last_steps_is_not_lost(monkeypatch):
    """The run is complete, but whoever makes many runs wants the loop over them to end."""
    from stickslip.engine.run import ProgramRun

    advance = ProgramRun.advance

    def late(self, *arguments):
        advance(self, *arguments)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgramRun, "advance", late)
    with pytest.raises(ss.Interrupted, match="after the last step") as stop:
        ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=1e-3)
    assert stop.value.solution.complete
    assert len(stop.value.solution) == 101


def test_end_time_is_reached():
    """The number of steps is rounded up, but 0.3/0.1 is 3 and not 4."""
    assert solve(particle()[0], t_end=0.3, dt=0.1).t == pytest.approx([0, 0.1, 0.2, 0.3])
    assert solve(particle()[0], t_end=0.25, dt=0.1).t[-1] == pytest.approx(0.3)
    assert len(solve(particle()[0], t_end=0.0)) == 1


# -- slips that used to end in texts of Python or of a library --------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"parameters": {3: 1}}, "unknown parameter 3"),
        ({"out": 3}, "out = 3 must be the path of a file"),
        ({"out": "."}, "is a folder; name a file in it"),
        ({"t_end": 10**400}, "must be a finite number"),
        ({"save_every": 0}, "save_every = 0 must be a whole number"),
        ({"start": 3}, "must be a state"),
        ({"q0": [1j, 0]}, "must be an array of 2 numbers"),
    ],
)
def test_slips_are_named(options, message):
    with pytest.raises(ss.StickslipError, match=message):
        solve(particle()[0], progress=False, **options)


def test_numbers_of_numpy_are_options():
    s, *_ = particle()
    assert solve(s, method="lobatto", stages=np.int64(3)).q.shape == (11, 2)
    assert solve(s, method="theta", theta=np.float32(0.5)).provenance["options"]["theta"] == 0.5


def test_controllers_are_named():
    with pytest.raises(ss.OptionError, match="is not an ss.SampledController"):
        ss.stepper(particle()[0], 1e-2, controllers=[lambda t, q, u: None])


def test_errors_and_solutions_come_back_from_another_process():
    import pickle

    s = ss.System("root")
    (x,), (u,) = s.coordinates("x", initial=[0.5], velocity=[-1])
    s.kinetic_energy(u**2 / 2)
    s.potential_energy(ss.math.sqrt(x))
    with pytest.raises(ss.ConvergenceError) as caught:
        ss.solve(s, 2.0, 1e-2, progress=False)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert np.array_equal(again.solution.q, caught.value.solution.q)
    assert again.solution.state.same(caught.value.solution.state)


def test_vectors_multiply_as_in_numpy():
    """m u is a column for CasADi: `m / 2 * u @ u` ended in a message about its own insides."""
    s = ss.System()
    m = s.parameter("m", 3.0)
    _, u = s.coordinates("x y", initial=[0, 0], velocity=[1, 2])
    for product in (m / 2 * u @ u, u @ (m * u) / 2, (m * u) @ [1, 2] / 2, [1, 2] @ (m * u) / 2, m / 2 * (u @ u)):
        assert float(s.initial_value(product)) == pytest.approx(7.5, abs=1e-15)
    assert s.initial_value(np.array([[0, 1], [1, 0]]) @ (m * u)).tolist() == [6.0, 3.0]
    with pytest.raises(ss.ModelError, match=r"shapes \(2, 1\) and \(3, 1\) do not fit"):
        (m * u) @ np.ones(3)


def test_a_contact_without_a_gap_is_refused():
    """It declared nothing, so that bodies fell through it."""
    s, _, u = particle()
    words = r"contact 'floor' has no gap; give gap=.* without a gap there is s.friction\(slip=, radius=\)"
    for more in ({}, {"slip": u, "friction": 0.3}):
        with pytest.raises(ss.ModelError, match=words):
            s.contact(gap=None, name="floor", **more)


@pytest.mark.parametrize(
    "declare, message",
    [
        (
            lambda s, x, y, u: s.contact(gap=y, slip=x, friction=0.3, name="floor"),
            "slip of 'floor' contains no velocity",
        ),
        (lambda s, x, y, u: s.friction(slip=x, radius=1.0, name="pad"), "slip of 'pad' contains no velocity"),
        (lambda s, x, y, u: s.contact(gap=1.0, name="floor"), "gap of 'floor' depends on no coordinate"),
        (lambda s, x, y, u: s.velocity_constraint(x, name="blade"), "'blade' contains no velocity; use constraint"),
    ],
    ids=["slip", "friction", "gap", "velocity constraint"],
)
def test_what_acts_on_nothing_is_refused(declare, message):
    """A coordinate in place of a velocity switched friction off in silence."""
    s = ss.System()
    (x, y), u = s.coordinates("x y", initial=[0, 1], velocity=[1, 0])
    s.kinetic_energy(u @ u / 2)
    declare(s, x, y, u)
    with pytest.raises(ss.ModelError, match=message):
        ss.solve(s, t_end=0.1, dt=1e-2)


def test_coordinates_without_any_equation():
    s = ss.System("nothing")
    s.coordinates("x", initial=[1], velocity=[0])
    with pytest.raises(ss.ModelError, match="mass matrix is not positive definite"):
        ss.solve(s, 0.1, 0.01, progress=False)


def falling(**coordinates):
    s = ss.System("point")
    (x, y), u = s.coordinates("x y", **{"initial": [0, 1], "velocity": [1, 0], **coordinates})
    s.kinetic_energy((u @ u) / 2)
    return s, x, y, u


def test_a_law_out_of_range_names_its_contact():
    s, _, y, u = falling()
    s.contact(gap=y + 2, name="ceiling")
    s.contact(gap=y, slip=u[0], friction=s.parameter("mu", 0.3), restitution=s.parameter("e", 0.5), name="floor")
    for changed, message in (({"mu": -1}, "contact 'floor': friction = -1"), ({"e": 2}, "'floor': restitution = 2")):
        with pytest.raises(ss.ModelError, match=message):
            ss.solve(s, 0.1, 0.01, parameters=changed)


def test_forces_that_do_not_exist_are_named():
    s, x, _, u = falling()
    s.force([1 / x], on=[u[0]])
    with pytest.raises(
        ss.ConvergenceError, match="forces of 'point' are not finite at t = 0. Look for points that coin"
    ):
        ss.solve(s, 0.1, 0.01)
    s = ss.System("spring")
    mass = s.add(ss.PointMass("mass", mass=1, position=[0, 1]))
    s.add(ss.SpringDamper("coil", ss.ground.point(0, 1), mass.point(), stiffness=10, rest_length=0.1))
    with pytest.raises(ss.ConvergenceError, match="forces of 'coil' are not finite at t = 0"):
        ss.solve(s, 0.1, 0.01)


def test_friction_without_a_force_is_refused():
    s, _, _, u = falling()
    with pytest.raises(ss.ModelError, match="has no force; give radius="):
        s.friction(slip=u[0])
    s.friction(slip=u[0], radius=0.0)  # that is what was asked for


def test_a_constraint_of_time_alone_is_refused():
    s, *_ = falling()
    with pytest.raises(ss.ModelError, match="'g1' depends on no coordinate"):
        s.constraint(s.time - 1)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tol": 1e3}, "tol = 1000 accepts nearly anything; the largest that makes sense here is 0.1"),
        ({"t_start": np.nan}, "t_start = nan must be a finite number"),
        ({"verbose": 1}, "there is no option 'verbose' of method 'rattle'. Its options: restitution, variant"),
        ({"varian": "midpoint"}, "did you mean 'variant'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ss.OptionError, match=message):
        ss.solve(falling()[0], 0.1, 0.01, **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: ss.solve(ss.benchmarks.bouncing_ball(), 0.1, 0.01, parameters={"e": x}),
        lambda x: ss.System("s").add(ss.PointMass("m", mass=x, position=[0, 0])),
        lambda x: ss.System("s").add(ss.PointMass("m", mass=1, position=[x, 0])),
        lambda x: ss.System("s").parameter("m", x),
        lambda x: ss.System("s").coordinates("x", initial=[x], velocity=[0]),
        lambda x: ss.Box(ss.ground, [x, 1, 1]),
        lambda x: ss.ensemble(ss.benchmarks.bouncing_ball(), 0.1, 0.01, parameters={"e": [x]}),
        lambda x: ss.sweep(ss.benchmarks.bouncing_ball(), t_end=0.1, dt=0.01, parameters={"e": [x]}),
    ],
)
def test_integers_beyond_all_floats_are_named(make):
    with pytest.raises(ss.StickslipError):
        make(10**400)


def test_single_precision_means_what_was_written():
    """0.01 of single precision is below 0.01, by so much that 0.1 would take 11 steps."""
    s, *_ = falling()
    for t_end, dt in ((0.1, np.float32(0.01)), (np.float32(0.1), 0.01)):
        assert len(ss.solve(s, t_end, dt).t) == 11
        with ss.stepper(s, dt) as sim:
            assert len(sim.run(t_end).t) == 11


def test_studies_say_that_detected_contacts_are_not_for_them():
    """No method was named, so none is blamed."""
    s = ss.System("box")
    s.add(ss.Gravity([0, -9.81]))
    box = s.add(ss.solid("box", ss.Box(ss.ground.frame([0, 0.5]), [0.1, 0.1]), density=1000))
    s.add(ss.Collisions("touch", [box, ss.Line([0, 0], [0, 1])], friction=0.3))
    studies = [
        lambda: ss.sensitivity(s, 0.1, 0.01, wrt=["touch.friction"]),
        lambda: ss.gradient(s, 0.1, 0.01, of=box.q[0], wrt=["touch.friction"]),
        lambda: ss.periodic_orbit(s, ([0, 1, 0], [0, 0, 0]), period=1.0),
        lambda: ss.lyapunov(s, period=1.0),
        lambda: ss.bifurcation(s, "touch.friction", [0.1, 0.2], period=0.1),
        lambda: ss.poincare(s, period=0.1, count=3),
        lambda: ss.ensemble(s, 0.1, 0.01),
    ]
    for study in studies:
        with pytest.raises(
            ss.MethodError, match="are detected while it moves.* for this study declare them with Contact"
        ):
            study()


def test_a_solution_of_another_system_is_no_start():
    s, *_ = falling()
    other = ss.System("other")
    _, u = other.coordinates("a b", initial=[0, 1], velocity=[1, 0])
    other.kinetic_energy((u @ u) / 2)
    with pytest.raises(ss.OptionError, match="start= is a solution of 'point', whose coordinates have other names"):
        ss.solve(other, 0.2, 0.01, start=ss.solve(s, 0.1, 0.01))


def test_an_outline_that_crosses_itself_is_not_a_line():
    with pytest.raises(ss.ModelError, match="crosses itself"):
        ss.SimplePolygon(ss.ground, [(0, 0), (1, 1), (1, 0), (0, 1)])
    with pytest.raises(ss.ModelError, match="lie on a line"):
        ss.SimplePolygon(ss.ground, [(0, 0), (1, 1), (2, 2), (3, 3)])


def test_masses_beyond_comparison_are_refused():
    """The lighter velocity drops out of the linear system: the body did not fall."""
    s = ss.System("feather")
    s.add(ss.Gravity([0, -9.81]))
    s.add(ss.PlanarBody("feather", mass=1e-40, inertia=0.1))
    with pytest.raises(ss.ModelError, match="the mass of 'feather.x_dot', 1e-40, is beyond all comparison with 0.1"):
        ss.solve(s, 0.1, 0.01)


def test_what_an_ensemble_and_a_stop_need():
    s, *_ = falling()
    with pytest.raises(ss.OptionError, match="q0 is an empty list: an ensemble needs at least one run"):
        ss.ensemble(s, 0.1, 0.01, q0=np.zeros((0, 2)))
    with ss.stepper(s, 0.01) as sim, pytest.raises(ss.OptionError, match="minus a limit; got 2 entries"):
        sim.run(1.0, stop=[1.0, 2.0])


@pytest.mark.parametrize("method, w_dt", [("rattle", 2.1), ("half-explicit", 3.0), ("lobatto", 10.0)])
def test_a_motion_that_explodes_is_called_so(method, w_dt):
    """No contact is to blame, and no half of a step would help: rounding errors of the velocity are above the tolerance."""
    s = ss.System("spring")
    (x,), u = s.coordinates("x", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(5e3 * x * x)
    words = (
        r"the motion has exploded: 'x_dot' is .*rounding errors.*above tol = 1e-08.*implicit forces.*energy rises by"
    )
    with (
        pytest.warns(ss.StabilityWarning),
        pytest.raises(ss.ConvergenceError, match=words) as caught,
    ):
        solve(s, t_end=200 * w_dt / 100, dt=w_dt / 100, method=method)
    assert "subdivide" not in str(caught.value)
    assert "problem" not in str(caught.value)
    assert caught.value.names == ("equation of motion for 'x_dot'",)
    with pytest.warns(ss.StabilityWarning), pytest.raises(ss.ConvergenceError, match="exploded") as caught:
        solve(s, t_end=200 * w_dt / 100, dt=w_dt / 100, method=method, energy_alarm=False)
    assert "energy rises" not in str(caught.value)


@pytest.mark.parametrize("method, ratio", [("rattle", 1e9), ("moreau", 1e9)])
def test_masses_that_differ_too_much_are_named_and_no_jam(method, ratio):
    """Three boxes at rest on each other: forces on the top one are large, but they hold it."""
    s = ss.System("stack")
    s.add(ss.Gravity([0, 0, -9.81]))
    cubes = [ss.Box(ss.ground.frame([0, 0, 0.05 + 0.1 * k]), [0.1, 0.1, 0.1]) for k in range(3)]
    density = [1000, 1000, 1000 * ratio]
    boxes = [s.add(ss.solid(f"b{k}", cube, density=density[k])) for k, cube in enumerate(cubes)]
    s.add(ss.Collisions("c", [*boxes, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.5))
    words = rf"the mass of 'b2' is {ratio:.0e}".replace("+", r"\+") + r" times that of 'b[01]'.*factor of 1e7 help"
    with pytest.raises(ss.ConvergenceError, match=words) as caught:
        solve(s, t_end=0.05, dt=1e-3, method=method)
    assert "press against" not in str(caught.value)
    assert "jam" not in str(caught.value)


def test_the_mass_of_a_body_that_nothing_joins_is_no_reason():
    s = ss.System("whirl")
    mass = s.add(ss.PointMass("mass", mass=1.0, position=[1, 0], velocity=[0, 10.0]))
    s.add(ss.Rod("string", ss.ground.point(0, 0), mass.point()))
    s.add(ss.PointMass("planet", mass=1e9, position=[100, 0]))
    with pytest.raises(ss.ConvergenceError, match="A smaller dt may help") as caught:
        solve(s, t_end=0.36, dt=0.12)
    assert "planet" not in str(caught.value)


@pytest.mark.parametrize(
    "law, words",
    [
        (lambda v: [0.1, 0.2][v], "speed is a symbol, not a whole number.*where chooses"),
        (lambda v: sum(range(v)), "not a whole number"),
        (lambda v: 0.3 + sum(list(v)), "speed is a symbol, not a list"),
        (lambda v: float(f"{v:.2f}"), "a format such as"),
        (lambda v: 0.3 if v > 1 else 0.2, "Python's `if`"),
        (lambda v: 0.3 * len(v), "a function of one number, the slip speed.*no len"),
        (lambda v: 1j * v, "a function of one number, the slip speed.*complex"),
        (lambda v: v + "a", "a function of one number, the slip speed.*str"),
        (lambda v: np.array([v, 1.0], float)[0], "a function of one number, the slip speed.*sequence"),
        (lambda v: v.foo, "a function of one number, the slip speed.*foo"),
    ],
)
def test_what_a_law_cannot_do_with_a_symbol_names_the_part(law, words):
    with pytest.raises(ss.ModelError, match=rf"particle: contact 'floor': friction.*{words}"):
        particle(friction=law, name="floor")


def test_symbols_refuse_what_needs_a_value():
    _, (x, y), u = particle()
    for attempt in (lambda: [1, 2][x], lambda: range(x), lambda: list(x), lambda: f"{x:.3f}", lambda: np.round(u)):
        with pytest.raises(ss.ModelError, match="is a symbol, not a"):
            attempt()
    assert f"{x}" == str(x)
    with pytest.raises(ss.ModelError, match=r"where\(condition, x, y\) was called with 2 arguments, not 3"):
        ss.math.where(x > 0, 1)
    with pytest.raises(ss.ModelError, match=r"sin\(x\) was called with 0 arguments, not 1"):
        ss.math.sin()
    angles = np.arctan2(np.array([x, y]), np.array([y, x]))
    value = ca.Function("f", [x, y], [angles[0], angles[1]])(1.0, 2.0)
    np.testing.assert_allclose([float(v) for v in value], np.arctan2([1, 2], [2, 1]))


def test_names_to_keep_and_model_files_are_checked():
    ball = ss.benchmarks.bouncing_ball()
    for save in (3, "q", [3]):
        with pytest.raises(ss.OptionError, match=r"save = .* must be a list of names"):
            solve(ball, save=save)
    with pytest.raises(ss.ModelError, match="path = 5 must be the path of a model file"):
        ss.from_urdf(5)


def spinning():
    s = ss.System("spinning")
    ball = s.add(ss.RigidBody("ball", mass=1, inertia=[0.1, 0.1, 0.1], angular_velocity=[0, 0, 1]))
    return s, ball


def test_a_quaternion_of_length_zero_is_no_start():
    """It was accepted, and the body did not turn."""
    s, _ = spinning()
    for method in ("rattle", "moreau", "event-driven"):
        for p in ([0, 0, 0, 0], [1e-200, 0, 0, 0]):
            with pytest.raises(ss.InitialStateError, match="the quaternion of 'ball' has length zero"):
                solve(s, method=method, q0=[0, 0, 0, *p])
    with ss.stepper(s, dt=1e-2) as sim, pytest.raises(ss.InitialStateError, match="length zero"):
        sim.reset(q=np.zeros(7))
    runs = ss.ensemble(s, 0.1, 1e-2, q0=[[0, 0, 0, 1, 0, 0, 0], np.zeros(7)])
    assert runs.failed.tolist() == [False, True]
    drops = ss.System("drops")
    drops.add_many(ss.RigidBody("d", mass=1, inertia=[1, 1, 1]), position=[[0, 0, k] for k in range(3)])
    q = drops.q_initial.copy()
    q[17:21] = 0
    with pytest.raises(ss.InitialStateError, match=r"the quaternion of 'd\[2\]' has length zero"):
        solve(drops, q0=q)


def pair():
    s = ss.System("pair")
    a, b = (s.add(ss.PlanarBody(name, mass=1, inertia=0.1, position=[x, 0])) for name, x in (("a", 1), ("b", 3)))
    return s, a, b


def test_a_measure_that_cannot_change_is_refused():
    """An angle with an axis in the plane was a bare ValueError of NumPy; the others did nothing."""
    _, a, b = pair()
    with pytest.raises(ss.ModelError, match="in the plane there is no choice of an axis"):
        ss.Angle(a, b, axis=[0, 0, 1])
    with pytest.raises(ss.ModelError, match="it never changes; name two bodies"):
        ss.Angle(a, a)
    for make in (
        lambda: ss.Distance(a.point(), a.point(1, 0)),
        lambda: ss.Displacement(a.point(), a.point(1, 0), [1, 0]),
        lambda: ss.SpringDamper("s", b.point(), b.point(1, 0), stiffness=1.0),
    ):
        with pytest.raises(ss.ModelError, match="belong to one body, so that it never changes"):
            make()


def test_expressions_as_measures_are_told_how():
    s, a, _ = pair()
    with pytest.raises(ss.ModelError, match=r"an expression becomes one by Expression\(\.\.\.\), got"):
        ss.Motor("m", a.q[0], 1.0)
    with pytest.raises(ss.ModelError, match="its measure contains a velocity"):
        s.add(ss.Motor("m", ss.Expression(a.u[0]), 1.0))


def test_a_direction_normal_to_the_surface_is_refused():
    """It was a RuntimeWarning and forces that are not numbers."""
    s = ss.System("skate")
    skate = s.add(ss.PointMass("skate", mass=1, position=[0, 0, 0], velocity=[1, 0, 0]))
    for direction in ([0, 0, 1], [0, 0, -1e-3]):
        law = ss.OrthotropicCoulomb(0.1, 0.2, direction=direction)
        with pytest.raises(ss.ModelError, match=r"'ice': the direction .* is normal to the surface; give one along it"):
            s.add(ss.Contact("ice", skate.point(), ss.Plane([0, 0, 0], [0, 0, 1]), law))


def test_active_is_a_switch():
    for active in (0, False, 0.5, 2):
        with pytest.raises(ss.ModelError, match=r"active = .* must be a switch or a parameter"):
            particle(friction=0.1, active=active)
    particle(friction=0.1, active=True)


def test_shapes_that_are_not_detected_name_what_is():
    _, ball = spinning()
    for shape, instead in (
        (ss.Graph(lambda x, y: 0 * x), "HeightField"),
        (ss.Disk(ss.ground.point(0, 0, 0), [0, 0, 1], 1), "Cylinder"),
    ):
        with pytest.raises(ss.ModelError, match=f"are not detected; declare them with Contact, or use a {instead}"):
            ss.Collisions("c", [ss.Sphere(ball.point(), 0.1), shape])


def test_what_a_system_has_read_is_not_changed():
    """A mass that was set later counted as weight only, so that a block slid half as far."""
    s, ball = spinning()
    gravity = s.add(ss.Gravity([0, 0, -9.81]))
    for part, name in ((ball, "mass"), (ball, "initial"), (gravity, "acceleration")):
        with pytest.raises(
            ss.ModelError, match=f"{name!r} of .* was read when it was added, and a change would be ignored"
        ):
            setattr(part, name, getattr(part, name))
    assert solve(s, parameters={"ball.mass": 5.0}).q[-1, 2] < 0


def test_a_reset_into_a_shape_is_refused_and_changes_nothing():
    """Declared contacts refused it, detected ones did not."""
    ends = []
    for wrong in (False, True):
        s = ss.System("box")
        s.add(ss.Gravity([0, 0, -9.81]))
        shape = ss.Box(ss.ground.frame([0, 0, 0.05]), [0.1, 0.1, 0.1])
        box = s.add(ss.solid("box", shape, density=1000, velocity=[1, 0, 0]))
        s.add(ss.Collisions("contacts", [box, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.3))
        with ss.stepper(s, dt=1e-2) as sim:
            sim.step(3)
            if wrong:
                with pytest.raises(ss.InitialStateError, match="begin inside each other, 0.03 deep"):
                    sim.reset(q=[0, 0, 0.02, 1, 0, 0, 0])
            sim.step(3)
            ends.append(sim.q)
            sim.reset(q=[0, 0, 0.07, 1, 0, 0, 0])
            sim.step()
    assert (ends[0] == ends[1]).all()


def test_a_body_is_not_called_ground_where_contacts_are_told_by_names():
    s = ss.System("named")
    ball = s.add(ss.solid("ground", ss.Sphere(ss.ground.point(0, 0.1), 0.1), density=1))
    with pytest.raises(ss.ModelError, match="a body named 'ground' could not be told from the ground"):
        s.add(ss.Collisions("touch", [ball, ss.Line([0, 0], [0, 1])]))


def test_axes_of_a_cross_are_perpendicular():
    """The error asked for aligned ones, which these are."""
    s, ball = spinning()
    s.add(ss.Universal("cross", ss.ground.point(0, 0, 0), ball.point(), axis_1=[0, 0, 1], axis_2=[0, 0, 1]))
    with pytest.raises(ss.InitialStateError, match="the axes of universal joint 'cross' are not perpendicular"):
        solve(s)
