"""Constraints and contacts that depend on each other: percussions of minimum norm, by every scheme."""

import numpy as np
import pytest

import redundant
import stickslip as ss
from stickslip.engine.dependence import Dependence, dependence_of
from stickslip.engine.derive import derive
from stickslip.engine.numbering import Numbering

G = 9.81


@pytest.fixture(scope="module")
def bennett():
    return redundant.bennett()


@pytest.mark.parametrize(
    "method",
    ["rattle", "lobatto", "generalized-alpha", "moreau", "theta", "half-explicit", "half-explicit-acceleration"],
)
def test_bennett_moves_without_self_stress(bennett, method):
    solution = ss.solve(bennett, t_end=0.4, dt=4e-3, method=method, progress=False, energy_alarm=False)
    share, force = redundant.self_stress(bennett, solution)
    assert share < 0.01
    assert force == pytest.approx(17.0, rel=0.05)
    assert np.abs(solution.g).max() < 1e-8


@pytest.mark.parametrize("method", ["moreau", "moreau-variational", "schatzman-paoli", "rattle", "event-driven"])
def test_three_cranks_share_the_load_in_the_plane(method):
    system = redundant.parallelogram()
    solution = ss.solve(system, t_end=0.2, dt=4e-3, method=method, progress=False, energy_alarm=False)
    assert redundant.self_stress(system, solution)[0] < 0.01


def test_which_constraints_depend_on_each_other():
    def found(system):
        return dependence_of(Numbering(derive(system)))

    doubled = ss.System("doubled")
    bar = doubled.add(ss.PlanarBody("bar", mass=1.0, inertia=1.0, position=[1, 0]))
    doubled.add(ss.Revolute("pin", ss.ground.point(0, 0), bar.point(-1, 0)))
    assert found(doubled) == Dependence(False, False)
    doubled.add(ss.Revolute("again", ss.ground.point(0, 0), bar.point(-1, 0)))
    assert found(doubled) == Dependence(True, False)  # everywhere
    assert found(redundant.door()) == Dependence(True, False)  # it turns about its own axis wherever that is
    assert found(redundant.bennett()) == Dependence(True, True)


def test_large_mechanisms_are_judged_by_sparse_factors():
    def chain(ends: int) -> ss.System:
        s, n = ss.System("chain"), 210
        links = [s.add(ss.PlanarBody(f"link {k}", mass=1.0, inertia=1.0, position=[k + 0.5, 0])) for k in range(n)]
        s.add(ss.Revolute("first", ss.ground.point(0, 0), links[0].point(-0.5, 0)))
        for k in range(n - 1):
            s.add(ss.Revolute(f"pin {k}", links[k].point(0.5, 0), links[k + 1].point(-0.5, 0)))
        for k in range(ends):
            s.add(ss.Revolute(f"last {k}", links[-1].point(0.5, 0), ss.ground.point(n, 0)))
        return s

    assert not dependence_of(Numbering(derive(chain(0)))).dependent
    assert dependence_of(Numbering(derive(chain(2)))).dependent


def test_project_is_the_choice_of_the_user():
    pendulum = ss.benchmarks.pendulum()
    runs = {p: ss.solve(pendulum, 0.2, 1e-2, method="moreau", project=p) for p in ("dependent", "never", "always")}
    assert np.array_equal(runs["dependent"].q, runs["never"].q)  # nothing depends on anything: as printed
    assert np.abs(runs["never"].g).max() > 1e-4
    assert np.abs(runs["always"].g).max() < 1e-8
    with pytest.raises(ss.OptionError, match="sometimes"):
        ss.solve(pendulum, 0.2, 1e-2, method="moreau", project="sometimes")


@pytest.mark.parametrize("method", ["rattle", "moreau", "theta", "generalized-alpha", "half-explicit"])
def test_a_table_stands_on_four_legs_with_the_least_percussions(method):
    """Its load is not in the middle: legs in the plane of least squares, whatever happened when it was set down."""
    s = ss.System("table")
    s.add(ss.Gravity([0, 0, -G]))
    off = np.array([0.1, 0.05])
    table = s.add(
        ss.RigidBody("table", mass=10.0, inertia=[1.0, 1.0, 1.0], position=[0, 0, 0.501], velocity=[0, 0, -0.1])
    )
    feet = np.array([[x, y] for x in (-0.5, 0.5) for y in (-0.4, 0.4)]) - off
    for k, (x, y) in enumerate(feet):
        s.add(ss.Contact(f"leg {k}", table.point(x, y, -0.5), ss.Plane([0, 0, 0], [0, 0, 1]), friction=0.4))
    solution = ss.solve(s, t_end=0.5, dt=5e-3, method=method, progress=False)
    A = np.vstack([np.ones(4), feet.T])
    w = [1 / 10 + x**2 + y**2 for x, y in feet]  # Delassus diagonal: m = 10, J = 1
    legs = np.linalg.lstsq(A / np.sqrt(w), [10 * G, 0, 0], rcond=None)[0] / np.sqrt(w)
    np.testing.assert_allclose(solution.P_N[-1] / 5e-3, legs, rtol=1e-4)


def test_natural_map_and_bilateral_residual_of_every_step():
    pendulum = ss.solve(ss.benchmarks.pendulum(), 0.1, 1e-2, progress=False).stats
    assert not pendulum.natural_map.any()
    assert 0 < pendulum.bilateral_residual.max() <= pendulum.residuals.max() < 1e-8
    ball = ss.solve(ss.benchmarks.rotating_bouncing_ball(case=2), 1.0, 1e-2, progress=False).stats
    assert not ball.bilateral_residual.any()
    assert ball.natural_map.shape == (100,)
    assert ball.natural_map.max() <= ball.residuals.max() < 1e-8
    events = ss.solve(ss.benchmarks.bouncing_ball(), 0.1, 1e-2, method="event-driven", progress=False).stats
    with pytest.raises(ss.OptionError, match="event-driven"):
        events.natural_map  # noqa: B018
