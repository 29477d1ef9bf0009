"""Shared by all tests: results that many tests look at are computed once."""

import gc
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Workers of pytest-xdist, which inherit this, fill all cores. Threads of BLAS besides them wait for each other: 16 ms instead
# of 0.07 ms for the eigenvalues of a matrix of 30 rows.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ.get("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

import stickslip as ss
from stickslip import cli
from synthetic import make_ball

settings.register_profile(
    "stickslip", deadline=None, derandomize=True
)  # the first call of a compiled function takes long
settings.load_profile("stickslip")

# Every benchmark with its cases: (builder arguments) by label; the step is the paper's.
ZOO = {
    "bouncing_ball": {},
    "rotating_bouncing_ball-1": {"case": 1},
    "rotating_bouncing_ball-2": {"case": 2},
    "rotating_bouncing_ball-3": {"case": 3},
    "point_mass_on_slope-1": {"case": 1},
    "point_mass_on_slope-2": {"case": 2},
    "point_mass_on_slope-3": {"case": 3},
    "point_mass_on_slope-4": {"case": 4},
    "slider_crank": {},
}


@cache
def run(label: str, method: str, dt: float | None = None, t_end: float | None = None) -> ss.Solution:
    """The solution of a benchmark case at the paper's step, or at another one."""
    entry = ss.benchmarks.REGISTRY[label.split("-")[0]]
    system = entry.build(**ZOO[label])
    return ss.solve(system, t_end=t_end or entry.t_end, dt=dt or entry.dt, method=method)


@pytest.fixture
def ball() -> ss.Solution:
    """A solution whose every number is known."""
    return make_ball()


@dataclass
class Result:
    """Of a call of the command line."""

    code: int
    out: str
    err: str


@pytest.fixture
def stick(capsys, monkeypatch, tmp_path):
    """Call the command line in this process, in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["stickslip", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        code = exit_.value.code
        return Result(code or 0, *capsys.readouterr())

    return call


FOLDER = Path(__file__).parent


def slow_tests() -> dict[str, set[str]]:
    """What slow.txt names: a test and those of its cases that are not slow, or one case."""
    lines = (FOLDER / "slow.txt").read_text(encoding="utf-8").splitlines()
    named = (line.partition(" but ") for line in lines if line and not line.startswith("#"))
    return {name: set(but.split()) for name, _, but in named}


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at marks
def pytest_collection_modifyitems(items):
    """Mark what is slow."""
    slow = slow_tests()
    unknown = slow.keys() | {f"{test}[{case}]" for test, but in slow.items() for case in but}
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        test, _, case = name.removesuffix("]").partition("[")
        unknown -= {name, test}
        if name in slow or (test in slow and case not in slow[test]):
            item.add_marker(pytest.mark.slow)
    whole = {path.name for path in FOLDER.glob("test_*.py")} <= {item.path.name for item in items}
    if whole and unknown:
        raise pytest.UsageError(f"tests/slow.txt names tests that do not exist: {', '.join(sorted(unknown))}")


def pytest_collection_finish():
    """What is imported by now stays: the collector need not look at it again and again, which takes a twentieth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


TRACED = 0.3  # seconds of CPU time of a test, all its cases together, after which coverage leaves further cases out
_looked: Counter[str] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Plain Python takes half as long again under coverage, and further cases of a test that takes long reach few new lines.

    Nothing changes where nobody looks, where a debugger does, and where Python itself watches (from 3.14 on).
    """
    tracer, test = sys.gettrace(), item.nodeid.partition("[")[0]
    if not type(tracer).__module__.startswith("coverage"):
        return (yield)
    begin = time.process_time()
    if _looked[test] > TRACED:
        sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)
        _looked[test] += time.process_time() - begin


@pytest.fixture
def ctrl_c():
    """Ctrl-C interrupts, here and in processes started from here: where a shell started the tests in the background, nobody
    listens to it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
