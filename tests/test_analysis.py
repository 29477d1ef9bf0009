"""Energy ledger, events, convergence studies and comparisons: exact numbers, identities, orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from conftest import run
from mechanics import parting_guides
from stickslip.analysis.compare import HEADER
from stickslip.analysis.convergence import NORMS
from stickslip.errors import OptionError, StickslipError
from stickslip.math import cos, sin
from stickslip.schemes.spec import label, scheme_of, split_methods
from synthetic import make_ball

# -- energy ledger -----------------------------------------------------------------------------------------------------


def ledger_of(system: ss.System, t_end: float, dt: float, **options) -> ss.EnergyLedger:
    return ss.energy_ledger(ss.solve(system, t_end, dt, **options), system)


def oscillator(damping: float = 0.3, amplitude: float = 0.0, omega: float = 1.3) -> ss.System:
    """m = 1, k = 4, with a damper and a harmonic force; released at x = 1."""
    s = ss.System("oscillator")
    (x,), (v,) = s.coordinates("x", initial=[1], velocity=[0])
    s.kinetic_energy(v**2 / 2)
    s.potential_energy(2 * x**2)
    s.force(-damping * v + amplitude * cos(omega * s.time), on=[v])
    return s


@pytest.mark.parametrize("method", ss.METHODS)
@pytest.mark.parametrize("benchmark", ["slider_crank", "spring_pendulum"])
def test_the_entries_add_up_to_the_change_of_energy(benchmark, method):
    entry = ss.benchmarks.REGISTRY[benchmark]
    system = entry.build()
    if benchmark == "slider_crank" and not ss.METHODS[method]().facts.friction:
        pytest.skip("no friction")
    ledger = ledger_of(system, 50 * entry.dt, entry.dt, method=method)
    changes = sum(ledger.entries.values())
    np.testing.assert_allclose(changes, np.diff(ledger.energy), rtol=0, atol=1e-13 * np.abs(ledger.energy).max())


def test_an_impact_takes_one_minus_e_squared_of_the_kinetic_energy():
    m, g, e, height = 0.1, 9.81, 0.75, 1.0
    exact = -(1 - e**2) * m * g * height
    for dt in (1e-3, 1e-4):
        ledger = ledger_of(ss.benchmarks.bouncing_ball(), 0.6, dt)
        # The step of the impact holds weight too, whose work m g dt v (1 - e)/2 is not the impact's.
        assert ledger.totals["impacts"] == pytest.approx(exact, abs=2 * m * g * dt * np.sqrt(2 * g * height))
        assert ledger.by_contact["impacts"] == {"floor": ledger.totals["impacts"]}
        for name in ("applied", "damping", "friction", "constraints", "moving"):
            assert ledger.totals[name] == 0


def test_friction_takes_mu_m_g_times_the_distance():
    m, g, mu, v0 = 2.0, 9.81, 0.3, 1.0
    s = ss.System("sliding mass")
    (x, y), (vx, vy) = s.coordinates("x y", initial=[0, 0], velocity=[v0, 0])
    s.kinetic_energy(m / 2 * (vx**2 + vy**2))
    s.potential_energy(m * g * y)
    s.contact(gap=y, slip=vx, friction=mu, name="floor")
    solution = ss.solve(s, 0.3, 1e-3)
    ledger = ss.energy_ledger(solution, s)
    # Uniform deceleration is solved exactly, so that every step's work is exact too.
    np.testing.assert_allclose(ledger.friction[:, 0], -mu * m * g * np.diff(solution.q[:, 0]), atol=1e-9)
    assert ledger.totals["friction"] == pytest.approx(-mu * m * g * solution.q[-1, 0], abs=1e-9)
    assert np.abs(ledger.remainder).max() < 1e-9


def test_a_damper_takes_what_the_oscillator_loses():
    c, omega_0, t_end = 0.3, 2.0, 5.0
    ledgers = [ledger_of(oscillator(c), t_end, dt) for dt in (2e-2, 1e-2)]
    delta, omega = c / 2, np.sqrt(omega_0**2 - c**2 / 4)
    decay = np.exp(-delta * t_end)
    x = decay * (np.cos(omega * t_end) + delta / omega * np.sin(omega * t_end))
    v = -decay * omega_0**2 / omega * np.sin(omega * t_end)
    exact = v**2 / 2 + 2 * x**2 - 2
    errors = [abs(ledger.totals["damping"] - exact) for ledger in ledgers]
    assert errors[1] < (omega_0 * 1e-2) ** 2 * abs(exact)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.15)
    assert [ledger.totals["applied"] for ledger in ledgers] == [0, 0]


def test_applied_forces_and_damping_are_told_apart():
    ledger = ledger_of(oscillator(0.3, amplitude=0.7), 5.0, 1e-2)
    solution = ss.solve(oscillator(0.3, amplitude=0.7), 5.0, 1e-2)
    t, v = solution.t, solution.u[:, 0]
    assert ledger.totals["applied"] == pytest.approx(np.trapezoid(0.7 * np.cos(1.3 * t) * v, t), abs=1e-12)
    assert ledger.totals["damping"] == pytest.approx(np.trapezoid(-0.3 * v**2, t), abs=1e-12)
    coarse = ledger_of(oscillator(0.3, amplitude=0.7), 5.0, 2e-2)
    order = np.log2(coarse.totals["remainder"] / ledger.totals["remainder"])
    assert order == pytest.approx(2, abs=0.15)


def test_a_belt_does_work_and_the_contact_dissipates():
    """A mass rests on a belt that starts to move: dissipation mu m g times slip, work of the belt mu m g times its way."""
    m, g, mu, speed, t_end = 1.0, 10.0, 0.2, 5.0, 1.0
    s = ss.System("belt")
    (x, y), (vx, vy) = s.coordinates("x y", initial=[0, 0], velocity=[0, 0])
    s.kinetic_energy(m / 2 * (vx**2 + vy**2))
    s.potential_energy(m * g * y)
    s.contact(gap=y, slip=vx - speed, friction=mu, name="belt")
    ledger = ledger_of(s, t_end, 1e-2)
    way = speed * t_end
    x_end = mu * g * t_end**2 / 2
    assert ledger.totals["moving"] == pytest.approx(mu * m * g * way, rel=1e-9)
    assert ledger.totals["friction"] == pytest.approx(-mu * m * g * (way - x_end), rel=1e-9)
    assert abs(ledger.totals["remainder"]) < 1e-9


def test_a_moving_constraint_does_the_work_that_lifts_a_mass():
    s = ss.System("lift")
    (y,), (v,) = s.coordinates("y", initial=[0], velocity=[0])
    s.kinetic_energy(v**2)
    s.potential_energy(2 * 9.81 * y)
    s.constraint(y - 0.3 * (1 - cos(2 * s.time)), name="cable")
    ledger = ledger_of(s, 1.0, 1e-3)
    assert ledger.totals["constraints"] == pytest.approx(ledger.energy[-1] - ledger.energy[0], abs=1e-5)
    assert ledger.totals["moving"] == 0


def test_a_rotating_frame_and_a_moving_potential_balance():
    """A bead on a rod that turns at omega, and a spring whose anchor moves: energy enters through explicit time."""
    omega = 2.0
    bead = ss.System("bead on a turning rod")
    (r,), (v,) = bead.coordinates("r", initial=[0.5], velocity=[0.1])
    bead.kinetic_energy((v + 0.2) ** 2 / 2 + r**2 * omega**2 / 2)  # with a linear term, a = 0.2
    anchor = ss.System("moving anchor")
    (x,), (w,) = anchor.coordinates("x", initial=[0], velocity=[0])
    anchor.kinetic_energy(w**2 / 2)
    anchor.potential_energy(8 * (x - sin(anchor.time)) ** 2)
    for system in (bead, anchor):
        remainders = [abs(ledger_of(system, 1.0, dt).totals["remainder"]) for dt in (1e-2, 5e-3)]
        ledger = ledger_of(system, 1.0, 5e-3)
        assert abs(ledger.totals["moving"]) > 1e3 * remainders[1]
        assert np.log2(remainders[0] / remainders[1]) == pytest.approx(2, abs=0.15)


def test_gyroscopic_forces_do_no_work():
    """A mass matrix that changes, with its gyroscopic force: the spring pendulum in declared form."""
    s = ss.System("declared pendulum")
    (phi, l), (omega, v) = s.coordinates("phi l", initial=[0.7, 1.1], velocity=[0, 0])  # noqa: E741
    s.mass_matrix([[l**2, 0], [0, 1]])
    s.force([-2 * l * v * omega, l * omega**2], on=[omega, v])
    s.potential_energy(50 * (l - 1) ** 2 - 9.81 * l * cos(phi))
    ledger = ledger_of(s, 0.4, 1e-3)
    assert np.abs(ledger.damping).max() < 1e-15
    assert np.ptp(ledger.kinetic) > 1


def test_the_ledger_takes_the_parameters_of_the_run():
    ball = ss.benchmarks.bouncing_ball()
    ledger = ss.energy_ledger(ss.solve(ball, 0.6, 1e-4, parameters={"e": 0.0}), ball)
    assert ledger.totals["impacts"] == pytest.approx(-0.981, abs=2e-3)


def test_a_solution_of_another_system_is_refused():
    solution = ss.solve(ss.benchmarks.bouncing_ball(), 0.1, 1e-2)
    with pytest.raises(OptionError, match="'bouncing ball' does not belong to the system 'slider-crank'"):
        ss.energy_ledger(solution, ss.benchmarks.slider_crank())


def test_the_ledger_prints_and_draws(tmp_path):
    crank = ss.benchmarks.slider_crank()
    ledger = ledger_of(crank, 0.01, 1e-4)
    text = str(ledger)
    assert "upper left" in text
    assert "numerical remainder" in text
    assert "applied" not in text
    figure = ledger.plot(tmp_path / "ledger.png")
    assert figure.axes[2].get_title(loc="left").startswith("from 7.4")
    assert (tmp_path / "ledger.png").stat().st_size > 10_000


# -- events ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rattle", "moreau", "theta", "moreau-jean", "moreau-symmetric"])
def test_impacts_of_a_bouncing_ball(method):
    g, e, dt, first = 9.81, 0.75, 1e-4, np.sqrt(2 / 9.81)
    impacts = ss.events(ss.solve(ss.benchmarks.bouncing_ball(), 2.5, dt, method=method)).of("impact")
    k = np.arange(1, 5)
    exact = first * np.concatenate([[1], 1 + 2 * np.cumsum(e**k)])
    assert len(impacts) == 5
    # Each impact is captured up to a step late, and at a speed off by g dt: so is what follows, 4 steps an impact.
    np.testing.assert_allclose(impacts.times, exact, atol=20 * dt)
    assert impacts[0].time == pytest.approx(first, abs=dt)
    np.testing.assert_allclose([i.after / i.before for i in impacts], -e, atol=1e-9)
    np.testing.assert_allclose(
        [i.percussion for i in impacts], 0.1 * (1 + e) * g * first * e ** np.arange(5), rtol=5e-3
    )


@pytest.mark.parametrize("method", ["rattle", "moreau", "theta", "moreau-jean", "moreau-symmetric"])
def test_an_accumulation_point_is_extrapolated(method):
    for dt in (4e-4, 1e-4):
        found = ss.events(ss.solve(ss.benchmarks.rotating_bouncing_ball(case=1), 1.5, dt, method=method))
        (point,) = found.accumulations
        assert point.contact == "floor"
        # About ten impacts are captured up to a step late or early each; the extrapolation adds nothing to that.
        assert point.time == pytest.approx(1.285059, abs=15 * dt)
        assert point.ratio == pytest.approx(0.5, abs=10 * dt)
        # A ball that leaves with v_res = 2 g dt goes on for 2 v/g/(1 - e) = 8 dt; its speed is off by as much as g dt.
        (closing,) = found.of("closing")
        assert 0 < point.time - closing.time < 17 * dt
        assert not found.of("opening")


def test_an_accumulation_is_seen_before_it_is_reached():
    found = ss.events(ss.solve(ss.benchmarks.rotating_bouncing_ball(case=1), 1.2, 1e-4))
    assert found.accumulations[0].time == pytest.approx(1.285059, abs=2e-3)
    assert not found.of("closing")


def test_impacts_without_loss_do_not_accumulate():
    assert ss.events(ss.solve(ss.benchmarks.spring_pendulum(), 8.0, 1e-3)).accumulations == ()


def test_sliding_turns_into_rolling():
    found = ss.events(run("rotating_bouncing_ball-2", "rattle"))
    assert [e.kind for e in found] == ["impact", "closing", "slip", "stick"]
    assert found[0].time == pytest.approx(0.428353, abs=1e-6)
    assert found[-1].time == pytest.approx(0.728120, abs=1e-6)  # uniform deceleration is extrapolated exactly
    assert [e.kind for e in ss.events(run("rotating_bouncing_ball-3", "rattle"))] == ["impact", "closing", "stick"]


def test_events_on_the_slope():
    kinds = {k: [e.kind for e in ss.events(run(f"point_mass_on_slope-{k}", "rattle"))] for k in (1, 2, 3, 4)}
    assert kinds == {
        1: ["slip", "stick"],
        2: ["stick"],
        3: ["reversal", "stick"],
        4: ["impact", "closing", "slip", "stick"],
    }
    rest = [ss.events(run(f"point_mass_on_slope-{k}", "rattle"))[-1].time for k in (1, 2)]
    np.testing.assert_allclose(rest, [2.097352, 1.929586], atol=1e-5)
    fall = ss.events(run("point_mass_on_slope-4", "rattle"))[0]
    assert fall.time == pytest.approx(np.sqrt(0.1), abs=1e-6)


def test_events_are_a_sequence_that_can_be_chosen_from():
    found = ss.events(run("rotating_bouncing_ball-2", "rattle"))
    assert len(found[1:]) == 3
    assert [e.kind for e in found.of(contact="floor").of("stick")] == ["stick"]
    assert "stick    floor" in str(found)
    with pytest.raises(ss.OptionError, match="no events of the kind 'bounce'"):
        found.of("bounce")
    assert len(ss.events(make_ball(steps=0))) == 0


# -- convergence studies -----------------------------------------------------------------------------------------------


def test_norms_are_those_of_the_papers():
    d, dt = np.array([[1.0, -2.0], [3.0, 0.5]]), np.array([0.1, 0.2])
    assert NORMS["rattle"](d, dt) == pytest.approx(max(0.1 * 1 + 0.2 * 3, 0.1 * 2 + 0.2 * 0.5))
    assert NORMS["lobatto"](d, dt) == pytest.approx(0.1 * 3 + 0.2 * 3.5)
    assert NORMS["moreau"](d, dt) == pytest.approx((0.1 * 5 + 0.2 * 9.25) / 0.3)
    assert NORMS["dg"](d, dt) == pytest.approx(np.linalg.svd(d)[1][0])
    assert NORMS["max"](d, dt) == 3
    assert NORMS["end"](d, dt) == 3


@pytest.fixture(scope="module")
def study() -> ss.Convergence:
    slope = ss.benchmarks.point_mass_on_slope(case=1)
    return ss.convergence(slope, ["rattle", "moreau", "theta:theta=1"], [0.04, 0.02, 0.01], t_end=1.6)


def test_observed_orders_are_the_declared_ones(study):
    for quantity in ("q", "u", "P_N", "P_F"):
        orders = study.orders(quantity)
        assert orders["rattle"] == pytest.approx(2, abs=0.1)
        assert orders["moreau"] == pytest.approx(1, abs=0.1)
        np.testing.assert_allclose(study.pairwise(quantity)["rattle"], 2, atol=0.1)
    assert study.methods == ("rattle", "moreau", "theta:theta=1.0")
    assert all(r.steps == round(1.6 / r.dt) and r.iterations > 0 and r.wall_time > 0 for r in study.runs)


def test_increments_of_steps_of_different_length_differ_by_order_one():
    slope = ss.benchmarks.point_mass_on_slope(case=1)
    raw = ss.convergence(slope, "rattle", [0.04, 0.02, 0.01], t_end=1.6, percussions="increments")
    assert raw.orders("P_N")["rattle"] == pytest.approx(1, abs=0.1)


def test_all_references_agree_about_a_coarse_method():
    """The oscillator by theta = 1, against its own fine run, RATTLE, a solution and the exact formula."""
    system = oscillator(0.0)

    def exact(t):
        return np.cos(2 * t)[:, None], -2 * np.sin(2 * t)[:, None]

    fine = ss.solve(system, 1.1, 1e-4, tol=1e-11)
    errors = {}
    for name, reference in {"finest": "finest", "rattle": "rattle", "fine": fine, "exact": exact}.items():
        result = ss.convergence(system, "theta:theta=1", [0.1, 0.05], 1.0, reference=reference, dt_reference=5e-4)
        errors[name] = result.errors("theta:theta=1.0", "u")[1]
    for name in ("rattle", "fine"):
        np.testing.assert_allclose(errors[name], errors["exact"], rtol=1e-4)
    np.testing.assert_allclose(errors["finest"], errors["exact"], rtol=2e-2)  # the reference has 1 % of the error


def test_errors_at_round_off_have_no_order():
    fall = ss.benchmarks.bouncing_ball(height=100.0)
    result = ss.convergence(fall, "rattle", [0.1, 0.05], 1.0, reference=lambda t: (100 - 9.81 / 2 * t**2)[:, None])
    assert result.errors("rattle")[1].max() < 1e-11
    assert np.isnan(result.orders()["rattle"])


def test_a_method_that_cannot_is_part_of_the_study(tmp_path):
    ball = ss.benchmarks.rotating_bouncing_ball(case=3)
    result = ss.convergence(ball, ["rattle", "schatzman-paoli"], [0.02, 0.01], 0.3, reference="moreau")
    assert [r.method for r in result.failures] == ["schatzman-paoli"] * 2
    assert "cannot treat friction" in str(result)
    assert result.csv().count("\n") == 5
    assert len(result.plot(tmp_path / "study.png").axes) == 3


@pytest.mark.parametrize(
    "options, message",
    [
        ({"methods": []}, "there is no method"),
        ({"methods": ["rattle", "rattle"]}, "'rattle' is named twice"),
        ({"dts": []}, "needs steps"),
        ({"norm": "h1"}, "unknown norm 'h1'"),
        ({"reference": "ratle"}, "unknown method 'ratle'; did you mean 'rattle'"),
        ({"reference": 3}, "reference = 3 is no"),
        ({"percussions": "raw"}, "unknown comparison of percussions 'raw'"),
        ({"reference": lambda t: np.zeros((len(t), 2))}, "the reference has q of shape"),
        ({"reference": ss.solve(ss.benchmarks.bouncing_ball(), 0.1, 0.01)}, "the reference ends at t = 0.1"),
    ],
)
def test_studies_that_make_no_sense_are_refused(options, message):
    arguments = {"methods": "rattle", "dts": [0.05], "t_end": 0.2} | options
    with pytest.raises(StickslipError, match=message):
        ss.convergence(ss.benchmarks.bouncing_ball(), **arguments)


# -- comparisons -------------------------------------------------------------------------------------------------------


def test_methods_side_by_side(tmp_path):
    crank = ss.benchmarks.slider_crank()
    result = ss.compare(crank, ["rattle", "moreau", "schatzman-paoli"], 0.01, 1e-4)
    expected = ss.solve(crank, 0.01, 1e-4)
    np.testing.assert_array_equal(result.solutions["rattle"].q, expected.q)
    assert list(result.failures) == ["schatzman-paoli"]
    assert "schatzman-paoli: method 'schatzman-paoli' cannot treat friction" in str(result)
    figure = result.plot(tmp_path / "comparison.png")
    assert [ax.get_title(loc="left") for ax in figure.axes][-4:] == [
        "deepest penetration so far",
        "largest constraint residual so far",
        "total energy",
        "cost of a step",
    ]
    assert "schatzman-paoli (not applicable)" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_step_that_does_not_converge_leaves_what_is_done(tmp_path):
    result = ss.compare(parting_guides(), ["rattle", "moreau"], 0.1, 1e-3)
    assert set(result.failures) == {"rattle", "moreau"}
    assert "no solution of the velocity stage was found" in result.failures["rattle"]
    assert "Residual" in str(result)
    assert result.plot(tmp_path / "failed.png") is not None


# -- methods as text ---------------------------------------------------------------------------------------------------


def test_methods_with_options_are_read():
    assert scheme_of("theta: theta = 0.7") == ss.Theta(theta=0.7)
    assert scheme_of("theta:theta=0.7", {"theta": 1.0}) == ss.Theta(theta=1.0)
    assert label(ss.Theta(theta=0.7)) == "theta:theta=0.7"
    assert split_methods("rattle,theta:theta=1") == ["rattle", "theta:theta=1"]
    ball = ss.benchmarks.bouncing_ball()
    text, scheme = (ss.solve(ball, 0.1, 1e-2, method=m) for m in ("theta:theta=1", ss.Theta(theta=1.0)))
    np.testing.assert_array_equal(text.q, scheme.q)
    assert text.provenance["options"]["theta"] == 1.0


@pytest.mark.parametrize(
    "text, message",
    [
        ("teta", "unknown method 'teta'; did you mean 'theta'"),
        ("theta:teta=1", "did you mean 'theta'"),
        ("theta:theta", "write options as NAME:KEY=VALUE"),
        ("theta:theta=", "write options as NAME:KEY=VALUE"),
        ("theta:theta=big", "theta must be a number"),
        ("theta:theta=2", "from 0 \\(explicit\\) to 1"),
    ],
)
def test_methods_that_make_no_sense_are_refused(text, message):
    with pytest.raises(OptionError, match=message):
        scheme_of(text)


def test_missing_methods_are_noticed():
    with pytest.raises(OptionError, match="separated by commas"):
        split_methods("rattle,,moreau")


def test_a_ledger_of_a_synthetic_solution_closes():
    """The ledger's arithmetic alone, without a model: Moreau's ball from closed formulas."""
    ball = make_ball(1000)
    names = replace(ball.names, g=())
    plain = replace(ball, names=names, g=ball.g[:, :0], g_dot=ball.g[:, :0], P_g=ball.g[:, :0])
    s = ss.System("ball on a floor")
    (x, y), (vx, vy) = s.coordinates("x y", initial=[0, 1], velocity=[1, 0])
    s.kinetic_energy(0.05 * (vx**2 + vy**2))
    s.potential_energy(0.1 * 9.81 * y)
    s.contact(gap=y, slip=vx, friction=0.1, restitution=0.75, name="floor")
    ledger = ss.energy_ledger(replace(plain, provenance={}), s)
    # q_1 = q_0 + dt (u_0 + u_1)/2 and constant M and W: the rules of the ledger are those of the scheme.
    assert np.abs(ledger.remainder).max() < 1e-15


@pytest.mark.parametrize("file", [False, True])
def test_pairs_without_friction_neither_stick_nor_slip(tmp_path, file):
    """Two balls come to rest, on a rough floor and on a smooth one; the second has closed, and that is all."""
    s, materials = ss.System("two balls"), {"rough": [], "smooth": []}
    for k, (name, shapes) in enumerate(materials.items()):
        shapes.append(s.add(ss.solid(name, ss.Sphere(ss.ground.point(k, 0, 0.1001), 0.1), density=1000)))
    floor = ss.Plane([0, 0, 0], [0, 0, 1])
    s.add(ss.Gravity([0, 0, -9.81]))
    shapes = {"a": materials["rough"], "b": materials["smooth"], "floor": [floor]}
    mu = dict.fromkeys(("a", "b", "floor", ("a", "b"), ("b", "floor")), 0.0) | {("a", "floor"): 0.3}
    s.add(ss.Collisions("touch", shapes, friction=mu))
    found = ss.solve(s, t_end=0.05, dt=1e-3, progress=False)
    if file:
        found = ss.load(found.save(tmp_path / "run.h5"))
    kinds = {name: {e.kind for e in ss.events(found).of(contact=f"{name} - ground")} for name in materials}
    assert "stick" in kinds["rough"]
    assert "closing" in kinds["smooth"]
    assert not kinds["smooth"] & {"stick", "slip", "reversal"}


def test_an_impact_of_schatzman_paoli_is_one_event():
    found = ss.events(ss.solve(ss.benchmarks.bouncing_ball(), 1.2, 1e-3, method="schatzman-paoli")).of("impact")
    assert len(found) == 2
    for event, speed in zip(found, (4.429, 3.322), strict=True):  # velocities are means over several steps
        assert event.before == pytest.approx(-speed, abs=0.02)
        assert -event.after / event.before == pytest.approx(0.75, abs=2e-3)
        assert event.percussion == pytest.approx(
            0.1 * (event.after - event.before), abs=4e-3
        )  # and weight in three steps


def test_thinned_runs_have_no_ledger_and_their_events_say_so():
    ball = ss.benchmarks.bouncing_ball()
    thinned = ss.solve(ball, 0.6, 1e-3, save_every=10)
    with pytest.raises(ss.OptionError, match="10 steps apart.*save_every=1"):
        ss.energy_ledger(thinned, ball)
    assert "rows are 10 steps apart" in str(ss.events(thinned))
    assert "steps apart" not in str(ss.events(ss.solve(ball, 0.6, 1e-3)))


def test_penetration_of_detected_contacts_is_compared_too(tmp_path):
    s = ss.System("ball")
    s.add(ss.Gravity([0, -9.81]))
    ball = s.add(ss.solid("ball", ss.Sphere(ss.ground.point(0, 0.11), 0.1), density=1000))
    s.add(ss.Collisions("touch", [ball, ss.Line([0, 0], [0, 1])]))
    comparison = ss.compare(s, ["rattle", "moreau"], t_end=0.1, dt=5e-3)
    depths = [float(row[HEADER.index("penetration")]) for row in comparison.table()]
    assert depths[0] < 1e-8
    assert depths[1] == pytest.approx(-comparison.solutions["moreau"].contacts.gap.min(), rel=0.1)
    titles = [ax.get_title(loc="left") or ax.get_title() for ax in comparison.plot(tmp_path / "compared.png").axes]
    assert "deepest penetration so far" in titles


def test_events_of_a_contact_that_does_not_exist_are_refused():
    """They were none, as if the contact had no impacts."""
    found = ss.events(ss.solve(ss.benchmarks.bouncing_ball(), 0.6, 1e-3))
    assert len(found.of("impact", "floor")) == 1
    for some in (found, found.of("impact"), found[:1]):
        with pytest.raises(OptionError, match="unknown contact 'flor'; did you mean 'floor'"):
            some.of(contact="flor")
    s = ss.System("balls")
    s.add(ss.Gravity([0, -9.81]))
    balls = [s.add(ss.solid(f"ball {k}", ss.Sphere(ss.ground.point(k, 0.15), 0.1), density=1000)) for k in range(2)]
    s.add(ss.Collisions("touch", [*balls, ss.Line([0, 0], [0, 1])]))
    found = ss.events(ss.solve(s, 0.2, 1e-3))
    assert len(found.of("impact", "ball 0 - ground")) == len(found.of("impact", "ground - ball 0")) == 1
    assert not found.of("impact", "ball 0 - ball 1")
    with pytest.raises(OptionError, match="unknown contact 'ball 0 - flor'"):
        found.of("impact", "ball 0 - flor")
