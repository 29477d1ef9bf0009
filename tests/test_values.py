"""Quantities by name, expressions along a run, tables: each against what the arrays or the mechanics say."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import stickslip as ss
from stickslip.errors import ModelError, OptionError
from stickslip.math import cos, norm, sin, sqrt

G = 9.81


def machine() -> tuple[ss.System, dict]:
    """A crank on a pin, a spring, a motor, a sliding box on the floor: one quantity of every kind."""
    s = ss.System("machine")
    s.add(ss.Gravity([0, -G]))
    crank = s.add(ss.PlanarBody("crank", mass=2.0, inertia=0.1, position=[0.5, 0]))
    pin = s.add(ss.Revolute("pin", ss.ground.point(0, 0), crank.point(-0.5, 0)))
    box = s.add(ss.PlanarBody("box", mass=3.0, inertia=0.2, position=[2, 0], velocity=[1, 0]))
    guide = s.add(ss.Prismatic("guide", ss.ground.point(0, 0), box.point(), axis=[1, 0]))
    spring = s.add(
        ss.SpringDamper("spring", crank.point(0.5, 0), box.point(), stiffness=50, damping=2, rest_length=0.8)
    )
    s.add(ss.Motor("motor", pin.angle, lambda t, x, v: 1 + t - 0.1 * v))
    ball = s.add(ss.PointMass("ball", mass=1.5, position=[0, -2], velocity=[2, 0]))
    s.add(ss.Contact("floor", ball.point(), ss.Line([0, -2], [0, 1]), friction=0.1))
    s.measure("tip height", crank.position([0.5, 0])[1], unit="m")
    s.measure("tip", crank.position([0.5, 0]), unit="m")
    s.measure("angle", pin.angle)
    return s, {"crank": crank, "pin": pin, "box": box, "ball": ball, "spring": spring, "guide": guide}


@pytest.fixture(scope="module")
def run():
    system, parts = machine()
    return ss.solve(system, t_end=0.5, dt=1e-3, progress=False), system, parts


def test_columns_by_name_are_the_columns(run):
    solution, *_ = run
    for k, name in enumerate(solution.names.q):
        np.testing.assert_array_equal(solution[name], solution.q[:, k])
    for k, name in enumerate(solution.names.u):
        np.testing.assert_array_equal(solution[name], solution.u[:, k])
    np.testing.assert_array_equal(solution["floor.gap"], solution.gap[:, 0])
    np.testing.assert_array_equal(solution["floor.slip"], solution.slip[:, 0])
    np.testing.assert_array_equal(solution["pin.P"], solution.P_g[:, :2])
    np.testing.assert_array_equal(solution["pin.P[1]"], solution.P_g[:, 1])
    np.testing.assert_array_equal(solution["energy.total"], solution.kinetic + solution.potential)


def test_every_name_can_be_read_and_has_a_unit(run):
    solution, *_ = run
    for name, unit in solution.quantities.items():
        assert len(solution[name]) == len(solution)
        assert unit, name
    units = solution.quantities
    assert units["crank.phi"] == "rad"
    assert units["crank.phi_dot"] == "rad/s"
    assert units["pin.force"] == "N"
    assert units["guide.torque"] == "N m"
    assert units["spring.force"] == "N"
    assert units["motor.force"] == "N m"
    assert units["tip"] == "m"
    assert units["angle"] == "rad"


def test_springs_motors_and_joints_follow_their_formulas(run):
    solution, _, parts = run
    tip = np.column_stack([solution["crank.x"] + 0.5 * np.cos(solution["crank.phi"]),
                           solution["crank.y"] + 0.5 * np.sin(solution["crank.phi"])])  # fmt: skip
    arm = np.column_stack([solution["box.x"], solution["box.y"]]) - tip
    length = np.linalg.norm(arm, axis=1)
    np.testing.assert_allclose(solution["spring.length"], length, rtol=1e-12)
    np.testing.assert_allclose(solution["spring.elongation"], length - 0.8, rtol=1e-10)
    speed = np.einsum("ij,ij->i", arm, solution.velocity("box") - solution.velocity(parts["crank"].point(0.5, 0)))
    np.testing.assert_allclose(solution["spring.force"], 50 * (length - 0.8) + 2 * speed / length, rtol=1e-9)
    motor = 1 + solution.t - 0.1 * solution["crank.phi_dot"]
    np.testing.assert_allclose(solution["motor.force"], motor, rtol=1e-12)
    np.testing.assert_allclose(solution["pin.angle"], solution["crank.phi"], atol=1e-15)
    np.testing.assert_allclose(solution["guide.displacement"], solution["box.x"], atol=1e-12)


def test_measures_paths_and_expressions_agree(run):
    solution, _, parts = run
    crank = parts["crank"]
    path = solution.path(crank.point(0.5, 0))
    np.testing.assert_array_equal(solution["tip"], path)
    np.testing.assert_array_equal(solution["tip height"], path[:, 1])
    np.testing.assert_array_equal(solution["angle"], solution.evaluate(parts["pin"].angle))
    np.testing.assert_array_equal(solution.path("ball"), solution.path(parts["ball"]))
    expected = solution["crank.x"] ** 2 + np.sin(solution["crank.phi"])
    np.testing.assert_allclose(solution.evaluate(crank.q[0] ** 2 + sin(crank.q[2])), expected, rtol=1e-14)
    np.testing.assert_array_equal(solution.evaluate([1.0, 2.0]), np.tile([1.0, 2.0], (len(solution), 1)))
    matrix = solution.evaluate([[cos(crank.q[2]), -sin(crank.q[2])], [sin(crank.q[2]), cos(crank.q[2])]])
    np.testing.assert_allclose(matrix[:, 1, 0], np.sin(solution["crank.phi"]), atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(matrix), 1.0, rtol=1e-13)


def test_the_velocity_of_a_point_is_the_derivative_of_its_path(run):
    solution, _, parts = run
    point = parts["crank"].point(0.3, 0.1)
    r, v, a = solution.path(point), solution.velocity(point), solution.acceleration(point)
    middle = (v[1:] + v[:-1]) / 2
    np.testing.assert_allclose(np.diff(r, axis=0) / 1e-3, middle, atol=2e-4)
    assert np.isnan(a[0]).all()
    np.testing.assert_allclose(a[1:], np.diff(v, axis=0) / 1e-3, rtol=1e-9)


def test_the_second_law_holds_for_forces_by_name(run):
    """m a = weight + pin + spring for the crank, at the middle of steps: forces by name are forces."""
    solution, _, parts = run
    arm = solution.path("box") - solution.path(parts["crank"].point(0.5, 0))
    pull = solution["spring.force"][:, None] * arm / np.linalg.norm(arm, axis=1)[:, None]
    on_crank = -solution["pin.force"]  # g = r_1 - r_2 pushes the second body by -P
    a = solution.acceleration("crank")
    mean = (pull[1:] + pull[:-1]) / 2
    balance = 2.0 * a[1:] - (on_crank[1:] + mean + np.array([0, -2.0 * G]))
    assert abs(balance).max() < 2e-3 * abs(on_crank).max()


@pytest.mark.parametrize("method", sorted(ss.METHODS))
def test_percussion_over_duration_is_the_force_for_every_method(method):
    """A weight that lies on the floor, and one that hangs: 3 kg carry 3 g, whatever the scheme calls a percussion."""
    s = ss.System("at rest")
    s.add(ss.Gravity([0, -G]))
    ball = s.add(ss.PointMass("ball", mass=3.0, position=[0, 0]))
    if ss.METHODS[method]().facts.contacts:
        s.add(ss.Contact("floor", ball.point(), ss.Line([0, 0], [0, 1])))
        name = "floor.force"
    else:
        s.add(ss.Rod("rope", ss.ground.point(0, 1), ball.point()))
        name = "rope.force"
    solution = ss.solve(s, t_end=0.04, dt=1e-3, method=method, progress=False)
    assert solution[name][0] == 0.0
    np.testing.assert_allclose(np.abs(solution[name][-5:]), 3.0 * G, rtol=1e-6)


def test_a_spatial_hinge_turns_on_and_on():
    s = ss.System("wheel")
    wheel = s.add(ss.RigidBody("wheel", mass=1, inertia=[1, 1, 2], angular_velocity=[0, 0, 5]))
    s.add(ss.Revolute("hub", ss.ground.point(0, 0, 0), wheel.point(), axis=[0, 0, 1]))
    before = list(s.parameters)
    solution = ss.solve(s, t_end=3.0, dt=1e-2, progress=False)
    np.testing.assert_allclose(solution["hub.angle"], 5 * solution.t, atol=1e-3)
    np.testing.assert_allclose(solution["hub.angle_dot"], 5.0, rtol=1e-9)
    assert solution["hub.force"].shape == (301, 3)
    assert solution["hub.torque"].shape == (301, 2)
    assert list(s.parameters) == before  # reading declares nothing


def test_wrong_names_get_close_ones(run):
    solution, *_ = run
    with pytest.raises(OptionError, match=r"unknown quantity 'crank.z'; did you mean 'crank.\w+'"):
        solution["crank.z"]
    with pytest.raises(OptionError, match="'spring.force'"):
        solution["spring.forc"]
    with pytest.raises(OptionError, match="unknown quantity"):
        solution["pin.force[7]"]
    with pytest.raises(OptionError, match="no body 'crnk'"):
        solution.path("crnk")
    with pytest.raises(OptionError, match="is not a point"):
        solution.path(3)
    with pytest.raises(OptionError, match="cannot evaluate"):
        solution.evaluate("crank.x + 1")


def test_a_saved_solution_evaluates_with_its_system(run, tmp_path):
    solution, system, parts = run
    path = solution.save(tmp_path / "run.h5")
    loaded = ss.load(path)
    assert loaded.system is None
    np.testing.assert_array_equal(loaded["tip"], solution["tip"])  # measures are in the file
    np.testing.assert_array_equal(loaded["pin.force"], solution["pin.force"])
    assert {k: loaded.quantities[k] for k in ("crank.phi", "pin.force", "tip")} == {
        "crank.phi": "rad",
        "pin.force": "N",
        "tip": "m",
    }
    with pytest.raises(OptionError, match="ss.load\\(path, system=...\\)"):
        loaded["spring.force"]
    with pytest.raises(OptionError, match="came from a file"):
        loaded.evaluate(parts["crank"].q[0])
    again, same_parts = machine()
    np.testing.assert_array_equal(ss.load(path, system=again)["spring.force"], solution["spring.force"])
    np.testing.assert_array_equal(loaded.path(same_parts["crank"].point(0.5, 0), system=again), solution["tip"])
    with pytest.raises(OptionError, match="does not belong to the system"):
        ss.load(path, system=ss.benchmarks.bouncing_ball())
    kept = pickle.loads(pickle.dumps(solution))
    np.testing.assert_array_equal(kept["tip"], solution["tip"])


def test_parameters_of_the_run_are_those_of_expressions():
    s = ss.System()
    k = s.parameter("k", 2.0)
    (x,), (v,) = s.coordinates("x", initial=[1], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(k * x**2 / 2)
    s.measure("pull", k * x)
    solution = ss.solve(s, t_end=0.1, dt=1e-2, parameters={"k": 3.0}, progress=False)
    np.testing.assert_allclose(solution["pull"], 3.0 * solution["x"], rtol=1e-14)
    np.testing.assert_allclose(solution.evaluate(k * x), 3.0 * solution["x"], rtol=1e-14)
    with pytest.raises(ModelError, match="does not declare"):
        solution.evaluate(ss.System().coordinates("y", initial=[0], velocity=[0])[0][0])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("a/b", 1.0), "must not contain '/'"),
        (("", 1.0), "the name must be a text"),
        (("twice", 1.0), "declared twice"),
        (("text", "x"), "measure 'text'"),
    ],
)
def test_measures_that_make_no_sense_are_refused(arguments, message):
    s = ss.System()
    s.coordinates("x", initial=[1], velocity=[0])
    s.measure("twice", 0.0)
    with pytest.raises(ModelError, match=message):
        s.measure(*arguments)


def test_units_must_fit():
    with pytest.raises(ModelError, match="one unit for each of 'x y'"):
        ss.System().coordinates("x y", initial=[0, 0], velocity=[0, 0], units="m")


def test_tables_hold_the_same_numbers(run, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    solution, *_ = run
    frame = solution.to_pandas()
    np.testing.assert_array_equal(frame["crank.x"], solution["crank.x"])
    np.testing.assert_array_equal(frame["pin.force[1]"], solution["pin.force"][:, 1])
    assert frame.attrs["units"]["pin.force[1]"] == "N"
    assert frame.index.name == "t"
    few = solution.to_pandas(["spring.force", "pin.P[0]"])
    assert list(few.columns) == ["spring.force", "pin.P[0]"]
    data = solution.to_xarray()
    np.testing.assert_array_equal(data["q"].sel(coordinate="crank.phi"), solution["crank.phi"])
    np.testing.assert_array_equal(data["P_g"].sel(constraint="pin[1]"), solution.P_g[:, 1])
    assert str(data["q_unit"].sel(coordinate="crank.phi").item()) == "rad"
    named = solution.to_xarray(["spring.force", "pin.force"])
    assert named["spring.force"].attrs["units"] == "N"
    assert named["pin.force"].shape == (501, 2)
    path = solution.to_csv(tmp_path / "a" / "run.csv", ["crank.x", "pin.force"])
    header, *lines = path.read_text().splitlines()
    assert header == "t [s],crank.x [m],pin.force[0] [N],pin.force[1] [N]"
    np.testing.assert_array_equal([float(line.split(",")[1]) for line in lines], solution["crank.x"])
    with pytest.raises(OptionError, match="list of names"):
        solution.to_pandas("crank.x")


def test_names_of_a_system_from_equations_are_plain():
    solution = ss.solve(ss.benchmarks.slider_crank(), t_end=2e-3, dt=1e-4, progress=False)
    np.testing.assert_array_equal(solution["phi3"], solution.q[:, 8])
    assert solution.quantities["phi3"] == "rad"
    crank = solution.system
    x1, y1 = crank.blocks[0].q[0], crank.blocks[0].q[1]
    np.testing.assert_allclose(solution.evaluate(norm([x1, y1])), np.hypot(solution["x1"], solution["y1"]), rtol=1e-14)
    np.testing.assert_allclose(solution.evaluate(sqrt(x1 * x1)), abs(solution["x1"]), rtol=1e-14)


def test_detected_contacts_have_a_sum_and_a_number():
    """Two balls at rest on a floor, one on top of the other: the floor carries both, the upper contact one."""
    s = ss.System("two balls")
    s.add(ss.Gravity([0, 0, -10.0]))
    shapes = [ss.Sphere(ss.ground.point(0, 0, z), 0.1) for z in (0.1, 0.3)]
    balls = [s.add(ss.solid(f"ball {k}", shape, density=500)) for k, shape in enumerate(shapes)]
    s.add(ss.Collisions("contacts", [*balls, ss.Plane([0, 0, 0], [0, 0, 1])], friction=0.3))
    solution = ss.solve(s, t_end=0.05, dt=5e-3, method="moreau", progress=False)
    weight = 10.0 * 500 * 4 / 3 * np.pi * 0.1**3
    np.testing.assert_allclose(solution["detected.force"][1:], weight + 2 * weight, rtol=1e-6)
    np.testing.assert_allclose(solution["detected.P"][1:], 3 * weight * 5e-3, rtol=1e-6)
    assert solution["detected.force"][0] == 0
    assert solution["detected.count"][1:].tolist() == [2.0] * 10
    assert solution.quantities["detected.force"] == "N"
