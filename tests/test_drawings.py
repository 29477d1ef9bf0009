"""Drawings show the mechanics: joints coincide, what touches touches, and what is drawn is what was computed."""

from __future__ import annotations

import base64
import importlib
import json
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import stickslip as ss
from stickslip import plots
from stickslip.errors import OptionError, ResultFileError
from stickslip.filming import drawing_of, shoot
from stickslip.scene import FlatFilm, film
from stickslip.shapes import (
    DRAWINGS,
    Arrow,
    Circle,
    Dot,
    Drawing,
    GroundLine,
    Polygon,
    Polyline,
    Shape,
    Touch,
    Wall,
    ring,
    rotated,
    tiles,
)
from stickslip.touching import mean_forces
from synthetic import make_ball

# Short runs that reach contact: what is not named runs as the registry says, some with larger steps.
SHORT: dict[str, dict] = {
    "arch": {"t_end": 0.4, "build": {"stones": 7, "thickness": 0.08}},
    "ball_bearing": {"t_end": 0.02},
    "ball_in_box": {"t_end": 2.0},
    "cannonballs": {"t_end": 0.2, "build": {"layers": 2}},
    "card_house": {"t_end": 0.1, "build": {"levels": 1}},
    "dice": {"t_end": 0.3, "build": {"count": 1}},
    "dominoes": {"t_end": 0.2, "build": {"count": 3}},
    "elastic_bar": {"dt": 1e-6},
    "elastic_bar_drop": {"t_end": 1.4, "build": {"elements": 20}},
    "flexible_pendulum": {"dt": 2e-4, "t_end": 0.4},
    "heap": {"t_end": 0.25, "build": {"count": 9}},
    "jumping_balls": {"t_end": 0.1, "build": {"count": 3}},
    "newtons_cradle": {"t_end": 0.2},
    "rotor": {"dt": 1e-5, "t_end": 5e-3},
    "silo": {"t_end": 0.15, "build": {"count": 20, "width": 8}},
    "slider_crank": {"t_end": 0.05},
    "slider_crank_minimal": {"t_end": 0.05},
    "spring_pendulum": {"dt": 5e-3, "t_end": 3.0},
    "tower": {"t_end": 0.3, "build": {"count": 3}},
    "woodpecker_toy": {"t_end": 0.3},
}
NAMES = sorted(ss.benchmarks.REGISTRY)


@cache
def solved(name: str) -> ss.Solution:
    entry, short = ss.benchmarks.REGISTRY[name], SHORT.get(name, {})
    system = entry.build(**short.get("build", {}))
    return ss.solve(
        system, short.get("t_end", entry.t_end), short.get("dt", entry.dt), method=entry.method, tol=entry.tol
    )


@cache
def filmed(name: str) -> FlatFilm:
    return film(solved(name), frames=200)


def pictures(name: str, count: int = 20) -> list[tuple[int, list[Shape]]]:
    """Some rows of a solution, the same random ones every time, and what is drawn of them."""
    solution, drawing = solved(name), drawing_of(solved(name))
    parameters = solution.provenance["drawing"]["parameters"]
    rows = np.random.default_rng(1).choice(len(solution), min(count, len(solution)), replace=False)
    return [(int(k), drawing(solution.t[k], solution.q[k], parameters)) for k in rows]


def of(kind: type, shapes: list[Shape]) -> list:
    return [shape for shape in shapes if isinstance(shape, kind)]


# -- every benchmark -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_seen(name):
    """Those from equations have a drawing of their name, those from parts show themselves."""
    system = ss.benchmarks.REGISTRY[name].build()
    if system.drawing is None:
        assert system.parts
        assert drawing_of(solved(name)) is None
    else:
        assert system.drawing is DRAWINGS[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_film_is_made_of_states_and_stays_inside_its_bounds(name):
    solution, scene = solved(name), filmed(name)
    assert 100 < len(scene) <= 200
    assert (np.diff(scene.rows) > 0).all()
    assert scene.rows[0] == 0
    np.testing.assert_array_equal(scene.t, solution.t[scene.rows])
    x_0, x_1, y_0, y_1 = scene.bounds
    assert any(len(track.points) == len(scene) for track in scene.tracks), "nothing moves"
    for track in scene.tracks:
        if track.kind not in ("ground", "hatch", "band"):
            radius = track.look.get("radius", 0.0)
            low, high = track.points.min(axis=(0, 1)) - radius, track.points.max(axis=(0, 1)) + radius
            assert x_0 < low[0] <= high[0] < x_1
            assert y_0 < low[1] <= high[1] < y_1


@pytest.mark.parametrize("name", NAMES)
def test_every_contact_lights_up_exactly_while_it_carries_a_percussion(name):
    solution, scene = solved(name), filmed(name)
    drawn = {track.look["contact"] for track in scene.tracks if track.kind == "touch"}
    assert drawn == set(solution.names.contacts)
    if not drawn:
        return
    assert scene.glow.max() == pytest.approx(1.0), "the run reaches no contact"
    between = list(pairwise(scene.rows))
    force = np.array([solution.P_N[a + 1 : b + 1].sum(axis=0) / (solution.t[b] - solution.t[a]) for a, b in between])
    np.testing.assert_array_equal(scene.glow[1:] > 0, force > 1e-9 * force.max())
    assert (scene.glow[0] == 0).all()


# The drawn distance of a touch from the drawn wall is the gap, up to a factor that the picture exaggerates.
FLAT = {
    "ball_in_box": 1.0,
    "bouncing_ball": 1.0,
    "bouncing_pendulum": 1.0,
    "elastic_bar": 2e4,
    "elastic_bar_drop": 1.0,
    "rotating_bouncing_ball": 1.0,
    "slider_crank": 1.0,
    "slider_crank_minimal": 1.0,
    "woodpecker_toy": 1.0,
}


@pytest.mark.parametrize("name", sorted(FLAT))
def test_the_drawn_distance_of_a_contact_is_its_gap(name):
    solution = solved(name)
    size = max(filmed(name).size)
    for row, shapes in pictures(name):
        edges = [
            edge
            for g in of(GroundLine, shapes)
            for edge in zip(g.anchors[:-1], np.diff(g.anchors, axis=0), strict=True)
        ]
        lines = [(point, np.array([-along[1], along[0]]) / np.hypot(*along)) for point, along in edges]
        lines += [(wall.anchors[0], wall.anchors[1]) for wall in of(Wall, shapes)]
        for touch in of(Touch, shapes):
            gap = FLAT[name] * solution.gap[row, solution.names.contacts.index(touch.contact)]
            distances = [float(normal @ (touch.anchors[0] - point)) for point, normal in lines]
            assert min(abs(d - gap) for d in distances) < 1e-12 * size


def test_on_the_slope_the_mass_lies_on_the_drawn_curve():
    solution = solved("point_mass_on_slope")
    for _, shapes in pictures("point_mass_on_slope"):
        (curve,), (ball,), (touch,) = of(GroundLine, shapes), of(Circle, shapes), of(Touch, shapes)
        x, y = touch.anchors[0]
        # Linear interpolation of exp(-x) between points h = 4.1/119 apart: h^2/8 times the curvature, 1.5e-4 exp(0.7).
        assert np.interp(x, *curve.anchors.T) == pytest.approx(y, abs=3e-4)
        assert np.linalg.norm(curve.anchors - ball.anchors, axis=1).min() > ball.radius - 3e-4
    assert solution.gap.max() < 1e-8


def test_the_spring_pendulum_hangs_on_its_pin():
    for row, shapes in pictures("spring_pendulum"):
        phi, length = solved("spring_pendulum").q[row]
        (coil,), (touch,) = of(Polyline, shapes), of(Touch, shapes)
        np.testing.assert_array_equal(coil.anchors[0], [0, 0])
        np.testing.assert_allclose(coil.anchors[-1], touch.anchors[0])
        assert np.hypot(*touch.anchors[0]) == pytest.approx(length, rel=1e-14)
        assert touch.anchors[0] @ [1, 0] == pytest.approx(length * np.sin(phi), abs=1e-14)


@pytest.mark.parametrize("name", ["slider_crank", "slider_crank_minimal"])
def test_joints_of_the_slider_crank_coincide(name):
    solution = solved(name)
    l1, l2 = (solution.provenance["drawing"]["parameters"][key] for key in ("l1", "l2"))
    for _, shapes in pictures(name):
        rod, crank = of(Polyline, shapes)
        (slider,) = of(Polygon, shapes)
        middle = slider.anchors.mean(axis=0)
        np.testing.assert_allclose(crank.anchors[0], [0, 0], atol=2e-8)  # the residual of the constraints, tol = 1e-8
        np.testing.assert_allclose(crank.anchors[1], rod.anchors[0], atol=2e-8)
        np.testing.assert_allclose(rod.anchors[1], middle, atol=2e-8)
        for line, length in ((crank, l1), (rod, l2)):
            assert np.hypot(*np.diff(line.anchors, axis=0)[0]) == pytest.approx(length, rel=1e-12)
        corners = np.array([touch.anchors[0] for touch in of(Touch, shapes)])
        assert np.linalg.norm(corners[:, None] - slider.anchors, axis=-1).min(axis=1).max() < 1e-15


def test_both_forms_of_the_slider_crank_touch_at_the_same_places():
    from_parts = shoot(ss.solve(ss.benchmarks.slider_crank(parts=True), t_end=0.01, dt=1e-4))
    ours = shoot(solved("slider_crank"), t_end=0.01)
    np.testing.assert_allclose(ours.spots.places, from_parts.spots.places, atol=1e-6)
    np.testing.assert_array_equal(ours.spots.states > 0, from_parts.spots.states > 0)


def test_without_clearance_the_slider_has_no_lights():
    scene = film(ss.solve(ss.benchmarks.slider_crank_minimal(c=0.0), t_end=0.01, dt=1e-4))
    assert "touch" not in {track.kind for track in scene.tracks}


def test_a_drift_of_the_pendulum_s_joint_can_be_seen():
    shapes = DRAWINGS["pendulum"](0.0, [1.0, 0.1, 0.0], {"L": 1.0})
    np.testing.assert_allclose(of(Polyline, shapes)[0].anchors[0], [0.0, 0.1], atol=1e-15)


def test_the_journal_touches_the_drawn_bearing_when_its_gap_closes():
    solution = solved("rotor")
    for row, shapes in pictures("rotor"):
        bearing, journal = (shape.anchors for shape in of(Polygon, shapes)[:2])
        radii = [np.linalg.norm(rim - rim.mean(axis=0), axis=1).max() for rim in (bearing, journal)]
        room = radii[0] - radii[1] - np.linalg.norm(journal.mean(axis=0) - bearing.mean(axis=0))
        # The model's distance of the centres is rounded off within 1e-9 m, and is that of a turned frame: 2nd order.
        assert room == pytest.approx(200 * solution.gap[row, 0], abs=200 * 2e-8)


def test_parameters_of_the_run_reach_the_picture(tmp_path):
    """Also those that the builder got, and also after a file."""
    ball = ss.benchmarks.rotating_bouncing_ball(R=0.2)
    solution = ss.solve(ball, t_end=0.1, dt=1e-2)
    loaded = ss.load(solution.save(tmp_path / "ball.h5"))
    changed = ss.solve(ball, t_end=0.1, dt=1e-2, parameters={"R": 0.3})
    for case, radius in ((solution, 0.2), (loaded, 0.2), (changed, 0.3)):
        assert next(t.look["radius"] for t in film(case).tracks if t.kind == "disk") == radius


# -- shapes, drawings, films ---------------------------------------------------------------------------------------------


def ball_drawing(**options) -> Drawing:
    def draw(state):
        x, y = state.q
        return [Wall((0, 0), normal=(0, 1)), Circle((x, y + 0.1), 0.1), Dot((x, y), trail=True), Touch("floor", (x, y))]

    return Drawing("ball of a test", draw, **options)


def test_a_user_s_own_system_can_be_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    system = ss.System("my own ball")
    (y,), (v,) = system.coordinates("y", initial=[1.0], velocity=[0.0])
    system.kinetic_energy(v**2 / 2)
    system.contact(gap=y, name="floor")

    @ss.drawing
    def my_ball(state):
        return [Circle((0, state.q[0] + 0.1), 0.1), Touch("floor", (0, state.q[0]))]

    assert "drawing" not in ss.solve(system, t_end=0.01, dt=1e-3).provenance
    system.drawing = my_ball
    solution = ss.solve(system, t_end=0.01, dt=1e-3)
    assert solution.view().name == "my_own_ball.html"
    loaded = ss.load(solution.save("ball.h5"))
    assert len(film(loaded)) == len(film(solution)) == 11
    monkeypatch.delitem(DRAWINGS, "my_ball")
    with pytest.raises(OptionError, match=r"unknown drawing 'my_ball'.*Import the module that defines it"):
        loaded.view()


def test_a_solution_without_a_drawing_says_what_to_do(ball):
    with pytest.raises(OptionError, match=r"'ball on a floor' has nothing to draw: .* `system.show\(...\)`"):
        ball.view()


def test_what_stands_still_is_stored_once(ball):
    scene = film(ball, ball_drawing())
    moving = {track.kind: len(track.points) > 1 for track in scene.tracks}
    assert moving == {"ground": False, "hatch": False, "disk": True, "dot": True, "touch": True}


def test_a_film_shows_the_part_that_one_asks_for(ball):
    assert film(ball, ball_drawing(span=0.5)).t[-1] == pytest.approx(0.5)
    assert film(ball, ball_drawing(span=0.5), t_end=1.0).t[-1] == pytest.approx(1.0)
    late = film(ball, ball_drawing(span=0.2), t_start=1.0, frames=11)
    np.testing.assert_allclose(late.t, np.linspace(1.0, 1.2, 11), atol=1e-12)
    assert film(ball, ball_drawing(bounds=(-1, 1, -2, 2))).size == (2, 4)
    with pytest.raises(OptionError, match="no state lies between t = 7 and"):
        film(ball, ball_drawing(), t_start=7.0)
    with pytest.raises(OptionError, match="frames = 0"):
        film(ball, ball_drawing(), frames=0)


def test_a_run_without_steps_is_one_frame(tmp_path):
    still = make_ball(steps=0)
    assert len(film(still, ball_drawing())) == 1
    assert still.view(ball_drawing(), tmp_path / "still.html").exists()
    assert isinstance(plots.strip(still, ball_drawing()), Figure)


def test_impulses_between_frames_are_not_lost(ball):
    rows = np.array([0, 40, 100, 1500])
    force = mean_forces(ball.t, ball.P_N, rows)
    assert (force[1:, 0] * np.diff(ball.t[rows])).sum() == pytest.approx(ball.P_N.sum(), rel=1e-13)


def test_drawings_that_cannot_be_filmed_are_refused(ball):
    def changing(state):
        return [Dot(state.q)] * (1 + (state.t > 0.5))

    with pytest.raises(OptionError, match=r"'a': frame \d+ has other shapes than frame 0"):
        film(ball, Drawing("a", changing))
    with pytest.raises(OptionError, match=r"'b': unknown contact 'flor'; did you mean 'floor'\?"):
        film(ball, Drawing("b", lambda state: [Touch("flor", state.q)]))
    with pytest.raises(OptionError, match="'c' shows nothing"):
        film(ball, Drawing("c", lambda state: [Dot((np.nan, 0.0))]))


def test_hatching_is_on_the_solid_side(ball):
    scene = film(ball, Drawing("d", lambda state: [Wall((0, 0), (0, 1)), GroundLine([(0, 0), (1, 0)]), Dot((0, 1))]))
    hatches = [track.points[0].reshape(-1, 2, 2) for track in scene.tracks if track.kind == "hatch"]
    for strokes in hatches:
        np.testing.assert_allclose(strokes[:, 0, 1], 0.0, atol=1e-12)
        assert (strokes[:, 1, 1] < 0).all()
    assert scene.bounds[0] > hatches[0][:, :, 0].min()  # an endless wall leaves the picture


def test_the_camera_sees_distances_across_its_direction():
    points = np.random.default_rng(0).normal(size=(20, 3))
    azimuth, elevation = np.radians([-50.0, 25.0])
    towards = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    seen = Drawing("e", lambda state: [], camera=(-50.0, 25.0)).project(points)
    across = points - np.outer(points @ towards, towards)
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), np.linalg.norm(across, axis=1))


def test_a_disk_in_space_is_round_and_flat(ball):
    p = np.random.default_rng(3).normal(size=4)
    e_1, e_2, e_3 = rotated(p, np.eye(3))
    np.testing.assert_allclose(np.array([e_1, e_2, e_3]) @ np.array([e_1, e_2, e_3]).T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(np.cross(e_1, e_2), e_3, atol=1e-14)
    disk = ring((1, 2, 3), e_1, e_2, radius=0.5)
    assert abs((disk.points - [1, 2, 3]) @ e_3).max() < 1e-14
    scene = film(ball, Drawing("f", lambda s: [*tiles(1.0), ring((*s.q, 0.5), (1, 0, 0), (0, 0, 1), 0.5)]))
    assert {track.kind for track in scene.tracks} == {"line", "area"}


# -- figures and pages ---------------------------------------------------------------------------------------------------


def every_shape(state):
    x, y = state.q
    return [
        Wall((0, 0), (0, 1)),
        Wall((2, 0), (1, 0), depth=0.1),
        GroundLine([(0, 0), (1, 0.5), (2, 0)]),
        Polyline([(0, 0), (x, y)]),
        Polygon([(x, y), (x + 0.1, y), (x, y + 0.1)], "third"),
        Circle((x, y), 0.1, "other"),
        Arrow((x, y), (x, y + 0.3)),
        Dot((x, y), "faint", trail=True),
        Touch("floor", (x, y)),
    ]


EVERY = Drawing("every shape", every_shape, note="a note")


def test_strips_have_a_panel_a_moment(ball, tmp_path):
    figure = plots.strip(ball, EVERY, snapshots=5)
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        f"t = {t:.4g} s" for t in film(ball, EVERY).t[[0, 150, 300, 449, 599]]
    ]
    for ax in figure.axes:
        assert (*ax.get_xlim(), *ax.get_ylim()) == film(ball, EVERY).bounds
    assert plots.save(figure, tmp_path / "strip.png").stat().st_size > 20_000
    with pytest.raises(OptionError, match="snapshots = 0"):
        plots.strip(ball, EVERY, snapshots=0)


@pytest.mark.parametrize("size", [(1.0, 1.0), (10.0, 1.0), (1.0, 3.0)])
@pytest.mark.parametrize("count", [1, 5, 6, 12])
def test_strips_fit_on_a_slide(size, count):
    columns, width, height = plots.motion._layout(count, size)
    assert width / height == pytest.approx(size[0] / size[1])
    assert columns * width <= 16 + 1e-9
    assert -(-count // columns) * (height + 0.42) <= 7.1 + 1e-9


def test_an_animation_has_its_frames_and_size(ball, tmp_path):
    path = plots.animate(ball, tmp_path / "new" / "ball.gif", EVERY, seconds=1.0, fps=10, width=200)
    with Image.open(path) as image:
        assert image.n_frames == 10
        assert image.width == 200
        assert image.info["duration"] == 100
        pixels = []
        for k in range(10):
            image.seek(k)
            pixels.append(np.asarray(image.convert("RGB"), float))
    assert all(np.abs(a - b).max() > 50 for a, b in pairwise(pixels)), "nothing moves"
    with pytest.raises(ResultFileError, match=r"end its name in \.gif or \.mp4"):
        plots.animate(ball, tmp_path / "ball.avi", EVERY)
    with pytest.raises(OptionError, match="must be positive"):
        plots.animate(ball, tmp_path / "ball.gif", EVERY, seconds=0)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg")
def test_an_mp4_has_its_frames_and_size(ball, tmp_path):
    path = plots.animate(ball, tmp_path / "ball.mp4", EVERY, seconds=1.0, fps=10, width=201)
    asked = ["-show_entries", "stream=width,codec_name,nb_read_frames,r_frame_rate", "-count_frames", "-of", "csv=p=0"]
    told = subprocess.run(
        ["ffprobe", "-v", "error", *asked, str(path)], capture_output=True, text=True, check=True
    ).stdout
    assert told.strip() == "h264,200,10/1,10"


def test_without_ffmpeg_an_mp4_says_what_to_do(ball, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ResultFileError, match="need the program ffmpeg, which is not installed.* End the name in .gif"):
        plots.animate(ball, tmp_path / "ball.mp4", EVERY, seconds=0.2)
    assert not (tmp_path / "ball.mp4").exists()


class Page(HTMLParser):
    """Checks that elements are closed, and collects what a browser would fetch, and scripts."""

    VOID = ("meta", "input", "br", "link", "img")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for key, value in attrs if key in ("src", "href", "action", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def unpacked(text: str, dtype=np.float32) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype)


def test_the_page_is_one_file_with_all_frames(ball, tmp_path):
    text = ball.view(EVERY, tmp_path / "page.html").read_text(encoding="utf-8")
    page, shot = Page(text), shoot(ball, EVERY, impact_frames=600)
    assert page.fetched == ["data:,"]  # an empty icon; the browser tests see that nothing else is fetched
    data = json.loads(page.scripts[0])
    assert data["title"] == "ball on a floor"
    assert data["details"] == ["moreau", "dt = 0.001 s", "a note"]
    (run,) = data["runs"]
    np.testing.assert_array_equal(unpacked(run["t"], np.float64), shot.t)
    assert len(shot.t) >= 600
    for stored, trace in zip(run["traces"], shot.traces, strict=True):
        np.testing.assert_array_equal(unpacked(stored["points"]), trace.points.astype(np.float32).ravel())
        assert (stored["kind"], stored["count"]) == (trace.kind, trace.points.shape[1])
        assert f'"{trace.kind}"' in page.scripts[2], "the page cannot draw this"
    curves = {q["name"]: unpacked(q["values"][0]) for q in data["curves"]["quantities"]}
    np.testing.assert_array_equal(curves["floor.gap"], ball.gap[:, 0].astype(np.float32))
    np.testing.assert_array_equal(curves["energy.total"], ball.energy().total.astype(np.float32))
    states = unpacked(run["spots"]["states"], np.uint8)
    assert (states == 3).sum() == len(ss.events(ball).of("impact"))


@pytest.mark.parametrize("name", NAMES)
def test_pages_of_benchmarks_are_small(name, tmp_path):
    assert solved(name).view(path=tmp_path / f"{name}.html").stat().st_size < 5e6


def test_a_film_of_many_shapes_gets_fewer_frames_and_stays_small(ball, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("stickslip.viewer.page"), "BUDGET", 60_000)
    heap = Drawing("heap", lambda s: [Circle((s.q[0] + 0.01 * k, s.q[1]), 0.01) for k in range(150)])
    path = ball.view(heap, tmp_path / "heap.html")
    assert path.stat().st_size < 2e6
    run = json.loads(Page(path.read_text(encoding="utf-8")).scripts[0])["runs"][0]
    assert 60 <= len(unpacked(run["t"], np.float64)) < 150


def test_names_cannot_break_out_of_the_page(ball, tmp_path):
    evil = replace(ball, provenance=ball.provenance | {"system": "</script><script>alert(1)</script> & {{film}}"})
    page = Page(evil.view(EVERY, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert len(page.scripts) == 3
    assert json.loads(page.scripts[0])["title"] == evil.provenance["system"]


def test_pages_go_where_one_asks_and_nowhere_else(ball, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    ball.view(EVERY, tmp_path / "a.html")
    assert not opened
    ball.view(EVERY, tmp_path / "b.html", open_browser=True)
    assert opened == [(tmp_path / "b.html").as_uri()]
    with pytest.raises(ResultFileError, match=r"end its name in \.html"):
        ball.view(EVERY, tmp_path / "a.pdf")
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultFileError, match="cannot write"):
        ball.view(EVERY, tmp_path / "file" / "a.html")


def test_detected_contacts_glow_where_they_are():
    """A disk that rolls on a floor has one glowing point, below it, in every frame after the first."""
    s = ss.System("rolling")
    s.add(ss.Gravity([0, -9.81]))
    ball = s.add(ss.solid("ball", ss.Sphere(ss.ground.point(0, 0.1), 0.1), density=100, velocity=[1, 0]))
    s.add(ss.Collisions("contacts", [ball, ss.Line([0, 0], [0, 1])], friction=0.3))
    solution = ss.solve(s, t_end=0.5, dt=1e-2)
    scene = film(solution, frames=10)
    assert scene.found.frame.tolist() == list(range(1, len(scene)))
    assert np.allclose(
        scene.found.places[:, 0], solution["ball.x"][scene.rows[1:] - 1]
    )  # points are those of the start
    assert np.allclose(scene.found.places[:, 1], 0.0, atol=1e-6)
    before, after = (len(ax.collections) for ax in plots.strip(solution, snapshots=2).axes)
    assert after == before + 3  # rings
