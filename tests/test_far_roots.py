"""A step is the solution near its start, not one that other turns of a body lead to."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.far_roots import leads_far
from stickslip.engine.fields import U_0, expand
from stickslip.engine.local import evaluate_stage
from stickslip.engine.rescue import Unknowns, predict
from stickslip.engine.work import PREDICTED
from stickslip.schemes.rattle import P_FIRST, U_M

ARM, RADIUS, INERTIA = 0.06, 0.006, 5e-4
VARIANTS = [f"{name}{v}" for name in ("rattle", "lobatto") for v in ("", ":variant=printed", ":variant=midpoint")]


def pin_and_lever(v: float, gap: float, drag: float, mu: float) -> ss.System:
    """A driven pin comes to the side of a lever, which dry friction in its hinge holds."""
    s = ss.System("pin and lever")
    pin = s.add(ss.PointMass("pin", mass=1, position=[ARM, RADIUS + gap], velocity=[0, -v]))
    for name, axis, way in (("x", [1.0, 0], lambda t: ARM), ("y", [0, 1.0], lambda t: RADIUS + gap - v * t)):
        s.add(ss.Motion(name, ss.Displacement(ss.ground.point(0, 0), pin.point(), axis), way))
    lever = s.add(ss.PlanarBody("lever", mass=0.5, inertia=INERTIA))
    hinge = s.add(ss.Revolute("hinge", ss.ground.point(0, 0), lever.point()))
    s.add(ss.Friction("drag", hinge.angle, force=drag))
    s.add(ss.Contact("c", ss.Sphere(pin.point(), RADIUS), ss.Line([0, 0], [0, 1], lever), friction=mu))
    return s


def in_space(v: float, gap: float, drag: float, mu: float) -> ss.System:
    """The same with a lever that has six degrees of freedom, and a hinge."""
    s = ss.System("pin and lever in space")
    pin = s.add(ss.PointMass("pin", mass=1, position=[ARM, RADIUS + gap, 0], velocity=[0, -v, 0]))
    ways = (lambda t: ARM, lambda t: RADIUS + gap - v * t, lambda t: 0.0)
    for k, way in enumerate(ways):
        along = ss.Displacement(ss.ground.point(0, 0, 0), pin.point(), np.eye(3)[k])
        s.add(ss.Motion(f"drive {k}", along, way))
    lever = s.add(ss.RigidBody("lever", mass=0.5, inertia=[INERTIA] * 3))
    hinge = s.add(ss.Revolute("hinge", ss.ground.point(0, 0, 0), lever.point(), axis=[0, 0, 1]))
    s.add(ss.Friction("drag", hinge.angle, force=drag))
    s.add(ss.Contact("c", ss.Sphere(pin.point(), RADIUS), ss.Plane([0, 0, 0], [0, 1, 0], lever), friction=mu))
    return s


@pytest.mark.parametrize("build", [pin_and_lever, in_space])
@pytest.mark.parametrize("method", VARIANTS)
def test_a_pin_turns_a_lever_as_far_as_it_goes(build, method):
    """Also where the lever's dry friction holds it before, so that the first linear system has no solution."""
    rng = np.random.default_rng(0)
    starts = [(0.03, 3.7e-6, 0.01, 0.1), (0.043633736798285444, 5.7485058872898e-06, 0.028375741599285048, 0.1)]
    v = 10 ** rng.uniform(-2, -1)
    starts.append((v, rng.uniform(0, 5e-4) * v, 10 ** rng.uniform(-3, -1), 0.1))
    for v, gap, drag, mu in starts:
        solution = ss.solve(build(v, gap, drag, mu), t_end=4e-3, dt=5e-4, method=method, progress=False)
        angle = -(v * solution.t[1:] - gap) / ARM
        assert np.abs(solution["hinge.angle"][1:] - angle)[1:].max() < 1e-5
        assert solution["c.P"].max() < 0.1


def geneva() -> tuple[ss.System, float]:
    """A drive with six slots, of which the pin enters one; and the angle at which the wheel begins."""
    n, C, pin, play = 6, 0.1, 0.006, 2e-5
    crank_arm, rim, half = C * np.sin(np.pi / n), C * np.cos(np.pi / n), pin + play
    depth, corners = C - crank_arm - pin - 0.003, []
    for k in range(n):
        along = np.array([np.cos(2 * np.pi * k / n), np.sin(2 * np.pi * k / n)])
        across, end = np.array([-along[1], along[0]]), np.sqrt(rim**2 - half**2)
        corners += [along * end - across * half, along * depth - across * half]
        corners += [along * depth + across * half, along * end + across * half]
    speed, entry = 2 * np.pi, -(np.pi / 2 - np.pi / n)
    begin = entry - 0.05
    at = crank_arm * np.array([np.cos(entry), np.sin(entry)]) - [C, 0]
    angle = float(np.arctan2(at[1], at[0]))
    s = ss.System("Geneva drive")
    crank = s.add(ss.PlanarBody("crank", mass=1, inertia=1e-2, angle=begin, angular_velocity=speed))
    wheel = s.add(ss.PlanarBody("wheel", mass=0.5, inertia=INERTIA, position=[C, 0], angle=angle))
    drive = s.add(ss.Revolute("A", ss.ground.point(0, 0), crank.point()))
    axis = s.add(ss.Revolute("B", ss.ground.point(C, 0), wheel.point()))
    s.add(ss.Motion("drive", drive.angle, lambda t: begin + speed * t))
    s.add(ss.Friction("drag", axis.angle, force=0.01))
    shapes = [ss.Sphere(crank.point(crank_arm, 0), pin), ss.SimplePolygon(wheel, np.array(corners))]
    s.add(ss.Collisions("pin", shapes, friction=0.1))
    return s, angle


@pytest.mark.parametrize("method", ["rattle", "lobatto"])
def test_a_geneva_wheel_turns_by_one_slot(method):
    system, angle = geneva()
    solution = ss.solve(system, t_end=0.4, dt=1e-3, method=method, progress=False)
    turned = solution["wheel.phi"] - angle
    assert turned[-1] == pytest.approx(-2 * np.pi / 6, abs=1e-3)
    assert np.abs(np.diff(turned)).max() < 7e-3  # at 2 pi rad/s


@pytest.mark.parametrize("turns", [0, 1, -13])
def test_a_solution_that_is_whole_turns_away_does_not_count(turns):
    """The gap is zero after any number of turns. Only a prediction that asks for them would make it a solution."""
    dt, v, gap = 5e-4, 0.03, 3.7e-6
    run = ss.stepper(pin_and_lever(v, gap, 0.01, 0.1), dt)._run
    tables, memory, work, layout, k = run.tables, run.memory, run.work, run.program.layout, 0
    memory[[run.clock.t_0, run.clock.t_1, run.clock.dt]] = 0.0, dt, dt
    memory[layout.places(U_M)] = memory[layout.places(U_0)]
    unknowns, n = Unknowns(tables, k, memory), int(tables.problems[k]["n"])
    start = unknowns.get()
    spin = -np.arcsin((v * dt - gap) / ARM) / dt + turns * 2 * np.pi / dt
    memory[layout.places(U_M)[4]] = spin  # after x and y of the pin and of the lever
    memory[layout.places(*expand((P_FIRST,)))] += 1.0  # of any size: the contact is closed
    work.start[:n] = start
    found = unknowns.get()
    evaluate_stage(tables, k, memory, work, run.options, True)
    assert leads_far(tables, k, memory, work, run.options.tolerance) == (turns != 0)
    assert np.array_equal(unknowns.get(), found)  # it only looks
    evaluate_stage(tables, k, memory, work, run.options, True)
    work.x["step"][:n] = start - found
    predict(work, n)
    assert not leads_far(tables, k, memory, work, run.options.tolerance)
    work.signals[PREDICTED] = 0


def test_fast_rotations_are_not_out_of_reach():
    """A link that turns by 1.5 rad in a step, which is strongly nonlinear, and a disk that turns 16 times in one."""
    link = ss.System("link")
    body = link.add(ss.PlanarBody("link", mass=1, inertia=1e-3, position=[1, 0], velocity=[0, 10], angular_velocity=10))
    link.add(ss.Revolute("pin", ss.ground.point(0, 0), body.point(-1, 0)))
    steps = np.diff(ss.solve(link, t_end=0.4, dt=0.1, progress=False)["link.phi"])
    assert np.allclose(steps, steps[0], atol=1e-6)
    assert 1.5 < steps[0] < 1.6
    disk = ss.System("disk")
    disk.add(ss.Gravity([0, -9.81]))
    body = disk.add(
        ss.PlanarBody("disk", mass=1, inertia=5e-3, position=[0, 0.101], velocity=[0, -1], angular_velocity=1e4)
    )
    disk.add(ss.Contact("c", ss.Sphere(body.point(), 0.1), ss.Line([0, 0], [0, 1]), friction=0.3))
    solution = ss.solve(disk, t_end=0.5, dt=1e-2, progress=False)
    assert solution["disk.y"][-1] == pytest.approx(0.1, abs=1e-7)
    assert solution["disk.phi"][-1] > 4900
