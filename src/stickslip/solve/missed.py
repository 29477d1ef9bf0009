"""Contacts that a step has missed: features that were not the closest ones at its start, and came first all the same.

A step knows the contacts of the features that are closest at its start. A body that moves by a good part of its thickness may
turn another corner to a wall, or miss the edge that was near and meet the face behind it. So the way of bodies that are so
fast is looked at once more after the step, pose by pose. Where two shapes overlap, their features are taken at the moment when
they touch, added to the contacts of the step, and the step is repeated with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip.errors import TunnellingWarning, warn
from stickslip.patience import Abandoned

if TYPE_CHECKING:
    from stickslip.collide.scene import Scene
    from stickslip.engine.runs import Rows

SHARE = 0.1  # of the thickness: steps by which bodies move less are not looked at
FINE = 0.25  # of the thickness, between two poses
MOST_POSES = 200  # of a step
EXACT = 10.0  # of the tolerance: what may be left of a gap
DEEP = 1e-4  # of the half thickness: overlap at the end of a step
DEEP_BETWEEN = 0.02  # the same between, where poses are interpolated
NEAR = 0.02  # of the half thickness: contacts of two shapes that are taken together when they touch
HALVINGS = 12  # of the time between two poses, down to the moment of touching
FARTHEST_TURN = 1.0  # rad: poses between the ends of a step say little beyond
ROUNDS = 6  # repetitions of a step
ROW = 24  # columns of contacts, as in `collide.world`, which loads the compiler
NOTHING = np.zeros((0, ROW))


class Overlap(NamedTuple):
    """Two shapes that overlap on their way: how deep, and contacts that a step needs to hold them apart."""

    pair: tuple[int, int]
    depth: float
    rows: np.ndarray


class Missed:
    """Looks for what the steps of one run miss."""

    def __init__(self, scene: Scene, labels: Sequence[str], exact: float):
        self._scene, self._labels, self._dimension, self._warned = scene, labels, scene.dimension, False
        self._exact = EXACT * exact
        self._thin = half_thickness(scene)
        self._moving = np.flatnonzero(scene.bodies[:, 0])
        own = np.full(len(scene.bodies), np.inf)
        np.minimum.at(own, scene.shapes[:, 1], self._thin)
        self._own, self._thinnest = own[self._moving], float(self._thin.min(initial=np.inf))
        self._arms, self._outlines = turning_arms(scene), scene.dimension == 2 and len(scene.surfaces.facets) > 0
        self._places: Any = None  # made when they are needed: where poses are looked at

    def at(self, exact: float) -> Missed:
        """The same for another run, which shares nothing that it writes to."""
        out = copy(self)
        out._exact, out._places = EXACT * exact, None
        return out

    def may(self, u: np.ndarray, dt: float) -> bool:
        """Whether a body moves so far that something may be missed."""
        return bool(((dt * self._speeds(u)) > SHARE * (self._own + self._thinnest)).any())

    def step(self, run: Any, advance: Callable[[], Rows]) -> Rows:
        """A step of a run that is about to detect its contacts, with all contacts that it needs."""
        kept, counts = (run.state, run.first, run.done, run.row), run.counts
        try:
            return self._repeated(run, kept, counts, advance)
        except Abandoned:
            run.state, run.first, run.done, run.row = kept
            raise

    def _repeated(self, run: Any, kept: tuple, counts: Any, advance: Callable[[], Rows]) -> Rows:
        n = run.columns["q_1"]
        q_0 = run.row[1 : 1 + n].copy()
        run.detect(NOTHING)
        rows, further = advance(), NOTHING
        for repeated in range(ROUNDS + 1):
            overlap = None if run.failure is not None else self._overlap(run, q_0, run.row[1 : 1 + n])
            if overlap is None or not len(overlap.rows) or repeated == ROUNDS:
                break
            further = np.concatenate([further, overlap.rows])
            rows = self._again(run, kept, counts, further, advance)
        if run.failure is not None and len(further):  # better as it was than not at all
            run.failure = None
            rows = self._again(run, kept, counts, NOTHING, advance)
            overlap = None if run.failure is not None else self._overlap(run, q_0, run.row[1 : 1 + n])
        if overlap is not None:
            first, second = (self._labels[k] for k in overlap.pair)
            self._warn(run, f"{first!r} and {second!r} overlap by {overlap.depth:.3g} on their way", "move")
        elif run.failure is None:
            turn = self._turns(self._aligned(q_0, run.row[1 : 1 + n]) - q_0)
            turn[(self._arms[self._moving] == 0.0) | ~np.isin(self._moving, self._beside(run.search.keys()))] = 0.0
            if turn.max(initial=0.0) > FARTHEST_TURN:
                body = self._moving[int(turn.argmax())]
                name = self._labels[int(np.flatnonzero(self._scene.shapes[:, 1] == body)[0])]
                self._warn(run, f"{name!r} turns by {turn.max():.3g} rad beside another shape", "turn")
        return rows

    def _beside(self, keys: set[tuple[int, ...]]) -> np.ndarray:
        """Bodies of these contacts."""
        pairs, count = np.array([key[0] for key in keys], np.int64), len(self._scene.shapes)
        return np.asarray(self._scene.shapes[np.concatenate([pairs // count, pairs % count]), 1])

    def _again(self, run: Any, kept: tuple, counts: Any, further: np.ndarray, advance: Callable[[], Rows]) -> Rows:
        """The same step, with further contacts."""
        run.state, run.first, run.done, run.row = kept
        run.counts = counts
        run.detect(further)
        return advance()

    def _speeds(self, u: np.ndarray) -> np.ndarray:
        """The largest speed of a point of each moving body."""
        from stickslip.collide.scene import TRANSLATING

        bodies, d = self._scene.bodies[self._moving], self._dimension
        speed = np.linalg.norm(u[bodies[:, 3][:, None] + np.arange(d)], axis=1)
        turning = np.flatnonzero(bodies[:, 0] != TRANSLATING)
        spins = u[bodies[turning, 3][:, None] + d + np.arange(1 if d == 2 else 3)]
        speed[turning] += np.linalg.norm(spins, axis=1) * self._arms[self._moving[turning]]
        return np.asarray(speed)

    # -- the way of a step -----------------------------------------------------------------------------------------------

    def _overlap(self, run: Any, q_0: np.ndarray, q_1: np.ndarray) -> Overlap | None:
        """The first two shapes that overlap on the way from q_0 to q_1, although no contact of the step knows of it."""
        known, change = run.search.keys(), self._aligned(q_0, q_1) - q_0
        way, bend = self._ways(change)
        count = np.ceil((way / (FINE * (self._own + self._thinnest))).max(initial=1.0))
        count = int(min(MOST_POSES, count))
        poses, closer = np.linspace(0.0, 1.0, 1 + count), 2.0 * float(way.max(initial=0.0)) / count
        for before, share in pairwise(poses.tolist()):
            # Contacts that the step knows count at its end only: their features may be places on edges, which move.
            limit, others = (DEEP_BETWEEN, known) if share < 1.0 else (DEEP, set())
            worst = self._worst(
                self._look(q_0 + share * change, closer), others, limit, bend if share < 1.0 else np.zeros_like(bend)
            )
            if worst is None:
                continue
            pair, depth = self._pair(worst), -float(worst[5])
            others, low, high = known - {self._key(worst)}, before, share
            for _ in range(HALVINGS):
                middle = (low + high) / 2
                if (
                    self._worst(self._look(q_0 + middle * change, closer), others, DEEP, np.zeros_like(bend), pair)
                    is None
                ):
                    low = middle
                else:
                    high = middle
            touching = self._look(q_0 + high * change, NEAR * min(self._thin[list(pair)]))
            new = [row for row in touching if self._pair(row) == pair and self._key(row) not in others]
            return Overlap(pair, depth, self._brought_back(np.array(new).reshape(-1, ROW), run))
        return self._inside(q_1) if self._outlines else None

    def _inside(self, q: np.ndarray) -> Overlap | None:
        """Two shapes in the plane that overlap at a pose where they have no contact: behind a corner that points inwards no
        piece of an outline is closest.
        """
        from stickslip.collide.inside import swallowed

        self._look(q, 0.0)
        inner = swallowed(self._scene, self._places[0], DEEP * self._thinnest + self._exact)
        if inner is None:
            return None
        return Overlap((inner.shape, inner.other), inner.depth, NOTHING)

    def _worst(
        self,
        rows: np.ndarray,
        known: set[tuple[int, ...]],
        limit: float,
        bend: np.ndarray,
        pair: tuple[int, int] | None = None,
    ) -> np.ndarray | None:
        """The deepest of the contacts that are not known, or those of one pair, if it is deeper than this share of the half
        thickness, the bends of the ways of both bodies, and what gaps miss.
        """
        shapes, depth = rows[:, :2].astype(int), -rows[:, 5]
        deep = depth > limit * self._thin[shapes].min(axis=1) + self._exact + bend[self._scene.shapes[shapes, 1]].sum(
            axis=1
        )
        if pair is not None:
            deep &= (np.sort(shapes, axis=1) == pair).all(axis=1)
        which = np.flatnonzero(deep)
        for k in which[np.argsort(-depth[which], kind="stable")].tolist():
            if self._key(rows[k]) not in known:
                return np.asarray(rows[k])
        return None

    @staticmethod
    def _pair(row: np.ndarray) -> tuple[int, int]:
        return int(min(row[0], row[1])), int(max(row[0], row[1]))

    def _key(self, row: np.ndarray) -> tuple[int, ...]:
        """As `collide.scene.Contacts.key`, with the kind."""
        i, j, f, g, kind = (int(x) for x in row[:5])
        low, high = min(i, j), max(i, j)
        return low * len(self._scene.shapes) + high, f if i < j else g, g if i < j else f, kind

    def _aligned(self, q_0: np.ndarray, q_1: np.ndarray) -> np.ndarray:
        """q_1 with quaternions on the side of those of q_0."""
        from stickslip.collide.scene import RIGID

        out = q_1.copy()
        for first in self._scene.bodies[self._scene.bodies[:, 0] == RIGID, 2].tolist():
            turn = slice(first + 3, first + 7)
            if out[turn] @ q_0[turn] < 0.0:
                out[turn] *= -1.0
        return out

    def _ways(self, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far a point of each moving body can have come; how far from the straight line between, for all bodies."""
        angle, arms, bend = self._turns(change), self._arms[self._moving], np.zeros(len(self._scene.bodies))
        first = self._scene.bodies[self._moving, 2]
        way = np.linalg.norm(change[first[:, None] + np.arange(self._dimension)], axis=1) + angle * arms
        bend[self._moving] = angle**2 * arms / 8
        return way, bend

    def _turns(self, change: np.ndarray) -> np.ndarray:
        """By which angle each moving body turns."""
        from stickslip.collide.scene import PLANAR, RIGID

        bodies = self._scene.bodies[self._moving]
        first, angle = bodies[:, 2], np.zeros(len(bodies))
        flat, turning = bodies[:, 0] == PLANAR, bodies[:, 0] == RIGID
        angle[flat] = np.abs(change[first[flat] + 2])
        half = (
            np.linalg.norm(change[first[turning, None] + 3 + np.arange(4)], axis=1) / 2
        )  # the chord of half the angle
        angle[turning] = 4 * np.arcsin(np.minimum(half, 1.0))
        return angle

    def _look(self, q: np.ndarray, skin: float) -> np.ndarray:
        """Contacts with gaps below `skin` at a pose, as rows of `collide.world.World`. Arcs and edges of meshes that are deeper
        than that inside of something are not seen: they may be on its other side.
        """
        from stickslip.collide.broad import nobody
        from stickslip.collide.detect import STALE, detect, find_neighbours
        from stickslip.collide.room import room_for
        from stickslip.collide.scene import empty_contacts

        scene = self._scene._replace(skin=skin)
        if self._places is None:
            self._places = room_for(scene, 64), empty_contacts(64), empty_contacts(0), nobody(len(scene.shapes))
        still = np.zeros(q.size + len(scene.bodies))
        while True:
            room, new, old, known = self._places
            n = int(detect(scene, room, known, np.ascontiguousarray(q), still, 0.0, old, new))
            if n == STALE:
                known = find_neighbours(scene, room, 0.0)
            elif n < 0:
                room, new = room_for(scene, -2 * n), empty_contacts(-2 * n)
            else:
                return np.array(room.rows[:n])
            self._places = room, new, old, known

    def _brought_back(self, rows: np.ndarray, run: Any) -> np.ndarray:
        """Contacts that were found at the last pose, as they stand in space at the start of the step: features are fixed to
        their bodies.
        """
        from stickslip.collide.world import BALL_BALL, BALL_CAVITY, BALL_LINE, BALL_PLANE, BODY, LINE_LINE

        there, here, out = self._places[0], run.search.room, []
        for row in rows.copy():
            a, b = (self._scene.shapes[int(row[k]), BODY] for k in (0, 1))
            turn_a, turn_b = (here.A[k] @ there.A[k].T for k in (a, b))
            row[6:9] = here.x[a] + turn_a @ (row[6:9] - there.x[a])
            row[10:13] = here.x[b] + turn_b @ (row[10:13] - there.x[b])
            row[14:17], row[17:20] = turn_a @ row[14:17], turn_b @ row[17:20]
            w, kind = row[6:9] - row[10:13], int(row[4])
            if kind == BALL_PLANE:
                n = row[17:20].copy()
            elif kind == LINE_LINE:
                n = row[23] * np.cross(row[14:17], row[17:20])
            elif kind in (BALL_BALL, BALL_CAVITY):
                n = -w if kind == BALL_CAVITY else w
            elif kind == BALL_LINE:
                n = w - (w @ row[17:20]) * row[17:20]
            else:  # where Newton's method for the normal of an ellipsoid begins
                n = turn_b @ row[20:23]
            size = float(np.linalg.norm(n))
            if size > 0.0:
                row[20:23] = n / size
                out.append(row)
        return np.array(out).reshape(-1, ROW)

    def _warn(self, run: Any, what: str, do: str) -> None:
        if self._warned:
            return
        self._warned = True
        warn(
            f"at t = {run.t:.6g} {what}: in a step of {run.clock.step:g} bodies {do} so far that contacts may be missed. Take "
            "a smaller dt",
            TunnellingWarning,
        )


def missed_in(scene: Scene, labels: Sequence[str], exact: float) -> Missed | None:
    """What looks for missed contacts; None for balls, half-spaces and holes: one contact knows all of two of them.

    exact: how exactly gaps are held.
    """
    from stickslip.collide.solids import BALL, HALF_SPACE, HOLLOW
    from stickslip.collide.world import KIND

    return None if np.isin(scene.shapes[:, KIND], (BALL, HALF_SPACE, HOLLOW)).all() else Missed(scene, labels, exact)


def turning_arms(scene: Scene) -> np.ndarray:
    """For each body, how far from its centre what moves is when it turns. A ball around the centre does not."""
    from stickslip.collide.solids import BALL
    from stickslip.collide.world import BODY, KIND, VERTEX_0

    out = np.zeros(len(scene.bodies))
    for shape in scene.shapes.tolist():
        from_centre = float(np.linalg.norm(scene.points[shape[VERTEX_0], :3]))
        arm = from_centre if shape[KIND] == BALL else scene.arms[shape[BODY]]
        out[shape[BODY]] = max(out[shape[BODY]], arm)
    return np.where(out > EXACT * np.finfo(float).eps * scene.arms, out, 0.0)


def half_thickness(scene: Scene) -> np.ndarray:
    """The half thickness of each shape; infinite where a contact knows the whole shape, as that of a ball or a plane does."""
    from scipy.spatial import ConvexHull, QhullError

    from stickslip.collide.inside import sides
    from stickslip.collide.solids import BALL, EGG, MESH, ROD, SOLID
    from stickslip.collide.world import KIND, NORMAL_0, VERTEX_0, VERTEX_1

    out, hulls = np.full(len(scene.shapes), np.inf), dict[bytes, float]()
    for k, shape in enumerate(scene.shapes.tolist()):
        core = scene.points[shape[VERTEX_0] : shape[VERTEX_1]]
        if shape[KIND] == MESH and scene.dimension == 2:  # the points of a curve are centres of arcs
            core = sides(scene, scene, k)[0]
        if shape[KIND] == EGG:
            out[k] = scene.points[shape[NORMAL_0] : shape[NORMAL_0] + scene.dimension, 3].min()
        elif shape[KIND] in (BALL, ROD):
            out[k] = core[0, 3]
        elif shape[KIND] in (SOLID, MESH):
            x = np.ascontiguousarray(core[:, : scene.dimension])
            if x.tobytes() not in hulls:
                try:
                    faces = ConvexHull(x).equations
                    hulls[x.tobytes()] = float(-(x @ faces[:, :-1].T + faces[:, -1]).min(axis=0).max())
                except QhullError:  # it is flat
                    hulls[x.tobytes()] = 0.0
            out[k] = hulls[x.tobytes()] / 2
    return np.where(out > 0.0, out, scene.skin)
