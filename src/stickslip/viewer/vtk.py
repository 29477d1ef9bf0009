"""A film for ParaView: bodies and contacts of every frame as VTK files, and a .pvd file that puts them in time."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from stickslip.errors import ResultFileError
from stickslip.filming import Film, Solid, shoot
from stickslip.placing import turned
from stickslip.shapes import Drawing
from stickslip.solution import Solution

LINES = (
    "line",
    "tube",
    "coil",
    "beam",
    "ground",
    "arrow",
)  # traces that are lines in ParaView; filters make tubes of them
ROUND = 24  # corners of a circle


def write_vtk(
    solution: Solution,
    path: str | Path,
    drawing: Drawing | None = None,
    *,
    frames: int = 200,
    t_start: float | None = None,
    t_end: float | None = None,
) -> Path:
    """Write a film for ParaView and return its path, which ends in .pvd; the files of the frames go next to it.

    Each frame has two files: solids and lines with the cell data `body` (its number, -1 for the ground), and contacts as
    points with `force` (N, a vector: mean since the frame before), `state` (1 stick, 2 slip, 3 impact) and `contact`.

    >>> write_vtk(solution, "crank.pvd")    # doctest: +SKIP
    """
    path = Path(path)
    if path.suffix.lower() != ".pvd":
        raise ResultFileError(f"cannot write {path}: end its name in .pvd; the files of its frames go next to it.")
    film = shoot(solution, drawing, frames=frames, t_start=t_start, t_end=t_end)
    solids = [(solid, *mesh_of(solid)) for solid in film.solids if solid.kind != "cavity"]
    entries = []
    try:
        folder = path.parent / f"{path.stem}_frames"
        folder.mkdir(parents=True, exist_ok=True)
        for frame, t in enumerate(film.t):
            for part, text in enumerate((_bodies(film, solids, frame), _contacts(film, frame))):
                name = f"{('bodies', 'contacts')[part]}_{frame:05d}.vtp"
                (folder / name).write_text(text, encoding="ascii")
                file = quoteattr(f"{folder.name}/{name}")
                entries.append(f'<DataSet timestep="{float(t)!r}" part="{part}" file={file}/>')
        collection = "\n".join(entries)
        path.write_text(
            f'<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0" byte_order="LittleEndian">\n<Collection>\n'
            f"{collection}\n</Collection>\n</VTKFile>\n",
            encoding="utf-8",
        )
    except OSError as error:
        raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
    return path


def mesh_of(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in the frame of its body, and triangles."""
    look = solid.look
    match solid.kind:
        case "box":
            x, y, z = np.array(look["size"]) / 2
            corners = np.array([(i, j, k) for i in (-x, x) for j in (-y, y) for k in (-z, z)])
            quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
            vertices, faces = corners, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
        case "mesh":
            vertices, faces = np.array(look["vertices"], float), look["faces"]
        case "cylinder":
            vertices, faces = _lathe([(0, -1), (1, -1), (1, 1), (0, 1)])
            vertices = vertices * [look["radius"], look["radius"], look["length"] / 2]
        case "link":
            a, b = np.asarray(look["ends"], float)
            length = float(np.linalg.norm(b - a))
            arc = np.linspace(0, np.pi / 2, 7)
            low = [(np.cos(w), -np.sin(w)) for w in arc[::-1]]
            profile = [(r, h * look["radius"] / max(length, 1e-300)) for r, h in low]
            profile += [(r, 1 - h) for r, h in profile[::-1]]
            vertices, faces = _lathe(profile)
            vertices = vertices * [look["radius"], look["radius"], max(length, 1e-300)]
            vertices = a + _toward(vertices, (b - a) / max(length, 1e-300))
        case _:
            arc = np.linspace(-np.pi / 2, np.pi / 2, 13)
            vertices, faces = _lathe([(np.cos(w), np.sin(w)) for w in arc])
            vertices = vertices * np.array(look.get("semi_axes", [look.get("radius", 1.0)] * 3))
    return solid.at + turned(solid.turn, vertices), np.array(faces, np.int64)


def _lathe(profile: Sequence[tuple[float, float]]) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """A body of revolution about z from pairs of radius and height."""
    angles = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    vertices = np.array([(r * np.cos(w), r * np.sin(w), z) for r, z in profile for w in angles])
    faces = []
    for i in range(len(profile) - 1):
        for j in range(ROUND):
            a, b = i * ROUND + j, i * ROUND + (j + 1) % ROUND
            faces += [(a, b, b + ROUND), (a, b + ROUND, a + ROUND)]
    return vertices, faces


def _toward(points: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Points turned from z to an axis."""
    x = np.cross(axis, [1.0, 0, 0] if abs(axis[0]) < 0.9 else [0, 1.0, 0])
    x = x / max(float(np.linalg.norm(x)), 1e-300)
    return points @ np.array([x, np.cross(axis, x), axis])


def _bodies(film: Film, solids: list[tuple[Solid, np.ndarray, np.ndarray]], frame: int) -> str:
    points: list[np.ndarray] = []
    polygons: list[np.ndarray] = []
    lines: list[np.ndarray] = []
    of_lines: list[int] = []
    of_polygons: list[int] = []
    count = 0
    for solid, vertices, faces in solids:
        if solid.body >= 0:
            pose = film.poses[solid.body]
            pose = pose[frame if len(pose) > 1 else 0]
            vertices = pose[:3] + turned(pose[3:], vertices)
        points.append(vertices)
        polygons += list(faces + count)
        of_polygons += [solid.body] * len(faces)
        count += len(vertices)
    for trace in film.traces:
        if trace.kind not in (*LINES, "area"):
            continue
        place = trace.points[frame if len(trace.points) > 1 else 0]
        points.append(place)
        (polygons if trace.kind == "area" else lines).append(np.arange(len(place)) + count)
        (of_polygons if trace.kind == "area" else of_lines).append(-1)
        count += len(place)
    place = np.vstack(points) if points else np.zeros((0, 3))
    return _polydata(place, {}, lines, polygons, {"body": np.array(of_lines + of_polygons, np.int32)})


def _contacts(film: Film, frame: int) -> str:
    spots = film.spots
    (closed,) = np.nonzero((spots.states[frame] > 0) & np.isfinite(spots.places[frame]).all(axis=-1))
    more = film.detected
    own = more.frame == frame
    places = np.concatenate([spots.places[frame, closed], more.places[own]])
    numbers = np.concatenate([closed, np.full(own.sum(), -1)]).astype(np.int32)  # detected ones have no number
    data = {
        "force": np.concatenate([np.nan_to_num(spots.forces[frame, closed]), more.forces[own]]),
        "state": np.concatenate([spots.states[frame, closed], more.states[own]]).astype(np.int32),
        "contact": numbers,
    }
    return _polydata(places, data, [], [], {}, verts=len(places))


def _polydata(
    points: np.ndarray,
    point_data: dict[str, np.ndarray],
    lines: list[np.ndarray],
    polygons: list[np.ndarray],
    cell_data: dict[str, np.ndarray],
    verts: int = 0,
) -> str:
    counts = f'NumberOfPoints="{len(points)}" NumberOfVerts="{verts}" NumberOfLines="{len(lines)}"'
    cells = [("Verts", [np.array([k]) for k in range(verts)]), ("Lines", lines), ("Polys", polygons)]
    pieces = [
        f"<PointData>{''.join(_array(name, x) for name, x in point_data.items())}</PointData>",
        f"<CellData>{''.join(_array(name, x) for name, x in cell_data.items())}</CellData>",
        f"<Points>{_array('Points', points.astype(np.float32))}</Points>",
    ]
    for name, found in cells:
        joined = np.concatenate(found).astype(np.int64) if found else np.zeros(0, np.int64)
        ends = np.cumsum([len(cell) for cell in found]).astype(np.int64)
        pieces.append(f"<{name}>{_array('connectivity', joined)}{_array('offsets', ends)}</{name}>")
    inside = "\n".join(pieces)
    return (
        '<?xml version="1.0"?>\n<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
        f'<PolyData><Piece {counts} NumberOfPolys="{len(polygons)}">\n{inside}\n</Piece></PolyData>\n</VTKFile>\n'
    )


def _array(name: str, values: Any) -> str:
    """Numbers as VTK's inline binary: their number of bytes and they themselves, as base64."""
    kinds = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64"}
    values = np.asarray(values)
    if values.dtype == np.float64:
        values = values.astype(np.float32)
    raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
    text = base64.b64encode(np.uint64(len(raw)).tobytes() + raw).decode()
    components = values.shape[1] if values.ndim == 2 else 1
    kind = kinds[values.dtype.str[1:]]
    return (
        f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{components}" format="binary">{text}</DataArray>'
    )
