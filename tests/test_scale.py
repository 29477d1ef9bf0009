"""Many instances: patterns times degrees of freedom, sparse systems, contacts that are left out, contacts that come and go."""

import gc
import os
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip import pages
from stickslip.engine.advance import Clock, Options, advance, workspace
from stickslip.engine.derive import derive, derive_template
from stickslip.engine.detected import Detected, own_tables
from stickslip.engine.fields import DT, PERCUSSIONS, Q_0, Q_1, T_0, T_1, U_0, U_1
from stickslip.engine.program import assemble
from stickslip.engine.rooms import occupy
from stickslip.jit import jit, records
from stickslip.model.declaration import Equations
from stickslip.native.call import call_apart
from stickslip.nonsmooth.sparse import ENTRY, solve_islands

MASS, INERTIA = ss.inertia.sphere(0.05, density=1000)


def balls(n, *, floor=True, far=0):
    """Balls in a row over a floor, each with so many planes far below."""
    s = ss.System("balls")
    ground = ss.Plane([0, 0, 0], [0, 0, 1])
    for k in range(n):
        ball = s.add(ss.RigidBody(f"ball {k}", mass=MASS, inertia=INERTIA, position=[0.2 * k, 0, 0.052]))
        if floor:
            s.add(ss.Contact(f"floor {k}", ss.Sphere(ball.point(), 0.05), ground, friction=0.3, restitution=0.2))
        for i in range(far):
            below = ss.Plane([0, 0, -100 - i], [0, 0, 1])
            s.add(ss.Contact(f"far {k} {i}", ss.Sphere(ball.point(), 0.05), below, friction=0.3))
    s.add(ss.Gravity([1.0, 0, -9.81]))
    return s


# -- linear systems ------------------------------------------------------------------------------------------------------


def entries_of(A):
    row, column = np.nonzero(A)
    out = records(np.zeros(len(row), ENTRY))
    out["row"], out["column"], out["value"] = row, column, A[row, column]
    return out


@jit
def through(address, arguments):
    return call_apart(address, arguments)


def solve(*system):
    return through(solve_islands.address(*system), system)


@pytest.mark.parametrize("bodies, multipliers", [(3, 0), (40, 0), (40, 30), (60, 150)])
def test_sparse_systems_are_those_of_numpy(bodies, multipliers):
    """Masses in blocks of six, constraints of two bodies each: more of them on a body than it has velocities."""
    rng = np.random.default_rng(bodies + multipliers)
    n = 6 * bodies
    A = np.zeros((n + multipliers, n + multipliers))
    node = np.concatenate([np.arange(n) // 6, -1 - np.arange(n, n + multipliers)])
    for b in range(bodies):
        block = rng.normal(size=(6, 6))
        A[6 * b : 6 * b + 6, 6 * b : 6 * b + 6] = block @ block.T + 6 * np.eye(6)
    for c in range(n, n + multipliers):
        for b in rng.choice(bodies, 2, replace=False):
            w = rng.normal(size=6)
            A[c, 6 * b : 6 * b + 6], A[6 * b : 6 * b + 6, c] = w, -w
    right = rng.normal(size=len(A))
    x = right.copy()
    assert solve(len(A), entries_of(A), node, x, 1e-11)
    assert np.abs(A @ x - right).max() < 1e-9


def test_singular_systems_are_refused():
    A = np.kron(np.eye(20), np.ones((6, 6)))
    A[0, 6:] = A[6:, 0] = 1.0  # one island
    assert not solve(120, entries_of(A), np.arange(120) // 6, np.ones(120), 1e-11)


# -- patterns times degrees of freedom -------------------------------------------------------------------------------------


def test_an_instance_is_one_row_of_integers():
    """Kernels, patterns and laws do not grow with the number of instances."""
    few, many = (ss.Rattle().compile(derive(balls(n))) for n in (10, 40))
    assert len(few.kernels) == len(many.kernels)
    for table in ("groups", "places", "entries", "laws", "pairs", "kinds"):
        assert len(getattr(few.tables, table)) == len(getattr(many.tables, table))
    assert len(many.tables.dofs) == 4 * len(few.tables.dofs)


def test_many_bodies_move_as_one():
    """Forty balls (a sparse or banded system) do what one does (a dense one)."""
    one, many = (ss.solve(balls(n), t_end=0.1, dt=2e-3, progress=False) for n in (1, 40))
    q = many.q.reshape(len(many.t), 40, 7)
    q[:, :, 0] -= 0.2 * np.arange(40)
    assert np.abs(q - one.q[:, None, :]).max() < 1e-8


@pytest.mark.parametrize("method", ["rattle", "moreau", "generalized-alpha", "lobatto"])
def test_contacts_far_away_change_nothing(method):
    near, far = (ss.solve(balls(2, far=k), t_end=0.1, dt=2e-3, method=method, progress=False) for k in (0, 20))
    columns = [far.names.contacts.index(name) for name in near.names.contacts]
    for a, b in ((near.q, far.q), (near.u, far.u), (near.P_N, far.P_N[:, columns])):
        assert np.abs(a - b).max() < 1e-8  # the tolerance: linear systems may be stored, and so rounded, in other ways
    assert not np.delete(far.P_N, columns, axis=1).any()


# -- contacts that come and go -----------------------------------------------------------------------------------------------


def run(program, tables, memory, steps, dt, before=lambda n: None):
    work, options, layout = workspace(program), Options(1e-10, 30, 0.0), program.layout
    record = layout.places(Q_1, U_1)
    rows, counts = np.zeros((steps + 1, record.size)), (np.zeros((steps, len(program.solved)), np.int64))
    for n in range(steps):
        before(n)
        clock = Clock(*(layout.start[x] for x in (T_0, T_1, DT)), 0.0, dt, np.inf, 0)
        code = (program.begin, program.step, program.carry)
        done, failed = advance(
            tables,
            *code,
            memory,
            work,
            options,
            clock,
            n,
            n + 1,
            record,
            rows,
            counts,
            np.zeros((steps, program.n_residuals)),
        )
        assert (done, failed) == (n + 1, -1)
    return rows[1:]


def test_a_detected_contact_is_a_declared_one():
    """Contacts with the floor, found anew in every step and in another order, against declared ones."""
    scheme, dt, steps = ss.Rattle(), 2e-3, 60
    declared = balls(3)
    reference = ss.solve(declared, t_end=steps * dt, dt=dt, tol=1e-10, progress=False)

    template = ss.System("template")
    body = template.add(ss.RigidBody("A", mass=1, inertia=[1, 1, 1]))
    radius, mu, e = (template.parameter(name, 1.0) for name in ("radius", "mu", "e"))
    equations = Equations("touch")
    foot = body.q[:3] - np.array([0, 0, 1]) * radius
    v = body.velocity_at(foot)
    equations.contact(gap=foot[2], slip=[v[0], v[1]], friction=mu, restitution=e, name="touch")
    kind, columns = derive_template(template.blocks, equations, [radius, mu, e])

    model = derive(balls(3, floor=False))
    program = assemble(
        model, step=scheme.step(), carry=scheme.carry, results=(Q_1, U_1, PERCUSSIONS), given=(),
        detected=[Detected(kind, 3, columns, capacity=5)],
    )  # fmt: skip
    tables, memory = own_tables(program), np.zeros(program.layout.total)
    memory[: program.layout.parameters] = list(model.system.parameter_values().values())
    memory[program.layout.places(Q_0)], memory[program.layout.places(U_0)] = (
        model.system.q_initial,
        model.system.u_initial,
    )
    place = {0: -1, 1: -1, 2: -1}

    def detect(n):
        order = [(n + k) % 3 for k in range(3)] if n > 3 else [2, 0]  # one is found late
        before = np.array([place[b] for b in order])
        occupy(program, tables, memory, 0, np.array(order)[:, None], np.tile([0.05, 0.3, 0.2], (len(order), 1)), before)
        place.update(dict.fromkeys(place, -1) | {b: k for k, b in enumerate(order)})

    rows = run(program, tables, memory, steps, dt, detect)
    assert np.abs(rows[:, :21] - reference.q[1:]).max() < 1e-9
    assert np.abs(rows[:, 21:] - reference.u[1:]).max() < 1e-7


def test_a_full_table_says_so():
    system = balls(1)
    kind = derive(system).parts[-1].type
    program = assemble(
        derive(balls(2, floor=False)),
        step=ss.Rattle().step(),
        carry=ss.Rattle().carry,
        detected=[Detected(kind, 20, tuple(range(kind.parameters.numel())), capacity=1)],
    )
    with pytest.raises(ValueError, match="2 contacts, but room for 1"):
        occupy(
            program,
            own_tables(program),
            np.zeros(program.layout.total),
            0,
            np.zeros((2, 1), int),
            np.zeros((2, 20)),
            np.full(2, -1),
        )


# -- many equal bodies ---------------------------------------------------------------------------------------------------------


def chain(n, many):
    """Bodies in a row; the last hangs on the ground, and two are joined."""
    s = ss.System("row")
    places = np.column_stack([0.3 * np.arange(n), np.zeros(n), np.ones(n)])
    turns = np.tile([1.0, 0.1, 0.2, 0.3], (n, 1))
    spins = np.column_stack([np.arange(n), np.ones(n), np.zeros(n)])
    if many:
        bodies = s.add_many(
            ss.RigidBody("b", mass=0.5, inertia=[0.1, 0.2, 0.25]),
            position=places,
            orientation=turns,
            angular_velocity=spins,
        )
    else:
        bodies = [
            s.add(
                ss.RigidBody(
                    f"b[{k}]",
                    mass=0.5,
                    inertia=[0.1, 0.2, 0.25],
                    position=places[k],
                    orientation=turns[k],
                    angular_velocity=spins[k],
                )
            )
            for k in range(n)
        ]
    s.add(ss.Gravity([0, 0, -9.81]))
    s.add(ss.Contact("floor", ss.Sphere(bodies[1].point(), 0.1), ss.Plane([0, 0, 0], [0, 0, 1]), friction=0.2))
    s.add(ss.Spherical("pin", ss.ground.point(*places[-1]), bodies[-1].point()))
    s.assemble()
    return s


def test_many_equal_bodies_are_those_added_one_by_one():
    one, many = (ss.solve(chain(4, k), t_end=0.2, dt=1e-2, progress=False) for k in (False, True))
    assert one.names == many.names
    assert np.array_equal(one.q, many.q)
    assert np.array_equal(one.P_N, many.P_N)
    assert np.array_equal(one.energy().total, many.energy().total)


def test_thousands_of_bodies_are_declared_and_compiled_at_once():
    """Rows of integers and states, no symbols: kernels as for one body, a fraction of a second for a thousand."""
    s = ss.System("gas")
    s.add_many(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]), position=np.random.default_rng(0).normal(size=(3000, 3)))
    s.add(ss.Gravity([0, 0, -9.81]))
    program = ss.Rattle().compile(derive(s))
    assert len(program.tables.kinds) == 2
    assert sum(block.named for block in s.blocks) == 1
    size = sum(table.nbytes for table in program.tables) + sum(a.nbytes for a in workspace(program))
    assert size + 8 * program.layout.total < 2200 * 3000  # bytes


def falling(n):
    s = ss.System("gas")
    s.add_many(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]), position=np.random.default_rng(0).normal(size=(n, 3)))
    s.add(ss.Gravity([0, 0, -9.81]))
    return s


def test_memory_per_body(monkeypatch):
    """All that Python and NumPy hold after a step; large arrays stand in the same books as others."""
    monkeypatch.setattr(pages, "LARGE", 2**40)
    with ss.stepper(falling(10), 1e-3) as sim:
        sim.step()
    gc.collect()
    tracemalloc.start()
    try:
        with ss.stepper(falling(2000), 1e-3) as sim:
            sim.step()
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] < 3900 * 2000
    finally:
        tracemalloc.stop()


def test_names_of_copies_are_taken():
    """They come when somebody asks for them, but nobody else can have them."""
    s = falling(3)
    assert s.blocks[2].q_names[:2] == ("b[2].x", "b[2].y")
    assert s.q_names[7:9] == ("b[1].x", "b[1].y")
    for name, what in (("b[2].x", "coordinate"), ("b[2].omega_z", "velocity")):
        with pytest.raises(ss.ModelError, match=f"has the name of a {what}"):
            s.parameter(name, 1.0)
    with pytest.raises(ss.ModelError, match="another part named"):
        s.add_many(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]), position=np.zeros((2, 3)))
    s.parameter("b[3].x", 1.0)


def points(name="b"):
    return ss.PointMass(name, mass=1, position=[0, 0])


def left_behind(s):
    """What is declared in a system, as text."""
    return repr(
        {key: sorted(map(repr, value)) for key, value in vars(s).items() if isinstance(value, list | dict | set)}
    )


@pytest.mark.parametrize(
    "declare, words",
    [
        (lambda s: s.coordinates("b[1].x", initial=[7], velocity=[0]), "coordinate 'b[1].x' is declared twice"),
        (lambda s: s.coordinates("b[2].x_dot", initial=[7], velocity=[0]), "'b[2].x_dot' has the name of a coordinate"),
        (lambda s: s.parameter("b[1].x", 1.0), "coordinate 'b[1].x' has the name of a parameter"),
        (lambda s: s.measure("b[2].y", s.time), "coordinate 'b[2].y' has the name of a measure"),
        (lambda s: s.add(points("b[2]")), "there is another part named 'b[2]'"),
    ],
)
def test_copies_take_no_name_that_is_taken(declare, words):
    """One by one or all at once, the complaint is the same; nothing is left behind."""
    one, many = ss.System("s"), ss.System("s")
    declare(one), declare(many)
    with pytest.raises(ss.ModelError, match=re.escape(words)):
        [one.add(points(f"b[{k}]")) for k in range(3)]
    before = left_behind(many)
    with pytest.raises(ss.ModelError, match=re.escape(words)):
        many.add_many(points(), position=np.zeros((3, 2)))
    assert left_behind(many) == before


class Held(ss.PointMass):
    """A body with a constraint of its own."""

    def declare(self, system, equations):
        super().declare(system, equations)
        equations.constraint(self.q[0], name=self.name)


def test_a_body_that_cannot_be_copied_leaves_nothing_behind():
    s = ss.System("s")
    before = left_behind(s)
    with pytest.raises(ss.ModelError, match="with constraints or contacts of its own cannot be copied"):
        s.add_many(Held("b", mass=1, position=[0, 0]), position=np.zeros((3, 2)))
    assert left_behind(s) == before


def test_names_like_those_of_copies_are_free():
    s = ss.System()
    for name in ("b[3].x", "b[1].", "b[1]", "b[01].x", "b[", "b[1].x[0]"):
        s.parameter(name, 1.0)
    s.add_many(points(), position=np.zeros((3, 2)))
    s.add_many(points("b[1]"), position=np.zeros((3, 2)))
    assert len(set(s.q_names)) == 12


@pytest.mark.parametrize("name", ["", "  ", 5, None])
def test_many_bodies_need_a_name(name):
    s = ss.System("s")
    before = left_behind(s)
    for many in (lambda: s.add(points(name)), lambda: s.add_many(points(name), position=[[0, 0]])):
        with pytest.raises(ss.ModelError, match="s: PointMass: the name must be a text that is not empty"):
            many()
    assert left_behind(s) == before
    balls = s.add_many(points(), position=[[0, 0], [1, 1]])
    touch = ss.Contact(name, ss.Sphere(balls[0].point(), 0.1), ss.Line([0, -1], [0, 1]))
    with pytest.raises(ss.ModelError, match="s: Contact: the name must be a text that is not empty"):
        s.add_many(touch, bodies=balls)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say what is resident")
def test_room_that_is_not_used_is_not_there():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    room = pages.zeros((1000, 10_000))
    assert resident() - before < 0.1 * room.nbytes
    room[:100] = 1.0
    assert room.sum() == 1e6
    assert room[100:].max() == 0.0


def test_contacts_share_what_is_read_once():
    s = ss.System("two balls")
    balls = s.add_many(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]), position=[[0, 0, 0.1], [0, 0, 0.31]])
    s.add(ss.Gravity([0, 0, -9.81]))
    s.add(ss.Collisions("touch", [*[ss.Sphere(b.point(), 0.1) for b in balls], ss.Plane([0, 0, 0], [0, 0, 1])]))
    with ss.stepper(s, 1e-3) as sim:
        for _ in range(50):
            sim.step()
            old, new = sim._run.search.old, sim._run.search.new
            assert old.point is new.point
            assert not any(
                np.shares_memory(getattr(old, x), getattr(new, x)) for x in ("found", "key", "place", "tangent")
            )
        assert len(sim.contacts) == 2


@pytest.mark.parametrize(
    "body, states, message",
    [
        (
            ss.PointMass("m", mass=1, position=[0, 0]),
            {"position": np.zeros((3, 3))},
            "position must have 2 finite numbers",
        ),
        (ss.PointMass("m", mass=1, position=[0, 0]), {}, "give position="),
        (ss.PointMass("m", mass=1, position=[0, 0]), {"angle": [1.0]}, "'angle' is not a state of a PointMass"),
        (
            ss.PlanarBody("b", mass=1, inertia=1),
            {"position": np.zeros((2, 2)), "angle": [1.0]},
            "2 positions, but 1 rows of angle",
        ),
        (
            ss.RigidBody("b", mass=1, inertia=[1, 1, 1]),
            {"position": np.zeros((1, 3)), "orientation": np.zeros((1, 4))},
            "quaternions of length > 0",
        ),
        (ss.Gravity([0, 0, -9.81]), {"position": np.zeros((1, 3))}, "takes bodies such as RigidBody"),
        (ss.PlanarBody("b", mass=1, inertia=1), {"position": "here"}, "must be an array of numbers"),
    ],
)
def test_bad_states_of_many_bodies(body, states, message):
    with pytest.raises(ss.ModelError, match=message):
        ss.System("s").add_many(body, **states)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_large_arrays_are_not_shared_with_forked_processes():
    array = pages.zeros(pages.LARGE)
    child = os.fork()
    if child == 0:
        array[:] = 1.0
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert not array.any()
