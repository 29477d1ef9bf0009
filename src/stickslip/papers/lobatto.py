"""The figures of the nonsmooth Lobatto IIIA-IIIB schemes [capobianco2024, section 6]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from stickslip.benchmarks import point_mass_on_slope, rotating_bouncing_ball, slider_crank
from stickslip.engine.fields import Field, Q
from stickslip.papers.drawing import curve, drawing, panel, twin
from stickslip.papers.measure import PRINTED, error, order, simulate
from stickslip.papers.paper import Exhibit, Paper, Study, Table
from stickslip.schemes import Lobatto
from stickslip.solution import Solution

PAPER = Paper("lobatto")


def _printed(stages: int) -> Lobatto:
    """The scheme as the paper has it."""
    return Lobatto(stages=stages, variant="printed")


STAGES = (2, 3, 4)
SLOPE_CASES = {1: 1, 2: 4}  # the paper's case: the benchmark's


@PAPER.item
def fig3(study: Study) -> Iterator[Exhibit]:
    """Gap of the bouncing ball, case 1."""
    runs = {s: _ball(study, 1, s) for s in STAGES}
    ball = runs[3]
    ax = panel("contact distance, case 1", ylabel="$g_N$  [m]")
    curve(ax, ball.t, ball.gap[:, 0], marker=".", markersize=3)
    yield drawing(ax, "Three stages; every step is a dot.")
    apart = max(np.abs(runs[s].gap - ball.gap).max() for s in (2, 4))
    ends = {s: float(run.t[np.flatnonzero(run.gap[:, 0] > 1e-8)[-1]]) for s, run in runs.items()}
    yield study.judge("rest", ball.gap[ball.t > 1.285059].max())
    yield study.judge("penetration", min(run.gap.min() for run in runs.values()))
    higher = [_ball(study, 1, s, above=1e-12) for s in STAGES]
    agree = max(np.abs(run.gap - higher[1].gap).max() for run in higher) / 0.9
    yield study.judge("indistinguishable", apart / 0.9, ends=ends, agree=agree)
    yield study.judge("inner", min(_inner_gap(study, s) for s in (3, 4)))


@PAPER.item
def fig4(study: Study) -> Iterator[Exhibit]:
    """Percussions of the ball, cases 2 and 3."""
    runs = {(case, s): _ball(study, case, s) for case in (2, 3) for s in STAGES}
    two, three = runs[2, 3], runs[3, 3]
    for name, values in ("N", "P_N"), ("F", "P_F"):
        ax = panel(f"{'normal' if name == 'N' else 'friction'} percussions a step", ylabel=rf"$\Delta P_{name}$  [N s]")
        for k, ball in enumerate((two, three)):
            style = {"marker": "ox"[k], "markersize": 3, "linewidth": 0}
            curve(ax, ball.t, getattr(ball, values)[:, 0], f"case {k + 2}", color=k, **style)
        ax.set_yscale("symlog", linthresh=0.02)
        yield drawing(ax, f"Δ P_{name}: impact at t = 0.43; the scale is linear below 0.02 and logarithmic above.")
    hit = int(np.flatnonzero(three.P_N[:, 0] > 0)[0])
    slipping = np.flatnonzero(np.abs(two.P_F[:, 0]) > 1e-10)
    yield study.judge("sliding", two.t[slipping[-1]])
    yield study.judge("rolling", two.u[-1, 2])
    yield study.judge("sticks", three.u[hit, 2])
    yield study.judge("force_free", np.abs(three.P_F[hit + 1 :]).max())
    rattle = {
        case: simulate(rotating_bouncing_ball(case=case), study.data["t_end"], study.data["dt"], PRINTED)
        for case in (2, 3)
    }
    pairs = [(runs[case, 2], rattle[case]) for case in (2, 3)]
    yield study.judge(
        "rattle", max(np.abs(getattr(a, n) - getattr(b, n)).max() for a, b in pairs for n in ("P_N", "P_F"))
    )
    apart = max(np.abs(runs[case, s].u[:, :2] - runs[case, 3].u[:, :2]).max() for case in (2, 3) for s in (2, 4))
    yield study.judge("stages", apart / np.sqrt(2 * 9.81 * 0.9))


@PAPER.item
def fig6(study: Study) -> Iterator[Exhibit]:
    """The slider-crank mechanism."""
    s = simulate(slider_crank(), study.data["t_end"], study.data["dt"], _printed(3))
    half = s.t <= 0.1
    for letter, contact in ("a", 0), ("b", 2):
        ax = panel(f"({letter}) gap {contact + 1} and its velocity", ylabel=f"$g_{{N{contact + 1}}}$  [mm]")
        curve(ax, s.t[half], 1e3 * s.gap[half, contact], color=0)
        curve(
            twin(ax, rf"$\dot{{g}}_{{N{contact + 1}}}$  [m/s]"),
            s.t[half],
            s.gap_dot[half, contact],
            color=1,
            linewidth=0.8,
        )
        yield drawing(ax, f"Corner “{s.names.contacts[contact]}”: gap (blue, left) and gap velocity (orange, right).")
    start = s.t <= 0.02
    ax = panel("(c) orientation of the slider", ylabel=r"$\varphi_3$  [mrad]")
    curve(ax, s.t[start], 1e3 * s.q[start, 8], color=0)
    curve(twin(ax, r"$\dot{\varphi}_3$  [1/s]"), s.t[start], s.u[start, 8], color=1, linewidth=0.8)
    yield drawing(ax, "Angle (blue, left) and angular velocity (orange, right).")
    ax = panel("(d) centre of the slider", xlabel="$x_3$  [m]", ylabel="$y_3$  [mm]")
    curve(ax, s.q[half, 6], 1e3 * s.q[half, 7])
    ax.margins(x=0.05)
    yield drawing(ax, "It moves between the walls, which leave it ±1 mm.")
    yield study.judge("settles", s.t[np.abs(s.q[:, 8]) > 1e-6][-1])
    yield study.judge("penetration", s.gap.min(), shown=f"{s.gap.min():.1e} m")
    yield study.judge("constraints", max(np.abs(s.g).max(), np.abs(s.g_dot).max()))
    yield study.judge("crank", s.q[-1, 2])


@PAPER.item
def fig8(study: Study) -> Iterator[Exhibit]:
    """Trajectories on the slope."""
    runs = {
        case: simulate(
            point_mass_on_slope(case=k, m=1.0),
            study.data["t_end"],
            study.data["dt"],
            Lobatto(stages=3, variant="printed"),
        )
        for case, k in SLOPE_CASES.items()
    }
    for key, title, unit in ("q", "position", "[m]"), ("u", "velocity", "[m/s]"):
        ax = panel(title, ylabel=unit)
        for case, s in runs.items():
            for k, part in enumerate("xy"):
                name = f"${part}$" if key == "q" else f"$v_{part}$"
                curve(ax, s.t, getattr(s, key)[:, k], f"{name}, case {case}", color=k, linestyle=("-", "--")[case - 1])
        yield drawing(ax, f"{title.capitalize()} of both cases (case 2 dashed).")
    rest = {case: float(s.t[np.flatnonzero(np.linalg.norm(s.u, axis=1) > 1e-7)[-1] + 1]) for case, s in runs.items()}
    yield study.judge("rest", rest[1])
    yield study.judge("x", runs[1].q[-1, 0])
    yield study.judge("impact", runs[2].t[np.flatnonzero(runs[2].P_N[:, 0] > 0)[0]])
    yield study.judge("stick", rest[2])


@PAPER.item
def fig9(study: Study) -> Iterator[Exhibit]:
    """Convergence on the slope."""
    dts = study.data["dts"]
    fine, floor = study.data["reference"] * (4 if study.quick else 1), study.data["floor"]
    asymptotic = np.array(dts) < study.data["largest"]
    rates: dict[tuple[int, int, str], float] = {}
    rows, local = [], []
    for case, k in SLOPE_CASES.items():
        slope = point_mass_on_slope(case=k, m=1.0)
        # A tolerance of 1e-14 asks for round-off, which 32 000 small steps of the reference reach at 1e-12.
        reference = simulate(slope, max(dts) * 4, fine, _printed(4), tol=1e-12)
        if case == 1:
            end = round(study.data["t_end"] / fine)
            x, speed = reference.q[end, 0], float(np.linalg.norm(reference.u[end]))
        errors: dict[tuple[str, int], list[float]] = {}
        for s in STAGES:
            runs = []
            for dt in dts:
                steps = int(study.data["t_end"] / dt + 1e-9)  # the grid points in [0, 1.6]
                runs.append(simulate(slope, steps * dt, dt, _printed(s), tol=1e-14))
            for name in ("q", "u"):
                values = [
                    error(getattr(run, name), _on(getattr(reference, name), fine, dt, len(run)), dt, "lobatto")
                    for dt, run in zip(dts, runs, strict=True)
                ]
                errors[name, s] = values
                used = asymptotic & (np.array(values) > floor)
                rates[case, s, name] = order(np.array(dts)[used], np.array(values)[used])
            rows.append([f"case {case}, s = {s}", *[f"{rates[case, s, name]:.3f}" for name in ("q", "u")]])
            if case == 2:
                local.append(np.diff(np.log(errors["q", s])) / np.diff(np.log(dts)))
        yield drawing(_convergence(case, dts, errors), f"Case {case}: q solid, velocity dashed.")
    yield Table("Slopes in the diagrams.", ["observed order of", "q", "velocity"], rows)
    for s in STAGES:
        yield study.judge(f"q_{s}", rates[1, s, "q"])
        yield study.judge(f"u_{s}", rates[1, s, "u"])
    yield study.judge("x", x)
    yield study.judge("speed", speed)
    yield study.judge("impact", float(np.mean([rates[2, s, "q"] for s in STAGES])))
    away = np.abs(np.array(local) - 1).max()
    yield study.judge(
        "non_monotone", bool(away > 0.5), shown=f"yes: up to {away:.1f} away from 1" if away > 0.5 else "no"
    )


@dataclass(frozen=True)
class _LobattoWithStages(Lobatto):
    """It also records where the inner stages are."""

    @property
    def extra(self) -> tuple[Field, ...]:  # type: ignore[override]
        return tuple(Field(f"Q_{i}", Q) for i in range(2, self.stages))


def _inner_gap(study: Study, stages: int) -> float:
    """The smallest gap at inner stages, of the ball of case 1: its height above that of the first contact."""
    scheme = _LobattoWithStages(stages=stages, variant="printed")
    s = simulate(rotating_bouncing_ball(case=1), study.data["t_end"], study.data["dt"], scheme)
    radius = s.q[0, 1] - s.gap[0, 0]
    return float(min(s.extra[f"Q_{i}"][1:, 1].min() for i in range(2, stages)) - radius)


def _ball(study: Study, case: int, stages: int, above: float = 0.0) -> Solution:
    ball = rotating_bouncing_ball(case=case)
    q_0 = ball.q_initial + np.array([0, above, 0])
    return simulate(ball, study.data["t_end"], study.data["dt"], _printed(stages), q0=q_0)


def _on(reference: np.ndarray, fine: float, dt: float, rows: int) -> np.ndarray:
    """The reference up to the last time of a run with `rows` rows."""
    return reference[: round(dt / fine) * (rows - 1) + 1]


def _convergence(case: int, dts: Sequence[float], errors: dict[tuple[str, int], list[float]]) -> Axes:
    ax = panel(f"case {case}", xlabel=r"$\Delta t$  [s]", ylabel="error  (74)", log="xy", height=3.6)
    for (name, s), values in errors.items():
        style = {"linestyle": "-" if name == "q" else "--", "marker": "osD"[s - 2], "markersize": 4}
        curve(ax, np.array(dts), np.array(values), f"$s = {s}$" if name == "q" else "", color=s - 2, **style)
    ax.margins(x=0.05)
    return ax
