"""Frames of a stream become a result file: first all that is not rows, then the rows, with the checksum on the way.

HDF5 writes the file with room for every array, which it does not touch. The rows are then copied to their places in the order
of the file. So every number is read once and written once, by plain reads and writes, and the checksum needs no further pass.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip.detected import DetectedContacts
from stickslip.engine.state import State
from stickslip.errors import ResultFileError
from stickslip.solution.files import append_contacts, write_about, write_state
from stickslip.solution.records import Names, Stats
from stickslip.solution.whole import PatientFile, replacing
from stickslip.stream import FrameArray, PartFile

if TYPE_CHECKING:
    import h5py

BLOCK = 2**20  # bytes that are copied at once: they stay in the cache


class RowsPlace(NamedTuple):
    """Where the rows of an array begin in the result, how many bytes they are, and where they come from."""

    begin: int
    size: int
    pieces: list[FrameArray]


def write_streamed(
    path: Path,
    part: PartFile,
    stats: Stats,
    names: Names,
    provenance: dict[str, Any],
    state: State,
    found: Iterable[DetectedContacts] | None = None,
) -> None:
    """Write the result that a stream holds; the file is that of `Solution.save`, but never as a whole in memory."""
    import h5py

    arrays: dict[str, list[FrameArray]] = {}
    for each in part.index():
        arrays.setdefault(each.name, []).append(each)
    try:
        with replacing(path) as unfinished:
            with h5py.File(unfinished, "w") as file:
                places = dict(_make_room(file, path, part, arrays))
                write_about(file, stats, names, provenance)
                write_state(file, state)
                if found is not None:
                    append_contacts(file, found)
            with part.path.open("rb", buffering=0) as source:
                unfinished.digest = _copy(source, unfinished, sorted(places.values()))
    except OSError as error:
        raise ResultFileError(
            f"cannot write {path}: {error}. Nothing is lost: free some space and call ss.resume."
        ) from error


def _make_room(
    file: h5py.File, path: Path, part: PartFile, arrays: dict[str, list[FrameArray]]
) -> Iterator[tuple[str, RowsPlace]]:
    """Arrays without values, and where these are to go."""
    groups = {
        "array": file,
        "extra": file.create_group("extra", track_order=True),
        "stats": file.create_group("stats"),
    }
    stats = ("iterations", "residuals")
    for name in (*part.first, *stats):
        group, _, label = ("stats", "", name) if name in stats else name.partition(".")
        pieces, rows = arrays[name], part.rows + (name not in stats)
        there = sum(each.shape[0] for each in pieces)
        if there != rows:
            raise ResultFileError(
                f"{path}: {there} of {rows} rows of {name!r} are there; another program has changed the file"
            )
        begin = _room(groups[group], label, (rows, *pieces[0].shape[1:]), pieces[0].kind)
        if begin is not None:
            yield name, RowsPlace(begin, sum(each.size for each in pieces), pieces)


def _room(group: h5py.Group, name: str, shape: tuple[int, ...], kind: str) -> int | None:
    """An array whose numbers are written later: where they begin in the file; None if there are none."""
    from h5py import h5d, h5p, h5s, h5t

    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    made = h5d.create(group.id, name.encode(), h5t.py_create(np.dtype(kind)), h5s.create_simple(shape), properties)
    place: int | None = made.get_offset()
    return place if np.prod(shape) else None


def _copy(source: Any, target: PatientFile, places: list[RowsPlace]) -> bytes:
    """All rows to their places; the checksum of the whole file, which is read in order."""
    digest, block, at = hashlib.sha256(), memoryview(bytearray(BLOCK)), 0
    end = target.seek(0, os.SEEK_END)

    def pass_over(to: int) -> None:
        nonlocal at
        target.seek(at)
        while at < to:
            n = target.readinto(block[: min(BLOCK, to - at)])
            if not n:
                raise OSError("the file is shorter than it should be")
            digest.update(block[:n])
            at += n

    for place in places:
        pass_over(place.begin)
        target.seek(at)
        for piece in place.pieces:
            source.seek(piece.place)
            left = piece.size
            while left:
                n = source.readinto(block[: min(BLOCK, left)])
                if not n:
                    raise OSError("the stream is shorter than it should be")
                digest.update(block[:n])
                target.write(block[:n])
                left -= n
        at = place.begin + place.size
    pass_over(max(end, at))
    return digest.hexdigest().encode()
