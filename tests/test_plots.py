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
import stickslip as ss
from stickslip import plots
from stickslip.errors import OptionError, ResultFileError
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


def test_the_overview_has_a_panel_for_what_moves_and_acts(ball):
    assert titles(plots.plot_solution(ball)) == [
        "coordinates",
        "velocities",
        "gaps",
        "normal percussions per step",
        "friction percussions per step",
        "energies",
    ]
    assert titles(plots.plot_solution(ball, numerics=True))[-2:] == ["constraint residuals", "Newton iterations"]


def test_the_overview_leaves_out_what_has_no_data(ball):
    smooth = without(ball, contacts=(), friction=(), friction_sizes=(), friction_contact=(), g=())
    assert titles(plots.plot_solution(smooth)) == ["coordinates", "velocities", "energies"]


def machine():
    """Two hinged bars and a disk at rest, with a spring, a motor and a measure."""
    s = stickslip.System("machine")
    s.add(stickslip.Gravity([0, -9.81]))
    bar = s.add(stickslip.PlanarBody("bar", mass=1, inertia=0.1, position=[0.5, 0]))
    pin = s.add(stickslip.Revolute("pin", stickslip.ground.point(0, 0), bar.point(-0.5, 0)))
    disk = s.add(stickslip.PlanarBody("disk", mass=1, inertia=0.1, position=[3, 0]))
    s.add(stickslip.Contact("floor", disk.point(), stickslip.Line([0, 0], [0, 1]), friction=0.3))
    s.add(stickslip.SpringDamper("spring", stickslip.ground.point(0.5, 1), bar.point(), stiffness=5, rest_length=0.5))
    s.add(stickslip.Motor("motor", pin.angle, 0.3))
    s.measure("height", bar.q[1], unit="m")
    return stickslip.solve(s, t_end=0.3, dt=1e-2, progress=False)


@pytest.fixture(scope="module")
def solution():
    return machine()


def test_the_overview_groups_by_unit_and_hides_what_rests(solution):
    figure = plots.plot_solution(solution)
    seen = titles(figure)
    assert seen == ["positions", "angles", "velocities", "angular velocities", "normal forces", "energies", "forces",
                    "torques", "measures"]  # fmt: skip
    units = {ax.get_title(loc="left"): ax.get_ylabel() for ax in figure.axes}
    assert units["positions"] == "[m]"
    assert units["angular velocities"] == "[rad/s]"
    assert units["torques"] == "[N m]"
    assert set(curves(figure.axes[0])) == {"bar $x$", "bar $y$"}  # the disk rests
    assert set(curves(figure.axes[seen.index("forces")])) == {"|pin|", "spring"}


def test_what_is_constant_looks_constant(solution):
    ax = plots.curves(solution, ["floor.force"])
    low, high = ax.get_ylim()
    assert low == 0.0
    assert 9.81 < high < 15


def test_spikes_are_cut_and_said(ball):
    names = replace(ball.names, contact_units=("m",))
    P_N = np.full_like(ball.P_N, 1e-3)
    P_N[7] = 5.0
    ax = plots.curves(replace(ball, P_N=P_N, names=names), ["floor.P"])
    assert ax.get_ylim()[1] < 0.1
    assert ax.get_title(loc="right") == "peaks to 5 N s"


def test_chosen_quantities_get_one_panel_per_unit_and_pairs_a_phase_plot(solution):
    figure = solution.plot(quantities=["bar.x", "pin.force", "bar.y", "spring.force", ("bar.phi", "bar.phi_dot")])
    assert titles(figure)[:2] == ["lengths", "forces"]
    assert set(curves(figure.axes[0])) == {"bar $x$", "bar $y$"}
    assert len(curves(figure.axes[1])) == 3
    phase = figure.axes[2]
    np.testing.assert_array_equal(phase.lines[0].get_xdata(), solution["bar.phi"])
    np.testing.assert_array_equal(phase.lines[0].get_ydata(), solution["bar.phi_dot"])
    assert "[rad/s]" in phase.get_ylabel()
    figure.draw_without_rendering()
    for ax in figure.axes[:2]:
        assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


def test_forces_have_no_value_before_the_first_step(solution):
    force = curves(plots.curves(solution, ["spring.force", "floor.force"]))
    assert np.isnan(force["floor force"][0])
    assert not np.isnan(force["spring force"][0])


def test_panels_take_and_return_axes(solution):
    ax = Figure().add_subplot()
    assert plots.curves(solution, ["bar.x"], ax=ax) is ax
    ax = Figure().add_subplot()
    assert plots.phase(solution, "bar.x", "bar.y", ax=ax) is ax
    assert ax.get_aspect() == 1.0
    ax = Figure().add_subplot()
    assert plots.forces_of(solution, ["pin.force"], ax=ax) is ax


@pytest.mark.parametrize(
    "quantities, message",
    [
        ("bar.x", "must be a list of names"),
        ([], "must be a list of names"),
        ([3], "must be a list of names"),
        ([("a", "b", "c")], "must be a list of names"),
        (["bar.z"], "unknown quantity 'bar.z'; did you mean"),
        ([("bar.x", "pin.force")], "has 2 components; choose one"),
    ],
)
def test_quantities_that_cannot_be_drawn_are_named(solution, quantities, message):
    with pytest.raises(OptionError, match=message):
        solution.plot(quantities=quantities)


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
    for quantity in (next(iter(ball.quantities)), ["x"]):
        with pytest.raises(ss.OptionError, match="not the path of a picture, .* chosen by quantities="):
            ball.plot(quantity)
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


def test_every_plot_function_is_documented_with_an_example():
    page = (Path(__file__).parents[1] / "docs" / "plots.md").read_text(encoding="utf-8")
    for name in plots.__all__:
        assert ">>>" in getattr(plots, name).__doc__, name
        assert f"`{name}" in page or f"plots.{name}(" in page, name


def test_studies_are_drawn_into_axes_of_the_user():
    section = stickslip.poincare(stickslip.benchmarks.impact_oscillator(), period=2.0, count=5, transient=5)
    figure = Figure()
    ax = figure.add_subplot()
    assert plots.plot_section(section, "x", "x_dot", ax=ax) is figure
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), section["x"])


def test_the_overview_of_many_bodies_shows_the_liveliest_and_no_quaternions():
    s = ss.System("twelve balls")
    for k in range(12):
        state = {"position": [k, 0, 0], "velocity": [0, 1e-3 if k < 6 else k, 0], "angular_velocity": [0, 0, 1]}
        s.add(ss.RigidBody(f"ball {k}", mass=1.0, inertia=[0.1] * 3, **state))
    figure = ss.solve(s, t_end=0.1, dt=1e-2, progress=False).plot()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert "orientation" not in titles
    drawn = [line.get_label() for line in figure.axes[titles.index("positions")].lines]
    assert drawn == [f"ball {k} $y$" for k in range(6, 12)]


def test_cut_peaks_leave_no_empty_half():
    from matplotlib.figure import Figure

    from stickslip.plots.chosen import cut_peaks

    ax, force = Figure().add_subplot(), np.full(1000, 1.0)
    force[500] = 1000.0
    ax.plot(force)
    cut_peaks(ax, [force], "N")
    low, high = ax.get_ylim()
    assert 0.5 < low < 1.0 < high <= 1.5
    assert ax.get_title(loc="right") == "peaks to 1e+03 N"
