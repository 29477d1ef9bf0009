"""Shapes that begin inside each other, and bodies that are so fast that they may pass through others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.errors import InitialStateError, TunnellingWarning, warn
from stickslip.model.collisions import Collisions

if TYPE_CHECKING:
    from stickslip.collide.room import Room
    from stickslip.collide.scene import Contacts, Scene


def pair_of(labels: Sequence[str], contacts: Contacts, c: int) -> tuple[str, str]:
    """The names of the two shapes of a contact."""
    pair, count = int(contacts.key[c, 0]), len(labels)
    return labels[pair // count], labels[pair % count]


def require_apart(
    where: str, scene: Scene, room: Room, contacts: Contacts, labels: Sequence[str], tolerance: float
) -> None:
    """No shape begins inside another one. Where one is inside a mesh, this is told first: of several contacts of such a shape
    nobody knows which one says how deep it is.
    """
    if len(scene.surfaces.facets) and np.isfinite(tolerance):
        from stickslip.collide.inside import EDGE, swallowed

        inner = swallowed(scene, room, tolerance)
        if inner is not None:
            first, second, owner = (labels[k] for k in (inner.shape, inner.other, inner.owner))
            at, other = ", ".join(f"{v:.4g}" for v in inner.place[: scene.dimension]), second
            point = inner.point
            if point == EDGE:  # of either shape
                point, other = f"{EDGE} of {owner!r}", second if owner == first else first
            raise InitialStateError(
                f"{where}: {first!r} begins inside {second!r}: {point} is {inner.depth:.3g} below the surface of {other!r}, at "
                f"[{at}]; move it out, or name the pair in ignore= of Collisions"
            )
    n = int(contacts.found[0])
    if n and contacts.gap[:n].min() < -tolerance:
        c = int(contacts.gap[:n].argmin())
        first, second = pair_of(labels, contacts, c)
        raise InitialStateError(
            f"{where}: {first!r} and {second!r} begin inside each other, {-contacts.gap[c]:.3g} deep; move them apart, or "
            "name the pair in ignore= of Collisions"
        )


def nudged(scene: Scene, q: np.ndarray, tolerance: float) -> np.ndarray | None:
    """Coordinates with each body moved by little; None if there are no two round shapes.

    Round shapes with a common centre, or axis, have no normal, and so no contact that could tell how deep they are.
    """
    from stickslip.collide.scene import FIXED
    from stickslip.collide.solids import BALL, HOLLOW, ROD
    from stickslip.collide.world import KIND

    if np.isin(scene.shapes[:, KIND], (BALL, ROD, HOLLOW)).sum() < 2:
        return None
    by = 1e-3 * min(tolerance, float(scene.reach[np.isfinite(scene.reach)].min(initial=np.inf)))
    first = scene.bodies[scene.bodies[:, 0] != FIXED, 2]
    out, places = q.copy(), first[:, None] + np.arange(scene.dimension)
    out[places] += by * np.random.default_rng(0).uniform(0.1, 1.0, places.shape)
    return out


class FastBodies:
    """Bodies that move farther in a step than they are thick; one warning is enough."""

    def __init__(self, scene: Scene, collisions: Collisions):
        self._scene, self._collisions, self._warned = scene, collisions, False
        self._moving = np.flatnonzero(scene.bodies[:, 0])
        thin = np.full(len(scene.bodies), np.inf)
        np.minimum.at(thin, scene.shapes[:, 1], scene.reach * _share_held(scene))
        self._thin = thin[self._moving]

    def warn(self, u: np.ndarray, dt: float, method: str) -> None:
        """A scheme that holds contacts on velocity level lets such a body pass."""
        if self._warned:
            return
        scene = self._scene
        at = scene.bodies[self._moving, 3][:, None] + np.arange(scene.dimension)
        way = np.linalg.norm(u[at], axis=1) * dt
        fast = np.flatnonzero(way > self._thin)
        if fast.size:
            b, far, thin = int(self._moving[fast[0]]), float(way[fast[0]]), float(self._thin[fast[0]])
            shapes = enumerate(self._collisions.shapes)
            name = next(s.body.name for k, s in shapes if scene.shapes[k, 1] == b)
            self._warned, what = True, "its radius" if thin in scene.reach else "a mesh may hold it,"
            warn(
                f"{name!r} moves {far:.3g} in a step of {dt:g}, farther than {what} {thin:.3g}; with method {method!r} it "
                "may pass through others. Take a smaller dt, or method='rattle'",
                TunnellingWarning,
            )


def _share_held(scene: Scene) -> Any:
    """Of the radius of a shape: how far into another one a step may lead it, so that contacts still hold it."""
    from stickslip.collide.meshes import DEEP
    from stickslip.collide.solids import MESH, SOLID
    from stickslip.collide.world import KIND

    meshes = scene.dimension == 3 and len(scene.surfaces.facets) > 0
    return np.where(meshes & np.isin(scene.shapes[:, KIND], (SOLID, MESH)), DEEP, 1.0)
