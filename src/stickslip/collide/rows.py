"""Contacts in the memory of a run: which rows they take among those of their type, and the numbers of their templates."""

from __future__ import annotations

import numpy as np

from stickslip.collide.ellipsoids import spread
from stickslip.collide.room import Room
from stickslip.collide.scene import FIXED, Contacts, Scene
from stickslip.collide.vectors import dot, minus, row
from stickslip.collide.world import BALL_PLANE, EGG_EGG, EGG_PLANE, MATERIAL, NORMAL_0
from stickslip.jit import jit_bare, jit_inline

# Columns of homes, by code of a type of contacts: where normal percussions and those of friction begin in the memory, and
# components of slip; where its numbers begin, and how many a contact has.
P_N_0, P_F_0, SLIPS, NUMBERS_0, NUMBERS = range(5)


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
