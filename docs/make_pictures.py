"""The pictures of README and docs. Needs chromium, playwright and ffmpeg; run it as

    python docs/make_pictures.py [hero] [crank] [viewer] [gallery] [figures] [analysis] [scenes] [scene's name ...]

Films and pictures of mechanisms are what the page of a solution shows. Sketches of parts: make_gallery.py.
"""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from stickslip import plots
from stickslip.math import quaternion

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
THUMBNAIL = (420, 280)  # in points; drawn with twice as many pixels, stored with these
WHOLE = "position: fixed; inset: 0; height: 100%; z-index: 9"  # the stage alone
NEXT = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


# -- mechanisms ----------------------------------------------------------------------------------------------------------


def pyramid() -> ss.Solution:
    """A ball knocks down a pyramid of boxes; all contacts are detected."""
    s = ss.System("a ball and a pyramid")
    s.add(ss.Gravity([0, 0, -9.81]))
    bodies = []
    for row in range(3):
        for column in range(3 - row):
            at = ss.ground.frame([0.0, 0.21 * (column - (2 - row) / 2), 0.06 + 0.12 * row])
            bodies.append(s.add(ss.solid(f"box {row}.{column}", ss.Box(at, [0.12, 0.19, 0.12]), density=400)))
    ball = ss.Sphere(ss.ground.point(-1.1, 0.07, 0.2), 0.1)
    bodies.append(s.add(ss.solid("ball", ball, density=2500, velocity=[5.0, 0, 0.9])))
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    s.add(ss.Collisions("contacts", [*bodies, floor], friction=0.5, restitution=0.15))
    return ss.solve(s, t_end=0.8, dt=2e-3, method="moreau", progress=False)


def crank() -> ss.Solution:
    """The slider rattles in its guide."""
    return ss.solve(ss.benchmarks.slider_crank(parts=True), t_end=0.1, dt=1e-4, progress=False)


def tumbling() -> ss.Solution:
    """A box, a ball, a capsule and an egg fall on a table."""
    s = ss.System("shapes on a table")
    table = ss.Plane([0, 0, 0], [0, 0, 1])
    law = {"friction": 0.4, "restitution": 0.3}
    s.add(ss.Gravity([0, 0, -9.81]))

    def body(name: str, matter: Any, **state: Any) -> Any:
        return s.add(ss.RigidBody(name, mass=matter.mass, inertia=matter.inertia, **state))

    turn = {"orientation": quaternion([1, 1, 0], 0.7)}
    box = body(
        "box", ss.inertia.box(0.3, 0.2, 0.1, density=700), position=[0, 0, 0.55], velocity=[0.3, -0.3, 0], **turn
    )
    s.add(ss.Contact("box on table", ss.Box(box, [0.3, 0.2, 0.1]), table, **law))
    state = {"position": [-0.45, -0.3, 0.5], "velocity": [0.5, -0.6, 0], "angular_velocity": [0, 20, 0]}
    ball = body("ball", ss.inertia.sphere(0.09, density=700), **state)
    s.add(ss.Contact("ball on table", ss.Sphere(ball.point(), 0.09), table, **law))
    turn = {"orientation": quaternion([0, 1, 0], 1.1)}
    rod = body(
        "capsule",
        ss.inertia.capsule(0.05, 0.25, density=700),
        position=[0.1, 0.45, 0.5],
        velocity=[0.5, 0.4, 0],
        **turn,
    )
    ends = rod.point(0, 0, -0.125), rod.point(0, 0, 0.125)
    s.add(ss.Contact("capsule on table", ss.Capsule(*ends, 0.05), table, **law))
    state = {"position": [-0.4, 0.4, 0.4], "velocity": [-0.3, 0.5, 0], "angular_velocity": [3, 4, 0]}
    turn = {"orientation": quaternion([1, 0, 0], 0.5)}
    egg = body("egg", ss.inertia.ellipsoid(0.08, 0.1, 0.14, density=700), **state, **turn)
    s.add(ss.Contact("egg on table", ss.Ellipsoid(egg, [0.08, 0.1, 0.14]), table, **law))
    return ss.solve(s, t_end=1.5, dt=1e-3, method="moreau", progress=False)


# -- the browser ---------------------------------------------------------------------------------------------------------


@contextmanager
def opened(
    solution: ss.Solution, size: tuple[int, int], hash_: str, scale: float = 1.0, **options: Any
) -> Iterator[Any]:
    """The page of a solution in Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = solution.view(path=Path(folder) / "page.html", **options)
        arguments = ["--no-sandbox", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=arguments)
        view = {"width": size[0], "height": size[1]}
        page = browser.new_context(viewport=view, device_scale_factor=scale).new_page()
        page.goto(path.as_uri() + hash_)
        page.wait_for_function("window.stickslip && stickslip.state().shots.count > 1", timeout=120_000)
        page.wait_for_timeout(400)
        yield page
        browser.close()


def seen(page: Any, t: float) -> bytes:
    """The picture of the page's canvas at a time, as PNG."""
    page.evaluate(f"stickslip.seek({t})")
    page.evaluate(NEXT)
    return base64.b64decode(page.evaluate("stage.snapshot()").partition(",")[2])


def animated(
    solution: ss.Solution, name: str, times: Sequence[float], size: tuple[int, int], fps: int, look: str
) -> None:
    """A GIF of the page's canvas."""
    with opened(solution, size, "#theme=light", 2.0) as page, tempfile.TemporaryDirectory() as folder:
        page.evaluate(f"document.querySelector('#stage').style.cssText = '{WHOLE}'")
        page.wait_for_timeout(300)
        page.evaluate(f"stage.resize(); stage.fit(); {look}")
        for k, t in enumerate(times):
            (Path(folder) / f"{k:04d}.png").write_bytes(seen(page, float(t)))
        shrink = f"scale={size[0]}:-1:flags=lanczos,split[a][b]"
        colors = f"{shrink};[a]palettegen=max_colors=256[p];[b][p]paletteuse=dither=bayer:bayer_scale=5"
        command = ["ffmpeg", "-v", "error", "-y", "-framerate", str(fps), "-i", f"{folder}/%04d.png", "-vf", colors]
        subprocess.run([*command, str(IMAGES / name)], check=True)


def photographed(solution: ss.Solution, name: str, size: tuple[int, int], hash_: str, **options: Any) -> None:
    """A picture of the whole page."""
    with opened(solution, size, hash_, **options) as page:
        page.screenshot(path=IMAGES / name)


# -- the pictures --------------------------------------------------------------------------------------------------------


def hero() -> None:
    """README: the first thing that one sees."""
    times = np.concatenate([np.linspace(0.05, 0.5, 45), np.linspace(0.5, 0.62, 7)[1:], np.full(6, 0.62)])
    animated(pyramid(), "pyramid.gif", times, (720, 405), 25, "stage.zoom(1.75)")


def film_of_crank() -> None:
    """The slider-crank, slowed down."""
    animated(crank(), "slider_crank.gif", np.linspace(0, 0.1, 100), (720, 340), 25, "stage.zoom(1.05)")


def viewer() -> None:
    """docs/viewing.md: the page, wide and on a phone, light and dark."""
    plane, space = crank(), tumbling()
    moment = "#t=0.0096"
    photographed(plane, "viewer.png", (1440, 860), f"{moment}&theme=light")
    photographed(plane, "viewer_phone.png", (390, 844), f"{moment}&theme=dark", scale=2.0)
    struck = float(space.t[int(space.P_N[:, :8].sum(axis=1).argmax())])
    quantities = ["energy.kinetic", "energy.total", "box.z", "ball.z", "egg.z"]
    look = f"#t={struck}&theme=dark&show=trails,labels"
    photographed(space, "viewer_space.png", (1440, 860), look, quantities=quantities)


def gallery() -> None:
    """docs/gallery.md: one thumbnail per example that can be seen, at the moment of the largest contact force."""
    from PIL import Image

    folder = IMAGES / "gallery"
    folder.mkdir(exist_ok=True)
    for name, solution in examples():
        look = solution.provenance["look"]
        if not look["bodies"] and not look["tracks"]:
            continue
        force = solution.P_N.sum(axis=1)
        row = int(force.argmax()) if force.any() else 2 * len(solution) // 3
        with opened(solution, THUMBNAIL, "#theme=light&show=trails", 2.0) as page:
            page.evaluate(f"document.querySelector('#stage').style.cssText = '{WHOLE}'")
            page.wait_for_timeout(200)
            page.evaluate("stage.resize(); stage.fit()")
            raw = BytesIO(seen(page, float(solution.t[row])))
        with Image.open(raw) as image:
            small = image.convert("RGB").resize(THUMBNAIL, Image.Resampling.LANCZOS)
            small.save(folder / f"{name}.jpg", quality=92, subsampling=0, optimize=True)


def examples(page: str = "gallery.md") -> list[tuple[str, ss.Solution]]:
    """The solutions of a page, the first of each system, by the names of the systems."""
    found: list[ss.Solution] = []
    solve, namespace = ss.solve, {}
    ss.solve = lambda *a, **k: found.append(solve(*a, **k)) or found[-1]
    try:
        for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), flags=re.DOTALL):
            exec(compile(block, page, "exec"), namespace)  # our own page
    finally:
        ss.solve = solve
    names = {re.sub(r"\W+", "_", s.provenance["system"]): s for s in reversed(found)}
    return list(reversed(names.items()))


def tutorial() -> list[ss.Solution]:
    """The two solutions of docs/tutorial.md."""
    found = [s for _, s in examples("tutorial.md")]
    return [
        next(s for s in found if s.provenance["system"] == name) for name in ("friction oscillator", "block on a floor")
    ]


def quickest(runs: Sequence[ss.Solution]) -> ss.Solution:
    """The run whose steps took the shortest time: figures say it, and other programs only make it longer."""
    return min(runs, key=lambda run: run.stats.time_per_step)


def figures() -> None:
    """Curves of README, tutorial, plots.md and viewing.md."""
    oscillator, block = (quickest(pair) for pair in zip(*(tutorial() for _ in range(5)), strict=True))
    chosen = oscillator.plot(quantities=["x", "x_dot", "floor.friction"])
    plots.save(chosen, IMAGES / "tutorial_oscillator.png", dpi=100)
    photographed(block, "tutorial_block.png", (1100, 560), "#t=0.35&theme=light")
    plots.save(quickest([crank() for _ in range(5)]).plot(), IMAGES / "slider_crank.png", dpi=100)
    bird = ss.solve(ss.benchmarks.woodpecker_toy(), t_end=0.6, dt=1e-4, progress=False)
    plots.save(plots.strip(bird, snapshots=7), IMAGES / "woodpecker_toy_motion.png", dpi=80)


def analysis() -> None:
    """The three figures of docs/analysis.md, drawn by the code on that page; its times are the shortest of eight."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / "analysis.md").read_text("utf-8"), flags=re.DOTALL))
    found: list[dict[str, Any]] = [{} for _ in range(8)]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):  # the page writes figures of its own
        for namespace in found:
            exec(compile(code, "analysis.md", "exec"), namespace)  # our own page
    study = min((n["study"] for n in found), key=lambda study: sum(run.wall_time for run in study.runs))
    comparisons = [n["comparison"] for n in found]
    quick = {m: quickest([c.solutions[m] for c in comparisons]) for m in comparisons[0].solutions}
    outcomes = [replace(o, solution=quick.get(o.method, o.solution)) for o in comparisons[0].outcomes]
    comparison = replace(comparisons[0], outcomes=type(comparisons[0].outcomes)(outcomes))
    plots.save(found[0]["ledger"].plot(), IMAGES / "slider_crank_ledger.png", dpi=80)
    plots.save(study.plot(), IMAGES / "slope_convergence.png", dpi=80)
    plots.save(comparison.plot(), IMAGES / "slider_crank_comparison.png", dpi=80)


# Scenes of docs/mechanisms/scenes.md: end and step of the run, how the camera is moved, whether forces are shown.
SCENES: dict[str, tuple[float, float, str, bool]] = {
    "dominoes": (0.72, 1e-3, "stage.zoom(1.2)", True),
    "tower": (0.75, 1e-3, "stage.zoom(1.15)", True),
    "cannonballs": (0.5, 1e-3, "stage.zoom(1.5)", False),
    "card_house": (0.3, 5e-4, "stage.zoom(1.15)", True),
    "arch": (1.1, 2e-3, "stage.zoom(1.1)", True),
    "newtons_cradle": (0.93, 2e-4, "stage.zoom(1.3)", False),
    "gripper": (1.0, 1e-3, "stage.zoom(1.0)", True),
    "dice": (0.7, 1e-3, "stage.zoom(1.45)", False),
    "silo": (0.75, 1e-3, "stage.zoom(1.1)", False),
    "heap": (1.2, 2e-3, "stage.zoom(2.0)", False),
    "ball_bearing": (0.13, 1e-4, "stage.zoom(4.3)", False),
    "jumping_balls": (0.24, 2e-4, "stage.zoom(2.2)", False),
}


def scene(name: str) -> None:
    """One film of docs/mechanisms/scenes.md."""
    t_end, dt, look, forces = SCENES[name]
    entry = ss.benchmarks.REGISTRY[name]
    solution = ss.solve(entry.build(), t_end, dt, method=entry.method, tol=entry.tol, progress=False)
    times = np.concatenate([np.linspace(0, t_end, 44), np.full(4, t_end)])
    hidden = "" if forces else "toggle('contacts'); "
    animated(solution, f"mechanisms/{name}.gif", times, (360, 240), 16, hidden + look)


def scenes() -> None:
    """All of them."""
    for name in SCENES:
        scene(name)


PICTURES: dict[str, Callable[[], None]] = {
    "hero": hero, "crank": film_of_crank, "viewer": viewer, "gallery": gallery, "figures": figures,
    "analysis": analysis,
    "scenes": scenes,
}  # fmt: skip


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        scene(chosen) if chosen in SCENES else PICTURES[chosen]()
