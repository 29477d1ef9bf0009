"""Tables of a triangle mesh that detection reads: which edges and vertices can touch, and a tree of boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Columns of `facets`: three vertices, normal, the edges and vertices it owns, and the plane it belongs to.
CORNERS, NORMAL, EDGES_0, EDGES_1, OWN_0, OWN_1, PLANE = 0, 3, 4, 5, 6, 7, 8
LEAF = 4  # triangles in a leaf
SMOOTH = 1e-6  # sine of the angle of two triangles below which they are one plane
# Marks of vertices: can touch faces of others, can touch planes.
SHARP, OUTER = 1, 2


@dataclass(frozen=True)
class MeshTables:
    """A mesh in the order of its tree; numbers of vertices, normals and edges begin at zero.

    edges: two vertices and the two triangles beside, of those that stick out. ring: vertices around each vertex, from
    ring_at. nodes: of an inner node its two children, of a leaf minus one and its triangles; boxes: low and high corner.
    """

    vertices: np.ndarray
    normals: np.ndarray
    facets: np.ndarray
    edges: np.ndarray
    marks: np.ndarray
    ring_at: np.ndarray
    ring: np.ndarray
    nodes: np.ndarray
    boxes: np.ndarray


def mesh_tables(p: np.ndarray, triangles: np.ndarray) -> MeshTables:
    """The tables of a closed mesh."""
    order, nodes, boxes = _tree(p, triangles)
    triangles = triangles[order]
    # Vertices in the order in which triangles name them first: those that a triangle owns follow each other.
    names, first = np.unique(triangles.ravel(), return_index=True)
    new = np.full(len(p), -1)
    sequence = names[np.argsort(first)]
    new[sequence] = np.arange(len(sequence))
    p, triangles = p[sequence], new[triangles]
    owner = np.sort(first) // 3
    normals = np.cross(p[triangles[:, 1]] - p[triangles[:, 0]], p[triangles[:, 2]] - p[triangles[:, 0]])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    edges, beside, smooth = _edges(p, triangles, normals)
    facets = np.zeros((len(triangles), 9), np.int64)
    facets[:, CORNERS : CORNERS + 3], facets[:, NORMAL] = triangles, np.arange(len(triangles))
    every = np.arange(len(triangles))
    facets[:, OWN_0] = np.searchsorted(owner, every, "left")
    facets[:, OWN_1] = np.searchsorted(owner, every, "right")
    by_owner = np.argsort(beside.min(axis=1), kind="stable")
    edges, beside = edges[by_owner], beside[by_owner]
    owners = beside.min(axis=1)
    facets[:, EDGES_0] = np.searchsorted(owners, every, "left")
    facets[:, EDGES_1] = np.searchsorted(owners, every, "right")
    facets[:, PLANE] = _planes(len(triangles), smooth)
    around = np.unique(np.concatenate([triangles[:, [a, b]] for a in range(3) for b in range(3) if a != b]), axis=0)
    ring_at = np.searchsorted(around[:, 0], np.arange(len(p) + 1))
    table = np.hstack([edges, beside])
    return MeshTables(p, normals, facets, table, _marks(p, edges), ring_at, around[:, 1], nodes, boxes)


def _edges(p: np.ndarray, triangles: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges that stick out with the triangles beside them, and pairs of triangles that lie in one plane."""
    n = len(p)
    runs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    face = np.tile(np.arange(len(triangles)), 3)
    codes = runs[:, 0] * n + runs[:, 1]
    sort = np.argsort(codes)
    back = sort[np.searchsorted(codes[sort], runs[:, 1] * n + runs[:, 0])]
    once = runs[:, 0] < runs[:, 1]
    edges, beside = runs[once], np.column_stack([face[once], face[back[once]]])
    along = p[edges[:, 1]] - p[edges[:, 0]]
    turn = np.einsum("ij,ij->i", along, np.cross(normals[beside[:, 0]], normals[beside[:, 1]]))
    turn /= np.linalg.norm(along, axis=1)
    folded = np.einsum("ij,ij->i", normals[beside[:, 0]], normals[beside[:, 1]]) < 0
    out = turn > SMOOTH
    return edges[out], beside[out], beside[(np.abs(turn) <= SMOOTH) & ~folded]


def _planes(count: int, pairs: np.ndarray) -> np.ndarray:
    """The plane of each triangle: those that lie in one plane and are connected have one number."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1])


def _marks(p: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Which vertices can touch faces: where edges that stick out end or turn; and which can touch planes: those of the hull."""
    from scipy.spatial import ConvexHull

    marks = np.zeros(len(p), np.int64)
    ways: list[list[np.ndarray]] = [[] for _ in p]
    for i, j in edges:
        d = (p[j] - p[i]) / np.linalg.norm(p[j] - p[i])
        ways[i].append(d)
        ways[j].append(-d)
    for v, out in enumerate(ways):
        straight = len(out) == 2 and np.linalg.norm(out[0] + out[1]) < SMOOTH
        if out and not straight:
            marks[v] |= SHARP
    hull = ConvexHull(p)
    marks[hull.vertices] |= OUTER
    return marks


def _tree(p: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order of the triangles, and a binary tree of boxes that halves them along the longest side of each box."""
    corners = p[triangles]
    lows, highs, middles = corners.min(1), corners.max(1), corners.mean(1)
    order = np.arange(len(triangles))
    nodes: list[tuple[int, int, int]] = []
    boxes: list[np.ndarray] = []

    def grow(first: int, last: int) -> int:
        mine, own = order[first:last], len(nodes)
        nodes.append((-1, first, last))
        boxes.append(np.concatenate([lows[mine].min(0), highs[mine].max(0)]))
        if last - first > LEAF:
            axis = int(np.ptp(middles[mine], axis=0).argmax())
            order[first:last] = mine[np.argsort(middles[mine, axis], kind="stable")]
            half = (first + last) // 2
            nodes[own] = (0, grow(first, half), grow(half, last))
        return own

    grow(0, len(order))
    return order, np.array(nodes, np.int64), np.array(boxes)
