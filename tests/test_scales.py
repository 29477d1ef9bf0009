"""Tolerances are relative to the model: small and large mechanisms solve like ordinary ones."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.solve.prepared import prepare
from stickslip.solve.scales import ModelScales, scales_of_model

STEPS = 250


def tumbling(size: float, method: str) -> tuple[np.ndarray, ss.Solution]:
    """A box that falls on a rough floor, its poses in units of `size`; times are in units of the square root of that."""
    s, unit = ss.System("box"), np.sqrt(size)
    s.add(ss.Gravity([0, 0, -9.81]))
    edges = size * np.array([0.3, 0.2, 0.1])
    m, J = ss.inertia.box(*edges, mass=size**3)
    motion = {"velocity": unit * np.array([1.0, 0.5, 0]), "angular_velocity": np.array([1.0, 2.0, 3.0]) / unit}
    turn = ss.math.quaternion([0.6, 0.8, 0], 0.7)
    box = s.add(ss.RigidBody("box", mass=m, inertia=J, position=[0, 0, 0.3 * size], orientation=turn, **motion))
    s.add(ss.Contact("floor", ss.Box(box, edges), ss.Plane([0, 0, 0], [0, 0, 1]), friction=0.4))
    dt = 2e-3 * unit
    solution = ss.solve(s, t_end=STEPS * dt, dt=dt, method=method, progress=False)
    q = solution.q.copy()
    q[:, :3] /= size
    return q, solution


@pytest.mark.parametrize("method", ["moreau", "rattle", "generalized-alpha", "theta", "half-explicit"])
def test_micrometres_and_megametres_are_metres(method):
    """The motion of the same box at other scales is the same; half-explicit decides by gaps, to which rounding errors add."""
    metre, _ = tumbling(1.0, method)
    for size in (1e-6, 1e6):
        assert np.abs(tumbling(size, method)[0] - metre).max() < (1e-3 if method == "half-explicit" else 2e-5)


@pytest.mark.parametrize(
    "method",
    [
        *["rattle:variant=midpoint", "generalized-alpha", "half-explicit", "half-explicit-adaptive"],
        *["moreau", "moreau-jean", "moreau-symmetric", "moreau-variational", "theta"],
    ],
)
def test_what_counts_as_closed_is_relative_to_the_model(method):
    """A slow model: a disk of 0.1 um that hovers 5 nm above the floor and falls with 1 nm/s^2, for 4 s.

    A gap of 5 nm, and 1e-6 dt metres, are many steps of travel. Taken as closed, it would rest where it is.
    """

    def falling(size: float) -> np.ndarray:
        s = ss.System("disk")
        s.add(ss.Gravity([0, -1e-2 * size]))
        m = size**2
        disk = s.add(ss.PlanarBody("disk", mass=m, inertia=m * size**2 / 2, position=[0, 1.05 * size]))
        s.add(ss.Contact("floor", ss.Sphere(disk.point(), size), ss.Line([0, 0], [0, 1]), friction=0.3))
        return ss.solve(s, t_end=4.0, dt=2e-2, method=method, progress=False).q / size

    metre, small = falling(1.0), falling(1e-7)
    assert np.abs(small[:, 1] - metre[:, 1]).max() < 1e-6
    assert metre[:, 1].min() < 1.0 + 1e-3  # it arrives
    assert np.abs(small[50, 1] - (1.05 - 0.5e-2)).max() < 2e-4  # and falls on the way


@pytest.mark.parametrize("method", ["moreau", "rattle"])
def test_an_atom_of_a_box_does_not_fall_through_the_floor(method):
    size = 2e-10
    q, solution = tumbling(size, method)
    assert solution.gap.min() > -5e-3 * size
    assert q[-1, 2] > 0.04


@pytest.mark.parametrize(
    "method",
    [
        *["moreau", "moreau-symmetric", "moreau-variational", "rattle", "theta", "lobatto", "generalized-alpha"],
        *["moreau-jean", "half-explicit", "half-explicit-adaptive", "explicit-velocity"],
    ],
)
def test_heavy_boxes_rest_on_light_ones(method):
    """Each is 1e4 times as heavy as the one below."""
    s = ss.System("boxes")
    s.add(ss.Gravity([0, -9.81]))
    below = ss.Line([0, 0], [0, 1])
    for k in range(3):
        m = 1e4**k
        box = s.add(ss.PlanarBody(f"box {k}", mass=m, inertia=m * 0.05 / 12, position=[0, 0.05 + 0.1 * k]))
        s.add(ss.Contact(f"contact {k}", ss.Box(box, [0.2, 0.1]), below, friction=0.5))
        below = ss.Line([0, 0.05], [0, 1], box)
    dt, steps = 1e-3, 8 if "explicit" in method else 200  # cold percussions need the slower solvers in every step
    solution = ss.solve(s, t_end=steps * dt, dt=dt, method=method, progress=False)
    assert np.abs(solution.q - solution.q[0]).max() < 1e-6
    weight = 9.81 * (1 + 1e4 + 1e8) * dt
    on_floor = [k for k, name in enumerate(solution.names.contacts) if name.startswith("contact 0")]
    assert solution.P_N[1:, on_floor].sum(axis=1) == pytest.approx(np.full(steps, weight), rel=1e-4)


@pytest.mark.parametrize("method", ["moreau", "rattle", "lobatto", "generalized-alpha"])
def test_heavy_boxes_rest_on_light_ones_in_space(method):
    s, size = ss.System("boxes"), [0.2, 0.2, 0.1]
    s.add(ss.Gravity([0, 0, -9.81]))
    below = ss.Plane([0, 0, 0], [0, 0, 1])
    for k in range(3):
        m, J = ss.inertia.box(*size, mass=1e4**k)
        box = s.add(ss.RigidBody(f"box {k}", mass=m, inertia=J, position=[0, 0, 0.05 + 0.1 * k]))
        s.add(ss.Contact(f"contact {k}", ss.Box(box, size), below, friction=0.5))
        below = ss.Plane([0, 0, 0.05], [0, 0, 1], box)
    dt, steps = 1e-3, 20
    solution = ss.solve(s, t_end=steps * dt, dt=dt, method=method, progress=False)
    assert np.abs(solution.q - solution.q[0]).max() < 1e-6
    weight = 9.81 * (1 + 1e4 + 1e8) * dt
    on_floor = [k for k, name in enumerate(solution.names.contacts) if name.startswith("contact 0")]
    assert solution.P_N[1:, on_floor].sum(axis=1) == pytest.approx(np.full(steps, weight), rel=1e-4)


@pytest.mark.parametrize("method", ["rattle", "moreau", "generalized-alpha", "half-explicit"])
def test_heavy_boxes_rest_on_light_ones_whose_contacts_are_found(method):
    """Forces of contacts that were found are those of the last step, though the boxes are flush."""
    s = ss.System("boxes")
    s.add(ss.Gravity([0, -9.81]))
    sizes = [(f"box {k}", 1e4**k, [0, 0.5 + k]) for k in range(3)]
    boxes = [s.add(ss.PlanarBody(name, mass=m, inertia=m / 6, position=place)) for name, m, place in sizes]
    shapes = [*[ss.Box(box, [1, 1]) for box in boxes], ss.Line([0, 0], [0, 1])]
    s.add(ss.Collisions("contacts", shapes, friction=0.5))
    solution = ss.solve(s, t_end=0.02, dt=2e-3, method=method, progress=False)
    assert np.abs(solution.q - solution.q[0]).max() < 1e-7


def test_scales_of_models():
    ordinary = ss.benchmarks.slider_crank()
    assert scales_of_model(prepare(ordinary), ordinary) == ModelScales(1.0, 1.0)
    s = ss.System("grain")
    s.add(ss.Gravity([0, -9.81]))
    grain = s.add(ss.PlanarBody("grain", mass=1e-9, inertia=1e-9 * 1e-12, position=[0, 1e-6]))
    s.add(ss.Contact("floor", grain.point(), ss.Line([0, 0], [0, 1])))
    length, velocity = scales_of_model(prepare(s), s)
    assert length == pytest.approx(1e-6)
    assert velocity == pytest.approx(np.sqrt(9.81e-6), rel=1e-3)
    near = ss.System("a point says nothing of its size")
    near.add(ss.PointMass("ball", mass=1, position=[0, 1e-6]))
    assert scales_of_model(prepare(near), near) == ModelScales(1.0, 1.0)


def test_a_tolerance_below_rounding_is_refused_with_the_smallest_that_makes_sense():
    ball = ss.benchmarks.bouncing_ball()
    with pytest.raises(
        ss.OptionError, match="tol = 1e-20 is below rounding errors; the smallest that makes sense here is"
    ):
        ss.solve(ball, 0.1, 0.01, tol=1e-20)
    smallest = 1e-13
    assert ss.solve(ball, 0.1, 0.01, tol=smallest, progress=False).stats.residuals.max() < smallest


@pytest.mark.parametrize(
    "method", ["moreau", "moreau-jean", "moreau-symmetric", "moreau-variational", "theta", "half-explicit", "rattle"]
)
@pytest.mark.parametrize("inside", [True, False])
def test_a_wedge_rests_up_to_its_limit(method, inside):
    """A wedge under a load that slides in a guide, pushed by 0.02 N more than it takes to hold it: velocities within the
    tolerance open its contacts by 1e-15 m, which must not let it go. Pushed by 0.02 N less, it moves.
    """
    a, g, L, mu_l, mu_f = np.radians(15), 9.81, 0.4, 0.1, 0.05
    normal = 2 * g / (np.cos(a) + mu_l * np.sin(a))  # of the load, which is about to sink
    limit = normal * (np.sin(a) - mu_l * np.cos(a)) - mu_f * 2.5 * g
    corners = np.array([(0, 0), (L, 0), (0, L * np.tan(a))])
    load = np.array([(x, (L - x) * np.tan(a) + y) for x, y in ((0.15, 0), (0.25, 0), (0.25, 0.1), (0.15, 0.1))])
    p, q = corners.mean(0), load.mean(0)
    s = ss.System("wedge")
    s.add(ss.Gravity([0, -g]))
    wedge = s.add(ss.PlanarBody("wedge", mass=0.5, inertia=1e-2, position=p))
    held = s.add(ss.PlanarBody("load", mass=2.0, inertia=1e-2, position=q))
    s.add(ss.Prismatic("guide", ss.ground.point(*q), held.point(), axis=[0, 1]))
    s.add(ss.Force("push", wedge.point(0, 0.01 - p[1]), [limit + (0.02 if inside else -0.02), 0]))
    shapes = {"w": ss.ConvexPolygon(wedge, corners - p), "l": ss.ConvexPolygon(held, load - q)}
    mu = {("w", "f"): mu_f, ("w", "l"): mu_l, ("l", "f"): 0, "w": 0, "l": 0, "f": 0}
    s.add(ss.Collisions("contacts", {**shapes, "f": ss.Line([0, 0], [0, 1])}, friction=mu))
    moved = np.abs(ss.solve(s, t_end=0.2, dt=1e-3, method=method, progress=False).q - s.q_initial).max()
    assert moved < 1e-9 if inside else moved > 1e-5
