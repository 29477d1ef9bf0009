"""What objects look like: `repr` of every part, HTML in notebooks, with every text escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import stickslip as ss
from one_of_each import PARTS
from stickslip.notebook import html_table, sparkline


class Balanced(HTMLParser):
    """Collects tags that are not closed, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attributes) -> None:
        if tag != "img":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes) -> None:
        pass

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


def read(html: str) -> str:
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser.text


def machine() -> ss.System:
    s = ss.System("crank & <script>alert(1)</script>")
    s.add(ss.Gravity([0, -9.81]))
    crank = s.add(ss.PlanarBody("crank", mass=0.5, inertia=0.1, position=[0.5, 0]))
    pin = s.add(ss.Revolute("pin", ss.ground.point(0, 0), crank.point(-0.5, 0)))
    s.add(ss.SpringDamper("spring", ss.ground.point(1, 1), crank.point(), stiffness=50))
    s.add(ss.Limits("stops", pin.angle, lower=-1, upper=1))
    s.add(ss.Contact("floor", crank.point(0.5, 0), ss.Line([0, -0.4], [0, 1]), friction=0.3))
    return s


def test_a_part_is_printed_as_it_was_made():
    body = ss.PlanarBody("crank", mass=0.5, inertia=0.1, position=[0.5, 0])
    assert repr(body) == "PlanarBody('crank', mass=0.5, inertia=0.1)"
    pin = ss.Revolute("pin", ss.ground.point(0, 0), body.point(-0.5, 0))
    assert repr(pin) == "Revolute('pin', ground.point(0, 0), crank.point(-0.5, 0))"
    assert str(pin) == "revolute joint 'pin'"
    assert repr(ss.Gravity([0, -9.81])) == "Gravity('gravity', [0, -9.81])"
    assert repr(body.point(1, 2)) == "crank.point(1, 2)"
    assert repr(ss.ground) == "ground"


def test_collisions_are_printed_with_their_laws():
    """Also where one is a parameter of the system, which is no number before the part belongs to it."""
    s = ss.System("ball")
    ball, mu = s.add(ss.PointMass("ball", mass=1, position=[0, 1])), s.parameter("mu", 0.3)
    shapes = {"ice": ss.Sphere(ball.point(), 0.1), "rock": ss.Line([0, 0], [0, 1])}
    one = ss.Collisions("c", list(shapes.values()), friction=mu)
    assert repr(one) == "Collisions('c', 2 shapes, friction=mu)"
    s.add(one)
    assert repr(one) == "Collisions('c', 2 shapes, friction=0.3)"
    assert "Collisions" in s._repr_html_()
    table = ss.Collisions("c", shapes, friction={("ice", "rock"): mu}, restitution=0.5)
    assert repr(table) == "Collisions('c', 2 shapes, friction={('ice', 'rock'): mu}, restitution=0.5)"


def test_no_part_is_printed_as_an_address():
    for system in (machine(), ss.benchmarks.rotor(), ss.benchmarks.slider_crank(parts=True)):
        for part in system.parts:
            assert re.match(r"[A-Z]\w+\('", repr(part)), repr(part)
            assert " at 0x" not in repr(part)
            assert len(repr(part)) < 400


@pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.__name__)
def test_every_part_is_printed_with_what_it_was_made_of(kind):
    for make in PARTS[kind]:
        s = ss.System("s")
        part = make(s)
        before = repr(part)
        s.add(part)
        assert before.startswith(f"{kind.__name__}({part.name!r}"), before
        assert repr(part) == before  # numbers are still numbers, although they are parameters now
        assert " at 0x" not in before
        assert len(before) < 300


def test_a_system_in_a_notebook():
    text = read(machine()._repr_html_())
    for words in ("crank & <script>alert(1)</script>", "6 parts", "crank.phi", "rad", "Revolute('pin'", "contacts3"):
        assert words in text


def test_a_solution_in_a_notebook():
    solution = ss.solve(machine(), t_end=0.1, dt=1e-3, progress=False)
    html = solution._repr_html_()
    text = read(html)
    assert "<script>" not in html.replace("&lt;script&gt;", "")
    assert html.count("<iframe") == 1
    assert 'sandbox="allow-scripts' in html
    assert len(html) < 1.5e6
    for words in ("crank.phi", "energy.total", "summary", "wall time", "rattle"):
        assert words in text
    assert html.count("<polyline") == 4


def test_a_solution_without_a_picture_in_a_notebook():
    s = ss.System("bare")
    _, (v,) = s.coordinates("x", initial=[1.0], velocity=[1.0])
    s.kinetic_energy(v**2 / 2)
    html = ss.solve(s, t_end=0.1, dt=1e-2, progress=False)._repr_html_()
    assert "<iframe" not in html
    assert "summary" in read(html)


def test_studies_in_a_notebook():
    solution = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.6, dt=1e-3, progress=False)
    ball = ss.benchmarks.bouncing_ball()
    for study in (
        ss.events(solution),
        solution.stats,
        ss.energy_ledger(solution, ball),
        ss.compare(ball, ["rattle"], 0.1, 1e-2),
    ):
        html = study._repr_html_()
        assert str(study).split()[0] in read(html)
        assert ("<img" in html) == hasattr(study, "plot")
    s, period = ss.benchmarks.impact_oscillator(), 2.0
    given = {"period": period, "count": 4, "transient": 4}
    found = [
        ss.poincare(s, **given),
        ss.bifurcation(s, "e", [0.5, 0.6], progress=False, **given),
        ss.basins(s, {"x": [-0.5, -0.2], "x_dot": [0.0, 0.1]}, period=period, transient=4, progress=False),
        ss.lyapunov(s, period=period, count=2, transient=1),
        ss.sweep(s, 0.1, 1e-2, parameters={"e": [0.5, 0.6]}, progress=False),
        ss.ensemble(s, 0.1, 1e-2, parameters={"e": [0.5, 0.6]}),
    ]
    for study in found:
        html = study._repr_html_()
        assert str(study).split()[0].strip("<") in read(html)
        assert " at 0x" not in str(study)
        assert len(str(study)) < 500
        assert ("<img" in html) == hasattr(study, "plot")


def test_sparklines_keep_spikes_and_survive_little_data():
    t = np.linspace(0, 1, 100_000)
    spike = np.zeros_like(t)
    spike[77_777] = 1.0
    line = sparkline(t, spike)
    assert len(line) < 10_000
    assert ",2.0" in line  # the top
    assert sparkline(t[:1], t[:1]) == ""
    assert sparkline(t[:5], np.full(5, np.nan)) == ""
    assert "<svg" in sparkline(t[:5], np.ones(5))


def test_tables_escape_and_say_what_is_left_out():
    assert "&lt;b&gt;" in html_table([("<b>",)])
    assert "and 7 more" in html_table([("a",)], more=7)


@pytest.mark.parametrize("name", ["bouncing_ball", "elastic_bar", "tippedisk"])
def test_every_kind_of_system_has_a_table(name):
    assert "coordinates" in read(getattr(ss.benchmarks, name)()._repr_html_())
