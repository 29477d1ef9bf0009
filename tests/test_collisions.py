"""Runs with detected contacts: against declared contacts, textbook impacts and statics, in every scheme that can."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stickslip as ss
from stickslip.detected import COLUMNS
from stickslip.errors import InitialStateError, MethodError, ModelError, OptionError, TunnellingWarning
from stickslip.model import collisions
from stickslip.schemes import METHODS
from timed import least_time

G = 9.81
FLOOR = ss.Plane([0, 0, 0], [0, 0, 1])
NOT_ABLE = {"event-driven", "half-explicit-adaptive", "schatzman-paoli"}
SMOOTH = {"moreau-variational", "half-explicit-acceleration"}  # without quaternions, or without friction
ABLE = sorted(set(METHODS) - NOT_ABLE - SMOOTH)


def solve(system: ss.System, t_end: float, dt: float, **options) -> ss.Solution:
    return ss.solve(system, t_end=t_end, dt=dt, progress=False, **options)


def two_balls(detected: bool) -> ss.System:
    """One ball rolls along the floor into another one that bounces."""
    s = ss.System("two balls")
    s.add(ss.Gravity([0, 0, -G]))
    m, J = ss.inertia.sphere(0.1, mass=1.0)
    a = s.add(ss.RigidBody("a", mass=m, inertia=J, position=[0, 0, 0.1], velocity=[2, 0.1, 0]))
    b = s.add(ss.RigidBody("b", mass=m, inertia=J, position=[0.4, 0.03, 0.15], angular_velocity=[1, 2, 3]))
    skins = [ss.Sphere(body.point(), 0.1) for body in (a, b)]
    law = {"friction": 0.3, "restitution": 0.4}
    if detected:
        s.add(ss.Collisions("touch", [*skins, FLOOR], **law))
    else:
        for name, pair in {"floor a": (skins[0], FLOOR), "floor b": (skins[1], FLOOR), "hit": skins}.items():
            s.add(ss.Contact(name, *pair, **law))
    return s


@pytest.mark.parametrize("method", ABLE)
def test_detected_contacts_move_as_declared_ones(method):
    """The same gaps, laws and directions: trajectories agree to the tolerance, percussions sum up to the same."""
    dt = 1e-3
    if method == "generalized-alpha":
        dt = 5e-4
    detected, declared = (solve(two_balls(way), 0.25, dt, method=method) for way in (True, False))
    assert declared.P_N[:, 2].max() > 0.1  # they meet
    np.testing.assert_allclose(detected.q, declared.q, atol=1e-6)
    np.testing.assert_allclose(detected.u, declared.u, atol=1e-5)
    contacts = detected.contacts
    assert contacts.between("a", "b").P_N.sum() == pytest.approx(declared.P_N[:, 2].sum(), rel=1e-5)
    assert contacts.between("a", "ground").P_N.sum() == pytest.approx(declared.P_N[:, 0].sum(), rel=1e-5)
    assert contacts.labels == ("a", "b", "ground")


@pytest.mark.parametrize("method", sorted(SMOOTH))
def test_frictionless_discs_move_as_declared_ones(method):
    results = []
    for detected in (True, False):
        s = ss.System("discs")
        a = s.add(ss.PlanarBody("a", mass=1, inertia=0.1, velocity=[1, 0]))
        b = s.add(ss.PlanarBody("b", mass=2, inertia=0.1, position=[0.5, 0.05]))
        pair = [ss.Sphere(x.point(), 0.1) for x in (a, b)]
        law = {"restitution": 0.5}
        s.add(ss.Collisions("hit", pair, **law) if detected else ss.Contact("hit", *pair, **law))
        results.append(solve(s, 0.6, 1e-3, method=method))
    assert abs(results[1].u[-1, 0] - 1) > 0.1
    np.testing.assert_allclose(results[0].q, results[1].q, atol=1e-7)


@pytest.mark.parametrize("method", sorted(NOT_ABLE))
def test_schemes_that_cannot_say_so(method):
    with pytest.raises(MethodError, match=r"cannot (follow|have|treat)"):
        solve(two_balls(True), 0.1, 1e-3, method=method)


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("method", sorted(NOT_ABLE))
def test_a_scheme_that_cannot_names_those_that_can(method, friction):
    """It named schemes that follow no detected contacts, or that know no friction."""
    s = ss.System("box")
    box = s.add(ss.solid("box", ss.Box(ss.ground.frame([0, 0.05]), [0.1, 0.1]), density=1000))
    s.add(ss.Collisions("touch", [box, ss.Line([0, 0], [0, 1])], friction=friction))
    with pytest.raises(MethodError) as error:
        solve(s, 0.01, 1e-2, method=method)
    named = str(error.value).split("these can: ")[1].split(", ")
    assert "moreau-variational" in named
    assert not set(named) & NOT_ABLE
    assert ("half-explicit-acceleration" in named) == (friction == 0)


@pytest.mark.parametrize("method", ["schatzman-paoli", "half-explicit-acceleration"])
def test_friction_of_detected_contacts_is_refused_by_schemes_without_it(method):
    """In the plane, where positions have a mean; it was a bare TypeError."""
    s = ss.System("discs")
    bodies = [
        s.add(ss.PlanarBody(n, mass=1, inertia=0.1, position=[x, 0], velocity=[-x, 0])) for n, x in (("a", 0), ("b", 1))
    ]
    s.add(ss.Collisions("hit", [ss.Sphere(body.point(), 0.1) for body in bodies], friction=0.3))
    with pytest.raises(MethodError, match=f"'{method}' cannot treat (friction|contacts that are detected)"):
        solve(s, 0.1, 1e-3, method=method)


def test_a_tower_of_boxes_stands_and_every_joint_carries_what_is_above():
    s = ss.System("tower")
    s.add(ss.Gravity([0, 0, -G]))
    place = [ss.Box(ss.ground.frame([0.01 * (-1) ** k, 0, 0.05 + 0.1 * k]), [0.1, 0.1, 0.1]) for k in range(4)]
    boxes = [s.add(ss.solid(f"box {k}", shape, density=1000)) for k, shape in enumerate(place)]
    s.add(ss.Collisions("touch", [*boxes, FLOOR], friction=0.5))
    solution = solve(s, 0.1, 1e-3)
    assert np.abs(solution.u[-1]).max() < 1e-8
    last = solution.contacts.at(100)
    assert solution.contacts.gap.min() > -1e-8
    names = ["ground", *[b.name for b in boxes]]
    for k in range(4):
        carried = abs(last.between(names[k], names[k + 1]).percussion[:, 2].sum())
        assert carried == pytest.approx((4 - k) * G * 1e-3, rel=1e-6)


def test_contacts_are_chosen_by_names_and_steps_that_exist():
    """Shapes that do not touch have none; a misspelt name, or a step that was not taken, is refused."""
    s = ss.System("two")
    s.add(ss.Gravity([0, 0, -G]))
    cubes = [ss.Box(ss.ground.frame([k, 0, 0.05]), [0.1, 0.1, 0.1]) for k in range(2)]
    boxes = [s.add(ss.solid(f"box {k}", cube, density=1000)) for k, cube in enumerate(cubes)]
    extra = ss.Sphere(boxes[1].point(), 0.01)
    s.add(ss.Collisions("touch", [*boxes, extra, FLOOR], friction=0.5))
    contacts = solve(s, 5e-3, 1e-3).contacts
    assert contacts.labels == ("box 0", "box 1[0]", "box 1[1]", "ground")
    assert contacts.steps == contacts.at(5).steps == 5
    assert len(contacts.between("box 0", "box 1")) == len(contacts.at(1).between("box 1[1]", "ground")) == 0
    assert len(contacts.between("box 1", "ground").at(5)) == len(contacts.between("box 0", "ground").at(5.0)) > 0
    with pytest.raises(OptionError, match="unknown shape or body 'box0'; did you mean 'box 0'"):
        contacts.between("box0", "ground")
    with pytest.raises(OptionError, match="unknown shape or body 'floor'.*box 0, box 1, .*ground"):
        contacts.between("box 0", "floor")
    for step in (-1, 0, 6, 2.5, "1", None):
        with pytest.raises(OptionError, match=r"step = .* whole number from 1 to 5, the last step"):
            contacts.at(step)


@pytest.mark.parametrize("mu, stays", [(0.6, True), (0.4, False)])
def test_a_box_on_an_incline_sticks_or_slides(mu, stays):
    """tan(alpha) = 0.5: it stays, or slides with g (sin - mu cos)."""
    alpha = np.arctan(0.5)
    n = np.array([np.sin(alpha), 0, np.cos(alpha)])
    turn = ss.math.quaternion([0, 1, 0], alpha)
    s = ss.System("incline")
    s.add(ss.Gravity([0, 0, -G]))
    box = s.add(ss.solid("box", ss.Box(ss.ground, [0.2, 0.1, 0.1]), density=500, position=0.05 * n, orientation=turn))
    slope = ss.Box(ss.ground.frame(-0.5 * n, ss.math.quaternion_rotation(turn)), [4, 1, 1.0])
    s.add(ss.Collisions("touch", [box, slope], friction=mu))
    solution = solve(s, 0.3, 1e-3)
    wanted = 0.0 if stays else G * (np.sin(alpha) - mu * np.cos(alpha)) * 0.3
    assert np.linalg.norm(solution.u[-1, :3]) == pytest.approx(wanted, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("speed", [300.0, 30.0])
def test_a_projectile_does_not_pass_a_thin_wall(speed):
    """1 cm, 300 m/s, a wall of 1 mm, dt = 1e-3: 300 times its thickness in a step."""
    s = ss.System("projectile")
    ball = s.add(
        ss.solid("ball", ss.Sphere(ss.ground.point(-0.137, 0.01, 0.02), 0.005), density=7800, velocity=[speed, 0, 0])
    )
    wall = ss.Box(ss.ground, [0.001, 0.5, 0.5])
    s.add(ss.Collisions("hit", [ball, wall], restitution=0.3))
    solution = solve(s, 0.02, 1e-3)
    assert solution.q[:, 0].max() < -0.0005 - 0.005 + 1e-8
    assert solution.u[-1, 0] == pytest.approx(-0.3 * speed, rel=1e-6)


def test_a_projectile_beside_a_wall_flies_on():
    s = ss.System("miss")
    ball = s.add(
        ss.solid("ball", ss.Sphere(ss.ground.point(-0.137, 0.26, 0.0), 0.005), density=7800, velocity=[30, 0, 0])
    )
    s.add(ss.Collisions("miss", [ball, ss.Box(ss.ground, [0.001, 0.5, 0.5])], restitution=0.3))
    solution = solve(s, 0.02, 1e-3)
    np.testing.assert_allclose(solution.u[:, 0], 30.0)


def test_velocity_level_schemes_warn_of_tunnelling():
    s = ss.System("projectile")
    ball = s.add(
        ss.solid("bullet", ss.Sphere(ss.ground.point(-0.137, 0, 0), 0.005), density=7800, velocity=[300, 0, 0])
    )
    s.add(ss.Collisions("hit", [ball, ss.Box(ss.ground, [0.001, 0.5, 0.5])]))
    with pytest.warns(TunnellingWarning, match="'bullet' moves 0.3 in a step of 0.001"):
        solve(s, 0.003, 1e-3, method="moreau")


def test_a_ball_rolls_in_a_drum_as_a_declared_one():
    results = []
    for detected in (True, False):
        s = ss.System("drum")
        s.add(ss.Gravity([0, -G]))
        ball = s.add(ss.PlanarBody("ball", mass=1, inertia=0.004, position=[0.39, 0.05]))
        pair = ss.Sphere(ball.point(), 0.1), ss.Cavity(ss.ground.point(0, 0), 0.5)
        rule = ss.Collisions("drum", pair, friction=0.3) if detected else ss.Contact("drum", *pair, friction=0.3)
        s.add(rule)
        results.append(solve(s, 1.0, 1e-3))
    np.testing.assert_allclose(results[0].q, results[1].q, atol=1e-6)


def test_an_egg_rocks_as_a_declared_one():
    """On a plane its gap is known in closed form; the contact moves over its surface."""
    results = []
    for detected in (True, False):
        s = ss.System("egg")
        s.add(ss.Gravity([0, 0, -G]))
        egg = ss.RigidBody("egg", mass=1, inertia=[0.02, 0.02, 0.01], position=[0, 0, 0.27], angular_velocity=[1, 4, 2])
        s.add(egg)
        pair = ss.Ellipsoid(egg, [0.15, 0.2, 0.25]), FLOOR
        law = {"friction": 0.3, "restitution": 0.2}
        s.add(ss.Collisions("floor", pair, **law) if detected else ss.Contact("floor", *pair, **law))
        results.append(solve(s, 0.6, 1e-3))
    assert results[1].P_N[-1] > 0
    np.testing.assert_allclose(results[0].q, results[1].q, atol=1e-7)
    assert results[0].contacts.gap.min() > -1e-8


@pytest.mark.parametrize(
    "other",
    [
        lambda at: ss.Ellipsoid(at, [0.1, 0.2, 0.3]),
        lambda at: ss.Sphere(at.point(0, 0, 0), 0.2),
        lambda at: ss.Box(at, [0.3, 0.3, 0.3]),
        lambda at: ss.Capsule(at.point(0, -0.2, 0), at.point(0, 0.2, 0), 0.1),
    ],
)
def test_an_elastic_hit_of_an_ellipsoid_keeps_energy_and_momentum(other):
    """Without friction and with restitution 1 energy and momentum of two free bodies stay."""
    s = ss.System("hit")
    place, turn = [0.62, 0.1, 0.05], ss.math.quaternion([1, 2, 3], 0.7)
    shape = ss.Ellipsoid(ss.ground, [0.3, 0.2, 0.1])
    a = s.add(ss.solid("a", shape, density=100, velocity=[2, 0, 0], angular_velocity=[3, 2, 1]))
    b = s.add(ss.solid("b", other(ss.ground), density=150, position=place, orientation=turn))
    s.add(ss.Collisions("hit", [a, b], restitution=1.0))
    solution = solve(s, 0.2, 1e-4)
    assert abs(solution.u[-1, 0] - 2) > 0.1
    assert solution.contacts.gap.min() > -1e-8
    # Of first order in the step: a capsule that hits a sphere gains 4e-3 of it at dt = 1e-3, 3e-4 at 1e-4.
    np.testing.assert_allclose(solution.kinetic, solution.kinetic[0], rtol=5e-4)
    masses = [s.parameter_values()[f"{name}.mass"] for name in "ab"]
    momentum = masses[0] * solution.u[:, :3] + masses[1] * solution.u[:, 6:9]
    np.testing.assert_allclose(momentum - momentum[0], 0, atol=1e-9)


def test_an_ellipse_rolls_in_a_drum():
    """It touches at both ends of its long axis where it fits tightly, and falls freely until then."""
    s = ss.System("drum")
    s.add(ss.Gravity([0, -G]))
    egg = s.add(ss.solid("egg", ss.Ellipsoid(ss.ground, [0.45, 0.1]), density=1, angular_velocity=1.0))
    s.add(ss.Collisions("drum", [egg, ss.Cavity(ss.ground.point(0, 0), 0.5)], friction=0.1))
    solution = solve(s, 1.0, 1e-3)
    assert solution.contacts.gap.min() > -1e-8
    angles = np.linspace(0, 2 * np.pi, 400)
    rim = np.array([0.45 * np.cos(angles), 0.1 * np.sin(angles)])
    for x, y, phi in solution.q[::50]:
        turned = np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]]) @ rim + np.array([[x], [y]])
        assert np.linalg.norm(turned, axis=0).max() < 0.5 + 1e-8
    assert len(np.unique(solution.contacts.at(1000).features[:, 0])) == 2


def test_materials_have_their_own_laws():
    s = ss.System("materials")
    s.add(ss.Gravity([0, -G]))
    blocks = {}
    for k, name in enumerate(("ice", "rubber")):
        shape = ss.Box(ss.ground.frame([k, 0.05]), [0.1, 0.1])
        blocks[name] = s.add(ss.solid(name, shape, density=100, velocity=[1, 0]))
    table = {("ice", "floor"): 0.02, ("rubber", "floor"): 0.9, ("ice", "rubber"): 0.1}
    table |= {"ice": 0.01, "rubber": 1.0, "floor": 0.0}
    s.add(ss.Collisions("touch", {**blocks, "floor": ss.Line([0, 0], [0, 1])}, friction=table))
    solution = solve(s, 0.1, 1e-3)
    np.testing.assert_allclose(solution.u[-1, [0, 3]], 1 - 0.1 * G * np.array([0.02, 0.9]), rtol=1e-6)
    changed = solve(s, 0.1, 1e-3, parameters={"touch.friction[rubber, floor]": 0.5})
    assert changed.u[-1, 3] == pytest.approx(1 - 0.1 * G * 0.5, rel=1e-6)


def test_contacts_are_saved_and_runs_continue(tmp_path):
    s = two_balls(True)
    solution = solve(s, 0.2, 1e-3)
    again = ss.load(solution.save(tmp_path / "balls.h5"))
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(again.contacts, name), getattr(solution.contacts, name))
    half = solve(s, 0.1, 1e-3)
    rest = solve(s, 0.2, 1e-3, start=half.state)
    np.testing.assert_array_equal(rest.q, solution.q[100:])  # bit for bit
    assert rest.state.same(solution.state)
    np.testing.assert_array_equal(
        rest.contacts.percussion, solution.contacts.where(solution.contacts.step > 100).percussion
    )
    thin = solve(s, 0.2, 1e-3, save_every=10)
    np.testing.assert_array_equal(thin.q[-1], solution.q[-1])
    assert thin.contacts.row.max() == 20
    with pytest.raises(ss.OptionError, match="summed up"):
        thin.contacts.at(15)
    for pair in (("a", "b"), ("a", "ground"), ("b", "ground")):
        few, all_of_them = thin.contacts.between(*pair), solution.contacts.between(*pair)
        assert len(few) < len(all_of_them)
        np.testing.assert_allclose(few.percussion.sum(axis=0), all_of_them.percussion.sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("every", [1, 7])
def test_contacts_go_to_a_file_as_they_come(tmp_path, every):
    s, file = two_balls(True), tmp_path / "balls.h5"
    whole = solve(s, 0.2, 1e-3, save_every=every)
    solve(s, 0.12, 1e-3, save_every=every, out=file)
    streamed = ss.resume(file, s, t_end=0.2)
    np.testing.assert_array_equal(streamed.q, whole.q)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(ss.load(file).contacts, name), getattr(whole.contacts, name))


def test_a_stepper_follows_detected_contacts():
    s = two_balls(True)
    whole = solve(s, 0.2, 1e-3)
    with ss.stepper(s, dt=1e-3) as sim:
        sim.step(100)
        there = sim.state
        sim.step(60)
        sim.state = there  # and back again
        piece = sim.run(0.2)
        np.testing.assert_array_equal(piece.q, whole.q[100:])
        last = whole.contacts.at(200)
        np.testing.assert_array_equal(sim.contacts.percussion, last.percussion)
        np.testing.assert_array_equal(piece.contacts.at(100).percussion, last.percussion)
        sim.set({"touch.friction": 0.0})
        sim.step()
        assert not sim.contacts.P_F.any()


def test_a_stepper_stops_at_an_event_between_detected_contacts():
    s, ball, mass = falling_ball(0.5)
    with ss.stepper(s, dt=1e-3) as sim:
        piece = sim.run(0.5)  # the impact is at 0.4515
        up = sim.run(1.0, stop=ball.u[2])
        assert up.u[-1, 2] == pytest.approx(0.0, abs=1e-5)
        assert up.q[-1, 2] == pytest.approx(0.1 + 0.25, abs=5e-3)
        assert 0 < piece.contacts.P_N.sum() == pytest.approx(mass * 1.5 * np.sqrt(2 * 9.81), rel=5e-3)


def falling_ball(restitution: float) -> tuple[ss.System, ss.RigidBody, float]:
    s = ss.System("falling ball")
    ball = s.add(ss.solid("ball", ss.Sphere(ss.ground.point(0, 0, 1.1), 0.1), density=1000))
    s.add(ss.Gravity([0, 0, -9.81]))
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    s.add(ss.Collisions("contacts", [ball, floor], friction=0.3, restitution=restitution))
    return s, ball, ss.inertia.sphere(0.1, density=1000)[0]


def test_events_and_ledger_of_detected_contacts():
    s, _, mass = falling_ball(0.5)
    solution = solve(s, 1.0, 1e-3)
    found = ss.events(solution)
    impacts = found.of("impact")
    assert [e.contact for e in impacts] == ["ball - ground"] * len(impacts)
    fall = np.sqrt(2 / 9.81)
    np.testing.assert_allclose(impacts.times[:2], [fall, 2 * fall], atol=2e-3)
    v = np.sqrt(2 * 9.81)
    assert impacts[0].before == pytest.approx(-v, rel=5e-3)
    assert impacts[0].after == pytest.approx(0.5 * v, rel=5e-3)
    ledger = ss.energy_ledger(solution, s)
    lost = ledger.by_contact["impacts"]["ball - ground"]
    first = -0.5 * mass * v**2 * (1 - 0.25)
    assert lost == pytest.approx(first * (1 + 0.25), rel=0.02)
    assert abs(ledger.totals["remainder"]) < 0.02 * abs(lost)


def tumbling_hexagon(a: float, slope: float) -> ss.System:
    """A solid hexagon with corners at the distance a from its centre, which turns over one corner after the other."""
    s = ss.System("tumbling hexagon")
    s.add(ss.Gravity([9.81 * np.sin(slope), -9.81 * np.cos(slope)]))
    angle, h = np.arange(6) * np.pi / 3, a * np.cos(np.pi / 6)
    shape = ss.ConvexPolygon(ss.ground.frame([0, h]), a * np.column_stack([np.cos(angle), np.sin(angle)]))
    wheel = s.add(ss.solid("hexagon", shape, density=100, velocity=[6 * h, 3 * a], angular_velocity=-6))
    s.add(ss.Collisions("contacts", [wheel, ss.Line([0, 0], [0, 1])], friction=2.0))
    return s


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_a_corner_that_lands_while_another_one_carries_is_an_impact(method):
    """McGeer's wheel with corners keeps eta = (5/12 + 1/2)/(5/12 + 1) of its speed at each landing.

    It gains m g a sin(slope) between two of them, and never leaves the ground.
    """
    a, slope, eta = 0.1, np.radians(15), 11 / 17
    solution = solve(tumbling_hexagon(a, slope), 1.4, 5e-4, method=method)
    speed = np.sqrt(2 * 9.81 * a * np.sin(slope) / (17 / 12 * a**2 * (1 - eta**2)))
    found = ss.events(solution)
    impacts = found.of("impact", "hexagon - ground")
    assert len(impacts) == 7
    assert [e.before for e in impacts[-3:]] == pytest.approx([-speed * a] * 3, rel=4e-3)
    turned = solution["hexagon.phi"][[e.step for e in impacts]]
    np.testing.assert_allclose(np.diff(turned), -np.pi / 3, atol=speed * 1e-3)
    assert not found.accumulations  # a rhythm that settles does not come to an end
    lost = [np.diff(solution["energy.total"])[e.step - 1] for e in impacts[-3:]]
    mass = 100 * 1.5 * np.sqrt(3) * a**2
    assert lost == pytest.approx([-mass * 9.81 * a * np.sin(slope)] * 3, rel=2e-2)


def test_a_ball_strikes_the_other_side_of_a_valley():
    """The ball rolls down on one face of a surface and meets the next one: v' = v (2/5 + cos 2 slope)/(7/5)."""
    slope, R, d = np.radians(20), 0.05, 0.3
    s = ss.System("valley")
    s.add(ss.Gravity([0, 0, -9.81]))
    height = np.tan(slope) * np.abs(np.linspace(-1, 1, 21))[:, None] * np.ones((1, 3))
    start = [-d + R * np.sin(slope), 0, d * np.tan(slope) + R * np.cos(slope)]
    ball = s.add(ss.solid("ball", ss.Sphere(ss.ground.point(*start), R), density=1000))
    s.add(ss.Collisions("contacts", [ball, ss.HeightField(ss.ground, height, size=[2, 2])], friction=0.5))
    solution = solve(s, 0.7, 5e-4)
    (impact,) = ss.events(solution).of("impact")
    v = np.sqrt(10 / 7 * 9.81 * (start[2] - R / np.cos(slope)))
    assert impact.before == pytest.approx(-v * np.sin(2 * slope), rel=2e-3)
    after = np.linalg.norm(solution.u[impact.step, :3])
    assert after == pytest.approx(v * (0.4 + np.cos(2 * slope)) / 1.4, rel=5e-3)


# --- bad input --------------------------------------------------------------------------------------------------------


def test_bodies_that_begin_inside_each_other_are_named():
    s = ss.System("overlap")
    boxes = [
        s.add(ss.solid(n, ss.Box(ss.ground.frame([x, 0, 0]), [1, 1, 1]), density=1)) for n, x in (("a", 0), ("b", 0.7))
    ]
    s.add(ss.Collisions("touch", boxes))
    with pytest.raises(InitialStateError, match="'a' and 'b' begin inside each other, 0.3 deep"):
        solve(s, 0.1, 1e-2)


def body() -> ss.RigidBody:
    return ss.RigidBody("b", mass=1, inertia=[1, 1, 1])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda b: ss.Collisions("c", []), "there are no shapes"),
        (lambda b: ss.Collisions("c", [b]), "'b' carries no shapes"),
        (lambda b: ss.Collisions("c", [b.point()]), "is a point; give a shape"),
        (lambda b: ss.Collisions("c", ["ball"]), "shapes of bodies are needed"),
        (lambda b: ss.Collisions("c", [FLOOR]), "all shapes belong to the ground"),
        (
            lambda b: ss.Collisions("c", [ss.Sphere(b.point(), 1), ss.Line([0, 0], [0, 1])]),
            "some shapes live in the plane",
        ),
        (lambda b: ss.Collisions("c", [ss.Sphere(body().point(), 1)]), "the sphere of 'b' has no body in this system"),
        (lambda b: ss.Collisions("c", [ss.Sphere(b.point(), 1)], friction=-1), "friction = -1 must be"),
        (lambda b: ss.Collisions("c", [ss.Sphere(b.point(), 1)], restitution=2), "restitution = 2 must be"),
        (lambda b: ss.Collisions("c", [ss.Sphere(b.point(), 1)], skin=0), "skin = 0 must be"),
        (lambda b: ss.Collisions("c", [ss.Disk(b.point(), [0, 0, 1], 1)]), "a Disk are not detected.*use a Cylinder"),
        (lambda b: ss.Ellipsoid(b, [1, -2, 3]), r"semi_axes\[1\] = -2.0 must be"),
        (lambda b: ss.Collisions("c", [ss.Cylinder(b.point(), [0, 0, 1], 1, 2)]), "give points="),
        (
            lambda b: ss.Collisions("c", {"a": ss.Sphere(b.point(), 1)}, friction={("a", "b"): 1}),
            "names the material 'b'",
        ),
        (lambda b: ss.Collisions("c", [ss.Sphere(b.point(), 1)], ignore=[(b, FLOOR)]), "none of its shapes"),
        (lambda b: ss.Collisions("c", [ss.Plane([0, 0, 0], [0, 0, 1], b), FLOOR]), "always overlap"),
        (lambda b: ss.Polyhedron(b, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]), "lie in one plane"),
        (lambda b: ss.Polyhedron(b, [(0, 0, 0), *np.eye(3), (1, 0, 0)]), "corners 1 and 4 are at the same place"),
        (
            lambda b: ss.Polyhedron(b, [*np.eye(3), (0, 0, 0), (0.1, 0.1, 0.1)]),
            "corner 4 .* is not a corner of the convex hull",
        ),
        (
            lambda b: ss.Polyhedron(b, [(0, 0, 0), *np.eye(3)], [(0, 2, 1), (0, 1, 3), (0, 3, 2)]),
            "not closed at the edge",
        ),
        (
            lambda b: ss.Polyhedron(b, [(0, 0, 0), *np.eye(3)], [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)]),
            "not convex",
        ),
        (lambda b: ss.ConvexPolygon(b, [(0, 0), (1, 0), (0.2, 0.2), (0, 1)]), "not those of a convex polygon"),
        (lambda b: ss.solid("x", ss.Sphere(b.point(), 1), density=1), "draw its shapes on the ground"),
        (lambda b: ss.solid("x", ss.Sphere(ss.ground.point(0, 0, 0), 1), density=-1), "density = -1 must be"),
        (lambda b: ss.solid("x", FLOOR, density=1), "a Plane has no mass"),
    ],
)
def test_bad_input_is_named(make, message):
    s = ss.System()
    own = s.add(body())
    with pytest.raises(ModelError, match=message):
        s.add(make(own))


def test_two_parts_that_detect_are_refused():
    s = ss.System("twice")
    ball = s.add(body())
    for name in ("first", "second"):
        s.add(ss.Collisions(name, [ss.Sphere(ball.point(), 1), ss.Plane([0, 0, -3], [0, 0, 1])]))
    with pytest.raises(ModelError, match="several parts that detect contacts, 'first', 'second'"):
        solve(s, 0.1, 1e-2)


def test_joined_bodies_do_not_touch_unless_asked():
    """Two links of a chain overlap at their pin."""
    for joined, error in ((False, False), (True, True)):
        s = ss.System("chain")
        links = [
            s.add(ss.solid(n, ss.Box(ss.ground.frame([x, 0]), [1.2, 0.1]), density=1))
            for n, x in (("a", 0.0), ("b", 1.0))
        ]
        s.add(ss.Revolute("pin", links[0].point(0.5, 0), links[1].point(-0.5, 0)))
        s.add(ss.Collisions("touch", links, joined=joined))
        if error:
            with pytest.raises(InitialStateError, match="begin inside each other"):
                solve(s, 0.01, 1e-3)
        else:
            solve(s, 0.01, 1e-3)


def pile(n: int, friction: float = 0.3) -> ss.System:
    """A heap of n spheres in a box."""
    s = ss.System("pile")
    radius, width = 0.05, 5
    m, J = ss.inertia.sphere(radius, density=1000)
    k = np.arange(n)
    places = np.column_stack([k % width, k // width % width, k // width**2]) * 2.2 * radius
    places += np.random.default_rng(0).uniform(-0.08 * radius, 0.08 * radius, places.shape) + 1.2 * radius
    bodies = s.add_many(ss.RigidBody("ball", mass=m, inertia=J), position=places)
    s.add(ss.Gravity([0, 0, -G]))
    side = (width * 2.2 + 0.2) * radius
    planes = [([0, 0, 0], [1, 0, 0]), ([0, 0, 0], [0, 1, 0]), ([side, 0, 0], [-1, 0, 0]), ([0, side, 0], [0, -1, 0])]
    walls = [FLOOR, *[ss.Plane(*plane) for plane in planes]]
    s.add(ss.Collisions("pile", [*[ss.Sphere(body.point(), radius) for body in bodies], *walls], friction=friction))
    return s


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_a_pile_is_swept_and_loses_energy_alone(method):
    """A hundred spheres: many contacts are swept, no gap is lost, energy only falls, momentum is that of weight and walls."""
    s = pile(100)
    solution = solve(s, 0.25, 1e-3, method=method, tol=1e-6)
    assert solution.stats.solved_by["contact sweeps"] > 100
    assert solution.stats.residuals.max() < 1e-6
    if method == "rattle":
        assert solution.contacts.gap.min() > -5e-6 * 0.05
    energy = solution.kinetic + solution.potential
    if method == "rattle":  # which is exact in free flight
        assert np.diff(energy).max() < 1e-6 * np.ptp(energy)
    assert energy[-1] < energy[0]
    mass = ss.inertia.sphere(0.05, density=1000)[0]
    fixed = solution.contacts.where(solution.contacts.shapes[:, 1] >= 100)
    impulse = fixed.percussion.sum(axis=0) - [0, 0, 100 * mass * G * 0.25]
    momentum = mass * solution.u[-1].reshape(100, 6)[:, :3].sum(axis=0)
    np.testing.assert_allclose(momentum, impulse, atol=1e-5)


def test_sizes_below_zero_are_refused():
    body = ss.RigidBody("b", mass=1, inertia=[1, 1, 1])
    for make in (
        lambda: ss.Sphere(body.point(), -0.1),
        lambda: ss.Capsule(body.point(), body.point(1, 0, 0), -0.1),
        lambda: ss.Box(body, [0.1, -0.1, 0.1]),
        lambda: ss.Cylinder(body.point(), [0, 0, 1], -1.0, 1.0, points=8),
        lambda: ss.Cavity(body.point(), -1.0),
    ):
        with pytest.raises(ModelError, match=r"must be|positive|> 0"):
            make()


def test_too_many_bodies_are_named(monkeypatch):
    monkeypatch.setattr(collisions, "MANY", 20)
    s = ss.System("gas")
    balls = s.add_many(ss.PointMass("b", mass=1, position=[0, 0, 0]), position=np.arange(63.0).reshape(21, 3))
    with pytest.raises(ModelError, match="21 bodies; detection is meant for at most 20"):
        ss.Collisions("contacts", [ss.Sphere(ball.point(), 0.1) for ball in balls])


def test_a_solution_tells_of_detected_contacts():
    """A box that rests has four of them; it would be misleading to say that there are none."""
    s = ss.System("box")
    s.add(ss.Gravity([0, 0, -9.81]))
    box = s.add(ss.solid("box", ss.Box(ss.ground.frame([0, 0, 0.05]), [0.1, 0.1, 0.1]), density=1000))
    s.add(ss.Collisions("contacts", [box, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.3))
    solution = ss.solve(s, t_end=0.01, dt=1e-3)
    assert "n_q = 7, detected contacts: 4 at most, min gap" in repr(solution)
    lines = dict(line.split("  ", 1) for line in solution.summary().splitlines())
    assert lines["detected contacts"].strip().startswith("4 at most")
    assert lines["steps in contact"].strip() == "100 %"
    assert "(box - ground)" in lines["smallest gap"]
    assert solution.smallest_gap()[0] == solution.contacts.gap.min()


def sliding(friction, restitution=0.3) -> ss.System:
    s = ss.System("sliding")
    s.add(ss.Gravity([0, 0, -9.81]))
    ball = ss.Sphere(ss.ground.point(0, 0, 0), 0.1)
    body = s.add(ss.solid("ball", ball, density=100, position=[0, 0, 0.1], velocity=[1, 0, 0]))
    mu = s.parameter("mu", 0.3) if friction is None else friction
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    shapes = {"ice": [body], "rock": floor} if isinstance(friction, dict) else [body, floor]
    s.add(ss.Collisions("touch", shapes, friction=mu, restitution=restitution))
    return s


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"touch.friction": -1.0}, "collisions 'touch': friction = -1 is out of range"),
        ({"touch.restitution": 2.0}, "restitution = 2 is out of range; it must lie between 0 and 1"),
        ({"touch.tangential_restitution": -3.0}, "tangential_restitution = -3 is out of range"),
    ],
)
def test_laws_of_detected_contacts_are_in_range_for_changed_parameters(changed, message):
    """A ball whose restitution was set to 2 gained energy; one with friction -1 slid without any."""
    with pytest.raises(ModelError, match=message):
        ss.solve(sliding(0.3), 0.01, 1e-3, parameters=changed, progress=False)
    assert message in ss.sweep(sliding(0.3), 0.01, 1e-3, parameters=[changed], progress=False).errors[0]
    with ss.stepper(sliding(0.3), 1e-3) as sim:
        sim.step(2)
        sim.set(changed)
        for _ in range(2):  # also when asked again
            with pytest.raises(ModelError, match=message):
                sim.step()


def test_one_law_for_all_materials_is_one_parameter():
    """It is not named after one of the pairs; a table has one for each pair, also where its numbers are equal."""
    named = sliding({("ice", "rock"): 0.3, "ice": 0.3, "rock": 0.3}).parameters
    assert "touch.restitution" in named
    assert [n for n in named if "friction[" in n] == [
        f"touch.friction[{p}]" for p in ("ice, rock", "ice, ice", "rock, rock")
    ]


def test_flags_are_true_or_false():
    with pytest.raises(ModelError, match="joined must be True or False, got 'no'"):
        ss.Collisions("touch", ss.Sphere(ss.PointMass("ball", mass=1.0, position=[0, 1]).point(), 0.1), joined="no")


def test_laws_by_pairs_of_materials_are_named():
    system = sliding({("ice", "rock"): 0.3, "ice": 0.1, "rock": 0.2})
    with pytest.raises(ModelError, match=r"friction\[ice, rock\] = -1 is out of range"):
        ss.solve(system, 0.01, 1e-3, parameters={"touch.friction[ice, rock]": -1.0}, progress=False)


def test_a_pair_of_materials_has_one_law():
    twice = {("ice", "rock"): 0.3, ("rock", "ice"): 0.1, "ice": 0.1, "rock": 0.2}
    with pytest.raises(ModelError, match="friction of 'ice' with 'rock' is given twice, as 0.3 and as 0.1; the order"):
        sliding(twice)
    with pytest.raises(ModelError, match="friction of 'ice' with 'ice' is given twice, as 0.1 and as 0.2"):
        sliding({("ice", "rock"): 0.3, "ice": 0.1, ("ice", "ice"): 0.2, "rock": 0.2})
    sliding({**twice, ("rock", "ice"): 0.3})  # the same number twice says the same
    s = ss.System("parameters")
    ball, mu, nu = (
        s.add(ss.PointMass("ball", mass=1.0, position=[0, 1])),
        s.parameter("mu", 0.3),
        s.parameter("nu", 0.3),
    )
    shapes = {"ice": ss.Sphere(ball.point(), 0.1), "rock": ss.Line([0, 0], [0, 1])}
    ss.Collisions("touch", shapes, friction={("ice", "rock"): mu, ("rock", "ice"): mu})
    for other in (nu, 0.3):
        with pytest.raises(ModelError, match="is given twice, as mu and as "):
            ss.Collisions("touch", shapes, friction={("ice", "rock"): mu, ("rock", "ice"): other})


def test_laws_are_needed_for_materials_that_can_meet():
    """Not for two shapes of one body, or of the ground."""
    s = ss.System("one ball on a table")
    balls = [
        s.add(ss.PlanarBody(n, mass=1, inertia=1, position=[x, 0.1], velocity=[1, 0])) for n, x in (("a", 0), ("b", 3))
    ]
    skins, table = [ss.Sphere(ball.point(), 0.1) for ball in balls], ss.Line([0, 0], [0, 1])
    wall = ss.Line([-9, 0], [1, 0])
    one = ss.Collisions("c", {"rubber": skins[0], "steel": [table, wall]}, friction={("rubber", "steel"): 0.3})
    s.add(ss.Gravity([0, -G]))
    s.add(one)
    assert [name for name in s.parameters if "friction" in name] == ["c.friction[rubber, steel]"]
    assert solve(s, 0.01, 1e-3).u[-1, 0] == pytest.approx(1 - 0.3 * G * 0.01)
    for shapes, friction, words in (
        ({"rubber": skins, "steel": table}, {("rubber", "steel"): 0.3}, "'rubber' with 'rubber' is missing"),
        (
            {"rubber": skins[0], "steel": table},
            {"rubber": 0.3},
            r"missing, and .* give friction={..., \('rubber', 'steel'\):",
        ),
        ({"rubber": skins[0], "steel": skins[1]}, {}, "friction of 'rubber' with 'steel' is missing"),
    ):
        with pytest.raises(ModelError, match=words):
            ss.Collisions("c", shapes, friction=friction)


def test_friction_may_be_a_parameter_of_the_system():
    """A sliding ball slows down with mu g."""
    for mu in (0.3, 0.1):
        solution = ss.solve(sliding(None), 0.02, 1e-3, parameters={"mu": mu}, progress=False)
        assert solution.u[-1, 0] == pytest.approx(1 - mu * 9.81 * 0.02, abs=1e-9)
    with pytest.raises(ModelError, match="friction = -1 is out of range"):
        ss.solve(sliding(None), 0.02, 1e-3, parameters={"mu": -1}, progress=False)


@pytest.mark.parametrize(
    "first, second",
    [
        (lambda b: ss.Sphere(b.point(), 0.1), lambda b: ss.Sphere(b.point(), 0.2)),
        (lambda b: ss.Sphere(b.point(), 0.1), lambda b: ss.Capsule(b.point(-1, 0, 0), b.point(1, 0, 0), 0.1)),
        (
            lambda b: ss.Capsule(b.point(-1, 0, 0), b.point(1, 0, 0), 0.1),
            lambda b: ss.Capsule(b.point(-1, 0, 0), b.point(1, 0, 0), 0.1),
        ),
        (lambda b: ss.Sphere(b.point(), 0.3), lambda b: ss.Cavity(b.point(), 0.2)),
    ],
)
def test_round_shapes_with_a_common_centre_begin_inside_each_other(first, second):
    """They have no normal, and so no contact: they fell through each other."""
    s = ss.System("two bodies at one place")
    a, b = (s.add(ss.RigidBody(name, mass=1, inertia=[1, 1, 1])) for name in "ab")
    s.add(ss.Collisions("touch", [first(a), second(b)]))
    with pytest.raises(ss.InitialStateError, match="'a' and 'b' begin inside each other"):
        ss.solve(s, 0.1, 0.01)


def test_a_ball_may_begin_in_the_middle_of_a_cavity():
    s = ss.System("ball in a drum")
    s.add(ss.Gravity([0, -9.81]))
    ball = s.add(ss.PlanarBody("ball", mass=1, inertia=0.004))
    s.add(ss.Collisions("touch", [ss.Sphere(ball.point(), 0.1), ss.Cavity(ss.ground.point(0, 0), 0.5)]))
    assert ss.solve(s, 1.0, 1e-2).q[-1, 1] == pytest.approx(-0.4, abs=1e-8)


def test_shapes_of_one_body_alone_are_refused():
    s = ss.System("lonely")
    ball = s.add(ss.PointMass("ball", mass=1.0, position=[0, 1]))
    with pytest.raises(ModelError, match="all shapes belong to 'ball', which cannot touch itself"):
        s.add(ss.Collisions("touch", [ss.Sphere(ball.point(), 0.1), ss.Sphere(ball.point(1, 0), 0.1)]))


def test_materials_need_names():
    ball = ss.PointMass("ball", mass=1.0, position=[0, 1])
    with pytest.raises(ModelError, match="friction names the material 'ice', but the shapes have none"):
        ss.Collisions("touch", [ss.Sphere(ball.point(), 0.1), ss.Line([0, 0], [0, 1])], friction={"ice": 0.1})


@pytest.mark.parametrize("method", ["rattle", "moreau", "generalized-alpha"])
@pytest.mark.parametrize("shift", [0.0, 0.005])
@pytest.mark.parametrize("below", ["log", "edge"])
def test_a_log_that_falls_flat_does_not_turn(method, shift, below):
    """On an equal log, flush or shifted, or on a parallel edge."""

    def log(x: float, z: float) -> ss.Capsule:
        return ss.Capsule(ss.ground.point(x - 0.1, 0, z), ss.ground.point(x + 0.1, 0, z), 0.02)

    corners = [(x, y, z) for x in (-0.1, 0.1) for y, z in ((0.03, -0.01), (-0.03, -0.01), (0, 0.02), (0, -0.04))]
    s = ss.System("logs")
    s.add(ss.Gravity([0, 0, -9.81]))
    top = s.add(ss.solid("top", log(shift, 0.05), density=1000))
    other = log(0, 0) if below == "log" else ss.Polyhedron(ss.ground.frame([0, 0, 0]), corners)
    s.add(ss.Collisions("contacts", [top, other], restitution=0.5))
    solution = ss.solve(s, t_end=0.07, dt=1e-3, method=method, progress=False)
    assert np.abs(solution.u[:, 3:]).max() < 1e-9
    assert solution.u[:, 2].max() == pytest.approx(-0.5 * solution.u[:, 2].min(), rel=1e-6)


@pytest.mark.parametrize("method", ["rattle", "generalized-alpha", "moreau"])
def test_a_pyramid_of_flush_logs_rests(method):
    s, r = ss.System("pyramid"), 0.02
    s.add(ss.Gravity([0, 0, -9.81]))
    logs = [
        s.add(ss.solid(name, ss.Capsule(ss.ground.point(-0.1, y, z), ss.ground.point(0.1, y, z), r), density=1000))
        for name, y, z in (("a", -r, r), ("b", r, r), ("c", 0, r + r * np.sqrt(3)))
    ]
    s.add(ss.Collisions("contacts", [*logs, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.6))
    solution = ss.solve(s, t_end=0.03, dt=1e-3, method=method, progress=False)
    assert np.abs(solution.u).max() < 1e-7


@pytest.mark.parametrize(
    "method, step",
    [(method, step) for method in ("rattle", "moreau", "theta") for step in (0.0, 1e-3)]
    + [
        ("rattle", 1e-5),
        ("moreau", 1e-5),
    ],  # theta looks at the middle of a step: it is in by more than that, and climbs
)
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_block_slides_over_the_seam_of_flush_tiles_and_stops_at_a_step(method, step, dimension):
    """On four boxes side by side it slides as on one plane; if the second one is higher, it runs into its side."""
    v, mu, g = 1.0, 0.2, 9.81
    tall, deep = np.eye(dimension)[-1], np.array([0.2, 0.4, 0.1] if dimension == 3 else [0.2, 0.1])
    tiles = [
        ss.Box(ss.ground.frame([0.2 * k, *[0] * (dimension - 2), -0.05 + (step if k else 0)]), deep) for k in range(4)
    ]
    s = ss.System("tiles")
    s.add(ss.Gravity(-g * tall))
    velocity = v * np.eye(dimension)[0]
    shape = ss.Box(ss.ground.frame(0.05 * tall), [0.1] * dimension)
    block = s.add(ss.solid("block", shape, density=1000, velocity=velocity))
    s.add(ss.Collisions("contacts", [block, *tiles], friction=mu))
    solution = ss.solve(s, t_end=0.2, dt=1e-3, method=method, progress=False)
    if step == 0:
        assert np.abs(solution.u[:, 0] - (v - mu * g * solution.t)).max() < 1e-9
    else:
        early = solution.t < 0.05
        assert np.abs(solution.u[early, 0] - (v - mu * g * solution.t[early])).max() < 1e-9
        assert solution.u[60:, 0].max() < 0.8 * v  # at 0.05 m, less than 1 m/s - 0.06 mu g


FAST_PAIRS = {  # the second shape, which touches a ball where the centres are 20 mm apart in the x-z plane
    "balls": lambda body: ss.Sphere(body.point(), 0.01),
    "rod": lambda body: ss.Capsule(body.point(0, -0.2, 0), body.point(0, 0.2, 0), 0.01),
}


@pytest.mark.parametrize("method", ["rattle", "lobatto", "generalized-alpha"])
@pytest.mark.parametrize("pair", FAST_PAIRS)
@pytest.mark.parametrize("v, b", [(9.0, 0.0), (30.0, 0.012), (137.0, 0.012), (400.0, 0.005), (400.0, 0.021)])
def test_fast_round_shapes_do_not_pass_through_each_other(method, pair, v, b):
    """Up to 40 diameters per step: velocities of an elastic impact where they touch, and none where they miss each other."""
    s = ss.System("head on")
    ball = s.add(ss.PointMass("ball", mass=1.0, position=[-1.05, 0, 0], velocity=[v, 0, 0]))
    other = s.add(ss.PointMass("other", mass=3.0, position=[1.02, 0, b], velocity=[-v, 0, 0]))
    s.add(ss.Collisions("c", [ss.Sphere(ball.point(), 0.01), FAST_PAIRS[pair](other)], restitution=1.0))
    solution = ss.solve(s, t_end=1.53 / v, dt=1e-3, method=method)
    n = np.array([-np.sqrt(max(0.02**2 - b**2, 0.0)), 0, -b]) / 0.02
    hit = 2 * v * -n[0] * (2 * 1.0 * 3.0 / 4.0) if b < 0.02 else 0.0
    expected = np.concatenate([[v, 0, 0] + hit * n, [-v, 0, 0] - hit / 3.0 * n])
    np.testing.assert_allclose(solution.u[-1], expected, atol=1e-6 * v)


@pytest.mark.parametrize(
    "at, v",
    [
        ([0.02272751, 0.14865765, -0.06147389], [3.24383658, -6.6912863, 2.95029014]),
        ([-0.05667554, -0.07170555, -0.038142], [4.05718434, 5.13919701, 4.59651055]),
    ],
)
def test_a_fast_ball_comes_to_a_sharp_corner(at, v):
    """It moves four radii per step, passes one face and enters by another: it has to meet the edge between them."""
    s = ss.System("corner")
    ball = s.add(ss.PointMass("ball", mass=1, position=at, velocity=v))
    solid = ss.Polyhedron(ss.ground, 0.1 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]))
    s.add(ss.Collisions("c", [ss.Sphere(ball.point(), 0.002), solid], restitution=0.5))
    coarse, fine = (ss.solve(s, t_end=0.04, dt=dt).u[-1] for dt in (1e-3, 1e-4))
    np.testing.assert_allclose(coarse, fine, atol=0.02)
    assert np.linalg.norm(fine) < 0.98 * np.linalg.norm(v)


def test_declared_balls_that_pass_through_each_other_are_named():
    s = ss.System("head on")
    balls = [
        s.add(ss.PointMass(n, mass=1, position=[x], velocity=[v])) for n, x, v in (("a", -1.05, 50), ("b", 1.02, -50))
    ]
    s.add(ss.Contact("bang", *[ss.Sphere(ball.point(), 0.01) for ball in balls], restitution=1))
    with pytest.warns(ss.TunnellingWarning, match="contact 'bang': at t = 0.02 a step of 0.001 took one shape through"):
        passed = ss.solve(s, t_end=0.03, dt=1e-3)
    assert passed.u[-1, 0] == 50
    slow = ss.solve(s, t_end=0.03, dt=1e-4)  # no warning
    np.testing.assert_allclose(slow.u[-1], [-50, 50], atol=1e-9)


def test_a_warm_run_costs_little_besides_its_steps():
    """Shapes, their names, types of arguments and what was found at the start are kept with the system: 0.7 ms on a machine of
    2024, where they took 3.5 ms.
    """
    s = ss.benchmarks.dominoes()
    solve(s, 0.0, 1e-3)
    assert least_time(lambda: solve(s, 0.0, 1e-3)) < 2e-3
    later = s.u_initial.copy()

    def elsewhere() -> None:
        later[0] += 1e-9
        solve(s, 0.0, 1e-3, u0=later)

    assert least_time(elsewhere) < 3e-3


def test_declared_balls_that_fly_fast_are_looked_at_without_symbols(monkeypatch):
    """What a run evaluates along the way of round pairs is compiled once for a system: it took 3 ms of each run."""
    s = ss.System("three balls")
    balls = [s.add(ss.PointMass(f"b{k}", mass=1, position=[0, 0.1 * k], velocity=[20 * k, 0])) for k in range(3)]
    shapes = [ss.Sphere(ball.point(), 0.02) for ball in balls]
    for k, (one, other) in enumerate(((0, 1), (1, 2), (0, 2))):
        s.add(ss.Contact(f"c{k}", shapes[one], shapes[other]))
    first = solve(s, 0.05, 1e-3)

    def refuse(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr("stickslip.engine.evaluate.compile_kernel", refuse)
    assert solve(s, 0.05, 1e-3).q.tobytes() == first.q.tobytes()


def test_a_start_is_looked_at_whatever_was_looked_at_before():
    """What is kept of a start is kept of its coordinates, its velocities, its step and its tolerance."""
    s = two_balls(True)
    first, inside = solve(s, 0.05, 1e-3), s.q_initial.copy()
    inside[2] -= 0.01
    for _ in range(2):
        with pytest.raises(InitialStateError, match="begin inside each other, 0.01 deep"):
            solve(s, 0.05, 1e-3, q0=inside)
        solve(s, 0.01, 1e-3, q0=inside, initial_tol=0.02, energy_alarm=False)
    again = solve(s, 0.05, 1e-3)
    assert again.q.tobytes() == first.q.tobytes()


def test_runs_of_one_system_at_the_same_time_share_nothing_that_they_write_to():
    """Laws are those of each run; contacts, poses and neighbours, too."""
    s = two_balls(True)
    laws = [{"touch.friction": mu, "touch.restitution": e} for mu in (0.1, 0.3, 0.6) for e in (0.0, 0.7)]

    def run(law: dict[str, float]) -> bytes:
        solution = solve(s, 0.2, 1e-3, parameters=law)
        return solution.q.tobytes() + solution.contacts.P_N.tobytes()

    alone = [run(law) for law in laws]
    assert len(set(alone)) == len(laws)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, laws + laws[::-1])) == alone + alone[::-1]
    with ss.stepper(s, 1e-3) as first, ss.stepper(s, 1e-3) as second:
        first.step(10)
        first.set({"touch.friction": 0.9})
        first.step(100)
        second.step(200)
        assert second.q.tobytes() == solve(s, 0.2, 1e-3).q[-1].tobytes()
