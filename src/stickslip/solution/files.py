"""Results in files: HDF5 without pickled objects, so that any HDF5 reader opens them.

| in the file | what it is |
| --- | --- |
| attributes `format`, `format_version`, `stickslip_version` | which format it is |
| `t`, `q`, `u`, `gap`, `P_N`, ... | one dataset per array of a `Solution`, under its name; rows are times |
| `extra/NAME` | measures of the system, parameters that change, further results of the scheme |
| `stats/iterations`, `stats/residuals` | what the steps cost, one row per step (or per `save_every` steps) |
| `names` | JSON: labels of all columns, and their units |
| `provenance` | JSON: system, `fingerprint` (a hash of its equations), method, options, parameters, versions, date |
| `state` | where the run ended: all that the next step reads |
| `contacts` | contacts that were detected, if there are any |

The SHA-256 of all that follows the end of HDF5's part. What is loaded equals what was saved, bit for bit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip._version import __version__
from stickslip.detected import COLUMNS as CONTACT_COLUMNS
from stickslip.detected import DetectedContacts
from stickslip.engine.state import State
from stickslip.errors import ResultFileError
from stickslip.solution.records import Names, NotKept, Stats
from stickslip.solution.trajectory import ARRAYS, Solution
from stickslip.solution.whole import replacing, require_plain, verify
from stickslip.stream import open_part, part_of, unpack_state

if TYPE_CHECKING:
    import h5py

    from stickslip.model.system import System

FORMAT = "stickslip solution"
FORMAT_VERSION = 3  # from 2 on with a checksum, from 3 on arrays may be left out


def save(solution: Solution, path: str | Path, *, compress: bool = False) -> Path:
    """Write a result; see `Solution.save`."""
    import h5py

    if not isinstance(path, str | os.PathLike):
        raise ResultFileError(f"{path!r} is not the path of a file, such as 'ball.h5'")
    path = Path(path)
    if path.is_dir():
        raise ResultFileError(f"{path} is a folder. Name a file in it, such as {path / 'run.h5'}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as unfinished, h5py.File(unfinished, "w") as file:
            _write(solution, file, compress)
    except OSError as error:
        raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error
    return path


def is_result(path: Path) -> bool:
    """Whether a file says that it is a stickslip result, of whatever version."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return bool(file.attrs.get("format") == FORMAT)
    except OSError:
        return False


def load(path: str | Path, *, system: System | None = None, mapped: bool = False, trusted: bool = False) -> Solution:
    """Read a solution that `Solution.save` or `ss.solve(..., out=)` wrote; also "run.h5.part", a run that is not finished.

    With the `system` that it is a solution of, `evaluate`, `path` and the quantities of springs and joints work again.
    mapped: leave the arrays on the disk until they are used, for results that are larger than the memory. trusted: do
    not compare the checksum, of a file that was written a moment ago.

    A checksum of the whole file is compared first: a damaged result is never read in silence.

    Raises `ResultFileError` for anything else: a missing file, one that is not a result, one by a newer version.

    >>> solution = ss.load("ball.h5")    # doctest: +SKIP
    """
    import h5py

    if not isinstance(path, (str, os.PathLike)):
        raise ResultFileError(f"{path!r} is not the path of a file, such as 'out/slider_crank.h5'")
    path = Path(path)
    if not path.exists():
        if part_of(path).exists():
            raise ResultFileError(
                f"{path} is not finished: ss.load({str(part_of(path))!r}) reads what there is, ss.resume(file, system) "
                "continues it"
            )
        raise ResultFileError(
            f"{path} does not exist. Check the path; `Solution.save` and `stickslip run` write results."
        )
    if path.is_dir():
        raise ResultFileError(f"{path} is a directory. Name a result file in it, such as {path / 'slider_crank.h5'}.")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise ResultFileError(f"cannot open {path}: {error.strerror}. Check the permissions of the file.") from error
    if path.suffix == ".part":
        return _with_system(_unfinished(path), system)
    signed = trusted or verify(path)
    if not h5py.is_hdf5(path):
        raise ResultFileError(
            f"{path} is not an HDF5 file. Name a result that `Solution.save` or `stickslip run` wrote."
        )
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise ResultFileError(
                    f"{path} is an HDF5 file, but no stickslip result. "
                    "Name a result that `Solution.save` or `stickslip run` wrote."
                )
            version = int(file.attrs["format_version"])
            if version > FORMAT_VERSION:
                raise ResultFileError(
                    f"{path} was written by stickslip {file.attrs.get('stickslip_version', '?')} in format {version}; "
                    f"stickslip {__version__} reads up to format {FORMAT_VERSION}. Upgrade: pip install -U stickslip"
                )
            if version > 1 and not signed:
                raise ValueError("it has no checksum, or was changed by another program")
            require_plain(file, path.stat().st_size)
            solution = _read(file, path if mapped else None)
    except ResultFileError:
        raise
    except Exception as error:  # HDF5 has many for a file that somebody has changed
        raise ResultFileError(f"{path} is a damaged stickslip result ({error}). Run the simulation again.") from error
    return _with_system(solution, system)


def _with_system(solution: Solution, system: System | None) -> Solution:
    if system is None:
        return solution
    from stickslip.values import require_own

    require_own(solution, system)
    return replace(solution, system=system)


def _unfinished(path: Path) -> Solution:
    """What a run has written so far."""
    part = open_part(path)
    try:
        about = part.about["provenance"]
        stages = tuple(part.about["stages"])
        columns: dict[str, list[np.ndarray]] = {name: [array] for name, array in part.first.items()}
        iterations: list[np.ndarray] = []
        residuals: list[np.ndarray] = []
        seconds = 0.0
        for frame in part.chunks():
            for name, parts in columns.items():
                parts.append(frame.arrays[name])
            iterations.append(frame.arrays["iterations"])
            residuals.append(frame.arrays["residuals"])
            seconds += float(frame.about["seconds"])
        arrays = {name: np.concatenate(parts) for name, parts in columns.items()}
        state = None if part.last is None else unpack_state(part.last.about["state"], part.last.arrays)
        taken = state.step if state is not None and about.get("save_every", 1) > 1 else None
        own: dict[str, Any] = {n: arrays.get(f"array.{n}", NotKept(n)) for n in ARRAYS}
        about |= {"complete": False, "interrupted": f"not finished; ss.resume continues with {path}"}
        return Solution(
            **own,
            extra={n.removeprefix("extra."): a for n, a in arrays.items() if n.startswith("extra.")},
            stats=Stats(
                stages,
                np.concatenate(iterations or [np.zeros((0, len(stages)), np.int32)]),
                np.concatenate(residuals or [np.zeros((0, len(stages)))]),
                seconds,
                taken,
                {} if part.last is None else part.last.about.get("solved_by", {}),
            ),
            names=_names(part.about["names"]),
            provenance=about,
            state=state,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ResultFileError(f"{path} is a damaged stickslip result ({error})") from error


def _write(solution: Solution, file: h5py.File, compress: bool) -> None:
    def write(group: h5py.Group, name: str, array: np.ndarray) -> None:
        filters = {"compression": "gzip", "shuffle": True} if compress and np.size(array) else {}
        group.create_dataset(name, data=array, **filters)

    for name in ARRAYS:
        if solution.holds(name):
            write(file, name, getattr(solution, name))
    extra = file.create_group("extra", track_order=True)
    for name, array in solution.extra.items():
        write(extra, name, array)
    stats = file.create_group("stats")
    write(stats, "iterations", solution.stats.iterations)
    write(stats, "residuals", solution.stats.residuals)
    write_about(file, solution.stats, solution.names, solution.provenance)
    if solution.state is not None:
        write_state(file, solution.state)
    if solution.contacts is not None:
        contacts = file.create_group("contacts")
        contacts.attrs["labels"] = json.dumps(solution.contacts.labels)
        for name in CONTACT_COLUMNS:
            write(contacts, name, getattr(solution.contacts, name))


def write_about(file: h5py.File, stats: Stats, names: Names, provenance: dict[str, Any]) -> None:
    """All texts of a result: what it is, labels, where it comes from, what its steps cost together."""
    file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION, "stickslip_version": __version__})
    group = file["stats"]
    group.attrs["stages"], group.attrs["wall_time"] = json.dumps(stats.stages), stats.wall_time
    group.attrs["solved_by"] = json.dumps(stats.solved_by)
    if stats.taken is not None:
        group.attrs["taken"] = stats.taken
    file["names"] = json.dumps({f.name: getattr(names, f.name) for f in fields(Names)})
    file["provenance"] = json.dumps(provenance, default=_plain)


def append_contacts(file: h5py.File, pieces: Iterable[DetectedContacts]) -> None:
    """Write a table of detected contacts that comes in pieces."""
    group = file.create_group("contacts")
    for piece in pieces:
        group.attrs["labels"] = json.dumps(piece.labels)
        for name in CONTACT_COLUMNS:
            array = getattr(piece, name)
            if name not in group:
                group.create_dataset(name, data=array, maxshape=(None, *array.shape[1:]), chunks=True)
            else:
                first = len(group[name])
                group[name].resize(first + len(array), axis=0)
                group[name][first:] = array


SLASH = "|"  # in names of fields: HDF5 reads a slash as a group


def write_state(file: h5py.File, state: State) -> None:
    """Replaces one that is there."""
    if "state" in file:
        del file["state"]
    group = file.create_group("state", track_order=True)
    group.attrs["clock"] = json.dumps([state.method, state.t_start, state.dt, state.step, state.t])
    for name, array in {"q": state.q, "u": state.u}.items():
        group[name] = array
    memory = group.create_group("memory", track_order=True)
    for name, array in state.memory.items():
        memory[name.replace("/", SLASH)] = array


def _read_state(file: h5py.File) -> State | None:
    if "state" not in file:
        return None
    group = file["state"]
    memory = {name.replace(SLASH, "/"): dataset[()] for name, dataset in group["memory"].items()}
    method, t_start, dt, step, t = json.loads(group.attrs["clock"])
    return State(method, t_start, dt, step, t, group["q"][()], group["u"][()], memory)


def _read(file: h5py.File, path: Path | None) -> Solution:
    def array(dataset: h5py.Dataset) -> np.ndarray:
        place = None if path is None else dataset.id.get_offset()
        if path is None or place is None or not dataset.size:
            return dataset[()]
        return np.memmap(path, dataset.dtype, "r", place, dataset.shape)

    stats, provenance = file["stats"], json.loads(file["provenance"].asstr()[()])
    there = provenance.get("kept", {}).get("arrays", ARRAYS)
    arrays: dict[str, Any] = {name: array(file[name]) if name in there else NotKept(name) for name in ARRAYS}
    return Solution(
        **arrays,
        extra={name: array(dataset) for name, dataset in file["extra"].items()},
        stats=Stats(
            stages=tuple(json.loads(stats.attrs["stages"])),
            iterations=array(stats["iterations"]),
            residuals=array(stats["residuals"]),
            wall_time=float(stats.attrs["wall_time"]),
            taken=int(stats.attrs["taken"]) if "taken" in stats.attrs else None,
            solved_by=json.loads(stats.attrs.get("solved_by", "{}")),
        ),
        names=_names(json.loads(file["names"].asstr()[()])),
        provenance=provenance,
        state=_read_state(file),
        contacts=_read_contacts(file),
    )


def _names(labels: dict[str, list[Any]]) -> Names:
    return Names(**{name: tuple(each) for name, each in labels.items()})


def _read_contacts(file: h5py.File) -> DetectedContacts | None:
    if "contacts" not in file:
        return None
    group = file["contacts"]
    labels = tuple(json.loads(group.attrs["labels"]))
    return DetectedContacts(labels, **{name: group[name][()] for name in CONTACT_COLUMNS})


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON's; a tuple needs nothing (and comes back as a list)."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"provenance holds {value!r}, which JSON cannot express")
