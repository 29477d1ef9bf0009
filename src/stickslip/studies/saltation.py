"""The derivative of the motion across one event.

An event at e(t, x, p) = 0 ends the flow f-, the state jumps by j, and the flow f+ takes over. If x and p change, the event
shifts by

    dt = -(e_x dx + e_p dp)/(e_t + e_x f-)

and at a fixed time after it

    dx+ = j_x (dx + f- dt) + j_t dt + j_p dp - f+ dt.

j consists of the scheme's own steps: the projection onto the contacts that touch, impacts with their laws as they turned out
(active or not, stick or slip), and the projection onto the modes that follow. The tangent space therefore shrinks to the
constraints of persistent contacts and of sticking. Where a law is at the border of two cases, or the event's rate
e_t + e_x f- vanishes (grazing), there is no derivative, and that is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stickslip.phases.history import Jump, Transition
from stickslip.phases.search import BROKEN
from stickslip.phases.settle import JAM
from stickslip.solution import Names
from stickslip.studies.linearised import Mechanism, Rates, Watched

GRAZE = 1e-8  # of the height of the flight before: what the linearisation of a touch must be valid for
WEAK = 1e-9  # relative distance to the border of two cases that counts as none
SLOW = 1e-9  # relative rate of an event that counts as none


@dataclass(frozen=True)
class EventDerivative:
    """How one event was treated: time, kind, the contact or friction element, and what was done.

    `exists` is False at a point without derivative; `treatment` says why.
    """

    t: float
    kind: str
    name: str
    treatment: str
    exists: bool = True

    def __str__(self) -> str:
        return f"t = {self.t:<14.9g} {self.kind:<9} {self.name}: {self.treatment}"


@dataclass(frozen=True)
class Affine:
    """dx+ = S dx + s dp, with what must vanish for it to be true: `tied` @ (dx, dp) = 0 for events that coincide."""

    S: np.ndarray
    s: np.ndarray
    event: EventDerivative
    shift: np.ndarray = field(default_factory=lambda: np.zeros(0))  # dt = shift @ (dx, dp)
    tied: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def push(self, X: np.ndarray, P: np.ndarray) -> np.ndarray:
        """S X + s P."""
        return self.S @ X + self.s @ P

    def pull(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S^T row and s^T row."""
        return self.S.T @ row, self.s.T @ row


class _Border(Exception):
    """There is no derivative, because ..."""


def saltation(
    mech: Mechanism, p: np.ndarray, now: Transition, height: np.ndarray, names: Names, blur: float = 0.0
) -> Affine:
    """The derivative across an event; `height` is the largest gap of each contact in its flight before.

    blur: the length of the steps that the state comes from: an impact so slow that it could be none half a step earlier or
    later is taken for grazing.
    """
    n_x, n_p = mech.n_x, len(mech.wrt)
    kind, name, row = _kind(mech, now, names)
    tied, shift = np.zeros((0, n_x + n_p)), np.zeros(n_x + n_p)
    Z = np.hstack([np.eye(n_x), np.zeros((n_x, n_p))])
    pi = np.hstack([np.zeros((n_p, n_x)), np.eye(n_p)])
    said = "the contacts at the start stay closed; initial states vary along them" if now.touching.any() else ""
    try:
        if now.event >= 0:
            rates, seen, more = mech.watch(now.t, now.q_0, now.u_0, p, now.before)
            speed, slope = _rate(kind, row, now, rates, seen, more, height, blur)
            shift = -slope / speed
            Z += np.outer(rates.rate, shift)
            tied = _together(now, rates, seen, row, shift)
            said = f"saltation, dt = {_size(shift):.3g} per unit"
        elif now.event == JAM:
            raise _Border("the motion jams: friction stops it without a collision")
        elif now.event == BROKEN:
            raise _Border("a surface changes its velocity at once")
        elif now.impacts:
            raise _Border("an impact at the very start: neighbouring starts hit before or after it")
        Z = _jump(mech, p, now, Z, shift, pi)
        after = now.after
        assert after is not None
        follows = mech.motion(now.t, now.q_1, now.u_1, p, after)
        Z -= np.outer(follows.rate, shift)
        _check_choice(mech, p, now, follows)
    except _Border as why:
        nothing = np.full((n_x, n_x), np.nan), np.full((n_x, n_p), np.nan)
        return Affine(*nothing, EventDerivative(now.t, kind, name, f"no derivative: {why}", exists=False))
    if len(tied):
        said += f"; {len(tied)} more contact{'s' * (len(tied) > 1)} at the same time: only for changes that keep them together"
    ended = now.impacts and (after.closed > now.before.closed).any()
    said += "; the contact stays closed" if ended else ""
    return Affine(Z[:, :n_x], Z[:, n_x:], EventDerivative(now.t, kind, name, said or "free at the start"), shift, tied)


def _size(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))


def _kind(mech: Mechanism, now: Transition, names: Names) -> tuple[str, str, int]:
    """What happens, to whom, and the row of `Watched` that is zero."""
    n_N, n_e = mech.n["N"], len(mech.elements)
    if now.event < 0:
        return {JAM: "jam", BROKEN: "jump"}.get(now.event, "start"), "all", -1
    if now.event < n_N:
        name = names.contacts[now.event]
        if now.before.closed[now.event] > 0:
            return "opening", name, n_N + now.event
        return ("impact" if now.impacts else "touch"), name, now.event
    k = now.event - n_N
    rows, name = mech.elements[k][0], names.friction[k]
    if now.before.stick[rows][0] > 0:
        return "slip", name, 2 * n_N + k
    stays = now.after is not None and now.after.stick[rows][0] > 0
    return ("stick" if stays else "reversal"), name, 2 * n_N + n_e + k


def _rate(
    kind: str,
    row: int,
    now: Transition,
    rates: Rates,
    seen: Watched,
    more: dict[str, np.ndarray],
    height: np.ndarray,
    blur: float,
) -> tuple[float, np.ndarray]:
    """The event's rate and its gradient by (x, p)."""
    parts = np.concatenate([[seen.by_t[row]], seen.by_x[row] * rates.rate])
    speed = float(parts.sum())
    if kind in ("impact", "touch"):
        i = now.event
        reach = speed**2 / (2 * max(abs(more["gap_ddot"][i]), 1e-300))
        if reach < GRAZE * height[i]:
            raise _Border(f"the contact is grazed, with gap velocity {speed:.1e}")
        if reach < 1e-3 * height[i] and abs(speed) < 0.5 * blur * abs(more["gap_ddot"][i]):
            raise _Border(f"the contact is grazed, with gap velocity {speed:.1e}: less than steps of {blur:g} can tell")
    if abs(speed) <= SLOW * np.abs(parts).sum():
        what = {"opening": "contact force", "slip": "friction force"}.get(kind, "slip velocity")
        raise _Border(f"the {what} touches its bound without crossing it")
    return speed, np.concatenate([seen.by_x[row], seen.by_p[row]])


def _together(now: Transition, rates: Rates, seen: Watched, row: int, shift: np.ndarray) -> np.ndarray:
    """Gaps of other contacts that close at the same time, at the shifted event: rows that must vanish."""
    new = np.flatnonzero((now.touching > 0) & (now.before.closed == 0))
    rows = []
    for i in new:
        if i != row:
            speed = seen.by_t[i] + seen.by_x[i] @ rates.rate
            rows.append(np.concatenate([seen.by_x[i], seen.by_p[i]]) + speed * shift)
    return np.array(rows).reshape(-1, shift.size)


def _jump(
    mech: Mechanism, p: np.ndarray, now: Transition, Z: np.ndarray, shift: np.ndarray, pi: np.ndarray
) -> np.ndarray:
    """j_x (dx + f- dt) + j_t dt + j_p dp."""
    n_q, t, q = mech.n_q, now.t, now.q_1
    by_t, by_q, by_p = mech.project_positions(t, q, p, now.touching.astype(float))
    Z_q = np.outer(by_t[:, 0], shift) + by_q @ Z[:n_q] + by_p @ pi
    Z_u = Z[n_q:]
    u, before = now.u_0, now.before

    def moved(slopes: Sequence[np.ndarray], Z_u: np.ndarray) -> np.ndarray:
        by_t, by_q, by_u, by_p = slopes
        return np.asarray(np.outer(by_t[:, 0], shift) + by_q @ Z_q + by_u @ Z_u + by_p @ pi)

    # Changes of the state keep contacts closed that were, and what sticks at rest: only on these two cases have to agree.
    allowed = moved(mech.project_velocities(t, q, u, p, before.closed, before.stick), Z_u) if now.impacts else Z_u
    for jump in now.impacts:
        case, other = _impact(mech, p, now, jump)
        allowed, differs = moved(case, allowed), 0.0 if other is None else moved(other, allowed)
        if other is not None and _size(differs - allowed) > 1e-7 * max(_size(allowed), 1.0):
            raise _Border("a law of the impact is at the border of two cases")
        Z_u = moved(case, Z_u)
        u = jump.u_1
    after, free = now.after, np.zeros(mech.n["F"])
    assert after is not None
    for u_at, closed, stick in ((u, now.resting.astype(float), free), (now.u_1, after.closed, after.stick)):
        Z_u = moved(mech.project_velocities(t, q, u_at, p, closed, stick), Z_u)
    return np.vstack([Z_q, Z_u])


def _impact(
    mech: Mechanism, p: np.ndarray, now: Transition, jump: Jump
) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray] | None]:
    """Derivatives of the velocities after an impact, with its laws as they turned out; and with the other case at a border."""
    t, q, y = now.t, now.q_1, np.concatenate([jump.u_1, jump.P])
    xi_N, xi_F, radius = mech.impact_laws(t, q, jump.u_0, p, y)
    at = mech.n["g"] + mech.n["gamma"]
    P_N, P_F = jump.P[at : at + mech.n["N"]], jump.P[at + mech.n["N"] :]
    speed = WEAK * max(_size(jump.u_1), _size(jump.u_0), 1e-300)
    push = WEAK * max(_size(P_N), _size(P_F), 1e-300)
    touching = now.touching > 0
    active = touching & (push < P_N)
    weak = bool((touching & ~active & (xi_N <= speed)).any())
    stick, slide = np.zeros(mech.n["F"]), np.zeros(mech.n["F"])
    loose_stick, loose_slide = stick.copy(), slide.copy()
    for rows, normal in mech.elements:
        if normal >= 0 and not active[normal]:
            continue
        bound, force, slip = radius[rows][0], np.linalg.norm(P_F[rows]), np.linalg.norm(xi_F[rows])
        if normal < 0:
            continue  # friction of fixed radius is a force: it has no percussion
        if slip > speed:
            slide[rows] = loose_slide[rows] = xi_F[rows] / slip
        elif bound - force > push:
            stick[rows] = loose_stick[rows] = 1.0
        else:  # at the border of stick and slip
            weak = True
            stick[rows] = 1.0
            loose_slide[rows] = -P_F[rows] / force if force > 0 else 0.0
    results = mech.impact(t, q, jump.u_0, p, y, active.astype(float), stick, slide)
    if not weak:
        return results, None
    both = touching & ((push < P_N) | (xi_N <= speed))
    return results, mech.impact(t, q, jump.u_0, p, y, both.astype(float), loose_stick, loose_slide)


def _check_choice(mech: Mechanism, p: np.ndarray, now: Transition, follows: Rates) -> None:
    """The modes that follow are not at the border of others; what the event itself changed is at one, as it must be."""
    after, n_N = now.after, mech.n["N"]
    assert after is not None
    at = mech.n_u + mech.n["g"] + mech.n["gamma"]
    la_N = follows.y[at : at + n_N]
    largest = max(_size(la_N), 1e-300)
    if not follows.factor.regular:
        return  # redundant contacts: how the load is shared among them does not matter for the motion
    newly = (after.closed > 0) & (now.before.closed == 0)
    for i in np.flatnonzero(newly & (la_N <= WEAK * largest)):
        raise _Border(f"contact {i + 1} closes without a force")
    _, seen, more = mech.watch(now.t, now.q_1, now.u_1, p, after)
    for i in np.flatnonzero((now.resting > 0) & (after.closed == 0)):
        if i != now.event and more["gap_ddot"][i] <= WEAK * max(_size(follows.rate[mech.n_q :]), 1e-300):
            raise _Border(f"contact {i + 1} opens without acceleration")
    for k, (rows, _) in enumerate(mech.elements):
        if after.stick[rows][0] > 0 and not now.before.stick[rows][0] > 0:
            margin = seen.value[2 * n_N + k]
            force = float(np.linalg.norm(follows.y[at + n_N :][rows]))
            if force > 0 and margin <= WEAK * force:
                raise _Border("the friction force is at its bound where sticking begins")
