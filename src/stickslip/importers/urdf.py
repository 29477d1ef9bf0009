"""URDF, the robot description of ROS, read with the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from stickslip.errors import ModelError
from stickslip.importers.mechanism import ActuatorData, ImportedSystem, JointData, LinkData, Notes, build
from stickslip.importers.safely import inside, parse, read_model
from stickslip.importers.skins import SkinShape, hull, mesh_corners

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "planar": "planar",
    "floating": "free",
}


def from_urdf(
    path: str | Path,
    *,
    gravity: Any = (0.0, 0.0, -9.81),
    positions: Mapping[str, float] | None = None,
    velocities: Mapping[str, float] | None = None,
    restitution: float = 0.0,
) -> ImportedSystem:
    """A system from a URDF file: bodies, joints with limits, damping and friction, mimic joints, motors, shapes.

    The root link is fixed to the ground. positions, velocities: of joints at the start, by name, in the file's sense;
    zero where not given. restitution: of the stops at joint limits. Each transmission becomes a `Motor` whose force is a
    parameter, zero until it is set. `system.report` lists what was not taken over, and a warning says so.

    No code runs and no file outside the model's folder is read; meshes are STL or OBJ files in it.

    >>> arm = ss.from_urdf("arm.urdf", positions={"shoulder": 0.5})    # doctest: +SKIP
    >>> solution = ss.solve(arm, t_end=1.0, dt=1e-3)    # doctest: +SKIP
    >>> solution["shoulder.angle"]    # doctest: +SKIP
    """
    path, text = read_model(path)
    root = parse(text, path)
    if root.tag != "robot":
        raise ModelError(f"{path} is not a URDF file: its root is <{_short(root.tag)}>, not <robot>")
    if "<xacro:" in text or "${" in text:
        raise ModelError(f"{path} contains xacro macros; expand them first: xacro {path.name} > robot.urdf")
    reader = _UrdfReader(path.parent)
    links = [reader.link(element) for element in root.findall("link")]
    joints = [reader.joint(element) for element in root.findall("joint")]
    actuators = [a for element in root.findall("transmission") for a in reader.transmission(element, joints)]
    for element in root:
        if element.tag not in ("link", "joint", "transmission", "material"):
            reader.note(f"<{_short(element.tag)}>", "is not a part of the mechanism")
    if touching := [link.get("name") for link in root.findall("link") if link.find("collision") is not None]:
        text = f"collision shapes of {len(touching)} links are in system.shapes; no contact is declared for them"
        reader.note("contacts", text)
    if not links:
        raise ModelError(f"{path} has no links")
    return build(
        root.get("name") or path.stem,
        links,
        joints,
        actuators,
        gravity=gravity,
        positions=positions,
        velocities=velocities,
        restitution=restitution,
        report=reader.notes,
    )


class _UrdfReader:
    """Elements to data; what has no counterpart is noted."""

    def __init__(self, folder: Path):
        self.folder, self.notes = folder, Notes()
        self.note = self.notes.note

    def link(self, element: Element) -> LinkData:
        name = _name(element)
        where = f"link {name}"
        mass, com, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
        inertial = element.find("inertial")
        if inertial is not None:
            com, turn = _origin(inertial, where)
            mass = _number(inertial.find("mass"), "value", where)
            J = inertial.find("inertia")
            xx, xy, xz, yy, yz, zz = (_number(J, key, where) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
            inertia = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
            if mass < 0:
                raise ModelError(f"{where}: mass = {mass:g} must not be negative")
        # Collision shapes are what touches; a link without any shows its visual ones.
        found = element.findall("collision") or element.findall("visual")
        shapes = tuple(shape for each in found for shape in self.shape(each, where))
        self._rest(element, where, ("inertial", "collision", "visual"))
        return LinkData(name, mass, com, inertia, shapes)

    def shape(self, element: Element, where: str) -> list[SkinShape]:
        place, turn = _origin(element, where)
        geometry = element.find("geometry")
        for child in geometry if geometry is not None else ():
            if child.tag == "box":
                return [SkinShape("box", place, turn, tuple(_vector(child, "size", where)))]
            if child.tag == "sphere":
                return [SkinShape("sphere", place, turn, (_number(child, "radius", where),))]
            if child.tag in ("cylinder", "capsule"):
                sizes = (_number(child, "radius", where), _number(child, "length", where))
                return [SkinShape(child.tag, place, turn, sizes)]
            if child.tag == "mesh":
                return self.mesh(child, place, turn, where)
            self.note(where, f"the shape <{_short(child.tag)}> is not known")
        return []

    def mesh(self, element: Element, place: np.ndarray, turn: np.ndarray, where: str) -> list[SkinShape]:
        name = (element.get("filename") or "").removeprefix("file://")
        if name.startswith("package://"):
            name = name.removeprefix("package://").partition("/")[2]
        suffix = Path(name).suffix.lower()
        if suffix not in (".stl", ".obj"):
            self.note(where, f"the mesh {name!r} is not an STL or OBJ file")
            return []
        file = inside(self.folder, name)
        if file is None:
            self.note(where, f"the mesh {name!r} is not in the folder of the model")
            return []
        scale = np.array(_vector(element, "scale", where, default=(1.0, 1.0, 1.0)))
        try:
            corners = hull(mesh_corners(file.read_bytes(), suffix) * scale)
        except ModelError as error:
            raise ModelError(f"{where}, mesh {name!r}: {error}") from None
        self.note(where, f"the mesh {name!r} is known by the {len(corners)} corners of its convex hull")
        return [SkinShape("hull", place, turn, corners=corners)]

    def joint(self, element: Element) -> JointData:
        name, kind = _name(element), element.get("type", "")
        where = f"joint {name}"
        if kind not in KINDS:
            raise ModelError(f"{where}: its type {kind!r} is not one of {', '.join(KINDS)}")
        ends = [element.find(key) for key in ("parent", "child")]
        parent, child = (end.get("link") if end is not None else None for end in ends)
        if not parent or not child:
            raise ModelError(f"{where} needs <parent link=.../> and <child link=.../>")
        place, turn = _origin(element, where)
        axis = np.array(_vector(element.find("axis"), "xyz", where, default=(1.0, 0.0, 0.0)))
        if not np.linalg.norm(axis) > 0:
            raise ModelError(f"{where}: its axis has length zero")
        values: dict[str, Any] = {}
        limit = element.find("limit")
        if limit is not None and kind in ("revolute", "prismatic"):
            values = {key: _number(limit, key, where, default=0.0) for key in ("lower", "upper")}
        elif kind in ("revolute", "prismatic"):
            raise ModelError(f"{where}: a joint of type {kind!r} needs <limit>; without limits it is 'continuous'")
        for key in ("effort", "velocity"):
            if limit is not None and limit.get(key) is not None:
                self.note(where, f"the {key} limit {limit.get(key)} is not enforced")
        if (dynamics := element.find("dynamics")) is not None and kind not in ("fixed", "floating"):
            values |= {key: _number(dynamics, key, where, default=0.0) for key in ("damping", "friction")}
            if kind == "planar" and any((values.pop("damping"), values.pop("friction"))):
                self.note(where, "damping and friction of a planar joint are left out")
        if (mimic := element.find("mimic")) is not None:
            values["mimic"] = (
                mimic.get("joint", ""),
                _number(mimic, "multiplier", where, default=1.0),
                _number(mimic, "offset", where, default=0.0),
            )
        self._rest(element, where, ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"))
        return JointData(name, KINDS[kind], parent, child, place, turn, axis / np.linalg.norm(axis), **values)

    def transmission(self, element: Element, joints: list[JointData]) -> list[ActuatorData]:
        movable = {joint.name for joint in joints if joint.kind in ("revolute", "prismatic")}
        out = []
        for joint in element.findall("joint"):
            name = joint.get("name", "")
            if name not in movable:
                self.note(f"transmission {element.get('name')}", f"its joint {name!r} is not a movable joint")
                continue
            actuator = element.find("actuator")
            title = actuator.get("name") if actuator is not None else None
            out.append(ActuatorData(title or f"{name}.motor", name))
            reduction = element.find("actuator/mechanicalReduction")
            if reduction is not None and (reduction.text or "1").strip() not in ("1", "1.0"):
                self.note(
                    f"transmission {element.get('name')}", "its reduction is left out: the motor acts on the joint"
                )
        return out

    def _rest(self, element: Element, where: str, known: tuple[str, ...]) -> None:
        for child in element:
            if child.tag not in known:
                self.note(where, f"<{_short(child.tag)}> is left out")


def _short(tag: str) -> str:
    return tag if len(tag) < 60 else f"{tag[:57]}..."


def _name(element: Element) -> str:
    name = element.get("name")
    if not name or not name.strip():
        raise ModelError(f"a <{element.tag}> has no name")
    return name


def _origin(element: Element, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Place and axes; rpy are turns about fixed x, y and z."""
    origin = element.find("origin")
    place = np.array(_vector(origin, "xyz", where, default=(0.0, 0.0, 0.0)))
    roll, pitch, yaw = _vector(origin, "rpy", where, default=(0.0, 0.0, 0.0))
    (a, b, c), (d, e, f) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    turn = [
        [c * b, c * e * d - f * a, c * e * a + f * d],
        [f * b, f * e * d + c * a, f * e * a - c * d],
        [-e, b * d, b * a],
    ]
    return place, np.array(turn)


def _number(element: Element | None, key: str, where: str, default: float | None = None) -> float:
    return _vector(element, key, where, n=1, default=None if default is None else (default,))[0]


def _vector(
    element: Element | None, key: str, where: str, n: int = 3, default: tuple[float, ...] | None = None
) -> list[float]:
    text = None if element is None else element.get(key)
    if text is None:
        if default is None:
            raise ModelError(f"{where}: {key} is missing")
        return list(default)
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != n or not np.isfinite(values).all():
        raise ModelError(f"{where}: {key} = {text!r} must be {n} finite number{'s' if n > 1 else ''}")
    return values
