"""A real browser for tests: Chromium without a window, driven by Playwright, one for the whole session.

Without one the tests skip and say so; with `STICKSLIP_BROWSER=required`, as in `.ci/run` where there is one, they fail instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

ARGUMENTS = """
    --no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync
    --enable-unsafe-swiftshader
""".split()
WIDE, PHONE = (1000, 600), (390, 844)
LOOK = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
    const small = Object.assign(document.createElement("canvas"), {width: 120, height: 80}), pen = small.getContext("2d");
    pen.drawImage(document.querySelector("#stage > canvas"), 0, 0, 120, 80);
    done(pen.getImageData(0, 0, 120, 80).data.join());
})))"""  # as text: an array of so many numbers takes 0.3 s to get here, instead of 0.01 s


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser of the system."""
    path = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    required = os.environ.get("STICKSLIP_BROWSER") == "required"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        message = "no browser: install chromium and the Python package playwright"
        pytest.fail(message) if required else pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """An open page; everything that it complains about or fetches is an error when it is closed.

    Tabs are used again by the next visit: a new one costs half a second.
    """

    _tabs: ClassVar[dict[Any, Any]] = {}

    def __init__(self, browser: Any, path: Path, size: tuple[int, int] = WIDE, hash_: str = "", **options: Any):
        key = (browser, *sorted(options.items()))
        if key not in self._tabs:
            self._tabs[key] = browser.new_context(**options).new_page()
        self.page = self._tabs[key]
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.complaints: list[str] = []
        self._heard = {
            "console": lambda m: self.complaints.append(m.text) if m.type == "error" else None,
            "pageerror": lambda e: self.complaints.append(str(e)),
            "request": lambda r: self._request(r.url),
        }
        for event, hear in self._heard.items():
            self.page.on(event, hear)
        self.page.goto("about:blank")  # the same file with another hash would not be loaded again
        self.page.goto(path.as_uri() + hash_)
        self.page.wait_for_function("window.stickslip && stickslip.state().shots.count > 0")

    def _request(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:", "about:")):
            self.complaints.append(f"fetched {url}")

    def state(self) -> dict[str, Any]:
        """What the page says about itself."""
        return self.page.evaluate("stickslip.state()")

    def picture(self) -> str:
        """What is drawn now, as a few colours."""
        return self.page.evaluate(LOOK)

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            assert self.page.evaluate("stage.broken()") == []  # a shader that fails draws nothing, without a word
        for event, hear in self._heard.items():
            self.page.remove_listener(event, hear)
        if error[0] is None:
            assert self.complaints == []
