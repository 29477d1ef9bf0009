"""Sweeps: every run is that of `solve`, whoever computes it; a killed one goes on."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import stickslip as ss
from stickslip.studies import pools
from stickslip.studies.journal import Journal
from stickslip.studies.sweep import final_state

GRID = {"e": [0.1, 0.5, 0.9], "g": [5.0, 9.81]}


def lowest(solution):
    return {"gap": solution.gap.min(), "q": solution.q[-1]}


def run(system=None, **options):
    system = ss.benchmarks.bouncing_ball() if system is None else system
    return ss.sweep(system, 0.8, 1e-2, **{"parameters": GRID, "measure": lowest, **options})


def test_a_grid():
    out = run()
    assert out["gap"].shape == (3, 2)
    assert out["q"].shape == (3, 2, 1)
    for i, e in enumerate(GRID["e"]):
        for j, g in enumerate(GRID["g"]):
            one = ss.solve(ss.benchmarks.bouncing_ball(), 0.8, 1e-2, parameters={"e": e, "g": g}, progress=False)
            assert out["q"][i, j] == one.q[-1]
    data = out.to_xarray()
    assert data["q"].dims == ("e", "g", "q_0")
    assert float(data["gap"].sel(e=0.5, g=5.0)) == out["gap"][1, 0]


def test_lists_samples_and_initial_states():
    points = [{"e": 0.3, "q0": [0.7]}, {"e": 0.4, "q0": [0.9]}]
    out = run(parameters=points, measure=final_state)
    one = ss.solve(ss.benchmarks.bouncing_ball(), 0.8, 1e-2, parameters={"e": 0.4}, q0=[0.9], progress=False)
    assert out["q"][1] == one.q[-1]
    assert out.to_xarray()["e"].values.tolist() == [0.3, 0.4]


def test_the_number_of_workers_changes_nothing():
    one, two = run(workers=1), run(workers=2)
    assert all(one[name].tobytes() == two[name].tobytes() for name in ("gap", "q"))


def test_processes():
    """The system itself, and a function that cannot be imported; or a function that makes the system."""
    ball = ss.benchmarks.bouncing_ball()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        own = ss.sweep(
            ball, 0.8, 1e-2, parameters=GRID, measure=lambda s: s.q[-1] + ball.parameters["e"], executor=pool
        )
        out = run(ss.benchmarks.bouncing_ball, executor=pool)
    assert out["q"].tobytes() == run()["q"].tobytes()
    assert own["value"].tobytes() == (run()["q"] + ball.parameters["e"]).tobytes()


def test_runs_that_hold_the_interpreter_go_to_processes():
    """Events are found in Python; what two processes give is what one thread gives."""
    chosen = {"parameters": {"e": [0.2, 0.5, 0.8]}, "method": "event-driven"}
    assert run(workers=2, **chosen)["q"].tobytes() == run(workers=1, **chosen)["q"].tobytes()


def test_workers_hand_over_what_they_have(monkeypatch, tmp_path):
    """After every run, if these take long; the rest of a batch goes to the next worker."""
    monkeypatch.setattr(pools, "BATCH_SECONDS", -1.0)
    points, seen = [{"e": e} for e in np.linspace(0.1, 0.9, 150)], []

    def append(self, point, outcome):
        seen.append(point)

    monkeypatch.setattr(Journal, "append", append)
    monkeypatch.setattr(pools, "BATCHES", 1)
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        out = run(parameters=points, executor=pool, journal=tmp_path / "journal")
    assert sorted(seen) == list(range(150))
    assert out["q"].tobytes() == run(parameters=points)["q"].tobytes()


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.usefixtures("ctrl_c")
def test_no_process_is_left_behind(tmp_path, how):
    """Of a sweep in processes that is killed, or interrupted by Ctrl-C."""
    path = tmp_path / "processes"
    program = f"""
import os, stickslip as ss
def measure(solution):
    with open({str(path)!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    return 0.0
points = [{{"e": 0.5}}] * 100_000
ss.sweep(ss.benchmarks.bouncing_ball(), 0.5, 1e-2, parameters=points, measure=measure, method="event-driven", workers=2)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and not (path.exists() and path.read_text().count("\n") > 50):
        time.sleep(0.05)
    workers = {int(line) for line in path.read_text().splitlines()[:-1]}
    (os.kill if how == signal.SIGKILL else os.killpg)(process.pid, how)
    assert process.wait(30) == -how
    assert process.pid not in workers
    while time.monotonic() < deadline and any(map(lives, workers)):
        time.sleep(0.05)
    assert not any(map(lives, workers))


def lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_worker_that_dies_is_named(tmp_path):
    """What was done before is in the journal, and the same call goes on."""
    mark, parent = tmp_path / "killed", os.getpid()

    def measure(solution):
        if os.getpid() != parent and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return solution.q[-1, 0]

    ball, journal = ss.benchmarks.bouncing_ball(), tmp_path / "journal"
    whole = ss.sweep(ball, 0.8, 1e-2, parameters=GRID, measure=measure)
    for attempt in range(2):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            if attempt == 0:
                with pytest.raises(ss.StickslipError, match="worker process of the sweep died"):
                    ss.sweep(ball, 0.8, 1e-2, parameters=GRID, measure=measure, executor=pool, journal=journal)
            else:
                again = ss.sweep(ball, 0.8, 1e-2, parameters=GRID, measure=measure, executor=pool, journal=journal)
    assert again["value"].tobytes() == whole["value"].tobytes()


def test_a_dask_cluster_loses_a_worker(tmp_path):
    """A real scheduler and two worker processes, one of which is killed in the middle."""
    distributed = pytest.importorskip("distributed")
    mark, ball, parent = tmp_path / "killed", ss.benchmarks.bouncing_ball(), os.getpid()
    values = np.linspace(0.1, 0.9, 40)

    def measure(solution):
        if os.getpid() != parent and solution.provenance["parameters"]["e"] > 0.4 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return solution.q[-1, 0]

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        out = ss.sweep(ball, 0.8, 1e-2, parameters={"e": values}, measure=measure, executor=client)
    assert mark.exists()
    assert (
        out["value"].tobytes()
        == ss.sweep(ball, 0.8, 1e-2, parameters={"e": values}, measure=measure)["value"].tobytes()
    )


def test_samplers():
    bounds, qmc = {"e": (0.2, 0.8), "g": (5.0, 10.0)}, pytest.importorskip("scipy.stats.qmc")
    out = run(parameters=bounds, sampler=qmc.Sobol(2, seed=1), samples=4, measure=final_state)
    assert len(out) == 4
    assert all(0.2 <= p["e"] <= 0.8 and 5 <= p["g"] <= 10 for p in out.points)
    one = ss.solve(ss.benchmarks.bouncing_ball(), 0.8, 1e-2, parameters=out.points[3], progress=False)
    assert out["q"][3] == one.q[-1]
    with pytest.raises(ss.OptionError, match="1 dimensions, but 2 parameters"):
        run(parameters=bounds, sampler=qmc.Sobol(1), samples=4)
    with pytest.raises(ss.OptionError, match=r"\(least, largest\)"):
        run(parameters=GRID, sampler=qmc.Sobol(2), samples=4)
    with pytest.raises(ss.OptionError, match="scipy.stats.qmc"):
        run(parameters=bounds, sampler="sobol", samples=4)


def test_a_measure_that_fails_for_one_run_loses_that_run_only():
    out = run(measure=lambda s: 1 / (s.provenance["parameters"]["e"] - 0.5))
    assert list(out.errors) == [2, 3]
    assert "ZeroDivisionError" in out.errors[2]
    with pytest.raises(ss.OptionError, match="no run could be measured; the first: IndexError"):
        run(measure=lambda s: s.q[10**6])


def test_failures_are_collected():
    out = run(parameters=[{"e": 0.5, "q0": [1.0]}, {"e": 0.5, "q0": [-1.0]}])
    assert list(out.errors) == [1]
    assert "inside an obstacle" in out.errors[1]
    assert np.isnan(out["gap"][1])
    assert np.isfinite(out["gap"][0])


def test_a_killed_sweep_goes_on(tmp_path):
    """The journal is cut anywhere; runs that are in it are not repeated."""
    path, counted = tmp_path / "journal", []

    def measure(solution):
        counted.append(solution)
        return solution.q[-1, 0] / 3

    whole = run(measure=measure, journal=path)
    assert len(counted) == 6
    content = path.read_bytes()
    for cut in (0, 50, 100, len(content) // 2, len(content) - 1, len(content)):
        path.write_bytes(content[:cut])
        lines = content[:cut].count(b"\n")
        counted.clear()
        again = run(measure=measure, journal=path)
        assert again["value"].tobytes() == whole["value"].tobytes()
        assert len(counted) == 6 - max(lines - 1, 0)
    with pytest.raises(ss.OptionError, match="journal of another sweep"):
        run(measure=measure, journal=path, parameters={"e": [0.1]})


def test_bad_input():
    for parameters in ({"e": 0.5}, {"e": []}, 3, "e", [], [{"e": 1.0}, {"g": 1.0}]):
        with pytest.raises(ss.OptionError):
            run(parameters=parameters)
    with pytest.raises(ss.OptionError, match="must be a function of a solution"):
        run(measure=3)
    with pytest.raises(ss.OptionError, match="function that makes one"):
        run("ball")
    for ball in (None, ss.benchmarks.bouncing_ball):
        with pytest.raises(ss.ModelError, match="unknown parameter 'f'"):
            run(ball, parameters={"f": [1.0]})


def test_on_the_command_line(tmp_path):
    from typer.testing import CliRunner

    from stickslip.cli import app

    options = ["--over", "e=0.1:0.9:3", "--measure", "min:q", "--t-end", "0.8", "--dt", "1e-2", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, ["sweep", "bouncing_ball", *options, "--workers", "2"])
    assert done.exit_code == 0, done.output
    table = np.genfromtxt(tmp_path / "bouncing_ball_sweep.csv", delimiter=",", names=True)
    assert table["e"].tolist() == [0.1, 0.5, 0.9]


def test_runs_of_a_sweep_compute_what_is_read_only():
    """A measure that reads coordinates alone leaves gaps and energies uncomputed; the energy alarm looks all the same."""
    seen = []

    def measure(solution: ss.Solution) -> float:
        seen.append(solution.computed)
        return solution.q[-1, 0]

    ball, grid = ss.benchmarks.bouncing_ball(), {"e": np.linspace(0.1, 0.9, 60)}
    ss.sweep(ball, 0.2, 1e-2, parameters=grid, measure=measure, workers=1)
    assert len(seen) == 60
    assert not any(seen)

    body = ss.System("tumbling body")  # explicit gyroscopic forces as they are printed make energy
    m = body.parameter("m", 1.0)
    body.add(ss.RigidBody("b", mass=m, inertia=[1.0, 2.0, 3.0], angular_velocity=[0.1, 10.0, 0.1]))
    masses = {"m": np.linspace(1, 2, 50)}
    with pytest.warns(ss.EnergyWarning, match="energy rises"):
        ss.sweep(body, 20.0, 1e-2, parameters=masses, method="moreau:gyroscopic=printed", workers=1)


def test_a_law_that_a_sweep_leads_out_of_range_is_named():
    crank = ss.benchmarks.slider_crank()
    out = ss.sweep(crank, 1e-3, 1e-4, parameters={"mu": [0.1, -0.1, 0.2]}, workers=1)
    assert list(out.errors) == [1]
    assert "friction = -0.1 is out of range" in out.errors[1]


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_sweep_is_saved_for_other_programs(tmp_path, suffix):
    xarray = pytest.importorskip("xarray")
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    out = run()
    path = out.save(tmp_path / f"runs{suffix}")
    with xarray.open_dataset(path, engine="zarr" if suffix == ".zarr" else None) as back:
        for name in ("gap", "q", "e", "g"):
            assert back[name].values.tobytes() == out.to_xarray()[name].values.tobytes()
        assert back["gap"].dims == ("e", "g")
        assert back.attrs["failed"] == 0


def test_what_a_sweep_cannot_be_saved_as(tmp_path, monkeypatch):
    pytest.importorskip("xarray")
    out = run()
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ss.OptionError, match="pip install zarr"):
        out.save(tmp_path / "runs.zarr")
    with pytest.raises(ss.OptionError, match=r"runs.nc.*runs.zarr"):
        out.save(tmp_path / "runs.csv")
    with pytest.raises(ss.ResultFileError, match="cannot write"):
        out.save(tmp_path / "nowhere" / "runs.nc")


def test_a_journal_belongs_to_its_measure(tmp_path):
    """Two lambdas have the same name; what one measured is not taken for what the other would have."""
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "journal"
    ss.sweep(ball, 0.1, 1e-2, parameters={"e": [0.5]}, measure=lambda s: s.q.max(), journal=path)
    with pytest.raises(ss.OptionError, match="journal of another sweep"):
        ss.sweep(ball, 0.1, 1e-2, parameters={"e": [0.5]}, measure=lambda s: s.q.min(), journal=path)


def at(solution, k):
    return solution.q[k, 0]


FIRST = 5


def at_first(solution):
    return at(solution, FIRST)


class At:
    def __init__(self, k):
        self.k = k

    def __call__(self, solution):
        return solution.q[self.k, 0]


def around(k):
    return lambda solution: solution.q[k, 0]


@pytest.mark.parametrize(
    "measure",
    [
        around,
        lambda k: functools.partial(at, k=k),
        lambda k: At(k),
        lambda k: At(k).__call__,
        lambda k: eval(f"lambda s, k={k}: s.q[k, 0]"),
        lambda k: eval(f"lambda s: min([0], key=lambda v: {k}) + s.q[{5}, 0]"),
        lambda k: around(np.array([k])),
        lambda k: lambda s, rows=[k]: s.q[rows, 0],
    ],
    ids=["variable", "partial", "object", "method", "default", "inner", "array", "list"],
)
def test_a_journal_belongs_to_what_its_measure_reads(tmp_path, measure):
    """Numbers of one measure came back for another, where they differed by a variable around them."""
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "journal"
    call = {"parameters": {"e": [0.5]}, "journal": path}
    first = ss.sweep(ball, 0.1, 1e-2, measure=measure(5), **call)
    again = ss.sweep(ball, 0.1, 1e-2, measure=measure(5), **call)
    assert first["value"].tobytes() == again["value"].tobytes()
    with pytest.raises(ss.OptionError, match="journal of another sweep"):
        ss.sweep(ball, 0.1, 1e-2, measure=measure(6), **call)


def test_a_journal_belongs_to_global_values_and_initial_states(tmp_path, monkeypatch):
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "journal"
    call = {"parameters": {"e": [0.5]}, "measure": at_first, "journal": path, "q0": np.array([1.0])}
    ss.sweep(ball, 0.1, 1e-2, **call)
    ss.sweep(ball, 0.1, 1e-2, **call)
    with pytest.raises(ss.OptionError, match="journal of another sweep"):
        ss.sweep(ball, 0.1, 1e-2, **(call | {"q0": np.array([1.0 + 1e-12])}))
    monkeypatch.setitem(globals(), "FIRST", 6)
    with pytest.raises(ss.OptionError, match="journal of another sweep"):
        ss.sweep(ball, 0.1, 1e-2, **call)


def test_what_is_measured_has_another_name_than_the_axes():
    pytest.importorskip("xarray")
    with pytest.raises(ss.OptionError, match="'e' names a parameter and a measure"):
        run(measure=lambda s: {"e": s.q[-1, 0]}).to_xarray()


@pytest.mark.parametrize("wrong", [{"e": ["a", "b"]}, {"q0": [[1.0], [1.0, 2.0]]}, {"e": 0.5}, {"e": []}, [3, 4]])
def test_parameters_that_are_no_numbers(wrong):
    with pytest.raises(ss.OptionError, match="parameters.* must be"):
        run(parameters=wrong)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"tol": -1}, "tol = -1"),
        ({"theta": 1}, "theta"),
        ({"out": "run.h5"}, "out= is one file, and a sweep makes many runs"),
        ({"save": ["height"]}, "unknown quantity 'height'"),
        ({"q0": [1.0, 2.0]}, "q0 has shape"),
        ({"t_start": 5.0}, "t_end = 0.8 must be"),
        ({"energy_alarm": "no"}, "energy_alarm = 'no' must be True or False"),
        ({"progress": "no"}, "progress = 'no'"),
        ({"journal": 3}, "journal = 3 must be the path of a file"),
        ({"parameters": {"q0": [0.5, 1.0]}}, r"q0 of point 0 has the shape \(\), expected \(1,\)"),
    ],
)
def test_a_mistake_in_the_call_is_raised_at_once(wrong, message):
    """It would be the same for every run, so no run fails because of it."""
    with pytest.raises(ss.OptionError, match=message):
        run(measure=lambda s: pytest.fail("a run was made"), **wrong)


def test_a_function_that_needs_arguments_is_named():
    def throw(height):
        return ss.benchmarks.bouncing_ball(height)

    with pytest.raises(ss.OptionError, match="throw without arguments.* 'height'; write system=lambda"):
        run(throw)


def test_a_journal_belongs_to_the_initial_state_of_the_system(tmp_path):
    def ball(height):
        s = ss.System("ball")
        (y,), (v,) = s.coordinates("y", initial=[height], velocity=[0.0])
        s.kinetic_energy(v**2 / 2)
        s.potential_energy(s.parameter("g", 9.81) * y)
        s.contact(gap=y)
        return s

    call = {"parameters": {"g": [9.0]}, "journal": tmp_path / "journal"}
    ss.sweep(ball(1.0), 0.1, 1e-2, **call)
    with pytest.raises(ss.OptionError, match="journal of another sweep"):
        ss.sweep(ball(2.0), 0.1, 1e-2, **call)
    start = {k: ss.solve(ball(k), 0.1, 1e-2, progress=False).state for k in (1.0, 2.0)}
    call["journal"] = tmp_path / "another"
    ss.sweep(ball(1.0), 0.2, 1e-2, start=start[1.0], **call)
    with pytest.raises(ss.OptionError, match="journal of another sweep"):
        ss.sweep(ball(1.0), 0.2, 1e-2, start=start[2.0], **call)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_runs_of_a_sweep(workers):
    """Ten million steps each, of which nobody waits for the end."""
    ball = ss.benchmarks.bouncing_ball()
    ss.solve(ball, 0.1, 1e-3, progress=False)
    begin = time.monotonic()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ss.sweep(ball, 1e4, 1e-3, parameters={"e": [0.1, 0.2, 0.3]}, workers=workers, save_every=1000)
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    "line",
    ['[1, 2]', '{"point": 0}', '{"point": 7, "values": null, "error": "x"}', '{"point": 1, "values": 3, "error": null}',
     '{"point": -1, "values": {"value": 1.0}, "error": null}', '{"point": 1, "values": {"value": "x"}, "error": null}'],
)  # fmt: skip
def test_a_journal_with_other_lines_is_refused(tmp_path, line):
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "journal"
    call = {"parameters": {"e": [0.5, 0.6]}, "measure": lowest, "journal": path}
    ss.sweep(ball, 0.1, 1e-2, **call)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ss.ResultFileError, match="damaged in line 4"):
        ss.sweep(ball, 0.1, 1e-2, **call)


def test_a_journal_belongs_to_the_systems_that_its_measure_reads(tmp_path):
    def measure_with(system):
        return lambda solution: solution.q[-1, 0] * system.parameters["g"]

    path, ball = tmp_path / "journal", ss.benchmarks.bouncing_ball()
    run(measure=measure_with(ball), journal=path)
    run(measure=measure_with(ss.benchmarks.bouncing_ball()), journal=path)  # the same again
    with pytest.raises(ss.OptionError, match="journal of another sweep"):
        run(measure=measure_with(ss.benchmarks.bouncing_ball(g=5.0)), journal=path)
