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
    if path.suffix == ".dat":
        return _read_text(path)
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
    W, q, mu = _matrix(group["W"]), group["vectors/q"][()], group["vectors/mu"][()]
    bilateral = 0
    if "V" in group and "R" in group:
        V, R, s = _matrix(group["V"]), _matrix(group["R"]), group["vectors/s"][()]
        W, q, bilateral = sp.bmat([[W, V], [V.T, R]]), np.concatenate([q, s]), s.size
    problem = contacts(W, q, mu, dimension=_dimension(group), bilateral=bilateral, about=_about(group, name))
    return _with_ours(problem, group)


def _global(group: Any, name: str) -> Problem:
    M, H, f = _matrix(group["M"]), _matrix(group["H"]), group["vectors/f"][()]
    w, mu, bilateral = group["vectors/w"][()], group["vectors/mu"][()], 0
    if "G" in group:
        G, b = _matrix(group["G"]), group["vectors/b"][()]
        H, w, bilateral = sp.hstack([H, G]), np.concatenate([w, b]), b.size
    about, dimension = _about(group, name), _dimension(group)
    problem = from_bodies(M, H, f, mu, w=w, dimension=dimension, bilateral=bilateral, about=about)
    return _with_ours(problem, group)


def _with_ours(problem: Problem, group: Any) -> Problem:
    """What FCLIB does not know, and other programs do not read: bounds of friction, units of rows, what is rounding in W."""
    vectors = group["vectors"]
    if "radius" in vectors:
        problem.laws.radius[problem.laws.kind == BALL] = vectors["radius"][()]
    units = vectors["units"][()] if "units" in vectors else None
    return replace(problem, units=units, noise=float(group.attrs.get("noise", 0.0)))


def _dimension(group: Any) -> int:
    return int(np.ravel(group["spacedim"][()])[0])


def _about(group: Any, name: str) -> dict[str, str]:
    about = {"file": name}
    for key in ("title", "description", "math_info"):
        if "info" in group and key in group["info"]:
            text = group["info"][key][()]
            about[key] = (text.decode(errors="replace") if isinstance(text, bytes) else str(text)).strip()
    return about


def _matrix(group: Any) -> sp.csc_matrix:
    m, n, nz = (int(np.ravel(group[k][()])[0]) for k in ("m", "n", "nz"))
    x, i, p = group["x"][()], group["i"][()], group["p"][()]
    if nz == BY_COLUMNS:
        return sp.csc_matrix((x, i, p), (m, n))
    if nz == BY_ROWS:
        return sp.csr_matrix((x, i, p), (m, n)).tocsc()
    return sp.coo_matrix((x[:nz], (i[:nz], p[:nz])), (m, n)).tocsc()


# -- writing -----------------------------------------------------------------------------------------------------------


def save_fclib(problem: Problem, path: str | Path) -> None:
    """Write a problem in FCLIB's format: global where its bodies are known, else local."""
    laws = problem.laws
    contact, size, balls = _order(problem)
    bilateral = np.flatnonzero(np.repeat(laws.kind == ZERO, laws.size))
    mu = laws.mu[balls]
    is_global = problem.M is not None and problem.H is not None
    if not is_global:
        _require_symmetric(problem.W, contact, bilateral)
    with _written(given.file_to_write(path)) as file:
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
        raise ResultFileError(f"cannot write {path}: {error}. Choose another place, or free some space.") from error


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


def _read_text(path: Path) -> Problem:
    """Siconos' text: dimension, contacts, then W dense or as a sparse matrix of blocks (by columns), q and mu."""
    words = iter(path.read_text(encoding="utf-8").split())
    try:
        dimension, n, kind, size = (int(next(words)) for _ in range(4))
        next(words)
        if kind == 0:
            next(words), next(words)
            W: Any = _numbers(words, size * size).reshape(size, size).T
        elif kind == 1:
            W = _sparse_blocks(words, dimension, size)
        else:
            raise ResultFileError(f"{path}: matrices are stored as kind {kind}; known are 0 (dense) and 1 (blocks)")
        q, mu = _numbers(words, size), _numbers(words, n)
    except (StopIteration, ValueError) as error:
        raise ResultFileError(f"{path} is not a frictional contact problem in Siconos' text format") from error
    return contacts(W, q, mu, dimension=dimension, about={"file": path.name})


def _sparse_blocks(words: Iterator[str], dimension: int, size: int) -> sp.csr_matrix:
    count, rows, columns = (int(next(words)) for _ in range(3))
    for _ in range(rows + columns):
        next(words)
    n_begin, n_index = int(next(words)), int(next(words))
    begin = [int(next(words)) for _ in range(n_begin)]
    index = [int(next(words)) for _ in range(n_index)]
    W, row = sp.lil_matrix((size, size)), 0
    for e in range(count):
        while begin[row + 1] <= e:
            row += 1
        next(words)
        i, j = dimension * row, dimension * index[e]
        W[i : i + dimension, j : j + dimension] = _numbers(words, dimension**2).reshape(dimension, dimension).T
    return sp.csr_matrix(W)


def _numbers(words: Iterator[str], count: int) -> np.ndarray:
    return np.array([float(next(words)) for _ in range(count)])
