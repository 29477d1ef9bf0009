"""Whether a result file may be read, and how it becomes whole: checksums, what no result has, a name until it is written."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stickslip.errors import ResultFileError

if TYPE_CHECKING:
    import h5py


class PatientFile:
    """A file for HDF5 to write to. A write that fails (a full disk) leaves HDF5 in a state that ends the process, so the
    failure is kept to itself, and raised when HDF5 is done.
    """

    def __init__(self, path: Path):
        self._file = path.open("w+b", buffering=0)
        self.failure: OSError | None = None
        self.digest: bytes | None = None  # the checksum of all of it, where that is known

    def write(self, data: Any) -> int:
        """All of it, unless there was a failure."""
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while left and self.failure is None:
                left = left[self._file.write(left) :]
        except OSError as error:
            self.failure = error
        return size

    def truncate(self, size: int | None = None) -> int:
        """Cut it, or make it longer."""
        try:
            return self._file.truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return self._file.tell() if size is None else size

    def read(self, size: int = -1) -> bytes | None:
        """What is there."""
        return self._file.read(size)

    def readinto(self, buffer: Any) -> int | None:
        """What is there."""
        return self._file.readinto(buffer)

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        return self._file.seek(place, whence)

    def tell(self) -> int:
        """The place."""
        return self._file.tell()

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Close it."""
        self._file.close()


@contextmanager
def replacing(path: Path) -> Iterator[PatientFile]:
    """A file beside `path` to write to, which takes its place at the end, signed; if anything fails, `path` stays as it was.

    What a process left behind that was killed while it wrote is deleted by the next one.
    """
    before, after = f".{path.name}.{platform.node()}-", ".unfinished"
    for old in path.parent.glob(".*.unfinished"):
        pid = old.name.removeprefix(before).removesuffix(after)
        if old.name.startswith(before) and pid.isdigit() and not _lives(int(pid)):
            with suppress(OSError):
                old.unlink()
    unfinished = path.with_name(f"{before}{os.getpid()}{after}")
    file = PatientFile(unfinished)
    try:
        try:
            yield file
        finally:
            file.close()
            if file.failure is not None:  # whatever HDF5 made of it
                raise file.failure
        sign(unfinished, file.digest)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _lives(pid: int) -> bool:
    """Whether there is such a process; in doubt there is."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


SIGNATURE = b"\nstickslip sha256 "


def sign(path: Path, digest: bytes | None = None) -> None:
    """Append the checksum of a file to it, which may be known; HDF5 does not mind what stands behind its end."""
    digest = digest or _digest(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(SIGNATURE + digest)


def verify(path: Path) -> bool:
    """Compare a file with the checksum that stands at its end; False if it has none."""
    length, size = len(SIGNATURE) + 64, path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - length))
        end = file.read()
    if len(end) < length or not end.startswith(SIGNATURE):
        return False
    if _digest(path, size - length) != end[len(SIGNATURE) :]:
        raise ResultFileError(
            f"{path} is a damaged stickslip result: its checksum does not fit its content. Run the simulation again."
        )
    return True


def _digest(path: Path, size: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0:
            block = file.read(min(size, 2**20))
            if not block:
                break
            digest.update(block)
            size -= len(block)
    return digest.hexdigest().encode()


MOST_DENSE = 1100  # bytes that one byte of gzip may stand for; its limit is 1032
DEPTH = 3  # groups within groups


def require_plain(group: h5py.Group, size: int, depth: int = 0) -> None:
    """Refuse what no result has: links to other places and files, and arrays larger than the file can hold."""
    import h5py

    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{name!r} is a link to another place")
        item = group[name]
        if isinstance(item, h5py.Group):
            if depth == DEPTH:
                raise ValueError("its groups are nested too deeply")
            require_plain(item, size, depth + 1)
            continue
        if not isinstance(item, h5py.Dataset):
            raise ValueError(f"{name!r} is neither an array nor a group")
        if item.is_virtual or item.external:
            raise ValueError(f"the data of {name!r} lies in other files")
        if item.nbytes > min(size, item.id.get_storage_size()) * MOST_DENSE:
            raise ValueError(f"{name!r} declares {item.nbytes:.3g} bytes, which the file does not hold")
