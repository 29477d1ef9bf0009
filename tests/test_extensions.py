"""What users add from outside, each by writing one class: a scheme, a part, a contact law, a cone. Checked by physics."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import stickslip as ss
from stickslip import nonsmooth
from stickslip.math import maximum, minimum, norm, rotation, where
from stickslip.schemes import PERCUSSIONS, Q_1, U_0, U_1, Facts, Field, Scheme, Space

G = 9.81

# -- a scheme -------------------------------------------------------------------------------------------------------------

GAP = Field("gap of the explicit guess", Space.N)


@dataclass(frozen=True)
class ImplicitMidpoint(Scheme):
    """q_1 = q_0 + dt u_M, M (u_1 - u_0) = dt h(t_M, q_M, u_M) + W P, with the means M of both ends; laws on velocity level."""

    facts = Facts(
        summary="conserves quadratic invariants",
        source="Gauss-Legendre, one stage",
        order=2,
        levels=("velocity",),
        contact_level="velocity",
        unknowns={"motion": "n_u + n_P"},
        symmetric=True,
        general_kinematics=False,
    )

    def step(self):
        return self.guess, self.motion

    def guess(self, part, s):
        s.update(GAP, part.g_N(s.t_1, s.q_0 + s.dt * s.u_0))

    def motion(self, part, s):
        u_1, P = s.unknown(U_1, guess=U_0), s.unknown(PERCUSSIONS)
        t_M, u_M = (s.t_0 + s.t_1) / 2, (s.u_0 + u_1) / 2
        q_1 = s.position(Q_1, lambda q_1: q_1 - s.q_0 - s.dt * u_M)
        q_M = (s.q_0 + q_1) / 2
        before, after = (s.t_0, s.q_0, s.u_0), (s.t_1, q_1, u_1)
        s.equation(part.M(t_M, q_M) @ (u_1 - s.u_0) - s.dt * part.h(t_M, q_M, u_M) - part.W(t_M, q_M) @ P, for_=u_1)
        s.zero(part.g_dot(*after), by=P.g)
        s.zero(part.gamma(*after), by=P.gamma)
        s.normal(s.xi_N(after, before), P.N, by=P.N, open_where=GAP)
        s.friction(part.xi_F(after, before), P.F, radius=part.radius(*after, P.N, s.dt), by=P.F)


def oscillator() -> ss.System:
    """m x'' = -c x."""
    s = ss.System("oscillator")
    x, u = s.coordinates("x", initial=[1.0], velocity=[0.0])
    s.kinetic_energy(0.5 * u[0] ** 2)
    s.potential_energy(0.5 * 4.0 * x[0] ** 2)
    return s


def test_a_scheme_is_one_class() -> None:
    """The midpoint rule conserves the energy of a linear oscillator exactly, and its phase converges with order 2."""
    errors = []
    for dt in (0.05, 0.025):
        solution = ss.solve(oscillator(), t_end=2.0, dt=dt, method=ImplicitMidpoint(), progress=False)
        np.testing.assert_allclose(solution.energy().total, 2.0, rtol=1e-13)
        errors.append(abs(solution.q[-1, 0] - np.cos(2.0 * solution.t[-1])))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.02)
    assert "ImplicitMidpoint" not in ss.METHODS  # it has no name, so no text stands for it


def test_a_scheme_is_read_again_for_another_system() -> None:
    """What it reads may have changed, and what it says too: notebooks put a new text into functions that are there."""
    weight = [0.5]

    def write(part, s, a):
        u_1, P = s.unknown(U_1, guess=U_0), s.unknown(PERCUSSIONS)
        u_M = (1 - a) * s.u_0 + a * u_1
        q_1 = s.position(Q_1, lambda q_1: q_1 - s.q_0 - s.dt * u_M)
        after = s.t_1, q_1, u_1
        h = part.h(s.t_1, (1 - a) * s.q_0 + a * q_1, u_M)
        s.equation(part.M(s.t_1, q_1) @ (u_1 - s.u_0) - s.dt * h, for_=u_1)
        s.zero(part.g_dot(*after), by=P.g)
        s.zero(part.gamma(*after), by=P.gamma)
        s.normal(part.g_N_dot(*after), P.N, by=P.N)
        s.friction(part.gamma_F(*after), P.F, radius=part.radius(*after, P.N, s.dt), by=P.F)

    @dataclass(frozen=True)
    class Weighted(ImplicitMidpoint):
        """With a midpoint that is anywhere."""

        def motion(self, part, s):
            write(part, s, weight[0])

        def another(self, part, s):
            write(part, s, weight[0] / 2)

    def end() -> float:
        return float(ss.solve(oscillator(), t_end=2.0, dt=0.05, method=Weighted(), progress=False).energy().total[-1])

    assert np.isclose(end(), 2.0)
    weight[0] = 1.0
    assert end() < 1.8
    Weighted.motion.__code__ = Weighted.another.__code__
    assert np.isclose(end(), 2.0)


def test_a_scheme_treats_contacts() -> None:
    """A block slides until its kinetic energy is spent, v^2/(2 mu g) far, and rests."""
    solution = ss.solve(block(velocity=[1.0, 0.0]), t_end=0.5, dt=1e-3, method=ImplicitMidpoint(), progress=False)
    assert solution.q[-1, 0] == pytest.approx(1.0 / (2 * 0.5 * G), abs=1e-6)
    assert abs(solution.u[-1]).max() < 1e-12


# -- a part ---------------------------------------------------------------------------------------------------------------


class Tether:
    """A string between a point of the ground and a body: it pulls, and does not push."""

    def __init__(self, name: str, anchor: list[float], body: ss.PointMass, length: float, restitution: float):
        self.name, self.anchor, self.body, self.length, self.restitution = name, anchor, body, length, restitution

    def declare(self, system, equations):
        length = system.parameter(f"{self.name}.length", self.length)
        way = self.body.position([0, 0]) - np.array(self.anchor)
        equations.contact(gap=length - norm(way), restitution=self.restitution, name=self.name)


def test_a_part_is_one_class() -> None:
    """A ball falls freely until its tether is taut, rebounds with its restitution, and never leaves the circle."""
    s = ss.System("ball on a tether")
    s.add(ss.Gravity([0, -G]))
    ball = s.add(ss.PointMass("ball", mass=2.0, position=[0, -0.1]))
    s.add(Tether("tether", [0, 0], ball, 0.5, 0.6))
    t_1, v = np.sqrt(2 * 0.4 / G), np.sqrt(2 * G * 0.4)
    solution = ss.solve(s, t_end=t_1 + 0.1, dt=1e-4, progress=False)
    assert solution.u[-1, 1] == pytest.approx(0.6 * v - G * 0.1, abs=2e-3)
    assert solution.gap.min() > -1e-8
    assert solution.P_N.sum() == pytest.approx(2.0 * 1.6 * v, rel=1e-3)
    shorter = ss.solve(s, t_end=0.3, dt=1e-3, parameters={"tether.length": 0.2}, progress=False)
    assert np.linalg.norm(shorter.q, axis=1).max() < 0.2 + 1e-8


# -- a law ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Yielding(ss.Law):
    """Restitution e up to the yield speed, beyond it e (v_y/v)^(1/4), as of an elastic-plastic sphere (Johnson)."""

    restitution: float
    speed: float

    def declare(self, equations, touch):
        def e_N(v):
            return self.restitution * where(v > self.speed, (self.speed / maximum(v, self.speed)) ** 0.25, 1)

        equations.contact(gap=touch.gap, restitution=e_N, name=touch.name)


@pytest.mark.parametrize("v", [0.5, 4.0])
def test_a_law_is_one_class(v: float) -> None:
    """A ball leaves the floor with the restitution of the speed at which it came; its numbers are parameters."""
    s = ss.System("yielding ball")
    ball = s.add(ss.PointMass("ball", mass=1.0, position=[0, 0.11], velocity=[0, -v]))
    s.add(ss.Contact("floor", ss.Sphere(ball.point(), 0.1), ss.Line([0, 0], [0, 1]), law=Yielding(0.8, 1.0)))
    assert {"floor.restitution": 0.8, "floor.speed": 1.0}.items() <= s.parameters.items()
    solution = ss.solve(s, t_end=0.05, dt=1e-3, method="moreau", progress=False)
    assert solution.u[-1, 1] == pytest.approx(v * 0.8 * min(1.0, v**-0.25), rel=1e-12)
    soft = ss.solve(s, t_end=0.05, dt=1e-3, method="moreau", parameters={"floor.restitution": 0.1}, progress=False)
    assert soft.u[-1, 1] == pytest.approx(v * 0.1 * min(1.0, v**-0.25), rel=1e-12)


# -- cones ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratchet(ss.Cone):
    """-easy radius <= P <= radius: it slides forwards easily."""

    easy: float = 0.1

    def project(self, y, radius):
        return [maximum(-self.easy * radius, minimum(y[0], radius))]


class Pyramid(ss.Cone):
    """|P_i| <= radius, each component by itself."""

    def project(self, y, radius):
        return [maximum(-radius, minimum(each, radius)) for each in y]


class Disk(ss.Cone):
    """Coulomb's own, written as a cone."""

    def project(self, y, radius):
        return y * minimum(1, radius / norm(y))


@dataclass(frozen=True)
class Turned(ss.Cone):
    """A pyramid whose sides are turned by an angle: what it leaves where it is it moves by rounding."""

    angle: float

    def project(self, y, radius):
        A = rotation(self.angle)
        return A.T @ [maximum(-radius, minimum(each, radius)) for each in A @ y]


def block(velocity=(0.0, 0.0), pull=0.0, cone=None, friction=0.5) -> ss.System:
    """A unit mass on a floor."""
    s = ss.System("block")
    (_, z), u = s.coordinates("x z", initial=[0, 0], velocity=velocity)
    s.mass_matrix(np.eye(2))
    s.force([s.parameter("pull", pull), -G])
    s.contact(gap=z, slip=u[0], friction=friction, cone=cone, name="floor")
    return s


def puck(velocity, cone=None) -> ss.System:
    """A unit mass on a floor in space."""
    s = ss.System("puck")
    (_, _, z), u = s.coordinates("x y z", initial=[0, 0, 0], velocity=[*velocity, 0.0])
    s.mass_matrix(np.eye(3))
    s.force([0, 0, -G])
    s.contact(gap=z, slip=[u[0], u[1]], friction=0.5, cone=cone, name="floor")
    return s


WITH_FRICTION = [n for n, scheme in ss.METHODS.items() if scheme().facts.friction and n != "event-driven"]


@pytest.mark.parametrize("method", WITH_FRICTION)
def test_a_ratchet_slides_one_way(method: str) -> None:
    """Forwards it is Coulomb friction with a tenth of mu, backwards with all of it, in every scheme with friction."""

    def run(cone, friction, v, pull=0.0):
        s = block([v, 0.0], pull, cone, friction)
        return ss.solve(s, t_end=0.3, dt=1e-2, method=method, progress=False).u[:, 0]

    for v, mu, pull in ((1.0, 0.05, 0.0), (-1.0, 0.5, 0.0), (0.0, 0.5, -0.3 * G), (0.0, 0.05, 0.3 * G)):
        np.testing.assert_allclose(run(Ratchet(), 0.5, v, pull), run(None, mu, v, pull), atol=1e-9)
    forwards, backwards = run(Ratchet(), 0.5, 1.0), run(Ratchet(), 0.5, -1.0)
    assert forwards[-1] - forwards[5] == pytest.approx(-0.05 * G * 0.25, rel=5e-3)
    assert backwards[15] - backwards[5] == pytest.approx(0.5 * G * 0.1, rel=5e-3)
    # A pull of 0.3 of the weight is held to the left and not to the right.
    left, right = run(Ratchet(), 0.5, 0.0, -0.3 * G), run(Ratchet(), 0.5, 0.0, 0.3 * G)
    assert right[-1] - right[5] == pytest.approx(0.25 * G * 0.25, rel=5e-3)
    assert abs(backwards[-1]) < (1e-4 if method == "explicit-velocity" else 1e-9)  # forces lag: what is left fades away
    assert abs(left[-1]) < 1e-9


@pytest.mark.parametrize("method", ["rattle", "moreau", "theta", "lobatto", "half-explicit"])
def test_a_pyramid_acts_on_each_component(method: str) -> None:
    """x and y are slowed down by mu g each, y rests first, and from then on nothing holds it."""
    solution = ss.solve(puck([1.0, 0.4], Pyramid()), t_end=0.25, dt=1e-3, method=method, progress=False)
    exact = np.maximum(np.array([1.0, 0.4]) - 0.5 * G * solution.t[:, None], 0.0)
    # The last step of a slide ends inside of it, on velocity level of all of these.
    np.testing.assert_allclose(solution.u[:, :2], exact, atol=1e-9)
    assert abs(solution.P_F[-1, 1]) < 1e-10
    assert solution.P_F[1, 1] == pytest.approx(-0.5 * G * 1e-3, abs=1e-10)


def test_a_turned_pyramid_is_a_pyramid() -> None:
    """The same motion, turned."""
    A = np.array(rotation(0.7), float)
    plain = ss.solve(puck([1.0, 0.4], Pyramid()), t_end=0.25, dt=1e-3, progress=False)
    turned = ss.solve(puck(A.T @ [1.0, 0.4], Turned(0.7)), t_end=0.25, dt=1e-3, progress=False)
    np.testing.assert_allclose(turned.u[:, :2] @ A.T, plain.u[:, :2], atol=1e-9)


def tumbling(cone, friction=0.4) -> ss.System:
    """A box with four corners that falls on an edge of a slope, hops, slides and rests."""
    s = ss.System("box")
    s.add(ss.Gravity([1.5, -G]))
    box = s.add(
        ss.PlanarBody(
            "box", mass=1.0, inertia=0.1, position=[0, 0.9], angle=0.5, velocity=[0.8, 0], angular_velocity=-2
        )
    )
    corners = ss.Box(box, [0.6, 0.4])
    floor = ss.Line([0, 0], [0, 1])
    s.add(ss.Contact("floor", corners, floor, law=ss.Coulomb(friction, restitution=0.3, cone=cone)))
    return s


@pytest.mark.parametrize("method", ["rattle", "moreau", "generalized-alpha"])
def test_a_disk_is_coulombs_law(method: str) -> None:
    """Coulomb's law written as a cone gives the motion of Coulomb's law, with impacts, several contacts and rest."""
    ball, disk = (
        ss.solve(tumbling(cone), t_end=1.0, dt=2e-3, method=method, progress=False) for cone in (None, Disk())
    )
    np.testing.assert_allclose(disk.q, ball.q, atol=1e-7)
    assert abs(disk.P_F).max() > 0.1
    if method != "generalized-alpha":  # which sums percussions of several laws
        assert (abs(disk.P_F) <= 0.4 * disk.P_N + 1e-9).all()


def test_a_disk_is_coulombs_law_in_space() -> None:
    """The direction of slip turns; Newton's method takes as many iterations, within a few."""
    s, runs = {}, {}
    for name, cone in (("ball", None), ("disk", Disk())):
        s = ss.System("spinning coin")
        (_, _, z), u = s.coordinates("x y z", initial=[0, 0, 0], velocity=[1, 0.5, 0])
        s.mass_matrix(np.diag([1.0, 3.0, 1.0]))
        s.force([0, 0.7, -G])
        s.contact(gap=z, slip=[u[0], u[1]], friction=0.4, cone=cone)
        runs[name] = ss.solve(s, t_end=0.8, dt=1e-3, progress=False)
    np.testing.assert_allclose(runs["disk"].q, runs["ball"].q, atol=1e-9)
    assert runs["disk"].stats.iterations.sum() <= 1.1 * runs["ball"].stats.iterations.sum()


def test_the_energy_ledger_closes() -> None:
    """Friction in a cone takes what the motion loses, and its work is never positive."""
    s = tumbling(Ratchet(0.3))
    ledger = ss.energy_ledger(ss.solve(s, t_end=1.0, dt=1e-3, progress=False), s)
    assert ledger.friction.sum() < -0.1
    assert ledger.friction.max() < 1e-9


def test_the_shape_of_a_cone_may_be_a_parameter() -> None:
    """One declaration, many shapes; a shape that is not allowed is refused where it is given."""
    s = ss.System("block")
    (_, z), u = s.coordinates("x z", initial=[0, 0], velocity=[1, 0])
    s.mass_matrix(np.eye(2))
    s.force([0, -G])
    easy = s.parameter("easy", 0.1)
    s.contact(gap=z, slip=u[0], friction=0.5, cone=Ratchet(easy), name="floor")
    for value in (0.1, 0.0, 0.7):
        solution = ss.solve(s, t_end=0.1, dt=1e-2, parameters={"easy": value}, progress=False)
        assert solution.u[-1, 0] == pytest.approx(1.0 - 0.5 * value * G * 0.1, abs=1e-9)
    with pytest.raises(ss.ModelError, match="Ratchet"):
        ss.solve(s, t_end=0.1, dt=1e-2, parameters={"easy": -0.2}, progress=False)


def test_friction_in_a_joint_takes_a_cone() -> None:
    """A wheel with a freewheel: its bearing holds it in one direction only."""
    for speed, torque in ((5.0, 0.02), (-5.0, 0.2)):
        s = ss.System("freewheel")
        wheel = s.add(ss.PlanarBody("wheel", mass=1, inertia=0.1, angular_velocity=speed))
        hub = s.add(ss.Revolute("hub", ss.ground.point(0, 0), wheel.point()))
        s.add(ss.Friction("bearing", hub.angle, force=0.2, cone=Ratchet()))
        solution = ss.solve(s, t_end=1.0, dt=1e-2, progress=False)
        assert solution.u[-1, 2] == pytest.approx(speed - np.sign(speed) * torque / 0.1, abs=1e-9)


def test_a_system_with_a_cone_travels() -> None:
    """Pickled, resumed and copied it is the same; the class itself is not needed any more."""
    s = block([1.0, 0.0], cone=Ratchet())
    again = pickle.loads(pickle.dumps(s))
    runs = [ss.solve(each, t_end=0.1, dt=1e-2, progress=False) for each in (s, again)]
    np.testing.assert_array_equal(runs[0].u, runs[1].u)


def test_the_ladder_takes_cones() -> None:
    """Steps that Newton's method leaves are solved as problems of their laws alone, cones included, to the same motion."""
    full, short = (
        ss.solve(tumbling(Ratchet(0.3)), t_end=0.6, dt=2e-3, method="moreau", max_iterations=n, progress=False)
        for n in (30, 1)
    )
    assert short.stats.solved_by["robust"] > 0
    np.testing.assert_allclose(short.q, full.q, atol=1e-9)


def test_a_file_belongs_to_its_cone(tmp_path) -> None:
    """A run is continued with the cone it was made with, and with no other."""
    path = tmp_path / "run.h5"
    ss.solve(block([1.0, 0.0], cone=Ratchet(0.1)), t_end=0.05, dt=1e-2, out=path, progress=False)
    longer = ss.resume(path, block([1.0, 0.0], cone=Ratchet(0.1)), t_end=0.1)
    assert longer.u[-1, 0] == pytest.approx(1.0 - 0.05 * G * 0.1, abs=1e-9)
    with pytest.raises(ss.OptionError, match="other equations"):
        ss.resume(path, block([1.0, 0.0], cone=Ratchet(0.2)), t_end=0.2)


# -- what is refused ------------------------------------------------------------------------------------------------------


def cone_of(function) -> ss.Cone:
    return type("Mine", (ss.Cone,), {"project": staticmethod(function)})()


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda y, r: [maximum(0.2 * r, minimum(y[0], r))], "Mine does not contain zero"),
        (lambda y, r: [maximum(-r, minimum(y[0], r * r))], "Mine does not grow in proportion to the radius"),
        (lambda y, r: [maximum(y[0], 0)], "Mine does not grow in proportion to the radius"),
        (lambda y, r: [0.5 * maximum(-r, minimum(y[0], r))], "Mine moves .* which is its own projection"),
        (lambda y, r: [r * y[0] / (y[0] - y[0])], "is not a number"),
        (lambda y, r: [y[0], r], "projects 1 components to 2"),
        (lambda y, r: [y[1]], "cannot project 1 components"),
        (lambda y, r: [max(-r, min(y[0], r))], r"Mine cannot project .* maximum\(x, y\)"),
    ],
)
def test_what_is_not_a_cone_is_refused(function, words: str) -> None:
    """The complaint names the cone, the contact and what is wrong."""
    with pytest.raises(ss.ModelError, match=words) as caught:
        block(cone=cone_of(function))
    assert "floor" in str(caught.value)


def test_a_set_that_is_not_convex_is_refused() -> None:
    """Also a convex one whose nearest point is not what `project` gives."""
    star = cone_of(lambda y, r: where(abs(y[0]) > abs(y[1]), 1, 0) * y * minimum(1, r / norm(y)))
    scaled = cone_of(lambda y, r: y * minimum(1, r / maximum(abs(y[0]), abs(y[1]))))
    for cone in (star, scaled):
        with pytest.raises(ss.ModelError, match="not convex, or project|grow in proportion"):
            puck([1, 0], cone)


def test_slips_of_the_pen_are_refused() -> None:
    """The class for an instance, something else, a shape of the state, a cone without slip."""
    with pytest.raises(ss.ModelError, match=r"write Pyramid\(\)"):
        block(cone=Pyramid)
    with pytest.raises(ss.ModelError, match="derived from stickslip.Cone"):
        block(cone=0.3)
    with pytest.raises(ss.ModelError, match="the cone Cone cannot .* it has no method project"):
        block(cone=ss.Cone())
    s = ss.System("block")
    (x, z), u = s.coordinates("x z", initial=[1, 0], velocity=[1, 0])
    s.mass_matrix(np.eye(2))
    with pytest.raises(ss.ModelError, match="slip velocity of 1, 2 or 3"):
        s.contact(gap=z, cone=Pyramid())
    s.contact(gap=z, slip=u[0], friction=0.5, cone=Ratchet(x))
    with pytest.raises(ss.ModelError, match="shape of a cone depends on time, coordinates"):
        ss.solve(s, t_end=0.1, dt=1e-2, progress=False)


def test_who_knows_balls_only_says_so() -> None:
    """Event-driven, derivatives, and schemes that take stick and slip of an element as a whole."""
    with pytest.raises(ss.MethodError, match="'floor' has the cone Ratchet, but method 'event-driven'"):
        ss.solve(block(cone=Ratchet()), t_end=0.1, dt=1e-2, method="event-driven", progress=False)
    with pytest.raises(ss.MethodError, match="cone Ratchet, but this study"):
        ss.sensitivity(block(cone=Ratchet()), t_end=0.1, dt=1e-2, wrt=["pull"], method="rattle")
    with pytest.raises(ss.MethodError, match="cone Pyramid may stick in one direction"):
        ss.solve(puck([1, 0], Pyramid()), t_end=0.1, dt=1e-2, method="generalized-alpha", progress=False)
    with pytest.raises(ss.MethodError, match="'midpoint' of lobatto"):
        ss.solve(block(cone=Ratchet()), t_end=0.1, dt=1e-2, method=ss.Lobatto(variant="midpoint"), progress=False)


# -- the problem of one step ----------------------------------------------------------------------------------------------


def random_contacts(seed: int, n: int = 6, dimension: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    A = random.normal(size=(dimension * n, dimension * n + 2))
    return A @ A.T, random.normal(size=dimension * n), random.uniform(0.1, 0.8, n)


@pytest.mark.parametrize("solver", ["newton", "gauss-seidel", "robust", "auto"])
@pytest.mark.parametrize("seed", range(5))
def test_solvers_take_cones(solver: str, seed: int) -> None:
    """Coulomb's law as a cone has the solutions of Coulomb's law; the residual of a pyramid is what it says."""
    W, q, mu = random_contacts(seed)
    ball, disk = (nonsmooth.contacts(W, q, mu, cone=cone) for cone in (None, Disk()))
    found = nonsmooth.solve(disk, solver, tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(
        nonsmooth.solve(ball, "auto", 1e-9, start=found.reaction).reaction, found.reaction, atol=1e-12
    )
    pyramid = nonsmooth.solve(nonsmooth.contacts(W, q, mu, cone=Pyramid()), solver, tol=1e-9)
    assert pyramid.converged
    r, u = pyramid.reaction.reshape(-1, 3), pyramid.velocity.reshape(-1, 3)
    rho = (mu * r[:, 0])[:, None]
    assert (abs(r[:, 1:]) <= rho + 1e-7).all()
    inside = abs(r[:, 1:]) < rho - 1e-6
    assert abs(u[:, 1:][inside]).max(initial=0.0) < 1e-6
    assert (r[:, 1:] * u[:, 1:] <= 1e-7).all()


def test_a_problem_with_a_cone_travels() -> None:
    """Its kernel is compiled again where it arrives; FCLIB and enumeration refuse it by name."""
    W, q, mu = random_contacts(1, 3, 2)
    problem = nonsmooth.contacts(W, q, mu, cone=Ratchet())
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(nonsmooth.solve(again).reaction, nonsmooth.solve(problem).reaction)
    with pytest.raises(ss.OptionError, match="cone of its own; FCLIB"):
        problem.save("nowhere.h5")
    with pytest.raises(ss.OptionError, match="enumeration cannot treat this problem: .* cone of its own"):
        nonsmooth.solve(problem, "enumeration")
