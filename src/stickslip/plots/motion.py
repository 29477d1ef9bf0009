"""A solution as pictures of the mechanism: snapshots side by side, and a film."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.patches import Polygon as PolygonPatch

from stickslip.errors import OptionError, ResultFileError
from stickslip.plots.overview import _titles
from stickslip.plots.style import GRID, INK, LARGE, NORMAL, PALETTE, SMALL, SOFT
from stickslip.scene import FlatFilm, Track, film
from stickslip.shapes import Drawing
from stickslip.solution import Solution

TONES = {"body": PALETTE[0], "other": PALETTE[1], "third": PALETTE[2], "ink": INK, "faint": "#a9b2bb"}
GLOW = ("#e8352c", "#2f8f6b", "#e0962b", "#e8352c")  # open since the frame before, stick, slip, impact: as in the page
CROWD = 20  # contacts in a frame, from which on they glow less
GHOSTS = 3  # earlier states behind a snapshot


def strip(
    solution: Solution,
    drawing: Drawing | None = None,
    *,
    snapshots: int = 6,
    t_start: float | None = None,
    t_end: float | None = None,
    title: str | None = None,
) -> Figure:
    """The mechanism at moments that are evenly spaced in time, each with shadows of the states that led to it.

    Contacts that carry a percussion glow. The drawing is the one of the solution's system if none is given.

    >>> figure = strip(solution, snapshots=8)    # doctest: +SKIP
    """
    if snapshots < 1:
        raise OptionError(f"snapshots = {snapshots} must be at least 1")
    scene = film(solution, drawing, t_start=t_start, t_end=t_end)
    chosen = np.unique(np.linspace(0, len(scene) - 1, snapshots).round().astype(int))
    columns, width, height = _layout(len(chosen), scene.size)
    rows = -(-len(chosen) // columns)
    gap, head = 0.42, 0.85  # inches: above a snapshot for its time, above all of them
    size = (max(columns * width, 8.0) + 0.3, head + rows * (height + gap) + 0.1)
    figure = Figure(figsize=size)
    headline, details = _titles(solution)
    figure.suptitle(title or headline, x=0.15 / size[0], y=1 - 0.12 / size[1], ha="left", va="top", fontsize=LARGE,
                    color=INK, fontweight="bold")  # fmt: skip
    if scene.note:
        details = f"{scene.note}  ·  {details}"
    figure.text(0.15 / size[0], 1 - 0.52 / size[1], details, ha="left", va="top", fontsize=SMALL, color=SOFT)
    left = (size[0] - columns * width) / 2
    before = 0
    for k, frame in enumerate(chosen.tolist()):
        x, y = left + (k % columns) * width, size[1] - head - (k // columns + 1) * (height + gap) + 0.05
        place = (x + 0.06) / size[0], y / size[1], (width - 0.12) / size[0], height / size[1]
        ax = _stage(figure.add_axes(place), scene)
        ghosts = np.unique(np.linspace(before, frame, GHOSTS + 2).round().astype(int))[1:-1]
        _draw(ax, scene, frame, ghosts.tolist())
        ax.set_title(f"t = {scene.t[frame]:.4g} s", loc="left", fontsize=NORMAL, color=INK, pad=4)
        before = frame
    return figure


def animate(
    solution: Solution,
    path: str | Path,
    drawing: Drawing | None = None,
    *,
    seconds: float = 6.0,
    fps: int = 20,
    width: int = 480,
    t_start: float | None = None,
    t_end: float | None = None,
) -> Path:
    """Write a film of `width` pixels that plays for so many `seconds`: an animated GIF, or an MP4 where ffmpeg is installed.

    >>> animate(solution, "crank.gif", t_end=0.1)    # doctest: +SKIP
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise ResultFileError(f"cannot write {path}: end its name in .gif or .mp4; `solution.view()` makes a page.")
    if not (seconds > 0 and fps > 0 and width > 0):
        raise OptionError(f"seconds = {seconds}, fps = {fps} and width = {width} must be positive")
    scene = film(solution, drawing, frames=max(1, round(seconds * fps)), t_start=t_start, t_end=t_end)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (_gif if kind == ".gif" else _mp4)(_pictures(scene, width), path, fps)
    except OSError as error:
        raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
    return path


def _pictures(scene: FlatFilm, width: int) -> Iterator[np.ndarray]:
    """The frames as pixels (height, width, 3)."""
    dpi, (across, up) = 100, scene.size
    footer = 0.22  # inches, for the time
    figure = Figure(figsize=(width / dpi, width / dpi * up / across + footer))
    canvas = FigureCanvasAgg(figure)
    height = figure.get_size_inches()[1]
    ax = _stage(figure.add_axes((0, footer / height, 1, 1 - footer / height)), scene, frame_on=False)
    clock = figure.text(0.02, 0.05 / height, "", fontsize=SMALL, color=SOFT, va="bottom")
    for frame in range(len(scene)):
        artists = _draw(ax, scene, frame)
        clock.set_text(f"t = {scene.t[frame]:.3f} s")
        canvas.draw()  # type: ignore[no-untyped-call]
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
        for artist in artists:
            artist.remove()


def _gif(pictures: Iterator[np.ndarray], path: Path, fps: int) -> None:
    from PIL import Image

    images = [Image.fromarray(pixels) for pixels in pictures]
    # One palette for all frames: what stands still is then equal from frame to frame, and costs nothing.
    palette = _collage(images).quantize(128, method=Image.Quantize.MAXCOVERAGE)  # the median cut would grey the white
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=round(1000 / fps), loop=0, optimize=True)


def _mp4(pictures: Iterator[np.ndarray], path: Path, fps: int) -> None:
    """H.264 by the program ffmpeg, which gets the pixels through a pipe."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise ResultFileError(
            f"cannot write {path}: MP4 films need the program ffmpeg, which is not installed (Debian: apt install ffmpeg). "
            "End the name in .gif for a film without it."
        )
    first = next(pictures)
    height, width = (n - n % 2 for n in first.shape[:2])  # H.264 wants even sizes
    form = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-"]
    coded = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", str(path)]
    command = [program, "-y", "-loglevel", "error", *form, *coded]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as ffmpeg:
        assert ffmpeg.stdin is not None
        with suppress(BrokenPipeError):  # ffmpeg stopped: what it has to say comes below
            for pixels in chain([first], pictures):
                ffmpeg.stdin.write(np.ascontiguousarray(pixels[:height, :width]).tobytes())
        _, said = ffmpeg.communicate()
    if ffmpeg.returncode != 0:
        raise ResultFileError(f"cannot write {path}: ffmpeg says {said.decode(errors='replace').strip()!r}")


def _collage(images: list[Any]) -> Any:
    """A few frames on one picture, so that all colours are seen, the rare red of a contact too."""
    from PIL import Image

    some = images[:: max(1, len(images) // 8)]
    sheet = Image.new("RGB", (some[0].width, some[0].height * len(some)), "white")
    for k, image in enumerate(some):
        sheet.paste(image, (0, k * image.height))
    return sheet


def _layout(count: int, size: tuple[float, float]) -> tuple[int, float, float]:
    """Columns, and width and height of a snapshot in inches: as large as they get on a slide of 16 by 8 inches."""
    best = (0, 0.0, 0.0)
    for columns in range(1, count + 1):
        rows = -(-count // columns)
        scale = min(16 / columns / size[0], (7.1 / rows - 0.42) / size[1])
        if scale * size[0] > best[1] * (1 + 1e-9):
            best = (columns, scale * size[0], scale * size[1])
    return best


def _stage(ax: Axes, scene: FlatFilm, frame_on: bool = True) -> Axes:
    x_0, x_1, y_0, y_1 = scene.bounds
    ax.set(xlim=(x_0, x_1), ylim=(y_0, y_1), xticks=[], yticks=[])
    ax.set_aspect("equal")
    for spine in ax.spines.values():
        spine.set(visible=frame_on, color=GRID)
    return ax


def _draw(ax: Axes, scene: FlatFilm, frame: int, ghosts: list[int] | None = None) -> list[Any]:
    """Draw a frame over shadows of others; return what was drawn."""
    artists: list[Any] = []
    for track in scene.tracks:
        if track.look.get("trail") and frame > 0 and len(track.points) > 1:
            path = track.points[: frame + 1, 0]
            artists += ax.plot(*path.T, color=TONES[track.look["tone"]], linewidth=0.8, alpha=0.5, zorder=1)
    for k, ghost in enumerate(ghosts or []):
        for track in scene.tracks:
            if len(track.points) > 1 and track.kind not in ("touch", "dot"):
                artists.append(_artist(ax, track, ghost, 0.07 + 0.07 * k, zorder=1))
    for track in scene.tracks:
        if track.kind == "touch":
            glow = scene.glow[frame, _contact(scene, track)]
            if glow > 0:
                artists += _glowing(ax, track.at(frame)[:1], np.array([glow]), track.look["states"][frame : frame + 1])
        else:
            artists.append(_artist(ax, track, frame, 1.0, zorder=2))
    return artists + _glowing(ax, *scene.found.of(frame))


def _glowing(ax: Axes, places: np.ndarray, glow: np.ndarray, states: np.ndarray) -> list[Any]:
    """Contacts that carry something; where there are many, they are smaller."""
    if not len(places):
        return []
    colors, size = [GLOW[k] for k in states.tolist()], glow / max(1.0, len(places) / CROWD)
    (x, y), rings = places.T, ((260, 0.18), (110, 0.35), (30, 0.95))
    return [ax.scatter(x, y, s=area * size, c=colors, alpha=alpha, linewidth=0, zorder=5) for area, alpha in rings]


def _artist(ax: Axes, track: Track, frame: int, alpha: float, zorder: float) -> Any:
    points, look = track.at(frame), track.look
    color = TONES[look.get("tone", "ink")]
    style: dict[str, Any] = {"alpha": alpha, "zorder": zorder}
    match track.kind:
        case "line" | "ground":
            width = look.get("width", 1.4)
            (line,) = ax.plot(*points.T, color=color, linewidth=width, solid_capstyle="round", scalex=False, scaley=False,
                              solid_joinstyle="round", **style)  # fmt: skip
            return line
        case "hatch":
            return ax.add_collection(
                LineCollection(list(points.reshape(-1, 2, 2)), color=SOFT, linewidth=0.6, **style), autolim=False
            )
        case "dot":
            x, y = points[0]
            return ax.scatter(x, y, s=26, facecolor="white", edgecolor=color, linewidth=1.6, **style)
        case "arrow":
            return ax.add_patch(
                FancyArrowPatch(
                    *points, arrowstyle="-|>", mutation_scale=11, shrinkA=0, shrinkB=0, color=color, **style
                )
            )
        case "band":
            return ax.add_patch(PolygonPatch(points, facecolor="none", edgecolor=SOFT, linewidth=0.8, **style))
    patch = Circle(points[0], look["radius"]) if track.kind == "disk" else PolygonPatch(points)
    patch.set(facecolor=_light(color), edgecolor=color, linewidth=1.4, joinstyle="round", **style)
    return ax.add_patch(patch)


def _light(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.78 + 0.22 * red, 0.78 + 0.22 * green, 0.78 + 0.22 * blue


def _contact(scene: FlatFilm, track: Track) -> int:
    return scene.contacts.index(track.look["contact"])
