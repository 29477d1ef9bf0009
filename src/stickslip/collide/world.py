"""What the narrow phase works on: where everything is, and the contacts that were found, one row each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.collide.vectors import Triple, row
from stickslip.jit import jit_bare

# Kinds of contacts; `templates` has their equations.
BALL_BALL, BALL_PLANE, BALL_LINE, LINE_LINE, BALL_CAVITY, EGG_PLANE, EGG_BALL, EGG_LINE, EGG_EGG = range(9)
# Kinds of features, in the identity of a contact.
VERTEX, EDGE, FACE, CLIPPED = range(4)
# Columns of Scene.shapes.
KIND, BODY, VERTEX_0, VERTEX_1, FACE_0, FACE_1, EDGE_0, EDGE_1, MATERIAL, MIDDLE, NORMAL_0, TREE = range(12)
ROW = 24  # columns of World.rows: shapes, features, kind, gap, x_a, r_a, x_b, r_b, d_a, d_b, n, sign
CLIP = 64  # corners of a clipped face
# Pairs of shapes that stand apart: a scene without them does not compile them. Places in World.apart.
HULLS, EGGS, MESHES, OUTLINES = range(4)
ZERO = (0.0, 0.0, 0.0)


class World(NamedTuple):
    """Where everything is, and the contacts that were found.

    points: vertices with their rounding; normals of faces with the size of the shape, or axes of an ellipsoid with their
    lengths; the middle of each shape. parts: of a face its normal and where its corners begin and end in `loop`; of an edge
    two vertices and the normals beside it, or -1. A, x: poses of bodies.
    """

    dimension: int
    shapes: np.ndarray
    parts: np.ndarray
    loop: np.ndarray
    A: np.ndarray
    x: np.ndarray
    points: np.ndarray
    polygon: np.ndarray  # two of CLIP corners, with their feature
    rows: np.ndarray  # what was found, see ROW
    found: np.ndarray  # their number
    apart: np.ndarray  # addresses of functions, or 0
    facets: np.ndarray  # tables of meshes, as in `surfaces.MeshTables`; in the plane pieces of outlines, as in `chains`
    marks: np.ndarray
    ring_at: np.ndarray
    ring: np.ndarray
    nodes: np.ndarray
    boxes: np.ndarray
    near: np.ndarray  # triangles that were found, two lists


@jit_bare
def rounding(world: World, i: int) -> float:
    """The radius by which a shape is larger than its core."""
    return world.points[world.shapes[i, VERTEX_0], 3]


@jit_bare
def normal(world: World, f: int) -> Triple:
    """The outward normal of a face."""
    return row(world.points, world.parts[f, 0])


@jit_bare
def put(
    world: World, i: int, j: int, f_i: int, f_j: int, kind: int, gap: float, x_a: Triple, x_b: Triple, d_a: Triple, d_b: Triple,
    n: Triple, sign: float,
) -> None:  # fmt: skip
    """Write a contact of shape i (the ball, the ellipsoid or the first line) with shape j."""
    put_round(world, i, j, f_i, f_j, kind, gap, x_a, rounding(world, i), x_b, rounding(world, j), d_a, d_b, n, sign)


@jit_bare
def put_round(
    world: World, i: int, j: int, f_i: int, f_j: int, kind: int, gap: float, x_a: Triple, r_a: float, x_b: Triple, r_b: float,
    d_a: Triple, d_b: Triple, n: Triple, sign: float,
) -> None:  # fmt: skip
    """The same for features with roundings of their own; without room, only count it."""
    c = world.found[0]
    world.found[0] = c + 1
    if c >= world.rows.shape[0]:
        return
    to = world.rows[c]
    to[0], to[1], to[2], to[3], to[4], to[5], to[23] = i, j, f_i, f_j, kind, gap, sign
    to[9], to[13] = r_a, r_b
    for k in range(3):
        to[6 + k], to[10 + k], to[14 + k], to[17 + k], to[20 + k] = x_a[k], x_b[k], d_a[k], d_b[k], n[k]
