"""Problems in files: FCLIB's HDF5 format (local and global), and the plain text that Siconos writes.

FCLIB is the Frictional Contact Library of Acary and others. Its two forms, with multipliers lambda of bilateral rows:

    local    u = W r + V lambda + q,  V^T r + R lambda + s = 0
    global   M v = H r + G lambda + f,  u = H^T v + w,  G^T v + b = 0

Rows of a contact are N, T or N, T_1, T_2. A problem with friction of a constant radius is written with an additional vector
`radius`, which other readers do not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sp

from stickslip.errors import OptionError, ResultFileError
from stickslip.nonsmooth import given
from stickslip.nonsmooth.cones import BALL, CONE, NORMAL, ZERO
from stickslip.nonsmooth.problem import Problem, contacts, from_bodies

COORDINATES, BY_COLUMNS, BY_ROWS = 0, -1, -2  # FCLIB's `nz`: the number of triplets, or one of these
TINY = np.finfo(float).tiny


def load_fclib(path: str | Path) -> Problem:
    """Read a problem: an HDF5 file in FCLIB's format, local or global, or a `.dat` text of Siconos.

    >>> problem = load_fclib("Capsules-i125-1213.hdf5")        # doctest: +SKIP
    >>> problem.n_contacts                                     # doctest: +SKIP
    286
    """
    if not isinstance(path, str | PathLike):
        raise ResultFileError(f"{path!r} is not the path of a file, such as 'problem.hdf5'")
    path = Path(path)
    if not path.exists():
        raise ResultFileError(f"{path}: there is no such file")
    if path.is_dir():
        raise ResultFileError(f"{path} is a folder; name a file in it")
    try:
        return _read_text(path) if path.suffix == ".dat" else _read_hdf5(path)
    except OptionError as error:
        raise ResultFileError(f"{path}: {error}") from error


def _read_hdf5(path: Path) -> Problem:
    try:
        with h5py.File(path, "r") as file:
            if "fclib_local" in file:
                return _local(file["fclib_local"], path.name)
            if "fclib_global" in file:
                return _global(file["fclib_global"], path.name)
    except OSError as error:
        raise ResultFileError(f"{path} is not an HDF5 file: {error}") from error
    except KeyError as error:
        raise ResultFileError(f"{path} lacks a part of FCLIB's format: {error.args[0]}") from error
    raise ResultFileError(f"{path} has neither a group fclib_local nor fclib_global: not a problem in FCLIB's format")


def _local(group: Any, name: str) -> Problem:
    q, mu = (_numbers_of(group, f"vectors/{key}") for key in ("q", "mu"))
    W, bilateral = _matrix(group["W"], (q.size, q.size)), 0
    if "V" in group and "R" in group:
        s = _numbers_of(group, "vectors/s")
        V, R = _matrix(group["V"], (q.size, s.size)), _matrix(group["R"], (s.size, s.size))
        W, q, bilateral = sp.bmat([[W, V], [V.T, R]]), np.concatenate([q, s]), s.size
    problem = contacts(W, q, mu, dimension=_dimension(group), bilateral=bilateral, about=_about(group, name))
    return _with_ours(problem, group)


def _global(group: Any, name: str) -> Problem:
    f, w, mu = (_numbers_of(group, f"vectors/{key}") for key in ("f", "w", "mu"))
    M, H, bilateral = _matrix(group["M"], (f.size, f.size)), _matrix(group["H"], (f.size, w.size)), 0
    if "G" in group:
        b = _numbers_of(group, "vectors/b")
        G = _matrix(group["G"], (f.size, b.size))
        H, w, bilateral = sp.hstack([H, G]), np.concatenate([w, b]), b.size
    about, dimension = _about(group, name), _dimension(group)
    problem = from_bodies(M, H, f, mu, w=w, dimension=dimension, bilateral=bilateral, about=about)
    return _with_ours(problem, group)


def _with_ours(problem: Problem, group: Any) -> Problem:
    """What FCLIB does not know, and other programs do not read: bounds of friction, units of rows, what is rounding in W."""
    vectors, balls = group["vectors"], problem.laws.kind == BALL
    if "radius" in vectors:
        problem.laws.radius[balls] = _numbers_of(vectors, "radius", int(balls.sum()), at_least=0.0)
    units = _numbers_of(vectors, "units", problem.n_rows, at_least=TINY) if "units" in vectors else None
    noise = float(group.attrs.get("noise", 0.0))
    if not 0.0 <= noise < np.inf:
        raise ResultFileError(f"{_where(group)}: its noise = {noise:g} must be a finite number >= 0")
    return replace(problem, units=units, noise=noise)


def _dimension(group: Any) -> int:
    return _count(group, "spacedim")


def _about(group: Any, name: str) -> dict[str, str]:
    about = {"file": name}
    for key in ("title", "description", "math_info"):
        if "info" in group and key in group["info"]:
            text = group["info"][key][()]
            about[key] = (text.decode(errors="replace") if isinstance(text, bytes) else str(text)).strip()
    return about


def _where(entry: Any) -> str:
    """A group or a set of data, by its file and its name there."""
    return f"{Path(entry.file.filename).name}: {entry.name.lstrip('/')}"


def _array(group: Any, key: str, kinds: str, what: str) -> np.ndarray:
    """A row of data whose type is one of these kinds of NumPy's; a number alone is a row of one."""
    entry = group[key]
    if not isinstance(entry, h5py.Dataset) or entry.dtype.kind not in kinds or entry.shape is None:
        raise ResultFileError(f"{_where(entry)} is not a row of {what}")
    return np.ravel(entry[()])


def _numbers_of(group: Any, key: str, size: int | None = None, at_least: float = -np.inf) -> np.ndarray:
    """Finite numbers, so many as are needed and none of them smaller than allowed."""
    out = _array(group, key, "fiu", "numbers").astype(float)
    if size is not None and out.size != size:
        raise ResultFileError(f"{_where(group[key])} has {out.size} numbers, and the problem needs {size}")
    if not np.isfinite(out).all():
        raise ResultFileError(f"{_where(group[key])} is not finite")
    if out.size and out.min() < at_least:
        raise ResultFileError(f"{_where(group[key])} has the number {out.min():g}, which is too small for its meaning")
    return out


def _count(group: Any, key: str) -> int:
    """A whole number that stands alone."""
    out = _array(group, key, "iu", "whole numbers")
    if not out.size:
        raise ResultFileError(f"{_where(group[key])} is empty; it must be a whole number")
    return int(out[0])


def _matrix(group: Any, shape: tuple[int, int]) -> sp.csc_matrix:
    """A matrix of this shape, by columns, by rows or as triplets. SciPy trusts its indices: wrong ones are refused here."""
    where = _where(group)
    m, n, nz = (_count(group, key) for key in ("m", "n", "nz"))
    x, i, p = _numbers_of(group, "x"), *(_array(group, key, "iu", "whole numbers").astype(np.int64) for key in "ip")
    if (m, n) != shape:
        raise ResultFileError(
            f"{where} has {m} x {n} entries, and the vectors of its problem need {shape[0]} x {shape[1]}"
        )
    if nz not in (BY_COLUMNS, BY_ROWS):
        if not 0 <= nz <= min(x.size, i.size, p.size):
            raise ResultFileError(
                f"{where}: nz = {nz} must be {BY_COLUMNS} (by columns), {BY_ROWS} (by rows) or a number of triplets, of "
                f"which there are {min(x.size, i.size, p.size)}"
            )
        x, i, p = x[:nz], i[:nz], p[:nz]
        _require_inside(where, "i", i, m)
        _require_inside(where, "p", p, n)
        return sp.coo_matrix((x, (i, p)), shape).tocsc()
    lines, across = (n, m) if nz == BY_COLUMNS else (m, n)
    stored = _stored(where, p, lines, min(x.size, i.size))
    x, i = x[:stored], i[:stored]
    _require_inside(where, "i", i, across)
    return sp.csc_matrix((x, i, p), shape) if nz == BY_COLUMNS else sp.csr_matrix((x, i, p), shape).tocsc()


def _stored(where: str, p: np.ndarray, lines: int, most: int) -> int:
    """How many entries a matrix has whose columns (or rows) begin at p; x and i may have room for more."""
    if p.size != lines + 1:
        raise ResultFileError(f"{where}: p has {p.size} numbers, and {lines} lines of a matrix need {lines + 1}")
    if p[0] != 0 or (np.diff(p) < 0).any() or p[-1] > most:
        raise ResultFileError(
            f"{where}: p must begin with 0, never fall and end with a number of entries, of which x and i have {most}; it goes "
            f"from {p[0]} to {p[-1]}{', and falls' if (np.diff(p) < 0).any() else ''}"
        )
    return int(p[-1])


def _require_inside(where: str, key: str, indices: np.ndarray, size: int) -> None:
    """Indices from 0 to size - 1."""
    outside = indices[(indices < 0) | (indices >= size)]
    if outside.size:
        raise ResultFileError(f"{where}: {key} has the index {outside[0]}; indices go from 0 to {size - 1}")


# -- writing -----------------------------------------------------------------------------------------------------------


def save_fclib(problem: Problem, path: str | Path) -> None:
    """Write a problem in FCLIB's format: global where its bodies are known, else local. A `.dat` is a text for Siconos."""
    laws = problem.laws
    contact, size, balls = _order(problem)
    bilateral = np.flatnonzero(np.repeat(laws.kind == ZERO, laws.size))
    mu, to = laws.mu[balls], given.file_to_write(path)
    if to.suffix == ".dat":
        if bilateral.size or (laws.radius[balls] > 0).any():
            what = "bilateral rows" if bilateral.size else "friction of a constant radius"
            raise OptionError(f"Siconos' text format has no place for {what}; write the problem to an .hdf5 file")
        _write_text(to, sp.bsr_matrix(problem.W[contact][:, contact], blocksize=(size, size)), problem.q[contact], mu)
        return
    is_global = problem.M is not None and problem.H is not None
    if not is_global:
        _require_symmetric(problem.W, contact, bilateral)
    with _written(to) as file:
        group = file.create_group("fclib_global" if is_global else "fclib_local")
        group["spacedim"] = np.array([size], np.int32)
        vectors = group.create_group("vectors")
        if is_global:
            assert problem.H is not None
            assert problem.w is not None
            _write(group, "M", problem.M)
            _write(group, "H", problem.H[:, contact])
            vectors["f"], vectors["w"] = problem.f, problem.w[contact]
            if bilateral.size:
                _write(group, "G", problem.H[:, bilateral])
                vectors["b"] = problem.w[bilateral]
        else:
            _write(group, "W", problem.W[contact][:, contact])
            vectors["q"] = problem.q[contact]
            if bilateral.size:
                _write(group, "V", problem.W[contact][:, bilateral])
                _write(group, "R", problem.W[bilateral][:, bilateral])
                vectors["s"] = problem.q[bilateral]
        vectors["mu"] = mu
        if (laws.radius[balls] > 0).any():
            vectors["radius"] = laws.radius[balls]
        if problem.units is not None:
            vectors["units"] = problem.units[np.concatenate([contact, bilateral])]
        group.attrs["noise"] = problem.noise
        info = group.create_group("info")
        for key in ("title", "description", "math_info"):
            info[key] = problem.about.get(key, "")


@contextmanager
def _written(path: Path) -> Iterator[h5py.File]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(path, "w") as file:
            yield file
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> ResultFileError:
    return ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.")


def _require_symmetric(W: sp.csr_matrix, contact: np.ndarray, bilateral: np.ndarray) -> None:
    """The local form has one matrix V for both couplings of contacts and bilateral rows."""
    V, other = W[contact][:, bilateral], W[bilateral][:, contact].T
    if V.nnz + other.nnz and abs(V - other).max() > 1e-10 * max(abs(V).max(), abs(other).max()):
        raise OptionError(
            "W couples contacts and bilateral rows without symmetry, for which FCLIB's local form has no place; write the "
            "problem with its bodies (from_bodies)"
        )


def _order(problem: Problem) -> tuple[np.ndarray, int, np.ndarray]:
    """The rows of contacts, contact by contact, how many each has, and their blocks of friction.

    FCLIB knows only contacts of one size. Friction of a contact that is open whatever happens is left out: it is bounded by
    nothing, so its multipliers are zero and no other row sees them.
    """
    laws, rows, balls = problem.laws, [], []
    sizes = set()
    for e in range(laws.element.size - 1):
        blocks = np.arange(laws.element[e], laws.element[e + 1])
        kinds = list(laws.kind[blocks])
        if kinds == [ZERO]:
            continue
        if kinds == [BALL] and _has_no_force(problem, int(blocks[0])):
            continue
        if kinds != [NORMAL, BALL]:
            name = problem.names[e] if problem.names else f"element {e}"
            what = "has a cone of its own" if CONE in kinds else "is not a contact with friction"
            raise OptionError(f"{name} {what}; FCLIB's format has only contacts with Coulomb friction")
        balls.append(blocks[1])
        sizes.add(1 + int(laws.size[blocks[1]]))
        rows += [laws.start[blocks[0]] + np.arange(1), laws.start[blocks[1]] + np.arange(laws.size[blocks[1]])]
    if len(sizes) > 1 or sizes - {2, 3}:
        raise OptionError(f"contacts of {sorted(sizes)} rows; FCLIB's format has contacts of 2 rows or of 3")
    order = np.concatenate([*rows, np.zeros(0, int)]).astype(int)
    return order, (sizes.pop() if sizes else 3), np.array(balls, int)


def _has_no_force(problem: Problem, block: int) -> bool:
    """Whether the bound of a block is zero: what it allows changes velocities by rounding only."""
    laws, scales = problem.laws, problem.scales
    velocity = laws.radius[block] * scales.weight[laws.start[block]]
    return bool(laws.normal[block] < 0 and velocity <= 1e-12 * scales.scale[laws.start[block]])


def _write(group: Any, name: str, matrix: Any) -> None:
    matrix, out = sp.csc_matrix(matrix), group.create_group(name)
    matrix.sort_indices()
    for key, value in (("m", matrix.shape[0]), ("n", matrix.shape[1]), ("nzmax", matrix.nnz), ("nz", BY_COLUMNS)):
        out[key] = np.array([value], np.int32)
    out["x"], out["i"], out["p"] = matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)


# -- plain text --------------------------------------------------------------------------------------------------------


def _write_text(path: Path, W: sp.bsr_matrix, q: np.ndarray, mu: np.ndarray) -> None:
    """The same text with W as a sparse matrix of blocks."""
    W.sort_indices()
    n, size = len(mu), W.blocksize[0]
    ends = size * np.arange(1, n + 1)
    head = [[size], [n], [1, *W.shape], [len(W.indices)], [n, n], ends, ends, [n + 1, len(W.indices)]]
    lines = [" ".join(map(str, line)) for line in (*head, W.indptr, W.indices)]
    for block in W.data:
        lines += [f"{size * size}", " ".join(repr(float(x)) for x in block.T.ravel())]
    lines += [" ".join(repr(float(x)) for x in vector) for vector in (q, mu)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise _not_written(path, error) from error


def _read_text(path: Path) -> Problem:
    """Siconos' text: dimension, contacts, then W dense or as a sparse matrix of blocks (by columns), q and mu."""
    try:
        every = path.read_text(encoding="utf-8").split()
        words = iter(every)
        dimension, n, kind, size = [int(next(words)) for _ in range(4)]
        if size != dimension * n or not 0 <= size <= len(every):  # before anything of this size is made
            raise ResultFileError(f"{path}: {n} contacts of {dimension} rows do not make a matrix of {size} rows")
        next(words)
        if kind == 0:
            next(words), next(words)
            W: Any = _numbers(words, size * size).reshape(size, size).T
        elif kind == 1:
            W = _sparse_blocks(words, dimension, n)
        else:
            raise ResultFileError(f"{path}: matrices are stored as kind {kind}; known are 0 (dense) and 1 (blocks)")
        q, mu = _numbers(words, size), _numbers(words, n)
    except StopIteration:
        raise ResultFileError(
            f"{path} ends before its problem does: it is cut off, or not a frictional contact problem in Siconos' text format"
        ) from None
    except ValueError as error:
        raise ResultFileError(f"{path} is not a frictional contact problem in Siconos' text format: {error}") from error
    except OSError as error:
        raise ResultFileError(f"{path} cannot be read: {error}") from error
    return contacts(W, q, mu, dimension=dimension, about={"file": path.name})


def _sparse_blocks(words: Iterator[str], dimension: int, n: int) -> sp.csr_matrix:
    """A matrix of n x n blocks, row by row of blocks."""
    count, rows, columns = [int(next(words)) for _ in range(3)]
    for _ in range(rows + columns):
        next(words)
    n_begin, n_index = int(next(words)), int(next(words))
    begin = np.array([int(next(words)) for _ in range(n_begin)])
    index = [int(next(words)) for _ in range(n_index)]
    if n_begin != n + 1 or begin[0] != 0 or (np.diff(begin) < 0).any() or not begin[-1] == count <= n_index:
        raise ValueError(f"its {count} blocks do not begin where {n} rows of blocks do")
    if any(not 0 <= j < n for j in index):
        raise ValueError(f"a block lies outside of {n} columns of blocks")
    W, row = sp.lil_matrix((dimension * n, dimension * n)), 0
    for e in range(count):
        while begin[row + 1] <= e:
            row += 1
        next(words)
        i, j = dimension * row, dimension * index[e]
        W[i : i + dimension, j : j + dimension] = _numbers(words, dimension**2).reshape(dimension, dimension).T
    return sp.csr_matrix(W)


def _numbers(words: Iterator[str], count: int) -> np.ndarray:
    return np.array([float(next(words)) for _ in range(count)])
