"""The folder of compiled code: whatever is wrong with it, a run goes on, and says what it did."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from stickslip import store
from stickslip.errors import CacheWarning
from stickslip.store import KERNELS, LOOPS, Store, cache_directory, prune, usable_directory


def test_cache_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STICKSLIP_CACHE_DIR", "/chosen")
    assert cache_directory() == Path("/chosen")
    monkeypatch.delenv("STICKSLIP_CACHE_DIR")
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    monkeypatch.setenv(variable, "/cache")
    assert cache_directory() == Path("/cache/stickslip")
    monkeypatch.delenv(variable)
    assert cache_directory() == Path.home() / ".cache" / "stickslip"


@pytest.fixture
def blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A wanted folder that nobody can write, not even root, and a folder for temporary files."""
    (tmp_path / "file").write_text("not a directory")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("STICKSLIP_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(store.tempfile, "tempdir", str(tmp_path / "temporary"))
    store._usable.cache_clear()
    yield tmp_path
    store._usable.cache_clear()


def test_a_temporary_folder_takes_the_place_of_one_that_cannot_be_written(blocked: Path) -> None:
    with pytest.warns(
        CacheWarning, match="file/below cannot be written: compiled code is kept in .*temporary/stickslip-"
    ):
        place = usable_directory()
    assert place is not None
    assert place.parent == blocked / "temporary"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    kept = Store(KERNELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        kept.write("a", b"code")
        assert kept.read("a") == b"code"


def test_a_temporary_folder_that_others_can_write_is_not_used(blocked: Path) -> None:
    """What lies in it would be executed."""
    place = blocked / "temporary" / f"stickslip-{store._user()}"
    place.mkdir()
    place.chmod(0o777)
    with pytest.warns(CacheWarning, match="compiled code is not kept, and every process compiles anew"):
        assert usable_directory() is None
    kept = Store(KERNELS)
    kept.write("a", b"code")
    assert kept.read("a") is None
    assert not list(place.iterdir())


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[:20], lambda b: b[:-1], lambda b: b"\0" + b[1:]])
def test_what_is_damaged_is_not_read(tmp_path: Path, damage) -> None:
    kept = Store(LOOPS, tmp_path)
    kept.write("a", b"code" * 100)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert kept.read("a") is None


def test_a_full_disk_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fdopen", lambda handle, mode: os.close(handle) or full())
    kept = Store(LOOPS, tmp_path)
    kept.write("a", b"code")
    assert not list(tmp_path.iterdir())


def test_prune_deletes_what_was_not_used_for_longest(tmp_path: Path) -> None:
    kept, now = Store(LOOPS, tmp_path), time.time()
    for k in range(8):
        kept.write(str(k), b"x" * 100)
        os.utime(tmp_path / f"{k}.loop", (now - 1000 + k, now - 1000 + k))
    assert kept.read("0") is not None  # used just now
    (tmp_path / "killed.tmp").write_bytes(b"")
    os.utime(tmp_path / "killed.tmp", (now - 2 * store.ABANDONED,) * 2)
    (tmp_path / "somebody_elses.txt").write_text("stays")
    prune(tmp_path, 8 * 132 - 1)
    assert sorted(f.name for f in tmp_path.iterdir()) == [
        *("0.loop", "4.loop", "5.loop", "6.loop", "7.loop", "somebody_elses.txt"),
    ]


def test_sources_follow_imports() -> None:
    """A loop is compiled again if a file that it is made of changes, however far away, and only then."""
    names = ("engine.advance", "engine.newton", "nonsmooth.laws")
    assert len({store.sources(f"stickslip.{name}", compiler) for name in names for compiler in ("1.0", "1.1")}) == 6
    found = []
    original = Path.read_bytes

    def read(self: Path) -> bytes:
        found.append(self.name)
        return original(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", read)
        store.sources.__wrapped__("stickslip.engine.advance", "1.0")
    assert {"advance.py", "newton.py", "residual.py", "tables.py", "cones.py", "linear.py", "jit.py"} <= set(found)
    assert not {"run.py", "rescue.py", "system.py", "door.py"} & set(found)
    found.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", read)
        store.sources.__wrapped__("stickslip.native.kernel", "1.0")  # what kernels are written by
    assert {"kernel.py", "emit.py", "operations.py", "lanes.py", "interpolation.py"} <= set(found)


def test_processes_that_start_at_once_share_a_cache(tmp_path: Path) -> None:
    """Three first runs at the same time, in a read-only folder of sources: one compiles, the others load what it wrote."""
    (tmp_path / "small.py").write_text(
        "import numpy as np\n"
        "from stickslip.jit import jit\n"
        "@jit\n"
        "def total(x):\n"
        "    s = 0.0\n"
        "    for v in x:\n"
        "        s += v\n"
        "    return s\n"
    )
    program = (
        "import numpy as np, small, stickslip.kept as k;"
        "print(small.total(np.arange(4.0)), k.STORE.loaded, len(small.total.alone().overloads))"
    )
    environment = {
        **os.environ,
        "STICKSLIP_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    command = [sys.executable, "-B", "-c", program]
    first = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = sorted(process.communicate()[0].split() for process in first)
    assert found == [["6.0", "0", "1"], ["6.0", "1", "1"], ["6.0", "1", "1"]]
    assert [f.suffix for f in (tmp_path / "cache").iterdir()] == [".loop"]


def test_a_filled_cache_that_cannot_be_written_is_read(blocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an image whose cache was filled when it was made."""
    filled, writable = blocked / "image", store._is_writable
    Store(KERNELS, filled).write("key", b"code")
    monkeypatch.setenv("STICKSLIP_CACHE_DIR", str(filled))
    monkeypatch.setattr(store, "_is_writable", lambda folder: folder != filled and writable(folder))
    with pytest.warns(CacheWarning, match="image cannot be written: compiled code is kept in"):
        assert Store(KERNELS).read("key") == b"code"
