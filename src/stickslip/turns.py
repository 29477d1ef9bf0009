"""Processes that need the same thing at the same time: one makes it, the others wait until it is there.

The one that makes it holds a lock on a file, which the operating system takes away from a process that ends, however it ends.
Where there is nothing to lock (a folder that cannot be written, a file system without locks), each makes its own.
"""

from __future__ import annotations

import contextlib
import errno
import sys
import time
from pathlib import Path
from typing import BinaryIO, NamedTuple

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PATIENCE = 300.0  # seconds: a process that takes longer was stopped, or hangs
_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)  # by another process


class Turn(NamedTuple):
    """The right to make something, which others wait for."""

    lock: BinaryIO

    def end(self) -> None:
        """Others go on. The file is deleted; who finds a new one with the same name finds what was made, too."""
        with contextlib.suppress(OSError):
            _unlock(self.lock)  # said explicitly: a forked process has the same file open
        self.lock.close()
        with contextlib.suppress(OSError):
            Path(self.lock.name).unlink()


def turn(file: Path) -> Turn | None:
    """The right to make what the file stands for, or None.

    None after having waited for another process: it has made the thing, could not, or took too long. Who has waited does not
    let others wait: it is not known why the thing is not there. None also where nothing can be locked.
    """
    try:
        lock = file.open("ab")
    except OSError:
        return None
    mine = False
    try:
        mine = _locked(lock)
        if not mine:
            deadline = time.monotonic() + PATIENCE
            while not _locked(lock) and time.monotonic() < deadline:
                time.sleep(0.02)
    except OSError:
        pass
    finally:
        if not mine:
            lock.close()
    return Turn(lock) if mine else None


def _locked(lock: BinaryIO) -> bool:
    """Whether this process could lock the file now."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    return True


def _unlock(lock: BinaryIO) -> None:
    if sys.platform == "win32":
        msvcrt.locking(lock.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(lock, fcntl.LOCK_UN)
