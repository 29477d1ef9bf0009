"""Whatever is given instead of a number, a vector, a name or a body: a clear error, never one from deep inside."""

import numpy as np
import pytest

import stickslip as ss

WRONG = ["x", "1", None, [1, 2, 3, 4, 5], np.nan, np.inf, 1j, {}, np.ones((2, 2)), object(), b"1", [[1], [2, 3]]]
PLANE = ss.Plane([0, 0, 0], [0, 0, 1])


def point_mass():
    s = ss.System()
    return s, s.add(ss.PointMass("b", mass=1, position=[0, 1]))


def rigid():
    s = ss.System()
    return s, s.add(ss.RigidBody("b", mass=1, inertia=[1, 1, 1], position=[0, 0, 3]))


def hub():
    s = ss.System()
    wheel = s.add(ss.PlanarBody("b", mass=1, inertia=1))
    return s, s.add(ss.Revolute("hub", ss.ground.point(0, 0), wheel.point()))


def to(make_system, part):
    """Add a part, made of what the system has and of a wrong value."""

    def declare(wrong):
        s, thing = make_system()
        s.add(part(thing, wrong))

    return declare


def coordinates(**given):
    ss.System().coordinates(**{"names": "x y", "initial": [0, 0], "velocity": [0, 0]} | given)


def equations(verb):
    def declare(wrong):
        s = ss.System()
        s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
        getattr(s, verb)(wrong)

    return declare


def law(**given):
    return to(point_mass, lambda b, x: ss.Contact("c", b.point(), ss.Line([0, 0], [0, 1]), **given | {"friction": x}))


BAR = {"length": 1, "elements": 2, "area": 1, "density": 1, "modulus": 1}
BEAM = BAR | {"moment": 1, "shear_area": 1, "shear_modulus": 1}
SHAFT = BAR | {"moments": (1, 1), "torsion": 1, "shear_modulus": 1}

PLACES = {
    "system name": lambda x: ss.System(x),
    "part name": lambda x: ss.System().add(ss.PointMass(x, mass=1, position=[0])),
    "coordinate names": lambda x: coordinates(names=x),
    "initial": lambda x: coordinates(initial=x),
    "velocity": lambda x: coordinates(velocity=x),
    "parameter": lambda x: ss.System().parameter("p", x),
    "parameter name": lambda x: ss.System().parameter(x, 1.0),
    "part": lambda x: ss.System().add(x),
    "kinetic energy": equations("kinetic_energy"),
    "potential energy": equations("potential_energy"),
    "force": equations("force"),
    "constraint": equations("constraint"),
    "velocity constraint": equations("velocity_constraint"),
    "mass": lambda x: ss.PointMass("b", mass=x, position=[0]),
    "position": lambda x: ss.PlanarBody("b", mass=1, inertia=1, position=x),
    "angle": lambda x: ss.PlanarBody("b", mass=1, inertia=1, angle=x),
    "planar inertia": lambda x: ss.PlanarBody("b", mass=1, inertia=x),
    "inertia": lambda x: ss.RigidBody("b", mass=1, inertia=x),
    "orientation": lambda x: ss.RigidBody("b", mass=1, inertia=[1, 1, 1], orientation=x),
    "angular velocity": lambda x: ss.RigidBody("b", mass=1, inertia=[1, 1, 1], angular_velocity=x),
    "sphere radius": lambda x: ss.Sphere(ss.ground.point(0, 0), x),
    "sphere center": lambda x: ss.Sphere(x, 1.0),
    "box": lambda x: ss.Box(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]), x),
    "box of": lambda x: ss.Box(x, [1, 1, 1]),
    "ellipsoid": lambda x: ss.Ellipsoid(ss.RigidBody("b", mass=1, inertia=[1, 1, 1]), x),
    "capsule end": lambda x: ss.Capsule(ss.ground.point(0, 0), x, 1.0),
    "disk axis": lambda x: ss.Disk(ss.ground.point(0, 0, 0), x, 1.0),
    "cylinder points": lambda x: ss.Cylinder(ss.ground.point(0, 0, 0), [0, 0, 1], 1.0, 1.0, points=x),
    "plane point": lambda x: ss.Plane(x, [0, 0, 1]),
    "plane normal": lambda x: ss.Plane([0, 0, 0], x),
    "plane body": lambda x: ss.Plane([0, 0, 0], [0, 0, 1], x),
    "graph": lambda x: ss.Graph(x),
    "height": to(rigid, lambda b, x: ss.Contact("c", b.point(), ss.Graph(lambda *_: x))),
    "geometry_1": to(rigid, lambda b, x: ss.Contact("c", x, PLANE)),
    "geometry_2": to(rigid, lambda b, x: ss.Contact("c", b.point(), x)),
    "law": to(rigid, lambda b, x: ss.Contact("c", b.point(), PLANE, x, friction=0.1)),
    "restitution": to(rigid, lambda b, x: ss.Contact("c", b.point(), PLANE, ss.Coulomb(0.1, x))),
    "patch": to(rigid, lambda b, x: ss.Contact("c", b.point(), PLANE, ss.CoulombContensou(0.1, x))),
    "orthotropic": lambda x: ss.OrthotropicCoulomb(0.1, x, [1, 0, 0]),
    "direction": lambda x: ss.OrthotropicCoulomb(0.1, 0.2, x),
    "radius": to(rigid, lambda b, x: ss.Contact("c", b.point(), PLANE, ss.FixedRadius(x))),
    "gravity": lambda x: ss.Gravity(x),
    "stiffness": to(
        point_mass, lambda b, x: ss.SpringDamper("k", ss.ground.point(0, 0), b.point(), stiffness=x, damping=1)
    ),
    "spring point": to(point_mass, lambda b, x: ss.SpringDamper("k", x, b.point())),
    "spring law": to(hub, lambda h, x: ss.SpringDamper("k", h.angle, law=lambda *_: x)),
    "force at": to(rigid, lambda b, x: ss.Force("f", x, [0, 0, 1])),
    "force value": to(rigid, lambda b, x: ss.Force("f", b.point(), x)),
    "force of time": to(rigid, lambda b, x: ss.Force("f", b.point(), lambda t: x)),
    "torque": to(rigid, lambda b, x: ss.Torque("f", b, x)),
    "torque on": to(rigid, lambda b, x: ss.Torque("f", x, [0, 0, 1])),
    "motor": to(hub, lambda h, x: ss.Motor("m", h.angle, x)),
    "motor's function": to(hub, lambda h, x: ss.Motor("m", h.angle, lambda *_: x)),
    "motor's measure": to(hub, lambda h, x: ss.Motor("m", x, 1.0)),
    "motion": to(hub, lambda h, x: ss.Motion("m", h.angle, x)),
    "controller": to(hub, lambda h, x: ss.Controller("m", h.angle, 0.0, stiffness=x)),
    "target": to(hub, lambda h, x: ss.Controller("m", h.angle, x, stiffness=1)),
    "gear": to(hub, lambda h, x: ss.Gear("g", h.angle, ss.Angle(ss.ground, h.bodies[1]), ratio=x)),
    "limits": to(hub, lambda h, x: ss.Limits("m", h.angle, lower=-1, upper=[x])),
    "friction": to(hub, lambda h, x: ss.Friction("m", h.angle, force=x)),
    "axis": to(rigid, lambda b, x: ss.Revolute("j", ss.ground.point(0, 0, 3), b.point(), axis=x)),
    "axis_1": to(
        rigid, lambda b, x: ss.Universal("j", ss.ground.point(0, 0, 3), b.point(), axis_1=x, axis_2=[0, 1, 0])
    ),
    "pitch": to(rigid, lambda b, x: ss.Screw("j", ss.ground.point(0, 0, 3), b.point(), axis=[0, 0, 1], pitch=x)),
    "joint's point": to(rigid, lambda b, x: ss.Spherical("j", x, b.point())),
    "length": to(rigid, lambda b, x: ss.Rod("j", ss.ground.point(0, 0, 0), b.point(), length=[x])),
    "point of the ground": lambda x: ss.ground.point(x, 0),
    "point of a body": lambda x: point_mass()[1].point(x, 0),
    "frame": lambda x: ss.ground.frame(x),
    "rotation": lambda x: ss.ground.frame([0, 0, 0], [x]),
    "distance": lambda x: ss.Distance(x, ss.ground.point(0, 0)),
    "angle of": lambda x: ss.Angle(ss.ground, x),
    "expression": to(point_mass, lambda b, x: ss.SpringDamper("k", ss.Expression(x), stiffness=1)),
    "sphere": lambda x: ss.inertia.sphere(x, mass=1),
    "density": lambda x: ss.inertia.box(1, 1, 1, density=[x]),
    "hollow box": lambda x: ss.inertia.hollow_box(x, (1, 1, 1), mass=1),
    **{f"bar {k}": lambda x, k=k: ss.Bar("bar", **BAR | {k: x}) for k in BAR if k != "length"},
    "bar origin": lambda x: ss.Bar("bar", **BAR, origin=x),
    "supports": lambda x: ss.Bar("bar", **BAR, supports=[x]),
    **{f"beam {k}": lambda x, k=k: ss.Beam("beam", **BEAM | {k: x}) for k in ("moment", "position", "angle")},
    **{f"shaft {k}": lambda x, k=k: ss.SpatialBeam("b", **SHAFT | {k: x}) for k in ("moments", "axis", "spin")},
    "section": lambda x: ss.circular(x),
    "solve": lambda x: ss.solve(x, 1.0, 0.1),
    "method": lambda x: ss.solve(ss.benchmarks.bouncing_ball(), 1.0, 0.1, method=[x]),
    "dt": lambda x: ss.solve(ss.benchmarks.bouncing_ball(), 1.0, dt=x),
    "t_end": lambda x: ss.solve(ss.benchmarks.bouncing_ball(), t_end=x, dt=0.1),
    "max_iterations": lambda x: ss.solve(ss.benchmarks.bouncing_ball(), 1.0, 0.1, max_iterations=x),
    "q0": lambda x: ss.solve(ss.benchmarks.bouncing_ball(), 1.0, 0.1, q0=[x, x]),
    "parameters": lambda x: ss.solve(ss.benchmarks.bouncing_ball(), 1.0, 0.1, parameters={"e": x}),
}
MEANT = {  # wrong in general, but right there
    "system name": ("x", "1"),
    "part name": ("x", "1"),
    "parameter name": ("x", "1"),
    "law": (None,),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_wrong_is_named(place):
    for wrong in WRONG:
        if any(wrong is right for right in MEANT.get(place, ())):
            continue
        with pytest.raises(ss.StickslipError) as caught:
            PLACES[place](wrong)
        assert len(str(caught.value)) > 15


def test_bodies_that_belong_together():
    s, ball = point_mass()
    with pytest.raises(ss.ModelError, match="both points belong to 'b'; a joint needs two bodies"):
        s.add(ss.Rod("j", ball.point(), ball.point(1, 0)))
    with pytest.raises(ss.ModelError, match="both shapes belong to 'b', which cannot touch itself"):
        s.add(ss.Contact("c", ss.Sphere(ball.point(), 1), ss.Sphere(ball.point(3, 0), 1)))
    other = ss.PointMass("late", mass=1, position=[0, 0])
    with pytest.raises(ss.ModelError, match="'late' belongs to no system yet; add it first"):
        s.add(ss.Rod("j", ball.point(), other.point(), length=1))
    ss.System("another").add(other)
    with pytest.raises(ss.ModelError, match="'late.x' belongs to another system"):
        s.add(ss.Rod("j", ball.point(), other.point()))
    system, h = hub()
    with pytest.raises(ss.ModelError, match=r"a function of \(t, x, xdot\)"):
        system.add(ss.Motor("m", h.angle, lambda t: 1.0))


def test_names_are_unique():
    s, ball = point_mass()
    s.contact(gap=ball.q[1], name="floor")
    with pytest.raises(ss.ModelError, match="contact 'floor' is declared twice"):
        s.contact(gap=ball.q[0], name="floor")
    s.constraint(ball.q[0], name="rail")
    with pytest.raises(ss.ModelError, match="constraint 'rail' is declared twice"):
        s.velocity_constraint(ball.u[0], name="rail")


def test_a_part_that_failed_leaves_nothing_behind():
    """The corrected part can be added under the same name, as one does in a notebook."""
    s, ball = point_mass()
    before = s.size
    with pytest.raises(ss.ModelError, match="restitution = 2"):
        s.add(ss.Contact("floor", ball.point(), ss.Line([0, 0], [0.6, 0.8]), restitution=2))
    with pytest.raises(ss.ModelError, match="its supports hold both nodes"):
        s.add(ss.Bar("bar", **BAR, supports={1: "fixed", 2: "fixed"}))
    assert s.size == before
    s.add(ss.Contact("floor", ball.point(), ss.Line([0, 0], [0.6, 0.8]), restitution=0.2))
    s.add(ss.Bar("bar", **BAR, supports={2: "fixed"}))
    assert ss.solve(s, t_end=0.02, dt=0.01).complete


def test_nothing_can_move():
    with pytest.raises(ss.ModelError, match="nothing can move"):
        ss.solve(ss.System("void"), 1.0, 0.1)
    s, _ = point_mass()
    s.potential_energy(5.0)
    with pytest.raises(ss.ModelError, match="depends on no coordinate"):
        ss.solve(s, 1.0, 0.1)


def test_too_many_steps_and_too_long_ones():
    with pytest.raises(ss.OptionError, match="dt = 2 is longer than the whole run, from t = 0 to 1"):
        ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=2.0)
    with pytest.raises(ss.OptionError, match=r"1e\+15 steps"):
        ss.solve(ss.benchmarks.bouncing_ball(), t_end=1.0, dt=1e-15)


PARAMETERS_WITH_RANGES = {  # of one system; what constructors refuse, runs refuse
    "ball.mass": (-1.0, "> 0"),
    "ball.inertia.y": (0.0, "> 0"),
    "floor.sphere.radius": (-0.1, "> 0"),
    "floor.friction": (-0.3, ">= 0"),
    "floor.restitution": (1.5, ">= 0 and <= 1"),
    "string.length": (0.0, "> 0"),
    "end.clearance": (-1e-3, "> 0"),
    "beam.modulus": (-1.0, "> 0"),
    "beam.mass_damping": (-1.0, ">= 0"),
    "twice": (-2.0, "> 0"),
}


@pytest.fixture(scope="module")
def with_ranges():
    s = ss.System("ranges")
    ball = s.add(ss.RigidBody("ball", mass=1.0, inertia=[0.1, 0.1, 0.1], position=[0, 0, 1]))
    ground, floor = ss.ground.point(0, 0, 3), ss.Plane([0, 0, 0], [0, 0, 1])
    s.add(ss.Contact("floor", ss.Sphere(ball.point(), 0.1), floor, friction=0.3, restitution=0.5))
    s.add(ss.Rod("string", ground, ball.point()))
    other = s.add(ss.RigidBody("other", mass=1.0, inertia=[0.1, 0.1, 0.1], position=[0, 0, 5]))
    place = ss.ground.point(0, 0, 5)
    s.add(ss.ClearanceRevolute("end", place, other.point(), axis=[0, 0, 1], clearance=1e-3, radius=0.01, length=0.1))
    steel = {"density": 7850, "modulus": 2.1e11, "shear_modulus": 8.1e10}
    s.add(ss.SpatialBeam("beam", length=0.6, elements=1, **ss.circular(0.01), **steel, mass_damping=0.1))
    s.parameter("half", 1.0)
    s.parameter("twice", 2.0 * s.parameter_symbols()["half"], above=0)
    return s


@pytest.mark.parametrize("name", PARAMETERS_WITH_RANGES)
def test_parameters_keep_the_ranges_of_their_parts(with_ranges, name):
    bad, wanted = PARAMETERS_WITH_RANGES[name]
    given, follows = ({"half": -1.0}, r" \(from 'half'\)") if name == "twice" else ({name: bad}, "")
    with pytest.raises(
        ss.ModelError, match=rf"parameter '{name}'{follows} = {bad:g}(\.0)? must be a finite number {wanted}"
    ):
        ss.solve(with_ranges, 0.1, 0.1, parameters=given)
    assert with_ranges.parameter_values()["half"] == 1.0


def test_ranges_hold_wherever_parameters_are_given():
    s = ss.System("ball")
    R, g = s.parameter("R", 0.1, above=0, at_most=0.5), s.parameter("g", 9.81)
    q, _ = s.coordinates("x", initial=[1], velocity=[0])
    s.mass_matrix([[1.0]])
    s.force([-g])
    s.contact(gap=q[0] - R, name="floor")
    message = r"parameter 'R' = -0.1 must be a finite number > 0 and <= 0.5"
    with pytest.raises(ss.ModelError, match=message):
        ss.solve(s, 0.1, 0.1, parameters={"R": -0.1})
    with pytest.raises(ss.ModelError, match=message):
        ss.ensemble(s, 0.1, 0.1, parameters={"R": [0.1, -0.1]})
    with pytest.raises(ss.ModelError, match=message), ss.stepper(s, dt=0.1) as sim:
        sim.set({"g": 5.0, "R": -0.1})
    assert sim._parameters.changed == {}  # all or nothing
    with pytest.raises(ss.ModelError, match="parameter 'R' = 0.6"):
        s.assemble(parameters={"R": 0.6})
    with pytest.raises(ss.ModelError, match="parameter 'b' = 2.0 must be a finite number <= 1"):
        s.parameter("b", 2, at_most=1)
