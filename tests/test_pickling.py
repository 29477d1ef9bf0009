"""Systems and solutions travel: what arrives gives the same numbers, bit for bit, with symbols of its own."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import stickslip as ss
from stickslip.benchmarks import REGISTRY
from stickslip.solve.outfile import fingerprint
from stickslip.solve.prepared import prepare


def mechanism() -> ss.System:
    """Parts of many kinds, with functions that cannot be imported and a table of data."""
    s = ss.System("mechanism")
    road = ss.interpolate([0, 1, 2, 3], [0.0, 0.1, 0.0, 0.2], "cubic")
    wheel = s.add(ss.PlanarBody("wheel", mass=1.0, inertia=0.1, position=[0, 1.0], velocity=[1.0, 0]))
    bob = s.add(ss.PointMass("bob", mass=0.5, position=[0, 2.0]))
    s.add(ss.Gravity([0, -9.81]))
    s.add(ss.SpringDamper("spring", wheel.point(0, 0), bob.point(), stiffness=50.0, rest_length=1.0))
    s.add(ss.Force("push", bob.point(), lambda t: [road(t), 0]))
    rough = {"friction": lambda v: 0.2 + 0.1 / (1 + v), "restitution": 0.3}
    s.add(ss.Contact("floor", ss.Sphere(wheel.point(0, 0), 0.5), ss.Line([0, 0], [0, 1]), **rough))
    s.measure("height", wheel.position([0, 0])[1] + road(s.time))
    return s


def run(system: ss.System, **options) -> ss.Solution:
    return ss.solve(system, 0.5, 1e-2, progress=False, energy_alarm=False, **options)


@pytest.mark.parametrize("name", list(REGISTRY))
def test_every_benchmark_keeps_its_equations(name):
    system = REGISTRY[name].build()
    there = pickle.loads(pickle.dumps(system))
    assert fingerprint(prepare(there)) == fingerprint(prepare(system))
    assert there.parameters == system.parameters
    assert (there.q_initial == system.q_initial).all()


@pytest.mark.parametrize("how", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
def test_a_copy_gives_the_same_numbers(how):
    system = mechanism()
    before = how(system)
    solution = run(system)
    after = how(system)  # with everything compiled
    for other in (before, after):
        again = run(other)
        assert again.q.tobytes() == solution.q.tobytes()
        assert again["height"].tobytes() == solution["height"].tobytes()
        other.add(ss.PointMass("another", mass=1.0, position=[5.0, 0]))  # independent of the first
        assert run(other).q.shape[1] == solution.q.shape[1] + 2
    assert system.n_q == solution.q.shape[1]


def test_symbols_of_a_deep_copy_are_those_of_the_original():
    system = ss.System()
    (x,), (v,) = system.coordinates("x", initial=[1.0], velocity=[0.0])
    system.kinetic_energy(v**2 / 2)
    twin = copy.deepcopy(system)
    twin.potential_energy(x**2 / 2)
    assert run(twin).q[-1, 0] < 1.0 == run(system).q[-1, 0]


def test_symbols_that_come_later_are_shared_with_deep_copies():
    """Those of many equal bodies are made when somebody asks for them, on either side."""
    s = ss.System()
    balls = s.add_many(ss.PointMass("ball", mass=1.0, position=[0.0, 0.0]), position=np.arange(8.0).reshape(4, 2))
    twin, body = copy.deepcopy((s, balls[3]))
    solution = run(twin)
    assert solution.evaluate(balls[2].q[1])[-1] == 5.0
    assert twin.initial_value(balls[1].q).tolist() == s.initial_value(balls[1].q).tolist() == [2.0, 3.0]
    s.potential_energy(body.q[0])  # made by the copy
    assert run(s).q[-1, 6] < 6.0 == solution.q[-1, 6]
    there = pickle.loads(pickle.dumps(twin))
    assert there.initial_value(there.parts[3].q).tolist() == [6.0, 7.0]
    stranger = ss.System().add_many(ss.PointMass("ball", mass=1.0, position=[0.0, 0.0]), position=[[0, 0], [1, 1]])
    with pytest.raises(ss.ModelError, match=r"ball\[1\].x' belongs to another system"):
        s.initial_value(stranger[1].q)


def test_a_solution_keeps_its_system():
    system = mechanism()
    solution = run(system, states=True)
    there = pickle.loads(pickle.dumps(solution))
    assert there.q.tobytes() == solution.q.tobytes()
    assert there["spring.force"].tobytes() == solution["spring.force"].tobytes()
    assert there.path("wheel").tobytes() == solution.path("wheel").tobytes()
    onwards = ss.solve(there.system, 0.6, 1e-2, start=there.states[-1], progress=False)
    assert onwards.q.tobytes() == ss.solve(system, 0.6, 1e-2, start=solution.state, progress=False).q.tobytes()
    assert copy.deepcopy(solution)["spring.force"].tobytes() == solution["spring.force"].tobytes()


def test_a_streamed_solution_is_pickled_with_its_numbers(tmp_path):
    ball = ss.benchmarks.bouncing_ball()
    solution = run(ball, out=tmp_path / "run.h5")
    content = pickle.dumps(solution)
    (tmp_path / "run.h5").unlink()
    assert pickle.loads(content).q.tobytes() == run(ball).q.tobytes()


def test_a_system_and_its_body_travel_together():
    """One message, one set of symbols: many equal bodies, and what refers to them."""
    s = ss.System()
    balls = s.add_many(ss.PointMass("ball", mass=1.0, position=[0.0, 0.0]), position=np.arange(8.0).reshape(4, 2))
    s.add(ss.Gravity([0, -9.81]))
    s.add(ss.Rod("rod", balls[1].point(), balls[3].point()))
    there = pickle.loads(pickle.dumps(s))
    assert run(there).q.tobytes() == run(s).q.tobytes()
    assert there.parts[1]._owner is there
    system, body = copy.deepcopy((s, balls[1]))
    assert body is system.parts[1]


def test_another_process(tmp_path):
    """Symbols are those of the process that reads; time is its time."""
    system, file = mechanism(), tmp_path / "system.pickle"
    file.write_bytes(pickle.dumps(system))
    program = (
        "import pickle, sys; import stickslip as ss; s = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(ss.solve(s, 0.5, 1e-2, progress=False, energy_alarm=False).q[-1].tobytes().hex())"
    )
    said = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == run(system).q[-1].tobytes().hex()


def test_what_cannot_travel_is_named():
    system, lock = mechanism(), threading.Lock()
    system.add(ss.Force("odd", system.parts[1].point(), lambda t: [0 if lock else 1, 0]))
    with pytest.raises(ss.ModelError, match="'mechanism' cannot be pickled"):
        pickle.dumps(system)
