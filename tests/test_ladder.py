"""The ladder of a step: what Newton's method does not solve, redundant joints, and errors that inform."""

import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import hard_cases as hard
import painleve
import stickslip as ss
from redundant import door
from stickslip.engine import calls, outer, rescue
from stickslip.engine.attempts import ATTEMPTED
from stickslip.engine.contact_sets import STUCK, Sets
from stickslip.engine.failure import friction_prevents
from stickslip.engine.newton import ATTEMPTS


@pytest.mark.parametrize("method", ["rattle", "lobatto", "moreau", "theta"])
def test_each_hinge_carries_half_of_the_door(method):
    """Self-stress does not add up: the largest component of all hinge forces stays half the weight."""
    solution = ss.solve(door(), t_end=0.4, dt=1e-3, method=method, progress=False)
    force = np.abs(solution.P_g[1:]).max(axis=1) / 1e-3
    assert np.abs(force / (30 * 9.81 / 2) - 1).max() < 0.01


def stack(n: int, e: float) -> ss.System:
    """Boxes that fall on each other, the corners of each on the top of the one below."""
    s, rng, size = ss.System("stack"), np.random.default_rng(0), [0.2, 0.2, 0.1]
    s.add(ss.Gravity([0, 0, -9.81]))
    m, J = ss.inertia.box(*size, mass=1.0)
    below = ss.Plane([0, 0, 0], [0, 0, 1])
    for i in range(n):
        place = [rng.uniform(-0.01, 0.01), rng.uniform(-0.01, 0.01), 0.05 + i * 0.1 + 1e-3 * (i + 1)]
        box = s.add(ss.RigidBody(f"box {i}", mass=m, inertia=J, position=place))
        s.add(ss.Contact(f"contact {i}", ss.Box(box, size), below, friction=0.5, restitution=e))
        below = ss.Plane([0, 0, 0.05], [0, 0, 1], box)
    return s


def test_a_stack_of_boxes_that_bounce_is_solved_and_says_by_what():
    solution = ss.solve(stack(6, 0.2), t_end=0.1, dt=2e-3, method="moreau", progress=False)
    assert solution.stats.residuals.max() < 1e-8
    assert sum(solution.stats.solved_by.values()) == 50
    assert "solved by newton" in str(solution.stats)


def test_a_stage_that_wakes_contacts_is_counted_once():
    """What it led to with some of them asleep is not a step. Of 30 steps 11 were counted twice."""
    solution = ss.solve(hard.heap(5), t_end=0.06, dt=2e-3, method="generalized-alpha", progress=False)
    assert sum(solution.stats.solved_by.values()) == 1 + 30  # the first one: initial accelerations


def test_every_attempt_has_a_name():
    assert len(ATTEMPTED) == ATTEMPTS.size
    named = {name: [a for a, each in zip(ATTEMPTS, ATTEMPTED, strict=True) if each == name] for name in ATTEMPTED}
    assert all(a["soft"] != 0 and not a["sweeps"] for a in named["newton with compliance"])
    assert all(a["sweeps"] > 0 for a in named["newton after gauss-seidel"])
    assert all(a["prox"] != 1 for a in named["newton with another prox parameter"])
    assert all(a["step"] < 1 for a in named["newton with half steps"])


def test_a_contact_that_can_neither_be_open_nor_closed_closes_early():
    """Generalized-alpha: closed, its friction opens it; open, it penetrates."""
    system = hard.stack(6, e=0.2, seed=10, space=False)
    solution = ss.solve(system, t_end=0.04, dt=2e-3, method="generalized-alpha", progress=False)
    assert solution.stats.residuals.max() < 1e-8
    assert solution.stats.solved_by["contacts closed early"] >= 1
    assert solution.gap.min() > -1e-8
    # A step acts at gaps of the order of dt^2 times the accelerations, in this step only.
    pushed = np.where(solution.P_N[1:] > 1e-6, solution.gap[1:], 0.0)
    assert 1e-9 < pushed.max() < 1e-4
    assert (pushed.max(axis=1) > 1e-9).sum() == solution.stats.solved_by["contacts closed early"]
    state = solution.state
    again = ss.solve(system, t_end=0.044, dt=2e-3, method="generalized-alpha", start=state, progress=False)
    whole = ss.solve(system, t_end=0.044, dt=2e-3, method="generalized-alpha", progress=False)
    assert np.array_equal(again.q[-1], whole.q[-1])


def test_sets_are_looked_for_anew_where_contacts_were_closed(monkeypatch):
    """However late that is: here in the last step of the iteration but one."""
    monkeypatch.setattr(rescue, "SET_STEPS", 8)
    system = hard.stack(6, e=0.2, seed=10, space=False)
    solution = ss.solve(system, t_end=0.04, dt=2e-3, method="generalized-alpha", progress=False)
    assert solution.stats.solved_by["contacts closed early"] == 1


def test_a_share_of_a_step_that_gains_next_to_nothing_is_not_taken():
    """A heap of 12 spheres stayed at 3.556e-8: 0.03 of each step made that smaller, by 1e-12."""
    assert rescue.gains(0.8, 1.0, 1.0)
    assert rescue.gains(0.99, 0.03, 1.0)
    assert not rescue.gains(3.556e-8 - 1e-12, 0.03, 3.556e-8)


@pytest.mark.parametrize("way", rescue.WAYS)
def test_sets_that_are_not_found_are_looked_for_in_other_ways(monkeypatch, way):
    """Each of them can do without the others: problems that are solved in another way lead to nothing here."""
    honest, taken = rescue.solve_local, set()

    def only(local, tolerance, given):
        taken.add(given)
        found = honest(local, tolerance, given)
        return found if given == way else replace(found, residual=np.inf)

    monkeypatch.setattr(rescue, "solve_local", only)
    monkeypatch.setattr(rescue, "solve_on_bodies", lambda *_: None)
    system = hard.stack(6, e=0.2, seed=10, space=False)
    solution = ss.solve(system, t_end=0.04, dt=2e-3, method="generalized-alpha", progress=False)
    assert solution.stats.residuals.max() < 1e-8
    assert taken == set(rescue.WAYS[: rescue.WAYS.index(way) + 1])


def test_sets_of_contacts_repeat_if_they_return_and_not_if_they_stay():
    """Sets that stay while the residual falls slowly are no cycle; those that return are, and those that stay for too long."""
    sets = Sets.__new__(Sets)
    sets._memory, sets.marks, sets._past = np.array([-1.0, 1.0]), np.arange(2), []
    sets._heads, sets._work = (
        np.zeros((0, 5), np.int64),
        SimpleNamespace(offset=np.zeros(0, np.int64), outputs=np.zeros(1)),
    )
    assert [sets.repeat(error) for error in (1.0, 0.9, 0.8, 0.7)] == [[], [], [], []]
    sets._memory[:] = 1.0
    assert sets.repeat(0.7) == []
    sets._memory[:] = -1.0, 1.0
    assert len(sets.repeat(0.1)) == 0  # the first ones again, but much nearer
    sets._memory[:] = 1.0
    assert len(sets.repeat(0.6)) == 3  # those of two steps ago, and no nearer
    sets._past.clear()
    assert [len(sets.repeat(0.5)) for _ in range(STUCK + 1)] == [0] * STUCK + [STUCK + 1]


def test_sliding_of_order_two_gives_way_where_it_has_no_solution():
    start = painleve.starts(7)[6]
    what, _ = painleve.judge(painleve.rod(), "generalized-alpha:friction=smooth", start)
    assert what == "valid"


def groove() -> ss.System:
    """A ball falls into a groove that is steeper than friction allows it to leave."""
    s, R, a = ss.System("groove"), 0.1, 0.3
    s.add(ss.Gravity([0, 0, -9.81]))
    mass, inertia = ss.inertia.sphere(R, mass=1.0)
    place = [0, 0, R / np.sin(a) + 1e-3]
    ball = s.add(ss.RigidBody("ball", mass=mass, inertia=inertia, position=place, velocity=[0, 0, -1.0]))
    e = s.parameter("e", 0.5)
    for name, side in (("left", 1), ("right", -1)):
        wall = ss.Plane([0, 0, 0], [side * np.cos(a), 0, np.sin(a)])
        s.add(ss.Contact(name, ss.Sphere(ball.point(), R), wall, friction=1.0, restitution=e))
    s.add(ss.Contact("far", ss.Sphere(ball.point(), R), ss.Plane([0, 0, -5], [0, 0, 1]), friction=1.0))
    return s


STEPPING = [n for n, m in ss.METHODS.items() if m().facts.friction and m.compile is ss.Scheme.compile]


@pytest.mark.parametrize("method", [n for n in STEPPING if n != "moreau-variational"])
def test_contacts_that_jam_impact_without_restitution(method):
    """With restitution the ball shall leave the groove, and nothing can make it: the run is the one with e = 0, and says so."""
    s = groove()
    with pytest.warns(ss.ImpactWarning, match=r"contacts jam.*in the step to t = 0\.00\d, in 1 stages in all"):
        stops = ss.solve(s, 0.1, 1e-3, method=method, progress=False)
    assert stops.stats.solved_by["jam without restitution"] == 1
    assert stops.stats.residuals.max() < 1e-8
    plastic = ss.solve(s, 0.1, 1e-3, method=method, parameters={"e": 0.0}, progress=False)
    np.testing.assert_allclose(stops.u[-1], plastic.u[-1], atol=1e-8)
    np.testing.assert_allclose(stops.q, plastic.q, atol=1e-8)


def test_restitution_is_given_up_in_the_steps_that_need_it_alone():
    """A second ball that jumps on a floor keeps its restitution, in the step of the jam and after it."""
    s = groove()
    m, J = ss.inertia.sphere(0.1, mass=1.0)
    other = s.add(ss.RigidBody("other", mass=m, inertia=J, position=[5, 0, -4.9 + 1e-3]))
    s.add(ss.Contact("floor", ss.Sphere(other.point(), 0.1), ss.Plane([0, 0, -5], [0, 0, 1]), restitution=0.8))
    with pytest.warns(ss.ImpactWarning):
        both = ss.solve(s, 0.1, 1e-3, method="moreau", progress=False)
    alone = ss.solve(s, 0.1, 1e-3, method="moreau", parameters={"e": 0.0}, progress=False)
    assert both.stats.solved_by["jam without restitution"] == 1
    assert both["other.z"].max() > -4.9 + 2e-4
    np.testing.assert_allclose(both["other.z"], alone["other.z"], atol=1e-9)


def press(tilt: float, mu: float, e: float, space: bool = True) -> ss.System:
    """A mass in a groove whose walls, tilted by an angle, move towards each other."""
    s = ss.System("press")
    (x, y, z), u = s.coordinates("x y z", initial=[0, 0, 1e-3], velocity=[0, 0, 0])
    s.kinetic_energy((u[0] ** 2 + u[1] ** 2 + u[2] ** 2) / 2)
    for name, side in (("left", 1), ("right", -1)):
        gap = side * np.cos(tilt) * x + np.sin(tilt) * z + 1e-3 - 0.1 * s.time
        slip = [side * np.sin(tilt) * u[0] - np.cos(tilt) * u[2], u[1]]
        s.contact(gap=gap, slip=slip if space else slip[0], friction=mu, restitution=e, name=name)
    return s


@pytest.mark.parametrize("e, and_so_on", [(0.5, ", or no restitution of these contacts"), (0.0, "")])
@pytest.mark.parametrize("method", ["moreau", "rattle"])
def test_contacts_that_jam_for_another_reason_are_named(method, e, and_so_on):
    """Nothing can give way where friction holds the mass between the walls."""
    words = rf"contacts jam: friction can hold.*Not closed: (left, right|right, left)\. Less friction helps{and_so_on}\. The"
    with pytest.raises(ss.ConvergenceError, match=words):
        ss.solve(press(0.3, 1.0, e), 0.1, 1e-3, method=method, progress=False)


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("space", [False, True])
def test_advice_for_a_step_without_solution_names_what_is_to_blame(mu, space):
    """Parallel walls leave no way out, whatever their friction; without it no word is lost about it."""
    with pytest.raises(
        ss.ConvergenceError, match="A smaller dt may help, or on_failure='subdivide' for single steps"
    ) as error:
        ss.solve(press(0.0, mu, 0.0, space), 0.1, 1e-3, method="rattle", progress=False)
    told = str(error.value)
    assert "does not help" not in told
    assert "restitution" not in told
    assert "friction" not in told


def test_friction_is_to_blame_for_what_has_a_solution_without_it():
    """Two walls that approach a mass: it can slip out between tilted ones, but not between parallel ones."""

    class Disk(ss.Cone):
        def project(self, y, radius):
            return [ss.math.maximum(-radius, ss.math.minimum(y[0], radius))]

    n = np.array([[np.cos(0.3), np.sin(0.3)], [-np.cos(0.3), np.sin(0.3)]])
    rows = np.array([n[0], [n[0, 1], -n[0, 0]], n[1], [n[1, 1], -n[1, 0]]])
    W, q = rows @ rows.T, np.array([-1.0, 0.0, -1.0, 0.0])
    assert friction_prevents(ss.nonsmooth.contacts(W, q, [1.0, 1.0]))
    assert friction_prevents(ss.nonsmooth.contacts(W, q, [1.0, 1.0], cone=Disk()))
    assert not friction_prevents(ss.nonsmooth.contacts(W, q, [0.0, 0.0]))
    rows = np.array([[1, 0], [0, -1], [-1, 0], [0, 1]])
    assert not friction_prevents(ss.nonsmooth.contacts(rows @ rows.T, q, [1.0, 1.0]))
    assert not friction_prevents(ss.nonsmooth.contacts(1e-300 * W, q, [1.0, 1.0]))  # out of range: nobody knows
    assert not friction_prevents(None)


def test_advice_for_a_block_between_walls_that_close_does_not_speak_of_friction():
    """There is none, and no restitution."""
    s = ss.System("press")
    (x,), _ = s.coordinates("x", initial=[0.5], velocity=[0.0])
    s.mass_matrix([[1.0]])
    s.contact(gap=x - s.time, name="left")
    s.contact(gap=1.0 - x, name="right")
    with pytest.raises(ss.ConvergenceError, match=r"A smaller dt may help.*, or another geometry\. The"):
        ss.solve(s, 1.2, 1e-2, progress=False)


def test_far_contacts_have_no_part_in_a_step_that_cannot_be_solved():
    """A mass on a string takes no step of 0.12 s at 10 m/s, whatever is 10 km away."""
    s = ss.System("whirl")
    mass = s.add(ss.PointMass("mass", mass=1.0, position=[1, 0], velocity=[0, 10.0]))
    s.add(ss.Rod("string", ss.ground.point(0, 0), mass.point()))
    for name, depth in (("near", 0.02), *((f"far {k}", 1e4 + k) for k in range(40))):
        s.add(ss.Contact(name, ss.Sphere(mass.point(), 0.01), ss.Line([0, -depth], [0, 1]), friction=0.3))
    with pytest.raises(ss.ConvergenceError) as error:
        ss.solve(s, 0.12, 0.12, method="rattle", progress=False)
    assert error.value.problem.n_contacts == 1


def test_convergence_errors_are_pickled():
    part = ss.solve(ss.benchmarks.bouncing_ball(), t_end=0.02, dt=1e-2, progress=False)
    error = ss.ConvergenceError("no", time=0.5, step=3, stage="s", residual=1.0, solution=part, names=("tip",))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.step, again.names) == ("no", 3, ("tip",))
    assert np.array_equal(again.solution.q, part.q)


def test_a_solver_that_only_seems_to_solve_a_stage_is_not_counted(monkeypatch):
    """Newton's method tests what another solver has found: what fails there was not solved, and no count is negative."""

    def boast(tables, k, memory, *others):
        before = memory.copy()
        out = honest(tables, k, memory, *others)
        memory[:] = before
        boasts.append(k)
        return out._replace(solved=True, early=0.0)

    boasts, honest = [], rescue.rescue
    monkeypatch.setattr(rescue, "rescue", boast)
    system = hard.stack(6, e=0.2, seed=10, space=False)
    with pytest.raises(ss.ConvergenceError) as error:
        ss.solve(system, t_end=0.04, dt=2e-3, method="generalized-alpha", progress=False)
    counts = error.value.solution.stats.solved_by
    assert boasts
    assert set(counts) <= set(ATTEMPTED)
    assert min(counts.values()) > 0


@pytest.mark.parametrize("reach", [outer.REACH, 1e-6])
def test_contacts_that_are_far_away_are_left_out_of_a_rescue(monkeypatch, reach):
    """However few contacts are taken at first, all of them are closed or open in the end."""
    rows, honest = [], rescue.local_problem

    def noted(*stage):
        local = honest(*stage)
        rows.append(0 if local is None else local.problem.n_rows)
        return local

    monkeypatch.setattr(rescue, "local_problem", noted)
    monkeypatch.setattr(rescue, "REACH", reach)
    monkeypatch.setattr(calls, "CHEAP", 1)
    monkeypatch.setattr(calls.LoopCalls, "_solve_by_bodies", lambda self, failed: "")
    solution = ss.solve(hard.heap(8), t_end=0.4, dt=2e-3, method="rattle", progress=False)
    assert len(rows) > 5
    assert max(rows) < 100  # of 3 (28 pairs + 40 walls)
    assert solution.gap.min() > -1e-7
    assert solution.stats.residuals.max() < 1e-8


def test_steppers_and_ensembles_tell_of_a_jam_too():
    with ss.stepper(groove(), 1e-3, method="moreau") as sim, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sim.step(50)
        sim.step(50)
    assert [each.category for each in told] == [ss.ImpactWarning]
    with pytest.warns(ss.ImpactWarning, match="contacts jam"):
        runs = ss.ensemble(groove(), 0.1, 1e-3, method="moreau", parameters={"e": [0.0, 0.5]}, workers=1)
    assert not runs.failed.any()
    np.testing.assert_allclose(runs.q[0, -1], runs.q[1, -1], atol=1e-8)


def test_contacts_act_by_impulses_alone_where_forces_do_not_exist():
    """Generalized-alpha, in one step: no forces of the smooth motion, percussions that obey all laws, and forces again."""
    solution = ss.solve(hard.heap(5, seed=7), t_end=0.47, dt=2e-3, method="generalized-alpha", progress=False)
    assert solution.stats.solved_by["contacts by impulses alone"] == 1
    assert solution.stats.residuals.max() < 1e-8
    assert solution.gap.min() > -1e-8
    forces, touching = np.abs(solution.extra["la.N"]).max(axis=1), (solution.P_N > 1e-6).sum(axis=1)
    (step,) = np.flatnonzero((forces == 0.0) & (touching > 5))
    assert forces[step - 1] > 0.0
    assert forces[step + 1] > 0.0
    total = solution.energy().total
    assert total[step] < total[step - 1]
