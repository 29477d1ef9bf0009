"""Robots from files: the same arm from URDF, from MJCF and from parts, and files that mean harm."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stickslip as ss
from stickslip.errors import ModelError
from stickslip.importers.skins import hull, mesh_corners

ROBOTS = Path(__file__).parent / "robots"
START = {"axis_1": 0.3, "axis_2": 0.4, "axis_3": -0.6, "axis_4": 0.2, "axis_5": 0.5, "axis_6": -0.4}
SPEED = {"axis_1": 1.0, "axis_3": -0.5, "axis_6": 2.0}
AXES = [f"axis_{k}" for k in range(1, 7)]


def quietly(make, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.IncompleteImport)
        return make(*arguments, **options)


def written(tmp_path: Path, text: str, name: str = "model.urdf") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def urdf():
    return quietly(ss.from_urdf, ROBOTS / "arm.urdf", positions=START, velocities=SPEED)


@pytest.fixture(scope="module")
def mjcf():
    pytest.importorskip("mujoco")
    return quietly(ss.from_mjcf, ROBOTS / "arm.xml", positions=START, velocities=SPEED)


def from_parts() -> ss.System:
    """The arm of arm.urdf from the numbers in it, by hand: frames by products of rotations, bodies, hinges."""
    up = np.pi / 2
    J = {
        "shoulder": [[0.052, 0.0012, -0.0008], [0.0012, 0.049, 0.0021], [-0.0008, 0.0021, 0.031]],
        "upper_arm": [[0.31, 0.004, 0.0], [0.004, 0.042, 0.003], [0.0, 0.003, 0.305]],
        "forearm": [[0.091, 0.0, 0.0014], [0.0, 0.088, -0.0009], [0.0014, -0.0009, 0.017]],
        "wrist_1": [[0.0061, 0, 0], [0, 0.0058, 0.0003], [0, 0.0003, 0.0036]],
        "wrist_2": [[0.0027, 0.0001, 0], [0.0001, 0.0025, 0], [0, 0, 0.0019]],
        "flange": np.diag([0.00035, 0.00035, 0.00045]),
        "tool": [[0.0022, 0, 0], [0, 0.0021, 0.0001], [0, 0.0001, 0.0008]],
    }
    rows = [  # link, mass, com, inertial rpy, joint xyz, joint rpy, axis
        ("shoulder", 8.5, (0.01, -0.04, 0.11), (0, 0, 0), (0, 0, 0.16), (0, 0, 0), (0, 0, 1)),
        ("upper_arm", 11.2, (0, 0.21, 0.02), (0.1, -0.2, 0.3), (0.05, 0, 0.18), (up, 0, 0), (0, 0, 1)),
        ("forearm", 5.4, (0.03, 0.015, 0.16), (0, 0, 0), (0, 0.42, 0.01), (0, 0, -0.3), (0, 0, 1)),
        ("wrist_1", 2.1, (0, -0.02, 0.05), (0, 0, 0), (0.06, 0, 0.3), (0, up, 0), (1, 0, 0)),
        ("wrist_2", 1.4, (0.005, 0, 0.03), (0, 0.4, 0), (0, 0, 0.1), (-0.2, 0, 0.1), (0, 1, 0)),
        ("flange", 0.5, (0, 0, 0.012), (0, 0, 0), (0, 0.02, 0.08), (0, 0, 0), (0.6, 0, 0.8)),
    ]
    damping = [0.8, 0.9, 0.5, 0.1, 0.08, 0.02]
    friction = [0, 0.4, 0.2, 0.05, 0, 0]
    limits = [None, (-2.2, 2.4), (-2.6, 2.6), (-3.0, 3.0), (-2.0, 2.0), None]
    s = ss.System("by hand")
    A, r, v, w = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)
    before, place_before, turn_before = ss.ground, np.zeros(3), np.eye(3)
    for k, (link, mass, com, turned, xyz, rpy, axis) in enumerate(rows):
        name = AXES[k]
        anchor = r + A @ xyz
        v = v + np.cross(w, anchor - r)
        axis_in_space = A @ Rotation.from_euler("xyz", rpy).as_matrix() @ axis
        A = (
            A
            @ Rotation.from_euler("xyz", rpy).as_matrix()
            @ Rotation.from_rotvec(START[name] * np.array(axis)).as_matrix()
        )
        r, w = anchor, w + SPEED.get(name, 0.0) * axis_in_space
        R = Rotation.from_euler("xyz", turned).as_matrix()
        inertia, c = R @ J[link] @ R.T, np.array(com, dtype=float)
        if link == "flange":  # with the tool that is fixed to it
            T = Rotation.from_euler("xyz", (0, 0, 0.7)).as_matrix()
            R = Rotation.from_euler("xyz", (0, 0, 0.2)).as_matrix()
            c_tool = np.array([0, 0, 0.025]) + T @ [0, 0.01, 0.07]
            both = (mass * c + 0.9 * c_tool) / (mass + 0.9)
            steiner = lambda m, d: m * (d @ d * np.eye(3) - np.outer(d, d))  # noqa: E731
            inertia = inertia + steiner(mass, c - both) + T @ R @ J["tool"] @ R.T @ T.T + steiner(0.9, c_tool - both)
            mass, c = mass + 0.9, both
        center = r + A @ c
        body = s.add(
            ss.RigidBody(link, mass=mass, inertia=inertia, position=center, orientation=A,
                         velocity=v + np.cross(w, center - r), angular_velocity=A.T @ w)
        )  # fmt: skip
        at = turn_before.T @ (anchor - place_before)
        joint = s.add(ss.Revolute(name, before.point(*at), body.point(*(-c)), axis=turn_before.T @ axis_in_space))
        if limits[k]:
            lower, upper = limits[k]
            s.add(ss.Limits(f"{name}.limits", joint.angle, lower=lower - START[name], upper=upper - START[name]))
        s.add(ss.SpringDamper(f"{name}.spring", joint.angle, damping=damping[k]))
        if friction[k]:
            s.add(ss.Friction(f"{name}.friction", joint.angle, force=friction[k]))
        before, place_before, turn_before = body, center, A
    s.add(ss.Gravity([0, 0, -9.81]))
    return s


def test_masses_axes_and_swing_of_the_arm_are_those_of_parts(urdf, mjcf):
    """The state, the joint axes, the total mass, and 0.25 s of swing with friction, damping and stops."""
    hand = from_parts()
    swings = {}
    for name, system in {"hand": hand, "urdf": urdf, "mjcf": mjcf}.items():
        np.testing.assert_allclose(system.q_initial, hand.q_initial, atol=1e-12)
        np.testing.assert_allclose(system.u_initial, hand.u_initial, atol=1e-12)
        masses = [value for key, value in system.parameters.items() if key.endswith(".mass")]
        assert sum(masses) == pytest.approx(8.5 + 11.2 + 5.4 + 2.1 + 1.4 + 0.5 + 0.9, rel=1e-12)
        swings[name] = ss.solve(system, t_end=0.25, dt=1e-3, tol=1e-11, progress=False)
    for axis in AXES:
        for name in ("urdf", "mjcf"):
            np.testing.assert_allclose(
                {"urdf": urdf, "mjcf": mjcf}[name].joints[axis].axis,
                next(part for part in hand.parts if part.name == axis).axis,
                atol=1e-12,
            )
            np.testing.assert_allclose(swings[name][f"{axis}.angle"], swings["hand"][f"{axis}.angle"], atol=1e-9)
    for name in ("urdf", "mjcf"):
        np.testing.assert_allclose(swings[name].q, swings["hand"].q, atol=1e-9)
    assert abs(swings["hand"]["axis_2.angle"][-1]) > 0.1  # it did swing


def test_mujoco_agrees_about_the_mass_matrix_and_the_weight(mjcf):
    """Kinetic and potential energy of the imported arm are those that MuJoCo computes for the same state."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_path(str(ROBOTS / "arm.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = [START[name] for name in AXES]
    data.qvel[:] = [SPEED.get(name, 0.0) for name in AXES]
    mujoco.mj_forward(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    solution = ss.solve(mjcf, t_end=1e-4, dt=1e-4, progress=False)
    assert solution.kinetic[0] == pytest.approx(data.energy[1], rel=1e-9)
    base = 12.0 * 9.81 * 0.06  # the base is part of the ground here
    assert solution.potential[0] == pytest.approx(data.energy[0] - base, rel=1e-9)


def test_names_shapes_motors_and_report(urdf, mjcf):
    for system in (urdf, mjcf):
        assert list(system.joints) == AXES
        assert list(system.motors) == [f"motor_{name}" for name in AXES]
        assert system.bodies["tool"] is system.bodies["flange"]
        assert isinstance(system.bodies["base"], type(ss.ground))
        assert [type(x).__name__ for x in system.shapes["upper_arm"]] == ["Box"]
        assert len(system.shapes["tool"]) == 8
        assert "motor_axis_1.force" in system.parameters
        assert any("contact" in what for _, what in system.report)
        assert any("8 corners of its convex hull" in what for _, what in system.report)
    assert ("joint axis_2", "the effort limit 150 is not enforced") in list(urdf.report)
    tip = urdf.frames["tool"].point(0, 0, 0.1)
    assert urdf.initial_value(tip.body.position(tip.coordinates)).shape == (3,)
    corners = [urdf.initial_value(p.body.position(p.coordinates)) for p in urdf.shapes["tool"]]
    same = [mjcf.initial_value(p.body.position(p.coordinates)) for p in mjcf.shapes["tool"]]
    for corner in corners:
        assert min(np.abs(corner - other).max() for other in same) < 1e-6  # MuJoCo keeps vertices in single precision


def test_a_motor_is_a_parameter(urdf):
    still = ss.solve(urdf, t_end=0.02, dt=1e-3, progress=False)
    driven = ss.solve(urdf, t_end=0.02, dt=1e-3, parameters={"motor_axis_1.force": 50.0}, progress=False)
    np.testing.assert_allclose(driven["motor_axis_1.force"], 50.0)
    assert driven["axis_1.angle"][-1] > still["axis_1.angle"][-1] + 1e-4


def test_what_is_left_out_is_warned_about():
    with pytest.warns(ss.IncompleteImport, match="system.report lists them"):
        ss.from_urdf(ROBOTS / "arm.urdf")


ROD = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def robot(joints: str, links: str = "") -> str:
    return (
        f'<robot name="r"><link name="a"/><link name="b">{ROD}</link><link name="c">{ROD}</link>{links}{joints}</robot>'
    )


def joint(name: str, kind: str, parent: str, child: str, inner: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inner}</joint>'


def test_mimic_prismatic_and_floating_joints(tmp_path):
    limit = '<limit lower="-1" upper="1"/>'
    joints = joint("j", "continuous", "a", "b") + joint("k", "prismatic", "a", "c", limit)
    mimic = joints.replace("</joint>", '<mimic joint="k" multiplier="2" offset="0.1"/></joint>', 1)
    system = ss.from_urdf(written(tmp_path, robot(mimic)), velocities={"k": 0.5}, gravity=None)
    solution = ss.solve(system, t_end=0.2, dt=1e-3, progress=False)
    np.testing.assert_allclose(solution["j.angle_dot"], 2 * solution["k.displacement_dot"], atol=1e-7)
    assert solution["k.displacement"][-1] == pytest.approx(0.1, rel=1e-2)
    free = ss.from_urdf(written(tmp_path, robot(joint("f", "floating", "a", "b") + joint("g", "planar", "a", "c"))))
    assert free.n_u == 12
    fall = ss.solve(free, t_end=0.1, dt=1e-3, progress=False)
    assert fall["b.z"][-1] == pytest.approx(-9.81 * 0.1**2 / 2, rel=2e-2)


@pytest.mark.parametrize(
    "text, message",
    [
        ('<!DOCTYPE robot [<!ENTITY a "aaaa">]><robot name="x"/>', "document type or entities"),
        ('<!DocType robot SYSTEM "file:///etc/passwd"><robot/>', "document type or entities"),
        ("<robot><link", "is not valid XML"),
        ("<mujoco/>", "is not a URDF file: its root is <mujoco>"),
        ("<robot/>", "has no links"),
        (robot(joint("j", "hinge", "a", "b")), "its type 'hinge' is not one of"),
        (robot(joint("j", "revolute", "a", "b")), "needs <limit>"),
        (robot(joint("j", "continuous", "a", "x")), "unknown link 'x'"),
        (robot(joint("j", "continuous", "a", "b") + joint("k", "continuous", "c", "b")), "child of two joints"),
        (
            robot(joint("j", "continuous", "b", "c") + joint("k", "continuous", "c", "b")),
            "hang on each other in a loop",
        ),
        (robot(joint("j", "continuous", "a", "b"), '<link name="a"/>'), "link 'a' is there twice"),
        (robot(joint("j", "continuous", "b", "a"), ""), "moves but has no mass"),
        (robot(joint("j", "continuous", "a", "b", '<axis xyz="0 0 0"/>')), "axis has length zero"),
        (robot(joint("j", "continuous", "a", "b", '<axis xyz="0 0"/>')), "must be 3 finite numbers"),
        (robot(joint("j", "continuous", "a", "b", '<axis xyz="nan 0 1"/>')), "must be 3 finite numbers"),
        ('<robot xmlns:xacro="x"><xacro:macro/></robot>', "expand them first"),
        (robot("", '<link name="d"><inertial><mass value="-1"/><inertia/></inertial></link>'), "ixx is missing"),
    ],
)
def test_files_that_are_wrong_or_mean_harm_are_refused(tmp_path, text, message):
    with pytest.raises(ModelError, match=message):
        ss.from_urdf(written(tmp_path, text))


def mesh_robot(name: str) -> str:
    shape = f'<collision><geometry><mesh filename="{name}"/></geometry></collision>'
    return robot("", f'<link name="d">{shape}</link>')


@pytest.mark.parametrize(
    "name", ["../secret.stl", "/etc/secret.stl", "file:///etc/secret.stl", "package://p/../../x.stl"]
)
def test_meshes_outside_the_folder_are_not_read(tmp_path, name):
    (tmp_path / "secret.stl").write_bytes((ROBOTS / "meshes" / "gripper.stl").read_bytes())
    (tmp_path / "inner").mkdir()
    with pytest.raises(ModelError, match="outside its folder|inside its own folder"):
        ss.from_urdf(written(tmp_path / "inner", mesh_robot(name)))


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.stl").write_bytes((ROBOTS / "meshes" / "gripper.stl").read_bytes())
    (inner / "mesh.stl").symlink_to(tmp_path / "secret.stl")
    with pytest.raises(ModelError, match="outside its folder"):
        ss.from_urdf(written(inner, mesh_robot("mesh.stl")))


def test_meshes_that_are_missing_are_reported_and_damaged_ones_refused(tmp_path):
    system = quietly(ss.from_urdf, written(tmp_path, mesh_robot("nowhere.stl")))
    assert ("link d", "the mesh 'nowhere.stl' is not in the folder of the model") in list(system.report)
    system = quietly(ss.from_urdf, written(tmp_path, mesh_robot("shape.dae")))
    assert any("not an STL or OBJ file" in what for _, what in system.report)
    (tmp_path / "bad.stl").write_bytes(b"\0" * 100)
    with pytest.raises(ModelError, match="link d, mesh 'bad.stl': the mesh file is damaged"):
        ss.from_urdf(written(tmp_path, mesh_robot("bad.stl")))


def test_corners_of_text_and_binary_meshes():
    binary = mesh_corners((ROBOTS / "meshes" / "gripper.stl").read_bytes(), ".stl")
    assert len(hull(binary)) == 8
    text = b"solid x\n" + b"".join(b"vertex %g %g %g\n" % tuple(v) for v in binary) + b"endsolid\n"
    np.testing.assert_array_equal(mesh_corners(text, ".stl"), binary)
    obj = b"".join(b"v %g %g %g\n" % tuple(v) for v in binary) + b"f 1 2 3\n"
    np.testing.assert_array_equal(mesh_corners(obj, ".obj"), binary)
    with pytest.raises(ModelError, match="no volume"):
        hull(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]))


def test_positions_are_checked():
    with pytest.raises(ModelError, match="unknown joint 'axis_9'; did you mean"):
        ss.from_urdf(ROBOTS / "arm.urdf", positions={"axis_9": 1.0})
    with pytest.raises(ModelError, match="starts at 3, beyond its upper limit 2.4"):
        ss.from_urdf(ROBOTS / "arm.urdf", positions={"axis_2": 3.0})


# --- MJCF ----------------------------------------------------------------------------------------------------------


def mujoco_model(body: str, more: str = "") -> str:
    return f'<mujoco><worldbody><body name="b"><geom size="0.1"/>{body}</body></worldbody>{more}</mujoco>'


@pytest.mark.parametrize(
    "text, message",
    [
        ("<robot/>", "is not an MJCF file"),
        ('<mujoco><include file="../other.xml"/></mujoco>', "outside its folder"),
        ('<mujoco><include file="none.xml"/></mujoco>', "not in its folder"),
        ('<mujoco><asset><mesh file="/etc/passwd"/></asset></mujoco>', "inside its own folder"),
        ('<mujoco><asset><mesh file="no.stl"/></asset></mujoco>', "which is not in its folder"),
        ('<mujoco><extension><plugin plugin="p"/></extension></mujoco>', "plugins"),
        ('<mujoco><worldbody><replicate count="1000000"/></worldbody></mujoco>', "copies"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><mujoco/>', "document type or entities"),
        (mujoco_model("<joint name='x'/><joint name='y' axis='1 0 0'/>"), "has 2 joints"),
        (mujoco_model("<joint type='screw'/>"), "MuJoCo cannot read it"),
    ],
)
def test_models_that_are_wrong_or_mean_harm_are_refused(tmp_path, text, message):
    pytest.importorskip("mujoco")
    with pytest.raises(ModelError, match=message):
        ss.from_mjcf(written(tmp_path, text, "model.xml"))


def test_a_servo_spring_and_includes_of_mjcf(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "defaults.xml").write_text('<mujoco><default><joint damping="0.5"/></default></mujoco>')
    shutil.copytree(ROBOTS / "meshes", tmp_path / "meshes")
    servo = '<position name="servo" joint="x" kp="20"/>'
    filtered = '<general name="arm" joint="x" dyntype="filter" dynprm="1"/>'
    actuators = f"<actuator>{servo}{filtered}</actuator>"
    more = (
        f'<include file="defaults.xml"/>{actuators}<tendon><fixed name="t"><joint joint="x" coef="1"/></fixed></tendon>'
    )
    text = mujoco_model("<joint name='x' stiffness='3' springref='10' armature='0.1'/>", more)
    system = quietly(ss.from_mjcf, written(tmp_path, text, "model.xml"), positions={"x": 0.2}, gravity=None)
    assert system.parameters["x.spring.stiffness"] == 3.0
    assert system.parameters["x.spring.damping"] == 0.5
    assert system.parameters["x.spring.rest_length"] == pytest.approx(np.deg2rad(10) - 0.2)
    assert system.parameters["servo.target"] == -0.2
    said = str(system.report)
    for words in ("actuator arm: is not a motor", "armature 0.1", "1 tendon left out"):
        assert words in said
    solution = ss.solve(system, t_end=0.01, dt=1e-3, progress=False)
    assert solution["servo.force"][0] == pytest.approx(-20 * 0.2)
