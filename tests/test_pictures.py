"""Sections, bifurcation diagrams, basins and Lyapunov exponents of impacting systems."""

import json

import numpy as np
import pytest

import stickslip as ss
from stickslip.math import diag, pi
from stickslip.studies.many import ManyRuns


def oscillator(**changed):
    return ss.benchmarks.impact_oscillator(**{"zeta": 0.05, **changed})


# -- the integrator of many runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, t_end, dt, tol",
    [
        (lambda: oscillator(), 20.0, 0.02, 2e-6),
        (lambda: oscillator(e=0.0, c=0.1), 12.0, 5e-3, 2e-6),  # comes to rest at the stop, and leaves it
        (lambda: ss.benchmarks.ball_on_shaker(), 2.0, 2e-3, 1e-8),
        (lambda: ss.benchmarks.bouncing_ball(), 1.9, 1e-2, 1e-9),
    ],
)
def test_located_impacts_agree_with_event_driven(make, t_end, dt, tol):
    system = make()
    runs = ManyRuns(system, "auto", {})
    assert runs._located is not None
    values = np.array(list(system.parameter_values().values()))
    run = runs.run(np.concatenate([system.q_initial, system.u_initial]), values, dt, round(t_end / dt))
    exact = ss.solve(system, t_end, t_end, method="event-driven", rtol=1e-12, atol=1e-13, progress=False)
    assert np.allclose(run.end, np.concatenate([exact.q[-1], exact.u[-1]]), rtol=0, atol=tol)


def test_located_impacts_of_several_contacts():
    """Two balls in a row against a wall, with different masses: impacts of both pairs."""
    s = ss.System("two balls")
    q, u = s.coordinates("a b", initial=[0.5, 1.0], velocity=[0, -1.3])
    s.mass_matrix(diag([1.0, 0.4]))
    s.force([-0.2 * q[0], -q[1]])
    s.contact(gap=q[0], restitution=0.7, name="wall")
    s.contact(gap=q[1] - q[0] - 0.1, restitution=0.9, name="balls")
    runs = ManyRuns(s, "auto", {})
    run = runs.run(np.array([0.5, 1.0, 0.0, -1.3]), np.zeros(0), 0.01, 400)
    exact = ss.solve(s, 4.0, 4.0, method="event-driven", rtol=1e-12, atol=1e-13, progress=False)
    assert len(run.impacts) > 4
    assert np.allclose(run.end, np.concatenate([exact.q[-1], exact.u[-1]]), atol=1e-6)


def test_friction_takes_the_scheme():
    runs = ManyRuns(ss.benchmarks.woodpecker_toy(), "auto", {})
    assert runs._located is None
    with pytest.raises(ss.MethodError, match="compiled scheme"):
        ManyRuns(oscillator(), "event-driven", {})


# -- studies ------------------------------------------------------------------------------------------------------------


def test_section_of_a_periodic_motion_is_the_orbit():
    s = oscillator(omega=2.5)
    T = 2 * pi / 2.5
    points = ss.poincare(s, period=T, count=30, transient=300)
    orbit = ss.periodic_orbit(s, (points.q[-1], points.u[-1]), period=T)
    assert orbit.stability == "stable"
    assert np.allclose(points["x"], orbit.q0[0], atol=1e-5)
    assert np.allclose(points["x_dot"], orbit.u0[0], atol=1e-5)
    hits = ss.poincare(s, contact="stop", dt=T / 200, count=30, transient=300)
    assert len(hits) == 30  # one per period, leaving the stop
    assert np.allclose(hits["x"], 0.0, atol=1e-12)
    assert (hits["x_dot"] < 0).all()
    turning = ss.poincare(s, section=s.blocks[0].u[0], dt=T / 200, count=30, transient=300)
    assert np.ptp(turning["x"]) < 1e-4


def test_bifurcation_diagram_doubles_its_period(tmp_path):
    """The flip of the ball on a shaker is known, A = 0.0166426: period one below, two above."""
    s = ss.benchmarks.ball_on_shaker()
    T, A = 2 * pi / 30, 0.015
    phi = np.arccos(9.81 * pi / 3 / 30**2 / A)  # beginning on the orbit: others end in contact with the table
    tau = T - phi / 30
    start = {"q0": [A * np.sin(phi) + 9.81 * (T * tau - tau**2) / 2], "u0": [9.81 * (T / 2 - tau)]}
    given = {"period": T, "count": 30, "transient": 400, "progress": False, **start}
    diagram = ss.bifurcation(s, "A", [0.0150, 0.0160, 0.0170, 0.0172], direction="both", **given)
    assert diagram.periods("up").tolist() == [1, 1, 2, 2]
    assert diagram.periods("down").tolist() == [1, 1, 2, 2]
    assert not diagram.failed["up"]
    assert diagram.save(tmp_path / "d.csv").read_text().startswith("direction,A,z,z_dot\nup,0.015,")
    x, y = diagram.column("z")
    assert x.shape == y.shape == (120,)
    each = ss.bifurcation(s, "A", [0.0160], direction="none", **given)
    assert np.allclose(each.points["none"][0][-1], diagram.points["up"][1][-1], atol=1e-5)
    diagram.plot(tmp_path / "d.png")
    assert (tmp_path / "d.png").stat().st_size > 10_000


def test_basins_of_a_double_well(tmp_path):
    """Damped motion in two wells comes to rest at -1 or 1, or at the stop; the grid is symmetric."""
    s = ss.System("double well")
    (x,), (v,) = s.coordinates("x", initial=[0.1], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy((x**2 - 1) ** 2 / 4)
    s.force([-0.5 * v])
    s.contact(gap=3 - x, restitution=0.5, name="stop")
    grid = np.linspace(-2, 2, 12)
    b = ss.basins(s, {"x": np.linspace(-3.5, 3.5, 8), "x_dot": grid}, period=1.0, transient=60, progress=False)
    ends = sorted(float(a[0, 0]) for a in b.attractors)
    assert np.allclose(ends, [-1, 1], atol=1e-3)
    assert (b.labels[:, -1] == -2).all()  # behind the stop
    assert abs(sum(b.shares.values()) - 1) < 1e-12
    b.plot(tmp_path / "b.png")
    assert (tmp_path / "b.png").stat().st_size > 10_000
    assert np.array_equal(np.load(b.save(tmp_path / "b.npz"))["labels"], b.labels)


def test_steps_that_capture_impacts_make_attractors_of_their_own():
    """What docs/diagrams.md says about rattle: at omega = 3.9 it finds two attractors of period two, and there is one."""
    grid = {"x": np.linspace(-3, 0, 6), "x_dot": np.linspace(-3, 3, 6)}
    given = {"period": 2 * pi / 3.9, "progress": False}
    exact, captured = (ss.basins(oscillator(omega=3.9), grid, method=m, **given) for m in ("auto", "rattle"))
    assert [len(a) for a in exact.attractors] == [2]
    assert [len(a) for a in captured.attractors] == [2, 2]


def test_lyapunov_exponents_of_an_orbit_are_those_of_its_multipliers():
    s = oscillator(omega=2.5, e=0.6)
    T = 2 * pi / 2.5
    points = ss.poincare(s, period=T, count=1, transient=300)
    orbit = ss.periodic_orbit(s, (points.q[-1], points.u[-1]), period=T)
    found = ss.lyapunov(s, period=T, count=12, transient=0, q0=orbit.q0, u0=orbit.u0, rtol=1e-8)
    exact = np.log(np.abs(orbit.multipliers)) / T
    assert found.exponents.sum() == pytest.approx(exact.sum(), rel=1e-5)
    assert found.exponents[0] == pytest.approx(exact[0], rel=0.05)
    assert not found.chaotic


@pytest.mark.parametrize("omega, e, count, sign", [(2.8, 0.8, 15, 1), (2.5, 0.6, 15, -1), (3.9, 0.8, 16, -1)])
def test_lyapunov_exponents_in_three_regimes(omega, e, count, sign):
    """Chaos, period one and period two. The exponent of the tangent agrees with that of two neighbours, brought together again
    every period. The time is so short that both estimates follow the same motion."""
    s = oscillator(omega=omega, e=e)
    T = 2 * pi / omega
    values = np.array(list(s.parameter_values().values()))
    runs = ManyRuns(s, "auto", {})
    x = runs.run(np.array([-0.2, 0.0]), values, T / 100, 20000).end
    found = ss.lyapunov(s, period=T, count=count, transient=0, q0=x[:1], u0=x[1:], rtol=1e-8, atol=1e-10)
    d, total, a, b = 1e-6, 0.0, x, x + np.array([1e-6, 0])
    for _ in range(count):
        a, b = (runs.run(y, values, T / 200, 200).end for y in (a, b))
        distance = np.linalg.norm(b - a)
        total, b = total + np.log(distance / d), a + (b - a) * d / distance
    assert sign * found.exponents[0] > 0.05
    assert found.exponents[0] == pytest.approx(total / (count * T), rel=0.05)


# -- journals -----------------------------------------------------------------------------------------------------------


def cut_off(path):
    """As after a kill: half of the lines, and a piece of the next."""
    lines = path.read_bytes().splitlines(keepends=True)
    half = len(lines) // 2
    path.write_bytes(b"".join(lines[:half]) + lines[half][:10])
    return half


def test_a_killed_study_goes_on(tmp_path):
    s, T = oscillator(omega=3.9), 2 * pi / 3.9
    grid = {"x": np.linspace(-3, 0, 16), "x_dot": np.linspace(-3, 3, 16)}
    given = {"period": T, "progress": False, "transient": 30}
    plain = ss.basins(s, grid, **given)
    file = tmp_path / "basins.journal"
    assert np.array_equal(ss.basins(s, grid, journal=file, **given).labels, plain.labels)
    whole, half = file.read_bytes(), cut_off(file)
    assert half > 1
    assert np.array_equal(ss.basins(s, grid, journal=file, **given).labels, plain.labels)
    assert sorted(file.read_bytes().splitlines()) == sorted(whole.splitlines())
    with pytest.raises(ss.OptionError, match="another"):
        ss.basins(s, grid, journal=file, **{**given, "transient": 31})
    given = {"period": T, "count": 5, "transient": 20, "progress": False}
    for direction in ("both", "none"):
        file = tmp_path / f"{direction}.journal"
        plain = ss.bifurcation(s, "omega", np.linspace(2.4, 2.6, 8), direction=direction, **given)
        ss.bifurcation(s, "omega", np.linspace(2.4, 2.6, 8), direction=direction, journal=file, **given)
        cut_off(file)
        again = ss.bifurcation(s, "omega", np.linspace(2.4, 2.6, 8), direction=direction, journal=file, **given)
        for way, blocks in plain.points.items():
            assert all(np.array_equal(a, b) for a, b in zip(blocks, again.points[way], strict=True))


def test_basins_with_friction_run_in_the_loop_of_ensembles():
    """The states that one compiled loop over runs keeps are those of single runs."""
    s = ss.benchmarks.woodpecker_toy()
    runs = ManyRuns(s, "auto", {})
    values = np.array(list(s.parameter_values().values()))
    X = np.tile(np.concatenate([s.q_initial, s.u_initial]), (3, 1))
    X[:, 3] += [0.0, 0.1, 0.2]
    states, failed = runs.many(X, np.tile(values, (3, 1)), 1e-3, np.array([20, 40]))
    assert not failed.any()
    for x, rows in zip(X, states, strict=True):
        assert np.array_equal(runs.run(x, values, 1e-3, 40, every=20).x, rows)


# -- wrong use ----------------------------------------------------------------------------------------------------------


def test_wrong_use_is_named():
    s = oscillator()
    with pytest.raises(ss.OptionError, match="one of period=, section= and contact="):
        ss.poincare(s)
    with pytest.raises(ss.StudyError, match="never crossed"):
        ss.poincare(s, section=s.blocks[0].q[0] - 10.0, dt=0.05, count=5, transient=1)
    with pytest.raises(ss.OptionError, match="did you mean 'stop'"):
        ss.poincare(s, contact="stopp", dt=0.05)
    with pytest.raises(ss.OptionError, match="dt = None"):
        ss.poincare(s, contact="stop")
    with pytest.raises(ss.OptionError, match="unknown parameter 'omga'"):
        ss.bifurcation(s, "omga", [1.0], period=1.0)
    idle = oscillator()
    idle.parameter("unused", 1.0)
    with pytest.raises(ss.OptionError, match="'unused' does not act"):
        ss.bifurcation(idle, "unused", [1.0], period=1.0)
    with pytest.raises(ss.OptionError, match="two coordinates"):
        ss.basins(s, {"x": [0.0]}, period=1.0)
    for wrong in ({"count": 0}, {"transient": -1}, {"steps": 2.5}):
        with pytest.raises(ss.OptionError, match=f"{next(iter(wrong))} = .* must be a whole number"):
            ss.poincare(s, period=1.0, **wrong)
    with pytest.raises(ss.OptionError, match="tol = -1"):
        ss.basins(s, {"x": [0.0], "x_dot": [0.0]}, period=1.0, tol=-1)
    with pytest.raises(ss.OptionError, match="period is -1"):
        ss.poincare(s, period=-1)
    with pytest.raises(ss.OptionError, match="depends on 'y'"):
        ss.poincare(s, period=ss.System("other").parameter("y", 1.0))
    with pytest.raises(ss.OptionError, match="period is -1"):
        ss.lyapunov(s, period=-1)
    with pytest.raises(ss.OptionError, match="count"):
        ss.lyapunov(s, period=1.0, count=0)
    with pytest.raises(ss.StudyError, match="never crossed at any"):
        ss.bifurcation(
            s, "omega", [2.5], section=s.blocks[0].q[0] - 10.0, dt=0.05, count=2, transient=1, progress=False
        )
    with pytest.raises(ss.StudyError, match="inside an obstacle"):
        ss.basins(s, {"x": [1.0, 2.0], "x_dot": [0.0]}, period=1.0, progress=False)


def test_commands(tmp_path):
    from typer.testing import CliRunner

    from stickslip.cli import app

    out = ["--out", str(tmp_path), "--json"]
    run = CliRunner().invoke(
        app, ["bifurcation", "ball_on_shaker", "A", "--values", "0.015,0.016,2", "--frequency", "omega", *out]
    )
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["periods"]["up"] == {"0.015": 1, "0.016": 1}
    assert (tmp_path / "ball_on_shaker_bifurcation.png").exists()
    axes = ["--x", "x,-1,-0.5,2", "--y", "x_dot,0,1,2", "--set", "zeta=0.1", "--period", "2.0"]
    run = CliRunner().invoke(app, ["basins", "impact_oscillator", *axes, *out])
    assert run.exit_code == 0, run.output
    run = CliRunner().invoke(app, ["basins", "impact_oscillator", *axes])
    again = CliRunner().invoke(app, ["basins", "impact_oscillator", *axes, *out])
    assert again.exit_code != 0
    assert "exists already" in str(again.exception)
