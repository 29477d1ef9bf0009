"""Results that go to a file while the run goes on: killed anywhere and resumed, they are those of one run."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import stickslip as ss
from stickslip.solution.whole import SIGNATURE, sign
from stickslip.stream import MAGIC, TOLD, FileFrame, encode, open_part, part_of


def content_of(frame: FileFrame) -> bytes:
    return b"".join(encode(frame))


METHODS = ["rattle", "generalized-alpha", "lobatto", "half-explicit", "moreau-symmetric", "half-explicit-adaptive"]


def identical(a: ss.Solution, b: ss.Solution) -> bool:
    names = ("t", "q", "u", "g", "gap", "slip", "P_g", "P_N", "P_F", "kinetic", "potential")
    arrays = [(getattr(a, n), getattr(b, n)) for n in names] + [(a.extra[n], b.extra[n]) for n in b.extra]
    arrays += [(a.stats.iterations, b.stats.iterations), (a.stats.residuals, b.stats.residuals)]
    equal = all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in arrays)
    return equal and a.state.same(b.state) and a.stats.solved_by == b.stats.solved_by


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

    monkeypatch.setattr(sys.modules["stickslip.solve.case"], "finish", killed)
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
    """Of 400 files with one flipped byte none loads."""
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "ball.h5"
    ss.solve(ball, 0.2, 1e-2, progress=False).save(path)
    content, rng = path.read_bytes(), np.random.default_rng(1)
    places = [*rng.integers(0, len(content), 316), *range(len(content) - 84, len(content))]  # and all of the checksum
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


def test_whatever_hdf5_complains_about_is_a_damaged_file(tmp_path, monkeypatch):
    """It has other exceptions than OSError for what it cannot read."""
    path = tmp_path / "ball.h5"
    ss.solve(ss.benchmarks.bouncing_ball(), 0.2, 1e-2, progress=False).save(path)

    def fails(*_):
        raise RuntimeError("Link iteration failed (bad heap free list)")

    monkeypatch.setattr(h5py.Group, "__iter__", fails)
    with pytest.raises(ss.ResultFileError, match=r"damaged stickslip result \(Link iteration failed"):
        ss.load(path)


def test_damaged_streams(tmp_path):
    """A flipped byte ends the stream before its frame; a length without an end is not believed."""
    path = tmp_path / "run.h5.part"
    for content, complaint in (
        (MAGIC + b"\xff" * 100, "does not say which run"),
        (b"something else", "not an unfinished"),
        (b"stickslip stream 9\n" + b"\0" * 100, "another version"),
        (MAGIC + content_of(FileFrame({}, {"array.t": np.zeros(1)})), "damaged"),
        (MAGIC + content_of(FileFrame(dict.fromkeys(TOLD, 1), {"array.t": np.zeros(1)})), "damaged|other equations"),
        (MAGIC + content_of(FileFrame({}, {"other": np.zeros(1)})), "damaged"),
    ):
        path.write_bytes(content)
        for read in (ss.load, lambda p: ss.resume(p, ss.benchmarks.bouncing_ball())):
            with pytest.raises((ss.ResultFileError, ss.OptionError), match=complaint):
                read(path)


def test_flipped_bytes_of_a_stream_shorten_it_and_change_nothing(tmp_path, monkeypatch):
    path, whole = unfinished(tmp_path, monkeypatch)
    content, rng = part_of(path).read_bytes(), np.random.default_rng(2)
    for place in rng.integers(0, len(content), 60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        part_of(path).write_bytes(damaged)
        try:
            there = ss.load(part_of(path))
        except ss.ResultFileError:
            continue
        assert there.q.tobytes() == whole.q[: len(there)].tobytes()


def huge(file):
    del file["q"]
    file.create_dataset("q", shape=(10**10, 1), chunks=(1024, 1), dtype=float, compression="gzip")


def elsewhere(file):
    del file["q"]
    file["q"] = h5py.ExternalLink("/etc/hostname", "/q")


def outside(file):
    del file["q"]
    file.create_dataset("q", shape=(101, 1), dtype=float, external=[("/etc/hostname", 0, 808)])


def endless(file):
    file["extra/self"] = file["extra"]


@pytest.mark.parametrize(
    "change, complaint",
    [
        (huge, "declares 8e\\+10 bytes"),
        (elsewhere, "link to another place"),
        (outside, "lies in other files"),
        (endless, "nested too deeply"),
        (lambda file: file.__setitem__("extra/kind", np.dtype("f8")), "neither an array nor a group"),
        (lambda file: file.attrs.update(format_version=99), "reads up to format"),
        (lambda file: file.__delitem__("q"), "damaged"),
        (lambda file: file["stats"].attrs.update(stages="[[["), "damaged"),
    ],
)
def test_hostile_files_with_a_correct_checksum(tmp_path, change, complaint):
    """Whoever changes a file can sign it, too: it is refused by name, nothing large is allocated, no other file is read."""
    path = tmp_path / "ball.h5"
    ss.solve(ss.benchmarks.bouncing_ball(), 1.0, 1e-2, progress=False).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: -len(SIGNATURE) - 64])
    with h5py.File(path, "r+") as file:
        change(file)
    sign(path)
    with pytest.raises(ss.ResultFileError, match=complaint):
        ss.load(path)


def unfinished(tmp_path, monkeypatch, **options):
    """A run that was killed before its file was finished, and the same run in one piece."""
    from stickslip.solve import outfile

    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "run.h5"
    monkeypatch.setattr(outfile, "FLUSH_SECONDS", -1.0)  # a frame for every chunk

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["stickslip.solve.case"], "finish", killed)
    with pytest.raises(KeyboardInterrupt):
        ss.solve(ball, 1.0, 1e-2, out=path, progress=False, **options)
    monkeypatch.undo()
    return path, ss.solve(ball, 1.0, 1e-2, progress=False, **options)


@pytest.mark.parametrize("every", [1, 7])
def test_a_killed_run_can_be_read(tmp_path, monkeypatch, every):
    path, whole = unfinished(tmp_path, monkeypatch, save_every=every)
    with pytest.raises(ss.ResultFileError, match="is not finished"):
        ss.load(path)
    there = ss.load(part_of(path), system=ss.benchmarks.bouncing_ball())
    assert not there.complete
    n = len(there)
    assert n >= 100 // every
    for name in ("t", "q", "u", "gap", "P_N", "kinetic"):
        assert getattr(there, name).tobytes() == getattr(whole, name)[:n].tobytes()
    assert "not finished" in there.summary()


def test_event_driven_runs_are_streamed(tmp_path):
    ball, path = ss.benchmarks.bouncing_ball(), tmp_path / "run.h5"
    streamed = ss.solve(ball, 1.0, 1e-2, method="event-driven", out=path, progress=False)
    assert identical(streamed, ss.solve(ball, 1.0, 1e-2, method="event-driven", progress=False))


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
def test_a_full_disk_keeps_what_is_written(tmp_path):
    """No room for more: a clear message, what is there stays readable, and the run goes on when there is room again."""
    path = tmp_path / "run.h5"
    program = (
        "import resource, signal, stickslip as ss\n"
        "from stickslip.solve import outfile\n"
        "outfile.FLUSH_SECONDS = -1.0\n"
        "ball = ss.benchmarks.bouncing_ball()\n"
        "ss.solve(ball, 0.1, 1e-3, progress=False)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))\n"
        "try:\n"
        f"    ss.solve(ball, 5.0, 1e-3, out={str(path)!r}, progress=False)\n"
        "except ss.ResultFileError as error:\n"
        "    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "All steps up to there are kept in it; free some space and continue with ss.resume" in said.stdout
    ball = ss.benchmarks.bouncing_ball()
    assert len(ss.load(part_of(path))) > 100
    assert identical(ss.resume(path, ball, progress=False), ss.solve(ball, 5.0, 1e-3, progress=False))


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGTERM")
def test_sigterm_saves(tmp_path):
    """As a batch system does it when the time is over."""
    path = tmp_path / "out" / "slider_crank.h5"
    command = [sys.executable, "-m", "stickslip", "run", "slider_crank", "--t-end", "1000", "--out", str(path.parent)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (part_of(path).exists() and part_of(path).stat().st_size > 100_000):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM
    assert "what was done is saved" in err
    there = ss.load(part_of(path))
    dt = there.provenance["dt"]
    plain = ss.solve(ss.benchmarks.slider_crank(), there.t[-1], dt, progress=False)
    assert there.q.tobytes() == plain.q.tobytes()


def test_resume_on_the_command_line(tmp_path):
    from typer.testing import CliRunner

    from stickslip.cli import app

    path, ball = tmp_path / "ball.h5", ss.benchmarks.bouncing_ball()
    ss.solve(ball, 0.5, 1e-2, out=path, progress=False)
    done = CliRunner().invoke(app, ["resume", str(path), "bouncing_ball", "--t-end", "1.0"])
    assert done.exit_code == 0, done.output
    assert identical(ss.load(path), ss.solve(ball, 1.0, 1e-2, progress=False))


def test_resume_finds_the_benchmark_of_a_run(tmp_path, monkeypatch):
    """`stickslip run`, then `stickslip resume FILE`: of what `run` wrote, too."""
    from typer.testing import CliRunner

    from stickslip.cli import app

    monkeypatch.chdir(tmp_path)
    ball = ss.benchmarks.bouncing_ball()
    done = CliRunner().invoke(app, ["run", "bouncing_ball", "--dt", "1e-2", "--t-end", "0.5", "--set", "e=0.3"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["resume", "out/bouncing_ball.h5", "--t-end", "1.0"])
    assert done.exit_code == 0, done.output
    assert identical(ss.load("out/bouncing_ball.h5"), ss.solve(ball, 1.0, 1e-2, parameters={"e": 0.3}, progress=False))
    own = ss.System("my own")
    (_,), (v,) = own.coordinates("x", initial=[0.0], velocity=[1.0])
    own.kinetic_energy(v**2 / 2)
    ss.solve(own, 0.5, 1e-2, progress=False).save("own.h5")  # what was saved can be prolonged, like what was streamed
    done = CliRunner().invoke(app, ["resume", "own.h5", "--t-end", "1.0"])
    assert done.exit_code == 1
    assert "name its model" in str(done.exception)
    assert identical(ss.resume("own.h5", own, t_end=1.0), ss.solve(own, 1.0, 1e-2, progress=False))


def declared(g: float) -> ss.System:
    s = ss.System("ball")
    (y,), (v,) = s.coordinates("y", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(s.parameter("g", g) * y)
    s.contact(gap=y, name="floor")
    return s


def test_other_values_of_parameters_are_not_resumed(tmp_path):
    """Half a run with one gravity and half with another is nobody's result; what was given to the call is kept."""
    path = tmp_path / "run.h5"
    ss.solve(declared(9.81), 0.1, 1e-2, out=path, progress=False)
    with pytest.raises(ss.OptionError, match=r"computed with g = 9.81, and this 'ball' has 1.62"):
        ss.resume(path, declared(1.62), t_end=0.2, progress=False)
    ss.solve(declared(9.81), 0.1, 1e-2, parameters={"g": 1.62}, out=path, overwrite=True, progress=False)
    longer = ss.resume(path, declared(5.0), t_end=0.2, progress=False)
    assert identical(longer, ss.solve(declared(1.62), 0.2, 1e-2, progress=False))


def test_an_interrupted_run_is_not_begun_again(tmp_path, monkeypatch):
    path, whole = unfinished(tmp_path, monkeypatch)
    ball = ss.benchmarks.bouncing_ball()
    with pytest.raises(ss.OptionError, match=r"interrupted at t = .*; ss.resume\(.*run.h5', system\) continues it"):
        ss.solve(ball, 0.1, 1e-2, out=path, progress=False)
    assert identical(ss.resume(path, ball, progress=False), whole)


def test_nothing_is_replaced_in_silence(tmp_path, monkeypatch):
    """A result stays unless overwrite=True; what is not a result stays in any case; an empty file is nothing to lose."""
    path, ball = tmp_path / "run.h5", ss.benchmarks.bouncing_ball()
    path.touch()
    whole = ss.solve(ball, 0.2, 1e-2, out=path, progress=False)
    before = path.read_bytes()
    with pytest.raises(
        ss.OptionError, match=r"is a result that exists already: ss.resume\(.*overwrite=True replaces it"
    ):
        ss.solve(ball, 0.1, 1e-2, out=path, progress=False)
    assert path.read_bytes() == before
    assert len(ss.solve(ball, 0.1, 1e-2, out=path, overwrite=True, progress=False)) == 11
    assert identical(ss.resume(path, ball, t_end=0.2, progress=False), whole)
    notes = tmp_path / "notes.txt"
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"] = 1.0
    notes.write_text("not to be lost")
    for other in (notes, tmp_path / "data.h5"):
        before = other.read_bytes()
        for overwrite in (False, True):
            with pytest.raises(ss.OptionError, match="exists and is not a stickslip result; choose another name"):
                ss.solve(ball, 0.1, 1e-2, out=other, overwrite=overwrite, progress=False)
        assert other.read_bytes() == before
    with pytest.raises(ss.OptionError, match="overwrite = 1 must be True or False"):
        ss.solve(ball, 0.1, 1e-2, out=path, overwrite=1)
    path.unlink()
    unfinished(tmp_path, monkeypatch)
    assert len(ss.solve(ball, 0.1, 1e-2, out=path, overwrite=True, progress=False)) == 11
    assert not part_of(path).exists()


def test_two_processes_do_not_write_to_one_file(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    path, whole = unfinished(tmp_path, monkeypatch)
    ball, before = ss.benchmarks.bouncing_ball(), part_of(path).read_bytes()
    with part_of(path).open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ss.ResultFileError, match="another process is writing to"):
            ss.resume(path, ball, progress=False)
    assert part_of(path).read_bytes() == before
    assert identical(ss.resume(path, ball, progress=False), whole)


def test_what_a_killed_process_left_behind_is_deleted(tmp_path):
    """Killed in the moment when frames become the result: the next one that writes it cleans up, and leaves others alone."""
    path, node = tmp_path / "run.h5", platform.node()
    dead, alive, other = (
        tmp_path / f".{n}.unfinished" for n in (f"run.h5.{node}-99999999", f"run.h5.{node}-1", "x.h5.1")
    )
    for file in (dead, alive, other):
        file.write_bytes(b"half")
    ss.solve(declared(9.81), 0.1, 1e-2, out=path, progress=False)
    assert not dead.exists()
    assert alive.exists()
    assert other.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
@pytest.mark.parametrize("how", ["save", "out"])
def test_a_disk_that_is_full_when_the_result_is_written(tmp_path, how):
    """HDF5 used to end the process here. What was computed is still there, in memory or in the file of the run."""
    path = tmp_path / "run.h5"
    ball = ss.benchmarks.bouncing_ball()
    whole = ss.solve(ball, 5.0, 1e-3, progress=False)
    most = whole.save(path).stat().st_size - 5000
    path.unlink()
    write = "whole = ss.solve(ball, 5.0, 1e-3, progress=False)\n    limit()\n    whole.save(path)"
    stream = "limit()\n    ss.solve(ball, 5.0, 1e-3, progress=False, out=path)"
    program = f"""
import resource, signal, stickslip as ss
def limit():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, resource.RLIM_INFINITY))
ball, path = ss.benchmarks.bouncing_ball(), {str(path)!r}
ss.solve(ball, 0.1, 1e-3, progress=False)
try:
    {write if how == "save" else stream}
except ss.ResultFileError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "cannot write" in said.stdout
    assert "free some space" in said.stdout
    assert not said.stderr
    assert [file.name for file in tmp_path.iterdir()] == ([] if how == "save" else ["run.h5.part"])
    if how == "out":
        assert identical(ss.resume(path, ball, progress=False), whole)
