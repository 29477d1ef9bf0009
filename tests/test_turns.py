"""One process makes what many need at once: whatever happens to it, the others go on."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stickslip import kept, turns
from stickslip.jit import COMPILED, jit
from stickslip.store import LOOPS, Store
from stickslip.turns import turn

HOLD = "import sys, time; from pathlib import Path; from stickslip.turns import turn; t = turn(Path(sys.argv[1])); "
HOLD += "print(t is not None, flush=True); time.sleep(60)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.lock"


def waiting(file: Path) -> tuple[threading.Thread, list]:
    found: list = []
    thread = threading.Thread(target=lambda: found.append(turn(file)))
    thread.start()
    return thread, found


def test_who_comes_second_waits_and_does_not_make_it(file: Path) -> None:
    first = turn(file)
    assert first is not None
    thread, found = waiting(file)
    thread.join(0.2)
    assert not found
    first.end()
    thread.join(10)
    assert found == [None]
    assert not file.exists()
    again = turn(file)
    assert again is not None  # as if nothing had been
    again.end()


def test_things_do_not_wait_for_other_things(tmp_path: Path) -> None:
    both = [turn(tmp_path / name) for name in ("a.lock", "b.lock")]
    assert None not in both
    for each in both:
        each.end()


def test_nobody_waits_for_a_process_that_was_killed(file: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "True\n"
        thread, found = waiting(file)
        thread.join(0.2)
        assert not found
        holder.kill()
        holder.wait()
    thread.join(10)
    assert found == [None]
    assert file.exists()  # nobody was there to delete it, and it is in nobody's way
    again = turn(file)
    assert again is not None
    again.end()
    assert not file.exists()


def test_patience_ends(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    first = turn(file)
    assert first is not None
    begin = time.monotonic()
    assert turn(file) is None
    assert 0.1 <= time.monotonic() - begin < 5
    assert file.exists()  # the first still has it
    first.end()


def test_without_locks_nobody_waits(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(lock: object) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    assert turn(file / "below" / "what is not there") is None
    monkeypatch.setattr(turns, "_locked", refuse)
    assert turn(file) is None


@pytest.mark.skipif(not COMPILED, reason="plain Python compiles nothing")
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_compilation_that_fails_lets_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error) -> None:
    monkeypatch.setattr(kept, "STORE", Store(LOOPS, tmp_path))

    @jit
    def twice(x):
        return 2 * x

    compiler = type(twice._compiler)
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "_compile_core", lambda *_: (_ for _ in ()).throw(error))
        with pytest.raises(type(error)):
            twice(1.0)
    assert not list(tmp_path.iterdir())
    assert twice(1.0) == 2.0
    assert [path.suffix for path in tmp_path.iterdir()] == [LOOPS]
    twice(1.0j)
    assert [path.suffix for path in tmp_path.iterdir()] == [LOOPS] * 2


@pytest.mark.skipif(not COMPILED, reason="plain Python compiles nothing")
def test_what_was_written_while_one_waited_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Store):
        """Another process has the turn, and writes the code before it ends."""

        def turn(self, key: str):
            self.write(key, content)

    first, second = jit(_half), jit(_half)
    monkeypatch.setattr(kept, "STORE", Store(LOOPS, tmp_path / "first"))
    assert first(3.0) == 1.5
    content = kept.STORE.read(next((tmp_path / "first").iterdir()).stem)
    monkeypatch.setattr(kept, "STORE", Slow(LOOPS, tmp_path / "second"))
    assert second(3.0) == 1.5
    assert kept.STORE.loaded == 1


def _half(x):
    return 0.5 * x
