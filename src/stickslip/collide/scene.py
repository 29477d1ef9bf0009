"""A scene: bodies and their shapes as arrays, made once, read by the compiled detection at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stickslip.collide.chains import AT, END, FROM, TO
from stickslip.collide.solids import HALF_SPACE, solid
from stickslip.collide.surfaces import CORNERS, EDGES_0, EDGES_1, NORMAL, OWN_0, OWN_1, MeshTables
from stickslip.collide.world import FACE_0, FACE_1, TREE
from stickslip.errors import ModelError
from stickslip.model.bodies import PlanarBody, PointMass, RigidBody
from stickslip.model.collisions import Collisions
from stickslip.model.frames import Carrier, Ground, ground
from stickslip.model.joints import Joint
from stickslip.model.system import System
from stickslip.pages import zeros

# Kinds of bodies: how a pose follows from coordinates.
FIXED, TRANSLATING, PLANAR, RIGID = range(4)
CARRIERS: tuple[type[Carrier], ...] = (Ground, PointMass, PlanarBody, RigidBody)
COLUMNS = 36  # numbers that a contact has at most, see `templates.COLUMNS`


class Surfaces(NamedTuple):
    """The tables of all meshes, as in `surfaces.MeshTables`, with numbers of points, parts and triangles of the scene."""

    facets: np.ndarray
    marks: np.ndarray  # of all points
    ring_at: np.ndarray
    ring: np.ndarray
    nodes: np.ndarray
    boxes: np.ndarray


class Scene(NamedTuple):
    """Everything that detection reads and does not change. Body 0 is the ground.

    bodies: kind, block of coordinates (-1: ground), first coordinate, first velocity. shapes, parts, loop and points as in
    `world.World`, the points in the frames of their bodies; `fixed_to` is the body of a point.
    """

    dimension: int
    bodies: np.ndarray
    arms: np.ndarray  # of a body: the largest distance of a point of its shapes from its centre
    shapes: np.ndarray
    reach: np.ndarray  # of a shape: radius of a ball around its middle, infinite for half-spaces and holes
    parts: np.ndarray
    loop: np.ndarray
    points: np.ndarray
    fixed_to: np.ndarray
    first_normal: int  # points from here on, up to the middles, are directions
    first_middle: int
    laws: np.ndarray  # mu, e_N, e_F by the materials of two shapes
    apart: np.ndarray  # codes of pairs of shapes that are left out, sorted
    skin: float
    surfaces: Surfaces


class Contacts(NamedTuple):
    """Detected contacts, a row each, sorted by `key`: two shapes and two features, the contact's identity over time.

    The first body carries the ball or the first line; `normal` points to it. The parameters of its template go straight to the
    memory of a run (`rows.write_numbers`).
    """

    found: np.ndarray  # their number
    kind: np.ndarray
    body: np.ndarray  # places in Scene.bodies
    key: np.ndarray
    gap: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    tangent: np.ndarray
    before: np.ndarray  # its row at the last detection, or -1
    place: np.ndarray  # code of its type, and its row among those of this type


def empty_contacts(capacity: int) -> Contacts:
    """Room for so many contacts."""

    def real(*shape: int) -> np.ndarray:
        return zeros((capacity, *shape))

    def whole(*shape: int) -> np.ndarray:
        return zeros((capacity, *shape), np.int32)

    return Contacts(
        np.zeros(1, np.int64),
        whole(),
        whole(2),
        zeros((capacity, 3), np.int64),
        real(),
        real(3),
        real(3),
        real(3),
        whole(),
        whole(2),
    )


def beside(contacts: Contacts) -> Contacts:
    """Room for as many contacts, of the next detection: of those before them it reads these columns only, and the others are
    shared.
    """
    read = ("found", "kind", "key", "tangent", "place")
    return contacts._replace(**{name: zeros(x.shape, x.dtype) for name in read for x in (getattr(contacts, name),)})


def body_kind(where: str, body: Carrier) -> int:
    """How the pose of a body follows from its coordinates."""
    for kind, carrier in enumerate(CARRIERS):
        if type(body) is carrier:
            return kind
    known = "PointMass, PlanarBody, RigidBody and the ground"
    raise ModelError(f"{where}: {body.name!r} is a {type(body).__name__}; contacts are detected of {known}")


def scene_of(system: System, collisions: Collisions, parameters: Mapping[str, float] | None = None) -> Scene:
    """The arrays of a system's detected contacts, for values of all of its parameters, or its own."""
    where = f"collisions {collisions.name!r}"
    carriers: list[Carrier] = [ground]
    place: dict[int, int] = {id(carriers[0]): 0}
    for shape in collisions.shapes:
        if not isinstance(shape.body, Ground) and id(shape.body) not in place:
            place[id(shape.body)] = len(carriers)
            carriers.append(shape.body)
    solids = [
        solid(f"{where}, {type(s).__name__.lower()} of {s.body.name!r}", s, collisions.dimension)
        for s in collisions.shapes
    ]
    owner = [0 if isinstance(s.body, Ground) else place[id(s.body)] for s in collisions.shapes]
    bodies, blocks = np.zeros((len(carriers), 4), np.int64), _blocks(system)
    bodies[0] = FIXED, -1, 0, 0
    for k, body in enumerate(carriers[1:], 1):
        bodies[k] = body_kind(where, body), *blocks[body.name]
    arms, reach = np.zeros(len(carriers)), np.full(len(solids), np.inf)
    count = [sum(len(getattr(s, key)) for s in solids) for key in ("vertices", "normals")]
    shapes = np.zeros((len(solids), 12), np.int64)
    points, fixed_to = np.zeros((sum(count) + len(solids), 4)), np.zeros(sum(count) + len(solids), np.int64)
    parts: list[tuple[int, int, int, int]] = []
    loop: list[int] = []
    vertex, face, meshes = 0, count[0], _Meshes()
    for k, s in enumerate(solids):
        held = s.vertices if s.bounds is None else s.bounds
        middle = (held.min(0) + held.max(0)) / 2
        round_ = s.radius if s.sizes is None else float(s.sizes.max())
        size = round_ + float(np.linalg.norm(held - middle, axis=1).max())
        if s.kind < HALF_SPACE:
            reach[k] = size
        arms[owner[k]] = max(arms[owner[k]], np.linalg.norm(held, axis=1).max() + round_)
        radii = np.full(len(s.vertices), s.radius) if s.chain is None else s.chain.radii
        ends = vertex + len(s.vertices), face + len(s.normals)
        points[vertex : ends[0]] = np.column_stack([s.vertices, radii])
        points[face : ends[1]] = np.column_stack(
            [s.normals, np.full(len(s.normals), size) if s.sizes is None else s.sizes]
        )
        points[sum(count) + k, :3] = middle
        for places in (slice(vertex, ends[0]), slice(face, ends[1]), slice(sum(count) + k, sum(count) + k + 1)):
            fixed_to[places] = owner[k]
        first_face = len(parts)
        for f, corners in enumerate(s.loops):
            parts.append((face + f, len(loop), len(loop) + len(corners), 0))
            loop.extend(vertex + v for v in corners)
        first_edge = len(parts)
        for v, w, f, g in s.edges:
            parts.append((vertex + v, vertex + w, face + f if f >= 0 else -1, face + g if g >= 0 else -1))
        shapes[k] = (
            s.kind, owner[k], vertex, ends[0], first_face, first_edge, first_edge, len(parts), collisions.material[k],
            sum(count) + k, face, 0,
        )  # fmt: skip
        if s.mesh is not None:
            shapes[k, [FACE_0, FACE_1]] = meshes.triangles, meshes.triangles + len(s.mesh.facets)
            shapes[k, TREE] = meshes.add(s.mesh, vertex, face, first_edge)
        if s.chain is not None:
            shapes[k, [FACE_0, FACE_1]] = meshes.triangles, meshes.triangles + len(s.chain.pieces)
            meshes.chain(s.chain.pieces, vertex, face)
        vertex, face = ends
    skin = collisions.skin if collisions.skin is not None else 0.02 * float(reach.min(initial=1.0))
    return Scene(
        collisions.dimension,
        bodies,
        arms,
        shapes,
        reach,
        np.array(parts, np.int64).reshape(-1, 4),
        np.array(loop, np.int64),
        points,
        fixed_to,
        count[0],
        sum(count),
        collisions.law_values(system.parameter_values() if parameters is None else parameters),
        _apart(system, collisions, owner, place),
        skin,
        meshes.tables(len(points)),
    )


class _Meshes:
    """Collects the tables of meshes, whose numbers begin at zero each."""

    def __init__(self) -> None:
        self.facets, self.marks, self.rings, self.nodes, self.boxes = ([] for _ in range(5))  # type: ignore[var-annotated]
        self.size = self.triangles = 0

    def add(self, mesh: MeshTables, vertex: int, normal: int, edge: int) -> int:
        """Add a mesh whose vertices, normals and edges begin there; the root of its tree."""
        root, facets, nodes = self.size, mesh.facets.copy(), mesh.nodes.copy()
        facets[:, CORNERS : CORNERS + 3] += vertex
        facets[:, NORMAL] += normal
        facets[:, [EDGES_0, EDGES_1]] += edge
        facets[:, [OWN_0, OWN_1]] += vertex
        leaf = nodes[:, 0] < 0
        nodes[leaf, 1:] += self.triangles
        nodes[~leaf, 1:] += root
        for own, new in ((self.facets, facets), (self.nodes, nodes), (self.boxes, mesh.boxes)):
            own.append(new)
        self.marks.append((vertex, mesh.marks))
        self.rings.append((vertex, mesh.ring_at, mesh.ring + vertex))
        self.size, self.triangles = root + len(nodes), self.triangles + len(facets)
        return root

    def chain(self, pieces: np.ndarray, point: int, normal: int) -> None:
        """Add the pieces of an outline, whose points and normals begin there."""
        pieces = pieces.copy()
        pieces[:, [AT, END]] += point
        pieces[:, [FROM, TO]] += normal
        self.facets.append(pieces)
        self.triangles += len(pieces)

    def tables(self, points: int) -> Surfaces:
        """All of them, for so many points."""
        if not self.nodes:
            none, facets = np.zeros(0, np.int64), np.concatenate([np.zeros((0, 9), np.int64), *self.facets])
            return Surfaces(facets, none, none, none, np.zeros((0, 3), np.int64), np.zeros((0, 6)))
        marks, ring_at, rings = np.zeros(points, np.int64), np.zeros(points + 1, np.int64), []
        for first, own in self.marks:
            marks[first : first + len(own)] = own
        for first, at, ring in self.rings:
            ring_at[first + 1 : first + len(at)] = np.diff(at)
            rings.append(ring)
        return Surfaces(
            np.concatenate(self.facets), marks, np.cumsum(ring_at), np.concatenate(rings), np.concatenate(self.nodes),
            np.concatenate(self.boxes),
        )  # fmt: skip


def _blocks(system: System) -> dict[str, tuple[int, int, int]]:
    """By a block's name: its place, its first coordinate, its first velocity."""
    q, u = system.starts.values()
    return {block.name: (k, int(q[k]), int(u[k])) for k, block in enumerate(system.blocks)}


def _apart(system: System, collisions: Collisions, owner: Sequence[int], place: dict[int, int]) -> np.ndarray:
    """Codes first * count + second of shapes that never touch: bodies that a joint connects, pairs the user names."""
    count, pairs = len(collisions.shapes), set()
    by_body: dict[int, list[int]] = {}
    for k, body in enumerate(owner):
        by_body.setdefault(body, []).append(k)

    def leave_out(first: Any, second: Any) -> None:
        for i in first:
            for j in second:
                pairs.add(min(i, j) * count + max(i, j))

    for part in system.parts:
        if isinstance(part, Joint) and not collisions.joined:
            ends = [0 if isinstance(b, Ground) else place.get(id(b), -1) for b in part.bodies]
            if all(end > 0 for end in ends):  # what is hinged to the ground may still fall on the floor
                leave_out(by_body.get(ends[0], ()), by_body.get(ends[1], ()))
    for a, b in collisions.ignored:
        leave_out(a, b)
    return np.array(sorted(pairs), np.int64)
