"""Where detection works: poses of bodies, points in space, rows of contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.collide.ellipsoids import meet_eggs
from stickslip.collide.meshes import meet_meshes
from stickslip.collide.planar import meet_outlines
from stickslip.collide.polyhedra import meet_hulls
from stickslip.collide.scene import Scene
from stickslip.collide.solids import EGG, MESH, ROD, SOLID
from stickslip.collide.world import CLIP, EGGS, HULLS, KIND, MESHES, OUTLINES, ROW, World
from stickslip.jit import COMPILED, Apart, jit
from stickslip.pages import zeros


class Room(NamedTuple):
    """Where detection works: poses of bodies, points in space, rows of contacts."""

    A: np.ndarray
    x: np.ndarray
    points: np.ndarray
    polygon: np.ndarray
    rows: np.ndarray  # scratch from a detection until numbers are written
    found: np.ndarray
    apart: np.ndarray
    near: np.ndarray
    fastest: np.ndarray  # the largest speed of a point of a body


def room_for(scene: Scene, capacity: int, functions: np.ndarray | None = None) -> Room:
    """Room for so many contacts of a scene, and the functions that its shapes need, unless they are known already."""
    n = len(scene.bodies)
    A = np.zeros((n, 3, 3))
    A[:] = np.eye(3)
    polygon, rows = np.zeros((2, CLIP, 4)), zeros((capacity, ROW))
    apart: np.ndarray = np.zeros(4, np.int64 if COMPILED else object) if functions is None else functions
    points = scene.points.copy()  # what is fixed to the ground stays there
    near = np.zeros((2, len(scene.surfaces.facets)), np.int64)
    room = Room(A, np.zeros((n, 3)), points, polygon, rows, np.zeros(1, np.int64), apart, near, np.zeros(1))
    if functions is not None:
        return room
    kinds = set(scene.shapes[:, KIND].tolist())
    needed: dict[int, tuple[Apart, set[int]]] = {EGGS: (meet_eggs, {EGG})}
    if scene.dimension == 3:
        needed |= {HULLS: (meet_hulls, {SOLID}), MESHES: (meet_meshes, {MESH})}
    else:
        needed |= {HULLS: (meet_hulls, {ROD, SOLID}), OUTLINES: (meet_outlines, {MESH})}
    for place, (function, shapes) in needed.items():
        if shapes & kinds:
            apart[place] = function.address(world_of(scene, room), 0, 0, 0.0)
    return room


@jit
def world_of(scene: Scene, room: Room) -> World:
    """What the narrow phase reads and writes."""
    return World(
        scene.dimension, scene.shapes, scene.parts, scene.loop, room.A, room.x, room.points, room.polygon, room.rows,
        room.found, room.apart, scene.surfaces.facets, scene.surfaces.marks, scene.surfaces.ring_at, scene.surfaces.ring,
        scene.surfaces.nodes, scene.surfaces.boxes, room.near,
    )  # fmt: skip
