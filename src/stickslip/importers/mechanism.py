"""What a robot file describes, whatever its format: links, joints, actuators; and the system that it becomes.

A link has a frame. At joint position x the frame of a child lies in that of its parent at

    (p, R) * turn by x about (or shift by x along) the axis through the anchor

with anchor and axis in the child's frame. Links that are fixed to each other become one body; the body's frame has its
centre of mass as origin and the axes of its first link.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.errors import ModelError, unknown_name
from stickslip.importers.skins import Skin, SkinShape, placed
from stickslip.model.bodies import RigidBody
from stickslip.model.drives import Friction, Gear, Limits
from stickslip.model.forces import Controller, Gravity, Motor, SpringDamper
from stickslip.model.frames import Carrier, ground
from stickslip.model.joints import PlanarJoint, Prismatic, Revolute, Spherical
from stickslip.model.measures import Measure
from stickslip.model.system import System

WORLD = "world"


@dataclass(frozen=True)
class LinkData:
    """A link: mass, centre of mass and inertia about it, in the axes of the link; shapes, in its frame."""

    name: str
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    shapes: tuple[SkinShape, ...] = ()


@dataclass(frozen=True)
class JointData:
    """A joint; kind is fixed, revolute, prismatic, ball, planar or free."""

    name: str
    kind: str
    parent: str
    child: str
    place: np.ndarray = field(default_factory=lambda: np.zeros(3))
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    anchor: np.ndarray = field(default_factory=lambda: np.zeros(3))
    lower: float | None = None
    upper: float | None = None
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    position: float = 0.0
    mimic: tuple[str, float, float] | None = None  # joint, multiplier, offset


@dataclass(frozen=True)
class ActuatorData:
    """A motor of a joint (force), or a controller of its position, with stiffness and damping."""

    name: str
    joint: str
    stiffness: float | None = None
    damping: float = 0.0


@dataclass(frozen=True)
class ImportReport:
    """What a file has that the system has not: (where, what) pairs.

    >>> report = ImportReport((("joint elbow", "velocity limit 2 rad/s is not enforced"),))
    >>> print(report)
    joint elbow: velocity limit 2 rad/s is not enforced
    >>> len(report)
    1
    """

    entries: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.entries)

    def __str__(self) -> str:
        return "\n".join(f"{where}: {what}" for where, what in self.entries) or "everything was taken over"


class Notes(list[tuple[str, str]]):
    """What a file has that the system has not, while it is read; each thing once."""

    def note(self, where: str, what: str) -> None:
        """Add something, unless it was noted already."""
        if (where, what) not in self:
            self.append((where, what))


class IncompleteImport(UserWarning):
    """A file has something that the system made from it has not; `system.report` lists all of it."""


class ImportedSystem(System):
    """A system made from a file, with its parts by the names in the file.

    `bodies`: links that are fixed to each other share one; those fixed to the world are the ground. `frames`: of every link,
    fixed to its body. `joints`, `motors`: parts. `shapes`: of every link, for contacts. `report`: what was not taken over.
    """

    def __init__(self, name: str):
        super().__init__(name)
        self.bodies: dict[str, Carrier] = {}
        self.frames: dict[str, Any] = {}
        self.joints: dict[str, Any] = {}
        self.motors: dict[str, Any] = {}
        self.shapes: dict[str, list[Any]] = {}
        self.report = ImportReport()


@dataclass(frozen=True)
class Pose:
    """Where a frame is, and how it moves: place, axes, velocity of its origin, angular velocity; all in space."""

    r: np.ndarray
    A: np.ndarray
    v: np.ndarray
    w: np.ndarray

    def velocity_at(self, r: np.ndarray) -> np.ndarray:
        """Velocity of the point of the frame that is at r."""
        return self.v + np.cross(self.w, r - self.r)


def build(
    name: str,
    links: Sequence[LinkData],
    joints: Sequence[JointData],
    actuators: Sequence[ActuatorData],
    *,
    gravity: Any,
    positions: Mapping[str, float] | None,
    velocities: Mapping[str, float] | None,
    restitution: float,
    report: list[tuple[str, str]],
) -> ImportedSystem:
    """The system of links and joints; links without a parent joint are fixed to the world."""
    system = ImportedSystem(name)
    known = {link.name: link for link in links}
    order = _from_the_root(links, joints)
    x = _initial(joints, positions, "positions", own=True)
    v = _initial(joints, velocities, "velocities", own=False)
    still = np.zeros(3)
    poses = {WORLD: Pose(still, np.eye(3), still, still)}
    owner = {WORLD: WORLD}  # by link: the first link of its body
    by_child = {joint.child: joint for joint in joints}
    for link in order:
        joint = by_child.get(link)
        if joint is None:
            poses[link], owner[link] = poses[WORLD], WORLD
        else:
            poses[link] = _moved(poses[joint.parent], joint, x[joint.name], v[joint.name])
            owner[link] = owner[joint.parent] if joint.kind == "fixed" else link
    bodies: dict[str, Carrier] = {WORLD: ground}
    origins = {WORLD: poses[WORLD]}
    for first in dict.fromkeys(owner.values()):
        if first != WORLD:
            members = [known[link] for link in order if owner[link] == first]
            bodies[first], origins[first] = _body(system, first, members, poses)
    for link in order:
        at = origins[owner[link]]
        body, place, axes = bodies[owner[link]], at.A.T @ (poses[link].r - at.r), at.A.T @ poses[link].A
        system.bodies[link] = body
        system.frames[link] = body.frame(place, axes)
        system.shapes[link] = [shape for s in known[link].shapes for shape in placed(s, body, place, axes)]
    for joint in joints:
        if joint.kind != "fixed":
            _join(system, joint, owner, bodies, origins, poses, x, restitution, report)
    for joint in joints:
        if joint.mimic is not None:
            other, multiplier, _ = joint.mimic
            pair = (_measure(system, joint.name), _measure(system, other))
            system.add(Gear(f"{joint.name}.mimic", *pair, ratio=-multiplier))
    for actuator in actuators:
        _drive(system, actuator, x)
    if gravity is not None:
        system.add(Gravity(gravity))
    for link in order:
        if system.shapes[link]:
            system.add(Skin(f"{link}.skin", tuple(system.shapes[link])))
    system.report = ImportReport(tuple(report))
    if report:
        warnings.warn(
            f"{name}: {len(report)} things of the file are not in the system; system.report lists them, the first: "
            f"{report[0][0]}: {report[0][1]}",
            IncompleteImport,
            stacklevel=3,
        )
    return system


def _from_the_root(links: Sequence[LinkData], joints: Sequence[JointData]) -> list[str]:
    """Links in an order in which parents come first; a tree, or a complaint."""
    names = [link.name for link in links]
    for kind, all_names in (("link", names), ("joint", [joint.name for joint in joints])):
        if twice := [n for n in dict.fromkeys(all_names) if all_names.count(n) > 1]:
            raise ModelError(f"{kind} {twice[0]!r} is there twice; names must differ")
    children: dict[str, list[str]] = {}
    parents: dict[str, str] = {}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in names and end != WORLD:
                raise ModelError(f"joint {joint.name!r}: {unknown_name('link', end, names)}")
        if joint.child in parents:
            raise ModelError(f"link {joint.child!r} is the child of two joints; a loop needs a joint of its own")
        parents[joint.child] = joint.parent
        children.setdefault(joint.parent, []).append(joint.child)
    queue = [name for name in names if name not in parents]
    queue += [] if WORLD in names else children.get(WORLD, [])
    order = list(queue)
    while queue:
        found = children.get(queue.pop(0), [])
        order += found
        queue += found
    if left := [name for name in names if name not in order]:
        raise ModelError(f"links {', '.join(map(repr, left))} hang on each other in a loop, not on a root")
    return order


def _initial(joints: Sequence[JointData], given: Mapping[str, float] | None, what: str, own: bool) -> dict[str, float]:
    moving = {joint.name: joint for joint in joints if joint.kind in ("revolute", "prismatic")}
    values = {joint.name: joint.position if own else 0.0 for joint in joints}
    for name, value in (given or {}).items():
        if name not in moving:
            raise ModelError(f"{what}: {unknown_name('joint', name, moving)}")
        if moving[name].mimic is not None:
            raise ModelError(f"{what}: joint {name!r} follows {moving[name].mimic[0]!r}, so it cannot be set")  # type: ignore[index]
        values[name] = float(value)
    for joint in joints:
        if joint.mimic is not None:
            other, multiplier, offset = joint.mimic
            if other not in moving:
                raise ModelError(f"joint {joint.name!r} mimics: {unknown_name('joint', other, moving)}")
            values[joint.name] = multiplier * values[other] + (offset if own else 0.0)
    return values


def _moved(parent: Pose, joint: JointData, x: float, v: float) -> Pose:
    """The frame of the child."""
    r, A = parent.r + parent.A @ joint.place, parent.A @ joint.turn
    axis = A @ joint.axis
    if joint.kind == "revolute":
        anchor = r + A @ joint.anchor
        A = turn_about(axis, x) @ A
        r = anchor - A @ joint.anchor
        return Pose(r, A, parent.velocity_at(r) + np.cross(v * axis, r - anchor), parent.w + v * axis)
    if joint.kind == "prismatic":
        r = r + x * axis
        return Pose(r, A, parent.velocity_at(r) + v * axis, parent.w)
    return Pose(r, A, parent.velocity_at(r), parent.w)


def turn_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula.

    >>> turn_about(np.array([0.0, 0.0, 1.0]), 0.0)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def _body(
    system: ImportedSystem, name: str, members: Sequence[LinkData], poses: Mapping[str, Pose]
) -> tuple[RigidBody, Pose]:
    """One rigid body from links that are fixed to each other, and the pose of its frame."""
    mass = sum(link.mass for link in members)
    if not mass > 0:
        raise ModelError(f"link {name!r} moves but has no mass; give it an inertial, or fix it to a link that has one")
    base = poses[name]
    center = sum(link.mass * (poses[link.name].r + poses[link.name].A @ link.com) for link in members) / mass
    Theta = np.zeros((3, 3))
    for link in members:
        A = base.A.T @ poses[link.name].A
        d = base.A.T @ (poses[link.name].r + poses[link.name].A @ link.com - center)
        Theta += A @ link.inertia @ A.T + link.mass * (d @ d * np.eye(3) - np.outer(d, d))
    Theta = (Theta + Theta.T) / 2
    diagonal = np.diag(Theta)
    straight = np.abs(Theta - np.diag(diagonal)).max() <= 1e-14 * np.abs(diagonal).max()
    body = system.add(
        RigidBody(
            name,
            mass=mass,
            inertia=diagonal if straight else Theta,
            position=center,
            orientation=base.A,
            velocity=base.velocity_at(center),
            angular_velocity=base.A.T @ base.w,
        )
    )
    return body, Pose(center, base.A, base.velocity_at(center), base.w)


def _join(
    system: ImportedSystem,
    joint: JointData,
    owner: Mapping[str, str],
    bodies: Mapping[str, Carrier],
    origins: Mapping[str, Pose],
    poses: Mapping[str, Pose],
    x: Mapping[str, float],
    restitution: float,
    report: list[tuple[str, str]],
) -> None:
    """The parts of one joint: the joint itself, limits, spring and damper, friction."""
    first, second = owner[joint.parent], owner[joint.child]
    place = poses[joint.child].r + poses[joint.child].A @ joint.anchor
    points = [bodies[end].point(*(origins[end].A.T @ (place - origins[end].r)).tolist()) for end in (first, second)]
    axis = origins[first].A.T @ (poses[joint.child].A @ joint.axis)
    name = _unused(system, joint.name, "joint")
    made: Any
    if joint.kind == "revolute":
        made = Revolute(name, *points, axis=axis)
    elif joint.kind == "prismatic":
        made = Prismatic(name, *points, axis=axis)
    elif joint.kind == "ball":
        made = Spherical(name, *points)
    elif joint.kind == "planar":
        made = PlanarJoint(name, *points, normal=axis)
    else:
        return  # free
    system.joints[joint.name] = system.add(made)
    if joint.kind not in ("revolute", "prismatic"):
        return
    measure, start = _measure(system, joint.name), x[joint.name]  # the measure is zero at the initial state
    whole = joint.kind == "revolute" and None not in (joint.lower, joint.upper)
    if whole and joint.upper - joint.lower >= 2 * np.pi:  # type: ignore[operator]
        report.append((f"joint {joint.name}", "its limits span a whole turn or more and are not enforced: an angle in space "
                       "is known modulo 2 pi"))  # fmt: skip
    elif joint.lower is not None or joint.upper is not None:
        ends = {"lower": joint.lower, "upper": joint.upper}
        for key, end in ends.items():
            if end is not None and (start - end) * (1 if key == "lower" else -1) < 0:
                raise ModelError(
                    f"joint {joint.name!r} starts at {start:g}, beyond its {key} limit {end:g}; set positions="
                )
        shifted = {key: None if end is None else end - start for key, end in ends.items()}
        system.add(Limits(f"{joint.name}.limits", measure, restitution=restitution, **shifted))
    if joint.damping or joint.stiffness:
        rest = joint.rest - start if joint.stiffness else 0.0
        system.add(
            SpringDamper(
                f"{joint.name}.spring", measure, stiffness=joint.stiffness, damping=joint.damping, rest_length=rest
            )
        )
    if joint.friction:
        system.add(Friction(f"{joint.name}.friction", measure, force=joint.friction))


def _unused(system: System, name: str, kind: str) -> str:
    """A name for a part: the file's own unless a part has it already; in files links, joints and motors may share one."""
    return name if all(part.name != name for part in system.parts) else f"{name}.{kind}"


def _measure(system: ImportedSystem, joint: str) -> Measure:
    part = system.joints[joint]
    return part.displacement if isinstance(part, Prismatic) else part.angle


def _drive(system: ImportedSystem, actuator: ActuatorData, x: Mapping[str, float]) -> None:
    """A motor whose force is a parameter, zero until it is set; a controller whose target is one."""
    measure, name = _measure(system, actuator.joint), _unused(system, actuator.name, "motor")
    if actuator.stiffness is None:
        system.motors[actuator.name] = system.add(Motor(name, measure, 0.0))
        return
    # A file's target is zero in the joint's own position; the measure is zero at the initial state.
    servo = Controller(name, measure, -x[actuator.joint], stiffness=actuator.stiffness, damping=actuator.damping)
    system.motors[actuator.name] = system.add(servo)
