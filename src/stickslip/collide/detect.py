"""Detection: from the state of a system to its contacts, compiled, at the start of a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.collide.broad import Neighbours, close_ones, neighbours, nobody, serve
from stickslip.collide.ellipsoids import applied, meet_eggs, spread
from stickslip.collide.fast import face_fast_features
from stickslip.collide.meshes import meet_meshes
from stickslip.collide.narrow import meet
from stickslip.collide.planar import meet_outlines
from stickslip.collide.polyhedra import meet_hulls
from stickslip.collide.scene import COLUMNS, FIXED, PLANAR, RIGID, TRANSLATING, Contacts, Scene, empty_contacts
from stickslip.collide.solids import EGG, MESH, ROD, SOLID
from stickslip.collide.vectors import across, along, dot, minus, row
from stickslip.collide.world import (
    BALL_PLANE,
    BODY,
    CLIP,
    EGG_EGG,
    EGG_PLANE,
    EGGS,
    HULLS,
    KIND,
    LINE_LINE,
    MATERIAL,
    MESHES,
    NORMAL_0,
    OUTLINES,
    ROW,
    World,
)
from stickslip.jit import COMPILED, Apart, jit, jit_bare, jit_inline
from stickslip.pages import zeros

# A contact is predicted where two bodies could meet within the step: twice as fast as they or any neighbour move, since an
# elastic hit by a heavy neighbour doubles its speed.
SPEED = 2.0
SPREAD = 2  # how far, in neighbours, a fast body counts
STALE = -(2**62)
# Columns of homes, by code of a type of contacts: where normal percussions and those of friction begin in the memory, and
# components of slip; where its numbers begin, and how many a contact has.
P_N_0, P_F_0, SLIPS, NUMBERS_0, NUMBERS = range(5)


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
            apart[place] = function.address(_world(scene, room), 0, 0, 0.0)
    return room


@jit
def _world(scene: Scene, room: Room) -> World:
    """What the narrow phase reads and writes."""
    return World(
        scene.dimension, scene.shapes, scene.parts, scene.loop, room.A, room.x, room.points, room.polygon, room.rows,
        room.found, room.apart, scene.surfaces.facets, scene.surfaces.marks, scene.surfaces.ring_at, scene.surfaces.ring,
        scene.surfaces.nodes, scene.surfaces.boxes, room.near,
    )  # fmt: skip


@jit
def detect(
    scene: Scene, room: Room, known: Neighbours, q: np.ndarray, u: np.ndarray, dt: float, old: Contacts, new: Contacts
) -> int:
    """Find all contacts at the state (q, u) that may close within dt; their number, or minus it if there is no room.

    `known` are the neighbours, from `find_neighbours`; STALE if they do not serve any more. `old` are the contacts of the
    last step, from which identities and friction frames are carried over.
    """
    _place(scene.bodies, scene.points, scene.fixed_to, scene.first_normal, scene.first_middle, scene.dimension, q, room)
    speed = _speeds(scene.bodies, scene.arms, scene.dimension, u)
    room.fastest[0] = speed.max()
    margin = _margin(scene, room, dt)
    if not serve(known, room.points[scene.first_middle :], margin):
        return STALE
    found = _search(scene, room, known, speed, margin, dt)
    face_fast_features(_world(scene, room), scene, u, SPEED * dt)
    if found > min(room.rows.shape[0], new.gap.shape[0]):
        return -found
    for c in range(found):
        _write(scene, room, new, c)
    new.found[0] = found
    _recognise(old, new)
    return found


@jit
def _margin(scene: Scene, room: Room, dt: float) -> float:
    """Contacts with larger gaps do not close within dt."""
    return scene.skin + 2.0 * SPEED * dt * room.fastest[0]


@jit
def find_neighbours(scene: Scene, room: Room, dt: float) -> Neighbours:
    """Neighbours for the state that detection saw last, with pairs to spare for some steps."""
    middles = room.points[scene.first_middle :, :3].copy()
    first, second, distance = neighbours(
        scene.shapes, scene.bodies, scene.reach, scene.apart, scene.parts, room.points, middles,
        _margin(scene, room, dt), scene.dimension,
    )  # fmt: skip
    return Neighbours(first, second, middles, distance)


@jit
def _search(scene: Scene, room: Room, known: Neighbours, speed: np.ndarray, margin: float, dt: float) -> int:
    """Neighbours that are close, and the narrow phase."""
    shapes, first, second = scene.shapes, known.first, known.second
    middles = room.points[scene.first_middle :]
    pairs = close_ones(known, shapes, scene.bodies, scene.reach, scene.parts, room.points, middles, margin)
    for _ in range(SPREAD):
        reached = speed.copy()
        for k in range(pairs.size):
            a, b = shapes[first[pairs[k]], BODY], shapes[second[pairs[k]], BODY]
            if scene.bodies[a, 0] != FIXED:
                reached[a] = max(reached[a], speed[b])
            if scene.bodies[b, 0] != FIXED:
                reached[b] = max(reached[b], speed[a])
        speed = reached
    world = _world(scene, room)
    room.found[0] = 0
    for k in range(pairs.size):
        i, j = first[pairs[k]], second[pairs[k]]
        meet(world, i, j, scene.skin + SPEED * dt * (speed[shapes[i, BODY]] + speed[shapes[j, BODY]]))
    return room.found[0]


@jit_bare
def _write(scene: Scene, room: Room, new: Contacts, c: int) -> None:
    """A contact as it was found, but for its friction frame and its numbers."""
    found = room.rows[c]
    i, j, kind = int(found[0]), int(found[1]), int(found[4])
    first, second = scene.shapes[i, BODY], scene.shapes[j, BODY]
    new.kind[c], new.gap[c] = kind, found[5]
    new.body[c, 0], new.body[c, 1] = first, second
    low, high = min(i, j), max(i, j)
    new.key[c, 0] = low * scene.shapes.shape[0] + high
    new.key[c, 1], new.key[c, 2] = int(found[2 if i < j else 3]), int(found[3 if i < j else 2])
    x_a, x_b = (found[6], found[7], found[8]), (found[10], found[11], found[12])
    d_a, d_b = (found[14], found[15], found[16]), (found[17], found[18], found[19])
    n = (found[20], found[21], found[22])
    foot = along(x_a, -found[9], n)
    if kind == LINE_LINE:  # the place on the first line that is closest to the second one
        w, b = minus(x_a, x_b), dot(d_a, d_b)
        foot = along(foot, (b * dot(d_b, w) - dot(d_a, w)) / (1.0 - b * b), d_a)
    if kind >= EGG_PLANE:  # the place of the ellipsoid where n is the normal
        S = spread(room.points, scene.shapes[i, NORMAL_0], scene.dimension)
        y = applied(S, n)
        foot = along(x_a, -1.0 / np.sqrt(dot(y, n)), y)
    for k in range(3):
        new.point[c, k], new.normal[c, k] = foot[k], n[k]


@jit
def append(scene: Scene, room: Room, new: Contacts, rows: np.ndarray) -> int:
    """Add contacts, which no step before has known; there is room for them. The number of all."""
    for k in range(rows.shape[0]):
        c = new.found[0]
        room.rows[c] = rows[k]
        _write(scene, room, new, c)
        new.before[c], new.found[0] = -1, c + 1
        t = across(row(new.normal, c), (1.0, 0.0, 0.0))
        for m in range(3):
            new.tangent[c, m] = t[m]
    return new.found[0]


@jit_bare
def write_numbers(scene: Scene, room: Room, new: Contacts, homes: np.ndarray, memory: np.ndarray) -> None:
    """The numbers of the templates of contacts that were just found, from places and directions in space.

    homes: by code of a type, see P_N_0.
    """
    for c in range(new.found[0]):
        _write_numbers(scene, room, new, c, memory, numbers_at(new, homes, c))


@jit_inline
def numbers_at(contacts: Contacts, homes: np.ndarray, c: int) -> int:
    """Where the numbers of a contact lie in the memory."""
    home = homes[contacts.place[c, 0]]
    return home[NUMBERS_0] + contacts.place[c, 1] * home[NUMBERS]


@jit_inline
def _write_numbers(scene: Scene, room: Room, new: Contacts, c: int, to: np.ndarray, at: int) -> None:
    """Those of one contact; of one ellipsoid there are six more, of two twelve."""
    found = room.rows[c]
    i, j, kind, first, second = int(found[0]), int(found[1]), new.kind[c], new.body[c, 0], new.body[c, 1]
    x_a, x_b = (found[6], found[7], found[8]), (found[10], found[11], found[12])
    d_a, d_b = (found[14], found[15], found[16]), (found[17], found[18], found[19])
    y_a, y_b, t = minus(x_a, row(room.x, first)), minus(x_b, row(room.x, second)), row(new.tangent, c)
    fixed = kind == BALL_PLANE  # to the second body, as the normal of a plane is
    for k in range(3):
        a_k = (room.A[first, 0, k], room.A[first, 1, k], room.A[first, 2, k])
        b_k = (room.A[second, 0, k], room.A[second, 1, k], room.A[second, 2, k])
        to[at + k], to[at + 4 + k] = dot(a_k, y_a), dot(b_k, y_b)
        to[at + 8 + k], to[at + 11 + k] = dot(a_k, d_a), dot(b_k, d_b)
        to[at + 14 + k] = found[20 + k]
        to[at + 17 + k] = b_k[0] * t[0] + b_k[1] * t[1] + b_k[2] * t[2] if fixed else t[k]
    to[at + 3], to[at + 7], to[at + 20] = found[9], found[13], found[23]
    law = scene.laws[scene.shapes[i, MATERIAL], scene.shapes[j, MATERIAL]]
    to[at + 21], to[at + 22], to[at + 23] = law[0], law[1], law[2]
    if kind >= EGG_PLANE:
        S = spread(scene.points, scene.shapes[i, NORMAL_0], scene.dimension)
        R = spread(scene.points, scene.shapes[j, NORMAL_0], scene.dimension) if kind == EGG_EGG else S
        for k in range(6):
            to[at + 24 + k] = S[k]
            if kind == EGG_EGG:
                to[at + 30 + k] = R[k]


@jit_bare
def _recognise(old: Contacts, new: Contacts) -> None:
    """Find each contact among those of the last step, by its key, and turn its friction frame along: the tangent of the
    last step, made perpendicular to the normal of this one.
    """
    first = 0
    for c in range(new.found[0]):
        new.before[c] = -1
        while first < old.found[0] and old.key[first, 0] < new.key[c, 0]:
            first += 1
        k = first
        tangent = (1.0, 0.0, 0.0)
        while k < old.found[0] and old.key[k, 0] == new.key[c, 0]:
            if old.key[k, 1] == new.key[c, 1] and old.key[k, 2] == new.key[c, 2] and old.kind[k] == new.kind[c]:
                new.before[c] = k
                tangent = row(old.tangent, k)
                break
            k += 1
        t = across(row(new.normal, c), tangent)
        for k in range(3):
            new.tangent[c, k] = t[k]


@jit_bare
def place_bodies(bodies: np.ndarray, dimension: int, q: np.ndarray, room: Room) -> None:
    """Poses of bodies."""
    A, x = room.A, room.x
    for b in range(bodies.shape[0]):
        kind, first = bodies[b, 0], bodies[b, 2]
        if kind == FIXED:
            continue
        for k in range(dimension):
            x[b, k] = q[first + k]
        if kind == PLANAR:
            c, s = np.cos(q[first + 2]), np.sin(q[first + 2])
            A[b, 0, 0], A[b, 0, 1], A[b, 1, 0], A[b, 1, 1] = c, -s, s, c
        elif kind == RIGID:
            p0, p1, p2, p3 = q[first + 3], q[first + 4], q[first + 5], q[first + 6]
            z = 2.0 / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
            A[b, 0, 0], A[b, 1, 1] = 1 - z * (p2 * p2 + p3 * p3), 1 - z * (p1 * p1 + p3 * p3)
            A[b, 2, 2] = 1 - z * (p1 * p1 + p2 * p2)
            A[b, 0, 1], A[b, 1, 0] = z * (p1 * p2 - p0 * p3), z * (p1 * p2 + p0 * p3)
            A[b, 0, 2], A[b, 2, 0] = z * (p1 * p3 + p0 * p2), z * (p1 * p3 - p0 * p2)
            A[b, 1, 2], A[b, 2, 1] = z * (p2 * p3 - p0 * p1), z * (p2 * p3 + p0 * p1)


@jit_bare
def _place(
    bodies: np.ndarray, points: np.ndarray, fixed_to: np.ndarray, first_normal: int, first_middle: int, dimension: int,
    q: np.ndarray, room: Room,
) -> None:  # fmt: skip
    """Poses of bodies, and of what is fixed to them."""
    place_bodies(bodies, dimension, q, room)
    A, x = room.A, room.x
    for i in range(points.shape[0]):
        b = fixed_to[i]
        if bodies[b, 0] == FIXED:
            continue
        direction = first_normal <= i < first_middle
        for k in range(3):
            value = 0.0 if direction else x[b, k]
            for m in range(3):
                value += A[b, k, m] * points[i, m]
            room.points[i, k] = value
        room.points[i, 3] = points[i, 3]


@jit
def _speeds(bodies: np.ndarray, arms: np.ndarray, dimension: int, u: np.ndarray) -> np.ndarray:
    """The largest speed of a point of each body."""
    speed = np.zeros(bodies.shape[0])
    for b in range(bodies.shape[0]):
        kind, first = bodies[b, 0], bodies[b, 3]
        if kind == FIXED:
            continue
        square, spin = 0.0, 0.0
        for k in range(dimension):
            square += u[first + k] ** 2
        if kind != TRANSLATING:
            for k in range(1 if kind == PLANAR else 3):
                spin += u[first + dimension + k] ** 2
        speed[b] = np.sqrt(square) + np.sqrt(spin) * arms[b]
    return speed


@jit_bare
def assign(
    scene: Scene, type_of: np.ndarray, capacity: np.ndarray, old: Contacts, new: Contacts, counts: np.ndarray,
    which: np.ndarray, starts: np.ndarray, before: np.ndarray,
) -> bool:  # fmt: skip
    """Give each contact a row among those of its type, the kind of contact and of the two bodies; False if rooms are small.

    type_of: by code of a type its place, or -1, and `capacity` its room. Results: contacts by code, and for each contact the
    type, first coordinates and velocities of its bodies, and its row at the last detection.
    """
    counts[:] = 0
    fits = True
    for c in range(new.found[0]):
        a, b = new.body[c, 0], new.body[c, 1]
        code = (new.kind[c] * 4 + scene.bodies[a, 0]) * 4 + scene.bodies[b, 0]
        new.place[c, 0], new.place[c, 1], t = code, counts[code], type_of[code]
        counts[code] += 1
        which[c] = t
        if t < 0 or counts[code] > capacity[t]:
            fits = False
        k = 0
        for body in (a, b):
            if scene.bodies[body, 0] != FIXED:
                starts[c, k], starts[c, k + 1] = scene.bodies[body, 2], scene.bodies[body, 3]
                k += 2
        o = new.before[c]
        before[c] = old.place[o, 1] if o >= 0 and old.place[o, 0] == code else -1
    return fits


def contacts_for(
    scene: Scene, q: np.ndarray, u: np.ndarray | None = None, dt: float = 0.0, old: Contacts | None = None
) -> Contacts:
    """All contacts at a state, with as much room as they need: for checks and tests, not for the time loop.

    >>> import stickslip as ss
    >>> from stickslip.collide import contacts_for, scene_of
    >>> s = ss.System()
    >>> balls = [s.add(ss.PointMass(name, mass=1, position=[x, 0, 0])) for name, x in (("a", 0), ("b", 2.1))]
    >>> rule = s.add(ss.Collisions("touch", [ss.Sphere(b.point(), 1) for b in balls], skin=0.2))
    >>> found = contacts_for(scene_of(s, rule), s.q_initial)
    >>> int(found.found[0]), float(found.gap[0].round(12))
    (1, 0.1)
    """
    return _room_and_contacts(scene, q, u, dt, old)[1]


def numbers_for(scene: Scene, q: np.ndarray) -> np.ndarray:
    """The numbers of all contacts at a state, one row each (`templates.COLUMNS`): for checks and tests."""
    room, contacts = _room_and_contacts(scene, q, None, 0.0, None)
    out = np.zeros((len(contacts.gap), COLUMNS))
    contacts.place[:] = np.column_stack([np.zeros(len(out)), np.arange(len(out))])
    write_numbers(scene, room, contacts, np.array([[0, 0, 0, 0, COLUMNS]]), out.reshape(-1))
    return out


def _room_and_contacts(
    scene: Scene, q: np.ndarray, u: np.ndarray | None, dt: float, old: Contacts | None
) -> tuple[Room, Contacts]:
    speeds = np.zeros(len(q)) if u is None else np.asarray(u, dtype=float)
    capacity, found, known, before = 64, -1, nobody(len(scene.shapes)), old or empty_contacts(0)
    while found < 0:
        new, room = empty_contacts(capacity), room_for(scene, capacity)
        found = detect(scene, room, known, np.asarray(q, float), speeds, dt, before, new)
        if found == STALE:
            known = find_neighbours(scene, room, dt)
        else:
            capacity = -found
    return room, Contacts(*[array if name == "found" else array[:found] for name, array in new._asdict().items()])
