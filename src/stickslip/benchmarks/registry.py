"""The list of benchmarks: what each is, where it is from, and the step, end time, method and tolerance that suit it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stickslip.model.system import System

REGISTRY: dict[str, Benchmark] = {}


@dataclass(frozen=True)
class Benchmark:
    """A ready-made mechanism: `build(...)` makes the system; its parameters are the keyword arguments."""

    name: str
    build: Callable[..., System]
    summary: str
    source: str
    dt: float
    t_end: float
    method: str
    tol: float = 1e-8


def benchmark(
    *, source: str, dt: float, t_end: float, method: str = "rattle", tol: float = 1e-8
) -> Callable[[Callable[..., System]], Callable[..., System]]:
    """Enter a function into the registry; its summary is the first line of its docstring."""

    def enter(build: Callable[..., System]) -> Callable[..., System]:
        summary = (build.__doc__ or "").strip().splitlines()[0].rstrip(".")
        REGISTRY[build.__name__] = Benchmark(build.__name__, build, summary, source, dt, t_end, method, tol)
        return build

    return enter
