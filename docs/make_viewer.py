"""The pictures of docs/viewing.md: pages in Chromium without a window. Needs chromium and playwright; run it as

python docs/make_viewer.py
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import stickslip as ss
from stickslip.math import quaternion

IMAGES = Path(__file__).parent / "images"


def crank() -> ss.Solution:
    return ss.solve(ss.benchmarks.slider_crank(parts=True), t_end=0.1, dt=1e-4, progress=False)


def tumbling() -> ss.Solution:
    s = ss.System("shapes on a table")
    table = ss.Plane([0, 0, 0], [0, 0, 1])
    law = {"friction": 0.4, "restitution": 0.3}
    s.add(ss.Gravity([0, 0, -9.81]))
    m, J = ss.inertia.box(0.3, 0.2, 0.1, density=700)
    box = s.add(
        ss.RigidBody(
            "box",
            mass=m,
            inertia=J,
            position=[0, 0, 0.55],
            orientation=quaternion([1, 1, 0], 0.7),
            velocity=[0.3, -0.3, 0],
        )
    )
    s.add(ss.Contact("box on table", ss.Box(box, [0.3, 0.2, 0.1]), table, **law))
    m, J = ss.inertia.sphere(0.09, density=700)
    ball = s.add(
        ss.RigidBody(
            "ball", mass=m, inertia=J, position=[-0.45, -0.3, 0.5], velocity=[0.5, -0.6, 0], angular_velocity=[0, 20, 0]
        )
    )
    s.add(ss.Contact("ball on table", ss.Sphere(ball.point(), 0.09), table, **law))
    m, J = ss.inertia.capsule(0.05, 0.25, density=700)
    rod = s.add(
        ss.RigidBody(
            "capsule",
            mass=m,
            inertia=J,
            position=[0.1, 0.45, 0.5],
            orientation=quaternion([0, 1, 0], 1.1),
            velocity=[0.5, 0.4, 0],
        )
    )
    s.add(
        ss.Contact("capsule on table", ss.Capsule(rod.point(0, 0, -0.125), rod.point(0, 0, 0.125), 0.05), table, **law)
    )
    m, J = ss.inertia.ellipsoid(0.08, 0.1, 0.14, density=700)
    egg = s.add(
        ss.RigidBody(
            "egg",
            mass=m,
            inertia=J,
            position=[-0.4, 0.4, 0.4],
            orientation=quaternion([1, 0, 0], 0.5),
            velocity=[-0.3, 0.5, 0],
            angular_velocity=[3, 4, 0],
        )
    )
    s.add(ss.Contact("egg on table", ss.Ellipsoid(egg, [0.08, 0.1, 0.14]), table, **law))
    return ss.solve(s, t_end=1.5, dt=1e-3, method="moreau", progress=False)


def shoot(browser: Any, page: Path, name: str, size: tuple[int, int], hash_: str, scale: float = 1.0) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, device_scale_factor=scale)
    sheet = context.new_page()
    sheet.goto(page.as_uri() + hash_)
    sheet.wait_for_function("window.stickslip && stickslip.state().shots.count > 1")
    sheet.wait_for_timeout(400)
    sheet.screenshot(path=IMAGES / name)
    context.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    arguments = (
        "--no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist".split()
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=arguments)
        plane, space = crank(), tumbling()
        slipping = 0.0096
        page = plane.view(path=Path(folder) / "crank.html")
        shoot(browser, page, "viewer.png", (1440, 860), f"#t={slipping}")
        shoot(browser, page, "viewer_phone.png", (390, 844), f"#t={slipping}&theme=dark")
        page = space.view(
            path=Path(folder) / "space.html", quantities=["energy.kinetic", "energy.total", "box.z", "ball.z", "egg.z"]
        )
        shoot(
            browser,
            page,
            "viewer_space.png",
            (1440, 860),
            f"#t={space.t[int(space.P_N[:, :8].sum(axis=1).argmax())]}&theme=dark&show=trails,labels",
        )
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
