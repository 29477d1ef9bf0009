"""The figures of the nonsmooth generalized-alpha method [bruels2018, sections 5 and 6]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from stickslip.benchmarks import bouncing_pendulum, elastic_bar_drop, flexible_pendulum, pendulum
from stickslip.papers.drawing import curve, drawing, panel
from stickslip.papers.measure import order, simulate
from stickslip.papers.paper import Exhibit, Paper, Study, Table
from stickslip.schemes import GeneralizedAlpha
from stickslip.solution import Solution

PAPER = Paper("generalized-alpha")
SMOOTH = ("P", "V", "PV", "PVA")
NONSMOOTH = ("PVA", "PVV")


@PAPER.item
def fig2(study: Study) -> Iterator[Exhibit]:
    """Constraints of the pendulum after a consistent start."""
    runs = {c: _pendulum(study, c) for c in SMOOTH}
    levels = {"position": "g", "velocity": r"\dot{g}", "acceleration": r"\ddot{g}"}
    for level, symbol in levels.items():
        ax = panel(f"{level} constraint", ylabel=f"$|{symbol}|$", log="y")
        for name, s in runs.items():
            values = {"position": s.g, "velocity": s.g_dot, "acceleration": s.extra["g_ddot"]}[level]
            curve(ax, s.t[1:], np.maximum(np.abs(values[1:]).max(axis=1), 1e-17), name, linewidth=0.8)
        ax.set_ylim(1e-17, 1e3)
        yield drawing(ax, f"Largest residual on {level} level; the axis ends at round-off.")
    ax = panel("acceleration constraint, first steps", ylabel=r"$\ddot{g}^1$")
    for name in ("V", "PV", "PVA"):
        curve(ax, runs[name].t[1:60], runs[name].extra["g_ddot"][1:60, 0], name, linewidth=0, marker=".")
    yield drawing(
        ax, "Values at the steps. P is left out, as in the paper: its oscillations are a few hundred times larger."
    )

    g_ddot = {name: s.extra["g_ddot"] for name, s in runs.items()}
    last = runs["P"].t > study.data["t_end"] - 1
    size = {name: alternation(values[1:30]) for name, values in g_ddot.items()}
    yield study.judge("P_position", np.abs(runs["P"].g).max())
    yield study.judge("P_transient", size["P"])
    yield study.judge("P_damped", alternation(g_ddot["P"][last]))
    yield study.judge("P_hidden", np.abs(runs["P"].g_dot[last]).max())
    yield study.judge("P_order", _order_of_oscillation("P", study.data["rho_inf"]))
    drift = np.abs(runs["V"].g).max(axis=1)
    yield study.judge("V_drift", drift[-1] / np.interp(1.0, runs["V"].t, drift))
    yield study.judge("V_small", size["V"] / size["P"])
    rho_inf = study.data["rho_inf"]
    simple, undamped = (_order_of_oscillation("V", rho) for rho in (rho_inf, 1.0))
    yield study.judge(
        "V_order", _order_of_oscillation("V", rho_inf, shifted_start=True), simple=simple, undamped=undamped
    )
    yield study.judge("PV_levels", max(np.abs(runs["PV"].g).max(), np.abs(runs["PV"].g_dot).max()))
    yield study.judge("PV_like_V", size["PV"] / size["V"])
    pva = runs["PVA"]
    yield study.judge("PVA_levels", max(np.abs(values).max() for values in (pva.g, pva.g_dot, g_ddot["PVA"])))


@PAPER.item
def fig3(study: Study) -> Iterator[Exhibit]:
    """Constraints of the pendulum after a disturbed start."""
    runs = {c: _pendulum(study, c, consistent=False) for c in SMOOTH}
    for key, title, symbol in (
        ("g_ddot", "acceleration constraint", r"\ddot{g}^1"),
        ("la.g", "multiplier", r"\lambda^1"),
    ):
        for zoom in (False, True):
            ax = panel(title + (", first steps" if zoom else ""), ylabel=f"${symbol}$")
            for name, s in runs.items():
                shown = slice(1, 60 if zoom else None)
                style = {"linewidth": 0, "marker": "."} if zoom else {"linewidth": 0.6}
                curve(ax, s.t[shown], s.extra[key][shown, 0], name, **style)
            yield drawing(ax, f"{title.capitalize()}{' in the first 0.12 s' if zoom else ' over the whole time'}.")
    first = slice(1, 30)
    yield study.judge("others", min(alternation(runs[c].extra["g_ddot"][first]) for c in SMOOTH[:3]))
    yield study.judge("multiplier", min(alternation(runs[c].extra["la.g"][first]) for c in SMOOTH[:3]))
    yield study.judge("PVA", np.abs(runs["PVA"].extra["g_ddot"][1:]).max())
    yield study.judge("PVA_multiplier", alternation(runs["PVA"].extra["la.g"][first]))


@PAPER.item
def fig5(study: Study) -> Iterator[Exhibit]:
    """Gap of the bouncing pendulum."""
    runs = {c: _bounce(study, c) for c in NONSMOOTH}
    for key, title, unit in ("gap", "gap", "$g^3$  [m]"), ("gap_dot", "gap velocity", r"$\dot{g}^3$  [m/s]"):
        ax = panel(title, ylabel=unit)
        for k, (name, s) in enumerate(runs.items()):
            curve(ax, s.t, getattr(s, key)[:, 0], name, linestyle=("-", "--")[k], linewidth=1.0)
        yield drawing(ax, f"{title.capitalize()} by both methods.")
    yield study.judge("first", runs["PVA"].t[np.flatnonzero(runs["PVA"].P_N[:, 0] > 0)[0]])
    yield study.judge("closed", max(s.gap[s.t > study.data["t_end"] - 0.2].max() for s in runs.values()))
    worst = max(max(np.abs(s.g).max(), np.abs(s.g_dot).max(), -s.gap.min()) for s in runs.values())
    yield study.judge("exact", worst)


@PAPER.item
def fig6(study: Study) -> Iterator[Exhibit]:
    """Acceleration constraint and multiplier of the bouncing pendulum."""
    runs = {c: _bounce(study, c) for c in NONSMOOTH}
    yield from _first_impact(runs, "g_ddot", "acceleration constraint", r"\ddot{g}^1")
    yield from _first_impact(runs, "la.g", "smooth multiplier", r"\lambda^1")
    after = _after_first(runs["PVA"])
    yield study.judge("PVV", np.abs(runs["PVV"].extra["g_ddot"]).max())
    yield study.judge("PVA", np.abs(runs["PVA"].extra["g_ddot"]).max())
    yield study.judge("PVV_multiplier", alternation(runs["PVV"].extra["la.g"][after]))
    yield study.judge("PVA_multiplier", alternation(runs["PVA"].extra["la.g"][after]))


@PAPER.item
def fig7(study: Study) -> Iterator[Exhibit]:
    """Impulse of the bilateral constraint, with contacts released as printed."""
    runs = {c: _bounce(study, c, release="printed") for c in NONSMOOTH}
    dt = study.data["dt"]
    total = {name: s.extra["la.g"] + s.extra["Lambda.g"] / dt for name, s in runs.items()}
    rest = {name: float(s.t[np.flatnonzero(s.gap[:, 0] > 1e-8)[-1]]) for name, s in runs.items()}
    ends = {"full": (0.0, study.data["t_end"]), "end phase": (max(rest.values()) - 0.15, study.data["t_end"])}
    for title, (begin, end) in ends.items():
        ax = panel(f"impulse, {title}", ylabel=r"$\Lambda^1$  [N s]")
        for name, s in runs.items():
            shown = (s.t >= begin) & (s.t <= end)
            curve(ax, s.t[shown], s.extra["Lambda.g"][shown, 0], name, linewidth=0.8)
        if title != "full":
            ax.set_ylim(-0.03, 0.02)
        yield drawing(
            ax, "Relative impulse of the constraint." if title == "full" else "Coming to rest: Λ of PVA ends at zero."
        )
    yield study.judge("same", np.abs(total["PVA"][-1] - total["PVV"][-1]).max())
    yield study.judge("statics", total["PVA"][-1, 0])
    yield study.judge("zero", np.abs(runs["PVA"].extra["Lambda.g"][-1]).max() / dt)
    yield study.judge("negative", runs["PVA"].extra["Lambda.N"].min())
    total_rest = [float(s.t[np.flatnonzero(s.gap[:, 0] > 1e-8)[-1]]) for s in (_bounce(study, c) for c in NONSMOOTH)]
    yield study.judge("later", rest["PVA"] - rest["PVV"], total=max(total_rest), rest=rest)


@PAPER.item
def fig8(study: Study) -> Iterator[Exhibit]:
    """The bouncing pendulum without numerical damping."""
    runs = {c: _bounce(study, c) for c in NONSMOOTH}
    yield from _first_impact(runs, "la.g", "smooth multiplier, ρ∞ = 1", r"\lambda^1")
    yield study.judge("PVA", alternation(runs["PVA"].extra["la.g"][_after_first(runs["PVA"])]))
    yield study.judge("PVV", alternation(runs["PVV"].extra["la.g"][-200:]))


@PAPER.item
def fig10(study: Study) -> Iterator[Exhibit]:
    """The flexible pendulum."""
    runs = {}
    for c in NONSMOOTH:
        scheme = GeneralizedAlpha(constraints=c, rho_inf=study.data["rho_inf"], record=True)
        runs[c] = simulate(flexible_pendulum(residual_bending=True), study.data["t_end"], study.data["dt"], scheme)
    s = runs["PVA"]
    zooms = {"": (s.t >= 0), ", first contact": (s.t > 0.32) & (s.t < 0.355)}
    for zoom, shown in zooms.items():
        ax = panel(f"gap{zoom}", ylabel="$g^1$  [mm]" if zoom else "$g^1$  [m]")
        for k, (name, run) in enumerate(runs.items()):
            curve(
                ax,
                run.t[shown],
                (1e3 if zoom else 1) * run.gap[shown, 0],
                name,
                linestyle=("-", "--")[k],
                linewidth=0.9,
            )
        yield drawing(ax, "Gap of the tip" + (" in a burst of impacts." if zoom else " over the whole time."))
    shown = zooms[", first contact"]
    ax = panel("gap velocity, first contact", ylabel=r"$\dot{g}^1$  [m/s]")
    for k, (name, run) in enumerate(runs.items()):
        curve(ax, run.t[shown], run.gap_dot[shown, 0], name, color=k, linewidth=0.6)
    yield drawing(ax, "Each impact stops the tip (e = 0); the bent beam pushes it against the wall again.")
    ax = panel("gap acceleration, first contact", ylabel=r"$\ddot{g}^1$  [m/s²]")
    for k, (name, run) in enumerate(runs.items()):
        curve(ax, run.t[shown], run.extra["g_N_ddot"][shown, 0], name, color=k, linewidth=0.6)
    yield drawing(ax, "Zero where PVA activates the contact on acceleration level, which PVV never does.")
    ax = panel("reaction, first contact", ylabel="$P_N$  [N s]")
    for k, (name, run) in enumerate(runs.items()):
        curve(ax, run.t[shown], run.P_N[shown, 0], name, color=k, linewidth=0.8)
    yield drawing(ax, "Percussions of single steps: a collection of rather close impulses.")
    for zoom, shown in zooms.items():
        ax = panel(f"energy{zoom}", ylabel="$E$  [J]")
        for k, (name, run) in enumerate(runs.items()):
            curve(ax, run.t[shown], run.energy().total[shown], name, linestyle=("-", "--")[k])
        yield drawing(ax, "Energy falls in steps, at the impacts.")

    end = _end_of_phase(s)
    touching = s.t[s.P_N[:, 0] > 0]
    burst = np.diff(touching[touching <= end]) > 1.5 * study.data["dt"]
    energies = {name: run.energy().total for name, run in runs.items()}
    loss = {name: E[0] - E[-1] for name, E in energies.items()}
    early = s.t <= 0.348
    yield study.judge("begins", touching[0])
    yield study.judge("ends", end)
    stiff = simulate(flexible_pendulum(), 0.4, study.data["dt"], _printed(study, "PVA", "total"))
    yield study.judge("stiff", _end_of_phase(stiff))
    active = {name: int((np.abs(run.extra["la.N"]) > 0).sum()) for name, run in runs.items()}
    yield study.judge("PVA_activates", active["PVA"])
    yield study.judge("PVV_never", active["PVV"])
    yield study.judge("intermittent", int(burst.sum()) + 1)
    yield study.judge("agree", np.abs(runs["PVV"].gap - s.gap)[early].max() / np.ptp(s.gap[early]))
    loose, other = 1e-4, float("nan")
    if not study.quick:
        run = simulate(
            flexible_pendulum(residual_bending=True),
            study.data["t_end"],
            study.data["dt"],
            _printed(study, "PVA", "total"),
            tol=loose,
        )
        other = run.stats.mean_iterations[1]
    yield study.judge(
        "iterations",
        max(run.stats.mean_iterations[1] for run in runs.values()),
        tol=s.provenance["tol"],
        loose=loose,
        other=other,
    )
    yield study.judge("monotone", max(np.diff(E).max() / loss[name] for name, E in energies.items()))
    apart = np.abs(energies["PVV"] - energies["PVA"])[early].max()
    more, ratios = 1.01, [float("nan")] * 2
    if not study.quick:
        dts = (study.data["dt"], more * study.data["dt"])
        ratios = [_printed_loss(study, "PVV", dt) / _printed_loss(study, "PVA", dt) for dt in dts]
    yield study.judge(
        "faster", loss["PVV"] / loss["PVA"], **loss, apart=apart, printed=ratios[0], again=ratios[1], more=more - 1
    )


@PAPER.item
def fig14(study: Study) -> Iterator[Exhibit]:
    """The elastic bar."""
    runs: dict[str, Solution] = {}
    rows = []
    for c in NONSMOOTH:
        for solver in ("subproblems", "newton"):
            release = "printed" if solver == "subproblems" else "total"  # Algorithm 1 with its sets
            scheme = GeneralizedAlpha(constraints=c, rho_inf=study.data["rho_inf"], solver=solver, release=release)
            s = simulate(elastic_bar_drop(), study.data["t_end"], study.data["dt"], scheme)
            runs[f"{c}, {solver}"] = s
            paper = study.claims[c].expected if solver == "subproblems" else "-"
            rows.append([c, solver, str(paper), f"{_outer(s).mean():.3f}", f"{_outer(s).max()}"])
    names = {c: f"{c}, subproblems" for c in NONSMOOTH}
    for key, title, unit in ("gap", "gap", "$g$  [m]"), ("gap_dot", "gap velocity", r"$\dot{g}$  [m/s]"):
        ax = panel(title, ylabel=unit)
        for k, (c, name) in enumerate(names.items()):
            curve(ax, runs[name].t, getattr(runs[name], key)[:, 0], c, linestyle=("-", "--")[k])
        yield drawing(ax, f"{title.capitalize()} of the bar's front.")
    ax = panel("reaction force", ylabel=r"$\Lambda^*/h$  [N]")
    for k, (c, name) in enumerate(names.items()):
        curve(ax, runs[name].t, runs[name].P_N[:, 0] / study.data["dt"], c, linestyle=("-", "--")[k], linewidth=0.9)
    ax.set_ylim(0, 600)
    yield drawing(ax, "300 N in the exact solution; the first step also stops the first node of the mesh.")
    ax = panel("energy", ylabel="$E$  [J]")
    for k, (c, name) in enumerate(names.items()):
        curve(ax, runs[name].t, runs[name].energy().total, c, linestyle=("-", "--")[k])
    ax.set_ylim(480, 505)
    yield drawing(ax, "500 J at the start.")
    columns = ["form", "solver", "mean iterations, paper", "mean, ours", "most"]
    yield Table(
        "Iterations a step: of Algorithm 1 (subproblems) and of Newton's method for all unknowns.", columns, rows
    )

    pva, pvv = runs[names["PVA"]], runs[names["PVV"]]
    pushes = (
        study.data["dt"] * 0.1 * float(study.claims["force"].expected or 0)
    )  # not what a contact does after it has opened
    touching = np.flatnonzero(pva.P_N[:, 0] > pushes)
    contact = slice(touching[5], touching[-5])
    yield study.judge("duration", pva.t[touching[-1]] - pva.t[touching[0]])
    yield study.judge("force", pva.P_N[contact, 0].mean() / study.data["dt"])
    energy = pva.energy().total
    yield study.judge("energy", energy[-1] / energy[0])
    yield study.judge("close", np.abs(pva.gap - pvv.gap).max())
    yield study.judge("PVV", _outer(pvv).mean())
    yield study.judge("PVV_contact", _outer(pvv)[contact].mean())
    yield study.judge("PVA", _outer(pva).mean())


def _printed(study: Study, constraints: str, release: str = "printed") -> GeneralizedAlpha:
    return GeneralizedAlpha(constraints=constraints, rho_inf=study.data["rho_inf"], release=release)


def _printed_loss(study: Study, constraints: str, dt: float) -> float:
    """Energy that the flexible pendulum loses where contacts are released as printed."""
    E = (
        simulate(flexible_pendulum(residual_bending=True), study.data["t_end"], dt, _printed(study, constraints))
        .energy()
        .total
    )
    return float(E[0] - E[-1])


def _end_of_phase(s: Solution) -> float:
    """When the first contact phase ends: the last impact before the tip is away for 20 ms."""
    touching = s.t[s.P_N[:, 0] > 0]
    pauses = np.flatnonzero(np.diff(touching) > 0.02)
    return float(touching[pauses[0]] if pauses.size else touching[-1])


def alternation(values: np.ndarray) -> float:
    """Size of what alternates from step to step: the largest second difference.

    >>> alternation(np.array([[0.0], [1.0], [0.0], [1.0]]))
    2.0
    """
    return float(np.abs(values[2:] - 2 * values[1:-1] + values[:-2]).max())


def _pendulum(study: Study, constraints: str, consistent: bool = True) -> Solution:
    scheme = GeneralizedAlpha(constraints=constraints, rho_inf=study.data["rho_inf"], consistent=consistent)
    return simulate(pendulum(), study.data["t_end"], study.data["dt"], scheme, tol=1e-11)


def _bounce(study: Study, constraints: str, release: str = "total") -> Solution:
    scheme = GeneralizedAlpha(constraints=constraints, rho_inf=study.data["rho_inf"], release=release)
    return simulate(bouncing_pendulum(), study.data["t_end"], study.data["dt"], scheme, tol=1e-10)


def _order_of_oscillation(constraints: str, rho_inf: float, shifted_start: bool = False) -> float:
    """Order in h of the oscillation of the acceleration constraint in the first steps."""
    dts = (5e-4, 2.5e-4, 1.25e-4)
    scheme = GeneralizedAlpha(constraints=constraints, rho_inf=rho_inf, shifted_start=shifted_start)
    sizes = [alternation(simulate(pendulum(), 0.01, dt, scheme, tol=1e-12).extra["g_ddot"][1:20]) for dt in dts]
    return order(dts, sizes)


def _after_first(s: Solution) -> slice:
    """200 steps after the first impact, without the jump itself."""
    first = int(np.flatnonzero(s.P_N[:, 0] > 0)[0])
    return slice(first + 2, first + 200)


def _first_impact(runs: Mapping[str, Solution], key: str, title: str, symbol: str) -> Iterator[Exhibit]:
    """The whole time, and a zoom on the first impact; PVV first, so that the calm PVA stays visible."""
    hit = float(runs["PVA"].t[np.flatnonzero(runs["PVA"].P_N[:, 0] > 0)[0]])
    for zoom in (False, True):
        ax = panel(title + (", first impact" if zoom else ""), ylabel=f"${symbol}$")
        for color, name in (1, "PVV"), (0, "PVA"):
            s = runs[name]
            shown = (s.t > hit - 0.02) & (s.t < hit + 0.06) if zoom else s.t > 0
            style = {"linewidth": 0, "marker": "."} if zoom else {"linewidth": 0.7}
            curve(ax, s.t[shown], s.extra[key][shown, 0], name, color=color, **style)
        yield drawing(
            ax, f"{title[0].upper() + title[1:]}{': values at the steps.' if zoom else ' over the whole time.'}"
        )


def _outer(s: Solution) -> np.ndarray:
    """Iterations of a step: of all unknowns, or of the first subproblem; column 0 is that of the initial accelerations."""
    return s.stats.iterations[:, 1]
