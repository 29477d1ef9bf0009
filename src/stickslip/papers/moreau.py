"""The figures of the Moreau-type integrators [capobianco2018, section 5]."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import pi

import numpy as np
from matplotlib.axes import Axes

from stickslip.benchmarks import bouncing_ball, spring_pendulum, woodpecker_toy
from stickslip.papers.drawing import curve, drawing, panel
from stickslip.papers.measure import error, order, simulate
from stickslip.papers.paper import Exhibit, Paper, Study, Table
from stickslip.schemes import Moreau, MoreauSymmetric, MoreauVariational, Scheme, Theta

PAPER = Paper("moreau")
SCHEMES: dict[str, Scheme] = {
    "Moreau": Moreau(),
    "symmetric": MoreauSymmetric(),
    "variational": MoreauVariational(),
    "θ = 1/2": Theta(theta=0.5),
}


@PAPER.item
def fig2(study: Study) -> Iterator[Exhibit]:
    """Gap of the bouncing ball."""
    dt, t_end = study.data["dt"], study.data["t_end"]
    ball = simulate(bouncing_ball(), t_end, dt, Moreau())
    ax = panel("gap, Moreau's scheme", ylabel="$g$  [m]")
    curve(ax, ball.t, ball.gap[:, 0])
    yield drawing(ax, "The ball falls from 1 m; each rebound is e² = 9/16 as high as the one before.")
    ax = panel("near the ground", ylabel="$g$  [mm]")
    near = slice(440, 465)
    curve(ax, ball.t[near], 1e3 * ball.gap[near, 0], marker=".")
    ax.axhspan(-5, 0, color=ax.get_lines()[0].get_color(), alpha=0.08)
    ax.set_ylim(-5, None)
    yield drawing(ax, "The first impact: the step that notices the contact ends behind it (shaded).")
    rest = float(study.claims["accumulation"].expected or 0)
    fine = simulate(bouncing_ball(), t_end, dt / 16, Moreau())
    yield study.judge("accumulation", ball.gap[ball.t > rest + dt].max())
    yield study.judge("penetration", -ball.gap.min())
    yield study.judge("decreases", fine.gap.min() / ball.gap.min())


@PAPER.item
def fig4(study: Study) -> Iterator[Exhibit]:
    """Energy error of the spring pendulum."""
    dt, t_end = study.data["dt"], study.data["t_end_quick" if study.quick else "t_end"]
    relative, gained, swing, seconds = {}, {}, np.zeros(0), []
    for name, scheme in SCHEMES.items():
        begin = time.perf_counter()
        s = simulate(spring_pendulum(), t_end, dt, scheme)
        seconds.append((time.perf_counter() - begin) * 1e6 / s.stats.steps)
        E = s.energy().total
        relative[name], gained[name], E_0 = E / E[0] - 1, E[-1] - E[0], E[0]
        if name == "Moreau":
            swing, t = s.q[:, 0], s.t
    ax = panel("energy error, all schemes", ylabel="$(E - E_0)/E_0$")
    for name, values in relative.items():
        curve(ax, t, values, name)
    yield drawing(ax, "E_0 is negative: downwards means that energy grows.")
    ax = panel("energy error, symmetric schemes", ylabel="$(E - E_0)/E_0$")
    for k, name in enumerate(("symmetric", "variational")):
        last = t > t_end - 20
        curve(ax, t[last], relative[name][last], name, color=k + 1, linestyle=("-", "--")[k])
    yield drawing(ax, "The last 20 seconds: it oscillates with the motion and does not drift.")
    ax = panel("swing by Moreau's scheme", ylabel=r"$\varphi$  [rad]")
    curve(ax, t, swing, linewidth=0.5)
    yield drawing(ax, "Each line is a swing between the wall and the turning point.")

    p = spring_pendulum().parameters
    weight = p["m"] * p["g"]
    above = E_0 + weight * p["l0"] + weight**2 / (2 * p["k"])  # E(0) if the potential vanishes where the mass can rest
    tenth = len(t) // 10
    for key in ("symmetric", "variational"):
        size = np.abs(relative[key])
        yield study.judge(key, size[-tenth:].max() / size[:tenth].max())
    both = max(np.abs(relative[key]).max() for key in ("symmetric", "variational"))
    yield study.judge("impacts", both, shown=f"{100 * both:.2f} %")
    if not study.quick:
        moreau = relative["Moreau"]
        yield study.judge("significant", np.abs(moreau).max())
        yield study.judge(
            "dissipates", gained["Moreau"], E_0=E_0, error=moreau[-1], above=above, other=gained["Moreau"] / above
        )
        yield study.judge("dampens", swing[-tenth:].max())
        coarse = simulate(spring_pendulum(), t_end, 2 * dt, Moreau())
        gone, gone_coarse = (_last_swing(time, phi) for time, phi in ((t, swing), (coarse.t, coarse.q[:, 0])))
        at_500 = swing[(t > 480) & (t < 520)].max()
        yield study.judge("by_500", gone, at_500=at_500, twice=2 * dt, gone_twice=gone_coarse)
        span = len(t) // 8
        yield study.judge("stabilises", abs(moreau[-span:].mean() - moreau[-2 * span : -span].mean()))
        yield study.judge("theta", np.abs(relative["θ = 1/2"]).max() / np.abs(moreau).max())
    gain = gained["θ = 1/2"]
    error = relative["θ = 1/2"][-1]
    yield study.judge("theta_dissipates", gain, E_0=E_0, error=error, above=above, other=gain / above)
    yield study.judge("seconds", max(seconds))


@PAPER.item
def fig5(study: Study) -> Iterator[Exhibit]:
    """Convergence for the spring pendulum."""
    spans = list(zip(study.data["spans"], study.data["references"], strict=True))[: 3 if study.quick else None]
    dts = study.data["dts"][: 5 if study.quick else None]
    tables, ratios, rates = [], {}, {}
    outside: dict[float, list[float]] = {}  # by which share the variational scheme's error misses those of the others
    best: dict[float, int] = {}  # how often it is the smallest
    for T, fine in spans:
        fine = min(dts) / 50 if study.quick else fine
        errors = _quadratic_errors(T, fine, dts)
        yield drawing(
            _convergence(T, dts, errors), f"T = {T:g} s, reference with Δt = {fine:g}. (65) is the square of an error."
        )
        ratios[T] = [a / b for a, b in zip(errors["Moreau"], errors["symmetric"], strict=True)]
        rates[T] = {name: order(dts, values) for name, values in errors.items()}
        triples = list(zip(errors["symmetric"], errors["Moreau"], errors["variational"], strict=True))
        outside[T] = [max(min(a, b) / middle, middle / max(a, b)) - 1 for a, b, middle in triples]
        best[T] = sum(middle < min(a, b) for a, b, middle in triples)
        mean = np.exp(np.mean(np.log(ratios[T])))
        spread = f"{min(ratios[T]):.2g} … {max(ratios[T]):.2g}"
        tables.append([f"{T:g}", *[f"{rates[T][name]:.2f}" for name in SCHEMES], f"{mean:.3g}", spread])
    columns = ["T [s]", *[f"order, {name}" for name in SCHEMES], "Moreau/symmetric, mean", "from … to"]
    yield Table(
        "Observed orders of (65), and the ratio of the errors of Moreau's and the symmetric scheme.", columns, tables
    )
    T = 10.0
    yield study.judge("same_order", rates[T]["symmetric"] - rates[T]["Moreau"])
    mean = float(np.exp(np.mean(np.log(ratios[T]))))
    yield study.judge("ten_times", mean, T=T, low=min(ratios[T]), high=max(ratios[T]), free=min(ratios[0.5]))
    misses = [miss for each in outside.values() for miss in each if miss > 0]
    most, by = (100 * max(each, default=0.0) for each in (misses, outside[0.5]))
    yield study.judge("in_between", len(misses), most=most, best=best[0.5], of=len(outside[0.5]), by=by)
    at_T, free = rates[T], rates[0.5]
    orders = ", ".join(f"{name} {value:.2f}" for name, value in at_T.items())
    facts = {"orders": orders, "free": ", ".join(f"{name} {value:.2f}" for name, value in free.items())}
    yield study.judge("variational_order", at_T["variational"] - max(at_T["symmetric"], at_T["Moreau"]), **facts)
    low, high = sorted((at_T["symmetric"], at_T["variational"]))
    yield study.judge("theta_order", bool(low <= at_T["θ = 1/2"] <= high), **facts)
    yield study.judge("free_motion", rates[0.5]["symmetric"])
    yield study.judge("moreau_free", rates[0.5]["Moreau"])


@PAPER.item
def fig7(study: Study) -> Iterator[Exhibit]:
    """Phase plot of the woodpecker toy."""
    dt, t_end = study.data["dt"], study.data["t_end"]
    toy = woodpecker_toy()
    s = simulate(toy, t_end, dt, MoreauSymmetric(), tol=1e-12)
    variational = simulate(toy, t_end, dt, MoreauVariational(), tol=1e-12)
    moreau = simulate(toy, t_end, dt, Moreau(), u0=(s.q[1] - s.q[0]) / dt, tol=1e-12)
    ax = panel("phase plot of the sleeve", xlabel=r"$\varphi_M$  [rad]", ylabel=r"$\dot{\varphi}_M$  [1/s]", height=3.6)
    ax.plot(s.q[::2, 1], s.u[::2, 1], linewidth=0.8)
    ax.margins(x=0.05)
    yield drawing(
        ax, "Seven cycles and a half on top of one another; vertical lines are impacts of the sleeve's edges."
    )
    ax = panel("phase plot of the bird", xlabel=r"$\varphi_S$  [rad]", ylabel=r"$\dot{\varphi}_S$  [1/s]", height=3.6)
    ax.plot(s.q[::2, 2], s.u[::2, 2], color="#d9622b", linewidth=0.8)
    ax.margins(x=0.05)
    yield drawing(ax, "It swings, pecks at φ_S = 0.12 and is thrown back.")
    ax = panel("way down the pole", ylabel="$y$  [mm]")
    curve(ax, s.t, 1e3 * s.q[:, 0], color=2)
    yield drawing(ax, "A cycle: it falls 17 mm, jams for 0.04 s, slides down 3 mm more and pecks.")

    apart = max(np.abs(other.q - s.q).max() for other in (variational, moreau))
    pecks = np.flatnonzero((s.P_N[1:, 0] > 0) & (s.P_N[:-1, 0] == 0)) + 1
    yield study.judge("coincide", apart)
    yield study.judge("period", float(np.diff(s.t[pecks]).mean()))
    yield study.judge("fall", -1e3 * float(np.diff(s.q[pecks, 0]).mean()))
    phase = np.linspace(0, 1, 400)
    cycles = [np.interp(a + phase * (b - a), np.arange(len(s)), s.q[:, 1]) for a, b in pairwise(pecks[-3:])]
    yield study.judge("closed", np.abs(cycles[1] - cycles[0]).max() / np.ptp(s.q[:, 1]))


def _last_swing(t: np.ndarray, phi: np.ndarray) -> float:
    """The last time at which the swing exceeds a tenth of what it was at the start."""
    return float(t[np.flatnonzero(phi > 0.1 * pi / 4)[-1]])


def _quadratic_errors(T: float, fine: float, dts: Sequence[float]) -> dict[str, list[float]]:
    """The mean quadratic error (65) of each scheme and step."""
    reference = simulate(spring_pendulum(), T, fine, MoreauSymmetric(), tol=1e-10).q
    return {
        name: [error(simulate(spring_pendulum(), T, dt, scheme, tol=1e-12).q, reference, dt, "moreau") for dt in dts]
        for name, scheme in SCHEMES.items()
    }


def _convergence(T: float, dts: Sequence[float], errors: dict[str, list[float]]) -> Axes:
    ax = panel(f"T = {T:g} s", xlabel=r"$\Delta t$  [s]", ylabel="$e_q$  (65)", log="xy", height=3.4)
    for k, (name, values) in enumerate(errors.items()):
        curve(ax, np.array(dts), np.array(values), name, color=k, marker="os^x"[k], markersize=4)
    ax.margins(x=0.05)
    return ax
