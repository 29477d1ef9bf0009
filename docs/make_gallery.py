"""Draw the sketches of docs/gallery.md: python docs/make_gallery.py writes docs/images/gallery_*.svg."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "stickslip", "font.size": 9})

import numpy as np  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.patches import Circle, Ellipse, FancyArrowPatch, Polygon, Rectangle, Wedge  # noqa: E402

BODY, OTHER, LINE, MOTION = "#bcd4ea", "#f3d9b1", "#333333", "#c0392b"


# -- strokes -----------------------------------------------------------------------------------------------------------


def ground(ax: Axes, x0: float, x1: float, y: float) -> None:
    ax.plot([x0, x1], [y, y], color=LINE, lw=1.2)
    for x in np.arange(x0 + 0.05, x1, 0.12):
        ax.plot([x, x - 0.08], [y, y - 0.08], color=LINE, lw=0.6)


def bar(ax: Axes, p, q, color: str = BODY, width: float = 0.14) -> None:
    p, q = np.array(p, float), np.array(q, float)
    t = (q - p) / np.linalg.norm(q - p)
    n = width / 2 * np.array([-t[1], t[0]])
    ax.add_patch(Polygon([p + n, q + n, q - n, p - n], facecolor=color, edgecolor=LINE, lw=1, joinstyle="round"))


def dot(ax: Axes, p, size: float = 4, filled: bool = False) -> None:
    ax.plot(*p, "o", ms=size, mfc=LINE if filled else "white", mec=LINE, zorder=5)


def axis(ax: Axes, p, q) -> None:
    ax.plot([p[0], q[0]], [p[1], q[1]], color=LINE, lw=0.8, ls=(0, (8, 2, 2, 2)), zorder=4)


def arrow(ax: Axes, p, q, bend: float = 0.0, both: bool = False) -> None:
    style = "<|-|>" if both else "-|>"
    path = FancyArrowPatch(p, q, arrowstyle=style, mutation_scale=8, color=MOTION, lw=1.2, zorder=6)
    path.set_connectionstyle("arc3", rad=bend)
    ax.add_patch(path)


def spring(ax: Axes, p, q, coils: int = 6) -> None:
    p, q = np.array(p, float), np.array(q, float)
    t, s = q - p, np.linspace(0, 1, 2 * coils + 3)
    n = np.array([-t[1], t[0]]) / np.linalg.norm(t) * 0.08
    side = np.array([0, *[(-1) ** k for k in range(2 * coils + 1)], 0])
    points = p + s[:, None] * t + side[:, None] * n
    ax.plot(*points.T, color=LINE, lw=1)


def disc(ax: Axes, p, r: float, color: str = BODY) -> None:
    ax.add_patch(Circle(p, r, facecolor=color, edgecolor=LINE, lw=1))


def box(ax: Axes, p, w: float, h: float, angle: float = 0.0, color: str = BODY) -> None:
    ax.add_patch(
        Rectangle(
            (p[0] - w / 2, p[1] - h / 2), w, h, angle=angle, rotation_point="center", facecolor=color, edgecolor=LINE
        )
    )


def label(ax: Axes, p, text: str) -> None:
    ax.text(*p, text, ha="center", va="center", color=LINE, fontsize=8)


# -- panels ------------------------------------------------------------------------------------------------------------


def point_mass(ax: Axes) -> None:
    dot(ax, (0.1, 0.1), 12, filled=True)
    arrow(ax, (0.1, 0.1), (0.7, 0.3))
    label(ax, (0.6, 0.45), "u")


def planar_body(ax: Axes) -> None:
    box(ax, (0, 0), 1.0, 0.5, 25)
    dot(ax, (0, 0))
    arrow(ax, (0, 0), (0.6, 0))
    arrow(ax, (0.5, -0.02), (0.42, 0.24), bend=0.3)
    label(ax, (0.6, 0.14), r"$\varphi$")


def rigid_body(ax: Axes) -> None:
    ax.add_patch(Ellipse((0, 0), 1.5, 0.9, angle=20, facecolor=BODY, edgecolor=LINE))
    for end, name in (((0.5, 0.18), "x"), ((-0.1, 0.5), "y"), ((-0.35, -0.3), "z")):
        arrow(ax, (0, 0), end)
        label(ax, np.array(end) * 1.25, name)
    dot(ax, (0, 0))


def two_bars(ax: Axes) -> None:
    bar(ax, (-0.9, -0.1), (0, 0))
    bar(ax, (0, 0), (0.8, 0.45), OTHER)


def fixed(ax: Axes) -> None:
    two_bars(ax)
    box(ax, (0, 0), 0.22, 0.22, 15, LINE)


def revolute(ax: Axes) -> None:
    two_bars(ax)
    dot(ax, (0, 0), 9)
    arrow(ax, (0.55, -0.05), (0.35, 0.5), bend=0.35, both=True)


def prismatic(ax: Axes) -> None:
    axis(ax, (-1, 0), (1, 0))
    bar(ax, (-0.9, 0), (0.9, 0), BODY, 0.1)
    box(ax, (0.2, 0), 0.5, 0.36, 0, OTHER)
    arrow(ax, (-0.2, 0.35), (0.6, 0.35), both=True)


def cylindrical(ax: Axes) -> None:
    prismatic(ax)
    arrow(ax, (0.55, -0.3), (0.55, 0.3), bend=0.5, both=True)


def screw(ax: Axes) -> None:
    prismatic(ax)
    for x in np.arange(-0.85, 0.9, 0.1):
        ax.plot([x, x + 0.05], [-0.07, 0.07], color=LINE, lw=0.7)
    arrow(ax, (0.55, -0.3), (0.55, 0.3), bend=0.5)


def spherical(ax: Axes) -> None:
    two_bars(ax)
    ax.add_patch(Wedge((0, 0), 0.2, 60, 360, facecolor=BODY, edgecolor=LINE))
    disc(ax, (0, 0), 0.13, OTHER)


def universal(ax: Axes) -> None:
    two_bars(ax)
    ax.plot([-0.15, 0.15], [0.2, -0.2], color=LINE, lw=3)
    ax.plot([-0.2, 0.2], [-0.15, 0.15], color=MOTION, lw=3)


def planar_joint(ax: Axes) -> None:
    ax.add_patch(Polygon([(-1, -0.4), (0.5, -0.4), (1, 0.2), (-0.5, 0.2)], facecolor=BODY, edgecolor=LINE))
    ax.add_patch(Ellipse((0, -0.1), 0.6, 0.26, facecolor=OTHER, edgecolor=LINE))
    arrow(ax, (0, -0.1), (0, 0.5))
    label(ax, (0.12, 0.45), "n")


def rod(ax: Axes) -> None:
    ax.plot([-0.6, 0.6], [-0.2, 0.25], color=LINE, lw=1.5)
    box(ax, (-0.75, -0.25), 0.5, 0.35)
    box(ax, (0.75, 0.3), 0.5, 0.35, 0, OTHER)
    dot(ax, (-0.6, -0.2))
    dot(ax, (0.6, 0.25))


def rolling(ax: Axes) -> None:
    ground(ax, -1, 1, -0.4)
    disc(ax, (0, 0), 0.4)
    arrow(ax, (-0.2, 0.5), (0.3, 0.45), bend=-0.3)
    dot(ax, (0, -0.4), filled=True)


def gear(ax: Axes) -> None:
    for x, r, color in ((-0.4, 0.45, BODY), (0.4, 0.3, OTHER)):
        angle = np.linspace(0, 2 * np.pi, 400)
        radius = r + 0.03 * np.sign(np.sin(r * 50 * angle))
        ax.add_patch(
            Polygon(np.c_[x + radius * np.cos(angle), radius * np.sin(angle)], facecolor=color, edgecolor=LINE)
        )
        dot(ax, (x, 0))


def gravity(ax: Axes) -> None:
    disc(ax, (0, 0.2), 0.25)
    arrow(ax, (0, 0.2), (0, -0.5))
    label(ax, (0.2, -0.35), "m a")


def spring_damper(ax: Axes) -> None:
    ax.plot([-0.9, -0.9], [-0.4, 0.4], color=LINE, lw=2)
    spring(ax, (-0.9, 0.2), (0.4, 0.2))
    ax.plot([-0.9, -0.3], [-0.2, -0.2], color=LINE)
    ax.plot([-0.1, -0.3, -0.3, -0.1], [-0.1, -0.1, -0.3, -0.3], color=LINE)
    ax.plot([-0.2, 0.4], [-0.2, -0.2], color=LINE)
    ax.plot([-0.2, -0.2], [-0.27, -0.13], color=LINE)
    box(ax, (0.65, 0), 0.5, 0.7)


def force(ax: Axes) -> None:
    box(ax, (0, 0), 0.9, 0.4, 20)
    arrow(ax, (-0.9, 0.55), (-0.38, 0.0))
    arrow(ax, (0.3, -0.45), (0.55, 0.4), bend=0.5)


def motor(ax: Axes) -> None:
    bar(ax, (-0.9, -0.1), (0, 0))
    bar(ax, (0, 0), (0.8, 0.45), OTHER)
    disc(ax, (0, 0), 0.22, "white")
    label(ax, (0, 0), "M")
    arrow(ax, (0.35, -0.12), (0.12, 0.42), bend=0.5)


def motion(ax: Axes) -> None:
    two_bars(ax)
    dot(ax, (0, 0), 9)
    ax.plot([0, 0.9], [0, 0.1], color=LINE, lw=0.8, ls="--")
    arrow(ax, (0.55, 0.06), (0.48, 0.27), bend=0.2)
    label(ax, (0.8, 0.22), r"$\varphi(t)$")


def controller(ax: Axes) -> None:
    revolute(ax)
    ax.plot([0, 0.9], [0, 0.0], color=LINE, lw=0.8, ls="--")
    label(ax, (0.75, -0.12), "target")


def limits(ax: Axes) -> None:
    dot(ax, (-0.6, -0.4), 9)
    bar(ax, (-0.6, -0.4), (0.5, 0.1))
    for angle in (0.0, 0.95):
        p = np.array([-0.6, -0.4])
        e = np.array([np.cos(angle), np.sin(angle)])
        ax.plot(*np.c_[p + 0.5 * e, p + 1.1 * e], color=LINE, lw=2)


def friction(ax: Axes) -> None:
    dot(ax, (0, 0), 9)
    disc(ax, (0, 0), 0.4)
    dot(ax, (0, 0), 9)
    box(ax, (0, 0.5), 0.3, 0.16, 0, LINE)
    arrow(ax, (0.5, -0.1), (0.35, 0.35), bend=0.3)


def on_floor(draw: Callable[[Axes], None]) -> Callable[[Axes], None]:
    def panel(ax: Axes) -> None:
        ground(ax, -1, 1, -0.5)
        draw(ax)

    return panel


def capsule(ax: Axes) -> None:
    ax.plot([-0.4, 0.5], [-0.3, 0.1], color=LINE, lw=24, solid_capstyle="round")
    ax.plot([-0.4, 0.5], [-0.3, 0.1], color=BODY, lw=22, solid_capstyle="round")


def egg(ax: Axes) -> None:
    ax.add_patch(Ellipse((0, -0.17), 1.2, 0.6, angle=15, facecolor=BODY, edgecolor=LINE))


def disk(ax: Axes) -> None:
    ax.add_patch(Ellipse((0, -0.022), 0.5, 1.0, angle=-20, facecolor=BODY, edgecolor=LINE))
    dot(ax, (-0.126, -0.5), filled=True)


def cylinder(ax: Axes) -> None:
    ax.add_patch(Rectangle((-0.5, -0.5), 1.0, 0.6, facecolor=BODY, edgecolor="none"))
    for x in (-0.5, 0.5):
        ax.add_patch(Ellipse((x, -0.2), 0.25, 0.6, facecolor=BODY, edgecolor=LINE))
    ax.plot([-0.5, 0.5], [0.1, 0.1], color=LINE)


def graph(ax: Axes) -> None:
    x = np.linspace(-1, 1, 100)
    y = 0.25 * np.cos(3 * x) - 0.35
    ax.fill_between(x, y, -0.75, color="#e6e6e6")
    ax.plot(x, y, color=LINE)
    disc(ax, (0.62, -0.16), 0.22)


def cavity(ax: Axes) -> None:
    disc(ax, (0, 0), 0.65, "white")
    disc(ax, (0.21, -0.27), 0.3)


def journal(ax: Axes) -> None:
    disc(ax, (0, 0), 0.62, OTHER)
    disc(ax, (0, 0), 0.42, "white")
    bar(ax, (0.05, -0.06), (1.05, 0.3))
    disc(ax, (0.05, -0.06), 0.34)


def slider(ax: Axes) -> None:
    for y, side in ((0.34, 1), (-0.34, -1)):
        ax.plot([-1, 1], [y, y], color=LINE, lw=1.2)
        for x in np.arange(-0.95, 1, 0.12):
            ax.plot([x, x - 0.08], [y, y + side * 0.08], color=LINE, lw=0.6)
    box(ax, (0, 0), 1.0, 0.5, 5)
    arrow(ax, (-0.4, 0), (0.4, 0), both=True)


def tangents(ax: Axes) -> None:
    ground(ax, -1, 1, -0.5)
    ax.add_patch(Wedge((0, -0.5), 0.9, 60, 120, facecolor="#eeeeee", edgecolor=LINE))
    arrow(ax, (0, -0.5), (0.25, 0.25))
    label(ax, (-0.05, 0.12), "P")
    label(ax, (0, 0.56), r"$|P_F| \leq \mu P_N$")


def ellipse_cone(ax: Axes) -> None:
    ax.add_patch(Ellipse((0, 0), 1.6, 0.7, facecolor="#eeeeee", edgecolor=LINE))
    arrow(ax, (0, 0), (0.5, 0.26))
    arrow(ax, (0, 0), (-0.2, -0.6))
    label(ax, (0.55, 0.42), r"$P_F$")
    label(ax, (-0.05, -0.62), r"$\gamma_F$")


def contensou(ax: Axes) -> None:
    ground(ax, -1, 1, -0.5)
    disc(ax, (0, 0), 0.5)
    ax.add_patch(Ellipse((0, -0.5), 0.5, 0.1, facecolor=OTHER, edgecolor=LINE, zorder=5))
    arrow(ax, (-0.45, 0.55), (0.45, 0.55), bend=0.4)
    label(ax, (0.72, 0.5), r"$\omega_n$")


def stribeck(ax: Axes) -> None:
    v = np.linspace(0, 1, 60)
    ax.plot(-0.7 + 1.5 * v, -0.25 + 0.6 * np.exp(-((v / 0.3) ** 2)), color=LINE, lw=1.5)
    arrow(ax, (-0.7, -0.5), (0.95, -0.5))
    arrow(ax, (-0.7, -0.5), (-0.7, 0.65))
    label(ax, (-0.48, 0.55), r"$\mu$")
    label(ax, (0.7, -0.66), r"$|\gamma_F|$")


def frictionless(ax: Axes) -> None:
    ground(ax, -1, 1, -0.5)
    disc(ax, (0, -0.1), 0.4)
    arrow(ax, (0, -0.5), (0, 0.45))
    label(ax, (0.25, 0.42), r"$P_N$")


def fixed_radius(ax: Axes) -> None:
    ground(ax, -1, 1, -0.5)
    box(ax, (0, -0.3), 0.8, 0.4)
    arrow(ax, (0, -0.5), (-0.6, -0.5))
    label(ax, (0, 0.3), r"$|P_F| \leq F\,\Delta t$")


# -- flexible parts: an undeformed mesh in white, the deformed one in colour ---------------------------------------------


def elastic_bar(ax: Axes) -> None:
    ax.plot([-0.9, -0.9], [-0.4, 0.4], color=LINE, lw=2)
    ends = [-0.85, -0.6, -0.3, 0.05, 0.45, 0.85]
    for a, b in pairwise(ends):
        box(ax, ((a + b) / 2, 0), b - a, 0.3)
    for x in ends:
        dot(ax, (x, 0), filled=True)
    arrow(ax, (0.4, 0.32), (0.85, 0.32))
    label(ax, (0.62, 0.48), "x")


def curve(x: np.ndarray) -> np.ndarray:
    return 0.45 - 0.28 * (x + 0.9) ** 2


def elastic_beam(ax: Axes) -> None:
    ax.plot([-0.9, -0.9], [0.1, 0.8], color=LINE, lw=2)
    x = np.linspace(-0.9, 0.8, 60)
    ax.plot(x, curve(x), color=LINE, lw=10, solid_capstyle="butt")
    ax.plot(x, curve(x), color=BODY, lw=8.5, solid_capstyle="butt")
    for k in np.linspace(-0.9, 0.8, 6):
        slope = -0.56 * (k + 0.9)
        n = 0.16 * np.array([-slope, 1]) / np.hypot(slope, 1)
        ax.plot([k - n[0], k + n[0]], [curve(k) - n[1], curve(k) + n[1]], color=MOTION, lw=1.2)
    label(ax, (0.45, 0.42), r"$x, y, \varphi$")


def shaft(ax: Axes) -> None:
    axis(ax, (-1.05, 0), (1.05, 0))
    for x in np.linspace(-0.9, 0.6, 6):
        box(ax, (x + 0.15, 0), 0.3, 0.2)
    for x in (-0.9, 0.9):
        ax.add_patch(Polygon([(x, -0.1), (x - 0.12, -0.35), (x + 0.12, -0.35)], facecolor="white", edgecolor=LINE))
    arrow(ax, (0, -0.25), (0, 0.25), bend=0.6)
    label(ax, (0.42, 0.3), r"$\varphi_x$")


def rotor_disk(ax: Axes) -> None:
    shaft(ax)
    box(ax, (-0.3, 0), 0.16, 1.1, 0, OTHER)


SHEETS: dict[str, dict[str, Callable[[Axes], None]]] = {
    "bodies": {"PointMass": point_mass, "PlanarBody": planar_body, "RigidBody": rigid_body},
    "joints": {
        "Fixed": fixed,
        "Revolute": revolute,
        "Prismatic": prismatic,
        "Cylindrical": cylindrical,
        "Screw": screw,
        "Spherical": spherical,
        "Universal": universal,
        "PlanarJoint": planar_joint,
        "Rod": rod,
        "Rolling": rolling,
    },
    "forces": {
        "Gravity": gravity,
        "SpringDamper": spring_damper,
        "Force, Torque": force,
        "Motor": motor,
        "Controller": controller,
        "Motion": motion,
        "Gear": gear,
        "Limits": limits,
        "Friction": friction,
    },
    "contacts": {
        "Point": on_floor(lambda ax: dot(ax, (0, -0.5), 8, filled=True)),
        "Sphere": on_floor(lambda ax: disc(ax, (0, -0.1), 0.4)),
        "Capsule": on_floor(capsule),
        "Box": on_floor(lambda ax: box(ax, (0, -0.11), 0.9, 0.5, 20)),
        "Disk": on_floor(disk),
        "Cylinder": on_floor(cylinder),
        "Ellipsoid": on_floor(egg),
        "Graph": graph,
        "Sphere with Point": lambda ax: (disc(ax, (-0.15, 0), 0.4), dot(ax, (0.25, 0), 7, filled=True)),
        "Sphere with Sphere": lambda ax: (disc(ax, (-0.4, -0.1), 0.4), disc(ax, (0.28, 0.12), 0.31, OTHER)),
        "Sphere with Box": lambda ax: (box(ax, (0.4, -0.2), 0.8, 0.6, 0, OTHER), disc(ax, (-0.18, 0.28), 0.25)),
        "Sphere with Capsule": lambda ax: (capsule(ax), disc(ax, (-0.3, 0.27), 0.27, OTHER)),
    },
    "clearance": {"Cavity": cavity, "ClearanceRevolute": journal, "ClearancePrismatic": slider},
    "laws": {
        "Frictionless": frictionless,
        "Coulomb": tangents,
        "OrthotropicCoulomb": ellipse_cone,
        "CoulombContensou": contensou,
        "FixedRadius": fixed_radius,
        "Stribeck": stribeck,
    },
    "flexible": {
        "Bar": elastic_bar,
        "Beam": elastic_beam,
        "SpatialBeam": shaft,
        "RotorDisk": rotor_disk,
    },
}  # fmt: skip


def main() -> None:
    """Write all sheets."""
    folder = Path(__file__).parent / "images"
    folder.mkdir(exist_ok=True)
    for name, panels in SHEETS.items():
        columns = min(5, len(panels))
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(1.9 * columns, 1.7 * rows), layout="constrained")
        for ax, (title, draw) in zip(figure.subplots(rows, columns, squeeze=False).flat, panels.items(), strict=False):
            draw(ax)
            ax.set_title(title, fontsize=9)
        for ax in figure.axes:
            ax.set(xlim=(-1.1, 1.1), ylim=(-0.8, 0.8), aspect="equal")
            ax.axis("off")
        figure.savefig(folder / f"gallery_{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
