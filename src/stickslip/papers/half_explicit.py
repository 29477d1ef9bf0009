"""The figures and tables of the half-explicit schemes [schindler2014]."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from stickslip.benchmarks import ball_in_box, elastic_bar, rotor, slider_crank_minimal
from stickslip.benchmarks.rotor import L_A, X_F
from stickslip.model.system import System
from stickslip.papers.drawing import curve, drawing, panel
from stickslip.papers.measure import error, simulate
from stickslip.papers.paper import Exhibit, Paper, Study, Table
from stickslip.schemes import (
    ExplicitVelocity,
    HalfExplicit,
    HalfExplicitAcceleration,
    HalfExplicitAdaptive,
    Moreau,
    MoreauJean,
    Scheme,
)
from stickslip.solution import Solution
from stickslip.solve.stepper import stepper

PAPER = Paper("half-explicit")
CLEARANCE = 1e-3
RESTITUTIONS = (0.0, 0.2, 0.4, 0.6, 0.8)
BOUNCING = 0.4  # another restitution of the journal
FORCE, V_0 = 1271.0, 0.1  # N and m/s, Table 5
TOL = 1e-12  # as in the paper, section 6


@PAPER.item
def fig5(study: Study) -> Iterator[Exhibit]:
    """Gaps and energy on acceleration level."""
    s = _crank(study, HalfExplicitAcceleration())
    yield from _gaps({"acceleration level": s})
    E = s.energy().total
    ax = panel("total energy", ylabel="$E$  [J]")
    curve(ax, s.t, E)
    yield drawing(ax, "Steps down are impacts; between them the trapezoidal rule lets it rise and fall a little.")
    smooth = s.extra["impulsive"][1:, 0] == 0
    yield study.judge("penetration", s.gap.min())
    yield study.judge("nearly", -s.gap.min() / CLEARANCE)
    yield study.judge("energy", np.diff(E)[smooth].max())
    yield study.judge("loss", E[-1] / E[0])


@PAPER.item
def fig8(study: Study) -> Iterator[Exhibit]:
    """Gaps with explicit forces and friction."""
    zero, full = (_crank(study, ExplicitVelocity(h_tilde=h), friction=True) for h in ("zero", "h"))
    acceleration = _crank(study, HalfExplicitAcceleration())
    yield from _gaps({"explicit, h̃ = 0": zero})
    contact = [int((s.P_N > 0).any(axis=1).sum()) for s in (zero, full)]
    yield study.judge("drift", drift(zero) / drift(acceleration), zero=drift(zero), acceleration=drift(acceleration))
    yield study.judge(
        "losing", contact[1] / contact[0], shown=f"{contact[1]} / {contact[0]} = {contact[1] / contact[0]:.2f}"
    )


@PAPER.item
def fig10(study: Study) -> Iterator[Exhibit]:
    """Gaps on velocity and acceleration level."""
    velocity, acceleration = _crank(study, HalfExplicit(), friction=True), _crank(study, HalfExplicitAcceleration())
    yield from _gaps({"velocity level": velocity, "acceleration level": acceleration})
    drifts = drift(velocity), drift(acceleration)
    yield study.judge("less", drifts[0] / drifts[1], velocity=drifts[0], acceleration=drifts[1])
    velocity = _crank(
        study, HalfExplicit()
    )  # with friction, a contact that is about to open counts as pressed a step too long
    pressed = velocity.extra["lambda_N"] > 0
    lasting = pressed[:-2] & pressed[1:-1] & pressed[2:]  # not the steps in which a contact closes or opens
    yield study.judge("no_velocity", np.abs(velocity.gap_dot[1:-1][lasting]).max())


@PAPER.item
def fig11(study: Study) -> Iterator[Exhibit]:
    """The slider for several restitutions, angles, and multipliers."""
    runs = {e: _crank(study, HalfExplicit(), e_N=e) for e in RESTITUTIONS}
    ax = panel("height of the slider", ylabel="[mm]")
    for e, s in runs.items():
        curve(
            ax,
            s.t,
            1e3 * (0.153 * np.sin(s.q[:, 0]) + 0.306 * np.sin(s.q[:, 1])),
            rf"$\varepsilon_N$ = {e:g}",
            linewidth=0.9,
        )
    yield drawing(ax, "Centre of the slider between the walls for five coefficients of restitution.")
    s = runs[0.4]
    for key, title, unit in ("q", "angles", "[rad]"), ("u", "angular velocities", "[1/s]"):
        ax = panel(title, ylabel=unit)
        for k in range(3):
            symbol = rf"$\theta_{k + 1}$" if key == "q" else rf"$\omega_{k + 1}$"
            curve(ax, s.t, getattr(s, key)[:, k], symbol)
        yield drawing(ax, f"{title.capitalize()} of crank, rod and slider, ε_N = 0.4.")
    force, impulse = s.extra["lambda_N"], s.extra["Lambda_N"]
    for values, title, unit in (force, "forces", r"$\lambda_N$  [N]"), (impulse, "impulses", r"$\Lambda_N$  [N s]"):
        ax = panel(f"{'non-impulsive' if title == 'forces' else 'impulsive'} multipliers", ylabel=unit)
        for k, name in enumerate(s.names.contacts):
            curve(ax, s.t, values[:, k], name, linewidth=0.9)
        yield drawing(ax, f"Contact {title} at the four corners, ε_N = 0.4.")
    with_force, with_impulse = (force > 0).any(axis=1), (impulse > 0).any(axis=1)
    yield study.judge("splitting", int((with_force & with_impulse).sum()))
    yield study.judge("both", int(min(with_force.sum(), with_impulse.sum())))
    yield study.judge("restitution", max(_rebound(run, e) for e, run in runs.items() if e > 0))


@PAPER.item
def table2(study: Study) -> Iterator[Exhibit]:
    """Error and cost, bilateral."""
    system, closed = slider_crank_minimal(friction=False), {"c": 0.0}
    reference = simulate(
        system, study.data["t_end"], study.data["reference"], HalfExplicit(), tol=TOL, parameters=closed
    )
    errors = _errors(study, system, reference, closed)
    yield _error_table(study, errors)
    yield study.judge("moreau_jean", errors["moreau_jean"][1])
    yield study.judge("half_explicit", errors["half_explicit"][1])
    for name in ("moreau_jean", "half_explicit"):
        yield study.judge(f"order_{name}", np.log10(errors[name][1] / errors[name][2]) + 0.5)
    yield study.judge("cost", _cost(system, closed), interpreted=_cost(system, closed, per_call=1))


@PAPER.item
def table3(study: Study) -> Iterator[Exhibit]:
    """Error and cost, unilateral with friction."""
    fine = study.data["reference_quick" if study.quick else "reference"]
    reference = simulate(slider_crank_minimal(), study.data["t_end"], fine, HalfExplicit(), tol=1e-11)
    errors = _errors(study, slider_crank_minimal(), reference)
    yield _error_table(study, errors)
    for name in ("moreau_jean", "half_explicit"):
        for k in range(3):
            yield study.judge(f"{name}_{k + 1}", errors[name][k])
    for name in ("moreau_jean", "half_explicit"):
        yield study.judge(f"order_{name}", np.log10(errors[name][1] / errors[name][2]) + 0.5)
    step, interpreted = (_cost(slider_crank_minimal(), per_call=n) for n in (5000, 1))
    yield study.judge("cost", step, interpreted=interpreted)
    steps = [
        max(dt for dt, value in zip(study.data["dts"], errors[name], strict=True) if value <= study.data["tolerance"])
        for name in ("moreau_jean", "half_explicit")
    ]
    larger = {"moreau_jean": steps[0], "half_explicit": steps[1]}
    yield study.judge("total", step / steps[1] * steps[0], **larger, interpreted=interpreted / steps[1] * steps[0])


@PAPER.item
def fig15(study: Study) -> Iterator[Exhibit]:
    """The ball in the box."""
    dt, t_end = study.data["dt"], study.data["t_end"]
    s = simulate(ball_in_box(), t_end, dt, HalfExplicit(), tol=TOL)
    drifting = simulate(ball_in_box(), t_end, dt, HalfExplicitAcceleration(), tol=TOL)
    ax = panel("trajectory", xlabel="$x$  [m]", ylabel="$y$  [m]", height=3.6)
    curve(ax, s.q[:, 0], s.q[:, 1], marker=".", markersize=3, linewidth=0.7)
    ax.margins(x=0.05)
    yield drawing(ax, "From (2, 2) to the corner at (1, 1); every step is a dot.")
    for key, title, unit in ("q", "position", "[m]"), ("u", "velocity", "[m/s]"):
        ax = panel(title, ylabel=unit)
        for k, name in enumerate("xy"):
            curve(ax, s.t, getattr(s, key)[:, k], f"${name}$" if key == "q" else rf"$\dot{{{name}}}$")
        yield drawing(ax, f"{title.capitalize()} of the ball's centre.")
    E = s.energy().total
    ax = panel("energy", ylabel="$E$  [J]")
    curve(ax, s.t, E)
    yield drawing(ax, "Energy, velocity level.")
    ax = panel("drift", ylabel="gaps  [mm]")
    for color, (name, run) in enumerate({"velocity level": s, "acceleration level": drifting}.items()):
        curve(ax, run.t, 1e3 * run.gap[:, 0], f"floor, {name}", color=color)
        curve(ax, run.t, 1e3 * run.gap[:, 3], f"left wall, {name}", color=color, linestyle="--")
    ax.set_ylim(-40, 20)
    yield drawing(ax, "Gaps at floor and left wall: on acceleration level the ball sinks into both.")
    yield study.judge("corner", np.abs(s.q[-1] - 1).max())
    yield study.judge("energy", np.diff(E).max() / E[0], rise=np.diff(E).max())
    yield study.judge("drift", drifting.u[-1].max())
    yield study.judge("no_drift", np.abs(s.u[-1]).max())


@PAPER.item
def fig20(study: Study) -> Iterator[Exhibit]:
    """The elastic bar."""
    few, many = study.data["elements"]
    bars = {f"N = {few}": (few, 0.0), f"N = {many}": (many, 0.0), f"N = {many}, damped": (many, study.data["damping"])}
    dt, t_end = study.data["dt"], study.data["t_end"]
    runs: dict[str, Solution] = {}
    for name, (N, delta) in bars.items():
        runs[name] = s = simulate(elastic_bar(N=N, d_0=1e-9, delta=delta), t_end, dt, HalfExplicit())
        t = 1e3 * s.t
        ax = panel(f"{name}: reaction force", xlabel="t  [ms]", ylabel=r"$\lambda_N$  [N]")
        curve(ax, t, s.extra["lambda_N"][:, 0], linewidth=0.7)
        ax.axhline(FORCE, color="#5b6670", linewidth=0.8, linestyle=(0, (4, 3)))
        ax.set_ylim(-200, 3000)
        yield drawing(
            ax,
            f"{name}: non-impulsive force; the line is the exact one. Impulse {s.extra['Lambda_N'].max():.2e} N s at t = 0.",
        )
        ax = panel(f"{name}: velocity of the front", xlabel="t  [ms]", ylabel="[m/s]")
        curve(ax, t, s.u[:, 0], linewidth=0.7)
        yield drawing(ax, f"{name}: zero in contact, then 0.1 m/s away from the wall with the waves of the mesh.")
        ax = panel(f"{name}: energy", xlabel="t  [ms]", ylabel="[mJ]")
        for values, label in (s.kinetic, "kinetic"), (s.potential, "potential"), (s.energy().total, "total"):
            curve(ax, t, 1e3 * values, label)
        yield drawing(
            ax, f"{name}: {100 * (1 - s.energy().total[-1] / s.energy().total[0]):.2f} % of the energy is lost."
        )
    coarse, fine, damped = runs.values()
    touching = {name: np.flatnonzero(s.P_N[:, 0] > 0) for name, s in runs.items()}
    spans = [s.t[touching[name][[0, -1]]] for name, s in runs.items()]
    mean = [s.extra["lambda_N"][touching[name][1] : touching[name][-1], 0].mean() for name, s in runs.items()]
    impulse = [float(s.extra["Lambda_N"].max()) for s in runs.values()]
    loss = [float(s.energy().total[0] - s.energy().total[-1]) for s in runs.values()]
    first = touching[f"N = {few}"]
    early = np.ptp(coarse.extra["lambda_N"][(coarse.t > 5e-5) & (coarse.t < np.mean(spans[0]) - 1e-5)])
    spread = [np.std(s.extra["lambda_N"][(s.t > 5e-5) & (s.t < 3.5e-4)]) for s in (fine, damped)]
    yield study.judge("duration", np.ptp(spans[0]))
    yield study.judge("duration_fine", np.ptp(spans[1]))
    yield study.judge("force", mean[0])
    yield study.judge("force_fine", mean[1])
    yield study.judge("first_half", early / mean[0])
    yield study.judge("penetration", _mean_penetration(few, dt), largest=0.1 * dt)
    yield study.judge("never_lost", int(first[-1] - first[0] + 1 - len(first)))
    yield study.judge("one_impulse", sum(int(s.extra["impulsive"].sum()) for s in runs.values()))
    yield study.judge("smaller", impulse[1] / impulse[0])
    yield study.judge("energy", loss[1] / loss[0])
    yield study.judge("damped", spread[1] / spread[0])


@PAPER.item
def fig25(study: Study) -> Iterator[Exhibit]:
    """The rotor."""
    dt, t_end = study.data["dt"], study.data["t_end_quick" if study.quick else "t_end"]
    few = X_F, *[(L_A - X_F) / 2] * 2
    s = simulate(rotor(few), t_end, dt, HalfExplicitAdaptive())
    moreau = simulate(rotor(few), t_end, dt / 10, Moreau())
    offset = _journal(s)
    ax = panel("journal in its bearing", xlabel="$y$  [mm]", ylabel="$z$  [mm]", height=4.2)
    circle = 0.1 * np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    ax.plot(circle.real, circle.imag, color="#5b6670", linewidth=0.8)
    shown = offset[:: max(1, len(offset) // 4000)]
    ax.plot(1e3 * shown.real, 1e3 * shown.imag, linewidth=0.7)
    ax.set_aspect("equal")
    ax.margins(x=0.05)
    yield drawing(ax, "Centre of the journal relative to the bearing; the circle is the clearance of 0.1 mm.")
    ax = panel("distance from the centre", ylabel="[mm]")
    curve(ax, s.t, 1e3 * np.abs(offset), linewidth=0.8)
    yield drawing(ax, "It lifts off and comes back; contact at 0.1 mm.")
    turns = np.unwrap(np.angle(offset))
    late = np.abs(offset) > 2e-5
    yield study.judge("whirl", (turns[late][-1] - turns[late][0]) / (2 * np.pi))
    share = s.extra["impulsive"].mean()
    hits = int((s.extra["Lambda_N"] > 0).sum())
    others = {
        "halved": simulate(rotor(few), t_end, dt / 2, HalfExplicitAdaptive()),
        "five": simulate(rotor(), t_end, dt, HalfExplicitAdaptive()),
        "bouncing": simulate(rotor(few, e=BOUNCING), t_end, dt, HalfExplicitAdaptive()),
    }
    shares = {name: 100 * run.extra["impulsive"].mean() for name, run in others.items()}
    yield study.judge("impulsive", share, shown=f"{100 * share:.1f} %", hits=hits, **shares)
    times = s.stats.wall_time, moreau.stats.wall_time
    yield study.judge(
        "cost", times[0] / times[1], shown=f"{times[0] / times[1]:.2f} ({times[0]:.1f} s / {times[1]:.1f} s)"
    )


def _crank(study: Study, scheme: Scheme, e_N: float = 0.4, friction: bool = False) -> Solution:
    system = slider_crank_minimal(friction=friction, e_N=e_N)
    return simulate(system, study.data["t_end"], study.data["dt"], scheme, tol=TOL)


def drift(s: Solution) -> float:
    """The largest change of a gap within one lasting contact, of three steps and more."""
    worst = 0.0
    for force, gap in zip(s.extra["lambda_N"].T, s.gap.T, strict=True):
        ends = np.flatnonzero(np.diff(np.concatenate([[False], force > 0, [False]]).astype(int)))
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            if last - first > 3:
                worst = max(worst, float(np.ptp(gap[first:last])))
    return worst


def _mean_penetration(N: int, dt: float) -> float:
    """Largest penetration, mean over impacts that fall at different places in their step."""
    places = (np.arange(8) + 0.5) / 8 * V_0 * dt
    return float(np.mean([-simulate(elastic_bar(N=N, d_0=d_0), 1e-5, dt, HalfExplicit()).gap.min() for d_0 in places]))


def _gaps(runs: dict[str, Solution]) -> Iterator[Exhibit]:
    """The four gaps, and a zoom on what lies below zero."""
    for zoom in (False, True):
        ax = panel("gaps" + (" near zero" if zoom else ""), ylabel="$g_N$  [µm]" if zoom else "$g_N$  [mm]")
        for k, s in enumerate(runs.values()):
            for corner, name in enumerate(s.names.contacts):
                wall = name.split()[0]  # upper or lower: the gaps of a wall's two corners lie on top of each other
                label = f"{wall} corners" if k == 0 and name.endswith("left") else ""
                color = ("upper", "lower").index(wall)
                scale = 1e6 if zoom else 1e3
                curve(ax, s.t, scale * s.gap[:, corner], label, color=color, linestyle=("-", ":")[k], linewidth=0.9)
        if zoom:
            ax.set_ylim(-120, 60)
        what = " (dotted: acceleration level)" if len(runs) > 1 else ""
        yield drawing(ax, f"Gaps of the four corners{', enlarged: below zero is penetration' if zoom else ''}{what}.")


def _rebound(s: Solution, e: float) -> float:
    """How far the first impact is from Newton's law, as a coefficient of restitution."""
    step = int(np.flatnonzero(s.extra["impulsive"][:, 0] > 0)[0])
    corner = int(np.argmax(s.extra["Lambda_N"][step]))
    before = s.gap_dot[step - 1, corner], s.gap_dot[step - 2, corner]
    arrival = 2 * before[0] - before[1]  # smooth motion: its velocity at the end of the step, to O(dt^2)
    return float(abs(s.gap_dot[step, corner] / arrival + e))


def _errors(
    study: Study, system: System, reference: Solution, parameters: Mapping[str, float] | None = None
) -> dict[str, list[float]]:
    """2-norms of the matrices of differences of the coordinates (section 6.1.1)."""
    errors: dict[str, list[float]] = {}
    for name, scheme in (("moreau_jean", MoreauJean()), ("half_explicit", HalfExplicit())):
        errors[name] = []
        for dt in study.data["dts"]:
            s = simulate(system, study.data["t_end"], dt, scheme, tol=TOL, parameters=parameters)
            errors[name].append(error(s.q, reference.q, dt, "dg"))
    return errors


def _error_table(study: Study, errors: dict[str, list[float]]) -> Table:
    rows = []
    for name, label in ("moreau_jean", "Moreau-Jean"), ("half_explicit", "half-explicit, velocity level"):
        paper = study.data[name]
        printed = [f"{paper[f'{dt:g}']:.1e}" if f"{dt:g}" in paper else "-" for dt in study.data["dts"]]
        rows += [[f"{label}, paper", *printed], [f"{label}, ours", *[f"{value:.1e}" for value in errors[name]]]]
    return Table("Errors for three step sizes.", ["Δt", *[f"{dt:g}" for dt in study.data["dts"]]], rows)


def _cost(system: System, parameters: Mapping[str, float] | None = None, *, per_call: int = 5000) -> float:
    """Processor time of a half-explicit step over that of a Moreau-Jean step: the smallest of several runs, in turn.

    `per_call` steps are made by one call of the compiled loop. With 1 an interpreter makes the steps, as in the paper.
    """
    best: dict[str, float] = {}
    schemes: Sequence[Scheme] = (MoreauJean(), HalfExplicit())
    for _ in range(5):
        for scheme in schemes:
            with stepper(system, 1e-5, method=scheme, parameters=parameters) as sim:
                sim.step(10)
                begin = time.process_time()
                for _ in range(5000 // per_call):
                    sim.step(per_call)
                best[scheme.name] = min(time.process_time() - begin, best.get(scheme.name, np.inf))
    return best["half-explicit"] / best["moreau-jean"]


def _journal(s: Solution) -> np.ndarray:
    """Centre of the journal relative to that of the bearing in the plane of contact, as y + i z."""
    name = s.names.q.index
    centre = s.q[:, name("axle.node0.v")] + 1j * s.q[:, name("axle.node0.w")]
    tilt = s.q[:, name("axle.node0.phi_z")] - 1j * s.q[:, name("axle.node0.phi_y")]
    return centre + 9.5e-3 * tilt - (s.q[:, name("bearing.y")] + 1j * s.q[:, name("bearing.z")])
