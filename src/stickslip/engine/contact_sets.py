"""What an outer iteration over a stage reads and writes: its unknowns as one vector, and its sets of contacts."""

from __future__ import annotations

import numpy as np

from stickslip.engine.fields import EARLY, GAP_SIZE, Space
from stickslip.engine.layout import Layout
from stickslip.engine.tables import Tables
from stickslip.engine.work import IDLE, Work
from stickslip.nonsmooth.cones import NORMAL

REPEATS = 0.5  # of a residual: sets that return with more than this share of it repeat
# Steps in which sets may stay as they are without such a gain: the linearised problem is solved roughly at first.
STUCK = 4
RECENT, OFTEN = 7, 4  # a contact that opens and closes so often in so many steps repeats, whatever others do
EARLIEST = 1e-3  # of the unit of gaps: contacts that open farther, where an iteration leads astray, are not closed
BEYOND = 1.01  # of the gap that a contact opens to: where it is closed early


class Unknowns:
    """The unknowns of a stage in the memory, as one vector."""

    def __init__(self, tables: Tables, k: int, memory: np.ndarray):
        stage, self._memory = tables.problems[k], memory
        self._segments = [
            (
                slice(int(s["start"]), int(s["start"] + s["length"])),
                slice(int(s["first"]), int(s["first"] + s["length"])),
            )
            for s in tables.segments[stage["segment_0"] : stage["segment_1"]]
        ]
        self._size = int(stage["n"])

    def get(self) -> np.ndarray:
        """Their values."""
        x = np.empty(self._size)
        for place, part in self._segments:
            x[part] = self._memory[place]
        return x

    def at(self, places: np.ndarray) -> np.ndarray:
        """The unknowns that lie at these places of the memory."""
        out = np.full(places.size, -1)
        for place, part in self._segments:
            inside = (places >= place.start) & (places < place.stop)
            out[inside] = part.start + places[inside] - place.start
        return out

    def set(self, x: np.ndarray) -> None:
        """Give them values."""
        for place, part in self._segments:
            self._memory[place] = x[part]


class Sets:
    """The marks of a stage that its own laws read: which contacts are closed, or slip."""

    def __init__(self, tables: Tables, k: int, memory: np.ndarray, work: Work, layout: Layout):
        stage, self._memory, self._work = tables.problems[k], memory, work
        nothing = np.zeros(0, np.int64)
        marks, heads, normal = [nothing], [np.zeros((0, 5), np.int64)], [nothing]
        starts = np.sort([start for each, start in layout.start.items() if each.space is Space.N])
        for group in tables.groups[stage["group_0"] : stage["group_1"]]:
            laws, kind = tables.laws[int(group["law"]) : int(group["law_1"])], tables.kinds[group["kind"]]
            read = {int(law[key]) for law in laws for key in ("open_where", "only_where", "except_where")}
            number = np.arange(int(kind["count"]))
            rows = int(kind["first"]) + int(kind["width"]) * number
            for law in laws:
                if law["kind"] == NORMAL:
                    unknown = tables.places[int(group["unknowns"] + law["unknown"])]
                    normal.append(unknown["start"] + tables.dofs[rows + unknown["column"]])
                if law["mark"] < 0 or int(law["mark"]) not in read:
                    continue
                marks.append(law["mark"] + tables.dofs[rows + law["column"]])
                if law["closed_within"] >= 0:
                    own = marks[-1] - starts[np.searchsorted(starts, marks[-1], "right") - 1]
                    early, unit = layout.start[EARLY] + own, layout.start[GAP_SIZE] + own
                    gap = np.full(number.size, law["y"])
                    heads.append(np.column_stack([marks[-1], group["instance"] + number, gap, early, unit]))
        self.normal = np.concatenate(normal)  # unknowns of all normal laws
        self.marks = np.unique(np.concatenate(marks))
        self._heads = np.concatenate(heads)
        self._past: list[tuple[bytes, float, np.ndarray]] = []  # marks, residual and gaps of contacts

    def get(self) -> bytes:
        """Which contacts and elements of friction are in which set."""
        return np.asarray(self._memory[self.marks] > 0.0).tobytes()

    def repeat(self, error: float) -> list[np.ndarray]:
        """Gaps of the contacts in all steps since the sets were the present ones, with no smaller residual; [] if never.

        In space sets rarely repeat as a whole, because redundant contacts share their forces differently every time.
        """
        at = self._work.offset[self._heads[:, 1]]
        gaps = np.where(at == IDLE, np.inf, self._work.outputs[np.where(at == IDLE, 0, at + self._heads[:, 2])])
        self._past.append((self.get(), error, np.where(self._memory[self._heads[:, 0]] > 0.0, gaps, 0.0)))
        for i in range(len(self._past) - 2, -1, -1):
            same = [marks == self._past[-1][0] for marks, _, _ in self._past[i:]]
            if same[0] and (not all(same) or len(same) > STUCK) and error > REPEATS * self._past[i][1]:
                return [gaps for _, _, gaps in self._past[i:]]
        recent = [gaps for _, _, gaps in self._past[-RECENT:]]
        if len(recent) < RECENT:
            return []
        often = np.sum(np.diff(np.array(recent) > 0.0, axis=0), axis=0) >= OFTEN
        return [np.where(often, gaps, 0.0) for gaps in recent] if often.any() else []

    def forget(self) -> None:
        """Begin anew: no sets were seen yet."""
        self._past.clear()

    def close_early(self, gaps: list[np.ndarray]) -> float:
        """Close those contacts early that were open in some of these steps and not in others; the largest gap."""
        widest, least = np.max(gaps, axis=0), np.min(gaps, axis=0)
        change = (widest > 0.0) & (least == 0.0) & (widest < EARLIEST * self._memory[self._heads[:, 4]])
        self._memory[self._heads[change, 3]] += BEYOND * widest[change]
        self.forget()
        return float(widest[change].max(initial=0.0))
