"""Many contacts: rows of two bodies, neighbours that serve several steps, piles that do not sink."""

import importlib

import numpy as np
import pytest

import stickslip as ss
from stickslip.collide import contacts_for, scene_of
from stickslip.collide.broad import nobody
from stickslip.jit import jit_bare
from stickslip.native.wide import ROW, WIDTH, along, place, push

detection = importlib.import_module("stickslip.collide.detect")


@jit_bare
def _along(row, at, v, a, b):
    return along(row, at, v, a, b)


@jit_bare
def _push(rows, at, v, a, b, d_0, d_1, d_2):
    push(rows, at, v, a, b, d_0, d_1, d_2)


def test_rows_of_two_bodies():
    random = np.random.default_rng(1)
    rows, v = random.normal(size=5 * WIDTH).astype(ROW), random.normal(size=24)
    for a, b in ((0, 12), (18, 6)):
        velocities = np.zeros(WIDTH)
        for i in range(6):
            velocities[place(0, i)], velocities[place(1, i)] = v[a + i], v[b + i]
        row = rows[WIDTH : 2 * WIDTH]
        assert np.isclose(_along(rows, WIDTH, v, a, b), row @ velocities, rtol=1e-14)
        new, d = v.copy(), random.normal(size=3)
        _push(rows, WIDTH, new, a, b, *d)
        change = d @ rows[WIDTH : 4 * WIDTH].reshape(3, WIDTH)
        for i in range(6):
            assert np.isclose(new[a + i], v[a + i] + change[place(0, i)], rtol=1e-14)
            assert np.isclose(new[b + i], v[b + i] + change[place(1, i)], rtol=1e-14)
        others = np.setdiff1d(np.arange(24), np.r_[a : a + 6, b : b + 6])
        assert (new[others] == v[others]).all()


def _box_of_spheres(n, random):
    s = ss.System("box of spheres")
    for k in range(n):
        body = s.add(ss.solid(f"ball {k}", ss.Sphere(ss.ground.point(3.0 * k, 0, 1), 0.1), density=1000))
        assert body.name == f"ball {k}"
    walls = [ss.Plane([0, 0, 0], [0, 0, 1]), ss.Plane([-0.2, 0, 0], [1, 0, 0]), ss.Plane([1.0, 0, 0], [-1, 0, 0])]
    rule = s.add(ss.Collisions("touch", [*[p for p in s.parts if hasattr(p, "shapes")], *walls], friction=0.3))
    q = s.q_initial.copy().reshape(n, 7)
    q[:, :3] = random.uniform([0, 0, 0.1], [0.8, 0.8, 0.8], (n, 3))
    return scene_of(s, rule), q


def test_neighbours_that_were_found_before_give_the_same_contacts():
    random = np.random.default_rng(2)
    scene, q = _box_of_spheres(60, random)
    u, known, renewed, found = np.zeros(6 * 60), nobody(len(scene.shapes)), 0, 0
    room, new = detection.room_for(scene, 1000), detection.empty_contacts(1000)
    for _ in range(40):
        q[:, :3] += random.normal(size=(60, 3)) * 1e-3
        u[:] = random.normal(size=u.size) * 0.1
        fresh = contacts_for(scene, q.ravel(), u, 1e-3)
        arguments = q.ravel(), u, 1e-3, detection.empty_contacts(0), new
        count = detection.detect(scene, room, known, *arguments)
        if count == detection.STALE:
            known, renewed = detection.find_neighbours(scene, room, 1e-3), renewed + 1
            count = detection.detect(scene, room, known, *arguments)
        assert count == len(fresh.gap)
        assert (new.key[:count] == fresh.key).all()
        assert (new.gap[:count] == fresh.gap).all()
        found += count
    assert 1 <= renewed < 20
    assert found > 1000


def _lattice(n=3, spacing=2.05, disorder=0.02, walls=False):
    R, random = 0.05, np.random.default_rng(0)
    places = np.array([(i, j, k) for k in range(4) for j in range(n) for i in range(n)], float) * spacing * R
    places += random.uniform(-disorder * R, disorder * R, places.shape)
    places[:, 2] += max(1.05, 1.02 + 2 * disorder) * R
    s = ss.System("pile")
    mass, inertia = ss.inertia.sphere(R, density=1000)
    balls = s.add_many(ss.RigidBody("ball", mass=mass, inertia=inertia), position=places)
    s.add(ss.Gravity([0, 0, -9.81]))
    low, high = [-1.2 * R, -1.2 * R, 0], [((n - 1) * spacing + 1.2) * R] * 2 + [0]
    sides = [(low, [1, 0, 0]), (low, [0, 1, 0]), (high, [-1, 0, 0]), (high, [0, -1, 0])] if walls else []
    planes = [ss.Plane(point, normal) for point, normal in [([0, 0, 0], [0, 0, 1]), *sides]]
    s.add(ss.Collisions("pile", [*[ss.Sphere(b.point(), R) for b in balls], *planes], friction=0.3))
    return s


@pytest.mark.parametrize("solvers", ["newton", "path"])
def test_what_comes_after_the_cap_finds_the_same_motion(solvers, monkeypatch):
    """Every stage is declared to have hit its cap: the solvers that come then solve it below the tolerance too."""
    crowd = importlib.import_module("stickslip.engine.crowd")
    with ss.stepper(_lattice(), dt=1e-3, tol=1e-6) as sim:
        sim.step(70)
        state = sim.state
        sim.step(3)
        swept = sim.u.copy(), sim.contacts
        before = sim.solved_by
        assert before["contact sweeps"] > 20
        sim.state = state
        monkeypatch.setattr(sim._run._crowd, "_sweep_stage", lambda *_: (crowd.STALLED, 1.0, 1, 0, 0))
        monkeypatch.setattr(crowd, "relieve", lambda *_: (0, np.inf))
        monkeypatch.setattr(crowd, "AFTER_CAP", [each for each in crowd.AFTER_CAP if each[0] == solvers])
        sim.step(3)
        after = sim.solved_by
        key = f"contact sweeps, then {solvers}"
        assert after.get(key, 0) - before.get(key, 0) >= 3
        assert after["contact sweeps"] == before["contact sweeps"]
        np.testing.assert_allclose(sim.u, swept[0], atol=2e-5)
        assert sim.contacts.gap.min() > -2.5e-7
        np.testing.assert_allclose(sim.contacts.percussion.sum(axis=0), swept[1].percussion.sum(axis=0), atol=1e-6)


def test_patches_find_what_sweeps_find(monkeypatch):
    """After three sweeps the rest is left to patches: the same motion, and velocities that belong to the multipliers."""
    crowd = importlib.import_module("stickslip.engine.crowd")
    values = importlib.import_module("stickslip.engine.contact_values")
    sweeps = importlib.import_module("stickslip.engine.contact_sweeps")
    patches = importlib.import_module("stickslip.engine.patches")
    solved = []

    def compare(tables, k, memory, work, options, bodies, plan, room, *further):
        count = crowd.set_up(tables, k, memory, work, bodies, plan, room, options.tolerance)
        z, v = room.z.copy(), room.v.copy()
        assert sweeps.accelerated(room, count, options.tolerance, 10_000)[1] < options.tolerance
        found = room.v.copy()
        room.z[:], room.v[:] = z, v
        if sweeps.accelerated(room, count, options.tolerance, 3)[1] > options.tolerance:
            patch = np.zeros(count, bool)
            patch[:5] = True
            before = room.z[:count].copy()
            sweeps.natural_map(room, count)
            patches._solve_patch(room, count, patch, 1, options.tolerance)
            assert (room.z[:count] != before).any()
            with monkeypatch.context() as patched:
                ends = room.who[:count, :2]
                touched = np.unique(ends[:5])
                ring = np.isin(ends, touched[touched < len(room.inverse)]).any(axis=1).sum()
                patched.setattr(patches, "MOST", int(ring))
                assert patches._solve_patch(room, count, patch, 3, options.tolerance) == 1  # there is room for one ring
                patched.setattr(patches, "MOST", int(ring) - 1)
                assert patches._solve_patch(room, count, patch, 1, options.tolerance) == 0
            room.z[:], room.v[:] = z, v
            sweeps.accelerated(room, count, options.tolerance, 3)
            done, residual = patches.relieve(room, count, options.tolerance, 5000)
            assert residual < options.tolerance
            np.testing.assert_allclose(room.v, found, atol=2e-5)
            moved = room.v.copy()
            values.respond(room, count)
            np.testing.assert_allclose(room.v, moved, atol=1e-9)
            solved.append(done)
        return crowd.sweep_stage(tables, k, memory, work, options, bodies, plan, room, *further)

    with ss.stepper(_lattice(), dt=1e-3, tol=1e-6) as sim:
        sim.step(65)
        sim._run._crowd._sweep_stage = compare
        sim.step(4)
    assert len(solved) >= 3


@pytest.mark.parametrize("method, most", [("rattle", 1.3), ("moreau", 1.1)])
def test_contacts_that_may_close_take_part_at_once(method, most):
    """Each contact that joins later costs another solve; a velocity is compared with a velocity, a gap with a path."""
    with ss.stepper(_lattice(5, 2.2, 0.08, walls=True), dt=1e-3, tol=1e-6, method=method) as sim:
        sim.step(130)
        crowd = sim._run._crowd
        stages, linearisations = crowd.stages, crowd.linearisations
        sim.step(150)
        solved = crowd.stages - stages
        assert solved >= 140
        assert crowd.linearisations - linearisations < most * solved
        assert sim._run.work.near[0] == 0.0  # for whoever evaluates a stage next


def test_rooms_grow_without_symbols(monkeypatch):
    """A program with more room has the same motion, bit for bit, and nothing is derived for it."""
    import casadi as ca

    def refuse(*_):
        raise AssertionError("symbolic work for a larger room")

    with ss.stepper(_lattice(), dt=1e-3, tol=1e-6) as sim:
        sim.step(60)
        state = sim.state
        sim.step(5)
        q = sim.q.copy()
        sim.state = state
        run = sim._run
        with monkeypatch.context() as patched:
            patched.setattr(ca, "jacobian", refuse)
            patched.setattr(ca, "Function", refuse)
            run._rooms = {code: 2 * capacity for code, capacity in run._rooms.items()}
            run._replace(run._assembled())
        sim.step(5)
        assert run.tables.kinds["capacity"].sum() > 2 * run.tables.kinds["count"].sum()
        assert (sim.q == q).all()


def test_values_without_derivatives_are_those_of_a_whole_evaluation():
    """Several contacts at once, derivatives left out, and a contact that joins: the residual has the same bits."""
    again = importlib.import_module("stickslip.engine.again")
    contact_rows = importlib.import_module("stickslip.engine.contact_rows")
    local = importlib.import_module("stickslip.engine.local")
    residual = importlib.import_module("stickslip.engine.residual")
    with ss.stepper(_lattice(), dt=1e-3, tol=1e-6) as sim:
        sim.step(80)
        run = sim._run
        sim.step()
        tables, memory, work, u_M = run.tables, run.memory, run.work, run.program.layout.start
        assert tables.groups["wide_values"].any()
        place = next(start for each, start in u_M.items() if each.name == "u_M")
        crowd = run._crowd
        contact_rows.set_up(tables, 0, memory, work, crowd._bodies[0], crowd._plan, crowd._room, 1e-6)
        idle = int((work.offset[: tables.kinds["count"].sum()] < 0).sum())
        memory[place : place + run.columns["u_1"]] += np.random.default_rng(3).normal(size=run.columns["u_1"]) * 0.5
        woken = again.call_again(tables, 0, memory, work)

        @jit_bare
        def set_rows(tables, memory, work):
            residual.set_residual(tables, 0, memory, work)

        set_rows(tables, memory, work)
        smooth = slice(0, int(tables.problems["n_smooth"][0]))
        rows = work.x["residual"][smooth].copy()
        assert 0 < woken <= idle
        local.evaluate_all(tables, 0, memory, work, True, 0.0)
        assert (work.x["residual"][smooth] == rows).all()


@pytest.mark.parametrize("method", ["rattle", "moreau"])
def test_sweeps_measure_a_stage_as_the_loop_does(method):
    """The residual that ends the sweeps, the marks of closed contacts and the natural map are those of every other solver."""
    crowd = importlib.import_module("stickslip.engine.crowd")
    rows = importlib.import_module("stickslip.engine.contact_rows")
    values = importlib.import_module("stickslip.engine.contact_values")
    local = importlib.import_module("stickslip.engine.local")
    random, compared = np.random.default_rng(5), []

    def compare(tables, k, memory, work, options, bodies, plan, room, *further):
        before = memory.copy()
        for size in (0.0, 1e-5, 1e-2):
            memory[bodies.home : bodies.home + len(bodies.of)] += size * random.normal(size=len(bodies.of))
            count = rows.set_up(tables, k, memory, work, bodies, plan, room, options.tolerance)
            error = values.set_values(tables, k, memory, work, bodies, room, count, options.tolerance)
            natural, marked = work.errors[1], memory.copy()
            assert local.evaluate_stage(tables, k, memory, work, options, True) == pytest.approx(error, rel=1e-5)
            assert work.errors[1] == pytest.approx(natural, rel=1e-5, abs=1e-12)
            assert (memory == marked).all()
            compared.append(error)
        memory[:] = before
        return crowd.sweep_stage(tables, k, memory, work, options, bodies, plan, room, *further)

    with ss.stepper(_lattice(), dt=1e-3, tol=1e-6, method=method) as sim:
        sim.step(60)
        sim._run._crowd._sweep_stage = compare
        sim.step(3)
    assert len(compared) >= 9
    assert max(compared) > 1e-3


def test_the_problem_of_a_step_that_cannot_be_solved_is_captured(monkeypatch):
    """A stage is declared unsolved, and too large to be solved as a dense one: the error has the problem of its sweeps."""
    with ss.stepper(_lattice(), dt=1e-3, tol=1e-6, method="moreau") as sim:
        sim.step(30)
        state, run = sim.state, sim._run
        sim.step()
        percussions = np.linalg.norm(sim.contacts.percussion, axis=1)
        sim.state = state
        honest, k = run._call, importlib.import_module("stickslip.engine.capture")._instruction(run, None)[1]

        def fail(*arguments):
            honest(*arguments)
            run._give_up_sweeps(k)
            run._residuals[0, k] = 1.0
            return arguments[3], k

        monkeypatch.setattr(run, "_call", fail)
        asked = sim.problem()
        with pytest.raises(ss.ConvergenceError, match=r"no solution of the velocity stage") as error:
            sim.step()
    problem = error.value.problem
    np.testing.assert_array_equal(asked.q, problem.q)
    assert all(name.startswith("detected") for name in asked.names)
    assert len(set(asked.names)) == len(asked.names) == asked.n_contacts > 5
    found = ss.nonsmooth.solve(problem, tol=1e-9)
    assert found.converged
    reactions = [np.linalg.norm(found.reaction[3 * c : 3 * c + 3]) for c in range(problem.n_contacts)]
    np.testing.assert_allclose(np.sort(reactions)[-5:], np.sort(percussions)[-5:], rtol=1e-4)
