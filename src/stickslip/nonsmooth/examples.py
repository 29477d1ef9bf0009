"""Problems that are hard on purpose: redundant contacts, mass ratios, friction up to 2. For tests, tables and comparisons."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from stickslip.nonsmooth.problem import Problem, contacts, from_bodies

UP, ALONG, ACROSS = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def brick_wall(columns: int = 10, rows: int = 10, heavy: float = 1.0, mu: float = 0.5, dt: float = 1e-3) -> Problem:
    """Bricks of 2 x 1 x 1 in running bond under gravity, four contact points per overlap: highly redundant.

    The bricks of the top row are `heavy` times as heavy as the others.

    >>> brick_wall().n_contacts
    724
    """
    centre = np.array([(2.0 * i + k % 2, 0.0, k + 0.5) for k in range(rows) for i in range(columns)])
    touch = []
    for a, (x, _, z) in enumerate(centre):
        if z < 1.0:
            touch += _corners(x - 1, x + 1, 0.0, a, -1)
        for b in np.flatnonzero(np.isclose(centre[:, 2], z - 1.0)):
            low, high = max(x, centre[b, 0]) - 1, min(x, centre[b, 0]) + 1
            if high - low > 1e-9:
                touch += _corners(low, high, z - 0.5, a, int(b))
    mass = np.where(centre[:, 2] > rows - 1, 2.0 * heavy, 2.0)
    inertia = mass[:, None] * np.array([2.0, 5.0, 5.0]) / 12
    about = {
        "title": f"wall of {columns * rows} bricks" + (f", top row {heavy:g} times as heavy" if heavy != 1 else "")
    }
    return _stacked(centre, mass, inertia, touch, np.array([0.0, 0.0, -10.0 * dt]), mu, about)


def _corners(low: float, high: float, z: float, a: int, b: int) -> list[tuple[np.ndarray, int, int]]:
    return [(np.array([x, y, z]), a, b) for x in (low, high) for y in (-0.5, 0.5)]


def tower(boxes: int = 10, heavy: float = 1000.0, tilt: float = 0.02, mu: float = 0.5, dt: float = 1e-3) -> Problem:
    """Unit boxes on each other on a slope, the top one `heavy` times as heavy: it rests, slides or topples.

    >>> tower(3).n_contacts
    12
    """
    centre = np.array([(0.0, 0.0, k + 0.5) for k in range(boxes)])
    touch = [corner for k in range(boxes) for corner in _corners(-0.5, 0.5, float(k), k, k - 1)]
    mass = np.ones(boxes)
    mass[-1] = heavy
    pull = 9.81 * dt * np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    about = {"title": f"tower of {boxes} boxes, mu = {mu:g}, tilt {tilt:g}"}
    return _stacked(centre, mass, mass[:, None] * np.ones(3) / 6, touch, pull, mu, about)


def hit_stack(boxes: int, seed: int, e: float, mu: float = 0.5) -> Problem:
    """Boxes of 0.2 x 0.2 x 0.1 on each other with random velocities, all of which rebound with e: the step of an impact.

    >>> hit_stack(3, seed=0, e=0.2).n_contacts
    12
    """
    rng = np.random.default_rng(seed)
    half = np.array([0.1, 0.1, 0.05])
    v = np.column_stack([0.1 * rng.normal(size=(boxes, 3)), 0.3 * rng.normal(size=(boxes, 3))])
    v[:, 2] -= 0.05 * np.arange(boxes) / boxes
    place = rng.uniform(-0.01, 0.01, (boxes, 2))
    centre = np.column_stack([place, half[2] * (1 + 2 * np.arange(boxes))])
    signs = [(x, y, -1) for x in (-1, 1) for y in (-1, 1)]
    touch = [(centre[k] + half * sign, k, k - 1) for k in range(boxes) for sign in signs]
    inertia = np.ones((boxes, 1)) * (half @ half - half**2) / 3
    about = {"title": f"stack of {boxes} boxes that are hit, e = {e:g}"}
    rest = _stacked(centre, np.ones(boxes), inertia, touch, np.zeros(3), mu, about)
    assert rest.M is not None
    assert rest.H is not None
    before = rest.H.T @ v.ravel()
    w = np.where(np.arange(before.size) % 3 == 0, e * before, 0.0)
    return from_bodies(rest.M, rest.H, rest.M @ v.ravel(), np.full(len(touch), mu), w=w, about=about)


def _stacked(
    centre: np.ndarray,
    mass: np.ndarray,
    inertia: np.ndarray,
    touch: list[tuple[np.ndarray, int, int]],
    change: np.ndarray,
    mu: float,
    about: dict[str, str],
) -> Problem:
    """Bodies at rest whose free velocity after the step is `change`, with horizontal contact planes at points of `touch`."""
    n = len(centre)
    M = sp.block_diag([np.diag([*[m] * 3, *J]) for m, J in zip(mass, inertia, strict=True)])
    H = sp.lil_matrix((6 * n, 3 * len(touch)))
    for c, (point, a, b) in enumerate(touch):
        for body, sign in ((a, 1.0), (b, -1.0)):
            if body >= 0:
                for k, axis in enumerate((UP, ALONG, ACROSS)):
                    column = np.concatenate([axis, np.cross(point - centre[body], axis)])
                    H[6 * body : 6 * body + 6, 3 * c + k] = sign * column[:, None]
    f = np.outer(mass, [*change, 0, 0, 0]).ravel()
    return from_bodies(M, H, f, np.full(len(touch), mu), about=about)


def random_contacts(rng: np.random.Generator, most: int, dimension: int = 3, ratio: float = 1e6) -> Problem:
    """Up to `most` contacts of up to as many velocities: often dependent, repeated or sparse, masses up to `ratio` apart.

    >>> random_contacts(np.random.default_rng(0), 6, dimension=2).n_rows
    12
    """
    k = int(rng.integers(1, most + 1))
    n = int(rng.integers(1, dimension * k + 4))
    J = rng.normal(size=(dimension * k, n))
    if rng.random() < 0.5:
        J *= rng.random(J.shape) < 0.4
    for c in range(1, k):
        if rng.random() < 0.3:
            o = int(rng.integers(c))
            J[dimension * c : dimension * (c + 1)] = J[dimension * o : dimension * (o + 1)]
    mass = ratio ** rng.uniform(-0.5, 0.5, n) if rng.random() < 0.5 else np.ones(n)
    mu = rng.choice([0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0], k)
    return contacts(J / mass @ J.T, J @ rng.normal(size=n), mu, dimension=dimension)
