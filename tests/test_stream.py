"""Results that go to a file while the run goes on: killed anywhere and resumed, they are those of one run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.stream import MAGIC, open_part, part_of

METHODS = ["rattle", "generalized-alpha", "lobatto", "half-explicit", "moreau-symmetric", "half-explicit-adaptive"]


def identical(a: ss.Solution, b: ss.Solution) -> bool:
    names = ("t", "q", "u", "g", "gap", "slip", "P_g", "P_N", "P_F", "kinetic", "potential")
    arrays = [(getattr(a, n), getattr(b, n)) for n in names] + [(a.extra[n], b.extra[n]) for n in b.extra]
    arrays += [(a.stats.iterations, b.stats.iterations), (a.stats.residuals, b.stats.residuals)]
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in arrays) and a.state.same(b.state)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("every", [1, 7])
def test_a_streamed_run_is_the_run(tmp_path, method, every):
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "run.h5"
    plain = ss.solve(ball, 2.0, 1e-2, method=method, save_every=every, progress=False)
    streamed = ss.solve(ball, 2.0, 1e-2, method=method, save_every=every, out=path, progress=False)
    assert identical(streamed, plain)
    assert identical(ss.load(path), plain)
    assert streamed.stats.steps == plain.stats.steps
    assert not part_of(path).exists()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("every", [1, 7])
def test_cut_anywhere_and_resumed(tmp_path, monkeypatch, method, every):
    """A file that ends within any frame, as `kill -9` or a full disk leaves it."""
    from stickslip.solve import outfile

    ball, path, rng = ss.benchmarks.bouncing_ball(), tmp_path / "run.h5", np.random.default_rng(0)
    plain = ss.solve(ball, 1.0, 1e-2, method=method, save_every=every, progress=False)
    monkeypatch.setattr(outfile, "FLUSH_SECONDS", -1.0)  # a frame for every chunk

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["stickslip.solve.door"], "finish", killed)
    with pytest.raises(KeyboardInterrupt):
        ss.solve(ball, 1.0, 1e-2, method=method, save_every=every, out=path, progress=False)
    monkeypatch.undo()
    whole = part_of(path).read_bytes()
    begin = len(whole) // 3
    for cut in [*rng.integers(begin, len(whole), 3), len(whole)]:
        part_of(path).write_bytes(whole[:cut])
        assert identical(ss.resume(path, ball, progress=False), plain)


def test_killed_and_resumed(tmp_path):
    """A real process, killed at random moments."""
    path = tmp_path / "run.h5"
    program = (
        "import stickslip as ss\n"
        "from stickslip.solve import outfile\n"
        "outfile.FLUSH_SECONDS = 0.02\n"
        f"ss.solve(ss.benchmarks.slider_crank(), 10.0, 1e-4, out={str(path)!r}, progress=False)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], env=os.environ)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (part_of(path).exists() and part_of(path).stat().st_size > 300_000):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    crank = ss.benchmarks.slider_crank()
    part = open_part(path)
    t_end = part.last.about["state"][4] + 0.02
    resumed = ss.resume(path, crank, t_end=t_end, progress=False)
    assert identical(resumed, ss.solve(crank, t_end, 1e-4, progress=False))


def test_a_finished_run_is_prolonged(tmp_path):
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "run.h5"
    ss.solve(ball, 0.5, 1e-2, method="generalized-alpha", parameters={"e": 0.3}, out=path, progress=False)
    longer = ss.resume(path, ball, t_end=1.0, progress=False)
    plain = ss.solve(ball, 1.0, 1e-2, method="generalized-alpha", parameters={"e": 0.3}, progress=False)
    assert identical(longer, plain)
    with pytest.raises(ss.OptionError, match="other equations or names"):
        ss.resume(path, ss.benchmarks.slider_crank(), t_end=2.0)


def test_the_time_that_was_reached_is_not_taken_back(tmp_path):
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "run.h5"
    ss.solve(ball, 0.5, 1e-2, out=path, progress=False)
    before = path.read_bytes()
    for t_end, complaint in ((0.2, "is before t = 0.5"), (np.nan, "finite number")):
        with pytest.raises(ss.OptionError, match=complaint):
            ss.resume(path, ball, t_end=t_end, progress=False)
    assert [file.name for file in tmp_path.iterdir()] == ["run.h5"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_a_run_that_ends_between_two_rows_is_prolonged(tmp_path, method):
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "run.h5"
    ss.solve(ball, 0.5, 1e-2, method=method, save_every=7, out=path, progress=False)
    longer = ss.resume(path, ball, t_end=1.0, progress=False)
    assert identical(longer, ss.solve(ball, 1.0, 1e-2, method=method, save_every=7, progress=False))


def test_folders_that_cannot_be_written(tmp_path):
    with pytest.raises(ss.ResultFileError, match="cannot write"):
        ss.solve(ss.benchmarks.bouncing_ball(), 0.1, 1e-2, out="/proc/nowhere/run.h5", progress=False)
    if Path("/dev/full").exists():
        link = tmp_path / "run.h5.part"
        link.symlink_to("/dev/full")
        with pytest.raises(ss.ResultFileError, match="No space left"):
            ss.solve(ss.benchmarks.bouncing_ball(), 0.1, 1e-2, out=tmp_path / "run.h5", progress=False)


def test_damaged_files_are_never_read_in_silence(tmp_path):
    """Of 300 files with one flipped byte none loads."""
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "ball.h5"
    ss.solve(ball, 0.2, 1e-2, progress=False).save(path)
    content, rng = path.read_bytes(), np.random.default_rng(1)
    places = [*rng.integers(0, len(content), 280), *range(len(content) - 20, len(content))]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(ss.ResultFileError):
            ss.load(path)
    for cut in rng.integers(0, len(content), 20):
        path.write_bytes(content[:cut])
        with pytest.raises(ss.ResultFileError):
            ss.load(path)


def test_damaged_streams(tmp_path):
    """A flipped byte ends the stream before its frame; a length without an end is not believed."""
    path = tmp_path / "run.h5.part"
    path.write_bytes(MAGIC + b"\xff" * 100)
    with pytest.raises(ss.ResultFileError, match="does not say which run"):
        open_part(path)
    path.write_bytes(b"something else")
    with pytest.raises(ss.ResultFileError, match="not an unfinished"):
        open_part(path)


def test_resume_on_the_command_line(tmp_path):
    from typer.testing import CliRunner

    from stickslip.cli import app

    path, ball = tmp_path / "ball.h5", ss.benchmarks.bouncing_ball()
    ss.solve(ball, 0.5, 1e-2, out=path, progress=False)
    done = CliRunner().invoke(app, ["resume", str(path), "bouncing_ball", "--t-end", "1.0"])
    assert done.exit_code == 0, done.output
    assert identical(ss.load(path), ss.solve(ball, 1.0, 1e-2, progress=False))
