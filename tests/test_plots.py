from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

import stickslip
from stickslip import plots
from stickslip.errors import ResultFileError
from stickslip.plots.overview import _groups_of_like_scale
from stickslip.plots.panels import MOST_LINES
from stickslip.plots.style import label
from stickslip.solution import Solution
from synthetic import make_ball


def titles(figure: Figure) -> list[str]:
    return [ax.get_title(loc="left") for ax in figure.axes]


def curves(ax) -> dict[str, np.ndarray]:
    return {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}


def without(solution: Solution, **names: tuple) -> Solution:
    """The solution without the columns whose labels are emptied."""
    smaller = replace(solution.names, **names)
    arrays = {"contacts": ("gap", "gap_dot", "P_N"), "friction": ("slip", "P_F"), "g": ("g", "g_dot", "P_g")}
    empty = {array: getattr(solution, array)[:, :0] for name in names for array in arrays.get(name, ())}
    return replace(solution, names=smaller, **empty)


def widened(solution: Solution, coordinates: int) -> Solution:
    """The solution with so many coordinates, all alike."""
    names = tuple(f"x{k}" for k in range(coordinates))
    q = np.tile(solution.q[:, :1], coordinates)
    return replace(solution, q=q, u=q, names=replace(solution.names, q=names, u=names))


def test_the_overview_has_a_panel_for_everything(ball):
    assert titles(plots.plot_solution(ball)) == [
        "coordinates",
        "velocities",
        "gaps",
        "normal percussions a step",
        "friction percussions a step",
        "energies",
        "constraint residuals",
        "Newton iterations",
    ]


def test_the_overview_leaves_out_what_has_no_data(ball):
    smooth = without(ball, contacts=(), friction=(), friction_sizes=(), friction_contact=(), g=())
    assert titles(plots.plot_solution(smooth)) == ["coordinates", "velocities", "energies", "Newton iterations"]


def test_panels_show_the_data(ball):
    np.testing.assert_array_equal(curves(plots.coordinates(ball))["$y$"], ball.q[:, 1])
    np.testing.assert_array_equal(curves(plots.velocities(ball))[r"$\dot{x}$"], ball.u[:, 0])
    np.testing.assert_array_equal(curves(plots.gaps(ball))["floor"], ball.gap[:, 0])
    np.testing.assert_array_equal(curves(plots.normal_percussions(ball))["floor"][1::3], ball.P_N[:, 0])
    np.testing.assert_array_equal(curves(plots.friction_percussions(ball))["floor"][1::3], ball.P_F[:, 0])
    np.testing.assert_array_equal(curves(plots.energies(ball))["total"], ball.energy().total)
    np.testing.assert_array_equal(curves(plots.residuals(ball))["$|g|$"][1:], ball.g[1:, 0])
    assert curves(plots.residuals(ball))["tolerance"] == [1e-8, 1e-8]
    position, velocity = curves(plots.iterations(ball)).values()
    np.testing.assert_allclose(position, ball.stats.iterations[:, 0] - 0.1)
    np.testing.assert_allclose(velocity, ball.stats.iterations[:, 1] + 0.1)


def test_gaps_show_where_penetration_would_be(ball):
    assert plots.gaps(ball).get_ylim()[0] < 0


def test_rounding_errors_of_a_closed_contact_do_not_look_like_penetration(ball):
    ax = plots.gaps(replace(ball, gap=-1e-17 * np.ones_like(ball.gap)))
    assert ax.get_ylim()[1] >= ball.provenance["tol"]


def test_a_panel_draws_what_is_chosen_by_name_or_index_on_given_axes(ball):
    ax = Figure().add_subplot()
    assert plots.coordinates(ball, ax=ax, which=["y"]) is ax
    assert list(curves(ax)) == ["$y$"]
    assert list(curves(plots.coordinates(ball, which=[0]))) == ["$x$"]
    with pytest.raises(ValueError, match="there is no 'z' to plot; there are x, y"):
        plots.coordinates(ball, which=["z"])


def test_too_many_curves_are_cut_and_the_panel_says_so(ball):
    ax = plots.coordinates(widened(ball, 40))
    assert len(curves(ax)) == MOST_LINES
    assert ax.get_title(loc="right") == f"first {MOST_LINES} of 40"


@pytest.mark.parametrize("coordinates", [1, 2, 5, 9, 30])
def test_legends_do_not_cover_data(ball, coordinates):
    figure = plots.plot_solution(widened(ball, coordinates))
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_curves_of_unlike_scale_get_panels_of_their_own():
    assert _groups_of_like_scale(np.array([[0.0, 0.0, 0.0], [1.0, 100.0, -2.0]])) == [[0, 2], [1]]
    assert _groups_of_like_scale(np.array([[0.0, 0.0], [1.0, 3.0]])) == [[0, 1]]
    assert _groups_of_like_scale(np.array([[9.0, 0.0, 0.1]])) == [[0], [1, 2]]
    assert _groups_of_like_scale(np.zeros((3, 2))) == [[0, 1]]
    assert _groups_of_like_scale(np.zeros((3, 0))) == []


def test_a_run_without_steps_has_an_overview(tmp_path):
    assert "Newton iterations" not in titles(plots.plot_solution(make_ball(steps=0)))


def test_names_become_mathematics():
    assert label("phi1") == r"$\varphi_{1}$"
    assert label("omega_x") == r"$\omega_{x}$"
    assert label("phi1_dot") == r"$\dot{\varphi}_{1}$"
    assert label("crank.phi") == r"crank $\varphi$"
    assert label("corner 1") == "corner 1"
    assert label("upper_left") == "upper left"


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_figures_are_written_where_one_asks(ball, tmp_path, ending):
    path = tmp_path / "new" / f"ball.{ending}"
    assert isinstance(ball.plot(path), Figure)
    assert path.stat().st_size > 10_000
    if ending == "png":
        assert imread(path)[..., :3].std() > 0.05


def test_a_figure_of_unknown_format_is_refused(ball, tmp_path):
    with pytest.raises(ResultFileError, match=r"cannot draw .*ball\.docx: end its name in one of .*\.png"):
        ball.plot(tmp_path / "ball.docx")
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultFileError, match="cannot write"):
        ball.plot(tmp_path / "file" / "ball.png")


def test_plotting_neither_needs_nor_touches_pyplot(tmp_path):
    program = f"""
import sys, matplotlib
before = matplotlib.rcParams.copy()  # dict() would ask for a backend, and that imports pyplot
from synthetic import make_ball
make_ball(20).plot({str(tmp_path / "ball.png")!r})
assert "matplotlib.pyplot" not in sys.modules
assert matplotlib.rcParams.copy() == before
"""
    paths = [str(Path(__file__).parent), str(Path(stickslip.__path__[0]).parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "DISPLAY": ""}
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, env=environment)
