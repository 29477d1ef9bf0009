"""Parts show themselves: where they are drawn is where mechanics puts them, and files keep the picture."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import casadi as ca
import numpy as np
import pytest

import stickslip as ss
from one_of_each import PARTS, exported
from stickslip.detected import DetectedContacts
from stickslip.errors import ModelError, OptionError, ResultFileError
from stickslip.filming import Film, Solid, shoot
from stickslip.looks import evaluate, look_of
from stickslip.looks.tape import OPERATIONS, tape
from stickslip.math import cos, sin
from stickslip.placing import quaternions, turned
from stickslip.scene import film
from stickslip.shapes import Ball, Block, Circle, Coil, GroundLine, Polyline, Touch, Tube, Wall
from stickslip.touching import detected
from stickslip.viewer import write_vtk
from stickslip.viewer.vtk import mesh_of

ROOT = Path(__file__).parents[1]


def points_of(shot: Film, name: str, local) -> np.ndarray:
    """Where a point of a body is drawn, in all frames."""
    pose = shot.poses[shot.bodies.index(name)]
    return pose[:, :3] + turned(pose[:, 3:], np.broadcast_to(np.asarray(local, float), (len(pose), 3)))


def crank() -> ss.Solution:
    return ss.solve(ss.benchmarks.slider_crank(parts=True), t_end=0.05, dt=1e-4, progress=False)


@pytest.fixture(scope="module")
def gallery() -> list[ss.Solution]:
    """Every solution of the gallery of parts, and of the page on flexible bodies."""
    found: list[ss.Solution] = []
    solve = ss.solve

    def record(*args, **options):
        found.append(solve(*args, **options))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ss, "solve", record)
        for page in ("gallery.md", "flexible.md"):
            namespace: dict = {}
            text = (ROOT / "docs" / page).read_text(encoding="utf-8")
            for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
                exec(compile(block, page, "exec"), namespace)  # our own pages
    return found


def test_every_example_of_the_gallery_shows_itself(gallery):
    assert len(gallery) > 25
    for solution in gallery:
        name, look = solution.provenance["system"], solution.provenance["look"]
        assert "error" not in look, f"{name}: {look}"
        if not look["bodies"] and not look["tracks"]:  # from equations
            continue
        shot = shoot(solution, frames=30)
        assert shot.solids or shot.traces, name
        assert any(len(p) > 1 for p in shot.poses) or any(len(t.points) > 1 for t in shot.traces), f"{name}: no motion"
        assert np.isfinite([*shot.low, *shot.high]).all()
        assert len(film(solution, frames=30).tracks) > 0
        assert set(shot.spots.names) == set(solution.names.contacts) or not shot.spots.names, name


def kinds(look: dict) -> list[str]:
    return [x["kind"] for x in look["solids"] + look["tracks"]]


def test_there_is_an_example_of_every_part():
    assert exported() == set(PARTS)


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_every_part_shows_itself(kind):
    for k, make in enumerate(PARTS[kind]):
        s = ss.System("s")
        part = make(s)
        before = look_of(s).record(s.parameters)
        s.add(part)
        after = look_of(s).record(s.parameters)
        if kind is ss.Gravity:  # shows which way is up
            assert after["up"] == pytest.approx([0, 1, 0])
        else:
            new = [x for x in kinds(after) if kinds(after).count(x) > kinds(before).count(x)]
            assert new, f"example {k} of {kind.__name__} shows nothing"


def test_gears_roll_on_each_other():
    """Pitch circles touch, and their rims have the same speed."""
    s = ss.System("gears")
    ratio, x = 2.5, (0.0, 0.7)
    wheels = [s.add(ss.PlanarBody(n, mass=1, inertia=0.1, position=[p, 0])) for n, p in zip("ab", x, strict=True)]
    pins = [
        s.add(ss.Revolute(f"pin {w.name}", ss.ground.point(p, 0), w.point())) for w, p in zip(wheels, x, strict=True)
    ]
    s.add(ss.Gear("mesh", pins[0].angle, pins[1].angle, ratio=ratio))
    s.add(ss.Torque("drive", wheels[0], 1.0))
    solution = ss.solve(s, t_end=0.1, dt=1e-2)
    radii = [solid["radius"] for solid in solution.provenance["look"]["solids"] if solid["kind"] == "gear"]
    assert sum(radii) == pytest.approx(0.7)
    speeds = solution["a.phi_dot"][-1] * radii[0], -solution["b.phi_dot"][-1] * radii[1]
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-9)
    shot = shoot(solution)
    gears = [solid for solid in shot.solids if solid.kind == "mesh" and len(solid.look["vertices"]) > 60]
    assert [np.linalg.norm(np.array(g.look["vertices"])[:, :2], axis=1).max() for g in gears] == pytest.approx(
        radii, rel=0.2
    )


def test_ranges_of_angles_are_where_the_body_can_be():
    """At a limit the body points to the end of the range, in the plane and in space."""
    for space in (False, True):
        s = ss.System("arm")
        if space:
            quaternion = ss.math.quaternion([0, 0, 1], 0.4)
            arm = s.add(
                ss.RigidBody(
                    "arm", mass=1, inertia=[0.1] * 3, position=[np.cos(0.4), np.sin(0.4), 0], orientation=quaternion
                )
            )
            pin = s.add(ss.Revolute("pin", ss.ground.point(0, 0, 0), arm.point(-1, 0, 0), axis=[0, 0, 1]))
        else:
            arm = s.add(ss.PlanarBody("arm", mass=1, inertia=0.1, position=[np.cos(0.4), np.sin(0.4)], angle=0.4))
            pin = s.add(ss.Revolute("pin", ss.ground.point(0, 0), arm.point(-1, 0)))
        s.add(ss.Limits("stops", pin.angle, upper=0.9, lower=-0.2))
        s.add(ss.Motor("motor", pin.angle, 3.0))
        solution = ss.solve(s, t_end=2.0, dt=1e-2)
        assert solution["stops.upper.gap"][-1] == pytest.approx(0, abs=1e-6)
        shot = shoot(solution)
        (arc,) = [x for x in shot.solids if x.kind == "mesh" and "outline" in x.look and x.look["tone"] == "third"]
        rim = turned(arc.turn, np.array(arc.look["vertices"]))[: arc.look["outline"] // 2]
        end = shot.poses[shot.bodies.index("arm")][-1, :2]
        np.testing.assert_allclose(np.arctan2(rim[-1, 1], rim[-1, 0]), np.arctan2(end[1], end[0]), atol=1e-6)


def test_an_arc_grows_with_its_torque():
    s = ss.System("twist")
    wheel = s.add(ss.PlanarBody("wheel", mass=1, inertia=0.1))
    s.add(ss.Torque("twist", wheel, lambda t: -2 * t))
    shot = shoot(ss.solve(s, t_end=1.0, dt=0.1))
    (line,) = [trace for trace in shot.traces if trace.kind == "line"]
    assert shot.planar
    length = np.linalg.norm(np.diff(line.points, axis=1), axis=-1).sum(axis=1)
    np.testing.assert_allclose(length / length[-1], shot.t, atol=1e-3)  # chords are a little shorter
    a, b = line.points[-1, :2]
    assert a[0] * b[1] - a[1] * b[0] < 0  # clockwise, as the torque is negative


def test_forces_may_depend_on_velocities():
    s = ss.System("drag")
    ball = s.add(ss.PointMass("ball", mass=2.0, position=[0, 0], velocity=[1, 0.5]))
    s.add(ss.Force("drag", ball.point(), -3 * ball.u))
    solution = ss.solve(s, t_end=0.5, dt=1e-2)
    (arrow,) = [trace for trace in shoot(solution).traces if trace.kind == "arrow"]
    way = arrow.points[:, 1] - arrow.points[:, 0]
    np.testing.assert_allclose(np.linalg.norm(way, axis=1), np.linalg.norm(way[0]) * solution["ball.x_dot"], rtol=1e-9)


def test_up_is_against_gravity():
    s = ss.System("fall")
    s.add(ss.PointMass("ball", mass=1, position=[0, 2, 0], velocity=[1, 0, 0]))
    s.add(ss.Gravity([0, -9.81, 0]))
    solution = ss.solve(s, t_end=0.5, dt=1e-2)
    assert shoot(solution).up == pytest.approx([0, 1, 0])
    (disk,) = [track for track in film(solution).tracks if track.kind == "disk"]
    assert (np.diff(disk.points[:, 0, 1]) < 0).sum() > 45  # it falls in the picture, too


def test_pins_of_a_mechanism_stay_together():
    shot = shoot(crank())
    l1, l2 = 0.153, 0.306
    apart = points_of(shot, "crank", (l1 / 2, 0, 0)) - points_of(shot, "rod", (-l2 / 2, 0, 0))
    assert np.abs(apart[:, :2]).max() < 1e-8
    apart = points_of(shot, "rod", (l2 / 2, 0, 0)) - points_of(shot, "slider", (0, 0, 0))
    assert np.abs(apart[:, :2]).max() < 1e-8


def test_contacts_are_drawn_where_they_are_with_their_forces():
    solution = crank()
    shot = shoot(solution)
    assert shot.spots.names == solution.names.contacts
    for k, name in enumerate(shot.spots.names):
        up = 1 if "upper" in name else -1
        # The place lies in the distance of the gap from the wall, 26 mm from the axis.
        np.testing.assert_allclose(
            up * (up * 0.026 - shot.spots.places[:, k, 1]), solution.gap[shot.rows, k], atol=1e-12
        )
    # What the drawn forces do to the momentum of the slider along the guide is the impulse of friction.
    steps = shoot(solution, frames=10**6)
    dt = np.diff(steps.t)[:, None]
    np.testing.assert_allclose(steps.spots.forces[1:, :, 1] * dt, solution.P_N[1:] * [-1, -1, 1, 1], atol=1e-12)
    np.testing.assert_allclose(
        (steps.spots.forces[1:, :, 0] * dt).sum(axis=1), -(solution.P_F[1:] * [1, 1, -1, -1]).sum(axis=1), atol=1e-12
    )


def test_forces_in_space_change_the_momentum():
    s = ss.System("ball")
    ball = s.add(ss.RigidBody("ball", mass=2.0, inertia=[0.1] * 3, position=[0, 0, 1.0], velocity=[3, 1, -2]))
    s.add(
        ss.Contact("floor", ss.Sphere(ball.point(), 0.5), ss.Plane([0, 0, 0], [0, 0, 1]), friction=0.3, restitution=0.5)
    )
    solution = ss.solve(s, t_end=0.5, dt=1e-2, method="moreau")
    shot = shoot(solution)
    impulse = (shot.spots.forces[1:, 0] * np.diff(shot.t)[:, None]).sum(axis=0)
    np.testing.assert_allclose(impulse, 2.0 * (solution.u[-1, :3] - solution.u[0, :3]), atol=1e-9)
    assert [solid.kind for solid in shot.solids] == ["ball"]
    assert shot.spots.states.max() == 3


def test_a_file_keeps_the_picture(tmp_path):
    solution = crank()
    loaded = ss.load(solution.save(tmp_path / "crank.h5"))
    a, b = shoot(solution), shoot(loaded)
    assert a.bodies == b.bodies
    for p, q in zip(a.poses, b.poses, strict=True):
        np.testing.assert_array_equal(p, q)
    np.testing.assert_array_equal(a.spots.forces, b.spots.forces)
    json.dumps(solution.provenance["look"])


def test_sizes_follow_the_parameters_of_the_run():
    s = ss.System("ball")
    R = s.parameter("R", 0.5)
    ball = s.add(ss.RigidBody("ball", mass=2.0, inertia=[0.1] * 3, position=[0, 0, 2.0]))
    s.add(ss.Contact("floor", ss.Sphere(ball.point(), R), ss.Plane([0, 0, 0], [0, 0, 1])))
    for radius in (0.5, 1.25):
        solution = ss.solve(s, t_end=0.1, dt=1e-2, parameters={"R": radius})
        assert [solid.look["radius"] for solid in shoot(solution).solids] == [radius]


def test_a_body_without_shapes_is_a_box_of_its_inertia():
    s = ss.System("box")
    mass, inertia = ss.inertia.box(0.3, 0.2, 0.1, density=700)
    s.add(ss.RigidBody("box", mass=mass, inertia=inertia, angular_velocity=[0, 5, 0]))
    (solid,) = shoot(ss.solve(s, t_end=0.1, dt=1e-2)).solids
    np.testing.assert_allclose(solid.look["size"], [0.3, 0.2, 0.1], rtol=1e-12)


def test_two_feet_make_a_block():
    s = ss.System("block")
    block = s.add(ss.PlanarBody("block", mass=1.0, inertia=0.01, position=[0, 0.1]))
    for name, x in (("left", -0.1), ("right", 0.1)):
        s.add(ss.Contact(name, block.point(x, -0.1), ss.Line([0, 0], [0, 1])))
    (hull,) = [x for x in look_of(s).record(s.parameters)["solids"] if x["kind"] == "hull"]
    assert sorted(v[:2] for v in hull["vertices"]) == [[-0.1, -0.1], [-0.1, 0.1], [0.1, -0.1], [0.1, 0.1]]


def test_beams_are_drawn_through_their_nodes():
    solution = ss.solve(ss.benchmarks.flexible_pendulum(), t_end=0.02, dt=1e-4, method="generalized-alpha")
    shot = shoot(solution)
    (beam,) = [trace for trace in shot.traces if trace.kind == "beam"]
    tip = solution.q[:, -3:-1]
    np.testing.assert_allclose(beam.points[:, -1, :2], tip[shot.rows], atol=1e-15)


# -- systems from equations ----------------------------------------------------------------------------------------------


def pendulum() -> ss.System:
    s = ss.System("pendulum")
    length = s.parameter("length", 2.0)
    (phi,), (omega,) = s.coordinates("phi", initial=[1.0], velocity=[0])
    s.kinetic_energy(length**2 * omega**2 / 2)
    s.potential_energy(-9.81 * length * cos(phi))
    s.contact(gap=phi + 0.2, restitution=0.5, name="stop")
    bob = (length * sin(phi), -length * cos(phi))
    s.show(
        Tube((0, 0), bob, radius=0.02),
        Ball(bob, radius=0.1, turn=phi),
        Block((0, 0.05), size=(0.3, 0.1), tone="faint"),
        Coil((1, 0), bob),
        Polyline([(0, 0), bob], "faint"),
        Circle(bob, 0.05),
        GroundLine([(-1, 0), (1, 0)]),
        Wall((0, -2.5), normal=(0, 1)),
        Touch("stop", bob, normal=(cos(phi), sin(phi))),
    )
    return s


def test_equations_can_be_shown_in_their_symbols():
    solution = ss.solve(pendulum(), t_end=1.0, dt=1e-2, parameters={"length": 3.0})
    shot = shoot(solution)
    assert shot.planar
    (tube,) = [trace for trace in shot.traces if trace.kind == "tube"]
    phi = solution.q[shot.rows, 0]
    np.testing.assert_allclose(tube.points[:, 1, :2], 3.0 * np.column_stack([np.sin(phi), -np.cos(phi)]), atol=1e-14)
    np.testing.assert_allclose(shot.poses[0][:, 3], np.cos(phi / 2), atol=1e-14)
    assert {solid.kind for solid in shot.solids} == {"cylinder", "box"}
    assert shot.spots.names == ("stop",)
    assert film(solution).tracks


def test_what_cannot_be_shown_is_refused():
    s = pendulum()
    with pytest.raises(ModelError, match="show\\(\\) takes shapes"):
        s.show("a ball")
    other = ss.System("other")
    (x,), (v,) = other.coordinates("x", initial=[1.0], velocity=[0])
    with pytest.raises(ModelError, match="does not declare"):
        s.show(Circle((x, 0), 0.1))
    with pytest.raises(ModelError, match="depends on velocities"):
        other.show(Circle((x, v), 0.1))
    assert len(s.shown) == 9


def test_a_drawing_adds_or_replaces():
    solution = crank()
    more = ss.shapes.Drawing("more", lambda state: [Circle(state.q[:2], 0.01)], adds=True)
    alone = ss.shapes.Drawing("alone", lambda state: [Circle(state.q[:2], 0.01)])
    plain = shoot(solution)
    assert len(shoot(solution, more).solids) == len(plain.solids)
    assert len(shoot(solution, more).traces) == len(plain.traces) + 1
    assert not shoot(solution, alone).solids
    bare = ss.System("bare")
    _, (v,) = bare.coordinates("x", initial=[1.0], velocity=[0])
    bare.kinetic_energy(v**2 / 2)
    unseen = ss.solve(bare, t_end=0.1, dt=1e-2)
    with pytest.raises(OptionError, match="nothing to draw"):
        shoot(unseen)


def test_a_part_of_one_s_own_shows_itself():
    class Flag:
        name = "flag"

        def declare(self, system, equations):
            pass

        def look(self, sketch):
            sketch.track("line", [(0, 0), (1, 1)], tone="ink", width=2.0)

    s = ss.System("flag")
    s.add(ss.PointMass("ball", mass=1, position=[0, 1]))
    s.add(Flag())
    assert [t.kind for t in shoot(ss.solve(s, t_end=0.1, dt=1e-2)).traces] == ["line"]


def test_a_part_that_cannot_be_drawn_costs_no_result():
    class Broken:
        name = "broken"

        def declare(self, system, equations):
            pass

        def look(self, sketch):
            raise ValueError("no idea")

    s = ss.System("broken")
    s.add(ss.PointMass("ball", mass=1, position=[0, 1]))
    s.add(Broken())
    solution = ss.solve(s, t_end=0.1, dt=1e-2)
    with pytest.raises(OptionError, match="could not be drawn: ValueError: no idea"):
        shoot(solution)


# -- impacts and frames ----------------------------------------------------------------------------------------------------


def test_no_impact_is_dropped():
    solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=4.0, dt=1e-4, progress=False)
    rows = [e.step for e in ss.events(solution).of("impact")]
    few = shoot(solution, frames=20)
    np.testing.assert_allclose(few.impacts, solution.t[rows])
    assert set(np.flatnonzero(few.spots.states[:, 0] == 3)) == set(np.searchsorted(few.rows, rows))
    shot = shoot(solution, frames=20, impact_frames=1000)
    assert set(rows) <= set(shot.rows)
    assert set(shot.rows[shot.spots.states[:, 0] == 3]) == set(rows)
    assert len(shoot(solution, frames=20, impact_frames=5)) <= 30


# -- the tape ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_instructions_compute_what_casadi_does(name):
    x = ca.SX.sym("x", 2)
    a, b = x[0], x[1]
    two = {
        "add": a + b, "sub": a - b, "mul": a * b, "div": a / b, "pow": a**b, "atan2": ca.atan2(a, b), "hypot": ca.hypot(a, b),
        "fmod": ca.fmod(a, b), "fmin": ca.fmin(a, b), "fmax": ca.fmax(a, b), "lt": a < b, "le": a <= b, "eq": a == b,
        "ne": a != b, "and": ca.logic_and(a, b), "or": ca.logic_or(a, b), "if_else_zero": ca.if_else(a > b, a, 0),
        "constpow": a**2.5, "copysign": ca.copysign(a, b), "assign": a, "neg": -a, "sq": a * a, "twice": a + a,
        "inv": 1 / a, "not": ca.logic_not(a),
    }  # fmt: skip
    f = two.get(name)
    f = getattr(ca, name)(a) if f is None else f
    rows = np.random.default_rng(1).uniform(0.05, 0.95, (6, 2)) + (name == "acosh")
    code = tape([x], ca.SX(f))
    expected = [float(ca.Function("f", [x], [f])(row)) for row in rows]
    np.testing.assert_allclose(evaluate(code, rows)[:, 0], expected, rtol=1e-14)


def test_a_hostile_file_runs_nothing():
    with pytest.raises(ResultFileError, match="unknown instruction 'import'"):
        evaluate({"work": 1, "outputs": 1, "code": [["import", 0, 0]]}, np.zeros((1, 1)))


def test_turns_of_all_kinds_agree():
    angle = 0.7
    R = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    half = np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
    for turn in ([[angle]], [2 * half], [R.ravel()]):
        np.testing.assert_allclose(quaternions(np.array(turn))[0], half, atol=1e-15)


def test_the_picture_is_made_once_per_system():
    s = pendulum()
    first = look_of(s).record(s.parameter_values())
    assert first == look_of(s).record(s.parameter_values())


# -- files for ParaView --------------------------------------------------------------------------------------------------


def read_array(element) -> np.ndarray:
    raw = base64.b64decode(element.text)
    kind = {"Float32": "<f4", "Int32": "<i4", "Int64": "<i8"}[element.get("type")]
    assert int.from_bytes(raw[:8], "little") == len(raw) - 8
    return np.frombuffer(raw[8:], kind).reshape(-1, int(element.get("NumberOfComponents")))


def test_files_for_paraview_hold_bodies_and_contacts(tmp_path):
    solution = crank()
    path = write_vtk(solution, tmp_path / "crank.pvd", frames=11)
    shot = shoot(solution, frames=11)
    k = int(np.flatnonzero((shot.spots.states > 0).any(axis=1))[0])
    sets = ElementTree.parse(path).getroot().findall(".//DataSet")
    assert [float(s.get("timestep")) for s in sets[::2]] == shot.t.tolist()
    for entry in sets:
        assert (tmp_path / entry.get("file")).exists()
    bodies, contacts = (ElementTree.parse(tmp_path / s.get("file")).getroot() for s in sets[2 * k : 2 * k + 2])
    arrays = {
        a.get("Name"): read_array(a)
        for a in contacts.iter("DataArray")
        if a.get("Name") in ("force", "state", "Points")
    }
    closed = shot.spots.states[k] > 0
    np.testing.assert_allclose(arrays["force"], shot.spots.forces[k, closed], rtol=1e-6)
    np.testing.assert_allclose(arrays["Points"], shot.spots.places[k, closed], rtol=1e-6, atol=1e-9)
    piece = bodies.find(".//Piece")
    (numbers,) = [read_array(a)[:, 0] for a in bodies.iter("DataArray") if a.get("Name") == "body"]
    assert len(numbers) == int(piece.get("NumberOfPolys")) + int(piece.get("NumberOfLines"))
    assert set(numbers) == {-1, 0, 1, 2}
    points = read_array(bodies.find(".//Points/DataArray"))
    assert len(points) == int(piece.get("NumberOfPoints"))
    for index in bodies.findall(".//Polys/DataArray"):
        if index.get("Name") == "connectivity":
            assert read_array(index).max() < len(points)
    with pytest.raises(ResultFileError, match=r"end its name in \.pvd"):
        write_vtk(solution, tmp_path / "crank.vtk")


@pytest.mark.parametrize(
    "solid, volume",
    [
        (Solid("box", -1, np.zeros(3), np.array([1.0, 0, 0, 0]), {"size": [1.0, 2.0, 3.0]}), 6.0),
        (Solid("ball", -1, np.ones(3), np.array([1.0, 0, 0, 0]), {"radius": 0.5}), 4 / 3 * np.pi / 8),
        (Solid("cylinder", -1, np.zeros(3), np.array([0.6, 0.8, 0, 0]), {"radius": 0.5, "length": 2.0}), np.pi / 2),
        (
            Solid(
                "link", -1, np.zeros(3), np.array([1.0, 0, 0, 0]), {"radius": 0.1, "ends": [[0, 0, 0], [1.0, 1.0, 0]]}
            ),
            np.pi * 0.01 * 2**0.5 + 4 / 3 * np.pi * 1e-3,
        ),
    ],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_meshes_are_closed_and_have_the_volume_of_their_solids(solid, volume):
    vertices, faces = mesh_of(solid)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    assert abs(np.einsum("ij,ij->", a, np.cross(b, c)) / 6) == pytest.approx(volume, rel=0.04)


@pytest.mark.parametrize("reach, links", [(0.05, 0), (0.5, 2)])
def test_a_body_of_balls_is_linked_to_joints_outside_of_them(reach, links):
    """A wheel with its pin inside needs no link; a pendulum with a ball at its end has one to its pin, and one to its ball."""
    s = ss.System("pendulum")
    bob = s.add(ss.PlanarBody("bob", mass=1, inertia=0.1, position=[0, -0.5]))
    s.add(ss.Revolute("pin", ss.ground.point(0, reach - 0.5), bob.point(0, reach)))
    s.add(ss.Contact("floor", ss.Sphere(bob.point(0, -0.01), 0.1), ss.Line([0, -1], [0, 1])))
    drawn = [solid["kind"] for solid in look_of(s).solids]
    assert drawn.count("link") == links
    assert drawn.count("ball") == 1


def test_detected_contacts_are_shown_in_their_frames():
    """An impact, then sliding with friction at its limit, then rest with less friction."""
    percussion = np.array([[0.0, 0.0, 5.0], [-0.3, 0.0, 1.0], [-0.3, 0.0, 1.0], [-0.1, 0.0, 1.0], [0.0, 0.0, 0.0]])
    normal = np.tile([0.0, 0.0, 1.0], (5, 1))
    pairs, row = np.tile([0, 1], (5, 1)), np.arange(2, 7)
    found = DetectedContacts(
        ("a", "b"), step=row, row=row, shapes=pairs, features=0 * pairs, normal=normal, gap=np.zeros(5),
        point=np.arange(15.0).reshape(5, 3), percussion=percussion,
        before=np.array([[1.0, 0, -2], [1, 0, 0], [0.5, 0, 0], [0, 0, 0], [0, 0, 0]]),
        after=np.array([[1.0, 0, 0], [0.5, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]),
    )  # fmt: skip
    solution = SimpleNamespace(t=np.linspace(0, 0.8, 9), contacts=found, provenance={})
    shown = detected(solution, np.array([0, 2, 3, 5, 8]))
    np.testing.assert_array_equal(shown.frame, [1, 2, 3])
    np.testing.assert_array_equal(shown.states, [3, 2, 1])
    np.testing.assert_allclose(shown.forces, percussion[[0, 1, 3]] / 0.1)
    np.testing.assert_array_equal(shown.places, found.point[[0, 1, 3]])
    assert len(detected(SimpleNamespace(t=solution.t), np.array([0, 2]))) == 0


def test_impacts_of_detected_contacts_have_frames_and_marks_of_their_own():
    """A ball that bounces: three impacts in 0.75 s, none of which ten frames would meet."""
    s = ss.System("ball")
    s.add(ss.Gravity([0, 0, -9.81]))
    ball = s.add(ss.solid("ball", ss.Sphere(ss.ground.point(0, 0, 0.3), 0.1), density=1000))
    s.add(ss.Collisions("contacts", [ball, ss.Plane([0, 0, 0], [0, 0, 1])], restitution=0.7))
    solution = ss.solve(s, t_end=0.75, dt=1e-3)
    fall, shot = np.sqrt(2 * 0.2 / 9.81), shoot(solution, frames=10, impact_frames=600)
    assert shot.impacts == pytest.approx(fall * np.array([1, 1 + 2 * 0.7, 1 + 2 * (0.7 + 0.49)]), abs=4e-3)
    assert set(shot.impacts) <= set(shot.t)
    assert (shot.detected.states == 3).sum() == 3


def test_detected_contacts_slip_and_stick_by_their_own_friction():
    """A box slides on ice until it rests; wood lands beside it and sticks at once, with a much larger friction."""
    s = ss.System("materials")
    s.add(ss.Gravity([0, -9.81]))
    steel = s.add(ss.solid("steel", ss.Box(ss.ground.frame([0, 0.05]), [0.2, 0.1]), density=100, velocity=[1, 0]))
    wood = s.add(ss.solid("wood", ss.Box(ss.ground.frame([3, 0.25]), [0.2, 0.1]), density=100, velocity=[1, 0]))
    friction = {("steel", "ice"): 0.1, ("wood", "ice"): 0.6, ("steel", "wood"): 0.3, "steel": 0, "wood": 0, "ice": 0}
    ice = ss.Line([0, 0], [0, 1])
    s.add(ss.Collisions("contacts", {"steel": steel, "wood": wood, "ice": ice}, friction=friction))
    solution = ss.solve(s, t_end=1.3, dt=1e-2)
    shown = detected(solution, np.arange(len(solution)))
    left, t = shown.places[:, 0] < 2.5, solution.t[shown.frame]
    assert (shown.states[left & (t < 1.0)] == 2).all()  # 1 m/s against 0.1 g
    assert (shown.states[left & (t > 1.05)] == 1).all()
    landed = np.sqrt(2 * 0.2 / 9.81)
    assert (shown.states[~left & (t < landed + 0.01)] == 3).sum() == 2
    assert (shown.states[~left & (t > landed + 0.01)] == 1).all()
