"""What only some models need is loaded, or compiled, when a stage first asks for it, and nothing else changes."""

import numpy as np
import pytest

import redundant
import stickslip as ss
from stickslip.engine.far_roots import is_far_root
from stickslip.engine.least_forces import least_forces
from stickslip.jit import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is loaded")


def heap() -> ss.System:
    """Spheres that meet hard, in a box: some stages need other attempts than the first."""
    s = ss.System("heap")
    s.add(ss.Gravity([0, 0, -9.81]))
    mass, inertia = ss.inertia.sphere(0.1, mass=1.0)
    spheres = []
    for k, at in enumerate(np.random.default_rng(3).uniform(-0.05, 0.05, (5, 3))):
        ball = s.add(ss.RigidBody(f"b{k}", mass=mass, inertia=inertia, position=[*at[:2], 0.4 + 0.22 * k]))
        spheres.append(ss.Sphere(ball.point(), 0.1))
    floors = [ss.Plane([0, 0, 0], [1, 0, 0.5]), ss.Plane([0, 0, 0], [-1, 0, 0.5])]
    floors += [ss.Plane([0, 0, 0], [0, 1, 0.5]), ss.Plane([0, 0, 0], [0, -1, 0.5])]
    for k, one in enumerate(spheres):
        for j, other in enumerate(spheres[:k] + floors):
            s.add(ss.Contact(f"c{k}.{j}", one, other, friction=0.5))
    return s


def plank() -> ss.System:
    """A plank on four legs far from walls that nobody meets: bodies sleep, contacts depend on each other."""
    s = ss.System("plank")
    s.add(ss.Gravity([0, 0, -9.81]))
    mass, inertia = ss.inertia.box(1, 1, 0.2, mass=2.0)
    body = s.add(ss.RigidBody("plank", mass=mass, inertia=inertia, position=[0, 0, 0.11], velocity=[1, 0, 0]))
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        corner = body.point(x / 2, y / 2, -0.1)
        s.add(ss.Contact(f"floor {k}", corner, ss.Plane([0, 0, 0], [0, 0, 1]), friction=0.3))
        s.add(ss.Contact(f"wall {k}", corner, ss.Plane([50, 0, 0], [-1, 0, 0])))
    return s


@pytest.mark.parametrize("build", [redundant.door, heap, plank])
@pytest.mark.parametrize("method", ["rattle", "lobatto", "moreau", "theta", "generalized-alpha", "half-explicit"])
def test_late_is_the_same_as_at_once(build, method, monkeypatch):
    def run() -> ss.Solution:
        return ss.solve(build(), t_end=0.3, dt=2e-3, method=method, progress=False, energy_alarm=False)

    run()
    at_once = run()
    for each in (least_forces, is_far_root):
        monkeypatch.setattr(each, "_address", None)
    late = run()
    assert least_forces.at_hand or is_far_root.at_hand  # else nothing was wanted
    for name in ("q", "u", "P_g", "P_N", "P_F", "gap"):
        assert getattr(late, name).tobytes() == getattr(at_once, name).tobytes(), name
    assert np.array_equal(late.stats.iterations, at_once.stats.iterations)
    assert np.array_equal(late.stats.residuals, at_once.stats.residuals)
    assert late.stats.solved_by == at_once.stats.solved_by
