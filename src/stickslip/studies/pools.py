"""Where many runs are computed: threads of this process, other processes, a cluster; the outcome is the same.

A task for another process is a batch of points and a shipment: the system, the options and the measure as bytes, which a worker
unpacks once. Whatever comes back is in the order of the points, so nothing depends on which worker was faster.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import itertools
import math
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from stickslip.errors import InitialStateError, Interrupted, ModelError, OptionError, StickslipError
from stickslip.model.collisions import collisions_of
from stickslip.model.shipping import packed, unpacked
from stickslip.model.system import System
from stickslip.schemes import EventDriven
from stickslip.schemes.spec import scheme_of
from stickslip.solve import solve
from stickslip.solve.case import split_call
from stickslip.solve.terminal import interruptible
from stickslip.studies.journal import Measured

BATCHES = 16  # per worker process: enough to balance the load
LARGEST = 64  # runs in a batch
BATCH_SECONDS = 1.0  # after which a worker hands over what it has
AHEAD = 256  # tasks that wait in a pool
HAND_OVER = 0.1  # seconds after which a thread hands over what it has


@dataclass(frozen=True)
class SweepTask:
    """What is the same for all runs of a sweep; `system` may also be a function that makes it."""

    system: Any
    call: dict[str, Any]
    measure: Callable[[Any], Any]


class SweepRunner:
    """A task in the process where it runs: everything that its runs share is made once."""

    def __init__(self, task: SweepTask):
        self.case, self.one = split_call(task.system, task.call)
        self.measure = task.measure

    def run(self, point: dict[str, Any], stop: Callable[[], bool] | None = None) -> Measured:
        """One run: what was measured, or why there is nothing; `stop` says whether nobody wants it any more."""
        start: dict[str, Any] = {name: point[name] for name in ("q0", "u0") if name in point}
        parameters = {name: value for name, value in point.items() if name not in start}
        try:
            solution = self.case.run(**(self.one | start), parameters=parameters, progress=False, stop=stop)
        except StickslipError as error:
            return None, f"{type(error).__name__}: {error}"
        try:
            value: Any = self.measure(solution)
            named = value if isinstance(value, dict) else {"value": value}
            return {name: np.asarray(v, dtype=float) for name, v in named.items()}, None
        except (
            Exception
        ) as error:  # of the user's function: one run that it cannot measure is no reason to lose the others
            return None, f"measure: {type(error).__name__}: {error}"


@dataclass(frozen=True)
class Shipment:
    """Work as bytes, known by its digest."""

    digest: str
    text: str = field(repr=False)
    content: bytes = field(repr=False)

    @classmethod
    def of(cls, work: SweepTask) -> Shipment:
        """Pack it; the bytes go with every batch, and cost less than asking for them."""
        text, content = packed(work, System)
        return cls(hashlib.sha256(text.encode() + content).hexdigest(), text, content)


def run_batch(shipment: Shipment, points: Sequence[dict[str, Any]]) -> list[Measured]:
    """In a worker: runs of a batch, as many as BATCH_SECONDS allow, at least one; what comes back is safe from a kill."""
    work, begin, out = _work(shipment.digest, shipment), time.monotonic(), list[Measured]()
    for point in points:
        out.append(work.run(point))
        if time.monotonic() > begin + BATCH_SECONDS:
            break
    return out


_ARRIVED: dict[str, SweepRunner] = {}


def _work(digest: str, shipment: Shipment) -> SweepRunner:
    if digest not in _ARRIVED:
        _ARRIVED.clear()  # of another sweep
        _ARRIVED[digest] = SweepRunner(_local(unpacked(shipment.text, shipment.content, System)))
    return _ARRIVED[digest]


def _local(work: SweepTask) -> SweepTask:
    """The same, with a system instead of a function that makes it."""
    return work if isinstance(work.system, System) else SweepTask(made(work.system), work.call, work.measure)


@lru_cache(maxsize=4)
def made(build: Callable[[], System]) -> System:
    """The system that a function makes, made once."""
    try:
        inspect.signature(build).bind()
    except TypeError as error:
        name = getattr(build, "__qualname__", repr(build))
        raise OptionError(
            f"a sweep calls {name} without arguments, but there is a {error}; write system=lambda: {name}(...), or give "
            "its arguments defaults. What changes from run to run is a parameter of the system"
        ) from None
    except ValueError:  # no signature
        pass
    system = build()
    if not isinstance(system, System):
        raise OptionError(f"{build!r} returns {system!r}, not a System")
    return system


def check_call(system: System, call: Mapping[str, Any]) -> None:
    """Mistakes of the call are raised, not collected as failures of runs."""
    case, one = split_call(system, call)
    with contextlib.suppress(Interrupted, ModelError, InitialStateError):  # of values that runs replace
        case.run(**one, progress=False, stop=lambda: True)


def outcomes(
    work: SweepTask, points: Sequence[dict[str, Any]], executor: Any, workers: int | None
) -> Iterator[tuple[list[int], list[Measured]]]:
    """The outcomes of all points, in batches, as they come: numbers of the points, and what became of them."""
    if executor is None:
        local = _local(work)
        count = workers or os.cpu_count() or 1
        if _holds_the_lock(local) and count > 1 and _may_fork():
            with processes(count, "fork") as pool:
                yield from _shipped(local, points, pool, count)
        else:
            yield from _threads(local, points, count)
    elif isinstance(executor, ThreadPoolExecutor):
        runner, count = SweepRunner(_local(work)), executor._max_workers
        batches = _batches(points, count)
        yield from _in_pool(executor, lambda numbers: [runner.run(points[k]) for k in numbers], batches)
    elif isinstance(executor, Executor):
        yield from _shipped(work, points, executor, getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
    elif hasattr(executor, "submit") and hasattr(executor, "ncores"):
        yield from _on_dask(work, points, executor)
    else:
        raise OptionError(f"executor = {executor!r} must be a concurrent.futures executor or a dask.distributed Client")


@contextlib.contextmanager
def processes(count: int, start: str) -> Iterator[ProcessPoolExecutor]:
    """Workers that `start` by fork or spawn. They write nothing, so they end at once if something happens, such as Ctrl-C."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context(start), initializer=end_with_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
        raise
    pool.shutdown()


def end_with_parent() -> None:
    """In a worker process: end when the process that started it is gone, also if it was killed and could not say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()


def _threads(
    work: SweepTask, points: Sequence[dict[str, Any]], count: int
) -> Iterator[tuple[list[int], list[Measured]]]:
    """Threads of this process; a run without steps compiles what the others use."""
    runner = SweepRunner(work)
    if points:
        empty = SweepTask(work.system, work.call | {"t_end": work.call.get("t_start") or 0.0}, np.shape)
        SweepRunner(empty).run(points[0])
    if count == 1:
        with interruptible() as asked:
            for k, point in enumerate(points):
                yield [k], [runner.run(point, asked)]
            if asked():  # after the last run
                raise KeyboardInterrupt
        return
    yield from _crew(runner, points, count)


def _crew(
    runner: SweepRunner, points: Sequence[dict[str, Any]], count: int
) -> Iterator[tuple[list[int], list[Measured]]]:
    """Threads that take the next point by themselves, and hand over what they have every HAND_OVER seconds.

    Whoever wants the interpreter lock while another thread holds it waits for a context switch. So nobody asks for it often:
    there is no future per run.
    """
    numbers, stop = itertools.count(), threading.Event()
    out: queue.SimpleQueue[dict[int, Measured] | BaseException] = queue.SimpleQueue()

    def work() -> None:
        mine, begin = dict[int, Measured](), time.monotonic()
        try:
            while not stop.is_set() and (k := next(numbers)) < len(points):
                mine[k] = runner.run(points[k], stop.is_set)
                if time.monotonic() > begin + HAND_OVER:
                    out.put(mine)
                    mine, begin = {}, time.monotonic()
            out.put(mine)
        except BaseException as error:  # what was done before is not lost
            out.put(mine)
            out.put(error)

    threads = [threading.Thread(target=work, name=f"sweep {n}") for n in range(min(count, len(points)))]
    left = len(points)
    try:
        for thread in threads:
            thread.start()
        while left:
            some = out.get()
            if isinstance(some, BaseException):
                raise some
            left -= len(some)
            yield list(some), list(some.values())
    finally:
        stop.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def _batches(points: Sequence[Any], workers: int) -> Iterator[list[int]]:
    size = max(1, min(LARGEST, math.ceil(len(points) / (BATCHES * workers))))
    return (list(range(k, min(k + size, len(points)))) for k in range(0, len(points), size))


def _shipped(
    work: SweepTask, points: Sequence[dict[str, Any]], pool: Executor, workers: int
) -> Iterator[tuple[list[int], list[Measured]]]:
    shipment = Shipment.of(work)

    def task(numbers: list[int]) -> tuple[Any, ...]:
        return run_batch, shipment, [points[k] for k in numbers]

    try:
        yield from _in_pool(pool, task, _batches(points, workers))
    except BrokenExecutor as error:
        raise StickslipError(
            "a worker process of the sweep died: it was killed, or ran out of memory. With journal= the same call continues "
            "where it was"
        ) from error


def _in_pool(
    pool: Executor, task: Callable[[list[int]], Any], batches: Iterator[list[int]]
) -> Iterator[tuple[list[int], list[Measured]]]:
    """No more tasks are waiting than the pool needs, so that a million points fit into memory."""
    local = isinstance(pool, ThreadPoolExecutor)
    waiting: dict[Any, list[int]] = {}
    again: deque[list[int]] = deque()
    while True:
        for numbers in itertools.islice(_next(again, batches), AHEAD - len(waiting)):
            waiting[pool.submit(task, numbers) if local else pool.submit(*task(numbers))] = numbers
        if not waiting:
            return
        for future in wait(list(waiting), return_when=FIRST_COMPLETED).done:
            yield _done(waiting.pop(future), future.result(), again)


def _next(again: deque[list[int]], batches: Iterator[list[int]]) -> Iterator[list[int]]:
    """Batches that a worker did not finish, then new ones."""
    while again:
        yield again.popleft()
    for numbers in batches:  # noqa: UP028, `yield from` would close them with this generator
        yield numbers


def _done(numbers: list[int], results: list[Measured], again: deque[list[int]]) -> tuple[list[int], list[Measured]]:
    """The runs of a batch that a worker did; the others go to the next one."""
    if len(results) < len(numbers):
        again.append(numbers[len(results) :])
    return numbers[: len(results)], results


def _on_dask(
    work: SweepTask, points: Sequence[dict[str, Any]], client: Any
) -> Iterator[tuple[list[int], list[Measured]]]:
    """Dask gives the batches of a worker that dies to another one."""
    import distributed

    wait_for: Any = distributed.wait

    # The shipment is data of each task, not a scattered object, which would be lost with the worker that holds it.
    shipment = Shipment.of(work)
    waiting: dict[Any, list[int]] = {}
    again: deque[list[int]] = deque()
    batches = _batches(points, max(1, sum(client.ncores().values())))
    while True:
        for numbers in itertools.islice(_next(again, batches), AHEAD - len(waiting)):
            waiting[client.submit(run_batch, shipment, [points[k] for k in numbers], pure=False)] = numbers
        if not waiting:
            return
        for future in wait_for(list(waiting), return_when="FIRST_COMPLETED").done:
            yield _done(waiting.pop(future), future.result(), again)


def _holds_the_lock(work: SweepTask) -> bool:
    """Whether runs spend their time in Python, where threads wait for each other: events and detected contacts do."""
    options = {k: v for k, v in work.call.items() if k not in SOLVE_OPTIONS}
    return isinstance(scheme_of(work.call["method"], options), EventDriven) or collisions_of(work.system) is not None


SOLVE_OPTIONS = frozenset({*(solve.__kwdefaults__ or {}), "t_end", "dt"})  # the others are options of the scheme


def _may_fork() -> bool:
    """Other threads would be missing in a forked process, with the locks that they hold."""
    return "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1
