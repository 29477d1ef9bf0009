"""How fast pages open and play, in Chromium without a window and without a graphics card (SwiftShader): a lower bound.

    python bench/page.py [--spheres 1000] [--steps 1000000]

prints, for a heap of spheres, frames per second and the time that the page's own code takes per frame; for a long run, the
size of the page and the time to its first picture.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import stickslip as ss
from stickslip.solution import Names, Solution, Stats

ARGUMENTS = (
    "--no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist".split()
)


def heap(count: int, frames: int = 300) -> Solution:
    """Balls that fall and turn, as data: this measures the page, not the mechanics."""
    random = np.random.default_rng(1)
    side = int(np.ceil(count ** (1 / 3)))
    start = np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)[:count] + random.uniform(
        -0.1, 0.1, (count, 3)
    )
    t = np.linspace(0, 3, frames)
    q = np.zeros((frames, count, 7))
    q[..., :3] = start
    q[..., 2] = np.abs(start[:, 2] + 3 * np.cos(2 * t[:, None] + start.sum(axis=1))) + 0.5
    q[..., 3], q[..., 4] = np.cos(t)[:, None], np.sin(t)[:, None]
    empty = np.zeros((frames, 0))
    kinds = dict.fromkeys("g g_dot gamma gap gap_dot slip P_g P_gamma P_N P_F".split(), empty)
    bodies = [{"name": f"ball {k}", "kind": "rigid", "columns": list(range(7 * k, 7 * k + 7))} for k in range(count)]
    solids = [
        {
            "kind": "ball",
            "body": k,
            "at": [0.0] * 3,
            "turn": [1.0, 0, 0, 0],
            "tone": ("body", "other", "third")[k % 3],
            "radius": 0.48,
        }
        for k in range(count)
    ]
    tape = {"inputs": 1, "outputs": 6, "work": 1, "code": [["const", 0, 1.0], ["out", 5, 0]]}
    floor = {"kind": "plane", "count": 2, "dimension": 3, "first": 0}
    look = {"planar": False, "bodies": bodies, "solids": solids, "tracks": [floor], "layers": [0] * count, "tape": tape}
    names = Names(q=tuple(f"ball {k}.{x}" for k in range(count) for x in ("x", "y", "z", "p_0", "p_1", "p_2", "p_3")))
    return Solution(
        t=t,
        q=q.reshape(frames, -1),
        u=empty,
        **kinds,
        kinetic=np.zeros(frames),
        potential=np.zeros(frames),
        names=names,
        stats=Stats(("step",), np.zeros((frames - 1, 1), int), np.zeros((frames - 1, 1)), 0.0),
        provenance={"system": f"{count} spheres", "look": look | {"parameters": [], "version": 1}},
    )


def long_run(steps: int) -> Solution:
    """A short run, repeated."""
    short = ss.solve(ss.benchmarks.rotating_bouncing_ball(), t_end=1.0, dt=1e-3, progress=False)
    rows = np.resize(np.arange(len(short)), steps + 1)
    names = "q u g g_dot gamma gap gap_dot slip P_g P_gamma P_N P_F kinetic potential".split()
    stats = Stats(("step",), np.zeros((steps, 1), int), np.zeros((steps, 1)), 0.0)
    arrays = {name: getattr(short, name)[rows] for name in names}
    return replace(short, t=np.linspace(0, steps * 1e-3, steps + 1), **arrays, stats=stats, extra={})


def main() -> None:
    """Write two pages, open them, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spheres", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=10**6)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=ARGUMENTS)
        path = long_run(given.steps).view(path=Path(folder) / "long.html")
        start = time.perf_counter()
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(path.as_uri())
        page.wait_for_function("window.stickslip && stickslip.state().shots.count > 0")
        print(
            f"{given.steps} steps: {path.stat().st_size / 1e6:.1f} MB, open after {time.perf_counter() - start:.1f} s"
        )
        page.close()
        path = heap(given.spheres).view(path=Path(folder) / "heap.html")
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(path.as_uri())
        page.wait_for_function("window.stickslip && stickslip.state().shots.count > 1")
        page.evaluate("speed = 0.1; stickslip.play()")
        page.wait_for_timeout(4000)  # the page finds what the machine can do
        before = page.evaluate("stickslip.state()")
        page.wait_for_timeout(5000)
        after = page.evaluate("stickslip.state()")
        shots, busy = (after["shots"][k] - before["shots"][k] for k in ("count", "busy"))
        print(
            f"{given.spheres} spheres: {path.stat().st_size / 1e6:.1f} MB, {shots / 5:.1f} frames/s, "
            f"{busy / max(shots, 1):.1f} ms each in the page, {after['calls']} draw calls, {after['triangles']} triangles, "
            f"shadows {'on' if after['shadows'] else 'off'}, {after['ratio']} pixels per point"
        )
        browser.close()


if __name__ == "__main__":
    main()
