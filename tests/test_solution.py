from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import stickslip as ss
from stickslip.errors import ResultFileError
from stickslip.solution import ARRAYS, FORMAT_VERSION, Names, Solution, Stats, load
from synthetic import make_ball


def identical(a: np.ndarray, b: np.ndarray) -> bool:
    """Same type, same shape, same bits: -0.0 is not 0.0, and one nan equals another only with the same payload."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_identical(a: Solution, b: Solution) -> None:
    for name in ARRAYS:
        assert identical(getattr(a, name), getattr(b, name)), name
    assert list(a.extra) == list(b.extra)
    assert all(identical(a.extra[name], b.extra[name]) for name in a.extra)
    assert identical(a.stats.iterations, b.stats.iterations)
    assert identical(a.stats.residuals, b.stats.residuals)
    assert (a.stats.stages, a.stats.wall_time) == (b.stats.stages, b.stats.wall_time)
    assert (a.names, a.provenance) == (b.names, b.provenance)


@pytest.mark.parametrize("compress", [False, True])
def test_a_file_gives_back_every_bit(ball, tmp_path, compress):
    u = ball.u.copy()
    u[3] = -0.0, np.nan
    u[4] = np.inf, 5e-324
    ball = replace(ball, u=u, provenance=ball.provenance | {"dt": 0.1 + 0.2, "name": "Größe", "none": None})
    path = ball.save(tmp_path / "ball.h5", compress=compress)
    assert path == tmp_path / "ball.h5"
    assert_identical(ball, load(path))


def test_a_file_keeps_a_run_without_steps_and_without_contacts(tmp_path):
    t, nothing = np.zeros(1), np.zeros((1, 0))
    arrays = dict.fromkeys(ARRAYS, nothing) | {"t": t, "kinetic": t, "potential": t, "q": np.ones((1, 1))}
    stats = Stats(("motion",), np.zeros((0, 1), int), np.zeros((0, 1)), 0.0)
    solution = Solution(**arrays, stats=stats, names=Names(q=("x",)))
    assert_identical(solution, load(solution.save(tmp_path / "point.h5", compress=True)))
    assert solution.stats.time_per_step == 0
    assert list(solution.stats.mean_iterations) == [0]
    assert "steps   " in solution.summary()


def test_numpy_numbers_in_the_provenance_become_plain(ball, tmp_path):
    about = ball.provenance | {"dt": np.float64(1e-3), "n": np.int64(3), "m": np.arange(3.0)}
    loaded = load(replace(ball, provenance=about).save(tmp_path / "ball.h5"))
    assert loaded.provenance["dt"] == 1e-3
    assert (loaded.provenance["n"], loaded.provenance["m"]) == (3, [0.0, 1.0, 2.0])


def test_saving_makes_directories_replaces_files_and_leaves_nothing_else(ball, tmp_path):
    path = tmp_path / "a" / "b" / "ball.h5"
    ball.save(str(path))
    make_ball(steps=3).save(path)
    assert len(load(path)) == 4
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_save_keeps_the_older_file(ball, tmp_path):
    path = ball.save(tmp_path / "ball.h5")
    broken = replace(ball, provenance={"system": object()})
    with pytest.raises(TypeError, match="JSON cannot express"):
        broken.save(path)
    assert_identical(ball, load(path))
    assert list(tmp_path.iterdir()) == [path]


def test_saving_where_one_cannot_names_the_file(ball, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultFileError, match=r"cannot write .*ball\.h5.*Choose another place"):
        ball.save(tmp_path / "file" / "ball.h5")
    with pytest.raises(ResultFileError, match=r"is a folder\. Name a file in it, such as .*run\.h5"):
        ball.save(tmp_path)
    with pytest.raises(ResultFileError, match="5 is not the path of a file"):
        ball.save(5)


# --- files that are no result --------------------------------------------------------------------------------------


def text_file(path: Path) -> None:
    path.write_text("t, q\n0, 1\n")


def other_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["t"] = np.arange(3)


def newer_format(path: Path) -> None:
    make_ball(3).save(path)
    with h5py.File(path, "a") as file:
        file.attrs.update({"format_version": FORMAT_VERSION + 1, "stickslip_version": "9.0"})


def missing_array(path: Path) -> None:
    make_ball(3).save(path)
    with h5py.File(path, "a") as file:
        del file["P_N"]


def wrong_shape(path: Path) -> None:
    make_ball(3).save(path)
    with h5py.File(path, "a") as file:
        del file["q"]
        file["q"] = np.zeros((2, 2))


def group_for_array(path: Path) -> None:
    make_ball(3).save(path)
    with h5py.File(path, "a") as file:
        del file["q"]
        file.create_group("q")


def truncated(path: Path) -> None:
    make_ball(300).save(path)
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    "write, message",
    [
        (lambda path: None, r"does not exist\. Check the path"),
        (Path.mkdir, "is a directory. Name a result file in it"),
        (text_file, "is not an HDF5 file. Name a result"),
        (Path.touch, "is not an HDF5 file"),
        (other_hdf5, "no stickslip result. Name a result"),
        (newer_format, r"written by stickslip 9\.0 in format 4; .* Upgrade"),
        (missing_array, "damaged stickslip result .*Run the simulation again"),
        (wrong_shape, r"damaged stickslip result .*changed by another program"),
        (group_for_array, "damaged stickslip result"),
        (truncated, "damaged stickslip result|is not an HDF5 file"),
    ],
)
def test_anything_else_is_refused_with_its_name_and_a_remedy(tmp_path, write, message):
    path = tmp_path / "thing.h5"
    write(path)
    with pytest.raises(ResultFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


# --- the data itself -----------------------------------------------------------------------------------------------


def test_arrays_must_fit_the_names(ball):
    with pytest.raises(ValueError, match=r"P_N has the shape \(1501, 0\), expected \(1501, 1\)"):
        replace(ball, P_N=ball.P_gamma)
    with pytest.raises(ValueError, match="extra result 'a/b'"):
        replace(ball, extra={"a/b": ball.q})
    with pytest.raises(ValueError, match=r"extra result 'a' needs .* 1501 rows"):
        replace(ball, extra={"a": ball.q[1:]})


def test_energies_add_up(ball):
    energy = ball.energy()
    np.testing.assert_array_equal(energy.total, ball.kinetic + ball.potential)
    assert energy.total[-1] < energy.total[0]


def test_a_solution_in_one_line(ball):
    text = repr(ball)
    assert "\n" not in text
    assert text.startswith(
        "<Solution: ball on a floor by moreau, 1500 steps, t = 0 .. 1.5, n_q = 2, 1 contact, min gap"
    )
    assert "incomplete" in repr(replace(ball, provenance={"complete": False}))
    assert len(ball) == 1501


def test_the_summary_has_what_matters(ball):
    ball = replace(ball, provenance=ball.provenance | {"complete": False, "interrupted": "stopped by the user"})
    text = ball.summary()
    for part in (
        "moreau (theta = 0.5)",
        "1500 of dt = 0.001",
        "mu = 0.1",
        "1 us per step",
        "iterations, position",
        "(floor)",
        "largest |g_dot|",
        "stopped by the user",
    ):
        assert part in text
    assert "gamma" not in text


def test_statistics_are_the_columns_extremes():
    stats = Stats(("a", "b"), np.array([[3, 1], [2, 0], [4, 1]]), np.array([[1e-9, 0], [2e-9, 0], [0, 1e-12]]), 0.6)
    assert stats.steps == 3
    assert stats.time_per_step == pytest.approx(0.2)
    np.testing.assert_allclose(stats.mean_iterations, [3, 2 / 3])
    np.testing.assert_array_equal(stats.max_iterations, [4, 1])
    np.testing.assert_array_equal(stats.max_residuals, [2e-9, 1e-12])
    assert len(str(stats).splitlines()) == 3


def test_friction_components_are_found_by_element():
    names = Names(friction=("a", "b"), friction_sizes=(1, 3), friction_contact=(0, -1))
    assert names.friction_labels == ("a", "b 1", "b 2", "b 3")
    columns = np.arange(4)
    assert [columns[s].tolist() for s in names.friction_slices] == [[0], [1, 2, 3]]


def test_what_nobody_reads_is_computed_when_it_is_read():
    """Gaps and energies come later, from the rows of the run, also if arrays were changed in between."""
    ball = ss.benchmarks.bouncing_ball()
    eager = ss.solve(ball, 0.5, 1e-2)
    assert not eager.computed  # the energy alarm has energies of its own
    assert len(eager.gap)
    assert eager.computed
    lazy = ss.solve(ball, 0.5, 1e-2)
    assert not lazy.computed
    assert lazy.holds("gap", "kinetic")
    lazy.q[:] = np.nan
    assert (lazy.gap == eager.gap).all()
    assert (lazy.kinetic == eager.kinetic).all()
    assert lazy.computed
    with pytest.raises(AttributeError, match="nothing"):
        lazy.nothing  # noqa: B018
    sent = pickle.loads(pickle.dumps(ss.solve(ball, 0.5, 1e-2, energy_alarm=False)))
    assert (sent.gap == eager.gap).all()
    assert (sent.potential == eager.potential).all()
