"""One-step problems: all solvers on all problems, laws checked independently, files, searches among random problems.

STICKSLIP_SEARCH multiplies the number of random problems (1: a minute on one core is 30).
"""

import os
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.nonsmooth import SOLVERS, contacts, from_bodies, load_fclib, save_fclib, solve
from stickslip.nonsmooth.cones import quadratic, smoothed_cone
from stickslip.nonsmooth.curve import along, curve_of, direction, factor_at, residual_at
from stickslip.nonsmooth.examples import brick_wall, hit_stack, random_contacts, tower
from stickslip.nonsmooth.jam import jam_of
from stickslip.nonsmooth.laws import derivatives, project
from stickslip.nonsmooth.magnify import disagreement, magnified
from stickslip.nonsmooth.modes import enumerate_modes, mode_count
from stickslip.nonsmooth.path import path_to_solution
from stickslip.nonsmooth.problem import elements_rows
from stickslip.nonsmooth.reduced import islands, without_open
from stickslip.nonsmooth.solvers import (
    _climb,
    _newton,
    _newton_from_zero,
    _sweeps_from_zero,
    _together,
    solve_shortly,
)

SEARCH = int(os.environ.get("STICKSLIP_SEARCH", "1"))
FILES = sorted((Path(__file__).parents[2] / "shared/data/fclib").glob("*.hdf5"))
MADE = {
    "wall": lambda: brick_wall(5, 5),
    "heavy wall": lambda: brick_wall(5, 5, heavy=1e6),
    "tower rests": lambda: tower(10),
    "tower slides": lambda: tower(10, mu=0.01),
    "tower topples": lambda: tower(10, tilt=0.1),
    "planar": lambda: random_contacts(np.random.default_rng(4), 6, dimension=2),
    "joints": lambda: hung_box(),
}
# What a solver is not made for; that it says so is tested, too. Sweeps cannot carry mass ratios, Newton alone may stall.
CANNOT = {
    ("gauss-seidel", "heavy wall"), ("gauss-seidel", "tower rests"), ("gauss-seidel", "tower slides"),
    ("gauss-seidel", "tower topples"), ("newton", "tower slides"),
}  # fmt: skip


def hung_box():
    """Two bodies in space, a bilateral joint with a redundant row between them, four contacts of the lower one."""
    rng = np.random.default_rng(1)
    H = np.zeros((12, 16))
    H[6:, :12] = rng.normal(size=(6, 12))
    H[:, 12:15] = rng.normal(size=(12, 3))
    H[:, 15] = H[:, 12] + H[:, 13]
    return from_bodies(np.diag(10 ** rng.uniform(-1, 1, 12)), H, rng.normal(size=12), np.full(4, 0.5), bilateral=4)


def check(problem, found, tol=1e-6):
    """Coulomb's and Signorini's laws, by their own inequalities."""
    r, u, laws = found.reaction, found.velocity, problem.laws
    assert np.allclose(u, problem.W @ r + problem.q, atol=1e-9 * (1 + np.abs(problem.q).max()))
    speed, large = problem.scales.speed, np.abs(r).max(initial=1e-30)
    for b, (kind, i, size) in enumerate(zip(laws.kind, laws.start, laws.size, strict=True)):
        rows = slice(i, i + size)
        if kind == 0:
            assert np.abs(u[rows]).max() < tol * speed
        elif kind == 1:
            assert r[i] > -tol * large
            assert u[i] > -tol * speed
            assert abs(r[i] * u[i]) < tol * speed * large
        else:
            radius = laws.radius[b] + laws.mu[b] * r[laws.normal[b]]
            slip = np.linalg.norm(u[rows])
            assert np.linalg.norm(r[rows]) < radius + tol * large
            assert abs(r[rows] @ u[rows] + radius * slip) < tol * speed * large  # opposite to slip, and full


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("name", [*MADE, *[path.name for path in FILES]])
def test_every_solver_on_every_problem(name, solver):
    problem = MADE[name]() if name in MADE else load_fclib(next(p for p in FILES if p.name == name))
    if solver == "enumeration" and not 0 < mode_count(problem.laws) <= 20_000:
        with pytest.raises(ss.OptionError, match="enumeration cannot treat this problem"):
            solve(problem, solver)
        return
    hard = (solver, name) in CANNOT or (name.startswith("spheres") and solver in ("newton", "gauss-seidel"))
    found = solve(problem, solver)
    assert found.converged == (found.residual <= 1e-8)
    if hard and not found.converged:
        return
    assert found.residual <= 1e-8, found.rungs
    check(problem, found)


@pytest.mark.parametrize("dimension, most", [(2, 6), (3, 12), (3, 100)])
def test_random_problems(dimension, most):
    """Dependent rows, masses up to 1e6 apart, mu up to 2: none is wrong, and none is left in the plane."""
    count, unsolved = SEARCH * (40 if most > 20 else 300), 0
    for seed in range(count):
        problem = random_contacts(np.random.default_rng(1000 * most + seed), most, dimension)
        found = solve(problem)
        if found.converged:
            check(problem, found)
        else:
            unsolved += not found.no_solution
    assert unsolved <= (0 if dimension == 2 else 1 + count // 1000)


def faces(n: int, delta: float, seed: int):
    """Plates on each other, four corners each, that are pushed gently; corners differ by delta in their slip."""
    rng, rows = np.random.default_rng(seed), []
    for k in range(n):
        for x, y in [(-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)]:
            for d in np.eye(3)[[2, 0, 1]]:
                row = np.zeros((n, 6))
                row[k] = [*d, *np.cross([x, y, -0.05], d)]
                if k:
                    row[k - 1] = [*-d, *-np.cross([x, y, 0.05], d)]
                rows.append(row.ravel())
    G, m = np.array(rows), np.tile([1, 1, 1, 1 / 300, 1 / 300, 1 / 150], n)
    free = rng.normal(scale=0.02, size=(n, 6))
    free[:, 2] = -0.02
    q = G @ free.ravel()
    q.reshape(-1, 3)[:, 1:] += delta * rng.normal(size=(4 * n, 2))
    return contacts(G / m @ G.T, q, mu=[0.5] * (4 * n))


@pytest.mark.parametrize("seed", range(3))
def test_contacts_that_cannot_all_stick_slip_with_all_their_friction(seed):
    problem = faces(3, 1e-7, seed)
    start = solve(problem, "gauss-seidel", tol=3e-6)
    assert 1e-9 < start.residual < 1e-5
    missed = disagreement(problem, start.reaction, start.velocity, 1e-3)
    stick = missed != 0
    assert 1e-8 < np.abs(missed).max() < 1e-6
    assert np.abs(problem.W.toarray()[:, stick] @ missed[stick]).max() < 1e-12  # W = W^T: no multipliers change it
    reaction, count = magnified(problem, start.reaction.copy(), 1e-11)
    assert count > 3
    slips = full = 0
    u, laws = problem.velocity_of(reaction), problem.laws
    for b in np.flatnonzero(laws.kind == 2):
        rows, radius = slice(laws.start[b], laws.start[b] + 2), laws.mu[b] * reaction[laws.normal[b]]
        if np.linalg.norm(u[rows]) > 1e-9 and radius > 0:
            slips += 1
            full += np.linalg.norm(reaction[rows] + radius * u[rows] / np.linalg.norm(u[rows])) < 1e-2 * radius
    assert slips == full > 0


def test_enumeration_agrees_with_the_robust_method_and_proves_that_nothing_exists():
    rng = np.random.default_rng(0)
    for _ in range(30):
        problem = random_contacts(rng, 3, dimension=2, ratio=10)
        assert solve(problem, "enumeration").converged
    # A normal force that accelerates the contact towards the obstacle, as in Painleve's paradox
    rod = contacts([[-1.0, 0.0], [0.0, 1.0]], [-1.0, 5.0], mu=[0.0])
    found = solve(rod)
    assert found.no_solution
    assert not found.converged
    search = enumerate_modes(rod.laws, rod.W.toarray(), rod.q, rod.scales)
    assert search.found is None
    assert search.proved


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("ratio", [1e-20, 1e-14, 1e14])
def test_a_heavy_contact_beside_a_light_one_is_solved_in_its_own_scale(solver, ratio):
    one, q = np.array([1.0, -0.3]), [-1.0, 0.5]
    W = np.diag([1.0, 1.0, ratio, ratio])
    for problem in (
        contacts(W, q * 2, mu=[0.3] * 2),
        from_bodies(1 / W.diagonal() * np.eye(4), np.eye(4), q * 2 / W.diagonal(), [0.3] * 2),
    ):
        found = solve(problem, solver)
        assert found.converged
        assert not found.no_solution
        np.testing.assert_allclose(found.reaction, [*one, *one / ratio], rtol=1e-8)


def test_a_heavy_contact_in_space_is_no_jam():
    found = solve(contacts(np.diag([1.0] * 3 + [1e-14] * 3), [-1.0, 0.5, 0.0] * 2, mu=[0.3] * 2))
    assert found.converged
    assert found.jam is None


def test_nothing_is_proved_of_a_problem_that_rounding_decides():
    """Rows that agree in twelve digits and ask for different velocities: forces of 1e12 solve it, if at all."""
    a = 1 - 1e-12
    nearly = contacts([[1.0, a], [a, 1.0]], [1.0, -1.0], mu=[], bilateral=2)
    for solver in ("auto", "enumeration"):
        assert not solve(nearly, solver).no_solution
    assert solve(contacts(np.ones((2, 2)), [1.0, -1.0], mu=[], bilateral=2), "enumeration").no_solution


@pytest.mark.parametrize("size", [1e-100, 1e-12, 1e12, 1e100])
def test_enumeration_knows_no_units(size):
    W, q = np.array([[1.0, 0.2], [0.2, 2.0]]), np.array([-2.0, 1.0])
    usual = solve(contacts(W, q, mu=[0.3]), "enumeration").reaction
    for problem, factor in ((contacts(W, size * q, mu=[0.3]), size), (contacts(size * W, q, mu=[0.3]), 1 / size)):
        found = solve(problem, "enumeration")
        assert found.converged
        np.testing.assert_allclose(found.reaction, factor * usual, rtol=1e-12)


UNMOVED = {"plane": np.zeros(2), "space": np.zeros(3), "normal alone": np.array([0.0, 1.0, 1.0])}


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("diagonal", UNMOVED.values(), ids=UNMOVED)
def test_a_contact_that_nothing_moves_is_not_solved_by_infinite_forces(diagonal, solver):
    """u_N = -1 whatever r is. Beside a reaction of 1e16 the natural map r - project(r - u) is zero by rounding."""
    problem = contacts(np.diag(diagonal), [-1.0, 2.0, 1.0][: diagonal.size], mu=[0.3])
    if solver == "enumeration" and diagonal.size == 3:
        return
    found = solve(problem, solver)
    assert not found.converged
    assert found.residual == 0.5  # u_N over the largest free velocity
    assert found.no_solution == (solver in ("auto", "enumeration") and diagonal.size == 2)


def test_a_matrix_without_symmetry_is_solved():
    """Positive definite, so that without friction the solution is unique: that of enumeration. With friction, laws hold."""
    rng = np.random.default_rng(0)
    for k in range(60):
        n = int(rng.integers(1, 4))
        B, S = rng.normal(size=(2, 2 * n, 2 * n))
        problem = contacts(
            B @ B.T + 0.1 * np.eye(2 * n) + S - S.T, rng.normal(size=2 * n), (k % 2) * rng.uniform(size=n)
        )
        found, known = solve(problem), solve(problem, "enumeration")
        assert found.converged
        assert known.converged
        check(problem, found)
        if k % 2 == 0:
            assert np.allclose(found.reaction, known.reaction, atol=1e-5 * (1 + np.abs(known.reaction).max()))
            for solver in ("newton", "gauss-seidel", "robust"):
                assert np.allclose(solve(problem, solver).velocity, known.velocity, atol=1e-6)


def test_redundant_reactions_are_of_minimum_norm():
    """Four corners of a box at rest: a quarter each, from zero."""
    problem = tower(1, heavy=1.0, tilt=0.0)
    assert np.allclose(solve(problem, "robust").reaction[::3], 9.81e-3 / 4)


def test_walls_of_bricks_stand():
    """The weight of all bricks arrives at the floor, also under a row that is 1e6 times as heavy."""
    for heavy in (1.0, 1e6):
        problem = brick_wall(10, 10, heavy)
        found = solve(problem)
        assert found.converged
        assert abs(found.reaction[: 3 * 40 : 3].sum() / (10e-3 * (180 + 20 * heavy)) - 1) < 1e-6


# -- cones -------------------------------------------------------------------------------------------------------------


def test_derivative_of_the_projection():
    """Against central differences, on every branch."""
    problem, rng = tower(3, mu=0.7), np.random.default_rng(2)
    laws, n = problem.laws, problem.n_rows
    y, p, beta, C = rng.normal(size=n), np.empty(n), rng.uniform(0.5, 2, n), np.empty((laws.element.size - 1, 6, 6))
    branch = np.empty(laws.kind.size, np.int64)

    def projected(y):
        out = np.empty(n)
        project(laws, y, out, np.empty(laws.kind.size, np.int64))
        return out

    project(laws, y, p, branch)
    assert set(branch) == {0, 1, 2}
    derivatives(laws, y, p, branch, beta, C)
    for e, rows in enumerate(elements_rows(laws)):
        numeric = np.array([(projected(y + d) - projected(y - d))[rows] / 2e-6 for d in 1e-6 * np.eye(n)[rows]]).T
        assert np.allclose(C[e, :3, :3], numeric * beta[rows], atol=1e-6)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: tower(3), hung_box, lambda: random_contacts(np.random.default_rng(4), 6, 2)])
def test_saved_problems_are_read_back(tmp_path, make):
    problem = make()
    save_fclib(problem, tmp_path / "problem.hdf5")
    again = load_fclib(tmp_path / "problem.hdf5")
    assert np.allclose(again.W.toarray(), problem.W.toarray(), atol=1e-12)
    assert np.allclose(again.q, problem.q)
    assert solve(again).converged


def test_captured_problems_keep_what_is_rounding_and_their_units(tmp_path):
    """A contact that nothing moves, but for what elimination leaves on its diagonal: forces of 1e12 are not its solution."""
    W = np.diag([1.0, 2.0, 2.0, 1e-16, 1e-16, 1e-16])
    problem = replace(contacts(W, [-1.0, 0.5, 0.0] * 2, [0.3] * 2), noise=1e-14, units=np.array([1e-3, 1, 1] * 2))
    problem.save(tmp_path / "captured.hdf5")
    again = load_fclib(tmp_path / "captured.hdf5")
    assert again.noise == problem.noise
    np.testing.assert_array_equal(again.units, problem.units)
    for field, other in zip(again.scales, problem.scales, strict=True):
        np.testing.assert_array_equal(field, other)
    assert not solve(again).converged


def test_local_file_with_bilateral_rows(tmp_path):
    box = hung_box()
    local = contacts(box.W, box.q, np.full(4, 0.5), bilateral=4)
    local.save(tmp_path / "local.hdf5")
    with h5py.File(tmp_path / "local.hdf5") as file:
        assert set(file["fclib_local"]) >= {"W", "V", "R", "vectors", "info", "spacedim"}
    again = load_fclib(tmp_path / "local.hdf5")
    assert np.allclose(solve(again).velocity, solve(box).velocity, atol=1e-7)


def test_a_coupling_without_symmetry_has_no_place_in_a_local_file(tmp_path):
    W = np.eye(4)
    W[0, 3] = 0.5
    with pytest.raises(ss.OptionError, match="without symmetry"):
        contacts(W, np.ones(4), [0.3], dimension=3, bilateral=1).save(tmp_path / "local.hdf5")
    W[3, 0] = 0.5
    contacts(W, np.ones(4), [0.3], dimension=3, bilateral=1).save(tmp_path / "local.hdf5")


@pytest.mark.parametrize("radius", [0.0, 1e-18])
def test_friction_of_a_contact_that_stays_open_is_left_out_of_the_file(tmp_path, radius):
    """Its normal row is gone and its bound is zero: no other row sees it."""
    problem = random_contacts(np.random.default_rng(4), 6, dimension=2)
    rows, n = np.delete(np.arange(problem.n_rows), problem.n_rows - 2), problem.n_contacts
    old = contacts(problem.W, problem.q, problem.laws.mu[1::2]).laws
    kept = np.delete(np.arange(2 * n), 2 * n - 2)
    bound = np.zeros(kept.size)
    bound[-1] = radius
    start, normal = np.arange(kept.size), np.append(old.normal[kept][:-1], -1)
    laws = old._replace(
        kind=old.kind[kept], start=start, size=old.size[kept], normal=normal, radius=bound,
        mu=np.append(old.mu[kept][:-1], 0.0), element=np.append(old.element[:-1], kept.size),
    )  # fmt: skip
    open_one = replace(contacts(problem.W, problem.q, np.ones(n)), laws=laws, W_given=problem.W[rows][:, rows].tocsr(),
                       q_given=problem.q[rows])  # fmt: skip
    open_one.save(tmp_path / "open.hdf5")
    again = load_fclib(tmp_path / "open.hdf5")
    assert again.n_rows == 2 * (n - 1)
    assert np.array_equal(again.laws.mu[1::2], laws.mu[1:-1:2])
    assert np.allclose(solve(again).reaction, solve(open_one).reaction[:-1], atol=1e-7)
    with pytest.raises(ss.OptionError, match=f"element {n - 1} is not a contact with friction"):
        replace(open_one, laws=laws._replace(radius=bound + 0.1)).save(tmp_path / "bounded.hdf5")


def test_a_large_problem_is_printed_in_one_line():
    text = repr(tower(10))
    assert len(text) < 160
    assert "40 normal, 40 friction, 0 bilateral" in text
    assert "bodies with 60 velocities" in text
    assert "4 bilateral" in repr(hung_box())


def test_text_of_siconos(tmp_path):
    problem = tower(2)
    W, n = problem.W.toarray(), problem.n_rows
    numbers = [*W.T.ravel(), *problem.q, *np.full(8, 0.5)]
    (tmp_path / "a.dat").write_text(f"3\n8\n0 {n} {n}\n{n} {n}\n" + "\n".join(f"{x:.17g}" for x in numbers))
    assert np.allclose(load_fclib(tmp_path / "a.dat").W.toarray(), W)
    places = [(slice(3 * i, 3 * i + 3), slice(3 * j, 3 * j + 3)) for i in range(8) for j in range(8)]
    blocks = "".join("9\n" + " ".join(f"{x:.17g}" for x in W[place].T.ravel()) + "\n" for place in places)
    ends, begin = (" ".join(map(str, v)) for v in (range(3, 27, 3), range(0, 65, 8)))
    index = " ".join(str(i % 8) for i in range(64))
    head = f"3\n8\n1 {n} {n}\n64\n8 8\n{ends}\n{ends}\n9 64\n{begin}\n{index}\n"
    (tmp_path / "b.dat").write_text(head + blocks + "\n".join(f"{x:.17g}" for x in numbers[n * n :]))
    assert np.allclose(load_fclib(tmp_path / "b.dat").W.toarray(), W)
    assert solve(load_fclib(tmp_path / "b.dat")).converged
    (tmp_path / "c.dat").write_text("3 8 0 x")
    with pytest.raises(ss.ResultFileError, match="not a frictional contact problem"):
        load_fclib(tmp_path / "c.dat")


@pytest.mark.parametrize("dimension", [2, 3])
def test_problems_are_written_as_texts_of_siconos(tmp_path, dimension):
    W = np.kron(np.array([[2.0, 0.5, 0.0], [0.5, 3.0, 0.0], [0.0, 0.0, 1.0]]), np.eye(dimension)) + 0.01 / 3
    problem = contacts(W, np.linspace(-1, 0.7, 3 * dimension), [0.3, 0.0, 0.7], dimension=dimension)
    problem.save(tmp_path / "new" / "a.dat")
    back = load_fclib(tmp_path / "new" / "a.dat")
    assert (back.W != problem.W).nnz == 0
    assert back.q.tobytes() == problem.q.tobytes()
    assert solve(back).reaction.tobytes() == solve(problem).reaction.tobytes()
    with pytest.raises(ss.OptionError, match="no place for bilateral rows; write the problem to an .hdf5 file"):
        hung_box().save(tmp_path / "b.dat")
    assert not (tmp_path / "b.dat").exists()


def test_a_text_that_is_no_problem_of_siconos_is_refused(tmp_path):
    blocks = "3 1 1 3 3 1 1 1 3 3 2 1"  # one contact with one block
    for words, why in {
        "": "ends before its problem does",
        "1 2 3": "ends before its problem does",
        "3 1 0 3 0 3 3 1 0 0 0 1": "ends before its problem does",
        "3 1 1 6 0": "1 contacts of 3 rows do not make a matrix of 6 rows",
        "3 1000000000 1 3000000000 0": "do not make a matrix",
        "3 1 2 3 0": "stored as kind 2; known are 0",
        f"{blocks} 0 1 0": "ends before its problem does",
        f"{blocks} 0 2 0": "its 1 blocks do not begin where 1 rows of blocks do",
        f"{blocks} 0 1 7": "a block lies outside of 1 columns",
        "2 1 0 2 0 2 2 1 0 0 1 nan 1 0.5": "d.dat: q is not finite",
        "2 1 0 2 0 2 2 1 0 0 1 1 1 -0.5": "d.dat: mu = -0.5 is negative",
    }.items():
        (tmp_path / "d.dat").write_text(words)
        with pytest.raises(ss.ResultFileError, match=why):
            load_fclib(tmp_path / "d.dat")
    (tmp_path / "d.dat").write_bytes(b"\xff\xfe")
    with pytest.raises(ss.ResultFileError, match="not a frictional contact problem"):
        load_fclib(tmp_path / "d.dat")


@pytest.fixture
def stored(tmp_path):
    """A function that loads a problem in FCLIB's format after some of its data were replaced."""

    def load(problem, **data):
        problem.save(tmp_path / "p.hdf5")
        with h5py.File(tmp_path / "p.hdf5", "a") as file:
            for key, value in data.items():
                place = f"{next(iter(file))}/{key.replace('__', '/')}"
                if place in file:
                    del file[place]
                file[place] = value
        return load_fclib(tmp_path / "p.hdf5")

    return load


W_2 = [[2.0, 1.0], [1.0, 3.0]]


@pytest.mark.parametrize(
    "nz, i, p", [(-1, [0, 1, 0, 1], [0, 2, 4]), (-2, [0, 1, 0, 1], [0, 2, 4]), (4, [0, 1, 0, 1], [0, 0, 1, 1])]
)
def test_matrices_of_files_are_stored_by_columns_by_rows_or_as_triplets(stored, nz, i, p):
    problem = contacts(W_2, [-1, 1], [0.3])
    room = [2.0, 1.0, 1.0, 3.0, 7.0]  # FCLIB's nzmax may be larger than the number of entries
    loaded = stored(problem, W__nz=nz, W__i=[*i, 9], W__p=p if nz < 0 else [*p, 9], W__x=room)
    assert np.array_equal(loaded.W.toarray(), W_2)


@pytest.mark.parametrize(
    "data, why",
    [
        ({"W__i": [0, 77, 0, 1]}, r"p.hdf5: fclib_local/W: i has the index 77; indices go from 0 to 1"),
        ({"W__i": [0, -1, 0, 1]}, "i has the index -1"),
        ({"W__i": [0, 100_000_000, 0, 1], "W__nz": -2}, "i has the index 100000000"),
        ({"W__i": [0, 1, 0, 2], "W__p": [0, 0, 1, 1], "W__nz": 4}, "i has the index 2"),
        ({"W__i": [0, 1, 0, 1], "W__p": [0, 0, -1, 1], "W__nz": 4}, "p has the index -1"),
        ({"W__i": [0, 1]}, "p must begin with 0, never fall and end with a number of entries, of which x and i have 2"),
        ({"W__i": [0.0, 1.0, 0.0, 1.0]}, "W/i is not a row of whole numbers"),
        ({"W__p": [0, -3, 4]}, "it goes from 0 to 4, and falls"),
        ({"W__p": [1, 2, 4]}, "it goes from 1 to 4"),
        ({"W__p": [0, 2, 100]}, "it goes from 0 to 100"),
        ({"W__p": [0, 4]}, "p has 2 numbers, and 2 lines of a matrix need 3"),
        ({"W__nz": 5}, "nz = 5 must be -1 .by columns., -2 .by rows. or a number of triplets, of which there are 3"),
        ({"W__nz": -3}, "nz = -3 must be"),
        ({"W__nz": np.zeros(0, int)}, "W/nz is empty"),
        ({"W__m": 3}, "W has 3 x 2 entries, and the vectors of its problem need 2 x 2"),
        ({"W__x": [1.0, np.nan, 1.0, 1.0]}, "W/x is not finite"),
        ({"W__x": "text"}, "W/x is not a row of numbers"),
        ({"vectors__q": [1.0, np.inf]}, "vectors/q is not finite"),
        ({"vectors__q": [1.0]}, "W has 2 x 2 entries, and the vectors of its problem need 1 x 1"),
        ({"vectors__mu": [0.3, 0.3]}, "p.hdf5: 2 rows and 2 contacts make 1 rows per contact"),
        ({"vectors__mu": [-0.3]}, "p.hdf5: mu = -0.3 is negative"),
        ({"vectors__radius": [0.3, 0.3]}, "vectors/radius has 2 numbers, and the problem needs 1"),
        ({"vectors__radius": [-0.3]}, "vectors/radius has the number -0.3, which is too small"),
        ({"vectors__units": [1.0]}, "vectors/units has 1 numbers, and the problem needs 2"),
        ({"vectors__units": [1.0, 0.0]}, "vectors/units has the number 0, which is too small"),
        ({"spacedim": 4}, "p.hdf5: dimension = 4 must be 2 or 3"),
    ],
)
def test_a_file_with_wrong_data_is_refused_with_its_name_and_place(stored, data, why):
    with pytest.raises(ss.ResultFileError, match=why):
        stored(contacts(W_2, [-1, 1], [0.3]), **data)


def test_matrices_between_bodies_contacts_and_joints_of_a_file_fit_each_other(stored):
    for problem in (hung_box(), contacts(np.eye(3), [-1.0, 1.0, 0.5], [0.3], bilateral=1)):
        key = "G" if problem.M is not None else "V"
        assert stored(problem).n_rows == problem.n_rows
        one_triplet = {f"{key}__nz": 1, f"{key}__x": [1.0], f"{key}__i": [999], f"{key}__p": [0]}
        with pytest.raises(ss.ResultFileError, match=f"{key}: i has the index 999"):
            stored(problem, **one_triplet)
        with pytest.raises(ss.ResultFileError, match=f"{key} has .* entries, and the vectors of its problem need"):
            stored(problem, **{f"{key}__m": 1})


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("a, b", [(1e-155, 1), (1e-200, 1e80), (1e160, 1), (1, 1e-280), (1, 1e280), (1e-250, 1e-250)])
def test_friction_holds_in_units_whose_squares_leave_the_range_of_numbers(solver, a, b):
    W, q, start = np.array([[1.0, 0.2], [0.2, 2.0]]), np.array([-2.0, 1.0]), np.array([1.0, 0.0])
    M = np.linalg.inv(W)
    usual = solve(contacts(W, q, mu=[0.3]), "enumeration")
    for problem in (contacts(a * W, b * q, mu=[0.3]), from_bodies(M / a, np.eye(2), M @ q * (b / a), [0.3])):
        found = solve(problem, solver, start=start * (b / a))
        assert found.converged
        np.testing.assert_allclose(found.reaction * (a / b), usual.reaction, rtol=1e-7)
        np.testing.assert_allclose(found.velocity / b, usual.velocity, atol=1e-7)
        if found.generalized is not None:
            np.testing.assert_allclose(found.generalized / b, usual.velocity, atol=1e-7)


@pytest.mark.parametrize("dimension", [None, 2, 3])
def test_problems_without_contacts_have_any_dimension(dimension):
    assert solve(contacts(np.zeros((0, 0)), [], [], dimension=dimension)).converged
    joints = contacts(np.eye(2), [1.0, 2.0], [], bilateral=2, dimension=dimension)
    assert np.allclose(solve(joints).reaction, [-1.0, -2.0])


def test_bad_input_is_refused_by_name(tmp_path):
    one = np.eye(3)
    for make, words in {
        lambda: contacts(one, [1, 2], [0.3]): "W has shape",
        lambda: contacts(one, [1, 2, 3], [-0.3]): "is negative",
        lambda: contacts(one, [1, 2, np.nan], [0.3]): "q is not finite",
        lambda: contacts(np.eye(4), np.ones(4), [0.3]): "4 rows per contact",
        lambda: solve(contacts(one, [1, 2, 3], [0.3]), "newtn"): "did you mean 'newton'",
        lambda: solve(contacts(one, [1, 2, 3], [0.3]), tol=1e-17): "smallest that makes sense",
        lambda: solve(contacts(one, [1, 2, 3], [0.3]), start=[1.0]): "start has 1 rows",
        lambda: solve(contacts(one, [1, 2, 3], [0.3]), start=[1.0, np.nan, 0]): "start is not finite",
        lambda: solve(contacts(one, [1, 2, 3], [0.3]), tol="x"): "tol = 'x' must be a number",
        lambda: solve(contacts(one, [1, 2, 3], [0.3]), tol=np.nan): "tol = nan",
        lambda: solve(5): "solve needs a Problem, as nonsmooth.contacts",
        lambda: contacts(one, "ab", [0.3]): "q = 'ab' must be numbers",
        lambda: contacts("ab", [1, 2, 3], [0.3]): "W = 'ab' must be a matrix",
        lambda: contacts(one, [1, 2, 3], None): "mu is not finite",
        lambda: contacts(one, [1, 2, 3], [0.3], bilateral=1.5): "bilateral = 1.5 must be a whole number",
        lambda: contacts(one, [1, 2, 3], [0.3], bilateral=4): "from 0 to 3",
        lambda: contacts(one, [1, 2, 3], [0.3], dimension=4): "dimension = 4 must be 2 or 3",
        lambda: contacts(1j * one, [1, 2, 3], [0.3]): "W is complex",
        lambda: contacts(sp.csr_matrix(1j * one), [1, 2, 3], [0.3]): "W is complex",
        lambda: contacts(one, [1, 2, 3j], [0.3]): "q is complex",
        lambda: contacts([[1], [1, 2]], [1, 2], [0.3]): "must be a matrix of numbers",
        lambda: contacts(one, [[1], [1, 2]], [0.3]): "must be numbers",
        lambda: contacts(one, [1, 2, 3], []): "3 rows do not belong to 0 contacts",
        lambda: solve(contacts(1e-300 * one, [1, 2, 3], [0.3])): "W has diagonals of 1e-300, which leave the range",
        lambda: solve(contacts(one, [1, 2, 1e305], [0.3])): r"q reaches 1e\+305, which leaves the range",
        lambda: solve(
            contacts(1e-200 * one, [1, 2, 1e200], [0.3])
        ): "the size of reactions, is 1e400 and leaves the range",
        lambda: solve(contacts(np.diag([1, 1e-120, 0]), [1, 2, 1], [0.3])): "W has diagonals from 5e-121 to 1",
        lambda: from_bodies(0 * one, one, [1, 2, 3], [0.3]): "M is singular",
        lambda: from_bodies(one, one, [1, 2, 3], [0.3], w="x"): "w = 'x' must be numbers",
    }.items():
        with pytest.raises(ss.OptionError, match=words):
            make()
    with pytest.raises(ss.ResultFileError, match="no such file"):
        load_fclib(tmp_path / "none.hdf5")
    (tmp_path / "text.hdf5").write_text("x")
    with pytest.raises(ss.ResultFileError, match="not an HDF5 file"):
        load_fclib(tmp_path / "text.hdf5")
    for write in (tower(3).save, load_fclib):
        with pytest.raises(ss.ResultFileError, match="is a folder; name a file in it"):
            write(tmp_path)
        with pytest.raises(ss.ResultFileError, match="5 is not the path of a file"):
            write(5)
    with pytest.raises(ss.ResultFileError, match=r"cannot write .*Choose another place"):
        tower(3).save(tmp_path / "text.hdf5" / "problem.hdf5")
    with h5py.File(tmp_path / "empty.hdf5", "w"):
        pass
    with pytest.raises(ss.ResultFileError, match="neither"):
        load_fclib(tmp_path / "empty.hdf5")


def test_command(tmp_path):
    from typer.testing import CliRunner

    from stickslip.cli import app

    tower(4).save(tmp_path / "tower.hdf5")
    done = CliRunner().invoke(app, ["fclib", str(tmp_path / "tower.hdf5"), "--solver", "robust"])
    assert done.exit_code == 0
    assert "tower.hdf5" in done.output
    assert "16" in done.output
    tower(10, tilt=0.1).save(tmp_path / "hard.hdf5")
    done = CliRunner().invoke(app, ["fclib", str(tmp_path / "hard.hdf5"), "--solver", "gauss-seidel", "--tol", "1e-12"])
    assert done.exit_code == 1


def test_contacts_that_stay_open_are_left_out():
    """The first of six closes, pushes the second one shut, and the others stay open: r = (19/15, 8/15, 0, ...)."""
    W, q, sizes = np.eye(12), np.zeros(12), []
    W[0, 2] = W[2, 0] = -0.5
    q[::2] = [-1.0, 0.1, 1.0, 1.0, 1.0, 1.0]

    def climb(part, r, tol):
        sizes.append(part.n_contacts)
        found = solve(part, tol=tol)
        return found.reaction, found.converged

    r = without_open(contacts(W, q, mu=np.zeros(6)), np.zeros(12), 1e-10, climb)
    assert sizes == [1, 2]
    assert r[::2] == pytest.approx([19 / 15, 8 / 15, 0, 0, 0, 0])
    q[4:] = 0.0  # now nothing can be left out
    assert without_open(contacts(W, q, mu=np.zeros(6)), np.zeros(12), 1e-10, climb) is None


def test_bodies_that_stand_apart_are_solved_one_by_one():
    """Two towers whose rows alternate: what is found is what each of them alone needs, to its own tolerance."""
    towers, sizes = [tower(3), tower(4, tilt=0.1)], []
    alone = [solve(each, tol=1e-10) for each in towers]
    W, q = sp.block_diag([each.W.toarray() for each in towers]).toarray(), np.concatenate([each.q for each in towers])
    contact = np.argsort(np.concatenate([np.arange(each.n_contacts) + 0.1 * k for k, each in enumerate(towers)]))
    size = towers[0].n_rows // towers[0].n_contacts
    rows = (size * contact[:, None] + np.arange(size)).ravel()
    mu = np.concatenate([each.laws.mu[1::2] for each in towers])[contact]
    both = contacts(W[np.ix_(rows, rows)], q[rows], mu)

    def climb(part, r, tol):
        sizes.append(part.n_rows)
        found = solve(part, tol=tol)
        return found.reaction, found.converged

    r = islands(both, np.zeros(both.n_rows), 1e-10, climb)
    assert sorted(sizes) == sorted(each.n_rows for each in towers)
    expected = np.concatenate([each.velocity for each in alone])[rows]
    assert both.velocity_of(r) == pytest.approx(expected, abs=1e-8)
    assert islands(towers[0], np.zeros(towers[0].n_rows), 1e-10, climb) is None


def test_many_sweeps_lead_out_of_a_cycle_of_the_robust_method():
    """Impacts of 20 boxes: ADMM ends at a residual of 1e-4, from zero and from what it found."""
    problem = hit_stack(20, seed=8, e=0.2)
    problem = replace(problem, W_given=problem.W, q_given=problem.q, M=None, H=None, f=None, w=None)
    assert not solve(problem, "robust", tol=1e-9).converged
    for found in (solve(problem, tol=1e-9), solve_shortly(problem, np.zeros(problem.n_rows), 1e-9)):
        assert found.converged
        check(problem, found)


def test_a_jam_is_a_self_stress_that_the_step_asks_to_open():
    """A block between two walls, in space: with friction they hold it by any force, without they push it out."""
    normals = np.array([[np.cos(0.3), 0, np.sin(0.3)], [-np.cos(0.3), 0, np.sin(0.3)]])
    H = np.array([[n, np.cross(n, [0, 1, 0]), [0, 1.0, 0]] for n in normals]).reshape(6, 3).T
    for mu, jams in ((1.0, True), (0.2, False), (0.0, False)):
        hit = from_bodies(np.eye(3), H, [0, 0, -1.0], [mu, mu], w=0.5 * (H.T @ [0, 0, -1.0]) * (np.arange(6) % 3 == 0))
        forces = jam_of(hit)
        assert (forces is not None) == jams
        for solver in ("auto", "robust", "newton", "gauss-seidel"):
            assert solve(hit, solver).converged != jams, solver  # not by multipliers of 1e37, beside which u is nothing
        if forces is not None:
            assert min(forces[0], forces[3]) > 0.4
            assert forces.sum() == pytest.approx(1.0)
        assert jam_of(from_bodies(np.eye(3), H, [0, 0, 1.0], [mu, mu])) is None  # it leaves


def test_what_no_solver_finds_has_a_jam():
    """Random problems with free velocities that restitution makes larger: a solution is found of all but those with a jam."""
    jams = 0
    for seed in range(100 * SEARCH):
        problem = random_contacts(np.random.default_rng(seed), 20, ratio=1.0)
        more = 0.5 * np.minimum(problem.q, 0.0) * (np.arange(problem.n_rows) % 3 == 0)
        problem = replace(problem, q_given=problem.q + more)
        found = solve_shortly(problem, np.zeros(problem.n_rows), 1e-9)
        assert found.converged or jam_of(problem) is not None, seed
        jams += not found.converged
    assert jams  # the search has met some


def asked_apart(seed, dimension, most=12, ratio=1e6):
    """Random contacts that restitution asks to separate faster than they would."""
    problem = random_contacts(np.random.default_rng(seed), most, dimension, ratio)
    more = 0.5 * np.minimum(problem.q, 0.0) * (np.arange(problem.n_rows) % dimension == 0)
    return replace(problem, q_given=problem.q + more)


@pytest.mark.parametrize("seed, dimension", [(126, 2), (285, 2), (488, 3), (552, 3)])
def test_forces_beside_which_velocities_vanish_are_not_a_solution(seed, dimension):
    """Sweeps ended at multipliers of 1e15, where W r + q is rounded to exactly zero. Contacts that jam are told."""
    problem = asked_apart(seed, dimension)
    for solver in ("gauss-seidel", "newton", "robust"):
        found = solve(problem, solver)
        assert not found.converged, solver
        assert found.jam is not None
        assert found.jam.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("dimension", [2, 3])
def test_what_converges_in_spite_of_a_jam_is_a_solution(dimension):
    """The same at random: laws hold, and where enumeration says that there is no solution none is found."""
    jams = 0
    for seed in range(100 * SEARCH):
        problem = asked_apart(seed, dimension, most=4, ratio=1.0)
        jams += jam_of(problem) is not None
        none = mode_count(problem.laws) > 0 and solve(problem, "enumeration").no_solution
        for solver in ("gauss-seidel", "newton", "robust"):
            found = solve(problem, solver)
            if found.converged:
                assert not none, (seed, solver)
                check(problem, found)
    assert jams


CONTRADICTIONS = {"plane": (2, 6, 1.0), "space": (3, 20, 1.0), "masses": (3, 12, 1e6)}


@pytest.mark.parametrize("dimension, most, ratio", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_path_leads_to_a_solution_unless_contacts_jam(dimension, most, ratio):
    """It ends at a solution of every problem without a jam, and leaves in the direction of one nowhere else."""
    solved, jammed = 0, 0
    for seed in range(60 * SEARCH):
        problem = asked_apart(seed, dimension, most, ratio)
        end = by_path(problem)
        found = _climb(problem, [], np.zeros(problem.n_rows) if end.reaction is None else end.reaction, 1e-9)
        assert found.converged or jam_of(problem) is not None, seed
        if found.converged:
            check(problem, found)
            assert end.jam is None
        if end.jam is not None:
            assert end.jam.sum() == pytest.approx(1.0)
            assert (end.jam >= 0.0).all()
        solved, jammed = solved + found.converged, jammed + (end.jam is not None)
    assert solved > 40
    assert jammed
    again = by_path(problem)
    np.testing.assert_array_equal(again.reaction, end.reaction)


def by_path(problem, tol=1e-9):
    def finish(r):
        found = solve(problem, "newton", tol, r)
        return found.reaction, found.residual

    return path_to_solution(problem.operator, problem.laws, problem.scales, tol, finish)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_smoothed_cone(size):
    """p - d = y, both inside of the cone, and p ∘ d = t^2 e; derivatives, and what solvers make of them."""
    rng = np.random.default_rng(size)

    def projected(y, t):
        p, J, rest, Q = np.zeros(6), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
        det = smoothed_cone(y, size, t, p, J, rest)
        quadratic(p, det, size, t, Q)
        return (p[:size], *(each[:size, :size] for each in (J, rest, Q)))

    for t in (1.0, 0.1):
        y = np.append(rng.normal(size=size), np.zeros(3))
        p, J, rest, Q = projected(y, t)
        d = p - y[:size]
        assert p[0] > np.linalg.norm(p[1:])
        assert d[0] > np.linalg.norm(d[1:])
        assert p @ d == pytest.approx(t**2)
        np.testing.assert_allclose(p[0] * d[1:] + d[0] * p[1:], 0.0, atol=1e-14)
        steps = 1e-6 * np.eye(y.size)[:size]
        slope = np.array([(projected(y + e, t)[0] - projected(y - e, t)[0]) / 2e-6 for e in steps]).T
        np.testing.assert_allclose(J, slope, atol=1e-8)
        np.testing.assert_allclose(rest, np.eye(size) - J, atol=1e-14)
        np.testing.assert_allclose(rest @ Q, J, atol=1e-12)
        by_t = (projected(y, t + 1e-6)[0] - projected(y, t - 1e-6)[0]) / 2e-6
        np.testing.assert_allclose(by_t, rest @ p * 2 / t, atol=1e-8)


def test_the_derivative_along_a_path():
    """Contacts with and without friction, in the plane and in space, and constraints."""
    for problem in (
        hung_box(),
        random_contacts(np.random.default_rng(4), 6, 2),
        random_contacts(np.random.default_rng(3), 9),
    ):
        op, laws, rng = problem.operator, problem.laws, np.random.default_rng(0)
        curve = curve_of(op, laws, problem.scales)
        curve.opening[:] = rng.uniform(1, 2, curve.opening.size)
        at, z = along(op, curve), np.append(rng.normal(size=problem.n_rows), 0.7)

        def residual(z, derive=False, op=op, laws=laws, curve=curve, at=at):
            F = np.zeros(z.size - 1)
            residual_at(op, laws, curve, z[:-1], z[-1], derive, at, F)
            return F

        F = residual(z, True)
        newton, drift = np.zeros(F.size), np.zeros(F.size)
        assert factor_at(op, laws, curve, at)
        direction(op, laws, curve, at, at.newton, newton)
        direction(op, laws, curve, at, at.drift, drift)
        # a small Newton step takes away its share of F; along the derivative by -log t it does not change
        for step, change in ((np.append(newton, 0.0), -F), (np.append(drift, 1.0), 0.0)):
            slope = (residual(z + 1e-6 * step) - residual(z - 1e-6 * step)) / 2e-6
            np.testing.assert_allclose(slope, change, atol=1e-7)


def test_a_jam_that_friction_just_allows_is_found():
    """One percent above the slope of the walls: less than the polygons of the linear program leave of friction."""
    normals = np.array([[np.cos(0.3), 0, np.sin(0.3)], [-np.cos(0.3), 0, np.sin(0.3)]])
    H = np.array([[n, np.cross(n, [0, 1, 0]), [0, 1.0, 0]] for n in normals]).reshape(6, 3).T
    for share, jams in ((1.01, True), (0.99, False)):
        mu = share * np.tan(0.3)
        hit = from_bodies(np.eye(3), H, [0, 0, -1.0], [mu, mu], w=0.5 * (H.T @ [0, 0, -1.0]) * (np.arange(6) % 3 == 0))
        forces = jam_of(hit)
        assert (forces is not None) == jams
        assert solve(hit).converged != jams
        if forces is not None:
            np.testing.assert_allclose(forces[[0, 3]], 0.5, atol=1e-2)


def test_sweeps_from_zero_forget_where_others_ended():
    problem = hit_stack(8, seed=3, e=0.2)
    far = 1e6 * np.ones(problem.n_rows)
    found = _climb(problem, [("many sweeps", _sweeps_from_zero, False)], far, 1e-9)
    assert found.converged
    np.testing.assert_array_equal(found.reaction, _sweeps_from_zero(problem, np.zeros(problem.n_rows), 1e-9)[0])


def test_newton_from_zero_forgets_where_others_ended():
    problem = hit_stack(4, seed=3, e=0.2)
    found = _climb(problem, [("newton", _newton_from_zero, False)], 1e6 * np.ones(problem.n_rows), 1e-9)
    assert found.converged
    np.testing.assert_array_equal(found.reaction, _newton(problem, np.zeros(problem.n_rows), 1e-9)[0])


def test_levels_that_are_solved_from_zero_take_small_forces():
    """Two blocks, each in a wedge whose friction holds any force: the forces of a start stay, but for a cold one."""
    normals = np.array([[np.cos(0.3), 0, np.sin(0.3)], [-np.cos(0.3), 0, np.sin(0.3)]])
    H = np.array([[n, np.cross(n, [0, 1, 0]), [0, 1.0, 0]] for n in normals]).reshape(6, 3).T
    problem = contacts(np.kron(np.eye(2), H.T @ H), np.tile(H.T @ [0, 0, -1.0], 2), np.ones(4))
    stress = np.array([np.cos(0.3), -np.sin(0.3), 0, np.cos(0.3), np.sin(0.3), 0])
    assert np.abs(problem.W @ np.tile(stress, 2)).max() < 1e-15
    start = np.tile(100 * stress, 2) + 0.01
    warm, cold = (solve_shortly(problem, start, 1e-9, levels=True, cold=cold) for cold in (False, True))
    assert warm.converged
    assert cold.converged
    assert np.abs(warm.reaction).max() > 90
    assert np.abs(cold.reaction).max() < 1


def test_levels_that_do_not_settle_are_solved_together():
    """From multipliers that are nearly right."""
    problem = hit_stack(8, seed=3, e=0.2)
    problem = replace(problem, W_given=problem.W, q_given=problem.q, M=None, H=None, f=None, w=None)
    near = solve(problem, tol=1e-10).reaction * (1 + 1e-5 * np.random.default_rng(0).normal(size=problem.n_rows))
    found = _climb(problem, [("newton", _newton, False)], near, 1e-4)
    assert found.residual > 1e-9
    assert _together(problem, found, 1e-9).residual < 1e-9


def test_short_ladder_finds_what_the_long_one_finds():
    problem = faces(3, 1e-7, 1)
    short, long = solve_shortly(problem, np.zeros(problem.n_rows), 1e-9), solve(problem, tol=1e-9)
    assert short.converged
    assert np.abs(short.velocity - long.velocity).max() < 1e-7
