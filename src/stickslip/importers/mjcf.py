"""MJCF, the model format of MuJoCo, read with MuJoCo's own parser (an optional dependency)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from stickslip.errors import ModelError
from stickslip.importers.mechanism import WORLD, ActuatorData, ImportedSystem, JointData, LinkData, Notes, build
from stickslip.importers.safely import inside, parse, read_model
from stickslip.importers.skins import SkinShape, hull
from stickslip.math import quaternion_rotation

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
GEOMS = ("plane", "height field", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "signed distance field")
REPEATED = ("replicate", "composite", "flexcomp")
MOST_COPIES = 10_000
MOST_INCLUDES = 100


def from_mjcf(
    path: str | Path,
    *,
    gravity: Any = "file",
    positions: Mapping[str, float] | None = None,
    velocities: Mapping[str, float] | None = None,
    restitution: float = 0.0,
) -> ImportedSystem:
    """A system from an MJCF file: bodies, joints with limits, springs, damping and friction, actuators, shapes.

    MuJoCo reads the file, so defaults, classes and frames are resolved as it does. positions, velocities: of
    joints at the start, by name, counted from the configuration in which the file draws the model; zero where not
    given. gravity: "file", a vector, or None. Motors become `Motor` parts whose force is a parameter, position and velocity
    actuators `Controller` parts. `system.report` lists what was not taken over, and a warning says so: MuJoCo's soft
    contacts, limits and equality constraints have no counterpart.

    Needs MuJoCo: pip install stickslip[mujoco]. No file outside the model's folder is read.

    >>> arm = ss.from_mjcf("arm.xml")    # doctest: +SKIP
    """
    try:
        import mujoco
    except ImportError:
        raise ModelError("from_mjcf needs MuJoCo; pip install stickslip[mujoco]") from None
    path, text = read_model(path)
    root = parse(text, path)
    if root.tag != "mujoco":
        raise ModelError(f"{path} is not an MJCF file: its root is <{root.tag[:60]}>, not <mujoco>")
    includes, assets = _files(path, root)
    try:
        model = mujoco.MjSpec.from_string(text, include=includes, assets=assets).compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: MuJoCo cannot read it: {str(error).strip()}") from None
    reader = _MjcfReader(mujoco, model)
    links, joints = reader.links(), reader.joints()
    actuators = reader.actuators()
    reader.note_the_rest()
    if isinstance(gravity, str):
        if gravity != "file":
            raise ModelError(f"gravity = {gravity!r} must be 'file', a vector, or None")
        off = bool(model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY) or not model.opt.gravity.any()
        gravity = None if off else np.array(model.opt.gravity)
    return build(
        root.get("model") or path.stem,
        links,
        joints,
        actuators,
        gravity=gravity,
        positions=positions,
        velocities=velocities,
        restitution=restitution,
        report=reader.notes,
    )


def _files(path: Path, root: Element) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Everything that the model names, read from its folder and nowhere else: MuJoCo gets the contents, no paths."""
    includes: dict[str, bytes] = {}
    assets: dict[str, bytes] = {}
    roots = [root]
    folders = {""}
    for element in _all(roots, path, includes):
        if element.tag == "compiler":
            folders |= {element.get(key, "") for key in ("meshdir", "texturedir", "assetdir")}
    for element in _all([root], path, {}):
        if element.tag in ("plugin", "extension"):
            raise ModelError(f"{path} asks for plugins of MuJoCo, which are not loaded; remove <{element.tag}>")
        if element.tag in REPEATED:
            copies = np.prod([float(n) for n in element.get("count", "1").split()])
            if not copies <= MOST_COPIES:
                raise ModelError(f"{path}: <{element.tag}> makes {copies:g} copies, more than {MOST_COPIES}")
        if element.tag == "include":
            continue
        for key, name in element.attrib.items():
            if key.startswith("file") and name:
                found = False
                for folder in folders:
                    place = f"{folder}/{name}" if folder else name
                    if (file := inside(path.parent, place)) is not None:
                        assets[place] = assets[name] = file.read_bytes()
                        found = True
                if not found:
                    raise ModelError(f"{path} names the file {name!r}, which is not in its folder")
    return includes, assets


def _all(roots: list[Element], path: Path, includes: dict[str, bytes]) -> list[Element]:
    """All elements, those of included files too."""
    out: list[Element] = []
    seen: set[str] = set()
    while roots:
        for element in roots.pop().iter():
            out.append(element)
            name = element.get("file", "")
            if element.tag == "include" and name not in seen:
                seen.add(name)
                file = inside(path.parent, name)
                if file is None or len(seen) > MOST_INCLUDES:
                    raise ModelError(f"{path} includes {name!r}, which is not in its folder, or too many files")
                _, text = read_model(file)
                includes[name] = text.encode()
                roots.append(parse(text, file))
    return out


class _MjcfReader:
    """A compiled model to data; what has no counterpart is noted."""

    def __init__(self, mujoco: Any, model: Any):
        self.mujoco, self.m, self.notes = mujoco, model, Notes()
        self.note = self.notes.note

    def name(self, kind: str, index: int) -> str:
        own = self.mujoco.mj_id2name(self.m, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), index)
        return own or f"{kind}{index}"

    def links(self) -> list[LinkData]:
        m = self.m
        shapes: dict[int, list[SkinShape]] = {}
        for k in range(m.ngeom):
            if (shape := self.shape(k)) is not None:
                shapes.setdefault(int(m.geom_bodyid[k]), []).append(shape)
        out = [LinkData(WORLD, shapes=tuple(shapes.get(0, [])))]
        for b in range(1, m.nbody):
            turn = quaternion_rotation(np.array(m.body_iquat[b]))
            inertia = turn @ np.diag(m.body_inertia[b]) @ turn.T
            out.append(
                LinkData(
                    self.name("body", b),
                    float(m.body_mass[b]),
                    np.array(m.body_ipos[b]),
                    inertia,
                    tuple(shapes.get(b, [])),
                )
            )
        return out

    def shape(self, k: int) -> SkinShape | None:
        m, kind = self.m, GEOMS[int(self.m.geom_type[k])] if self.m.geom_type[k] < len(GEOMS) else "shape"
        place, turn = np.array(m.geom_pos[k]), quaternion_rotation(np.array(m.geom_quat[k]))
        size = [float(x) for x in m.geom_size[k]]
        where = f"geom {self.name('geom', k)}"
        sizes = {
            "plane": (),
            "sphere": (size[0],),
            "ellipsoid": tuple(size),
            "box": tuple(2 * x for x in size),
            "cylinder": (size[0], 2 * size[1]),
            "capsule": (size[0], 2 * size[1]),
        }
        if kind in sizes:
            return SkinShape(kind, place, turn, sizes[kind])
        if kind == "mesh":
            mesh = int(m.geom_dataid[k])
            first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
            corners = hull(np.array(m.mesh_vert[first : first + count], dtype=float))
            self.note(where, f"the mesh is known by the {len(corners)} corners of its convex hull")
            return SkinShape("hull", place, turn, corners=corners)
        self.note(where, f"a {kind} is left out")
        return None

    def joints(self) -> list[JointData]:
        m, out = self.m, []
        for b in range(1, m.nbody):
            child, parent = self.name("body", b), self.name("body", int(m.body_parentid[b]))
            parent = WORLD if m.body_parentid[b] == 0 else parent
            count, first = int(m.body_jntnum[b]), int(m.body_jntadr[b])
            frame = (np.array(m.body_pos[b]), quaternion_rotation(np.array(m.body_quat[b])))
            if count == 0:
                out.append(JointData(f"{child}.weld", "fixed", parent, child, *frame))
            elif count == 1:
                out.append(self.joint(first, parent, child, *frame))
            else:
                names = ", ".join(self.name("joint", j) for j in range(first, first + count))
                raise ModelError(
                    f"body {child!r} has {count} joints ({names}); give each joint a body of its own, with a small mass"
                )
        return out

    def joint(self, j: int, parent: str, child: str, place: np.ndarray, turn: np.ndarray) -> JointData:
        m, name = self.m, self.name("joint", j)
        where, kind, dof = f"joint {name}", int(m.jnt_type[j]), int(m.jnt_dofadr[j])
        damping, friction, armature = (
            float(np.ravel(getattr(m, f"dof_{key}")[dof])[0]) for key in ("damping", "frictionloss", "armature")
        )
        stiffness = float(np.ravel(m.jnt_stiffness[j])[0])
        if armature:
            self.note(where, f"armature {armature:g} (inertia of its rotor) is left out")
        if kind in (FREE, BALL):
            if damping or friction or stiffness or m.jnt_limited[j]:
                self.note(where, "limits, springs, damping and friction of a ball or free joint are left out")
            return JointData(
                name, "free" if kind == FREE else "ball", parent, child, place, turn, anchor=np.array(m.jnt_pos[j])
            )
        at = int(m.jnt_qposadr[j])
        reference = float(m.qpos0[at])
        if reference:
            self.note(where, f"positions are counted from its reference {reference:g}")
        limited = bool(m.jnt_limited[j])
        lower, upper = (float(x) - reference for x in m.jnt_range[j])
        return JointData(
            name,
            "prismatic" if kind == SLIDE else "revolute",
            parent,
            child,
            place,
            turn,
            np.array(m.jnt_axis[j]) / np.linalg.norm(m.jnt_axis[j]),
            np.array(m.jnt_pos[j]),
            lower if limited else None,
            upper if limited else None,
            damping,
            friction,
            stiffness,
            float(m.qpos_spring[at]) - reference,
        )

    def actuators(self) -> list[ActuatorData]:
        m, out, kinds = self.m, [], self.mujoco
        for a in range(m.nu):
            name = self.name("actuator", a)
            where, joint = f"actuator {name}", int(m.actuator_trnid[a, 0])
            on_joint = m.actuator_trntype[a] == kinds.mjtTrn.mjTRN_JOINT and m.jnt_type[joint] in (SLIDE, HINGE)
            gain, bias = np.array(m.actuator_gainprm[a]), np.array(m.actuator_biasprm[a])
            free_of_bias = m.actuator_biastype[a] == kinds.mjtBias.mjBIAS_NONE
            plain = (
                m.actuator_dyntype[a] == kinds.mjtDyn.mjDYN_NONE
                and m.actuator_gaintype[a] == kinds.mjtGain.mjGAIN_FIXED
                and (free_of_bias or m.actuator_biastype[a] == kinds.mjtBias.mjBIAS_AFFINE)
            )
            if not on_joint or not plain or (bias[0] and not free_of_bias):
                self.note(
                    where, "is not a motor, position or velocity actuator of a hinge or slide joint, and is left out"
                )
                continue
            gear = float(m.actuator_gear[a, 0])
            for key in ("ctrl", "force"):
                if getattr(m, f"actuator_{key}limited")[a]:
                    self.note(where, f"its {key}range is not enforced")
            target = self.name("joint", joint)
            if free_of_bias or not bias.any():
                if gear * gain[0] != 1.0:
                    self.note(where, f"its force is that of the joint: control times {gear * gain[0]:g}")
                out.append(ActuatorData(name, target))
            else:
                out.append(ActuatorData(name, target, -float(bias[1]) * gear**2, -float(bias[2]) * gear**2))
        return out

    def note_the_rest(self) -> None:
        """Things of the whole model."""
        m = self.m
        touching = int(np.count_nonzero((m.geom_contype > 0) | (m.geom_conaffinity > 0)))
        if touching:
            self.note(
                "contacts", f"{touching} geoms could touch; their shapes are in system.shapes, no contact is declared"
            )
        for e in range(m.neq):
            self.note(f"equality {self.name('equality', e)}", "is left out")
        counts = {"tendon": m.ntendon, "flex": m.nflex, "mocap body": m.nmocap, "sensor": m.nsensor}
        counts |= {"contact pair": m.npair, "contact exclusion": m.nexclude, "keyframe": m.nkey}
        for what, count in counts.items():
            if count:
                self.note("model", f"{count} {what}{'s' if count > 1 else ''} left out")
        if m.opt.density or m.opt.viscosity or np.any(m.opt.wind):
            self.note("model", "the forces of the surrounding fluid are left out")
        if np.any(m.body_gravcomp):
            self.note("model", "gravity compensation is left out")
