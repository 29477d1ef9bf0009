"""The event-driven reference: exact values, conservation, every kind of event, and what converges to it."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.math import cos, diag, maximum, sin, where


def solve(system, t_end, dt=1e-2, **options):
    return ss.solve(system, t_end, dt, method="event-driven", **options)


def events(solution):
    """Times of the events, the last of every interval."""
    t = solution.extra["last_event"]
    return t[~np.isnan(t)]


# -- exact values of the benchmarks -------------------------------------------------------------------------------------

G, MU, HEIGHT = 9.81, 0.2, 0.9
FALL = np.sqrt(2 * HEIGHT / G)  # 0.428353


def test_ball_bounces_until_it_rests():
    """Impacts at t_1 (1 + 2 e + 2 e^2 + ...), up to 3 t_1 = 1.285059 for e = 1/2; bounces end below rest_velocity."""
    s = solve(ss.benchmarks.rotating_bouncing_ball(case=1), 1.5, dt=1e-3)
    t = events(s)
    expected = FALL * (1 + 2 * np.cumsum([0.0, *0.5 ** np.arange(1, 9)]))
    assert np.allclose(t[:9], expected, rtol=0, atol=1e-11)
    assert abs(t[-1] - 3 * FALL) < 2 * 1e-5 / G * 2  # the sum of the bounces that are left out
    assert np.abs(s.u[-1]).max() < 1e-12
    assert s.gap.min() > -1e-12
    assert s.P_N.sum() == pytest.approx(1.5 * G, abs=1e-9)  # momentum balance, with the percussion of coming to rest


def test_ball_slides_then_rolls():
    """Sliding ends after 2 (R omega - ...)/(7 mu g): t = 0.728120; then -10/7, 100/7, and no friction."""
    s = solve(ss.benchmarks.rotating_bouncing_ball(case=2), 1.5)
    P_N = np.sqrt(2 * G * HEIGHT)
    slip = 5 - 7 / 2 * MU * P_N
    assert np.allclose(events(s), [FALL, FALL + slip / (7 / 2 * MU * G)], rtol=0, atol=1e-9)
    assert events(s)[1] == pytest.approx(0.728120, abs=1e-6)
    after = s.u[43]  # t = 0.43
    assert after[0] == pytest.approx(-MU * P_N - MU * G * (0.43 - FALL), abs=1e-9)
    assert s.P_N[43, 0] == pytest.approx(P_N + G * (0.43 - FALL), abs=1e-9)
    assert np.allclose(s.u[-1], [-10 / 7, 0, 100 / 7], atol=1e-9)
    assert np.abs(s.P_F[-1]).max() < 1e-12


def test_ball_sticks_at_once():
    s = solve(ss.benchmarks.rotating_bouncing_ball(case=3), 1.0)
    assert np.allclose(events(s), [FALL], rtol=0, atol=1e-11)
    assert np.allclose(s.u[43:], [-2 / 7, 0, 20 / 7], atol=1e-11)


@pytest.mark.parametrize("case, t_rest, x_rest", [(1, 2.097352, 2.849185), (2, 1.929586, 2.980389)])
def test_slope_comes_to_rest(case, t_rest, x_rest):
    s = solve(ss.benchmarks.point_mass_on_slope(case=case), 2.4)
    assert np.allclose(events(s), [t_rest], rtol=0, atol=1e-6)
    assert s.q[-1, 0] == pytest.approx(x_rest, abs=1e-6)
    assert np.abs(s.u[-1]).max() < 1e-12
    if case == 1:
        assert s.q[160, 0] == pytest.approx(2.554164, abs=1e-6)
        assert np.linalg.norm(s.u[160]) == pytest.approx(1.175372, abs=1e-6)


def test_slope_reverses_slip_and_lands():
    """Case 3 goes uphill first and turns without sticking; case 4 falls 0.5 onto the slope, at t = sqrt(2 0.5/10)."""
    turning = solve(ss.benchmarks.point_mass_on_slope(case=3), 2.4)
    assert len(events(turning)) == 2
    assert turning.slip[5, 0] < 0 < turning.slip[20, 0]
    landing = solve(ss.benchmarks.point_mass_on_slope(case=4), 2.4)
    assert events(landing)[0] == pytest.approx(np.sqrt(0.1), abs=1e-11)


def test_slider_crank_crank_angle():
    """9.0007 at t = 0.1 by an independent implementation of RATTLE with dt = 2e-5; 76 events on the way."""
    s = solve(ss.benchmarks.slider_crank(), 0.1, dt=1e-3)
    assert s.q[-1, 2] == pytest.approx(9.0007, abs=1e-4)
    assert s.gap.min() > -1e-11
    assert np.abs(s.g).max() < 1e-11
    assert np.abs(s.g_dot).max() < 1.5e-10  # projected to 1e-12 of the velocities, which are 150


# -- every kind of event ---------------------------------------------------------------------------------------------------


def block(dimension):
    """A block on a floor, pulled by the force 2 t: it slips once 2 t = mu m g = 3."""
    s = ss.System("pulled block")
    n = dimension + 1
    q, u = s.coordinates("x y z" if dimension == 2 else "x z", initial=np.zeros(n), velocity=np.zeros(n))
    s.mass_matrix(diag([1.0] * n))
    s.force([2 * s.time, *[0.0] * (dimension - 1), -10.0])
    s.contact(gap=q[-1], slip=u[:-1], friction=0.3, name="floor")
    return s


@pytest.mark.parametrize("dimension", [1, 2])
def test_stick_ends_when_the_force_is_too_large(dimension):
    s = solve(block(dimension), 3.0, dt=0.1)
    assert np.allclose(events(s), [1.5], rtol=0, atol=1e-8)
    assert np.abs(s.u[15]).max() < 1e-12
    assert s.u[-1, 0] == pytest.approx(1.5**2, abs=1e-8)  # integral of 2 t - 3 from 1.5 to 3
    assert s.q[-1, 0] == pytest.approx(1.5**3 / 3, abs=1e-8)
    assert s.P_F[:, 0].sum() == pytest.approx(-(1.5**2) - 3 * 1.5, abs=1e-8)


def test_spatial_slip_stops():
    """A puck in the plane, friction opposite to the velocity: a straight line, at rest after v/(mu g)."""
    s = ss.System("puck")
    q, u = s.coordinates("x y z", initial=[0, 0, 0], velocity=[3, 4, 0])
    s.mass_matrix(diag([2.0] * 3))
    s.force([0, 0, -20.0])
    s.contact(gap=q[2], slip=u[:2], friction=0.4, name="ice")
    r = solve(s, 2.0, dt=0.1)
    assert np.allclose(events(r), [5 / 4], rtol=0, atol=1e-8)
    assert np.allclose(r.q[-1], [0.6 * 25 / 8, 0.8 * 25 / 8, 0], atol=1e-9)


def test_dry_friction_takes_the_same_amplitude_every_half_period():
    """A spring of 100 N/m and friction of 3 N: turning points fall by 2 * 3/100, every pi/10 s, until the spring is held."""
    s = ss.System("dry oscillator")
    (x,), (v,) = s.coordinates("x", initial=[0.2], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(50 * x**2)
    s.friction(slip=v, radius=3.0)
    r = solve(s, 2.0)
    assert np.allclose(events(r), np.pi / 10 * np.arange(1, 4), rtol=0, atol=1e-9)
    assert r.q[-1, 0] == pytest.approx(-(0.2 - 3 * 0.06), abs=1e-9)
    assert r.P_F[-1, 0] == pytest.approx(1e-2 * 100 * r.q[-1, 0], abs=1e-12)


def test_contact_ends_when_its_force_does():
    """A table that moves by 0.5 (1 - cos t) under a mass with g = 0.3: they part where its acceleration 0.5 cos t is -g."""
    s = ss.System("shaker")
    (z,), (v,) = s.coordinates("z", initial=[0], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(0.3 * z)
    s.contact(gap=z - 0.5 * (1 - cos(s.time)), name="table")
    r = solve(s, 4.0)
    lift = np.arccos(-0.6)
    assert events(r)[0] == pytest.approx(lift, abs=1e-8)
    k = 300
    z_0, v_0, tau = 0.5 * (1 + 0.6), 0.5 * np.sin(lift), r.t[k] - lift
    assert r.q[k, 0] == pytest.approx(z_0 + v_0 * tau - 0.15 * tau**2, abs=1e-9)


def test_smooth_motion_keeps_energy_and_constraints():
    s = ss.System("pendulum")
    q, u = s.coordinates("x y theta", initial=[1, 0, 0], velocity=[0, 1, 1])
    s.kinetic_energy((u[0] ** 2 + u[1] ** 2 + 0.1 * u[2] ** 2) / 2)
    s.potential_energy(10 * q[1])
    s.constraint([q[0] - cos(q[2]), q[1] - sin(q[2])])
    r = solve(s, 10.0, dt=0.1, rtol=1e-12, atol=1e-13)
    assert np.ptp(r.energy().total) < 1e-10
    assert max(np.abs(r.g).max(), np.abs(r.g_dot).max()) < 1e-11


# -- convergence to it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method, order", [("rattle", 2), ("moreau", 1)])
def test_schemes_converge_to_it_in_persistent_contact(method, order):
    system = ss.benchmarks.point_mass_on_slope(case=1)
    exact = solve(system, 1.6, dt=0.02)
    dts, errors = np.array([2e-2, 1e-2, 5e-3]), []
    for dt in dts:
        s = ss.solve(system, 1.6, dt, method=method, tol=1e-12)
        errors.append(np.abs(s.q[:: round(0.02 / dt)] - exact.q).max())
    assert np.polyfit(np.log(dts), np.log(errors), 1)[0] == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_schemes_converge_to_it_through_impacts(method):
    """Order 1 in the mean: two decades of dt reduce the error by more than a factor of 20."""
    system = ss.benchmarks.rotating_bouncing_ball(case=2)
    exact = solve(system, 1.0)
    errors = [
        np.abs(ss.solve(system, 1.0, dt, method=method).q[:: round(1e-2 / dt)] - exact.q).max() for dt in (1e-2, 1e-4)
    ]
    assert errors[1] < errors[0] / 20
    assert errors[1] < 5e-3  # omega jumps by 21 within dt of the true impact: phi is wrong by up to 21 dt


@pytest.mark.parametrize(
    "name, t_end",
    [("spring_pendulum", 2.0), ("woodpecker_toy", 0.3), ("ball_in_box", 3.0), ("slider_crank_minimal", 0.05)],
)
def test_rattle_converges_to_it_on_benchmarks(name, t_end):
    """Ten times smaller steps, at least four times smaller errors (order 1, with constants that vary from impact to impact).

    In `slider_crank_minimal` two corners land at once, one impact of both: taken one after the other, the errors would stay.
    """
    entry = ss.benchmarks.REGISTRY[name]
    system = entry.build()
    exact = solve(system, t_end, dt=10 * entry.dt)
    errors = [
        np.abs(ss.solve(system, t_end, entry.dt / f, tol=1e-10).q[:: 10 * f] - exact.q).max(axis=0).max()
        for f in (1, 10)
    ]
    assert errors[1] < errors[0] / 4


# -- options and failures ---------------------------------------------------------------------------------------------------


def test_accumulation_without_rest_is_an_error():
    with pytest.raises(ss.ConvergenceError, match="accumulate") as caught:
        solve(ss.benchmarks.bouncing_ball(), 8.0, dt=0.1, max_events=10)
    # Zeno point t_1 (1 + e)/(1 - e) with t_1 = sqrt(2/g): the interval before it is the last that is complete
    assert caught.value.solution.t[-1] < np.sqrt(2 / G) * 7
    assert len(caught.value.solution.t) > 20


def test_tolerances_matter():
    system = ss.benchmarks.point_mass_on_slope(case=1)
    exact = solve(system, 1.6, dt=1.6, rtol=1e-13, atol=1e-14).q[-1]
    coarse, fine = (np.abs(solve(system, 1.6, dt=1.6, rtol=r, atol=r).q[-1] - exact).max() for r in (1e-4, 1e-9))
    assert fine < 1e-8 < coarse


def test_stiff_integrator_gives_the_same():
    system = ss.benchmarks.rotating_bouncing_ball(case=2)
    assert np.allclose(
        solve(system, 1.0, dt=0.1, integrator="Radau", rtol=1e-8).q, solve(system, 1.0, dt=0.1).q, atol=1e-7
    )


@pytest.mark.parametrize("name, value, least", [("rtol", 1e-15, "2.3e-14"), ("atol", 1e-17, "2.3e-16")])
def test_tolerances_below_rounding_are_refused(name, value, least):
    with pytest.raises(ss.OptionError, match=f"{name} = {value!r} .* smallest that makes sense is {least}"):
        ss.EventDriven(**{name: value})


def test_quaternions_keep_their_length():
    """At a coarse tolerance, where the integrator alone loses 1e-5 of it."""
    s = ss.System("tumbling body")
    s.add(ss.RigidBody("b", mass=1.0, inertia=[1.0, 2.0, 3.0], angular_velocity=[0.1, 10.0, 0.1]))
    r = solve(s, 5.0, dt=0.1, rtol=1e-5, atol=1e-6)
    assert np.abs(np.linalg.norm(r.q[:, 3:], axis=1) - 1).max() < 1e-14


def test_bad_options_are_named():
    with pytest.raises(ss.OptionError, match="integrator"):
        ss.EventDriven(integrator="euler")
    with pytest.raises(ss.OptionError, match="rtol"):
        ss.EventDriven(rtol=-1.0)


def test_results_can_be_saved(tmp_path):
    s = solve(ss.benchmarks.rotating_bouncing_ball(case=3), 0.5)
    loaded = ss.load(s.save(tmp_path / "ball.h5"))
    assert np.array_equal(loaded.extra["last_event"], s.extra["last_event"], equal_nan=True)
    assert loaded.extra["events"].sum() == 1
    assert loaded.provenance["options"]["rtol"] == 1e-10


def test_a_floor_that_stops_throws_what_lies_on_it():
    """It rises with 1.5 and stops at t_1, anywhere in an interval of the output: the ball flies on. It was held, at rest."""
    for stops in (0.2, 0.2003):
        s = ss.System("lift")
        (y,), (w,) = s.coordinates("y", initial=[0], velocity=[0])
        s.kinetic_energy(w**2 / 2)
        s.potential_energy(9.81 * y)
        s.contact(gap=y - 1.5 * (s.time - maximum(s.time - stops, 0)), name="floor")
        flies = 0.4 - stops
        end = ss.solve(s, t_end=0.4, dt=1e-2, method="event-driven", progress=False).q[-1, 0]
        assert end == pytest.approx(1.5 * stops + 1.5 * flies - 9.81 * flies**2 / 2, abs=1e-12)


def test_a_belt_that_is_switched_drags_what_stuck_to_it():
    """From 1 to 2 at t = 0.3: the block follows with mu g. It was taken along at once."""
    s = ss.System("belt")
    (_, y), u = s.coordinates("x y", initial=[0, 0], velocity=[1, 0])
    s.kinetic_energy(u @ u / 2)
    s.potential_energy(9.81 * y)
    s.contact(gap=y, slip=u[0] - where(s.time > 0.3, 2.0, 1.0), friction=0.2, name="belt")
    solution = ss.solve(s, t_end=1.2, dt=1e-2, method="event-driven", progress=False)
    takes = 1 / (0.2 * 9.81)
    assert solution.slip[35, 0] == pytest.approx(-1 + 0.05 * 0.2 * 9.81, abs=1e-9)
    assert solution.q[-1, 0] == pytest.approx(0.3 + 1.5 * takes + 2 * (0.9 - takes), abs=1e-9)
    with pytest.raises(ss.NoDerivativeError, match="a surface changes its velocity at once"):
        ss.gradient(s, 1.2, 1e-2, of=u[0], wrt=["u0"])


def test_stiff_parts_are_no_failure():
    """A thin beam whose forces cancel to 3e-11 of 2e5 N: that was called a motion without solution. rattle agrees."""
    pendulum = ss.benchmarks.flexible_pendulum()
    t_end = 0.003  # it was at 0.0025 s
    found = ss.solve(pendulum, t_end, dt=1e-4, method="event-driven", progress=False).q[-1]
    assert found == pytest.approx(ss.solve(pendulum, t_end, dt=1e-6, progress=False).q[-1], abs=1e-8)


@pytest.mark.parametrize("mass", [1e-15, 1e-9, 1.0, 1e12])
def test_a_bead_of_any_mass_leaves_a_sphere_at_two_thirds_of_its_height(mass):
    s = ss.System("bead on a sphere")
    (x, y), u = s.coordinates("x y", initial=[np.sin(0.1), np.cos(0.1)], velocity=[0, 0], units="m m")
    s.kinetic_energy(mass / 2 * (u @ u))
    s.potential_energy(mass * 9.81 * y)
    s.contact(gap=ss.math.sqrt(x * x + y * y) - 1, name="sphere")
    solution = ss.solve(s, t_end=1.2, dt=0.1, method="event-driven")
    (event,) = np.flatnonzero(solution.extra["events"][2:])  # after those of the start
    t = solution.extra["last_event"][2 + event]
    there = ss.solve(s, t_end=t, dt=t / 7, method="event-driven")
    assert there.q[-1, 1] == pytest.approx(2 / 3 * np.cos(0.1), abs=1e-8)


@pytest.mark.parametrize("mass", [1e-12, 1.0])
def test_a_block_of_any_mass_begins_to_slip_in_time(mass):
    """Pulled by a spring whose end moves: k v t = mu m g."""
    s = ss.System("block")
    (x, y), u = s.coordinates("x y", initial=[0, 0], velocity=[0, 0], units="m m")
    s.kinetic_energy(mass / 2 * (u @ u))
    s.potential_energy(mass * 10 * y + mass * 100 / 2 * (0.1 * s.time - x) ** 2)
    s.contact(gap=y, slip=u[0], friction=0.4, name="floor")
    events = ss.solve(s, t_end=0.5, dt=0.1, method="event-driven").extra
    assert events["last_event"][events["events"] > 0][-1] == pytest.approx(0.4, abs=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_units_of_length_do_not_matter(unit):
    """A box that falls on a floor and comes to rest, in numbers of metres, millimetres and others."""

    def box(L):
        s = ss.System("box")
        s.add(ss.Gravity([0, -9.81 * L]))
        start = {"position": [0, 0.5 * L], "angle": 0.3, "velocity": [L, 0], "angular_velocity": 2.0}
        body = s.add(ss.PlanarBody("box", mass=2.0, inertia=0.05 * L**2, **start))
        for k, (x, y) in enumerate([(-0.2, -0.1), (0.2, -0.1)]):
            s.add(ss.Contact(f"{k}", body.point(x * L, y * L), ss.Line([0, 0], [0, 1]), friction=0.3, restitution=0.4))
        return ss.solve(s, t_end=1.2, dt=0.02, method="event-driven").q[-1] / [L, L, 1]

    assert box(unit) == pytest.approx(box(1.0), abs=1e-5)  # rest_velocity is of another size


def test_slip_turns_in_a_micrometre_as_in_a_metre():
    """A puck that is pushed across its slip; the direction of slip is smoothed below a millionth of the model's velocity."""

    def puck(L):
        s = ss.System("puck")
        s.add(ss.Gravity([0, 0, -9.81 * L]))
        table = ss.Plane([0, 0, 0], [0, 0, 1])
        slides, rests = (ss.PointMass(n, mass=1.0, position=[x, 0, 0], velocity=[v, 0, 0]) for n, x, v in (
            ("slides", 0.0, L), ("rests", L, 0.0)
        ))  # fmt: skip
        for body in (slides, rests):
            s.add(ss.Contact(f"under {body.name}", s.add(body).point(), table, friction=0.1))
        s.add(ss.Force("push", slides.point(), [0, 0.5 * L, 0]))
        return ss.solve(s, t_end=0.8, dt=0.1, method="event-driven").q[-1, :2] / L

    assert puck(1e-6) == pytest.approx(puck(1.0), abs=1e-7)


def parallelogram(spin):
    """A bar on two equal cranks, which begin 0.6 rad below the line of their pins."""
    s, along = ss.System("parallelogram"), np.array([np.cos(0.6), -np.sin(0.6)])
    across = spin * np.array([-along[1], along[0]])
    s.add(ss.Gravity([0, -9.81]))
    bar = s.add(ss.PlanarBody("bar", mass=2.0, inertia=0.5, position=along, velocity=across))
    for k, x in enumerate((-1.0, 1.0)):
        motion = {"angle": -0.6, "velocity": across / 2, "angular_velocity": spin}
        crank = s.add(ss.PlanarBody(f"crank {k}", mass=1.0, inertia=1 / 12, position=[x, 0] + along / 2, **motion))
        s.add(ss.Revolute(f"pin {k}", ss.ground.point(x, 0), crank.point(-0.5, 0)))
        s.add(ss.Revolute(f"head {k}", crank.point(0.5, 0), bar.point(x, 0)))
    return s


def test_bars_in_one_line_are_an_error_that_says_so():
    """The change point, at an angle of -pi: steps of the error control do not lead past it, and it is said why."""
    with pytest.raises(ss.ConvergenceError, match="constraints that are independent before become dependent") as error:
        solve(parallelogram(-8.0), 1.0)
    reached = error.value.solution.q[-1][5]  # the angle of the first crank
    assert -np.pi < reached < -2.9
    passed = ss.solve(parallelogram(-8.0), 1.0, 1e-3, method="rattle")
    assert passed.q[-1][5] < -np.pi - 1.0


def test_a_parallelogram_that_swings_below_its_change_points_keeps_its_energy():
    energy = solve(parallelogram(0.0), 2.0).energy().total
    assert abs(energy - energy[0]).max() < 1e-8
