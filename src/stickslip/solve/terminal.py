"""What the user sees and can do while a run is going on: a bar, Ctrl-C, SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stickslip.jit import COMPILED

_ASKED = False


def announce_first_compile(say: Callable[[str], None]) -> None:
    """Numba compiles loops when they are first used and keeps them; say so when it does, because it takes a while."""
    global _ASKED
    if COMPILED and not _ASKED:
        from stickslip.kept import announce

        text = "stickslip: compiling for this machine what this kind of run needs, once (10 to 25 seconds) ..."
        announce.append(lambda: say(text))
    _ASKED = True


def voice(progress: bool | None) -> Callable[[str], None]:
    """Where announcements go."""
    return (lambda _: None) if progress is False else (lambda text: print(text, file=sys.stderr, flush=True))


class Asked:
    """Whether a signal has asked the loop to stop, and which, or somebody else."""

    def __init__(self, stop: Callable[[], bool] | None = None):
        self.signal = 0
        self._stop = stop

    def __call__(self) -> bool:
        if self._stop is not None and self._stop():
            self.signal = getattr(self._stop, "signal", self.signal)
            return True
        return self.signal != 0


@contextmanager
def interruptible(stop: Callable[[], bool] | None = None) -> Iterator[Asked]:
    """Ctrl-C asks the loop to stop after the current chunk; a second Ctrl-C interrupts as usual. SIGTERM asks likewise.

    Where `stop` asks, somebody else has seen to signals; in other threads than the main one there are none.
    """
    asked = Asked(stop)
    if stop is not None or threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, _: Any) -> None:
        asked.signal = number
        signal.signal(number, before[number])

    try:
        for number in before:
            signal.signal(number, ask)
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def progress_bar(wanted: bool, steps: int, what: str, unit: str = "steps") -> Iterator[Callable[[int], None]]:
    """A bar on stderr, with what is done per second; yields what moves it."""
    if not wanted:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    begin = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=steps, rate="")

        def show(done: int) -> None:
            bar.update(task, completed=done, rate=f"{done / max(time.monotonic() - begin, 1e-9):.3g} {unit}/s")

        yield show
