"""Results on their way to the disk: a file that is only ever appended to, so that a killed run loses next to nothing.

While a run writes to `run.h5`, everything is in `run.h5.part`: a line that says what it is, then frames. A frame is its
length, the CRC-32 of its content, and the content: named arrays and a JSON text. The first frame describes the run and holds
row 0. Each of the others holds rows of the solution's arrays ("array.q", "extra.height"), what their steps cost, and the state
after them. Reading stops at the first frame that is not whole. At the end of the run the rows become an HDF5 file as
`Solution.save` writes it, and the frames are deleted.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from stickslip.engine.state import State
from stickslip.errors import ResultFileError

FAMILY = b"stickslip stream "
MAGIC = FAMILY + b"2\n"
TOLD = ("system", "fingerprint", "call", "provenance", "names", "stages")  # by the first frame
_FRAME = struct.Struct("<QI")
_TYPES = {"<f8": 8, "<f4": 4, "<i8": 8, "<i4": 4}  # with their sizes


@dataclass(frozen=True, eq=False)
class FileFrame:
    """Named arrays and a text in JSON's types."""

    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


def part_of(path: str | Path) -> Path:
    """Where the frames of a result are while it is written."""
    path = Path(path)
    return path if path.suffix == ".part" else path.with_name(path.name + ".part")


def encode(frame: FileFrame) -> list[Any]:
    """A frame as a list of bytes and buffers, with its length and checksum; arrays are not copied."""
    arrays = {name: np.ascontiguousarray(array) for name, array in frame.arrays.items()}
    shapes = [[name, array.dtype.newbyteorder("<").str, list(array.shape)] for name, array in arrays.items()]
    text = json.dumps([frame.about, shapes]).encode()
    buffers: list[Any] = [
        struct.pack("<Q", len(text)) + text,
        *[a.data.cast("B") for a in arrays.values() if a.size],
    ]
    length, checksum = 0, 0
    for buffer in buffers:
        length, checksum = length + len(buffer), zlib.crc32(buffer, checksum)
    return [_FRAME.pack(length, checksum), *buffers]


def _decode(content: bytes) -> FileFrame:
    (length,) = struct.unpack_from("<Q", content)
    about, shapes = json.loads(content[8 : 8 + length])
    at, arrays = 8 + length, {}
    for name, kind, shape in shapes:
        if kind not in _TYPES:
            raise ValueError(f"array {name!r} of type {kind}")
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(content, kind, count, at).reshape(shape)
        at += _TYPES[kind] * count
    return FileFrame(about, arrays)


def frames(file: BinaryIO, check: bool = True) -> Iterator[tuple[FileFrame, int]]:
    """All whole frames of an open file, each with the place where it ends; `check`: up to the first that is damaged."""
    size = os.fstat(file.fileno()).st_size
    file.seek(len(MAGIC))
    while True:
        head = file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            return
        length, checksum = _FRAME.unpack(head)
        if length > size - file.tell():  # also of a length that is not one
            return
        content = file.read(length)
        if check and zlib.crc32(content) != checksum:
            return
        yield _decode(content), file.tell()


@dataclass(frozen=True)
class FrameArray:
    """Where an array of a frame lies in the file."""

    name: str
    kind: str
    shape: tuple[int, ...]
    place: int
    size: int  # bytes


def _index(file: BinaryIO) -> Iterator[tuple[list[FrameArray], int]]:
    """The arrays of all whole frames of an open file, and where each frame ends; nothing but the texts is read."""
    size, at = os.fstat(file.fileno()).st_size, len(MAGIC)
    while at + _FRAME.size <= size:
        file.seek(at)
        length, _ = _FRAME.unpack(file.read(_FRAME.size))
        at += _FRAME.size
        if length > size - at:
            return
        (text,) = struct.unpack("<Q", file.read(8))
        shapes, place, arrays = json.loads(file.read(text))[1], at + 8 + text, []
        for name, kind, shape in shapes:
            count = _TYPES[kind] * math.prod(shape)
            arrays.append(FrameArray(name, kind, tuple(shape), place, count))
            place += count
        at += length
        yield arrays, at


def alone(file: Any) -> None:
    """Refuse a file that another process writes to: two that resume the same run would mix their results.

    The lock goes with the process, however it ends. Where there are no locks, nothing is refused.
    """
    try:
        import fcntl
    except ImportError:  # not on this platform
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise ResultFileError(f"another process is writing to {file.name}; wait for its end, or end it") from None
    except OSError:  # not on this file system
        return


class Writer:
    """Appends frames to a file; what is written is whole or ignored by readers."""

    def __init__(self, path: Path, first: FileFrame | None, end: int | None = None):
        """A new file that begins with the frame `first`, or one that continues at the place `end`."""
        self.path = path
        try:
            if first is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab" if first is not None else "r+b", buffering=0)
            alone(self._file)
            kept = 0 if first is not None else end
            if self._file.seek(0, os.SEEK_END) != kept:
                self._file.truncate(kept)
            self._file.seek(0, os.SEEK_END)
            if first is not None:
                self._append([MAGIC, *encode(first)])
        except OSError as error:
            if hasattr(self, "_file"):
                self._file.close()
            raise ResultFileError(
                f"cannot write {path}: {error.strerror}. Choose another place with out=, or free some space."
            ) from error

    def write(self, frame: FileFrame) -> None:
        """Append a frame; if there is no room for it, the file stays as it was."""
        begin = self._file.tell()
        try:
            self._append(encode(frame))
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(begin)
            self.close()
            raise ResultFileError(
                f"cannot write {self.path}: {error.strerror}. All steps up to there are kept in it; free some space and "
                "continue with ss.resume"
            ) from error

    def _append(self, buffers: list[Any]) -> None:
        for buffer in buffers:
            left = memoryview(buffer)
            while left:
                left = left[self._file.write(left) :]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True)
class PartFile:
    """An unfinished result: its first frame, and where its last whole frame ends."""

    path: Path
    about: dict[str, Any]
    end: int  # 0: whatever there is
    rows: int
    first: dict[str, np.ndarray]
    last: FileFrame | None
    t: float  # of the last row
    seconds: float  # that its steps took

    def index(self) -> Iterator[FrameArray]:
        """The arrays of all frames, in their order."""
        with self.path.open("rb") as file:
            for arrays, end in _index(file):
                if end <= self.end or not self.end:
                    yield from arrays

    def chunks(self) -> Iterator[FileFrame]:
        """Frames with rows; they were checked when the file was opened, or are of this process."""
        with self.path.open("rb") as file:
            for k, (frame, end) in enumerate(frames(file, check=False)):
                if k and (end <= self.end or not self.end):
                    yield frame


def open_part(path: str | Path) -> PartFile:
    """What can be read of an unfinished result."""
    path = part_of(path)
    try:
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
            if begin != MAGIC:
                if begin.startswith(FAMILY):
                    raise ResultFileError(f"{path} was written by another version of stickslip, which can continue it")
                raise ResultFileError(f"{path} is not an unfinished stickslip result")
            about, end, rows, first, last, t, seconds = None, 0, 0, {}, None, 0.0, 0.0
            for frame, end in frames(file):  # noqa: B007
                times = frame.arrays["array.t"]
                t = float(times[-1]) if len(times) else t
                if about is None:
                    about, first = frame.about, frame.arrays
                else:
                    rows, last, seconds = rows + len(times), frame, seconds + float(frame.about["seconds"])
    except OSError as error:
        raise ResultFileError(f"cannot open {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ResultFileError(f"{path} is damaged ({error})") from error
    if about is None:
        raise ResultFileError(f"{path} is damaged: it does not say which run it belongs to")
    if missing := [key for key in TOLD if key not in about]:
        raise ResultFileError(f"{path} is damaged: it does not say {', '.join(missing)}")
    return PartFile(path, about, end, rows, first, last, t, seconds)


def pack_state(state: State) -> tuple[list[Any], dict[str, np.ndarray]]:
    """A state as a text and arrays."""
    arrays = {"state.q": state.q, "state.u": state.u}
    arrays |= {f"state.memory.{name}": array for name, array in state.memory.items()}
    return [state.method, state.t_start, state.dt, state.step, state.t], arrays


def unpack_state(clock: list[Any], arrays: dict[str, np.ndarray]) -> State:
    """The state that was packed."""
    prefix = "state.memory."
    memory = {name.removeprefix(prefix): array.copy() for name, array in arrays.items() if name.startswith(prefix)}
    method, t_start, dt, step, t = clock
    return State(method, t_start, dt, step, t, arrays["state.q"].copy(), arrays["state.u"].copy(), memory)
