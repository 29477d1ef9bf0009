"""Contacts that are far away are left out, and nobody can tell but by the clock."""

from functools import cache

import casadi as ca
import numpy as np
import pytest

import overhead
import stickslip as ss
from stickslip import math
from stickslip.engine import builder
from stickslip.engine.bounds import bounds
from stickslip.engine.tables import COPY

MASS, INERTIA = ss.inertia.sphere(0.05, density=1000)


@cache
def heap(far=20, wall=1.0, sleeps=True):
    """Three balls on a floor, thrown towards a wall that they reach late, with many planes below that they never reach.

    sleeps: False for the programs that are compiled without sleep.
    """
    s = ss.System("heap")
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    balls = [
        s.add(
            ss.RigidBody(
                f"ball {k}", mass=MASS, inertia=INERTIA, position=[0.03 * k, 0, 0.06 + 0.11 * k], velocity=[2, 0, 0]
            )
        )
        for k in range(3)
    ]
    shapes = [ss.Sphere(ball.point(), 0.05) for ball in balls]
    at = s.parameter("wall", wall)
    for k, shape in enumerate(shapes):
        s.add(ss.Contact(f"floor {k}", shape, floor, friction=0.3, restitution=0.2))
        s.add(ss.Contact(f"wall {k}", shape, ss.Plane([at, 0, 0], [-1, 0, 0]), friction=0.3, restitution=0.5))
        for other in shapes[:k]:
            s.add(ss.Contact(f"{k} and {shapes.index(other)}", shape, other, friction=0.2, restitution=0.2))
    for i in range(far):
        s.add(ss.Contact(f"far {i}", shapes[i % 3], ss.Plane([0, 0, -10 - i], [0, 0, 1]), friction=0.3))
    s.add(ss.Gravity([0, 0, -9.81]))
    return s


def equal(a, b):
    own = all(getattr(a, x).tobytes() == getattr(b, x).tobytes() for x in ("t", "q", "u", "P_N", "P_F", "gap"))
    return own and list(a.extra) == list(b.extra) and all(a.extra[x].tobytes() == b.extra[x].tobytes() for x in a.extra)


FACTS = {name: scheme().facts for name, scheme in ss.METHODS.items() if name != "event-driven"}
ALL = [name for name, facts in FACTS.items() if facts.friction and facts.general_kinematics]
VARIANTS = ["rattle:variant=midpoint", "lobatto:variant=midpoint", "generalized-alpha:friction=smooth"]


@pytest.mark.parametrize("method", [*ALL, *VARIANTS])
def test_sleep_changes_no_bit(method, monkeypatch):
    options = {"method": method, "progress": False, "energy_alarm": False}
    with_sleep = ss.solve(heap(), 0.8, 4e-3, **options)
    assert with_sleep.P_N[:, 6].max() > 0  # the wall is hit
    monkeypatch.setattr(builder, "FEWEST", 10**9)
    assert equal(with_sleep, ss.solve(heap(sleeps=False), 0.8, 4e-3, **options))


def test_who_sleeps():
    """Half of the planes sleep from the first step on, and nearly all of them later, although balls collide."""
    with ss.stepper(heap(), 4e-3, method="rattle") as sim:
        declared, awake = sim._run.program.tables.kinds["count"].sum(), []
        for _ in range(100):
            sim.step(1)
            awake.append(sim._run.tables.kinds["count"].sum())
        assert awake[0] <= declared - 10
        assert np.mean(awake) <= declared - 17
        assert sim._run.program.tables.kinds["count"].sum() == sim._run.program.tables.kinds["capacity"].sum()


six_balls = cache(overhead.heap)  # on a floor, all pairs declared, and planes a hundred metres below


@pytest.mark.parametrize("method", VARIANTS)
def test_sleep_where_bounds_depend_on_parameters_alone(method):
    def ball(far):
        s = ss.System("ball")
        body = s.add(ss.PlanarBody("ball", mass=1.0, inertia=0.004, position=[0, 0.12], velocity=[1, 0]))
        s.add(ss.Gravity([0, -9.81]))
        for k in range(1 + far):
            s.add(ss.Contact(f"{k}", ss.Sphere(body.point(), 0.1), ss.Line([0, -10.0 * k], [0, 1]), friction=0.3))
        return s

    many, one = (ss.solve(ball(far), 0.2, 1e-2, method=method, progress=False) for far in (20, 0))
    assert one.P_N.max() > 0
    np.testing.assert_array_equal(many.q, one.q)


@pytest.mark.parametrize("method", ALL)
def test_contacts_that_are_far_away_are_not_even_counted(method):
    """With and without 240 planes far away, every step looks at as many instances and writes rows of as many numbers, but for
    a few of 150 where a jump of accelerations leads out of all boxes."""
    looked_at, columns = [], []
    for far in (0, 240):
        with ss.stepper(six_balls(far), 2e-3, method=method) as sim:
            run, seen = sim._run, 0
            for _ in range(150):
                rows, _ = run.rows(1)
                seen += int(run.tables.kinds["count"].sum())
            looked_at.append(seen)
            columns.append(rows.results.shape[1])
            assert run.program.step[:, 3][run.program.step[:, 0] == COPY].max(initial=0) <= sim.q.size
    at_impacts = 4 if method in ("generalized-alpha", "half-explicit-adaptive") else 0  # accelerations, or steps, jump
    assert looked_at[0] <= looked_at[1] <= looked_at[0] + 240 * at_impacts
    assert columns[0] == columns[1]


@pytest.mark.parametrize("method", ["half-explicit", "generalized-alpha:record=true"])
def test_further_results_of_a_scheme(method, tmp_path, monkeypatch):
    """Their columns stand behind those of percussions, between others: all come out as without sleep, bit for bit, thinned
    out, in a file, and continued from the middle."""

    def runs(system, file):
        options = {"method": method, "progress": False, "energy_alarm": False}
        whole = ss.solve(system, 0.6, 4e-3, states=True, **options)
        thin = ss.solve(system, 0.6, 4e-3, save_every=7, **options)
        rest = ss.solve(system, 0.6, 4e-3, start=whole.states[40], **options)
        return whole, thin, rest, ss.solve(system, 0.6, 4e-3, out=file, **options)

    with_sleep = runs(heap(), tmp_path / "one.h5")
    monkeypatch.setattr(builder, "FEWEST", 10**9)
    for one, two in zip(with_sleep, runs(heap(sleeps=False), tmp_path / "two.h5"), strict=True):
        assert equal(one, two)


@pytest.mark.parametrize("every", [1, 7])
def test_percussions_of_contacts_that_never_close_come_when_they_are_read(every, tmp_path):
    options = {"method": "rattle", "save_every": every, "progress": False}
    solution = ss.solve(six_balls(30), 0.3, 2e-3, **options)
    assert "P_N" not in vars(solution)
    assert solution.P_N.shape == (len(solution), 6 + 15 + 30)
    near = ss.solve(six_balls(0), 0.3, 2e-3, **options)
    np.testing.assert_array_equal(solution.P_N[:, :21], near.P_N)
    np.testing.assert_array_equal(solution.P_F[:, :42], near.P_F)
    assert not solution.P_N[:, 21:].any()
    ss.solve(six_balls(30), 0.3, 2e-3, out=tmp_path / "balls.h5", **options)
    np.testing.assert_array_equal(ss.load(tmp_path / "balls.h5").P_N, solution.P_N)


def test_restart_in_the_middle_of_a_nap():
    whole = ss.solve(heap(), 0.8, 4e-3, states=True, progress=False, energy_alarm=False)
    for k in (7, 60, 110):
        rest = ss.solve(heap(), 0.8, 4e-3, start=whole.states[k], progress=False, energy_alarm=False)
        np.testing.assert_array_equal(rest.q, whole.q[k:])
        np.testing.assert_array_equal(rest.P_N[1:], whole.P_N[k + 1 :])


def test_a_wall_that_is_moved_wakes_up():
    """Changing a parameter moves a contact that sleeps into the way."""
    with ss.stepper(heap(wall=50.0), 4e-3, method="rattle") as sim:
        sim.step(30)
        wall = float(sim.q[0]) + 0.1
        sim.set(wall=wall)
        sim.step(60)
        assert max(sim.q[0::7]) <= wall - 0.05 + 1e-9


def test_bounds_contain_all_values():
    x = ca.SX.sym("x", 6)
    expressions = [
        ca.sqrt((x[0] - x[1]) ** 2 + (x[2] - x[3]) ** 2) - x[4] ** 2,
        x[0] * ca.cos(x[1]) - x[2] * ca.sin(x[1]) + x[3],
        x[0] / x[1],
        1 / x[5] * x[2] - 2 * x[0],
        ca.fabs(x[0] - x[1]) * x[2],
        ca.fmax(x[0], x[1] * x[2]) + ca.fmin(x[3], x[0]),
        ca.exp(x[0]) * ca.tanh(x[1]) - ca.atan(x[2]),
        ca.hypot(x[0], x[1]),
        x[0] * x[0] * x[0],
        x[0] ** 1.5,  # not known: no bounds
        ca.norm_2(x[:3]),
    ]
    f = ca.Function("f", [x], [ca.vertcat(*expressions)])
    b, rng = bounds(f), np.random.default_rng(0)
    for _ in range(100):
        centre, radius = 2 * rng.normal(size=6), np.abs(rng.normal(size=6)) * 10 ** rng.uniform(-3, 1)
        lower, upper = (np.array(each).ravel() for each in b(centre, radius))
        for _ in range(20):
            value = np.array(f(centre + radius * rng.uniform(-1, 1, 6))).ravel()
            outside = (value < lower - 1e-12 * (1 + abs(value))) | (value > upper + 1e-12 * (1 + abs(value)))
            assert not outside.any()
    assert lower[9] == -np.inf
    assert float(b(np.ones(6), np.zeros(6))[0][8]) == float(b(np.ones(6), np.zeros(6))[1][8]) == 1.0


def test_bounds_of_gaps_are_sharp():
    """A plane and a sphere: as wide as the box, not wider."""
    q = ca.SX.sym("q", 6)
    gap = math.norm(q[:3] - q[3:]) - 0.1
    b = bounds(ca.Function("gap", [q], [gap]))
    lower, upper = b(np.array([0, 0, 0, 3, 0, 0.0]), np.full(6, 0.01))
    assert 2.9 - 0.021 < float(lower) < 2.9 < float(upper) < 2.9 + 0.021


def test_rows_of_sleepers_are_zero_whatever_was_there_before(monkeypatch):
    """Percussions of sleepers are not copied into the rows of results: all of them come out as without sleep, bit for bit."""
    options = {"method": "moreau", "progress": False, "energy_alarm": False}
    for every in (1, 7):
        one = ss.solve(heap(), 1.2, 4e-3, save_every=every, **options)
        with monkeypatch.context() as m:
            m.setattr(builder, "FEWEST", 10**9)
            two = ss.solve(heap(sleeps=False), 1.2, 4e-3, save_every=every, **options)
        assert one.P_N.tobytes() == two.P_N.tobytes()
        assert one.P_F.tobytes() == two.P_F.tobytes()
        assert one.q.tobytes() == two.q.tobytes()
