"""Detection: from the state of a system to its contacts, compiled, at the start of a step."""

from __future__ import annotations

import numpy as np

from stickslip.collide.broad import Neighbours, close_ones, neighbours, nobody, serve
from stickslip.collide.ellipsoids import applied, spread
from stickslip.collide.fast import face_fast_features
from stickslip.collide.narrow import meet
from stickslip.collide.poses import place_all, speeds
from stickslip.collide.room import Room, room_for, world_of
from stickslip.collide.rows import write_numbers
from stickslip.collide.scene import COLUMNS, FIXED, Contacts, Scene, empty_contacts
from stickslip.collide.vectors import across, along, dot, minus, row
from stickslip.collide.world import BODY, EGG_PLANE, LINE_LINE, NORMAL_0
from stickslip.jit import jit, jit_bare

# A contact is predicted where two bodies could meet within the step: twice as fast as they or any neighbour move, since an
# elastic hit by a heavy neighbour doubles its speed.
SPEED = 2.0
SPREAD = 2  # how far, in neighbours, a fast body counts
STALE = -(2**62)


@jit
def detect(
    scene: Scene, room: Room, known: Neighbours, q: np.ndarray, u: np.ndarray, dt: float, old: Contacts, new: Contacts
) -> int:
    """Find all contacts at the state (q, u) that may close within dt; their number, or minus it if there is no room.

    `known` are the neighbours, from `find_neighbours`; STALE if they do not serve any more. `old` are the contacts of the
    last step, from which identities and friction frames are carried over.
    """
    place_all(
        scene.bodies, scene.points, scene.fixed_to, scene.first_normal, scene.first_middle, scene.dimension, q, room
    )
    speed = speeds(scene.bodies, scene.arms, scene.dimension, u)
    room.fastest[0] = speed.max()
    margin = _margin(scene, room, dt)
    if not serve(known, room.points[scene.first_middle :], margin):
        return STALE
    found = _search(scene, room, known, speed, margin, dt)
    face_fast_features(world_of(scene, room), scene, u, SPEED * dt)
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
    world = world_of(scene, room)
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
    velocities = np.zeros(len(q)) if u is None else np.asarray(u, dtype=float)
    capacity, found, known, before = 64, -1, nobody(len(scene.shapes)), old or empty_contacts(0)
    while found < 0:
        new, room = empty_contacts(capacity), room_for(scene, capacity)
        found = detect(scene, room, known, np.asarray(q, float), velocities, dt, before, new)
        if found == STALE:
            known = find_neighbours(scene, room, dt)
        else:
            capacity = -found
    return room, Contacts(*[array if name == "found" else array[:found] for name, array in new._asdict().items()])
