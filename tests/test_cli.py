from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import stickslip
import stickslip.analysis  # before somebody replaces what it imports
from conftest import Result
from stickslip._version import __version__
from stickslip.cli.target import split_settings
from stickslip.errors import ConvergenceError, Interrupted, OptionError
from stickslip.schemes import METHODS
from stickslip.solution import load
from synthetic import make_ball


@pytest.fixture
def fake(monkeypatch):
    """A registry of one benchmark, and a solver that records its arguments and returns `fake.outcome`."""
    calls: list[dict] = []
    result = SimpleNamespace(calls=calls, outcome=make_ball(50))

    def build(mass: float = 1.0, case: int = 1, surface: str = "flat", friction: bool = True):
        calls.append({"mass": mass, "case": case, "surface": surface, "friction": friction})
        return SimpleNamespace(parameters={"mass": mass, "mu": 0.3}, parts=[])

    def solve(system, t_end, dt, *, out, **options):
        calls.append({"t_end": t_end, "dt": dt, **options})
        if isinstance(result.outcome, BaseException):
            result.outcome.solution.save(out if isinstance(result.outcome, Exception) else f"{out}.part")
            raise result.outcome
        result.outcome.save(out)
        return result.outcome

    benchmark = SimpleNamespace(
        name="ball", build=build, summary="a ball", source="a book", dt=1e-3, t_end=0.05, method="rattle", tol=1e-8
    )
    monkeypatch.setitem(sys.modules, "stickslip.benchmarks", SimpleNamespace(REGISTRY={"ball": benchmark}))
    monkeypatch.setitem(sys.modules, "stickslip.solve", SimpleNamespace(solve=solve))
    return result


@pytest.fixture
def pictures():
    """For tests that look at figures."""


@pytest.fixture(autouse=True)
def blank(request, monkeypatch):
    """Elsewhere figures stay blank: to draw one takes ten times as long as the run. What they show is tested in test_plots."""
    if "pictures" not in request.fixturenames:
        monkeypatch.setattr("matplotlib.figure.Figure.draw", lambda figure, renderer: None)


def run_program(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(Path(stickslip.__path__[0]).parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "stickslip", *arguments]
    return subprocess.run(command, cwd=cwd, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)


# --- the program itself --------------------------------------------------------------------------------------------


def test_version(stick):
    assert stick("--version") == Result(0, f"stickslip {__version__}\n", "")


def test_real_exit_codes_and_no_traceback(tmp_path):
    assert run_program("--version", cwd=tmp_path).returncode == 0
    usage = run_program("run", cwd=tmp_path)
    assert usage.returncode == 2
    error = run_program("plot", "nothing.h5", cwd=tmp_path)
    assert error.returncode == 1
    assert error.stderr.startswith("error: nothing.h5 does not exist.")
    assert "Traceback" not in usage.stderr + error.stderr


def test_version_and_help_import_nothing_heavy(tmp_path):
    program = "import sys; from stickslip import cli; print({'numba', 'matplotlib', 'h5py'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(Path(stickslip.__path__[0]).parent)}
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert out.stdout == "set()\n"


@pytest.mark.parametrize(
    "arguments",
    [["fly"], ["run"], ["run", "ball", "--dt", "small"], ["run", "ball", "--nothing"], ["plot"]],
)
def test_wrong_usage_exits_with_2(stick, arguments):
    result = stick(*arguments)
    assert result.code == 2
    assert "Usage: stickslip" in result.err


# --- run -----------------------------------------------------------------------------------------------------------


def test_run_writes_result_figure_and_summary_and_says_so(pictures, stick, fake, tmp_path):
    result = stick("run", "ball", "--out", "there")
    assert result.code == 0
    assert result.err == ""
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["ball.h5", "ball.png", "ball_summary.txt"]
    assert len(load("there/ball.h5")) == 51
    summary = (tmp_path / "there" / "ball_summary.txt").read_text()
    for text in ("smallest gap", "us per step", "largest |g|", "energy"):
        assert text in result.out
        assert text in summary
    assert "wrote there/ball.h5" in result.out
    assert "Try next" in result.out


def test_run_takes_steps_and_time_from_the_benchmark_unless_told(stick, fake):
    stick("run", "ball")
    assert fake.calls[-1] == {
        "t_end": 0.05,
        "dt": 1e-3,
        "method": "rattle",
        "tol": 1e-8,
        "parameters": {},
        "overwrite": False,
    }
    more = ["--method", "moreau", "--dt", "1e-4", "--t-end", "0.2", "--tol", "1e-10", "--set", "mu=0.1"]
    stick("run", "ball", *more, "--overwrite")
    assert fake.calls[-1] == {
        "t_end": 0.2,
        "dt": 1e-4,
        "method": "moreau",
        "tol": 1e-10,
        "parameters": {"mu": 0.1},
        "overwrite": True,
    }


def test_settings_reach_the_benchmark_with_the_type_of_its_default(stick, fake):
    settings = ["mass=2", "case=3", "surface=rough", "friction=false"]
    stick("run", "ball", *[text for setting in settings for text in ("--set", setting)])
    assert fake.calls[0] == {"mass": 2.0, "case": 3, "surface": "rough", "friction": False}
    assert fake.calls[1]["parameters"] == {"mass": 2.0}  # so that the result remembers it


@pytest.mark.parametrize(
    "setting, message",
    [
        ("mu", "write it as KEY=VALUE"),
        ("=1", "write it as KEY=VALUE"),
        ("mu=", "write it as KEY=VALUE"),
        ("mu=slippery", "--set mu=slippery: the value must be a number"),
        ("case=1.5", "the value must be an integer"),
        ("friction=perhaps", "the value must be true or false"),
    ],
)
def test_settings_that_make_no_sense_are_refused(stick, fake, setting, message):
    result = stick("run", "ball", "--set", setting)
    assert result.code == 1
    assert message in result.err


def test_lists_are_set_by_commas():
    def build(start: tuple[float, ...] = (0.0, 0.0)): ...

    assert split_settings(["start=1,2.5"], build) == ({"start": [1.0, 2.5]}, {})
    with pytest.raises(OptionError, match="numbers separated by commas"):
        split_settings(["start=1;2"], build)


def test_an_unknown_benchmark_is_named_with_what_was_meant(stick, fake):
    result = stick("run", "bal")
    assert result.code == 1
    assert result.err == "error: unknown benchmark 'bal'; did you mean 'ball'? Known: ball\n"
    assert result.out == ""


def test_a_place_that_cannot_be_written_is_refused_before_the_simulation(stick, fake, tmp_path):
    (tmp_path / "file").write_text("")
    result = stick("run", "ball", "--out", "file")
    assert result.code == 1
    assert "--out file" in result.err
    assert fake.calls == []


def test_an_interrupted_run_keeps_what_is_done(stick, fake):
    part = fake.outcome
    for number in (signal.SIGINT, signal.SIGTERM):
        fake.outcome = Interrupted("interrupted", lambda: part, number)
        result = stick("run", "ball", "--set", "mu=0.1", "--overwrite")
        assert result.code == 128 + number
        assert "interrupted at t = 0.05" in result.err
        assert "To continue: stickslip resume out/ball.h5 ball --set mu=0.1" in result.err
        assert Path("out/ball.png").exists()
    refused = stick("run", "ball")
    assert refused.code == 1
    assert "out/ball.h5.part is a run that was interrupted" in refused.err


def test_a_run_that_fails_keeps_what_is_done(stick, fake):
    about = fake.outcome.provenance | {"complete": False, "interrupted": "step 50 did not converge"}
    part = replace(fake.outcome, provenance=about)
    fake.outcome = ConvergenceError("step 50 failed", time=0.05, step=50, stage="position", residual=1.0, solution=part)
    result = stick("run", "ball")
    assert result.code == 1
    assert result.err == "error: step 50 failed\n"
    assert "wrote out/ball.h5" in result.out
    assert len(load("out/ball.h5")) == 51


def test_ctrl_c_elsewhere_exits_with_130(stick, fake, monkeypatch):
    monkeypatch.setattr(sys.modules["stickslip.solve"], "solve", _raise_interrupt)
    result = stick("run", "ball")
    assert result.code == 130
    assert "Traceback" not in result.err


def _raise_interrupt(*arguments, **options):
    raise KeyboardInterrupt


# --- with the library's own benchmarks and solver ------------------------------------------------------------------


def test_a_real_run_is_what_the_library_gives(stick):
    result = stick("run", "bouncing_ball", "--dt", "1e-2", "--t-end", "0.6", "--set", "e=0.5", "--tol", "1e-9")
    assert result.code == 0, result.err
    saved = load("out/bouncing_ball.h5")
    expected = stickslip.solve(stickslip.benchmarks.bouncing_ball(e=0.5), t_end=0.6, dt=1e-2, tol=1e-9)
    np.testing.assert_array_equal(saved.q, expected.q)
    np.testing.assert_array_equal(saved.P_N, expected.P_N)
    about = saved.provenance
    assert (about["method"], about["dt"], about["tol"], about["parameters"]) == ("rattle", 1e-2, 1e-9, {"e": 0.5})


def test_a_run_with_detected_contacts_is_streamed_and_can_be_prolonged(stick):
    model = ["card_house", "--set", "levels=1", "--set", "mu=0.3"]
    result = stick("run", *model, "--dt", "1e-3", "--t-end", "0.01")
    assert result.code == 0, result.err
    assert "stickslip resume out/card_house.h5 card_house --set levels=1 --set mu=0.3 --t-end 0.02" in result.out
    longer = stick("resume", "out/card_house.h5", *model, "--t-end", "0.02")
    assert longer.code == 0, longer.err
    saved = load("out/card_house.h5")
    expected = stickslip.solve(stickslip.benchmarks.card_house(levels=1, mu=0.3), t_end=0.02, dt=1e-3)
    np.testing.assert_array_equal(saved.q, expected.q)
    np.testing.assert_array_equal(saved.contacts.percussion, expected.contacts.percussion)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["bouncing_bal"], "unknown benchmark 'bouncing_bal'; did you mean 'bouncing_ball'?"),
        (["bouncing_ball", "--method", "ratle"], "unknown method 'ratle'; did you mean 'rattle'?"),
        (["bouncing_ball", "--set", "mass=1"], "unknown parameter 'mass'"),
        (["rotating_bouncing_ball", "--set", "cas=1"], "unknown parameter 'cas'; did you mean 'case'?"),
        (["bouncing_ball", "--set", "e=2"], "2"),
        (["bouncing_ball", "--dt", "0"], "dt = 0.0 must be a finite number > 0"),
        (["bouncing_ball", "--dt", "nan"], "dt = nan must be a finite number > 0"),
        (["bouncing_ball", "--t-end", "-1"], "t_end = -1.0"),
        (["bouncing_ball", "--tol", "-1"], "tol = -1.0"),
    ],
)
def test_bad_input_gets_one_clean_message(stick, tmp_path, arguments, message):
    result = stick("run", *arguments)
    assert result.code == 1
    assert result.err.startswith("error: ")
    assert message in result.err
    assert "Traceback" not in result.err
    assert list(tmp_path.rglob("*.h5")) == []


# --- models of one's own ------------------------------------------------------------------------------------------

OWN = """
import stickslip as ss
from helper import MASS

dt, t_end, method = 1e-2, 0.5, "moreau"

def ball(height: float = 1.0) -> ss.System:
    "A ball."
    s = ss.System("my ball")
    (q,), (u,) = s.coordinates("q", initial=[height], velocity=[0])
    s.kinetic_energy(s.parameter("m", MASS) / 2 * u**2)
    s.potential_energy(s.parameter("w", 9.81) * MASS * q)
    s.contact(gap=q, name="floor")
    return s
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "helper.py").write_text("MASS = 2.0\n")
    path = tmp_path / "models" / "drop.py"
    path.write_text(OWN)
    yield path
    for name in ("helper", "drop"):
        sys.modules.pop(name, None)
    sys.path[:] = [entry for entry in sys.path if entry != str(path.parent)]


def test_a_file_runs_as_a_benchmark_does(stick, own):
    result = stick("run", "models/drop.py", "--set", "height=0.5", "--set", "w=3.0", "--json")
    assert result.code == 0, result.err
    summary = json.loads(result.out)
    assert (summary["system"], summary["method"], summary["steps"]) == ("my ball", "moreau", 50)
    assert summary["parameters"] == {"w": 3.0}
    assert summary["q_end"]["q"] == pytest.approx(0.5 - 3.0 / 2 * 0.5**2, abs=0.01)
    assert "out/ball.h5" in summary["files"]
    assert load("out/ball.h5").q[0, 0] == 0.5


def test_a_sweep_over_arguments_of_the_function_and_parameters(stick, own):
    """`height` is an argument, `w` a parameter; explicit steps of free fall end at height - w dt^2 n (n - 1)/2."""
    over = ("--over", "height=2:3:2", "--over", "w=1,3")
    result = stick("sweep", "models/drop.py", *over, "--set", "m=4", "--measure", "max:q", "--measure", "final:q")
    assert result.code == 0, result.err
    header, *rows = [line.split(",") for line in Path("out/ball_sweep.csv").read_text().splitlines()]
    assert header == ["height", "w", "m", "max:q", "final:q"]
    fallen = 1e-4 * 50 * 49 / 2
    expected = [[h, w, 4.0, h, h - w / 2 * fallen] for h in (2.0, 3.0) for w in (1.0, 3.0)]  # mass m = 2 MASS
    np.testing.assert_allclose(np.array(rows, dtype=float), expected, rtol=1e-12)


def test_a_sweep_over_an_argument_that_is_a_parameter_too(stick, own):
    """The function is called with each value, as --set does it, so that an initial state which depends on it fits."""
    own.write_text(OWN.replace('s.contact(gap=q, name="floor")', 's.constraint(q - s.parameter("height", height))'))
    result = stick("sweep", "models/drop.py", "--over", "height=1,2", "--measure", "final:q")
    assert result.code == 0, result.err
    assert Path("out/ball_sweep.csv").read_text().splitlines()[1:] == ["1.0,1.0", "2.0,2.0"]


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_sweep_with_runs_that_fail_is_not_a_success(stick, own, as_json):
    """The table is written with what there is; the exit code says that something is missing."""
    over = ("--over", "w=1,1e400", "--measure", "final:q")
    result = stick("sweep", "models/drop.py", *over, *as_json)
    assert result.code == 1
    assert Path("out/ball_sweep.csv").read_text().splitlines()[2].endswith("nan")
    if as_json:
        assert len(json.loads(result.out)["failed"]) == 1
    else:
        assert "2 runs, 1 failed" in result.out


def test_what_a_sweep_refuses(stick, own):
    result = stick("sweep", "models/drop.py", "--over", "w=1,2", "--set", "w=3", "--measure", "max:q")
    assert result.code == 1
    assert "--set w=3 has the same name as an --over" in result.err
    result = stick("sweep", "models/drop.py", "--over", "weight=1,2", "--measure", "max:q")
    assert result.code == 1
    assert "unknown parameter 'weight'" in result.err
    result = stick("sweep", "models/drop.py", "--over", "w=1,2", "--measure", "max:height", "--json")
    assert result.code == 1
    assert "unknown quantity 'height'" in result.err
    assert "no run could be measured" not in result.err  # it is known before the first run


def test_a_variable_is_a_model_too_and_several_need_a_choice(stick, own):
    own.write_text(OWN + "one = ball(height=0.2)\n")
    assert stick("info", "models/drop.py", "--json").code == 0
    own.write_text(OWN + "one, two = ball(height=0.2), ball()\n")
    message = stick("run", "models/drop.py")
    assert message.code == 1
    assert "makes several systems: choose one, as in models/drop.py:one (one, two)" in message.err
    own.write_text(OWN + "one, two = ball(height=0.2), ball()\n")
    chosen = stick("info", "models/drop.py:one", "--json")
    assert json.loads(chosen.out)["coordinates"] == {"q": 0.2}


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = 1\n", "makes no System"),
        ("import nothing_of_this_name\n", "cannot be run (line 1): ModuleNotFoundError"),
        ("def f(:\n", "cannot be run (line 1): SyntaxError"),
        ("def system():\n    return 3\n", "system gives 3, not a System"),
        ("def system():\n    return 1 / 0\n", "system failed (line 2): ZeroDivisionError"),
        ("import stickslip as ss\nsystem = ss.System('')\n", "cannot be run (line 2): system: the name must be"),
        ("import stickslip as ss\nsystem = ss.System('s')\n", "give --dt and --t-end"),
    ],
)
def test_a_file_that_is_no_model_is_refused_with_the_line(stick, own, text, message):
    own.write_text(text)
    result = stick("run", "models/drop.py")
    assert result.code == 1
    assert message in result.err
    assert "Traceback" not in result.err


def test_files_and_names_that_are_not_there(stick, own):
    assert "models/none.py does not exist" in stick("run", "models/none.py").err
    assert "unknown name 'bal'; did you mean 'ball'?" in stick("run", "models/drop.py:bal").err
    assert "neither a benchmark nor a Python file" in stick("run", "models").err


def test_results_are_not_replaced_unless_wanted(stick, fake):
    assert stick("run", "ball").code == 0
    before, calls = Path("out/ball.h5").read_bytes(), len(fake.calls)
    again = stick("run", "ball")
    assert again.code == 1
    assert "out/ball.h5 exists already. Add --overwrite" in again.err
    assert Path("out/ball.h5").read_bytes() == before
    assert len(fake.calls) == calls  # refused before the simulation
    assert stick("run", "ball", "--overwrite").code == 0
    assert stick("plot", "out/ball.h5").out == "replaced out/ball.png\n"


def test_every_line_to_try_next_can_be_pasted(stick):
    result = stick("run", "bouncing_ball", "--dt", "1e-2", "--t-end", "0.1", "--set", "e=0.5", "--out", "my results")
    lines = result.out.partition("Try next:\n")[2].splitlines()
    assert len(lines) == 6
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[0] == "stickslip" and "--open" not in words:
            assert stick(*words[1:]).code == 0, line
    assert load("my results_fine/bouncing_ball.h5").provenance["parameters"] == {"e": 0.5}
    assert load("my results_moreau/bouncing_ball.h5").provenance["dt"] == 1e-2


def test_the_film_to_try_next_can_be_seen(stick, tmp_path):
    """Without bodies there is none; a drawing of one's own is known to its file only."""
    equations = """
        import stickslip as ss
        from stickslip.shapes import Circle

        def model():
            s = ss.System("drop")
            (y,), u = s.coordinates("y", initial=[1.0], velocity=[0.0])
            s.kinetic_energy(u @ u / 2)
            s.contact(gap=y, restitution=0.5, name="floor")
            {}
            return s
    """
    run = ("run", "drop.py", "--dt", "1e-2", "--t-end", "0.1", "--overwrite")
    (tmp_path / "drop.py").write_text(textwrap.dedent(equations.format("")))
    assert "view" not in stick(*run).out.partition("Try next:")[2]
    drawn = 's.drawing = ss.drawing("my drop")(lambda state: [Circle((0, state.q[0]), 0.1)])'
    (tmp_path / "drop.py").write_text(textwrap.dedent(equations.format(drawn)))
    (line,) = [line for line in stick(*run).out.splitlines() if "stickslip view" in line]
    words = shlex.split(line, comments=True)
    assert words[2] == "drop.py"
    assert stick(*[word for word in words[1:] if word != "--open"]).code == 0


def test_summaries_as_json_are_alone_on_stdout(stick):
    study = ["--dts", "0.04,0.02", "--t-end", "0.4", "--reference", "rattle", "--json"]
    orders = json.loads(stick("converge", "point_mass_on_slope", "--methods", "rattle", *study).out)["orders"]
    assert orders["q"]["rattle"] is None or orders["q"]["rattle"] > 1
    table = json.loads(stick("compare", "bouncing_ball", "--methods", "rattle,moreau", "--t-end", "0.1", "--json").out)
    assert [row["method"] for row in table["methods"]] == ["rattle", "moreau"]
    assert set(METHODS) == set(json.loads(stick("list", "--json").out)["methods"])


def test_info_names_what_can_be_set(stick):
    text = stick("info", "slider_crank", "--set", "parts=true").out
    for word in ("slider-crank", "mu", "crank", "PlanarBody", "Revolute", "friction in 1 direction", "rod.phi"):
        assert word in text
    assert ">>>" not in text
    assert "unknown parameter" in stick("info", "bouncing_ball", "--set", "mass=1").err


def test_completion_knows_benchmarks_methods_and_files(own, monkeypatch):
    from stickslip.cli.common import complete_method, complete_target

    monkeypatch.chdir(own.parent.parent)
    assert complete_target("slider") == ["slider_crank", "slider_crank_minimal"]
    assert complete_target("mod") == ["models/"]
    assert complete_target("models/d") == ["models/drop.py"]
    assert complete_method("rattle,lob") == ["rattle,lobatto"]
    # Which shell it is started from does not matter, and there may be none.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "_STICKSLIP_COMPLETE" in run_program("--show-completion", "bash", cwd=own.parent).stdout


# --- list ---------------------------------------------------------------------------------------------------------


def test_list_shows_benchmarks_and_methods_with_their_facts(stick, fake, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    result = stick("list")
    assert result.code == 0
    assert "a ball" in result.out
    assert "a book" in result.out
    for name, scheme in METHODS.items():
        assert name in result.out
        assert scheme().facts.summary in result.out
    assert "order 2; constraints on position and velocity level" in result.out


# --- plot ----------------------------------------------------------------------------------------------------------


def test_plot_draws_a_saved_result(pictures, stick, tmp_path):
    make_ball(50).save(tmp_path / "runs" / "ball.h5")
    assert stick("plot", "runs/ball.h5") == Result(0, "wrote runs/ball.png\n", "")
    assert stick("plot", "runs/ball.h5", "--out", "figures").code == 0
    assert (tmp_path / "figures" / "ball.png").stat().st_size > 10_000


def test_plot_refuses_what_is_no_result(stick, tmp_path):
    (tmp_path / "notes.h5").write_text("not a result")
    result = stick("plot", "notes.h5")
    assert result.code == 1
    assert "error: notes.h5 is not an HDF5 file" in result.err


# --- compare and converge -----------------------------------------------------------------------------------------


def test_compare_shows_methods_side_by_side(pictures, stick, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    methods = "rattle,theta:theta=1,schatzman-paoli"
    result = stick("compare", "rotating_bouncing_ball", "--methods", methods, "--set", "case=2", "--out", "there")
    assert result.code == 0, result.err
    for text in ("rattle", "theta:theta=1.0", "µs per step", "penetration", "E remainder", "cannot treat friction"):
        assert text in result.out
    assert (tmp_path / "there" / "rotating_bouncing_ball_comparison.png").stat().st_size > 10_000


def test_bench_compares_steps_and_keeps_a_history(stick, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    small = ["bench", "bouncing_ball", "--methods", "moreau,rattle", "--steps", "20"]
    first, again = stick(*small), stick(*small, "--json")
    assert first.code == again.code == 0, first.err + again.err
    assert "ratio: to bouncing_ball by moreau" in first.out
    assert "before" not in first.out.splitlines()[1]
    rows = json.loads(again.out)["rows"]
    history = [line.split(",") for line in (tmp_path / "out" / "bench.csv").read_text().splitlines()]
    assert len(history) == 1 + 2 * 2
    assert rows[0]["ratio"] == rows[0]["before"] == 1
    assert rows[1]["ratio"] == rows[1]["seconds"] / rows[0]["seconds"]
    assert rows[1]["before"] == float(history[2][-1])
    assert rows[1]["ratio"] == pytest.approx(float(history[4][-1]), rel=1e-3)


def test_bench_says_what_it_did_not_time(stick, tmp_path):
    result = stick("bench", "slider_crank", "--methods", "schatzman-paoli", "--steps", "2")
    assert result.code == 1
    assert "nothing was timed" in result.err
    assert "cannot treat friction" in result.err
    assert "positive number of steps" in stick("bench", "--steps", "0").err
    (tmp_path / "out" / "bench.csv").write_text("a,b\n1,2\n")
    assert "is not a history" in stick("bench", "bouncing_ball").err


def test_converge_shows_orders_and_writes_numbers(pictures, stick, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    steps = ["--dts", "0.04,0.02,0.01", "--t-end", "1.6"]
    result = stick("converge", "point_mass_on_slope", "--methods", "rattle,moreau", *steps, "--reference", "rattle")
    assert result.code == 0, result.err
    assert "observed orders" in result.out
    assert "reference: rattle, dt = 0.000625" in result.out
    lines = (tmp_path / "out" / "point_mass_on_slope_convergence.csv").read_text().splitlines()
    assert lines[0].startswith("method,dt,q,u,P_N,P_F")
    assert len(lines) == 7
    assert (tmp_path / "out" / "point_mass_on_slope_convergence.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["compare", "bouncing_bal", "--methods", "rattle"], "unknown benchmark 'bouncing_bal'"),
        (["compare", "bouncing_ball", "--methods", "ratle"], "unknown method 'ratle'; did you mean 'rattle'?"),
        (["compare", "bouncing_ball", "--methods", "theta:teta=1"], "did you mean 'theta'?"),
        (["compare", "rotating_bouncing_ball", "--methods", "schatzman-paoli"], "none of the methods can treat"),
        (
            ["converge", "bouncing_ball", "--methods", "rattle", "--dts", "1e-2,small"],
            "write numbers separated by commas",
        ),
        (["converge", "bouncing_ball", "--methods", "rattle", "--dts", "1e-2", "--norm", "h1"], "unknown norm 'h1'"),
        (["converge", "bouncing_ball", "--methods", "rattle", "--dts", "0"], "dt = 0.0 must be a finite number > 0"),
        (["run", "bouncing_ball", "--method", "theta:theta=big"], "theta must be a number"),
    ],
)
def test_bad_input_of_studies_gets_one_clean_message(stick, arguments, message):
    result = stick(*arguments)
    assert result.code == 1
    assert result.err.startswith("error: ")
    assert message in result.err
    assert "Traceback" not in result.err


# --- films ---------------------------------------------------------------------------------------------------------


def test_view_of_a_benchmark_and_of_a_file(pictures, stick):
    result = stick("view", "bouncing_ball", "--t-end", "0.1", "--out", "pages")
    assert result == Result(0, "wrote pages/bouncing_ball.html; open it in a browser, or use --open\n", "")
    assert "bouncing ball" in Path("pages/bouncing_ball.html").read_text(encoding="utf-8")
    ran = stick("run", "bouncing_ball", "--t-end", "0.1", "--out", "results")
    assert "results/bouncing_ball_motion.png" in ran.out
    assert Path("results/bouncing_ball_motion.png").stat().st_size > 10_000
    assert stick("view", "results/bouncing_ball.h5").code == 0
    assert Path("results/bouncing_ball.html").exists()


def test_view_lays_runs_over_each_other_and_opens_chosen_curves(stick):
    command = ["view", "bouncing_ball", "--t-end", "0.1", "--overlay", "moreau", "--quantities"]
    assert "unknown quantity 'height'" in stick(*command, "height, energy.total").err
    assert stick(*command, "energy.total,floor.gap").code == 0
    text = Path("out/bouncing_ball.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.DOTALL)[1])
    assert [run["name"] for run in data["runs"]] == ["rattle", "moreau"]
    assert data["curves"]["open"] == [["energy.total"], ["floor.gap"]]
    stick("run", "bouncing_ball", "--method", "theta", "--t-end", "0.1", "--out", "results")
    assert stick("view", "results/bouncing_ball.h5", "--overlay", "results/bouncing_ball.h5").code == 0
    assert "nothing.h5 does not exist" in stick("view", "results/bouncing_ball.h5", "--overlay", "nothing.h5").err
    assert stick("plot", "results/bouncing_ball.h5", "--quantities", "energy.total").code == 0


def test_view_runs_only_what_the_film_shows(stick, monkeypatch):
    asked = []
    module = sys.modules["stickslip.solve"]
    solve = module.solve
    monkeypatch.setattr(module, "solve", lambda *args, **more: asked.append(args[1]) or solve(*args, **more))
    assert stick("view", "spring_pendulum", "--dt", "1e-2").code == 0
    assert stick("view", "spring_pendulum", "--dt", "1e-2", "--t-start", "1").code == 0
    assert stick("view", "spring_pendulum", "--dt", "1e-2", "--t-end", "2").code == 0
    assert asked == [12.0, 13.0, 2.0]  # of the benchmark's 1000 s


def test_view_opens_a_browser_only_when_asked(stick, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    stick("view", "bouncing_ball", "--t-end", "0.01")
    assert not opened
    assert stick("view", "bouncing_ball", "--t-end", "0.01", "--open").out == "replaced out/bouncing_ball.html\n"
    assert opened == [Path("out/bouncing_ball.html").resolve().as_uri()]


def test_view_of_nothing_says_so(stick, tmp_path):
    assert "unknown benchmark 'slider'; did you mean 'slider_crank'?" in stick("view", "slider").err
    assert "nothing.h5 does not exist" in stick("view", "nothing.h5").err
    make_ball(20).save(tmp_path / "ball.h5")
    assert "'ball on a floor' has nothing to draw" in stick("view", "ball.h5").err
    assert "--dt: ball.h5 is a finished result" in stick("view", "ball.h5", "--dt", "1").err
    (tmp_path / "file").write_text("")
    assert "--out file" in stick("view", "bouncing_ball", "--out", "file").err
    assert all(stick("view", what).code == 1 for what in ("slider", "nothing.h5", "ball.h5"))


def test_importing_is_light():
    """What takes long to import (0.3 to 1 s each) is imported when it is used."""
    heavy = ("matplotlib", "numba", "scipy", "h5py", "rich", "typer")
    code = f"import sys, stickslip; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
