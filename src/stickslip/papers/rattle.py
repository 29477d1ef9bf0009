"""The figures and tables of nonsmooth RATTLE [breuling2024, section 5]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes

from stickslip.benchmarks import point_mass_on_slope, rotating_bouncing_ball, slider_crank, tippedisk
from stickslip.math import quaternion_rotation
from stickslip.papers.drawing import curve, drawing, orders, panel, twin
from stickslip.papers.measure import error, order, simulate
from stickslip.papers.paper import Exhibit, Paper, Study, Table
from stickslip.schemes import GeneralizedAlpha, Moreau, Rattle
from stickslip.solution import Solution

PAPER = Paper("rattle")
CASES = (1, 2, 3, 4)  # of the slope
ABOUT_ANGLE = (
    "Angle in the disk's plane from the upward direction to the centre of mass: π below the disk's centre, 0 above it."
)


@PAPER.item
def fig2(study: Study) -> Iterator[Exhibit]:
    """Gap of the bouncing ball, case 1."""
    dt, t_end = study.data["dt"], study.data["t_end"]
    ball = simulate(rotating_bouncing_ball(case=1), t_end, dt)
    ax = panel("contact distance, case 1", ylabel="$g_N$  [m]")
    curve(ax, ball.t, ball.gap[:, 0], marker=".", markersize=3)
    ax.axhline(0, color="#5b6670", linewidth=0.8)
    yield drawing(ax, "Every step is a dot. The parabolas shrink by e² = 1/4 at each impact; then the ball rests.")
    impacts = ball.t[ball.P_N[:, 0] > 0]
    fine = simulate(rotating_bouncing_ball(case=1), t_end, dt / 20)
    rest, rest_fine = (run.t[np.flatnonzero(run.gap[:, 0] > 1e-8)[-1]] for run in (ball, fine))
    yield study.judge("impact", impacts[0])
    yield study.judge("rest", ball.gap[ball.t > study.claims["rest_fine"].expected].max(), rest=rest)
    yield study.judge("rest_fine", rest_fine)
    yield study.judge("penetration", ball.gap.min())


@PAPER.item
def fig3(study: Study) -> Iterator[Exhibit]:
    """Percussions of the ball, cases 2 and 3."""
    dt, t_end = study.data["dt"], study.data["t_end"]
    balls = {case: simulate(rotating_bouncing_ball(case=case), t_end, dt) for case in (2, 3)}
    for name, values in ("N", "P_N"), ("F", "P_F"):
        ax = panel(f"{'normal' if name == 'N' else 'friction'} percussions a step", ylabel=rf"$\Delta P_{name}$  [N s]")
        for case, ball in balls.items():
            style = {"marker": "ox"[case - 2], "markersize": 3, "linewidth": 0}
            curve(ax, ball.t, getattr(ball, values)[:, 0], f"case {case}", color=case - 2, **style)
        ax.set_yscale("symlog", linthresh=0.02)
        yield drawing(ax, "Impact at t = 0.43; the scale is linear below 0.02 and logarithmic above.")
    hit = {case: int(np.flatnonzero(ball.P_N[:, 0] > 0)[0]) for case, ball in balls.items()}
    two, three = balls[2], balls[3]
    slipping = np.flatnonzero(np.abs(two.P_F[:, 0]) > 1e-10)
    yield study.judge("after_impact", two.u[hit[2], 0])
    yield study.judge("spin_after", two.u[hit[2], 2])
    yield study.judge("sliding", two.t[slipping[-1]])
    yield study.judge("rolling", two.u[-1, 2])
    yield study.judge("force_free", np.abs(two.P_F[slipping[-1] + 1 :]).max())
    yield study.judge("sticks", three.u[hit[3], 2])
    yield study.judge("force_free_3", np.abs(three.P_F[hit[3] + 1 :]).max())


@PAPER.item
def table1(study: Study) -> Iterator[Exhibit]:
    """Newton iterations of all examples."""
    runs: dict[str, Solution] = {}
    for case in (1, 2, 3):
        runs[f"bouncing ball {case}"] = simulate(rotating_bouncing_ball(case=case), 1.5, 1e-2)
    runs["slider-crank"] = simulate(slider_crank(), 0.2, 1e-4)
    for case in CASES:
        runs[f"mass on slope {case}"] = simulate(point_mass_on_slope(case=case), 3.28, 1e-2)
    runs["tippedisk"] = simulate(tippedisk(), 1.5, 1e-3)
    rows, excess, larger = [], [], []
    for name, run in runs.items():
        paper = study.data["rows"][name]
        cells = [name]
        for k, stage in enumerate(("stage_1", "stage_2")):
            most, mean = paper[stage]
            ours_most, ours_mean = int(run.stats.max_iterations[k]), float(run.stats.mean_iterations[k])
            cells += [f"{most} / {ours_most}", f"{mean:.4f} / {ours_mean:.4f}"]
            if ours_most > most:
                larger.append(f"{name}, stage {k + 1}: {ours_most} against {most}")
        means = run.stats.mean_iterations
        excess.append([means[0] - paper["stage_1"][1], means[1] - paper["stage_2"][1]])
        rows.append(cells)
    columns = ["example"] + [f"stage {stage}, {what}" for stage in (1, 2) for what in ("max", "mean")]
    yield Table("Newton iterations per step, paper / ours; tolerance 1e-8, Δt as in the paper.", columns, rows)
    first, second = np.array(excess).T
    yield study.judge("maximum", len(larger), rows="; ".join(larger))
    yield study.judge("mean_1", first.max(), shown=f"{first.max():+.4f}")
    worst = [f"{name} {value:+.4f}" for name, value in zip(runs, second, strict=True) if value > 5e-5]
    yield study.judge("mean_2", second.max(), shown=f"{second.max():+.4f}", rows=", ".join(worst))
    total = first + second
    yield study.judge("mean_sum", total.max(), shown=f"{total.max():+.4f}")


@PAPER.item
def fig5(study: Study) -> Iterator[Exhibit]:
    """The slider-crank mechanism."""
    dt, t_end = study.data["dt"], study.data["t_end"]
    s = simulate(slider_crank(), t_end, dt)
    half = s.t <= 0.1
    for letter, contact in ("a", 0), ("b", 2):
        ax = panel(f"({letter}) gap {contact + 1} and its velocity", ylabel=f"$g_{{N{contact + 1}}}$  [mm]")
        curve(ax, s.t[half], 1e3 * s.gap[half, contact], color=0)
        right = twin(ax, rf"$\dot{{g}}_{{N{contact + 1}}}$  [m/s]")
        curve(right, s.t[half], s.gap_dot[half, contact], color=1, linewidth=0.8)
        yield drawing(ax, f"Corner “{s.names.contacts[contact]}”: gap (blue, left) and gap velocity (orange, right).")
    ax = panel("(c) angular velocities", ylabel="[1/s]")
    curve(ax, s.t[half], s.u[half, 2], r"$u_{\varphi_1}$")
    curve(ax, s.t[half], s.u[half, 5], r"$u_{\varphi_2}$")
    yield drawing(ax, "Crank and rod: nearly periodic, with a little dissipation.")
    start = s.t <= 0.02
    ax = panel("(d) orientation of the slider", ylabel=r"$\varphi_3$  [mrad]")
    curve(ax, s.t[start], 1e3 * s.q[start, 8], color=0)
    curve(twin(ax, r"$u_{\varphi_3}$  [1/s]"), s.t[start], s.u[start, 8], color=1, linewidth=0.8)
    yield drawing(ax, "Angle (blue, left) and angular velocity (orange, right) settle by t ≈ 0.01.")
    ax = panel("(e) phase portrait of the rod", xlabel=r"$\varphi_2$  [rad]", ylabel=r"$u_{\varphi_2}$  [1/s]")
    curve(ax, s.q[half, 5], s.u[half, 5])
    ax.margins(x=0.05)
    yield drawing(ax, "Rod angle and its velocity up to t = 0.1.")
    ax = panel("(f) centre of the slider", xlabel="$x_3$  [m]", ylabel="$y_3$  [mm]")
    curve(ax, s.q[half, 6], 1e3 * s.q[half, 7])
    ax.margins(x=0.05)
    yield drawing(ax, "It moves between the walls, which leave it ±1 mm.")

    tilted = s.t[np.abs(s.q[:, 8]) > 1e-6]
    xi_N = s.gap_dot[1:] + 0.4 * s.gap_dot[:-1]
    yield study.judge("settles", tilted[-1])
    yield study.judge("flat", np.abs(s.q[s.t >= 0.015, 8]).max())
    yield study.judge("penetration", s.gap.min(), shown=f"{s.gap.min():.1e} m")
    yield study.judge("impact_law", np.abs(xi_N[s.P_N[1:] > 1e-12]).max())
    yield study.judge("constraints", max(np.abs(s.g).max(), np.abs(s.g_dot).max()))
    yield study.judge("crank_01", float(np.interp(0.1, s.t, s.q[:, 2])))
    yield study.judge("crank_02", s.q[-1, 2])
    yield study.judge("periodic", _return(s))
    coarse = simulate(slider_crank(), t_end, 10 * dt)
    yield study.judge("ten_times", coarse.gap.min(), shown=f"{coarse.gap.min():.1e} m")


@PAPER.item
def fig7(study: Study) -> Iterator[Exhibit]:
    """Trajectories of the point mass on the slope."""
    t_end = study.data["t_end"]
    shown = {case: simulate(point_mass_on_slope(case=case), t_end, study.data["dt"]) for case in CASES}
    panels = {
        "q": ("position", "[m]", "xy"),
        "u": ("velocity", "[m/s]", "xy"),
        "P": ("percussions a step", "[N s]", "NF"),
    }
    for case, s in shown.items():
        for key, (title, unit, parts) in panels.items():
            ax = panel(f"case {case}: {title}", ylabel=unit)
            for k, part in enumerate(parts):
                values = s.P_N[:, 0] if part == "N" else s.P_F[:, 0] if part == "F" else getattr(s, key)[:, k]
                name = {"q": f"${part}$", "u": f"$u_{part}$", "P": rf"$\Delta P_{part}$"}[key]
                curve(ax, s.t[1:], values[1:], name)
            if case == 4 and key == "P":
                ax.set_ylim(-0.15, 0.45)
            yield drawing(ax, _about(case, key, s))
    fine_dt = 1.6e-3 if study.quick else 4e-4
    fine = {case: simulate(point_mass_on_slope(case=case), t_end, fine_dt) for case in CASES}
    for case in (1, 2):
        s = fine[case]
        moving = np.flatnonzero(np.linalg.norm(s.u, axis=1) > 1e-7)
        yield study.judge(f"rest_{case}", s.t[moving[-1] + 1])
        yield study.judge(f"x_{case}", s.q[-1, 0])
    three = fine[3]
    turn = int(np.flatnonzero(three.slip[:, 0] >= 0)[0])
    ratio = three.P_F[1:, 0] / three.P_N[1:, 0]
    yield study.judge("reversal", ratio[turn + 1] - ratio[turn - 2])
    four = fine[4]
    contact = np.flatnonzero(four.P_N[:, 0] > 0)
    yield study.judge("impact", four.t[contact[0]])
    yield study.judge("single", int((four.P_N[contact[0] :, 0] <= 0).sum()))


@PAPER.item
def fig8(study: Study) -> Iterator[Exhibit]:
    """Convergence on the slope, cases 1 to 4."""
    t_end, dts, tol = study.data["t_end"], study.data["dts"], 1e-12
    names = ("q", "u", "P_N", "P_F")
    rates: dict[int, dict[str, float]] = {}
    errors: dict[int, dict[str, list[float]]] = {}
    sums: dict[int, float] = {}
    finer: dict[int, dict[str, float]] = {}
    for case in CASES:
        system = point_mass_on_slope(case=case)
        reference = simulate(system, t_end, study.data["reference"], tol=tol)
        runs = [simulate(system, t_end, dt, tol=tol) for dt in dts]
        errors[case] = {
            name: [
                error(getattr(run, name), getattr(reference, name), dt, "rattle")
                for dt, run in zip(dts, runs, strict=True)
            ]
            for name in names
        }
        rates[case] = {name: order(dts, errors[case][name]) for name in names}
        sums[case] = order(dts, [_error_of_sums(run.P_N, reference.P_N) for run in runs])
        if case > 2 and not study.quick:
            reference = simulate(system, t_end, study.data["reference"] / 16, tol=tol)
            finer[case] = {
                name: order(
                    dts,
                    [
                        error(getattr(r, name), getattr(reference, name), dt, "rattle")
                        for dt, r in zip(dts, runs, strict=True)
                    ],
                )
                for name in ("q", "u")
            }
        yield drawing(_convergence(case, dts, errors[case]), f"Case {case}: errors (56) of q, u, ΔP_N and ΔP_F.")
    rows = [[f"case {case}", *[f"{rates[case][name]:.3f}" for name in names], f"{sums[case]:.3f}"] for case in CASES]
    columns = ["observed order of", "q", "u", "ΔP_N", "ΔP_F", "P_N summed over the step"]
    yield Table(
        "Slopes in the diagrams above. The last column is not a figure of the paper: see the note on ΔP_N.",
        columns,
        rows,
    )

    for case in CASES:
        for name in ("q", "u"):
            beyond = (
                f" Against a reference that is 16 times finer still it is {finer[case][name]:.2f}."
                if case in finer
                else ""
            )
            yield study.judge(f"{name}_{case}", rates[case][name], finer=beyond)
    for name in ("P_N", "P_F"):
        farthest = max((rates[case][name] for case in CASES), key=lambda rate: abs(rate - 1))
        yield study.judge(name, farthest, sums=sums)
    local = np.array([np.diff(np.log(errors[case]["q"])) / np.diff(np.log(dts)) for case in (3, 4)])
    yield study.judge(
        "non_monotone",
        bool((np.abs(local - 1) > 0.5).any()),
        shown=f"local orders {local.min():.2f} to {local.max():.2f}",
    )


@PAPER.item
def fig10(study: Study) -> Iterator[Exhibit]:
    """The tippedisk by three methods."""
    schemes = {
        "Moreau": (Moreau(), 1e-5),
        "generalized-α": (GeneralizedAlpha(rho_inf=0.9), 1e-3),
        "RATTLE": (Rattle(variant="printed"), 1e-3),
    }
    runs = {name: simulate(tippedisk(), study.data["t_end"], dt, scheme) for name, (scheme, dt) in schemes.items()}
    z = {name: run.q[:: (len(run) - 1) // 1500, 2] for name, run in runs.items()}
    angle = {name: _elevation(run.q[:: (len(run) - 1) // 1500]) for name, run in runs.items()}
    t = runs["RATTLE"].t
    for values, title, unit in ((1e3, z), "centre of mass", "$z$  [mm]"), ((1.0, angle), "orientation", "[rad]"):
        ax = panel(title, ylabel=unit)
        for k, name in enumerate(runs):
            curve(ax, t, values[0] * values[1][name], name, color=(8, 0, 1)[k], linestyle=("-", "--", ":")[k])
        yield drawing(ax, {"centre of mass": "From r - e to r + e.", "orientation": ABOUT_ANGLE}[title])
    rise = study.data["high"] - study.data["low"]
    yield study.judge("inverts", z["RATTLE"][-1])
    yield study.judge("time", t[np.argmax(z["RATTLE"] > 0.0465)])
    yield study.judge("moreau", np.abs(z["RATTLE"] - z["Moreau"]).max() / rise)
    yield study.judge("alpha", np.abs(z["RATTLE"] - z["generalized-α"]).max() / rise)
    yield study.judge("angle", max(np.abs(angle["RATTLE"] - angle[name]).max() for name in ("Moreau", "generalized-α")))
    yield study.judge("penetration", runs["RATTLE"].gap.min(), moreau=runs["Moreau"].gap.min())
    yield study.judge("cost", runs["RATTLE"].stats.wall_time / runs["Moreau"].stats.wall_time)


def _return(s: Solution) -> float:
    """Largest change of the angular velocities of crank and rod over a turn of the crank, relative to their size."""
    late = s.t > 0.02
    angle, changes = s.q[late, 2], []
    phase = np.linspace(angle[0], angle[-1] - 2 * np.pi, 400)
    for u in (s.u[late, 2], s.u[late, 5]):
        now, later = np.interp(phase, angle, u), np.interp(phase + 2 * np.pi, angle, u)
        changes.append(np.abs(later - now).max() / np.abs(u).max())
    return float(max(changes))


def _elevation(q: np.ndarray) -> np.ndarray:
    """Angle in the disk's plane between the ray from its centre G to the centre of mass S and the direction that rises."""
    angles = np.zeros(len(q))
    for k, p in enumerate(q[:, 3:]):
        A = np.asarray(quaternion_rotation(p / np.linalg.norm(p)), float)
        rising = np.array([0, 0, 1]) - A[2, 2] * A[:, 2]  # e_z without its part along the disk's axis e_z^K
        angles[k] = np.arccos(np.clip(A[:, 0] @ rising / np.linalg.norm(rising), -1, 1))
    return angles


def _error_of_sums(P: np.ndarray, reference: np.ndarray) -> float:
    """Sum over all steps of the difference to the reference's percussion over the same step."""
    ratio = (len(reference) - 1) // (len(P) - 1)
    over_step = reference[1 : ratio * (len(P) - 1) + 1, 0].reshape(-1, ratio).sum(axis=1)
    return float(np.abs(P[1:, 0] - over_step).sum())


def _convergence(case: int, dts: Sequence[float], errors: dict[str, list[float]]) -> Axes:
    ax = panel(f"case {case}", xlabel=r"$\Delta t$  [s]", ylabel="error", log="xy", height=3.4)
    labels = {"q": "$q$", "u": "$u$", "P_N": r"$\Delta P_N$", "P_F": r"$\Delta P_F$"}
    for k, (name, values) in enumerate(errors.items()):
        curve(ax, np.array(dts), np.array(values), labels[name], color=k, marker="osD^"[k], markersize=4)
    ax.margins(x=0.05)
    orders(ax, dts, {1: 3 * errors["P_N"][0]} | ({2: errors["q"][0] / 4} if case < 3 else {}))
    return ax


def _about(case: int, key: str, s: Solution) -> str:
    if key == "q":
        return {
            1: "From rest on the slope: it slides, and friction holds it at x = 2.849.",
            2: "With speed 1 downhill.",
            3: "With speed 1 uphill: it turns at t = 0.12.",
            4: "It falls onto the slope at t = 0.316.",
        }[case]
    if key == "u":
        return "A kink where slip turns to stick" + (", and one where slip reverses." if case == 3 else ".")
    most = f" The impact's percussion, {s.P_N.max():.2f} N s, lies outside." if case == 4 else ""
    return f"Friction falls to what holds the mass when it sticks.{most}"
