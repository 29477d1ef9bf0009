"""How fast pages open and play, in Chromium without a window and without a graphics card (SwiftShader): a lower bound.

    python bench/page.py [--spheres 1000] [--steps 1000000]

prints, for a run of so many steps, the size of the page, how long writing it takes, and the time to its first picture; for a
heap of spheres with detected contacts, frames per second, the time that the page's own code takes per frame, and the processor
time of the whole browser per frame, which does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from stickslip.solution import Solution, Stats

ARGUMENTS = ["--no-sandbox", "--enable-unsafe-swiftshader"]
READY = "window.stickslip && stickslip.state().shots.count > 0"


def heap(count: int, t_end: float = 0.2, dt: float = 4e-3) -> Solution:
    """Balls that fall into a box without a lid, 10 by 10 balls wide."""
    s = ss.System(f"{count} spheres")
    s.add(ss.Gravity([0, 0, -9.81]))
    random = np.random.default_rng(1)
    radius, side = 0.05, 10
    balls = []
    for k in range(count):
        x, y, z = k % side, k // side % side, k // side**2
        jitter = random.uniform(-0.005, 0.005, 3)
        place = np.array([x - side / 2 + 0.5, y - side / 2 + 0.5, z + 0.6]) * 2.25 * radius + jitter
        balls.append(s.add(ss.solid(f"ball {k}", ss.Sphere(ss.ground.point(*place), radius), density=1000)))
    half = (side / 2 + 0.2) * 2.25 * radius
    walls = [ss.Plane([-half * n[0], -half * n[1], 0], [*n, 0]) for n in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    s.add(ss.Collisions("contacts", [*balls, floor, *walls], friction=0.4, restitution=0.2))
    return ss.solve(s, t_end, dt, method="moreau")


def long_run(steps: int) -> Solution:
    """A short run, repeated."""
    short = ss.solve(ss.benchmarks.rotating_bouncing_ball(), t_end=1.0, dt=1e-3, progress=False)
    rows = np.resize(np.arange(len(short)), steps + 1)
    names = "q u g g_dot gamma gap gap_dot slip P_g P_gamma P_N P_F kinetic potential".split()
    stats = Stats(("step",), np.zeros((steps, 1), int), np.zeros((steps, 1)), 0.0)
    arrays = {name: getattr(short, name)[rows] for name in names}
    return replace(short, t=np.linspace(0, steps * 1e-3, steps + 1), **arrays, stats=stats, extra={})


def processor_time() -> float:
    """Seconds that all processes that this one started have computed so far; Linux only."""
    times: dict[int, tuple[int, float]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            times[int(entry.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    total = 0.0
    for process, (parent, seconds) in times.items():
        while parent in times and parent != os.getpid():
            parent = times[parent][0]
        total += seconds if parent == os.getpid() and process != os.getpid() else 0.0
    return total


def opening(browser: Any, solution: Solution, path: Path) -> str:
    """How large the page is and how long it takes to its first picture, three times."""
    start = time.perf_counter()
    solution.view(path=path)
    written = time.perf_counter() - start
    seconds = []
    for _ in range(3):
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        start = time.perf_counter()
        page.goto(path.as_uri(), wait_until="commit")
        page.wait_for_function(READY)
        seconds.append(time.perf_counter() - start)
        page.close()
    opened = ", ".join(f"{s:.1f}" for s in seconds)
    return f"{path.stat().st_size / 1e6:.1f} MB, written in {written:.1f} s, first picture after {opened} s"


def playing(browser: Any, path: Path, seconds: float = 5.0) -> str:
    """How fast the page plays, and what that costs."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(path.as_uri())
    page.wait_for_function(READY)
    page.evaluate("speed = (end - begin) / 12; stickslip.play()")
    page.wait_for_timeout(4000)  # the page finds out what the machine can do
    before, computed = page.evaluate("stickslip.state()"), processor_time()
    page.wait_for_timeout(1000 * seconds)
    after, computed = page.evaluate("stickslip.state()"), processor_time() - computed
    shots, busy = (after["shots"][k] - before["shots"][k] for k in ("count", "busy"))
    page.close()
    return (
        f"{shots / seconds:.1f} frames/s, each {busy / max(shots, 1):.1f} ms in the page and "
        f"{1000 * computed / max(shots, 1):.0f} ms of processor time in the browser; {after['contacts']} contacts, "
        f"{after['calls']} draw calls, {after['triangles']} triangles, shadows {'on' if after['shadows'] else 'off'}, "
        f"{after['ratio']} pixels per point"
    )


def main() -> None:
    """Write two pages, open them, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spheres", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=10**6)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=ARGUMENTS)
        print(f"{given.steps} steps:", opening(browser, long_run(given.steps), Path(folder) / "long.html"))
        pile = Path(folder) / "heap.html"
        print(f"{given.spheres} spheres:", opening(browser, heap(given.spheres), pile))
        print(f"{given.spheres} spheres:", playing(browser, pile))
        browser.close()
        print(f"load of the machine, mean over a minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
